"""Plan the tasks of a script, and compute the keys of their results.

A task combines a setting of a script with a scene. Each result of a task is stored
under a key. The key contains the identity of the run, the name of the method, and a
digest of the protocol and of the code that evaluates disparity maps.
"""

import collections
import functools
import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.errors import DataError, ParameterError, ScriptError, warn
from stereo_framework.core.parameters import path_rule
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
"""Maximum number of scenes that stay in memory at the same time.

If a sweep has more scenes, the sweep loads and releases the scenes one after the other.
"""


@dataclass(frozen=True, slots=True)
class StageFiles:
    """Files on which the results of a stage depend.

    Parameters
    ----------
    address : str
        Address of the stage in the script, such as ``matcher``.
    paths : tuple of Path
        Paths of the files that the stage reads.
    digest : str
        Digest of the content of all files together.
    """

    address: str
    paths: tuple[Path, ...]
    digest: str


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Combination of a setting and a scene, for which a sweep needs results.

    Parameters
    ----------
    scene : Scene
        Scene whose pair is matched.
    setting : Setting
        Method with the values of all its parameters.
    search : SearchRange
        Search range for the disparities.
    id : str
        Identity of the run, which `identity.run_id` returns.
    protocols : tuple of Protocol
        Protocols that evaluate the disparity map. The task has one result for each
        protocol.
    evaluations : tuple of str
        One digest for each protocol, which `evaluation_digests` returns.
    duplicate_index : int
        Index of the task among the tasks on a scene that have the same method and the
        same `id`. If a script sweeps the seed of a method without random numbers, for
        example, all tasks on a scene have the same `id`.
    files : tuple of StageFiles
        Files that the stages read, with their digests when the task was planned.
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
        """The keys of the results of the task, with one key for each protocol."""
        method, repetition = self.setting.method, str(self.duplicate_index)
        return tuple(
            result_key(self.id, method, evaluation, repetition) for evaluation in self.evaluations
        )

    def changed_stages(self) -> list[str]:
        """List the addresses of the stages whose files changed since the task was planned."""
        return [stage.address for stage in self.files if files_digest(stage.paths) != stage.digest]


def evaluation_digests(protocols: Iterable[Protocol], code: CodeReader) -> tuple[str, ...]:
    """Return one digest for each protocol and for the code that the protocol needs.

    The digest covers all fields of the protocol. The digest of the text of the protocol
    would not be sufficient, because this text leaves out fields that no metric of the
    protocol uses.

    Parameters
    ----------
    protocols : iterable of Protocol
        Protocols that evaluate disparity maps.
    code : CodeReader
        Reader that computes the digest of the code of the metrics.
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
    """Return the tasks of a script, which combine each scene with each setting.

    Parameters
    ----------
    script : Script
        Script that was checked for errors.
    scenes : sequence of Scene
        Scenes whose pairs are matched.
    may_execute : bool
        Whether functions that the script names may be imported to find the files that
        the functions depend on.
    by_default : bool
        Whether the scenes come from the script itself, and not from the user.

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
        The script has remarks, or a scene is so large that it is matched in tiles.
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
    """Delete the arrays of a scene, and all stored values that depend on the arrays."""
    scene.forget()
    regions.forget(scene)
    # The digest is deleted, because the files of the scene may change before the scene
    # is loaded again.
    forget_digest(scene)


def tasks_of(
    scene: Scene, script: Script, settings: Iterable[Setting], *, may_execute: bool = True
) -> Iterator[Task | ParameterError]:
    """Yield a task for each setting on a scene, or an error for an invalid search range.

    The function yields errors instead of raising them, so that the caller can report
    all errors together.

    Parameters
    ----------
    scene : Scene
        Scene whose pair is matched.
    script : Script
        Script that contains the settings.
    settings : iterable of Setting
        Settings that are run on the scene.
    may_execute : bool
        Whether functions that the script names may be imported to find the files that
        the functions depend on.

    Yields
    ------
    Task or ParameterError
        A task, or an error. The order is the order of the settings.

    Raises
    ------
    DataError
        The scene cannot be loaded, or neither the scene nor the script defines a search
        range.
    """
    content = scene_digest(scene)
    code = CodeReader()
    protocols = script.protocols_on(scene)
    evaluations = evaluation_digests(protocols, code)
    shape = scene.reference.shape[:2]
    # Thousands of settings usually have only few different search ranges and files.
    # Therefore search ranges and digests of files are cached.
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
        # The key of a digest differs from the addresses of all parameters, because the
        # words after the colon are not a valid name of a parameter.
        file_digests = {f"{stage.address}: content of files": stage.digest for stage in files}
        parameters = _without_folders(setting, files) | file_digests
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
    """Return a setting that matches the pair in tiles if the images are large.

    If the images are small enough, the function returns the given setting.
    """
    pipeline = of_large_pair(setting.pipeline, shape, search)
    if pipeline is setting.pipeline:
        return setting
    return replace(setting, pipeline=pipeline)


