"""From scripts to units of work: runs on scenes, bundled so that shared beginnings are computed once and every worker has something to do."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stereo_framework.core.errors import DataError, ParameterError, ScriptError
from stereo_framework.core.scene import Scene, Search
from stereo_framework.core.stage import installed_plugins, typed_stages
from stereo_framework.engine.memory import peak_memory
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.step import Step
from stereo_framework.evaluation import regions
from stereo_framework.evaluation.protocols import Protocol, of_scene
from stereo_framework.io import file_stem
from stereo_framework.script import Script, Setting
from stereo_framework.sweep.identity import code_digest, files_digest, run_id, scene_digest

_LOCAL, _GLOBAL, _ITERATION, _EVALUATION = 1.0, 100.0, 0.5, 5.0
"""Rough costs, in passes over a volume: of a local stage, of one that sees the whole, of one iteration, of measuring a map."""

_UNITS_PER_WORKER = 4
"""So many units for each worker what is left would make, when the next one is cut off: the last ones are small, so that all workers end together."""

_SMALLEST, _LARGEST = 50.0, 500.0
"""Bounds of a unit's cost: less is not worth handing out, and what is computed elsewhere comes back a unit at a time."""

FEW = 8
"""So many scenes may stay loaded together; of more, each is loaded when its turn comes."""

