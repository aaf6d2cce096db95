"""Who computes the units of a sweep: this thread, threads of this process, or any executor of `concurrent.futures`, to which they are submitted.

A unit is submitted when its memory fits beside those that are not finished. What was with a worker when it died is computed once more, setting by
setting, each alone in a process: a setting that kills its worker is found out and stops none of the others.
"""

import collections
import contextlib
import contextvars
import functools
import logging
import math
import multiprocessing
import os
import queue
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from concurrent.futures.thread import ThreadPoolExecutor
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnProcess
from typing import Any

from stereo_framework.core.call_context import stopped_by
from stereo_framework.core.errors import (
    DataError,
    MissingExtraError,
    ParameterError,
    StereoFrameworkError,
    install_command,
    warn,
)
from stereo_framework.core.step import describe_stage_error
from stereo_framework.engine.memory import FramesInMemory, peak_memory
from stereo_framework.engine.tiling import refusal
from stereo_framework.kernels.free_memory import free_memory
from stereo_framework.kernels.progress import announce_step
from stereo_framework.kernels.threads import LIMIT_HINT, ThreadPool, thread_count
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.task_results import (
    Done,
    failed,
    pack_tasks,
    results_of_tasks,
    run_packed_tasks,
    run_tasks,
)
from stereo_framework.sweep.tasks import Task, Unit, units

_SHARE_OF_FREE = 0.8
"""How much of the free memory a sweep may take unless told otherwise."""

_GONE = "--dask: the scheduler is gone; results so far are kept, and the same command continues"

_CONNECTING = 4
"""Seconds in which a Dask scheduler must have answered."""

_WAITING = 0.5
"""Seconds after which a thread that waits for a process looks whether the block was left."""

_PATIENCE = 20
"""Seconds without a Dask worker, after which that is told."""


