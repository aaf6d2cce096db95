"""Who computes the units of a sweep: this thread, threads of this process, or any executor of `concurrent.futures`, to which they are submitted.

A unit is submitted when its memory fits beside those that are not finished. What was with the workers when one of them died is computed once more,
setting by setting and alone, in processes that take the place of a pool that is broken: a setting that kills its worker is found out and stops none of the
others.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from concurrent.futures.process import ProcessPoolExecutor
from concurrent.futures.thread import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from stereo_framework.core.call_reports import stopped_by
from stereo_framework.core.errors import DataError, MissingExtraError, ParameterError, StereoFrameworkError, brings
from stereo_framework.engine.memory import free_memory, in_tiles
from stereo_framework.engine.stage_errors import blame
from stereo_framework.engine.step import Step
from stereo_framework.kernels.threads import available_cores, threads
from stereo_framework.sweep.plan import Task, Unit, units
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.work import Found, failed, measure, pack, work

_SHARE_OF_FREE = 0.8
"""How much of the free memory a sweep may take unless told otherwise."""

_GONE = "--dask: the scheduler is gone; results so far are kept, and the same command continues"

_CONNECTING = 4
"""Seconds in which a Dask scheduler must have answered."""


Done = tuple[Task, list[Result]]
"""A task and its results, one for each protocol."""


@dataclass(frozen=True)
class Crew:
    """Who computes, and what with.

    Parameters
    ----------
    workers : int, optional
        Units at a time; default: one for each core, or as many as the executor has. With 1 the stages of each use all cores.
    executor : concurrent.futures.Executor, optional
        Default: threads of this process.
    memory : int, optional
        Bytes that volumes may take together. Default: of this machine most of what is free, of a cluster all that there is.
    keep : bool
        Leave maps in the results.
    watch : callable, optional
        Called with a text that says what begins to be computed, as far as it is computed in this process.

    Raises
    ------
    ParameterError
        Nobody is to work, or with no memory.
    """

    workers: int | None = None
    executor: Executor | None = None
    memory: int | None = None
    keep: bool = False
    watch: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ParameterError(f"workers: {self.workers} is below 1")
        if self.memory is not None and self.memory <= 0:
            raise ParameterError(f"memory: {self.memory} bytes is nothing")


def computed(todo: Sequence[Task], crew: Crew) -> Generator[Done]:
    """What came of each task, as it is there; closed early, threads stop after their present step.

    Raises
    ------
    StereoFrameworkError
        A Dask scheduler is gone.
    ParameterError
        A stage cannot be sent to another process.
    """
    if not todo:
        return
    if crew.watch:
        crew.watch(f"{len(todo)} runs")
    client = getattr(crew.executor, "_client", None)  # of Dask's executor
    workers, memory = crew.workers, crew.memory
    if workers is None:
        many = sum(client.nthreads().values()) if client else getattr(crew.executor, "_max_workers", None)
        workers = many or available_cores()
    if memory is None and client is None and (free := free_memory()) is not None:
        memory = int(_SHARE_OF_FREE * free)
    bundles = list(units(todo, workers))
    coming, stopped = _fitting(bundles, memory), threading.Event()
    if crew.executor is None and min(workers, len(bundles)) == 1:
        for unit in coming:
            yield from _done(unit, _measured(unit, crew, stopped)) if isinstance(unit, Unit) else [unit]
        return
    with contextlib.ExitStack() as stack:
        pool = crew.executor or stack.enter_context(ThreadPoolExecutor(workers, thread_name_prefix="sweep"))
        # What has not begun is taken back, and what has is not waited for.
        stack.callback(stopped.set)
        yield from _Served(pool, crew, workers, memory, stopped, stack).found(coming)


def _done(unit: Unit, found: Iterable[Found]) -> Iterator[Done]:
    return ((unit.tasks[i], results) for i, results in found)


def _measured(unit: Unit, crew: Crew, stopped: threading.Event) -> Iterator[Found]:
    def watch(step: Step) -> None:
        if stopped.is_set():
            raise _Stopped
        if crew.watch:
            crew.watch(f"{unit.scene.name}: {step.stage.name}")

    yield from measure(unit, keep=crew.keep, watch=watch)


def _in_thread(unit: Unit, crew: Crew, stopped: threading.Event) -> list[Found]:
    with threads(1), stopped_by(stopped):
        return list(_measured(unit, crew, stopped))


class _Stopped(BaseException):
    """The sweep was interrupted; no failure of the runs."""


@dataclass
class _Served:
    """Units that an executor computes. One that has lost its workers is replaced by processes, which end with `stack`."""

    pool: Executor
    crew: Crew
    workers: int
    memory: int | None
    stopped: threading.Event
    stack: contextlib.ExitStack
    running: dict[Future[list[Found]], Unit] = field(default_factory=dict)
    lost: list[Unit] = field(default_factory=list)

    def found(self, coming: Iterable[Unit | Done]) -> Iterator[Done]:
        """What comes of units."""
        try:
            for unit in coming:
                if not isinstance(unit, Unit):
                    yield unit
                    continue
                # One more than there are workers, so that none waits.
                while len(self.running) > self.workers or (self.running and not self._fits(unit)):
                    yield from self._finished()
                self._submit(unit)
            while self.running:
                yield from self._finished()
            for task in [task for unit in self.lost for task in unit.tasks]:
                self.lost.clear()
                self._submit(Unit([task]))
                yield from self._finished()
                if self.lost:
                    told = (
                        "its worker died twice, once while it was alone with it (killed, out of memory, or ended by its method)"
                    )
                    yield task, failed(task, told)
        finally:
            if not self._is_gone():
                for future in self.running:
                    future.cancel()

    def _fits(self, unit: Unit) -> bool:
        return self.memory is None or unit.memory + sum(other.memory for other in self.running.values()) <= self.memory

    def _submit(self, unit: Unit) -> None:
        if isinstance(self.pool, ThreadPoolExecutor):
            own = contextvars.copy_context()
            self.running[self.pool.submit(own.run, _in_thread, unit, self.crew, self.stopped)] = unit
            return
        packed = pack(unit, keep=self.crew.keep)
        try:
            future = self.pool.submit(work, *packed)
        except BrokenExecutor:
            self.pool = self.stack.enter_context(processes(self.workers))
            future = self.pool.submit(work, *packed)
        except Exception as error:  # Dask's own
            if self._is_gone():
                raise StereoFrameworkError(_GONE) from error
            raise
        self.running[future] = unit

    def _finished(self) -> Iterator[Done]:
        """What comes of the next units that are done."""
        done: set[Future[list[Found]]] = set()
        while not done:
            # Nobody tells what was with a scheduler that is gone.
            if self._is_gone():
                raise StereoFrameworkError(_GONE)
            done, _ = wait(self.running, timeout=1, return_when=FIRST_COMPLETED)
        for future in done:
            unit = self.running.pop(future)
            try:
                yield from _done(unit, future.result())
            except Exception as error:
                if self._is_gone():
                    raise StereoFrameworkError(_GONE) from error
                if isinstance(error, BrokenExecutor | CancelledError) or type(error).__name__ == "KilledWorker":
                    self.lost.append(unit)
                    continue
                told = str(error) if isinstance(error, StereoFrameworkError) else f"{type(error).__name__}: {error}"
                yield from ((task, failed(task, told)) for task in unit.tasks)

    def _is_gone(self) -> bool:
        """Whether there is no connection to a Dask scheduler any more."""
        client = getattr(self.pool, "_client", None)
        return client is not None and client.status not in ("running", "connecting")


# --- memory -----------------------------------------------------------------------------------------------------------


def _fitting(coming: Iterable[Unit], memory: int | None) -> Iterator[Unit | Done]:
    """Units that fit into memory: as they are, else setting by setting; those of no use are refused with the numbers."""
    for unit in coming:
        if _refused(unit, memory) is None:
            yield unit
            continue
        for task in unit.tasks:
            error = _refused(single := Unit([task]), memory)
            yield single if error is None else (task, failed(task, error))


def _refused(unit: Unit, memory: int | None) -> str | None:
    """Why a unit cannot be computed as it is; None if it can."""
    try:
        need = unit.memory
    except Exception as error:  # a plug-in's halo may raise anything
        return blame(error).line
    if memory is None or need <= memory:
        return None
    pipeline, (rows, columns) = unit.tasks[0].setting.pipeline, unit.scene.reference.shape[:2]
    tiled = in_tiles(pipeline, (rows, columns), unit.search, memory)
    tiles = "" if tiled is None else f"{{use: tiles, size: {tiled.in_slot('scheme')[0].parameters['size']}}}"
    return (
        f"{pipeline.name} needs about {_bytes(need)} for {columns}x{rows} pixels and {unit.search.levels} levels; "
        f"{_bytes(memory)} are allowed (--memory); use fewer levels or smaller images"
        + f", or tiles: --set 'scheme=[{tiles}]'"
        * bool(tiles)
    )


def _bytes(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 / 2 else f"{count / 2**20:.3g} MiB"


# --- processes and clusters ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def processes(workers: int | None = None) -> Iterator[Executor]:
    """Worker processes, one for each core unless told otherwise, which end with this process, and with the block in the middle of their work."""
    spawning = multiprocessing.get_context("spawn")
    there, here = spawning.Pipe(duplex=False)
    with ProcessPoolExecutor(workers or available_cores(), spawning, initializer=_begin, initargs=(there,)) as pool:
        try:
            yield pool
        finally:
            here.close()
            there.close()


def _begin(ended: multiprocessing.connection.Connection[Any, Any]) -> None:
    """Prepare a worker process."""
    # Interrupts are the parent's to handle, and without a parent there is nothing to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(ended,), daemon=True).start()


def _end_with_parent(ended: multiprocessing.connection.Connection[Any, Any]) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel, ended])
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
        raise MissingExtraError(f"--dask needs dask.distributed: {brings('cluster')}") from None
    # What goes wrong is told in a line of ours.
    for name in ("tornado.application", "asyncio", *(n for n in logging.root.manager.loggerDict if n.startswith("distributed"))):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", "Sending large graph")
    try:
        if not address.startswith("inproc:"):  # a client that fails at it ends later, with words of its own
            get_address_host_port(address)
        client = Client(address, timeout=_CONNECTING, set_as_default=False)
    except (OSError, ValueError) as error:
        said = (str(error) or "it says nothing").splitlines()[0]
        raise DataError(f"--dask {address}: no Dask scheduler answers there: {said}") from error
    with contextlib.closing(client):
        if not client.nthreads():
            raise DataError(f"--dask {address}: the scheduler has no workers; start some with: dask worker {address}")
        yield client.get_executor(pure=False)
