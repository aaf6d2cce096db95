"""Processes of this machine that compute the units of a sweep.

Each is served by a thread of this process over a pipe of its own: it tells of every run as soon as it is through, is sent the arrays of a
scene once, and takes nothing but its own unit with it when it dies.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import queue
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.kernels import compiling
from stereo_framework.sweep.executors import Found, Options, Team, WorkerLost
from stereo_framework.sweep.plan import Unit
from stereo_framework.sweep.scenes import Sending, SentScene
from stereo_framework.sweep.work import pack, work

PROCESS_BYTES = 200 * 2**20
"""What a worker process takes before it computes anything: the interpreter, the libraries, compiled kernels."""

_COMPILING, _SCENE, _FAULT = "compiling", "scene", "fault"
"""What a worker says besides what came of runs: that it compiles, that it needs the arrays of the scene, that no run could be begun."""


class ProcessTeam(Team):
    """Processes of this machine, started when there is work for them."""

    def __init__(self, options: Options):
        self.options, self.sending = options, Sending(options.data)
        self.pool = ThreadPoolExecutor(options.workers, thread_name_prefix="worker")
        self.idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(options.workers):
            self.idle.put(None)
        self.workers: set[_Worker] = set()
        self.stopped, self.lock = False, threading.Lock()

    def submit(self, unit: Unit, emit: Callable[[Found], None]) -> Future[list[Found]]:
        """Hand a unit out."""
        positions = [position for position, _ in unit.tasks]
        return self.pool.submit(
            self._compute, positions, *pack(unit, self.options.keep, self.options.parts), self.sending(unit.scene), emit
        )

    def _compute(
        self, positions: list[int], plugins: tuple[str, ...], packed: bytes, sent: SentScene, emit: Callable[[Found], None]
    ) -> list[Found]:
        worker = self.idle.get()
        try:
            worker = worker or self._started()
            worker.connection.send((plugins, packed, sent.without_arrays))
            while (message := worker.connection.recv()) is not None:
                what, about = message
                if what == _COMPILING:
                    compiling.announce_compiling(about)
                elif what == _SCENE:
                    worker.connection.send(sent)
                elif what == _FAULT:
                    raise StereoFrameworkError(about)
                else:
                    emit((positions[what], about))
        except (EOFError, OSError) as error:
            if worker is not None:
                self._end(worker)
            worker = None
            raise WorkerLost from error
        finally:
            self.idle.put(worker)
        return []

    def _started(self) -> _Worker:
        with self.lock:
            if self.stopped:
                raise WorkerLost
            worker = _Worker()
            self.workers.add(worker)
        return worker

    def _end(self, worker: _Worker) -> None:
        with self.lock:
            self.workers.discard(worker)
        worker.process.terminate()
        worker.process.join()
        worker.connection.close()

    def close(self, *, stop: bool) -> None:
        """Wait for the processes; with `stop` end them in the middle of their work."""
        with self.lock:
            self.stopped = True
            workers = list(self.workers)
        if stop:
            for worker in workers:
                worker.process.terminate()
        self.pool.shutdown(wait=True, cancel_futures=True)
        for worker in workers:
            self._end(worker)


class _Worker:
    """A process, and the pipe to it."""

    def __init__(self) -> None:
        spawning = multiprocessing.get_context("spawn")
        self.connection, other = spawning.Pipe()
        self.process = spawning.Process(target=_serve, args=(other,))
        self.process.start()
        # The pipe ends when the process does.
        other.close()


def _serve(connection: multiprocessing.connection.Connection[Any, Any]) -> None:
    """What a process does: one unit after the other, until the pipe ends."""
    # Interrupts are the parent's to handle, and without a parent there is nothing to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with (
        contextlib.suppress(EOFError, OSError),
        compiling.compiling_announced_to(lambda name: connection.send((_COMPILING, name))),
    ):
        while True:
            plugins, packed, sent = connection.recv()
            if sent.is_lacking:
                connection.send((_SCENE, None))
                sent = connection.recv()
            try:
                for found in work(plugins, packed, sent):
                    connection.send(found)
            except StereoFrameworkError as error:
                connection.send((_FAULT, str(error)))
            except Exception as error:  # a plug-in may raise anything when it is loaded
                connection.send((_FAULT, f"{type(error).__name__}: {error}"))
            else:
                connection.send(None)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)
