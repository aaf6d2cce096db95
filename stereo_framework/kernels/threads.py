"""Threads of kernels.

The number of threads is one setting for the whole library. Kernels release the GIL and
compute a range of rows. Therefore the threads of Python are sufficient, and results do
not depend on their number.
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
from stereo_framework.kernels.progress import temporarily_set

_THREADS: contextvars.ContextVar[int | None] = contextvars.ContextVar("threads", default=None)

LIMIT_HINT = (
    "the limit on the processes of a user (ulimit -u) or of a container (its pids) may be reached"
)
"""Likely reason why the system starts no thread or process, for error messages."""

_MIN_WORK_PER_THREAD = 400_000
"""Minimum number of elements for each thread.

According to measurements, passing fewer elements to a thread takes longer than
computing them.
"""

_BLAS_VARIABLE = "OPENBLAS_NUM_THREADS"
_BLAS_MARKER = "STEREO_ONE_BLAS_THREAD"
"""Environment variable that records that this program has set `_BLAS_VARIABLE`."""


def use_one_blas_thread() -> None:
    """Let NumPy's OpenBLAS use one thread, in this process and in its workers.

    Call this function before NumPy is imported. More threads would be useless, because
    the matrices of this package are small. They would also be a risk: if the system
    refuses to start a thread of OpenBLAS, OpenBLAS interrupts the program or waits
    forever. A number of threads that the user has set remains.
    """
    if _BLAS_VARIABLE not in os.environ:
        os.environ |= {_BLAS_VARIABLE: "1", _BLAS_MARKER: "1"}


def environment_of_programs() -> dict[str, str]:
    """Return environment variables for other programs.

    OpenBLAS then uses as many threads in these programs as the user has set.
    """
    environment = dict(os.environ)
    if environment.pop(_BLAS_MARKER, None):
        environment.pop(_BLAS_VARIABLE, None)
    return environment


def threads(count: int) -> AbstractContextManager[Any]:
    """Let kernels use `count` threads inside the block, and sweeps as many workers.

    The default is one thread for each available core. The available cores are limited
    by the affinity of the process, by the CPU quota of its container, and by the
    environment variables ``OMP_NUM_THREADS`` and ``NUMBA_NUM_THREADS``. Results do not
    depend on the number of threads. The threads of OpenCV are set by
    ``cv2.setNumThreads``.

    Raises
    ------
    ValueError
        If `count` is below 1.

    Examples
    --------
    >>> import stereo_framework
    >>> with stereo_framework.threads(1):
    ...     pass
    """
    if count < 1:
        raise ValueError(f"threads: {count} is below 1")
    return temporarily_set(_THREADS, count)


def thread_count() -> int:
    """Return the number of threads that kernels may use in the current block."""
    return _THREADS.get() or available_cores()


class LimitWarning(UserWarning):
    """Warning that the system starts fewer threads or processes than were requested.

    The results are the same.
    """


class ThreadPool(ThreadPoolExecutor):
    """A pool with as many threads as the system lets it start, at least one.

    Parameters
    ----------
    count : int
        Maximum number of threads. The first thread starts at once. The others start
        when there is work for them.
    name : str
        Prefix of the names of the threads.
    prepare : callable, optional
        Function that each thread calls before its first task.

    Raises
    ------
    RuntimeError
        If the system starts no thread, for example because of a limit on processes.
    """

    def __init__(self, count: int, name: str, prepare: Callable[[], object] | None = None) -> None:
        super().__init__(count, thread_name_prefix=name, initializer=prepare)
        # The first task starts the first thread, so that an error occurs here.
        self.submit(int)

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            # The task is in the queue already, and any thread of the pool executes it.
            if not self._threads:
                raise


@functools.cache
def _warn_of_limit() -> None:
    warnings.warn(
        f"threads: the system starts no thread, so that kernels use only one; {LIMIT_HINT}",
        LimitWarning,
        stacklevel=2,
    )


@functools.cache
def _pool(process_id: int) -> ThreadPool:
    # Each process needs a pool of its own, because a fork does not copy the threads of
    # the pool.
    return ThreadPool(max(available_cores(), 2), "stereo_framework")


def over_rows(kernel: Callable[[int, int], object], rows: int, work: int) -> None:
    """Call ``kernel(start, stop)`` on ranges of rows, in several threads.

    Together the ranges cover ``range(rows)``. The number of threads is limited by
    `threads`, by the amount of work, and by the number of threads that the system
    starts.

    Parameters
    ----------
    kernel : callable
        Function that writes the rows from `start` to `stop` - 1 of an output. It must
        not start threads.
    rows : int
        Number of rows.
    work : int
        Number of elements that are read or written in all. If it is small, the calling
        thread computes all rows.
    """
    parts = max(1, min(thread_count(), rows, work // _MIN_WORK_PER_THREAD))
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
        # The threads share the context of the caller, such as its number of threads and
        # the clock of its compile time.
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
    """Call ``run(antidiagonal, start, stop)`` for all blocks of an image, in threads.

    The result is the same as if all pixels were visited in raster order, provided that
    a pixel depends only on its four neighbours. Then the blocks of an antidiagonal do
    not depend on each other, and several threads can compute them at the same time.

    One call of `run` computes the blocks of an antidiagonal in the rows of blocks from
    `start` to `stop` - 1. The column of such a block is ``antidiagonal - row``.

    Parameters
    ----------
    run : callable
        Function that computes all pixels of its blocks, in raster order or backwards.
    blocks : (int, int)
        Number of rows and of columns of blocks.
    work : int
        Number of elements that are read or written in all.
    backwards : bool
        If True, the blocks are visited from the last one to the first one.
    """
    block_rows, block_columns = blocks
    last = block_rows + block_columns - 2
    for n in range(last + 1):
        antidiagonal = last - n if backwards else n
        first_row = max(0, antidiagonal - block_columns + 1)
        stop_row = min(block_rows, antidiagonal + 1)
        count = stop_row - first_row

        def compute(
            start: int, stop: int, antidiagonal: int = antidiagonal, first_row: int = first_row
        ) -> None:
            run(antidiagonal, first_row + start, first_row + stop)

        over_rows(compute, count, work * count // (block_rows * block_columns))
