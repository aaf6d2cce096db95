"""Who computes the units of a sweep: this thread, threads or any executor of Python's; processes and Dask clusters have files of their own.

A unit is handed out when its memory fits beside those being computed. What a worker was computing when it died is computed again, alone,
so that a unit that kills its workers is found out and stops none of the others.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from stereo_framework.core.call_reports import stopped_by
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.engine.memory import in_tiles
from stereo_framework.engine.stage_errors import blame
from stereo_framework.engine.step import Step
from stereo_framework.kernels.threads import threads
from stereo_framework.sweep.plan import Unit
from stereo_framework.sweep.scenes import Sending
from stereo_framework.sweep.work import Outcome, failed, measure, pack, whole_work

_TRIES = 2
"""How often a run that is alone with its worker may lose it."""

Found = tuple[int, Outcome]
"""Position of a task in the plan, and what came of it."""


@dataclass(frozen=True)
class Options:
    """What all executors are told.

    Parameters
    ----------
    workers : int
        Units at a time.
    memory : int or None
        Bytes that volumes may take; None = no limit.
    keep : bool
        Return disparity maps.
    data : str or None
        Data root of scenes that are sent by name.
    watch : callable or None
        Called with a text that says what begins to be computed, as far as it is computed in this process.
    together : bool
        Whether the limit of memory is for all units that are computed at a time, not for each.
    ahead : int
        Units that are handed out beyond those that are computed, so that no worker waits for the next one.
    parts : Path or None
        Where matches of the pairs that schemes make are kept until all is done.
    """

    workers: int
    memory: int | None
    keep: bool
    data: str | None = None
    watch: Callable[[str], None] | None = None
    together: bool = True
    ahead: int = 0
    parts: Path | None = None


def fitting(units: Iterable[Unit], memory: int | None) -> Iterator[Unit | Found]:
    """Units that fit into memory: as they are, else run by run; those of no use are refused with the numbers."""
    for unit in units:
        if _refused(unit, memory) is None:
            yield unit
            continue
        for single in unit.single():
            error = _refused(single, memory)
            yield single if error is None else (single.tasks[0][0], failed(error))


def _refused(unit: Unit, memory: int | None) -> str | None:
    """Why a unit cannot be computed as it is; None if it can."""
    try:
        need = unit.memory
    except Exception as error:  # a plug-in's halo may raise anything
        return blame(error).line
    if memory is None or need <= memory:
        return None
    rows, columns = unit.scene.reference.shape[:2]
    return (
        f"{unit.tasks[0][1].run.pipeline.name} needs about {_size(need)} for {columns}x{rows} pixels and "
        f"{unit.search.levels} levels; {_size(memory)} are allowed (--memory); use fewer levels or smaller images{_advice(unit, memory)}"
    )


def _advice(unit: Unit, memory: int) -> str:
    """Which tiles would fit, as a setting of the command line; empty where none do."""
    tiled = in_tiles(unit.tasks[0][1].run.pipeline, unit.scene.reference.shape[:2], unit.search, memory)
    return (
        ""
        if tiled is None
        else f", or tiles: --set 'scheme=[{{use: tiles, size: {tiled.in_slot('scheme')[0].parameters['size']}}}]'"
    )


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 / 2 else f"{count / 2**20:.3g} MiB"


def serial(units: Iterable[Unit], options: Options) -> Iterator[Found]:
    """Compute one unit after the other in this thread; kernels use as many threads as they are allowed."""
    for unit in fitting(units, options.memory):
        if isinstance(unit, Unit):
            yield from _measured(unit, options, functools.partial(_tell, options.watch, unit))
        else:
            yield unit


def _measured(unit: Unit, options: Options, watch: Callable[[Step], None]) -> Iterator[Found]:
    protocols = [task.protocols for _, task in unit.tasks]
    for i, measured in measure(
        unit.pipelines, protocols, unit.scene, unit.search, keep=options.keep, parts=options.parts, watch=watch
    ):
        yield unit.tasks[i][0], measured


def _tell(watch: Callable[[str], None] | None, unit: Unit, step: Step) -> None:
    if watch:
        watch(f"{unit.scene.name}: {step.stage.name}")


# --- several at a time ------------------------------------------------------------------------------------------------


class Team:
    """Workers that units are submitted to.

    `submit` returns a future of what came of the unit, each with its index in the unit; a team that can tell earlier calls `emit` for each
    task instead, as it is done, with its position in the plan.
    """

    def submit(self, unit: Unit, emit: Callable[[Found], None]) -> Future[list[Found]]:
        """Hand a unit out."""
        raise NotImplementedError

    def replace(self) -> None:
        """Get new workers after some were lost."""

    def close(self, *, stop: bool) -> None:
        """Send the workers home; with `stop` at once."""


class ThreadTeam(Team):
    """Threads of this process."""

    def __init__(self, options: Options, pool: Executor | None = None):
        self.options, self.stopped = options, threading.Event()
        self.own = pool is None
        self.pool = pool or ThreadPoolExecutor(options.workers, thread_name_prefix="sweep")

    def submit(self, unit: Unit, emit: Callable[[Found], None]) -> Future[list[Found]]:
        """Hand a unit out."""
        return self.pool.submit(contextvars.copy_context().run, self._compute, unit, emit)

    def _compute(self, unit: Unit, emit: Callable[[Found], None]) -> list[Found]:
        def watch(step: Step) -> None:
            if self.stopped.is_set():
                raise _Stopped
            _tell(self.options.watch, unit, step)

        with threads(1), stopped_by(self.stopped), contextlib.suppress(_Stopped):
            for found in _measured(unit, self.options, watch):
                emit(found)
        return []

    def close(self, *, stop: bool) -> None:
        """Wait for the threads; with `stop` they end by themselves, after their present step."""
        if stop:
            self.stopped.set()
        if self.own:
            self.pool.shutdown(wait=not stop, cancel_futures=True)


class _Stopped(BaseException):
    """The sweep was interrupted; no failure of the runs."""


class WorkerLost(Exception):
    """The worker of a unit is gone."""


class WorkersGone(StereoFrameworkError):
    """There will be no workers any more; no failure of the runs."""


class ExecutorTeam(Team):
    """Workers of an executor that the caller made and will end; what they compute is sent to them and, a unit at a time, back.

    Nobody knows which worker takes a unit and what lies there already, so that each unit brings its scene with it.
    """

    def __init__(self, options: Options, executor: Executor):
        self.options, self.executor, self.sending = options, executor, Sending(options.data)

    def submit(self, unit: Unit, emit: Callable[[Found], None]) -> Future[list[Found]]:
        """Hand a unit out."""
        return self.executor.submit(whole_work, *pack(unit, self.options.keep, self.options.parts), self.sending(unit.scene))

    def replace(self) -> None:
        """Nobody but the caller can."""
        raise StereoFrameworkError("the executor has lost its workers and cannot be used any more; results so far are kept")


def pooled(units: Iterable[Unit], team: Team, options: Options) -> Iterator[Found]:
    """Let a team compute units; what comes of each task is yielded as it is there. The team is the caller's to close."""
    desk = _Desk(fitting(units, options.memory), team, options)
    try:
        yield from desk.serve()
    finally:
        for future in desk.running:
            future.cancel()


