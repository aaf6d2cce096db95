"""Who computes the units of a sweep: this thread, or any executor of `concurrent.futures`, to which they are submitted.

A unit is submitted when its memory fits beside those being computed. What was with the workers when one of them died is computed again, alone,
so that a run that kills its worker is found out and stops none of the others.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import itertools
import multiprocessing
import multiprocessing.connection
import os
import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from stereo_framework.core.call_reports import stopped_by
from stereo_framework.core.errors import ParameterError, StereoFrameworkError, nearest
from stereo_framework.engine.memory import free_memory, in_tiles
from stereo_framework.engine.stage_errors import blame
from stereo_framework.engine.step import Step
from stereo_framework.kernels.threads import available_cores, threads
from stereo_framework.sweep import cluster
from stereo_framework.sweep.plan import Task, Unit, units
from stereo_framework.sweep.scenes import send
from stereo_framework.sweep.work import Outcome, failed, measure, pack, work

EXECUTORS = ("thread", "process")

_SHARE_OF_FREE = 0.8
"""How much of the free memory a sweep may take unless told otherwise."""

_PROCESS_BYTES = 200 * 2**20
"""What a worker process takes before it computes anything: the interpreter, the libraries, compiled kernels."""

_TRIES = 2
"""How often a run that is alone with its worker may lose it."""

_SCENES_SENT = 4
"""So many scenes are kept as they are sent: units come scene by scene."""

Found = tuple[int, Outcome]
"""Position of a task in the plan, and what came of it."""


@dataclass(frozen=True)
class Options:
    """What all executors are told.

    Parameters
    ----------
    workers : int
        Units at a time; 0 = one for each core, or as many as the executor has.
    memory : int or None
        Bytes that volumes may take together, on a cluster on each worker; None = most of what is free.
    keep : bool
        Return disparity maps.
    data : str or None
        Data root of scenes that are sent by name.
    watch : callable or None
        Called with a text that says what begins to be computed, as far as it is computed in this process.
    parts : Path or None
        Where matches of the pairs that schemes make are kept until all is done.
    """

    workers: int
    memory: int | None
    keep: bool
    data: str | None = None
    watch: Callable[[str], None] | None = None
    parts: Path | None = None


class Workers:
    """Workers that stay for one batch of runs after the other. A context manager; nobody is called before there is work.

    Parameters
    ----------
    options : Options
        Of all batches.
    executor : {"thread", "process"} or concurrent.futures.Executor
    dask : str, optional
        Address of a Dask scheduler, whose workers compute instead.

    Raises
    ------
    ParameterError
        Another executor, or no memory.
    """

    def __init__(self, options: Options, executor: Literal["thread", "process"] | Executor = "thread", dask: str | None = None):
        if isinstance(executor, str) and executor not in EXECUTORS:
            raise ParameterError(f"executor: no such executor {executor!r}; {nearest(executor, EXECUTORS)}")
        if options.memory is not None and options.memory <= 0:
            raise ParameterError(f"memory: {options.memory} bytes is nothing")
        self.options, self._wanted, self._dask = options, executor, dask
        self._sent = functools.lru_cache(_SCENES_SENT)(functools.partial(send, data=options.data))
        self._pool: Executor | None = executor if isinstance(executor, Executor) else None
        self._client: Any = getattr(executor, "_client", None)  # of Dask's executor
        self._stopped, self._end = threading.Event(), contextlib.ExitStack()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()
        if self._dask is not None and self._client is not None:
            self._client.close()

    def compute(self, todo: Sequence[tuple[int, Task]]) -> Generator[Found]:
        """What came of tasks, each with its number, as it is there; closed early, the workers are stopped in the middle of their work."""
        if not todo:
            return
        if self.options.watch:
            self.options.watch(f"{len(todo)} runs")
        options = self._engaged()
        coming = units(todo, options.workers)
        if self._dask is None and self._wanted == "thread":
            first = list(itertools.islice(coming, 2))
            alone = len(first) == 1
            # Computed units are let go of.
            coming = itertools.chain((first.pop(0) for _ in range(len(first))), coming)
            if options.workers == 1 or alone:
                for unit in fitting(coming, options.memory):
                    yield from self._measured(unit) if isinstance(unit, Unit) else [unit]
                return
        running: dict[Future[list[Found]], tuple[Unit, int]] = {}
        finished = False
        try:
            yield from self._served(fitting(coming, options.memory), options, running)
            finished = True
        finally:
            for future in running if self._client is None or cluster.is_alive(self._client) else ():
                future.cancel()
            if not finished:
                self._close(stop=True)

    def _engaged(self) -> Options:
        """The options of the next batch, with the number of workers and what memory there is now."""
        if self._dask is not None and self._client is None:
            self._client = cluster.dask_client(self._dask)
        workers, memory = self.options.workers, self.options.memory
        if self._client is not None:
            count, limit = cluster.capacity(self._client)
            return replace(self.options, workers=workers or count, memory=memory or int(limit * _SHARE_OF_FREE) or None)
        workers = workers or getattr(self._pool, "_max_workers", None) or available_cores()
        if memory is None and (free := free_memory()) is not None:
            memory = max(0, int(_SHARE_OF_FREE * free) - (_PROCESS_BYTES * workers if self._wanted == "process" else 0))
        return replace(self.options, workers=workers, memory=memory)

    def _served(
        self, coming: Iterator[Unit | Found], options: Options, running: dict[Future[list[Found]], tuple[Unit, int]]
    ) -> Iterator[Found]:
        """What comes of all units. `running`: those that are handed out, each with the number of times that it was alone with its worker."""
        events: queue.SimpleQueue[Future[list[Found]] | Found] = queue.SimpleQueue()
        # Units whose worker died; and the positions of tasks that were handed out and of which nothing has come.
        suspects, awaited = collections.deque[tuple[Unit, int]](), set[int]()
        following: Unit | Found | None = None
        # A worker of a cluster has memory of its own, and begins the next unit at once.
        most = options.workers * (1 if self._client is None or self.options.workers else 2)

        def submit(unit: Unit, tries: int) -> None:
            awaited.update(position for position, _ in unit.tasks)
            try:
                future = self._submit(unit, options.workers, events.put)
            except BrokenExecutor as error:
                future = Future()
                future.set_exception(error)
            except Exception:  # Dask's own, of a scheduler that is gone
                if self._client is not None:
                    cluster.check_alive(self._client)
                raise
            running[future] = unit, tries
            future.add_done_callback(events.put)

        while True:
            while len(running) < most and not any(tries for _, tries in running.values()):
                if suspects:
                    # What killed a worker shows when it is alone.
                    if not running:
                        unit, tries = suspects.popleft()
                        submit(unit, tries + 1)
                    break
                following = following or next(coming, None)
                if isinstance(following, tuple):
                    yield following
                elif following is None or not self._fits(following, running, options.memory):
                    break
                else:
                    submit(following, 0)
                following = None
            if not running:
                return
            try:
                event = events.get(timeout=None if self._client is None else 1)
            except queue.Empty:
                cluster.check_alive(self._client)
                continue
            found: Iterable[Found] = [event] if isinstance(event, tuple) else ()
            if not isinstance(event, tuple):
                unit, tries = running.pop(event)
                try:
                    found = [(unit.tasks[i][0], measured) for i, measured in event.result()]
                except cluster.SchedulerGone:
                    raise
                except Exception as error:
                    left = [task for task in unit.tasks if task[0] in awaited]
                    if not self._lost(error):
                        text = str(error) if isinstance(error, StereoFrameworkError) else f"{type(error).__name__}: {error}"
                        found = _all_failed(left, text)
                    elif tries and len(left) > 1:
                        suspects.extend((Unit([task]), 0) for task in left)
                    elif tries < _TRIES:
                        suspects.append((Unit(left), tries))
                    else:
                        told = f"its worker died {tries} times while it was alone with it (killed, or out of memory)"
                        found = _all_failed(left, told)
            for position, outcome in found:
                awaited.discard(position)
                yield position, outcome

    def _fits(self, unit: Unit, running: dict[Future[list[Found]], tuple[Unit, int]], memory: int | None) -> bool:
        together = sum(other.memory for other, _ in running.values()) if self._client is None else 0
        return memory is None or unit.memory + together <= memory

    def _lost(self, error: Exception) -> bool:
        """Whether an error means that a worker died; then there are others for the next units."""
        if self._client is not None:
            cluster.check_alive(self._client)
            return isinstance(error, CancelledError) or type(error).__name__ == "KilledWorker"
        if not isinstance(error, BrokenExecutor):
            return False
        if self._wanted != "process":
            raise StereoFrameworkError(
                "the executor has lost its workers and cannot be used any more; results so far are kept"
            ) from error
        self._close(stop=True)
        return True

    def _submit(self, unit: Unit, workers: int, emit: Callable[[Found], None]) -> Future[list[Found]]:
        """Hand a unit out; threads of this process tell of each run by `emit`, others of all at the end."""
        if self._pool is None:
            self._pool = self._made(workers)
        if isinstance(self._pool, ThreadPoolExecutor):
            return self._pool.submit(contextvars.copy_context().run, self._thread, unit, emit)
        return self._pool.submit(work, *pack(unit, self.options.keep, self.options.parts), self._sent(unit.scene))

    def _made(self, workers: int) -> Executor:
        if self._client is not None:
            pool: Executor = self._client.get_executor(pure=False)
        elif self._wanted == "thread":
            pool = ThreadPoolExecutor(workers, thread_name_prefix="sweep")
        else:
            spawning = multiprocessing.get_context("spawn")
            there, here = spawning.Pipe(duplex=False)
            pool = ProcessPoolExecutor(workers, spawning, initializer=_begin, initargs=(there,))
            self._end.callback(there.close)
            self._end.callback(here.close)
        return pool

    def _thread(self, unit: Unit, emit: Callable[[Found], None]) -> list[Found]:
        with threads(1), stopped_by(self._stopped), contextlib.suppress(_Stopped):
            for found in self._measured(unit):
                emit(found)
        return []

    def _measured(self, unit: Unit) -> Iterator[Found]:
        def watch(step: Step) -> None:
            if stopped.is_set():
                raise _Stopped
            if self.options.watch:
                self.options.watch(f"{unit.scene.name}: {step.stage.name}")

        stopped = self._stopped
        protocols = [task.protocols for _, task in unit.tasks]
        keep, parts = self.options.keep, self.options.parts
        for i, measured in measure(unit.pipelines, protocols, unit.scene, unit.search, keep=keep, parts=parts, watch=watch):
            yield unit.tasks[i][0], measured

    def _close(self, *, stop: bool = False) -> None:
        """Send the workers home; with `stop` at once: processes end, threads after their present step. The caller's own stay."""
        if stop:
            self._stopped.set()
            self._stopped = threading.Event()
            self._end.close()
        # What a scheduler that is gone was to do cannot be taken back.
        if self._pool is not None and self._pool is not self._wanted and (self._client is None or cluster.is_alive(self._client)):
            self._pool.shutdown(wait=not stop or self._wanted == "process")
        if self._pool is not self._wanted:
            self._pool = None
        self._end.close()


