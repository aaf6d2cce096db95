"""Plan of a script: the tasks, with the identities of their runs.

A task combines a setting of a script with a scene. Each result of a task is stored
under a key. The key contains the identity of the run, the name of the method, and a
digest of the protocol and of the code of the evaluator.
"""

import collections
import functools
import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
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
from stereo_framework.sweep.code_identity import CodeReader
from stereo_framework.sweep.identity import (
    files_digest,
    forget_digest,
    result_key,
    run_id,
    scene_digest,
)

MAX_LOADED_SCENES = 8
"""Maximum number of scenes that stay in memory together.

A sweep over more scenes loads and releases them one after the other.
"""


@dataclass(frozen=True, slots=True)
class StageFiles:
    """Files on which the results of a stage depend.

    Parameters
    ----------
    address : str
        Address of the stage in the script, such as ``matcher``.
    paths : tuple of Path
        Paths of the files.
    digest : str
        Digest of the content of the files.
    """

    address: str
    paths: tuple[Path, ...]
    digest: str


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A setting on a scene, which is still to be computed.

    Parameters
    ----------
    scene : Scene
        Scene to match.
    setting : Setting
        Method with all its parameters.
    search : SearchRange
        Search range of the run.
    id : str
        Identity of the run, see `identity.run_id`.
    protocols : tuple of Protocol
        Protocols that evaluate the disparity map. Each protocol gives one result.
    evaluations : tuple of str
        Digest of each protocol and of the code that evaluates under the protocol, see
        `evaluation_digests`.
    duplicate_index : int
        Number of earlier settings of the same method with the same `id`. For example,
        all seeds of a sweep give the same run if the method draws no random numbers.
    files : tuple of StageFiles
        Files of the stages, with the digest of their content at the time of planning.
    """

    scene: Scene
    setting: Setting
    search: SearchRange
    id: str
    protocols: tuple[Protocol, ...]
    evaluations: tuple[str, ...]
    duplicate_index: int = 0
    files: tuple[StageFiles, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the task's results, one for each protocol."""
        method, repetition = self.setting.method, str(self.duplicate_index)
        return tuple(
            result_key(self.id, method, evaluation, repetition) for evaluation in self.evaluations
        )

    def changed_stages(self) -> list[str]:
        """List the addresses of the stages whose files changed since the task was planned."""
        return [stage.address for stage in self.files if files_digest(stage.paths) != stage.digest]


def evaluation_digests(protocols: Iterable[Protocol], code: CodeReader) -> tuple[str, ...]:
    """Return a digest of each protocol and of the code that evaluates under it.

    The digest contains all fields of the protocol. The text of a protocol leaves out the
    fields that its metrics do not use.

    Parameters
    ----------
    protocols : iterable of Protocol
    code : CodeReader
        Reader of the code of the metrics.
    """
    digests = []
    for protocol in protocols:
        text = f"{protocol.as_dict()!r} {code.evaluation_digest(protocol)}"
        digests.append(hashlib.sha256(text.encode()).hexdigest()[:32])
    return tuple(digests)


def tasks_of_script(
    script: Script,
    scenes: Sequence[Scene],
    *,
    may_execute: bool = True,
    by_default: bool = True,
) -> list[Task]:
    """Plan a script: every setting on every scene, scene by scene.

    Parameters
    ----------
    script : Script
        The checked script.
    scenes : sequence of Scene
        Scenes to match.
    may_execute : bool
        Import functions that the script names, to find the files that they depend on.
    by_default : bool
        Whether the scenes are those that the script names.

    Returns
    -------
    list of Task
        The tasks, in the order of the scenes.

    Raises
    ------
    DataError
        A scene cannot be loaded or has no search range.
    ScriptError
        A search range of the script is not valid for a scene, or no method runs on the
        scenes.

    Warns
    -----
    ResultWarning
        Remarks of the script, and scenes that are matched in tiles.
    """
    warn(script.remarks)
    tasks: list[Task] = []
    faults: list[str] = []
    for scene in scenes:
        settings = script.settings_on(scene.name, by_default=by_default)
        for task_or_error in tasks_of(scene, script, settings, may_execute=may_execute):
            if isinstance(task_or_error, Task):
                tasks.append(task_or_error)
            else:
                faults.append(f"{script.name}: {task_or_error}")
        if len(scenes) > MAX_LOADED_SCENES:
            release_scene(scene)
    if scenes and not tasks and not faults:
        names = ", ".join(scene.name for scene in scenes)
        faults.append(
            f"{script.name}: no method runs on {names}, because the script restricts each "
            "method to other scenes"
        )
    if faults:
        raise ScriptError(dict.fromkeys(faults))
    return tasks


def release_scene(scene: Scene) -> None:
    """Release the arrays of a scene, and everything that was computed from them."""
    scene.forget()
    regions.forget(scene)
    # The files of the scene may change before it is loaded again.
    forget_digest(scene)


