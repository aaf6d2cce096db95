"""Compute the results of tasks with an executor and a memory budget.

A batch is submitted to the executor when the running batches leave enough memory for
the batch. If a worker dies, the tasks of its batch are computed again, each task alone
in a process. In this way, the program finds the task that kills its worker, and all
other tasks get results.
"""

import collections
import contextlib
import queue
from collections.abc import Iterable, Iterator, Sequence
from concurrent import futures
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from stereo_framework.core.errors import ParameterError, StereoFrameworkError, warn
from stereo_framework.kernels.progress import announce_step
from stereo_framework.kernels.threads import LIMIT_HINT, ThreadPool, thread_count
from stereo_framework.sweep.batches import Batch, batches
from stereo_framework.sweep.dask_cluster import DaskCluster, client_of
from stereo_framework.sweep.executors import BatchFuture, Executor, OtherProcesses, Threads
from stereo_framework.sweep.memory_budget import BatchRefusedError, MemoryBudget
from stereo_framework.sweep.processes import CannotStartError, Processes
from stereo_framework.sweep.task_results import TaskResults, failed, run_tasks
from stereo_framework.sweep.tasks import Task

_WORKER_DIED_TWICE = (
    "its worker died twice, once while it computed nothing else; the system may have killed it for "
    "want of memory, or its method may have ended it; lower --memory and --workers, or run this "
    "setting alone with --executor thread"
)
"""Text of the error that a task gets if it kills its worker."""

_CHECK_SECONDS = 1
"""Time without a finished batch after which the executor is checked, in seconds."""


@dataclass(frozen=True)
class _RunningBatch:
    """A batch that was submitted to the executor.

    Parameters
    ----------
    batch : list of Task
        Tasks with the same scene and search range.
    size : int
        Peak memory of the batch, in bytes.
    """

    batch: Batch
    size: int


