"""Create the tasks of a sweep: each setting of a script on each scene."""

import collections
import functools
import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.errors import DataError, ParameterError, ScriptError, warn
from stereo_framework.core.scene import Scene, SearchRange
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.tiling import of_large_pair
from stereo_framework.evaluation import regions
from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.script import Script, Setting
from stereo_framework.sweep.identity import (
    code_digest,
    files_digest,
    forget_digest,
    result_key,
    run_id,
    scene_digest,
)

FEW = 8
"""So many scenes may stay loaded together; of more, each is loaded when its turn comes."""


@dataclass(frozen=True, slots=True)
class StageFiles:
    """The files that decide what a stage computes.

    `address` is the stage's place in the script, and `digest` that of the files' content.
    """

    address: str
    paths: tuple[Path, ...]
    digest: str


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A setting on a scene, whose results, one for each protocol, are stored under `keys`.

    `duplicate_index` is the number of settings before it that are the same run, as those of seeds that
    nothing draws with. `files` has the files of its stages, with the digest of their
    content when the task was planned.
    """

    scene: Scene
    setting: Setting
    search: SearchRange
    id: str
    protocols: tuple[Protocol, ...]
    duplicate_index: int = 0
    files: tuple[StageFiles, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the task's results, one for each protocol."""
        return tuple(
            result_key(self.id, self.setting.method, _protocol_digest(p), str(self.duplicate_index))
            for p in self.protocols
        )

    def changed_stages(self) -> list[str]:
        """List the addresses of the stages whose files changed since the task was planned."""
        return [stage.address for stage in self.files if files_digest(stage.paths) != stage.digest]


@functools.cache
def _protocol_digest(protocol: Protocol) -> str:
    """Return a digest of all choices of a protocol.

    The protocol's text would not do, because it leaves out choices that play no part in
    its metrics.
    """
    return hashlib.sha256(repr(protocol.as_dict()).encode()).hexdigest()[:32]


def tasks_of_script(
    script: Script,
    scenes: Sequence[Scene],
    *,
    may_execute: bool = True,
    by_default: bool = True,
) -> list[Task]:
    """Plan every setting of the script on every scene, scene by scene, checked.

    Parameters
    ----------
    script : Script
    scenes : sequence of Scene
    may_execute : bool
        Import functions that the script names, to find the files that they depend on.
    by_default : bool
        Whether the scenes are those that the script names.

    Raises
    ------
    DataError
        A scene cannot be loaded or has no search range.
    ScriptError
        A search range is wrong together with a scene's own.

    Warns
    -----
    ResultWarning
        The script's remarks, and scenes that are matched in tiles.
    """
    warn(script.remarks)
    tasks: list[Task] = []
    faults: list[str] = []
    for scene in scenes:
        settings = script.settings_on(scene.name, by_default=by_default)
        for found in tasks_of(scene, script, settings, may_execute=may_execute):
            if isinstance(found, Task):
                tasks.append(found)
            else:
                faults.append(f"{script.name}: {found}")
        if len(scenes) > FEW:
            forget(scene)
    if scenes and not tasks and not faults:
        names = ", ".join(scene.name for scene in scenes)
        faults.append(f"{script.name}: no method runs on {names}, because each has other scenes")
    if faults:
        raise ScriptError(dict.fromkeys(faults))
    return tasks


def forget(scene: Scene) -> None:
    """Let go of all that a scene has loaded, and of what was computed from it."""
    scene.forget()
    regions.forget(scene)
    # The files of the scene may change before it is loaded again.
    forget_digest(scene)


def tasks_of(
    scene: Scene, script: Script, settings: Iterable[Setting], *, may_execute: bool = True
) -> Iterator[Task | ParameterError]:
    """Yield the task of each setting on a scene, or the fault of its search range.

    Parameters
    ----------
    scene : Scene
    script : Script
    settings : iterable of Setting
        Settings of the script.
    may_execute : bool
        As in `tasks_of_script`.

    Raises
    ------
    DataError
        The scene cannot be loaded, or there is no search range.
    """
    content, code = scene_digest(scene), code_digest(script.plugins)
    shape, protocols = scene.reference.shape[:2], script.protocols_on(scene)
    # Settings share them.
    search_of, digest_of = (
        functools.cache(lambda *wanted: _search(scene, dict(wanted))),
        functools.cache(files_digest),
    )
    tiled: set[str] = set()
    earlier_settings: collections.Counter[tuple[str, str]] = collections.Counter()
    for setting in settings:
        search = search_of(*setting.search.items())
        if not isinstance(search, SearchRange):
            yield search
            continue
        try:
            setting.pipeline.check_step(search.step)
        except ParameterError as error:
            yield ParameterError(f"scene {scene.name}: {error}")
            continue
        pipeline = of_large_pair(setting.pipeline, shape, search)
        if pipeline is not setting.pipeline:
            setting = replace(setting, pipeline=pipeline)
            size = pipeline.in_slot("scheme")[0].parameters["tile_size"]
            tiled.add(
                f"{shape[1]}x{shape[0]} pixels and {search.levels} levels are matched in tiles of {size} pixels"
            )
        files = []
        for address, paths in _files_of_stages(pipeline, scene, may_execute=may_execute):
            files.append(StageFiles(address, paths, digest_of(paths)))
        # A stage may have a parameter called `files`, which counts as well.
        of_files = {f"{stage.address}: content of files": stage.digest for stage in files}
        run = run_id(content, repr(search), setting.parameters | of_files, code)
        yield Task(
            scene,
            setting,
            search,
            run,
            protocols,
            earlier_settings[run, setting.method],
            tuple(files),
        )
        earlier_settings[run, setting.method] += 1
    warn(f"{scene.name}: {said}, as the results' scheme says" for said in sorted(tiled))


def _files_of_stages(
    pipeline: Pipeline, scene: Scene, *, may_execute: bool
) -> Iterator[tuple[str, tuple[Path, ...]]]:
    """Yield the address of each stage that depends on files, and the files."""
    for address, step in pipeline.stages():
        if step.stage.files is None:
            continue
        # Without a scene no stage imports third-party code.
        imports_nothing = step.stage.executes is not None and not may_execute
        yield address, step.files(None if imports_nothing else scene)


def _search(scene: Scene, override: Mapping[str, Any]) -> SearchRange | ParameterError:
    if "truth_margin" in override:
        step = override.get("step", scene.search.step if scene.search else 1)
        given = {key: value for key, value in override.items() if key != "truth_margin"}
        override = _around_truth(scene, override["truth_margin"], step) | given
    if scene.search is None and not {"minimum", "maximum"} <= set(override):
        raise DataError(
            f"scene {scene.name}: no search range; give one (search: {{minimum: 0, maximum: 64}}, in a script or with --set)"
        )
    try:
        return (
            replace(scene.search, **override)
            if scene.search
            else SearchRange(**override, direction=scene.direction)
        )
    except ParameterError as error:
        return ParameterError(f"scene {scene.name}: {error}")


def _around_truth(scene: Scene, margin: float, step: float) -> dict[str, float]:
    """The range of the true disparities, widened to both sides by a share of it, to whole steps."""
    if scene.truth is None:
        raise DataError(f"scene {scene.name}: search.truth_margin needs its truth, and it has none")
    low, high = float(np.nanmin(scene.truth)), float(np.nanmax(scene.truth))
    widened = margin * (high - low)
    # Truth in fractions of a pixel is rounded to float32.
    first, last = (
        math.floor((low - widened) / step + 1e-4),
        math.ceil((high + widened) / step - 1e-4),
    )
    return {"minimum": first * step, "maximum": max(last, first + 1) * step}
