"""Threads: one setting for the whole library, and kernels spread over row ranges.

Kernels release the GIL and work on a row range, so plain threads suffice and results do not depend on their number.
"""

import contextvars
import functools
import itertools
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

from stereo_framework.kernels.cores import available_cores
from stereo_framework.kernels.counting import holding

_THREADS: contextvars.ContextVar[int | None] = contextvars.ContextVar("threads", default=None)
LIMIT = (
    "the limit on the processes of a user (ulimit -u) or of a container (its pids) may be reached"
)
"""Likely reason why the system starts no thread and no process."""

_WORTH_A_THREAD = 400_000
"""Elements of work below which handing rows to another thread costs more than it saves (measured)."""


_BLAS = "OPENBLAS_NUM_THREADS"
_BLAS_MARK = "STEREO_ONE_BLAS_THREAD"
"""Environment variable that records that this program has set `_BLAS`."""


def use_one_blas_thread() -> None:
    """Let NumPy's OpenBLAS use one thread, in this process and in its workers.

    Call this before NumPy is imported. The matrices of this package are small. If the
    system refuses a thread that OpenBLAS needs, OpenBLAS interrupts the program or
    waits without end. A number that the user has set stays.
    """
    if _BLAS not in os.environ:
        os.environ |= {_BLAS: "1", _BLAS_MARK: "1"}


def environment_of_programs() -> dict[str, str]:
    """Return the environment for other programs, which use BLAS as the user has set it."""
    environment = dict(os.environ)
    if environment.pop(_BLAS_MARK, None):
        environment.pop(_BLAS, None)
    return environment


def threads(count: int) -> AbstractContextManager[Any]:
    """Let kernels use `count` threads in the block, and sweeps as many workers.

    The default is one thread for each available core: the affinity of the process, the
    CPU quota of its container, ``OMP_NUM_THREADS`` and ``NUMBA_NUM_THREADS`` limit the
    number. Results do not depend on the number. The threads of OpenCV are set by
    ``cv2.setNumThreads``.

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
    """Return the number of threads that kernels may use here."""
    return _THREADS.get() or available_cores()


class LimitWarning(UserWarning):
    """The system starts fewer threads or processes than asked for. Results stay equal."""


class ThreadPool(ThreadPoolExecutor):
    """A pool that works with as many threads as the system lets it start, at least one.

    Parameters
    ----------
    count : int
        Maximum number of threads. The first one starts at once, the others when there
        is work for them.
    name : str
        Beginning of the threads' names.
    prepare : callable, optional
        Each thread calls it first.

    Raises
    ------
    RuntimeError
        The system starts no thread, for example because of a limit on processes.
    """

    def __init__(self, count: int, name: str, prepare: Callable[[], object] | None = None) -> None:
        super().__init__(count, thread_name_prefix=name, initializer=prepare)
        self.submit(int)

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            # The call is in the queue already, and any thread of the pool computes it.
            if not self._threads:
                raise


@functools.cache
def _warn_of_limit() -> None:
    warnings.warn(
        f"threads: the system starts no thread, so that kernels use only one; {LIMIT}",
        LimitWarning,
        stacklevel=2,
    )


@functools.cache
def _pool(pid: int) -> ThreadPool:
    # One pool a process: after a fork the parent's threads are gone.
    return ThreadPool(max(available_cores(), 2), "stereo_framework")


def over_rows(kernel: Callable[[int, int], object], rows: int, work: int) -> None:
    """Call ``kernel(start, stop)`` on ranges that cover ``range(rows)``, in several threads.

    The number of threads is limited by `threads`, by the amount of work, and by what
    the system lets the process start.

    Parameters
    ----------
    kernel : callable
        Writes its rows of an output; must not start threads of its own.
    rows : int
    work : int
        Elements touched in all; small jobs stay in the calling thread.
    """
    parts = max(1, min(thread_count(), rows, work // _WORTH_A_THREAD))
    if parts == 1:
        kernel(0, rows)
        return
    try:
        pool = _pool(os.getpid())
    except RuntimeError:
        _warn_of_limit()
        kernel(0, rows)
        return

    bounds = [rows * i // parts for i in range(parts + 1)]
    futures = []
    for start, stop in itertools.pairwise(bounds[1:]):
        # The number of threads and the account of compiling time hold in all threads.
        context = contextvars.copy_context()
        futures.append(pool.submit(context.run, kernel, start, stop))
    try:
        kernel(bounds[0], bounds[1])
    finally:
        for future in futures:
            future.result()


def over_blocks(
    run: Callable[[int, int, int], object],
    blocks: tuple[int, int],
    work: int,
    backwards: bool = False,
) -> None:
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