class _Desk:
    """Hands out units, takes results in, and knows which units lost their workers and how often."""

    def __init__(self, coming: Iterator[Unit | Found], team: Team, options: Options):
        self.coming, self.team, self.options = coming, team, options
        self.events: queue.SimpleQueue[Future[list[Found]] | Found] = queue.SimpleQueue()
        self.running: dict[Future[list[Found]], tuple[Unit, int]] = {}
        # Units whose worker died, each with the number of times that it was alone with it.
        self.suspects: collections.deque[tuple[Unit, int]] = collections.deque()
        self.next: Unit | None = None
        self.broken = False
        # Positions of the tasks that were handed out and of which nothing has come yet.
        self.awaited: set[int] = set()

    def serve(self) -> Iterator[Found]:
        """All results, as they are there."""
        while True:
            yield from self._hand_out()
            if not self.running:
                return
            event = self.events.get()
            if isinstance(event, tuple):
                yield from self._new([event])
            elif event in self.running:
                yield from self._take_in(event)

    def _hand_out(self) -> Iterator[Found]:
        """Submit what there are workers and memory for; yields what is refused."""
        while len(self.running) < self.options.workers + self.options.ahead and not any(
            alone for _, alone in self.running.values()
        ):
            if self.broken or self.suspects:
                # What killed a worker shows when it is alone.
                if self.running:
                    return
                if self.broken:
                    self.team.replace()
                    self.broken = False
            if self.suspects:
                unit, tries = self.suspects.popleft()
                self._submit(unit, tries + 1)
                continue
            if self.next is None:
                item = next(self.coming, None)
                if isinstance(item, tuple):
                    yield item
                    continue
                self.next = item
            if self.next is None or not self._fits(self.next):
                return
            unit, self.next = self.next, None
            self._submit(unit, 0)

    def _fits(self, unit: Unit) -> bool:
        if self.options.memory is None or not self.options.together:
            return True
        return unit.memory + sum(other.memory for other, _ in self.running.values()) <= self.options.memory

    def _submit(self, unit: Unit, tries: int) -> None:
        try:
            future = self.team.submit(unit, self.events.put)
        except BrokenExecutor:
            self.broken = True
            self.suspects.append((unit, 0))
            return
        self.running[future] = unit, tries
        self.awaited |= {position for position, _ in unit.tasks}
        future.add_done_callback(self.events.put)

    def _new(self, found: Iterable[Found]) -> Iterator[Found]:
        """What has not come before: a worker that was lost may have told of some tasks that are computed again."""
        for position, outcome in found:
            if position in self.awaited:
                self.awaited.remove(position)
                yield position, outcome

    def _take_in(self, future: Future[list[Found]]) -> Iterator[Found]:
        unit, tries = self.running.pop(future)
        try:
            found = future.result()
        except WorkersGone:
            raise
        except StereoFrameworkError as error:
            yield from self._new(_all_failed(unit, str(error)))
        except Exception as error:
            if not isinstance(error, BrokenExecutor | WorkerLost):
                yield from self._new(_all_failed(unit, f"{type(error).__name__}: {error}"))
                return
            self.broken |= isinstance(error, BrokenExecutor)
            if left := [task for task in unit.tasks if task[0] in self.awaited]:
                yield from self._again(Unit(left), tries)
        else:
            yield from self._new((unit.tasks[i][0], measured) for i, measured in found)

    def _again(self, unit: Unit, tries: int) -> Iterator[Found]:
        """What is left of a unit that has lost its worker: one after the other is suspected."""
        if tries and len(unit.tasks) > 1:
            self.suspects.extend((single, 0) for single in unit.single())
        elif tries < _TRIES:
            self.suspects.append((unit, tries))
        else:
            told = f"its worker died {tries} times while it was alone with it (killed, or out of memory)"
            yield from self._new(_all_failed(unit, told))


def _all_failed(unit: Unit, error: str) -> Iterator[Found]:
    return ((position, failed(error)) for position, _ in unit.tasks)