_WORTH = 4.0
"""A unit is cut off only where it costs this many times what the next one would compute again."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One run on one scene, and the keys under which its results, one for each protocol, are stored."""

    scene: Scene
    run: Setting
    search: Search
    id: str
    protocols: tuple[Protocol, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """One key for each protocol."""
        return tuple(result_key(self.id, self.run.method, protocol) for protocol in self.protocols)

    @property
    def stem(self) -> str:
        """File name, without ending, of what is written about this task."""
        return f"{file_stem(self.scene.name)}_{file_stem(self.run.method)}_{self.id[:8]}"


def result_key(identity: str, method: str, protocol: Protocol) -> str:
    """The key under which a result of a method is stored."""
    return f"{identity} {method} {_protocol_digest(protocol)}"


@functools.cache
def _protocol_digest(protocol: Protocol) -> str:
    # Its text leaves out choices that play no part in its measures; all fields cannot leave out too much.
    return hashlib.sha256(repr(protocol.as_dict()).encode()).hexdigest()[:8]


def plan(script: Script, scenes: Sequence[Scene]) -> list[Task]:
    """Every run of the script on every scene, scene by scene, checked.

    Raises
    ------
    DataError
        A scene cannot be loaded or has no search range.
    ScriptError
        A search range is wrong together with a scene's own.
    """
    tasks: list[Task] = []
    faults: list[str] = []
    for scene in scenes:
        planner = Planner(scene, script.plugins)
        for one in script.settings:
            try:
                tasks.append(planner.task(one))
            except ParameterError as error:
                faults.append(f"{script.name}: {error}")
        if len(scenes) > FEW:
            forget(scene)
    if faults:
        raise ScriptError(dict.fromkeys(faults))
    return tasks


def forget(scene: Scene) -> None:
    """Let go of all that a scene has loaded, and of what was computed from it."""
    scene.forget()
    regions.forget(scene)


class Planner:
    """Makes the tasks of a scene.

    Parameters
    ----------
    scene : Scene
    plugins : tuple of str
        Paths of the plug-ins' sources.
    """

    def __init__(self, scene: Scene, plugins: tuple[str, ...]):
        self.scene, self.content, self.code = (
            scene,
            scene_digest(scene),
            code_digest(plugins + installed_plugins(), typed_stages()),
        )
        self._usual = (of_scene(scene),)
        self._searches: dict[Hashable, Search] = {}

    def task(self, run: Setting) -> Task:
        """The task of a run on the scene.

        Raises
        ------
        ParameterError
            Its search range is wrong together with the scene's own.
        DataError
            There is no search range at all.
        """
        wanted = tuple(run.search.items())
        if wanted not in self._searches:
            try:
                self._searches[wanted] = _search(self.scene, run.search)
            except ParameterError as error:
                raise ParameterError(f"scene {self.scene.name}: {error}") from error
        search = self._searches[wanted]
        files = {f"{address}.files": files_digest(paths) for address, paths in run.pipeline.files(self.scene).items()}
        identity = run_id(self.content, repr(search), run.parameters | files, self.code)
        return Task(self.scene, run, search, identity, run.protocols or self._usual)


def _search(scene: Scene, override: Mapping[str, Any]) -> Search:
    if "truth_margin" in override:
        step = override.get("step", scene.search.step if scene.search else 1)
        given = {key: value for key, value in override.items() if key != "truth_margin"}
        override = _around_truth(scene, override["truth_margin"], step) | given
    if scene.search is not None:
        return replace(scene.search, **override)
    if not {"minimum", "maximum"} <= set(override):
        raise DataError(f"scene {scene.name}: no search range; give one (search: {{minimum, maximum}} or --disparities A:B)")
    return Search(**override, direction=scene.direction)


def _around_truth(scene: Scene, margin: float, step: float) -> dict[str, float]:
    """The range of the true disparities, widened to both sides by a share of it, to whole steps."""
    if scene.truth is None:
        raise DataError(f"scene {scene.name}: search.truth_margin needs its truth, and it has none")
    low, high = (float(f(scene.truth)) for f in (np.nanmin, np.nanmax))
    widened = margin * (high - low)
    # Truth in fractions of a pixel is rounded to float32.
    first, last = math.floor((low - widened) / step + 1e-4), math.ceil((high + widened) / step - 1e-4)
    return {"minimum": first * step, "maximum": max(last, first + 1) * step}


@dataclass(eq=False)
class Unit:
    """Tasks of one scene and search range that one worker computes together.

    Parameters
    ----------
    tasks : list of (int, Task)
        With their positions in the plan.
    """

    tasks: list[tuple[int, Task]]

    @property
    def scene(self) -> Scene:
        """Of all tasks."""
        return self.tasks[0][1].scene

    @property
    def search(self) -> Search:
        """Of all tasks."""
        return self.tasks[0][1].search

    @property
    def pipelines(self) -> list[Pipeline]:
        """What the tasks compute."""
        return [task.run.pipeline for _, task in self.tasks]

    @functools.cached_property
    def memory(self) -> int:
        """Bytes of volumes that there are at most at a time, about."""
        return peak_memory(self.pipelines, self.scene.reference.shape[:2], self.search.levels, search=self.search)


def units(tasks: Sequence[tuple[int, Task]], workers: int) -> Iterator[Unit]:
    """Tasks bundled for a number of workers: slices of the tasks of a scene and search range, sorted so that those that begin alike stand together.

    Parameters
    ----------
    tasks : sequence of (int, Task)
        With their positions in the plan.
    workers : int
        With 1 worker units are as large as they may be.
    """
    groups: dict[tuple[int, Search], list[tuple[int, Task]]] = {}
    for item in tasks:
        groups.setdefault((id(item[1].scene), item[1].search), []).append(item)
    kinds = _Kinds()
    left = sum(_EVALUATION + own for group in groups.values() for _, own, _ in kinds.ordered(group))
    for group in groups.values():
        unit: list[tuple[int, Task]] = []
        cost = 0.0
        for item, own, shared in kinds.ordered(group):
            share = min(max(left / (_UNITS_PER_WORKER * workers), _SMALLEST), _LARGEST) if workers > 1 else _LARGEST
            if cost >= max(share, _WORTH * shared):
                yield Unit(unit)
                unit, left, cost = [], left - cost, 0.0
            unit.append(item)
            cost += _EVALUATION + own
        left -= cost
        yield Unit(unit)


class _Kinds:
    """Stages by number: two of the same kind begin alike, or differ only in how often they iterate."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        # By the identity of what a step runs, which is kept alive here: kind, iterations and cost.
        self.known: dict[tuple[int, int], tuple[tuple[int, int, float], Step]] = {}

    def path(self, task: Task) -> tuple[tuple[int, int, float], ...]:
        """Of each step of a task kind, iterations and cost. Runs of a script share their stages, which are looked up by identity."""
        plan = task.run.pipeline.plan
        # What lies before a stage that looks across is computed for both sides.
        across = max((i for i, step in enumerate(plan) if "other" in step.data), default=0)
        about = [(step, 1 + (i < across)) for i, step in enumerate(plan)]
        return tuple([(self.known.get((id(step), sides)) or self._of(step, sides))[0] for step, sides in about])

    def _of(self, step: Step, sides: int) -> tuple[tuple[int, int, float], Step]:
        line, iterations = step.line
        resumed = step.stage.resume is not None
        kind = self.numbers.setdefault((line if resumed else step, sides), len(self.numbers))
        local = step.stage.slot in ("preprocessing", "smoothness") or step.declares_halo
        cost = sides * (_ITERATION * iterations if resumed else _LOCAL if local else _GLOBAL)
        self.known[id(step), sides] = found = (kind, iterations if resumed else 0, cost), step
        return found

    def ordered(self, group: Sequence[tuple[int, Task]]) -> Iterator[tuple[tuple[int, Task], float, float]]:
        """Tasks in an order in which those that begin alike follow each other, each with what it costs and what it has from the one before."""
        before: tuple[tuple[int, int, float], ...] = ()
        for item in sorted(group, key=lambda item: self.path(item[1])):
            path, shared = self.path(item[1]), 0.0
            for one, other in zip(path, before, strict=False):
                # More iterations are continued from fewer.
                shared += other[2] if one[0] == other[0] else 0.0
                if one != other:
                    break
            yield item, sum(step[2] for step in path) - shared, shared
            before = path
