"""Pool of worker processes that continues to work if one of the processes dies."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnProcess
from typing import Any

from stereo_framework.core.errors import StereoFrameworkError, warn
from stereo_framework.kernels.threads import LIMIT_HINT, ThreadPool, thread_count

_SPAWNING = multiprocessing.get_context("spawn")

_CHECK_SECONDS = 0.5
"""Time after which a waiting thread checks whether the pool has ended, in seconds."""


class CannotStartError(StereoFrameworkError):
    """Error that reports that the system refuses to start a worker process."""

    def __init__(self, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or str(error)
        super().__init__(
            f"--executor process: the system starts no worker process: {reason}; {LIMIT_HINT}; "
            "raise the limit or use --executor thread --workers 1; results so far are kept, and "
            "the same command continues"
        )


class _Worker:
    """A worker process, and the pipe that connects it with the main process."""

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
    """Pool of worker processes, which are killed at the end of the ``with`` block.

    Each process has its own pipe, and only one thread at a time writes to the pipe. If
    a process dies, only the call that the process computes is therefore affected. If
    the system starts fewer processes than requested, each call waits until a process is
    free.

    Parameters
    ----------
    workers : int, optional
        Maximum number of processes. The default is the number of `threads`.

    Raises
    ------
    CannotStartError
        The system refuses to start a thread or a process.
    """

    def __init__(self, workers: int | None = None):
        self._max_workers = workers or thread_count()
        self._has_ended = False
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._starting = 0
        self._refusal: Exception | None = None
        self._is_warned = False
        self._changed = threading.Condition()
        try:
            # The resource tracker is a process of Python, which this call starts. If
            # the system refuses to start a process, this call raises an error that is
            # handled below. An error in a thread of the pool would print a traceback.
            resource_tracker.ensure_running()
            # A new process inherits the signal mask of the thread that starts the
            # process. The threads block SIGINT, so that a process receives no interrupt
            # before its handler for SIGINT is set.
            self._threads = ThreadPool(self._max_workers, "process", _block_interrupts)
        except (OSError, RuntimeError) as error:
            raise CannotStartError(error) from error

    def submit(  # type: ignore[override]
        self, function: Callable[..., Any], /, *arguments: Any
    ) -> Future[Any]:
        """Let a worker process call a function, and return the future of the call.

        If the process dies, the future raises BrokenExecutor.
        """
        return self._threads.submit(self._call, function, *arguments)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Kill all worker processes."""
        # This method takes no lock, because an interrupt of the main thread could leave
        # the lock locked.
        self._has_ended = True
        for worker in list(self._workers):
            worker.process.kill()
        self._threads.shutdown(wait, cancel_futures=cancel_futures)

    def _call(self, *call: Any) -> Any:
        """Send a call to an idle process, and return the result of the call."""
        worker = self._free_worker()
        if self._has_ended:
            # The method `shutdown` kills only processes that have started. This process
            # may have started later, so it is killed here.
            worker.process.kill()
        try:
            worker.pipe.send(call)
            result = worker.pipe.recv()
        except (EOFError, OSError) as error:
            self._remove(worker)
            raise BrokenExecutor("a worker process died") from error
        except Exception:
            # The call cannot be pickled. The process has received nothing, so the
            # process is free for another call.
            self._release(worker)
            raise
        self._release(worker)
        if isinstance(result, Exception):
            raise result
        return result

    def _free_worker(self) -> _Worker:
        """Return an idle process. If no process is idle, start a process or wait."""
        while True:
            with self._changed:
                if self._idle:
                    return self._idle.pop()
                if self._refusal is None:
                    self._starting += 1
                elif self._has_ended or not (self._workers or self._starting):
                    raise CannotStartError(self._refusal)
                else:
                    self._changed.wait(_CHECK_SECONDS)
                    continue
            worker = self._new_worker()
            if worker is not None:
                return worker

    def _new_worker(self) -> _Worker | None:
        """Start a process, or return None if the system refuses to start a process."""
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
            needs_warning = refusal is not None and count > 0 and not self._is_warned
            self._is_warned |= needs_warning
            self._changed.notify_all()
        if needs_warning:
            message = (
                f"--executor process: the system starts only {count} of {self._max_workers} "
                f"worker processes; {LIMIT_HINT}"
            )
            warn([message])
        return worker

    def _release(self, worker: _Worker) -> None:
        """Make a process available for the next call."""
        with self._changed:
            self._idle.append(worker)
            self._changed.notify()

    def _remove(self, worker: _Worker) -> None:
        """Remove a process that has died, so that a new process may be started."""
        worker.process.join()
        with self._changed:
            self._workers.discard(worker)
            self._refusal = None
            self._changed.notify_all()


# --- signals --------------------------------------------------------------------------


def _block_interrupts() -> None:
    """Block SIGINT in the calling thread and in processes that the thread starts."""
    # The function pthread_sigmask does not exist on Windows.
    if hasattr(signal, "pthread_sigmask"):
        # When the resource tracker starts, Python unblocks SIGINT in the calling
        # thread. Therefore the resource tracker must start before SIGINT is blocked.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _unblock_interrupts() -> None:
    """Unblock SIGINT in the calling thread and in programs that the thread starts."""
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


# --- in the worker process ------------------------------------------------------------


def _serve(pipe: Any) -> None:
    """Receive calls through a pipe and compute them, until the pipe is closed."""
    # The parent process handles interrupts, so the handler for SIGINT in a worker does
    # nothing. With `signal.SIG_IGN` instead of a handler, the external programs that
    # stages start would also ignore SIGINT.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    _unblock_interrupts()
    # If the parent process dies, this thread ends the worker at once. Without the
    # thread, the worker would first finish its call. If the system refuses to start the
    # thread, the worker still computes calls.
    with contextlib.suppress(RuntimeError):
        threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            function, *arguments = pipe.recv()
            try:
                result = function(*arguments)
            except Exception as error:
                # The worker sends the exception as the result of the call. The parent
                # process raises the exception.
                result = error
            pipe.send(result)


def _end_with_parent() -> None:
    """Wait until the parent process ends, and then end this worker process."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