def _remark_on_tiles(setting: Setting, scene: Scene, search: SearchRange) -> str:
    """Return the text that informs the user that a scene is matched in tiles."""
    rows, columns = scene.reference.shape[:2]
    tiles = setting.pipeline.in_slot("scheme")[0]
    return (
        f"{scene.name}: {columns}x{rows} pixels and {search.levels} levels are matched in tiles "
        f"of {tiles.parameters['tile_size']} pixels; the results record the scheme"
    )


def _without_folders(setting: Setting, files: Sequence[StageFiles]) -> dict[str, Any]:
    """Return the parameters of a setting for the identity of a run.

    The identity contains the content of the files that a stage reads. Therefore it does
    not contain the folders of these files, and results stay valid if the user moves the
    files.

    Parameters
    ----------
    setting : Setting
        Method with the values of all its parameters.
    files : sequence of StageFiles
        Files that the stages of the setting read.
    """
    parameters = setting.parameters
    if not files:
        return parameters
    files_of_stage = {stage.address: stage.paths for stage in files if stage.paths}
    for address, step in setting.pipeline.stages():
        paths = files_of_stage.get(address, ())
        for name, parameter in step.stage.parameters.items():
            rule = path_rule(parameter.annotation)
            value = parameters.get(f"{address}.{name}")
            if rule is None or value is None or not paths:
                continue
            if rule.files_decide:
                parameters[f"{address}.{name}"] = "content of files"
            else:
                name_of = functools.partial(_name_of_file, {path.resolve() for path in paths})
                parameters[f"{address}.{name}"] = rule.replace(value, name_of)
    return parameters


def _name_of_file(files: Collection[Path], path: str) -> str:
    """Return the name of a file without its folder, or the path of any other file.

    Parameters
    ----------
    files : collection of Path
        Resolved paths of the files whose folders have no influence.
    path : str
        Path of a file.
    """
    return Path(path).name if Path(path).resolve() in files else path


def _files_of_stages(
    pipeline: Pipeline, scene: Scene, *, may_execute: bool
) -> Iterator[tuple[str, tuple[Path, ...]]]:
    """Yield the address and the file paths of each stage that depends on files.

    Parameters
    ----------
    pipeline : Pipeline
        Method that contains the stages.
    scene : Scene
        Scene whose pair is matched. The path of a file may contain the name of the
        scene.
    may_execute : bool
        Whether functions that the script names may be imported to find the files that
        the functions depend on.
    """
    for address, step in pipeline.stages():
        if step.stage.files is None:
            continue
        # If no scene is passed, the stage lists its files without an import of
        # third-party code.
        imports_nothing = step.stage.executes is not None and not may_execute
        yield address, step.files(None if imports_nothing else scene)


# --- search ranges --------------------------------------------------------------------


def _search_on_scene(scene: Scene, setting_entries: tuple[tuple[str, Any], ...]) -> SearchRange:
    """Return the search range of a scene with the changes that a setting prescribes.

    Parameters
    ----------
    scene : Scene
        Scene whose pair is matched.
    setting_entries : tuple of (str, object)
        Keys and values of the mapping ``search`` in the setting.

    Raises
    ------
    ParameterError
        The changed search range is not valid.
    DataError
        Neither the scene nor the setting defines a search range, or the setting needs
        ground truth that the scene does not have.
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
    """Return the range of the true disparities, extended at both ends by a margin.

    Parameters
    ----------
    scene : Scene
        Scene with ground truth.
    margin : float
        Extension at each end, as a fraction of the width of the range.
    step : float
        Step of the search range in pixels. The minimum is rounded down and the maximum
        is rounded up to a multiple of the step.

    Returns
    -------
    dict
        The keys ``minimum`` and ``maximum`` with their values in pixels.

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
    # The true disparities were rounded to float32, so a disparity may be slightly more
    # or less than a multiple of the step. Without the tolerance of 1e-4, such a
    # disparity would add a level to the range.
    first = math.floor((lowest - extension) / step + 1e-4)
    last = math.ceil((highest + extension) / step - 1e-4)
    return {"minimum": first * step, "maximum": max(last, first + 1) * step}
