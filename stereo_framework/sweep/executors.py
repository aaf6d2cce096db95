"""Executors, which compute several batches of tasks at the same time.

The protocol `Executor` defines the methods that a sweep needs. The class `Threads`
computes batches in threads of this process. The class `OtherProcesses` sends batches to
other processes. Each of these classes uses an executor of `concurrent.futures` to
distribute the batches. The module `dask_cluster` defines the executor for Dask
clusters.
"""

import contextvars
import threading
from concurrent import futures
from typing import Any, Protocol

from stereo_framework.core.call_context import stopped_by
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.sweep.batches import Batch
from stereo_framework.sweep.packed_tasks import pack_tasks, run_packed_tasks
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.task_results import results_of_batch

BatchFuture = futures.Future[list[list[Result]]]
"""Future of a batch, which returns one list of results for each task of the batch."""


class Executor(Protocol):
    """An object that computes several batches at the same time."""

    is_on_this_machine: bool = True
    """Whether the batches use the memory of this machine."""

    @property
    def workers(self) -> int | None:
        """The number of batches computed at the same time, or None if it is unknown."""

    def submit(self, batch: Batch, *, keep_maps: bool) -> BatchFuture:
        """Submit a batch, which is computed as soon as a worker is free.

        Parameters
        ----------
        batch : list of Task
            Tasks with the same scene and search range.
        keep_maps : bool
            Whether the results contain the disparity maps and the confidence maps.

        Raises
        ------
        BrokenExecutor
            The executor does not accept batches any more, because a worker has died.
        ParameterError
            A stage cannot be sent to another process.
        """

    def has_lost(self, error: Exception) -> bool:
        """Return whether the exception of a future means that its worker died.

        If a worker died, the sweep computes the tasks of the batch again.
        """
        return isinstance(error, futures.BrokenExecutor | futures.CancelledError)

    def check_workers(self) -> None:
        """Warn if no worker is available.

        While a sweep waits for a batch, the sweep calls this method once a second.
        """
        return

    def is_gone(self) -> bool:
        """Return whether the connection to the executor is lost.

        If the connection is lost, futures of the executor never end.
        """
        return False

    def gone_error(self) -> StereoFrameworkError:
        """Return the error that reports a lost connection to the executor."""
        message = (
            "executor: its workers can no longer be reached; they must run until all results are "
            "computed; stored results are kept; start the workers, and run again to continue"
        )
        return StereoFrameworkError(message)

    def stop(self) -> None:
        """Request that the running batches end early, if the executor supports this."""
        return


class Threads(Executor):
    """Threads of this process.

    Parameters
    ----------
    pool : ThreadPoolExecutor
        Executor that manages the threads. The caller must shut down the executor.
    """

    def __init__(self, pool: futures.ThreadPoolExecutor):
        self._pool = pool
        self._stop_event = threading.Event()

    @property
    def workers(self) -> int:
        """The number of threads."""
        return self._pool._max_workers

    def submit(self, batch: Batch, *, keep_maps: bool) -> BatchFuture:
        """Compute a batch in a thread.

        The thread uses the context variables of the calling thread. For example, a
        context variable contains the functions that display the progress of a run.
        """
        context = contextvars.copy_context()
        return self._pool.submit(context.run, self._compute, batch, keep_maps)

    def stop(self) -> None:
        """Request that the running stages end early."""
        self._stop_event.set()

    def _compute(self, batch: Batch, keep_maps: bool) -> list[list[Result]]:
        """Compute a batch in the current thread, which is a thread of the pool."""
        with stopped_by(self._stop_event):
            return results_of_batch(batch, keep_maps=keep_maps)


class OtherProcesses(Executor):
    """Workers in other processes, which receive pickled batches.

    Parameters
    ----------
    pool : concurrent.futures.Executor
        Executor that manages the processes, such as `Processes` or a
        ProcessPoolExecutor. The caller must shut down the executor.
    """

    def __init__(self, pool: futures.Executor):
        self._pool = pool

    @property
    def workers(self) -> int | None:
        """The number of workers, or None if the pool does not report the number."""
        count: int | None = getattr(self._pool, "_max_workers", None)
        return count

    def submit(self, batch: Batch, *, keep_maps: bool) -> BatchFuture:
        """Send a pickled batch to a worker in another process."""
        arguments: tuple[Any, ...] = pack_tasks(batch, keep_maps=keep_maps)
        return self._pool.submit(run_packed_tasks, *arguments)