class Computation:
    """A computation of tasks, which is used in a ``with`` block.

    At the end of the block, the computation cancels all batches that have not begun. If
    the caller has passed an executor, the block does not wait for its running batches.

    Parameters
    ----------
    workers : int, optional
        Number of batches that are computed at the same time. The default is the number
        of workers of the executor, or the number of `threads` if no executor is given.
        With 1 worker, the stages of each batch use all threads.
    executor : concurrent.futures.Executor, optional
        Executor that computes the batches. By default, threads of this process compute
        the batches.
    memory : int, optional
        Maximum memory of all running batches together, in bytes. The default is most of
        the free memory of this machine. For a Dask cluster, there is no default limit.
    keep_maps : bool
        Whether the results contain the disparity maps and the confidence maps.

    Raises
    ------
    ParameterError
        The number of workers or the memory is below 1.
    """

    def __init__(
        self,
        workers: int | None = None,
        executor: futures.Executor | None = None,
        memory: int | None = None,
        *,
        keep_maps: bool = False,
    ):
        if workers is not None and workers < 1:
            raise ParameterError(f"workers: {workers} is below 1")
        self.keep_maps = keep_maps
        # Without an executor, tasks are computed in the calling thread.
        self._executor = None if executor is None else _adapted(executor)
        # If a worker dies, another executor computes the tasks of the lost batches. The
        # executor of the caller is still checked for a lost connection.
        self._given_executor = self._executor
        is_on_this_machine = self._executor is None or self._executor.is_on_this_machine
        self._budget = MemoryBudget(memory, is_on_this_machine=is_on_this_machine)
        executor_workers = None if self._executor is None else self._executor.workers
        self.workers = workers or executor_workers or thread_count()

        self._running: dict[BatchFuture, _RunningBatch] = {}
        self._lost_tasks: list[Task] = []
        # An interrupt by the user can leave the lock inside `futures.wait` locked,
        # because Python code handles this lock. A SimpleQueue is written in C and is
        # never left locked.
        self._finished: queue.SimpleQueue[BatchFuture] = queue.SimpleQueue()
        self._stack = contextlib.ExitStack()
        self._stack.callback(self._stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def memory_limit(self) -> float:
        """The maximum memory of all running batches together, in bytes."""
        return self._budget.limit

    def results_of(self, tasks: Sequence[Task]) -> Iterator[TaskResults]:
        """Compute tasks, and yield each task as soon as its results are computed.

        Parameters
        ----------
        tasks : sequence of Task
            The tasks to compute. The order in which tasks finish may differ.

        Yields
        ------
        (Task, list of Result)
            A task and its results. A task has one result for each protocol.

        Raises
        ------
        StereoFrameworkError
            The connection to a Dask scheduler is lost, or the operating system refuses
            to start a worker process.
        ParameterError
            A stage cannot be sent to another process.
        """
        if tasks:
            announce_step(f"{len(tasks)} runs")
        planned_batches = list(batches(tasks, self.workers))
        if self._executor is None and min(self.workers, len(planned_batches)) > 1:
            self._start_threads()
        try:
            yield from self._compute(planned_batches)
            yield from self._compute_lost_tasks()
        except Exception as error:
            # Dask raises many kinds of exceptions when its scheduler is lost.
            gone_executor = self._gone_executor()
            if gone_executor is None:
                raise
            raise gone_executor.gone_error() from error

    # --- executors --------------------------------------------------------------------

    def _start_threads(self) -> None:
        """Start threads of this process, or warn if the system refuses to start one."""
        try:
            pool = ThreadPool(self.workers, "sweep")
        except RuntimeError:
            message = (
                "workers: the system starts no thread, so that runs are computed one after the "
                f"other; {LIMIT_HINT}"
            )
            warn([message])
        else:
            self._use(pool, Threads(pool))

    def _use(self, pool: futures.Executor, executor: Executor) -> None:
        """Use an executor, and end its pool at the end of the ``with`` block."""
        self._stack.enter_context(pool)
        self._executor = executor
        # A pool waits for its threads when the pool ends. The callback stops the
        # running batches before the pool ends, so that the wait is short.
        self._stack.callback(self._stop)

    def _stop(self) -> None:
        """Ask running batches to end early, and cancel batches that have not begun."""
        for executor in (self._given_executor, self._executor):
            if executor is not None:
                executor.stop()
        # Dask cannot cancel anything if its scheduler is lost.
        if self._gone_executor() is None:
            for future in self._running:
                future.cancel()

    def _gone_executor(self) -> Executor | None:
        """Return an executor whose connection is lost, or None if there is none."""
        for executor in (self._given_executor, self._executor):
            if executor is not None and executor.is_gone():
                return executor
        return None

    # --- batches ----------------------------------------------------------------------

    def _compute(self, planned_batches: Iterable[Batch]) -> Iterator[TaskResults]:
        """Compute batches, and yield each task with its results."""
        waiting = collections.deque(planned_batches)
        while waiting:
            batch = waiting.popleft()
            refusal = None
            try:
                size = self._budget.size_of(batch)
            except BatchRefusedError as error:
                refusal = str(error)

            if refusal is not None and len(batch) > 1:
                # If a batch is too large for the memory, each task alone may be small
                # enough.
                waiting.extendleft([task] for task in reversed(batch))
            elif refusal is not None:
                yield batch[0], failed(batch[0], refusal)
            elif self._executor is None:
                yield from run_tasks(batch, keep_maps=self.keep_maps)
            else:
                while not self._may_submit(size):
                    yield from self._next_results()
                self._submit(self._executor, batch, size)
        while self._running:
            yield from self._next_results()

    def _compute_lost_tasks(self) -> Iterator[TaskResults]:
        """Compute each task whose worker died again, alone in a process."""
        if not self._lost_tasks:
            return
        tasks = self._lost_tasks
        self._lost_tasks = []
        pool = Processes(self.workers)
        self._use(pool, OtherProcesses(pool))
        yield from self._compute([task] for task in tasks)
        for task in self._lost_tasks:
            yield task, failed(task, _WORKER_DIED_TWICE)

    def _may_submit(self, size: int) -> bool:
        """Return whether a batch that needs `size` bytes may be submitted now."""
        # The executor holds one batch more than it has workers, so that a worker that
        # finishes a batch finds the next batch immediately.
        if len(self._running) > self.workers:
            return False
        running_sizes = [running.size for running in self._running.values()]
        return not running_sizes or self._budget.has_room(size, running_sizes)

    def _submit(self, executor: Executor, batch: Batch, size: int) -> None:
        """Submit a batch to an executor."""
        try:
            future = executor.submit(batch, keep_maps=self.keep_maps)
        except futures.BrokenExecutor:
            self._lost_tasks += batch
            return
        self._running[future] = _RunningBatch(batch, size)
        future.add_done_callback(self._finished.put)

    def _next_results(self) -> Iterator[TaskResults]:
        """Wait up to a second for a finished batch, and yield its tasks and results."""
        try:
            future = self._finished.get(timeout=_CHECK_SECONDS)
        except queue.Empty:
            # If the connection to an executor is lost, its futures never end.
            if self._gone_executor() is not None:
                raise
            if self._executor is not None:
                self._executor.check_workers()
            return
        batch = self._running.pop(future).batch
        try:
            yield from zip(batch, future.result(), strict=True)
        except Exception as error:
            if self._gone_executor() is not None or isinstance(error, CannotStartError):
                raise
            if self._executor is not None and self._executor.has_lost(error):
                self._lost_tasks += batch
                return
            message = _message_of(error)
            for task in batch:
                yield task, failed(task, message)


def _adapted(pool: futures.Executor) -> Executor:
    """Wrap an executor of the user in the class that `Computation` needs."""
    if isinstance(pool, futures.ThreadPoolExecutor):
        return Threads(pool)
    if client_of(pool) is not None:
        return DaskCluster(pool)
    return OtherProcesses(pool)


def _message_of(error: Exception) -> str:
    """Return the error text of all tasks in a batch that has raised an exception."""
    if isinstance(error, StereoFrameworkError):
        return str(error)
    return f"{type(error).__name__}: {error}"