def tasks_of(
    scene: Scene, script: Script, settings: Iterable[Setting], *, may_execute: bool = True
) -> Iterator[Task | ParameterError]:
    """Yield the task of each setting on a scene, or an error about its search range.

    The errors are yielded, so that the caller can report all of them together.

    Parameters
    ----------
    scene : Scene
        Scene to match.
    script : Script
        Script that contains the settings.
    settings : iterable of Setting
        Settings to run.
    may_execute : bool
        As in `tasks_of_script`.

    Yields
    ------
    Task or ParameterError
        The tasks and errors, in the order of the settings.

    Raises
    ------
    DataError
        The scene cannot be loaded, or there is no search range.
    """
    content = scene_digest(scene)
    code = CodeReader()
    protocols = script.protocols_on(scene)
    evaluations = evaluation_digests(protocols, code)
    shape = scene.reference.shape[:2]
    # Thousands of settings share a few search ranges and files.
    search_of = functools.cache(functools.partial(_search_on_scene, scene))
    digest_of = functools.cache(files_digest)
    repetitions: collections.Counter[tuple[str, str]] = collections.Counter()
    remarks: set[str] = set()
    for script_setting in settings:
        try:
            search = search_of(tuple(script_setting.search.items()))
            script_setting.pipeline.check_step(search.step)
        except ParameterError as error:
            yield ParameterError(f"scene {scene.name}: {error}")
            continue

        setting = _in_tiles_if_large(script_setting, shape, search)
        if setting is not script_setting:
            remarks.add(_remark_on_tiles(setting, scene, search))
        pipeline = setting.pipeline
        files = tuple(
            StageFiles(address, paths, digest_of(paths))
            for address, paths in _files_of_stages(pipeline, scene, may_execute=may_execute)
        )
        # The words after the colon cannot be the name of a parameter.
        file_digests = {f"{stage.address}: content of files": stage.digest for stage in files}
        parameters = setting.parameters | file_digests
        run = run_id(content, repr(search), parameters, code.matching_digest(pipeline, scene))
        yield Task(
            scene=scene,
            setting=setting,
            search=search,
            id=run,
            protocols=protocols,
            evaluations=evaluations,
            duplicate_index=repetitions[run, setting.method],
            files=files,
        )
        repetitions[run, setting.method] += 1
    warn(sorted(remarks))


def _in_tiles_if_large(setting: Setting, shape: tuple[int, ...], search: SearchRange) -> Setting:
    """Return the setting itself, or a setting that matches a large image in tiles."""
    pipeline = of_large_pair(setting.pipeline, shape, search)
    if pipeline is setting.pipeline:
        return setting
    return replace(setting, pipeline=pipeline)


def _remark_on_tiles(setting: Setting, scene: Scene, search: SearchRange) -> str:
    """Return the remark that a scene is matched in tiles."""
    rows, columns = scene.reference.shape[:2]
    tiles = setting.pipeline.in_slot("scheme")[0]
    return (
        f"{scene.name}: {columns}x{rows} pixels and {search.levels} levels are matched in tiles "
        f"of {tiles.parameters['tile_size']} pixels; the results record the scheme"
    )


def _files_of_stages(
    pipeline: Pipeline, scene: Scene, *, may_execute: bool
) -> Iterator[tuple[str, tuple[Path, ...]]]:
    """Yield the address of each stage that depends on files, and the paths of the files.

    Parameters
    ----------
    pipeline : Pipeline
        Method with the stages.
    scene : Scene
        Scene to match, because a path may contain its name.
    may_execute : bool
        As in `tasks_of_script`.
    """
    for address, step in pipeline.stages():
        if step.stage.files is None:
            continue
        # Without a scene, no stage imports third-party code.
        imports_nothing = step.stage.executes is not None and not may_execute
        yield address, step.files(None if imports_nothing else scene)


# --- search ranges --------------------------------------------------------------------


def _search_on_scene(scene: Scene, setting_entries: tuple[tuple[str, Any], ...]) -> SearchRange:
    """Return the search range of a scene, changed by the entries of a setting.

    Parameters
    ----------
    scene : Scene
        Scene to match.
    setting_entries : tuple of (str, object)
        Entries of the setting's mapping ``search``.

    Raises
    ------
    ParameterError
        The changed search range is not valid.
    DataError
        There is no search range, or no ground truth to compute it from.
    """
    entries = dict(setting_entries)
    margin = entries.pop("truth_margin", None)
    if margin is not None:
        scene_step = scene.search.step if scene.search else 1
        entries = _range_around_truth(scene, margin, entries.get("step", scene_step)) | entries

    if scene.search is not None:
        return replace(scene.search, **entries)
    if not {"minimum", "maximum"} <= entries.keys():
        message = (
            f"scene {scene.name}: it has no search range; give one in the script or with --set, "
            "such as search: {minimum: 0, maximum: 64}"
        )
        raise DataError(message)
    return SearchRange(**entries, direction=scene.direction)


def _range_around_truth(scene: Scene, margin: float, step: float) -> dict[str, float]:
    """Return the range of the true disparities, extended at both ends.

    Parameters
    ----------
    scene : Scene
        Scene with ground truth.
    margin : float
        Extension at each end, as a fraction of the width of the range.
    step : float
        Step of the search range in pixels. Both ends are rounded outwards to multiples
        of the step.

    Returns
    -------
    dict
        ``minimum`` and ``maximum`` in pixels.

    Raises
    ------
    DataError
        The scene has no ground truth.
    """
    if scene.truth is None:
        message = f"scene {scene.name}: search.truth_margin needs ground truth, and it has none"
        raise DataError(message)
    lowest = float(np.nanmin(scene.truth))
    highest = float(np.nanmax(scene.truth))
    extension = margin * (highest - lowest)
    # True disparities are rounded to float32. The tolerance of 1e-4 keeps this rounding
    # from adding a level to the range.
    first = math.floor((lowest - extension) / step + 1e-4)
    last = math.ceil((highest + extension) / step - 1e-4)
    return {"minimum": first * step, "maximum": max(last, first + 1) * step}