class Crew(contextlib.ExitStack):
    """Who computes, and what with. At the end of the block what has not begun is taken back, and what has is not waited for.

    Parameters
    ----------
    workers : int, optional
        Units at a time; default: the number of `threads`, or as many as the executor has. With 1 the stages of each use all threads.
    executor : concurrent.futures.Executor, optional
        Default: threads of this process.
    memory : int, optional
        Bytes that volumes may take together. Default: of this machine most of what is free, of a cluster all that there is.
    keep : bool
        Leave maps in the results.

    Raises
    ------
    ParameterError
        Nobody is to work, or with no memory.
    """

    def __init__(
        self,
        workers: int | None = None,
        executor: Executor | None = None,
        memory: int | None = None,
        keep: bool = False,
    ):
        super().__init__()
        if workers is not None and workers < 1:
            raise ParameterError(f"workers: {workers} is below 1")
        if memory is not None and memory <= 0:
            raise ParameterError(f"memory: {memory} bytes is nothing")
        self.keep, self._pool = keep, executor
        self._client: Any = getattr(executor, "_client", None)  # of Dask's
        many = (
            sum(self._client.nthreads().values())
            if self._client
            else getattr(executor, "_max_workers", None)
        )
        self._workers = workers or many or thread_count()
        self._memory = memory or (math.inf if self._client else _SHARE_OF_FREE * free_memory())
        self._running: dict[Future[list[list[Result]]], tuple[Unit, int]] = {}
        self._lost: list[Task] = []
        self._alone = 0  # seconds without a worker
        # An interrupt cannot leave its lock behind, as it could those of futures.
        self._done: queue.SimpleQueue[Future[list[list[Result]]]] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self.callback(self._leave)

    def _use(self, pool: Executor) -> None:
        self._pool = self.enter_context(pool)
        # Before that pool waits for its threads.
        self.callback(self._leave)

    def _use_threads(self) -> None:
        """Compute in threads of this process, or in this thread if no other starts."""
        try:
            pool = ThreadPool(self._workers, "sweep")
        except RuntimeError:
            warn(
                [
                    f"workers: the system starts no thread, so that runs are computed one after the other; {LIMIT_HINT}"
                ]
            )
        else:
            self._use(pool)

    def _leave(self) -> None:
        self._stopped.set()
        if not self._is_gone():
            for future in self._running:
                future.cancel()

    def _is_gone(self) -> bool:
        """Whether there is no connection to a Dask scheduler any more."""
        return self._client is not None and self._client.status not in ("running", "connecting")

    def computed(self, todo: Sequence[Task]) -> Iterator[Done]:
        """What came of each task, as it is there.

        Raises
        ------
        StereoFrameworkError
            A Dask scheduler is gone, or the system starts no worker process.
        ParameterError
            A stage cannot be sent to another process.
        """
        if todo:
            announce_step(f"{len(todo)} runs")
        bundles = list(units(todo, self._workers))
        if self._pool is None and min(self._workers, len(bundles)) > 1:
            self._use_threads()
        try:
            yield from self._all(bundles)
            if self._lost:
                again, self._lost = self._lost, []
                self._use(Processes(self._workers))
                yield from self._all([task] for task in again)
                told = (
                    "its worker died twice, once while it computed nothing else; the system may have killed it for want of memory, or "
                    "its method may have ended it; lower --memory and --workers, or run this setting alone with --executor thread"
                )
                yield from ((task, failed(task, told)) for task in self._lost)
        except Exception as error:  # Dask's own
            if self._is_gone():
                raise StereoFrameworkError(_GONE) from error
            raise

    def _all(self, coming: Iterable[Unit]) -> Iterator[Done]:
        waiting = collections.deque(coming)
        while waiting:
            unit = waiting.popleft()
            need = self._need(unit)
            if isinstance(need, str) and len(unit) > 1:  # what does not fit together may fit apart
                waiting.extendleft([task] for task in reversed(unit))
            elif isinstance(need, str):
                yield unit[0], failed(unit[0], need)
            elif self._pool is None:
                yield from run_tasks(unit, keep=self.keep)
            else:
                # One more than there are workers, so that none waits.
                while len(self._running) > self._workers or (self._running and need > self._left()):
                    yield from self._next()
                self._submit(self._pool, unit, need)
        while self._running:
            yield from self._next()

    def _left(self) -> float:
        """Bytes that are not taken."""
        return self._memory - sum(taken for _, taken in self._running.values())

    def _submit(self, pool: Executor, unit: Unit, need: int) -> None:
        if isinstance(pool, ThreadPoolExecutor):
            call: tuple[Any, ...] = (contextvars.copy_context().run, self._in_thread, unit)
        else:
            call = (run_packed_tasks, *pack_tasks(unit, keep=self.keep))
        try:
            future = pool.submit(*call)
        except BrokenExecutor:
            self._lost += unit
            return
        self._running[future] = unit, need
        future.add_done_callback(self._done.put)

    def _in_thread(self, unit: Unit) -> list[list[Result]]:
        with stopped_by(self._stopped):
            return results_of_tasks(unit, keep=self.keep)

    def _next(self) -> Iterator[Done]:
        """What the next unit comes to that is done."""
        try:
            future = self._done.get(timeout=1)
        except queue.Empty:
            # Nobody tells what was with a scheduler that is gone.
            if self._is_gone():
                raise
            self._alone = 0 if self._client is None or self._client.nthreads() else self._alone + 1
            if self._alone == _PATIENCE:
                address = self._client.scheduler.address
                warn(
                    [
                        f"--dask: no worker for {_PATIENCE} seconds; the sweep goes on when one comes: dask worker {address}"
                    ]
                )
            return
        unit, _ = self._running.pop(future)
        try:
            yield from zip(unit, future.result(), strict=True)
        except Exception as error:
            if self._is_gone() or isinstance(error, CannotStartError):
                raise
            if (
                isinstance(error, BrokenExecutor | CancelledError)
                or type(error).__name__ == "KilledWorker"
            ):
                self._lost += unit
                return
            told = (
                str(error)
                if isinstance(error, StereoFrameworkError)
                else f"{type(error).__name__}: {error}"
            )
            yield from ((task, failed(task, told)) for task in unit)

    def _need(self, unit: Unit) -> int | str:
        """Bytes that a unit needs, or why it cannot be computed."""
        pipelines, pair = (
            [task.setting.pipeline for task in unit],
            (unit[0].scene.reference.shape[:2], unit[0].search),
        )
        scene = unit[0].scene
        frames = FramesInMemory.of(len(scene.frames) - 2, scene.reference)
        try:
            peak = peak_memory(pipelines, *pair, frames=frames)
        except Exception as error:  # a plug-in's halo may raise anything
            return describe_stage_error(error)
        if peak.size <= self._memory:
            return peak.size
        return refusal(pipelines[0], *pair, peak, self._memory, frames=frames)


# --- processes and clusters ---------------------------------------------------------------------------------------------


_SPAWNING = multiprocessing.get_context("spawn")


