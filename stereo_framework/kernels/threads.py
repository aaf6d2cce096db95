"""Threads: one setting for the whole library, and kernels spread over row ranges.

Kernels release the GIL and work on a row range, so plain threads suffice and results do not depend on their number.
"""

import contextvars
import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

from stereo_framework.kernels.counting import holding

_THREADS: contextvars.ContextVar[int | None] = contextvars.ContextVar("threads", default=None)
_WORTH_A_THREAD = 400_000
"""Elements of work below which handing rows to another thread costs more than it saves (measured)."""


def threads(count: int) -> AbstractContextManager[Any]:
    """Let the kernels called inside the block use `count` threads; the default is one per available core.

    Results do not depend on the number.

    Raises
    ------
    ValueError
        `count` below 1.

    Examples
    --------
    >>> import stereo_framework
    >>> with stereo_framework.threads(1):
    ...     pass
    """
    if count < 1:
        raise ValueError(f"threads: {count} is below 1")
    return holding(_THREADS, count)


def thread_count() -> int:
    """Number of threads that kernels may use here."""
    return _THREADS.get() or available_cores()


def available_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _pool(pid: int) -> ThreadPoolExecutor:
    # One pool a process: after a fork the parent's threads are gone.
    return ThreadPoolExecutor(max(available_cores(), 2), thread_name_prefix="stereo_framework")


def over_rows(kernel: Callable[[int, int], object], rows: int, work: int) -> None:
    """Call ``kernel(start, stop)`` on ranges that cover ``range(rows)``, in as many threads as allowed and worth it.

    Parameters
    ----------
    kernel : callable
        Writes its rows of an output; must not start threads of its own.
    rows : int
    work : int
        Elements touched in all; small jobs stay in the calling thread.
    """
    parts = max(1, min(thread_count(), rows, work // _WORTH_A_THREAD))
    bounds = [rows * i // parts for i in range(parts + 1)]
    # What holds here, such as the number of threads and the account of what is compiled, holds in the others.
    others = [_pool(os.getpid()).submit(contextvars.copy_context().run, kernel, a, b) for a, b in itertools.pairwise(bounds[1:])]
    try:
        kernel(bounds[0], bounds[1])
    finally:
        for future in others:
            future.result()


def over_blocks(run: Callable[[int, int, int], object], blocks: tuple[int, int], work: int, backwards: bool = False) -> None:
    """Call ``run(antidiagonal, start, stop)`` on all blocks of an image in raster order: of an antidiagonal those in the rows of blocks `start` to `stop` - 1.

    Parameters
    ----------
    run : callable
        Visits all pixels of its blocks, in raster order or backwards.
    blocks : (int, int)
        How many stand one below the other, and side by side.
    work : int
        Elements touched in all.
    backwards : bool
        The last pixel comes first.
    """
    down, across = blocks
    for n in range(down + across - 1):
        antidiagonal = down + across - 2 - n if backwards else n
        first, stop = max(0, antidiagonal - across + 1), min(down, antidiagonal + 1)

        def part(a: int, b: int, antidiagonal: int = antidiagonal, first: int = first) -> None:
            run(antidiagonal, first + a, first + b)

        over_rows(part, stop - first, work * (stop - first) // (down * across))
