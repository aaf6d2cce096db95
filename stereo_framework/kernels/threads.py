"""Distribution of kernels over several threads.

The number of threads is a single setting, which applies to all kernels. A kernel
computes a range of image rows, so its result does not depend on the number of threads.
Kernels release the GIL, so that ordinary Python threads can run them at the same time.
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
"""Part of messages: why the system probably refuses to start a thread or process."""

_MIN_WORK_PER_THREAD = 400_000
"""Minimum number of array elements that a thread reads or writes.

According to measurements, handing a smaller task to another thread takes longer than
the computation itself.
"""

_BLAS_VARIABLE = "OPENBLAS_NUM_THREADS"
_BLAS_MARKER = "STEREO_ONE_BLAS_THREAD"
"""Environment variable that exists if `use_one_blas_thread` has set `_BLAS_VARIABLE`.

The variable does not exist if the user has set `_BLAS_VARIABLE`.
"""


def use_one_blas_thread() -> None:
    """Make NumPy's OpenBLAS use one thread in this process and in worker processes.

    Call this function before NumPy is imported. If the user has set the number of
    threads of OpenBLAS, the function has no effect. More than one thread would be
    useless, because this package uses only small matrices. Several threads would also
    be a risk: if the system refuses to start a thread, OpenBLAS interrupts the program
    or waits forever.
    """
    if _BLAS_VARIABLE not in os.environ:
        os.environ |= {_BLAS_VARIABLE: "1", _BLAS_MARKER: "1"}


def environment_of_programs() -> dict[str, str]:
    """Return the environment variables with which to start another program.

    The variables that `use_one_blas_thread` has set are left out. Therefore OpenBLAS
    uses the number of threads that the user has chosen in the other program.
    """
    environment = dict(os.environ)
    if environment.pop(_BLAS_MARKER, None):
        environment.pop(_BLAS_VARIABLE, None)
    return environment


def threads(count: int) -> AbstractContextManager[Any]:
    """Let kernels use `count` threads and sweeps use `count` workers inside the block.

    The default is one thread for each available core. The number of available cores is
    limited by the CPU affinity of the process, by the CPU quota of its container, and
    by the environment variables ``OMP_NUM_THREADS`` and ``NUMBA_NUM_THREADS``. Results
    do not depend on the number of threads. The number of threads of OpenCV is a
    separate setting, which ``cv2.setNumThreads`` changes.

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
    """Return the number of threads that kernels may use, as set by `threads`.

    The default is the number of available cores.
    """
    return _THREADS.get() or available_cores()


class LimitWarning(UserWarning):
    """Warning that the system starts fewer threads or processes than were requested.

    The results are the same, but the computation may take longer.
    """


class ThreadPool(ThreadPoolExecutor):
    """A thread pool that continues with fewer threads if the system starts no more.

    At least one thread is necessary.

    Parameters
    ----------
    count : int
        Maximum number of threads. The pool starts one thread immediately. It starts the
        other threads when they are needed for tasks.
    name : str
        Text with which the names of the threads begin.
    prepare : callable, optional
        Function that each thread calls before its first task.

    Raises
    ------
    RuntimeError
        If the system does not start even one thread, for example because a limit on the
        number of processes is reached.
    """

    def __init__(self, count: int, name: str, prepare: Callable[[], object] | None = None) -> None:
        super().__init__(count, thread_name_prefix=name, initializer=prepare)
        # This task does nothing, but it starts the first thread. If the system refuses
        # to start the thread, the exception is raised here and not at a later task.
        self.submit(int)

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            # If the system refuses to start another thread, the existing threads run
            # the task, which is already in the queue.
            if not self._threads:
                raise


@functools.cache
def _warn_of_limit() -> None:
    """Warn that kernels use only one thread, but only once in a process."""
    warnings.warn(
        f"threads: the system starts no thread, so kernels use only one thread; {LIMIT_HINT}",
        LimitWarning,
        stacklevel=2,
    )


@functools.cache
def _pool(process_id: int) -> ThreadPool:
    """Return the thread pool of a process, which the first call creates."""
    # A process that was created by a fork needs a new pool, because a fork copies the
    # pool but not its threads. Therefore the cache is indexed by the process.
    return ThreadPool(max(available_cores(), 2), "stereo_framework")


def over_rows(kernel: Callable[[int, int], object], rows: int, work: int) -> None:
    """Divide image rows into ranges, and call a kernel on each range in a thread.

    The call is ``kernel(start, stop)``. The ranges cover all rows and do not overlap.
    The number of threads is limited by the setting of `threads`, by the amount of work,
    and by the operating system.

    Parameters
    ----------
    kernel : callable
        Function that computes the rows `start` to `stop` - 1 of its output. It must not
        start threads.
    rows : int
        Number of rows.
    work : int
        Total number of array elements that the kernel reads or writes for all rows. If
        this number is small, the calling thread computes all rows.
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
        # The context contains settings of the calling thread, which the other threads
        # also use, such as the number of threads and the clock of `working_time`.
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
    """Compute all blocks of an image, one antidiagonal of blocks after the other.

    Several threads compute the blocks of an antidiagonal at the same time. If the
    result at a pixel depends only on its four neighbours, blocks of an antidiagonal do
    not depend on each other. The result is then the same as if all pixels were visited
    in raster order.

    The block in row i and column j of the grid of blocks belongs to antidiagonal i + j.
    The call ``run(antidiagonal, start, stop)`` computes the blocks of an antidiagonal
    in the rows `start` to `stop` - 1 of the grid.

    Parameters
    ----------
    run : callable
        Function that computes all pixels of the blocks. It must visit the pixels of a
        block in raster order, or in reverse raster order if `backwards` is True.
    blocks : (int, int)
        Number of rows and number of columns of the grid of blocks.
    work : int
        Total number of array elements that are read or written for all blocks.
    backwards : bool
        If True, the antidiagonals are visited from the lower right corner of the image
        to the upper left corner.
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