class CannotStartError(StereoFrameworkError):
    """The system starts no worker process."""

    def __init__(self, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or str(error)
        super().__init__(
            f"--executor process: the system starts no worker process: {reason}; {LIMIT_HINT}; raise the limit or use "
            "--executor thread --workers 1; results so far are kept, and the same command continues"
        )


class _Worker:
    """A worker process and the pipe to it."""

    def __init__(self) -> None:
        self.pipe, end_of_worker = _SPAWNING.Pipe()
        self.process: SpawnProcess = _SPAWNING.Process(
            target=_serve, args=(end_of_worker,), daemon=True
        )
        try:
            self.process.start()
        finally:
            end_of_worker.close()


class Processes(Executor):
    """Worker processes, which are killed at the end of the block, whatever they compute.

    Each process has a pipe, to which one thread at a time writes. A process that dies
    therefore affects only the call that it computes. If the system starts fewer
    processes than asked for, calls wait until one of the started processes is free.

    Parameters
    ----------
    workers : int, optional
        Maximum number of processes; default: the number of `threads`.

    Raises
    ------
    CannotStartError
        The system starts no thread or process.
    """

    def __init__(self, workers: int | None = None):
        self._max_workers = workers or thread_count()
        self._left = False
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._starting = 0
        self._refusal: Exception | None = None
        self._is_warned = False
        self._changed = threading.Condition()
        try:
            # This starts a process, which would fail in a thread with a traceback.
            resource_tracker.ensure_running()
            # A process begins with the signal mask of the thread that starts it, and
            # ignores interrupts until it can handle them.
            self._threads = ThreadPool(
                self._max_workers, "process", functools.partial(_hear_interrupts, False)
            )
        except (OSError, RuntimeError) as error:
            raise CannotStartError(error) from error

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:  # type: ignore[override]
        """Send a call to a process. The future raises BrokenExecutor if the process dies."""
        return self._threads.submit(self._call, function, *arguments)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Kill the processes."""
        # The main thread takes no lock, because an interrupt could leave it locked.
        self._left = True
        for worker in list(self._workers):
            worker.process.kill()
        self._threads.shutdown(wait, cancel_futures=cancel_futures)

    def _call(self, *call: Any) -> Any:
        """Return the result of a call that a process computes."""
        worker = self._free_worker()
        if self._left:
            worker.process.kill()
        try:
            worker.pipe.send(call)
            result = worker.pipe.recv()
        except (EOFError, OSError) as error:
            self._remove(worker)
            raise BrokenExecutor("a worker process died") from error
        except Exception:
            # A call that cannot be pickled was not sent.
            self._release(worker)
            raise
        self._release(worker)
        if isinstance(result, Exception):
            raise result
        return result

    def _free_worker(self) -> _Worker:
        """Return an idle process, or start one, or wait for one."""
        while True:
            with self._changed:
                if self._idle:
                    return self._idle.pop()
                if self._refusal is None:
                    self._starting += 1
                elif self._left or not (self._workers or self._starting):
                    raise CannotStartError(self._refusal)
                else:
                    self._changed.wait(_WAITING)
                    continue
            worker = self._new_worker()
            if worker is not None:
                return worker

    def _new_worker(self) -> _Worker | None:
        """Start a process; return None if the system refuses to."""
        worker = refusal = None
        try:
            worker = _Worker()
        except (OSError, RuntimeError) as error:
            refusal = error

        with self._changed:
            self._starting -= 1
            if worker is not None:
                self._workers.add(worker)
            self._refusal = refusal
            count = len(self._workers)
            is_news = refusal is not None and count > 0 and not self._is_warned
            self._is_warned |= is_news
            self._changed.notify_all()
        if is_news:
            warn(
                [
                    f"--executor process: the system starts only {count} of {self._max_workers} worker processes; {LIMIT_HINT}"
                ]
            )
        return worker

    def _release(self, worker: _Worker) -> None:
        """Let another call use a process."""
        with self._changed:
            self._idle.append(worker)
            self._changed.notify()

    def _remove(self, worker: _Worker) -> None:
        """Forget a process that has died. The system may start another one instead."""
        worker.process.join()
        with self._changed:
            self._workers.discard(worker)
            self._refusal = None
            self._changed.notify_all()


def _hear_interrupts(hear: bool) -> None:
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        resource_tracker.ensure_running()  # which lets a thread hear of them when it begins
        signal.pthread_sigmask(signal.SIG_UNBLOCK if hear else signal.SIG_BLOCK, {signal.SIGINT})


def _serve(pipe: Any) -> None:
    # Interrupts are the parent's to handle, and without a parent there is nothing to do. Programs that stages begin hear of them.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    _hear_interrupts(True)
    # Without this thread, the worker ends only after its call when its parent has died.
    with contextlib.suppress(RuntimeError):
        threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            function, *arguments = pipe.recv()
            try:
                found = function(*arguments)
            except Exception as error:
                found = error
            pipe.send(found)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """The executor of the Dask cluster whose scheduler has this address.

    Raises
    ------
    MissingExtraError
        dask.distributed is not installed.
    DataError
        Nobody answers at the address, or no worker is there.
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise MissingExtraError(
            f"--dask needs dask.distributed: {install_command('cluster')}"
        ) from None
    # What goes wrong is told in a line of ours.
    for name in (
        "tornado.application",
        "asyncio",
        *(n for n in logging.root.manager.loggerDict if n.startswith("distributed")),
    ):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", "Sending large graph")
    try:
        if not address.startswith(
            "inproc:"
        ):  # a client that fails at it ends later, with words of its own
            get_address_host_port(address)
        client = Client(address, timeout=_CONNECTING, set_as_default=False)
    except (OSError, ValueError) as error:
        said = (str(error) or "it says nothing").splitlines()[0]
        raise DataError(f"--dask {address}: no Dask scheduler answers there: {said}") from error
    with contextlib.closing(client):
        if not client.nthreads():
            raise DataError(
                f"--dask {address}: the scheduler has no workers; start some with: dask worker {address}"
            )
        yield client.get_executor(pure=False)
