"""From scripts to units of work: settings on scenes, with the keys of their results, in slices whose members begin alike."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stereo_framework.core.errors import DataError, ParameterError, ScriptError, warn
from stereo_framework.core.scene import Scene, Search
from stereo_framework.core.stage import installed_plugins, typed_stages
from stereo_framework.engine.memory import of_large_pair, peak_memory
from stereo_framework.evaluation import regions
from stereo_framework.evaluation.protocols import Protocol, of_scene
from stereo_framework.io import file_stem
from stereo_framework.script import Script, Setting
from stereo_framework.sweep.identity import code_digest, files_digest, run_id, scene_digest

FEW = 8
"""So many scenes may stay loaded together; of more, each is loaded when its turn comes."""

_FEWEST, _MOST = 4, 16
"""So many units for each worker what is left would make, when the next one is cut off, and so many all tasks if all were as small as the last ones: with
these, workers end together."""

_LARGEST = 100
"""Settings of a unit: what is computed elsewhere comes back a unit at a time."""

_TOGETHER = 4
"""A unit is this many times as large as others before settings with a common beginning are parted, which is then computed twice."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A setting on a scene, whose results, one for each protocol, are stored under `keys`."""

    scene: Scene
    setting: Setting
    search: Search
    id: str
    protocols: tuple[Protocol, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """One key for each protocol."""
        return tuple(f"{self.id} {self.setting.method} {_protocol_digest(protocol)}" for protocol in self.protocols)

    @property
    def stem(self) -> str:
        """File name, without ending, of what is written about this task."""
        return f"{file_stem(self.scene.name)}_{file_stem(self.setting.method)}_{self.id[:8]}"


@functools.cache
def _protocol_digest(protocol: Protocol) -> str:
    # Its text leaves out choices that play no part in its measures; all fields cannot leave out too much.
    return hashlib.sha256(repr(protocol.as_dict()).encode()).hexdigest()[:8]


def plan(script: Script, scenes: Sequence[Scene]) -> list[Task]:
    """Every setting of the script on every scene, scene by scene, checked.

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
        planned = planner(scene, script.plugins)
        for setting in script.settings:
            try:
                tasks.append(planned(setting))
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


def planner(scene: Scene, plugins: tuple[str, ...]) -> Callable[[Setting], Task]:
    """What makes a setting the task of a scene, given the paths of the plug-ins' sources.

    It raises a ParameterError for a search range that is wrong together with the scene's own, and a DataError if there is none.
    """
    content, code = scene_digest(scene), code_digest(plugins + installed_plugins(), typed_stages())
    usual = (of_scene(scene),)
    # Settings share them.
    searches: dict[Hashable, Search] = {}
    told: set[str] = set()

    def task(setting: Setting) -> Task:
        wanted = tuple(setting.search.items())
        if wanted not in searches:
            try:
                searches[wanted] = _search(scene, setting.search)
            except ParameterError as error:
                raise ParameterError(f"scene {scene.name}: {error}") from error
        search = searches[wanted]
        shape = scene.reference.shape[:2]
        pipeline = of_large_pair(setting.pipeline, shape, search)
        if pipeline is not setting.pipeline:
            setting = replace(setting, pipeline=pipeline)
            size = pipeline.in_slot("scheme")[0].parameters["size"]
            said = f"{shape[1]}x{shape[0]} pixels and {search.levels} levels are matched in tiles of {size} pixels"
            if said not in told:
                warn([f"{scene.name}: {said}, as the results' scheme says"])
            told.add(said)
        files = {f"{address}.files": files_digest(paths) for address, paths in setting.pipeline.files(scene).items()}
        identity = run_id(content, repr(search), setting.parameters | files, code)
        return Task(scene, setting, search, identity, setting.protocols or usual)

    return task


def _search(scene: Scene, override: Mapping[str, Any]) -> Search:
    if "truth_margin" in override:
        step = override.get("step", scene.search.step if scene.search else 1)
        given = {key: value for key, value in override.items() if key != "truth_margin"}
        override = _around_truth(scene, override["truth_margin"], step) | given
    if scene.search is not None:
        return replace(scene.search, **override)
    if not {"minimum", "maximum"} <= set(override):
        raise DataError(
            f"scene {scene.name}: no search range; give one (search: {{minimum: 0, maximum: 64}}, in a script or with --set)"
        )
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
    """Tasks of one scene and search range that one worker computes together."""

    tasks: list[Task]

    @property
    def scene(self) -> Scene:
        """Of all tasks."""
        return self.tasks[0].scene

    @property
    def search(self) -> Search:
        """Of all tasks."""
        return self.tasks[0].search

    @functools.cached_property
    def memory(self) -> int:
        """Bytes of volumes that there are at most at a time, about."""
        pipelines = [task.setting.pipeline for task in self.tasks]
        return peak_memory(pipelines, self.scene.reference.shape[:2], self.search.levels, search=self.search)


def units(tasks: Sequence[Task], workers: int) -> Iterator[Unit]:
    """Tasks bundled for a number of workers: slices of the sorted settings of a scene and search range.

    Sorted, those that begin alike follow each other, more iterations after fewer. A slice ends where another beginning begins, one up to the map that
    the optimizer makes.
    """
    groups: dict[tuple[int, Search], list[Task]] = {}
    for task in tasks:
        groups.setdefault((id(task.scene), task.search), []).append(task)
    numbers: dict[Hashable, int] = {}
    left = len(tasks)
    for group in groups.values():
        unit: list[Task] = []
        before: Hashable = None
        for task in sorted(group, key=lambda task: _order(task, numbers)):
            beginning = _beginning(task, numbers)
            share = max(1, len(tasks) // (_MOST * workers), left // (_FEWEST * workers))
            size = min(share if workers > 1 else _LARGEST, _LARGEST)
            if len(unit) >= (size if beginning != before else _TOGETHER * size):
                yield Unit(unit)
                left -= len(unit)
                unit = []
            unit.append(task)
            before = beginning
        yield Unit(unit)
        left -= len(unit)


def _order(task: Task, numbers: dict[Hashable, int]) -> tuple[tuple[int, int], ...]:
    """Of the alternatives and of each step of a task a number, the same for those that are alike or differ in their iterations alone; and the iterations."""
    pipeline = task.setting.pipeline
    parts: list[tuple[Hashable, int]] = [(pipeline.alternatives, 0), *(step.line for step in pipeline.steps)]
    return tuple([(numbers.setdefault(line, len(numbers)), iterations) for line, iterations in parts])


def _beginning(task: Task, numbers: dict[Hashable, int]) -> tuple[int, ...]:
    """The numbers of all up to the optimizer or what stands in its place; a scheme stands around all."""
    slots = ["", *(step.stage.slot for step in task.setting.pipeline.steps)]
    last = next(slot for slot in ("scheme", "optimization", "matcher") if slot in slots)
    return tuple([number for number, _ in _order(task, numbers)[: slots.index(last) + 1]])
