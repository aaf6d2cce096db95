"""Distribution of kernels over several threads.

Each thread computes a range of image rows. The result does not depend on the number of
threads. Kernels release the GIL, so Python threads run kernels at the same time.
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

from stereo_framework.kernels.compiling import adding_processor_time
from stereo_framework.kernels.cores import available_cores
from stereo_framework.kernels.progress import temporarily_set

_THREADS: contextvars.ContextVar[int | None] = contextvars.ContextVar("threads", default=None)

LIMIT_HINT = (
    "the limit on the processes of a user (ulimit -u) or of a container (its pids) may be reached"
)
"""Probable reason why a thread or process cannot start, as a part of messages."""

_MIN_WORK_PER_THREAD = 400_000
"""Minimum number of array elements that a thread reads or writes.

For smaller tasks, passing rows to a thread of the pool takes longer than it saves.
"""

_BLAS_VARIABLE = "OPENBLAS_NUM_THREADS"
_BLAS_MARKER = "STEREO_ONE_BLAS_THREAD"
"""Environment variable that exists if this package has set `_BLAS_VARIABLE`."""


def use_one_blas_thread() -> None:
    """Make NumPy's OpenBLAS use one thread in this process and in worker processes.

    Call this function before importing NumPy. If the user has set the number of
    OpenBLAS threads, the function has no effect. One thread is enough for the small
    matrices of this package. If a thread cannot start, OpenBLAS may hang or
    end the program.
    """
    if _BLAS_VARIABLE not in os.environ:
        os.environ |= {_BLAS_VARIABLE: "1", _BLAS_MARKER: "1"}


def environment_of_programs() -> dict[str, str]:
    """Return the environment variables for starting an external program.

    The variables from `use_one_blas_thread` are removed, so external programs may use
    several OpenBLAS threads.
    """
    environment = dict(os.environ)
    if environment.pop(_BLAS_MARKER, None):
        environment.pop(_BLAS_VARIABLE, None)
    return environment


def threads(count: int) -> AbstractContextManager[Any]:
    """Let kernels use `count` threads and sweeps use `count` workers inside the block.

    The default is one thread for each available core. The CPU affinity, the CPU quota,
    ``OMP_NUM_THREADS`` and ``NUMBA_NUM_THREADS`` can limit the default. Results do not
    depend on the number of threads. For OpenCV, use ``cv2.setNumThreads``.

    Raises
    ------
    ValueError
        `count` is below 1.

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
    """Return the number of threads for kernels.

    The default is the number of available cores.
    """
    return _THREADS.get() or available_cores()


class LimitWarning(UserWarning):
    """Warning that fewer threads or processes could be started than requested.

    Results are the same, but the computation may be slower.
    """


class ThreadPool(ThreadPoolExecutor):
    """A thread pool that continues with fewer threads if a thread cannot start.

    Parameters
    ----------
    count : int
        Maximum number of threads. One thread starts immediately.
    name : str
        Beginning of the thread names.
    prepare : callable, optional
        Function that each thread calls before its first task.

    Raises
    ------
    RuntimeError
        The first thread cannot start.
    """

    def __init__(self, count: int, name: str, prepare: Callable[[], object] | None = None) -> None:
        super().__init__(count, thread_name_prefix=name, initializer=prepare)
        # An empty task starts the first thread. If the thread cannot start, the
        # exception is raised here and not at a later task.
        self.submit(int)

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            # The task is already in the queue, so an existing thread can run the task.
            if not self._threads:
                raise


@functools.cache
def _warn_of_limit() -> None:
    """Warn once per process that kernels use only one thread."""
    warnings.warn(
        f"threads: the system starts no thread, so kernels use only one thread; {LIMIT_HINT}",
        LimitWarning,
        stacklevel=2,
    )


@functools.cache
def _pool(process_id: int) -> ThreadPool:
    """Return the thread pool of a process."""
    # A forked process needs a new pool, because a fork copies no threads.
    return ThreadPool(max(available_cores(), 2), "stereo_framework")


def over_rows(kernel: Callable[[int, int], object], rows: int, work: int) -> None:
    """Divide image rows into ranges, and call a kernel on each range in a thread.

    For example, two threads call ``kernel(0, 50)`` and ``kernel(50, 100)`` for 100
    rows.

    Parameters
    ----------
    kernel : callable
        Function ``kernel(start, stop)`` that computes the rows `start` to `stop` - 1.
        The function must not start threads.
    rows : int
        Number of rows.
    work : int
        Total number of array elements that the kernel reads or writes. Small tasks run
        in the calling thread. The setting `threads` limits the number of threads.
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
    counted_kernel = adding_processor_time(kernel)
    futures = []
    for start, stop in itertools.pairwise(bounds[1:]):
        # Worker threads use the settings of the calling thread, such as the clock of
        # `working_time`.
        context = contextvars.copy_context()
        futures.append(pool.submit(context.run, counted_kernel, start, stop))
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
    """Compute the blocks of an image along antidiagonals, with several threads.

    The block in row i and column j belongs to antidiagonal i + j. Threads compute the
    blocks of an antidiagonal at the same time. If each pixel depends only on its four
    neighbours, the result equals a computation in raster order.

    Parameters
    ----------
    run : callable
        Function ``run(antidiagonal, start, stop)`` that computes the blocks of an
        antidiagonal in the block rows `start` to `stop` - 1. Inside a block, pixels
        must be visited in raster order, or in reverse if `backwards` is True.
    blocks : (int, int)
        Number of rows and columns of blocks.
    work : int
        Total number of array elements that are read or written.
    backwards : bool
        True: begin at the lower right corner of the image, not at the upper left.
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