class _Stopped(BaseException):
    """The sweep was interrupted; no failure of the runs."""


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


def _all_failed(tasks: Sequence[tuple[int, Task]], error: str) -> list[Found]:
    return [(position, failed(error)) for position, _ in tasks]


# --- memory -----------------------------------------------------------------------------------------------------------


def fitting(coming: Iterable[Unit], memory: int | None) -> Iterator[Unit | Found]:
    """Units that fit into memory: as they are, else run by run; those of no use are refused with the numbers."""
    for unit in coming:
        if _refused(unit, memory) is None:
            yield unit
            continue
        for item in unit.tasks:
            error = _refused(single := Unit([item]), memory)
            yield single if error is None else (item[0], failed(error))


def _refused(unit: Unit, memory: int | None) -> str | None:
    """Why a unit cannot be computed as it is; None if it can."""
    try:
        need = unit.memory
    except Exception as error:  # a plug-in's halo may raise anything
        return blame(error).line
    if memory is None or need <= memory:
        return None
    pipeline, (rows, columns) = unit.pipelines[0], unit.scene.reference.shape[:2]
    tiled = in_tiles(pipeline, (rows, columns), unit.search, memory)
    tiles = "" if tiled is None else f"{{use: tiles, size: {tiled.in_slot('scheme')[0].parameters['size']}}}"
    return (
        f"{pipeline.name} needs about {_size(need)} for {columns}x{rows} pixels and {unit.search.levels} levels; "
        f"{_size(memory)} are allowed (--memory); use fewer levels or smaller images"
        + f", or tiles: --set 'scheme=[{tiles}]'"
        * bool(tiles)
    )


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 / 2 else f"{count / 2**20:.3g} MiB"
