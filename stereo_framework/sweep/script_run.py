"""Run a parameter script: compute each setting on each scene, and store the results."""

from __future__ import annotations

import collections
import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError
from stereo_framework.core.parameters import PositiveInt
from stereo_framework.core.scene import Scene
from stereo_framework.datasets import load_scenes, scene_fits
from stereo_framework.io import is_replaceable
from stereo_framework.io.raw import is_whole
from stereo_framework.kernels.progress import counted
from stereo_framework.script import Script, load
from stereo_framework.script.resolved import on_scenes
from stereo_framework.sweep.computation import Computation
from stereo_framework.sweep.result import Result, confidence_files
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.store import Store
from stereo_framework.sweep.task_results import TaskResults, failed, measure_stored_map
from stereo_framework.sweep.tasks import MAX_LOADED_SCENES, Task, release_scene, tasks_of_script


@checked(
    script="the path or the name of a script, a mapping, or a Script that was loaded",
    executor="an executor, such as a concurrent.futures.ProcessPoolExecutor, or None",
    memory="a whole number of bytes >= 1, such as 8 * 2**30, or None",
)
def run(
    script: str | Path | Mapping[str, Any] | Script,
    scenes: str | Scene | Iterable[str | Scene] | None = None,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    overrides: str | Iterable[str] = (),
    plugins: str | Path | Iterable[str | Path] = (),
    workers: PositiveInt | None = None,
    executor: Executor | None = None,
    memory: PositiveInt | None = None,
    maps: bool | None = None,
) -> ResultSet:
    """Run a parameter script.

    If several settings begin with the same stages, the shared stages are computed only
    once. The statistics do not depend on this sharing or on the executor.

    Parameters
    ----------
    script : path, name of a built-in script, mapping or Script
        The script to run.
    scenes : scene names or Scene objects, optional
        Scenes to use instead of the scenes of the script. The name of a data set, or a
        pattern that `find_scenes` accepts, selects all scenes that fit.
    data : path, optional
        Folder that contains the data sets. The default is the folder in the environment
        variable STEREO_DATA. Without this variable, the default is the cache folder of
        the user.
    out : path, optional
        Folder for the results store, the resolved script, copies of its source files
        and the disparity maps. If the folder already contains a result, the result is
        not computed again.
    overrides : sequence of str, or str
        Values such as ``key.path=value``, which replace values of the script.
    plugins : sequence of str or Path, or a single one
        Plug-ins in addition to the plug-ins of the script. If the script names a
        plug-in file outside its own folder, this argument must contain the file, too.
    workers : int, optional
        Number of batches of settings that are computed at the same time. Each batch
        uses one thread. The default is the number of workers of the executor, or the
        number of `threads` without an executor. With 1 worker, or if there is only one
        batch, the stages use all cores.
    executor : concurrent.futures.Executor, optional
        Executor that computes the batches, such as a ProcessPoolExecutor or the result
        of ``Client(address).get_executor()`` for a Dask cluster. The default is threads
        of this process. Executors other than a ThreadPoolExecutor receive the scenes
        with all their arrays, and import the stages. A Python program that creates a
        process pool must contain ``if __name__ == "__main__":``.
    memory : int, optional
        Maximum memory of all cost volumes together, in bytes. The default is four
        fifths of the free memory. For a Dask cluster, the default is no limit.
    maps : bool, optional
        Whether to keep the disparity maps. With `out`, the maps are stored in the
        folder ``out/maps``. Without `out`, the returned results contain the maps. By
        default, maps are kept, unless `out` is given and the script sweeps an axis.

    Returns
    -------
    ResultSet
        Results scene by scene, in the order of the settings in the script. A notebook
        displays the results as a table, and ``stereo_framework.plot`` draws curves. The
        result of a failed run has an `error` and no statistics.

    Raises
    ------
    ScriptError, DataError, ParameterError
        The script, its scenes or its search ranges are not valid, or the folder `out`
        cannot be used, for example because another process writes to the folder. These
        errors are raised before any method runs.

    Examples
    --------
    >>> import stereo_framework
    >>> [result] = stereo_framework.run("window", scenes="synthetic/planes")
    >>> bool(result.statistics["bad_pixels_nonocc"] < 20)
    True
    """
    start = Path.cwd()
    folder = None if out is None else start / out
    loaded_script, tasks = load_tasks(
        script, scenes, data=data, overrides=overrides, plugins=plugins
    )
    computed = execute(
        [loaded_script],
        tasks,
        out=folder,
        maps=maps,
        workers=workers,
        executor=executor,
        memory=memory,
    )
    results_of_task: dict[Task, list[Result]] = {}
    # The function `counted` reports each finished run to a listener, such as a progress
    # bar over several scripts.
    for (task, results), _ in zip(computed, counted(len(tasks), "run"), strict=False):
        results_of_task[task] = results
    return ResultSet(itertools.chain.from_iterable(results_of_task[task] for task in tasks))


def load_tasks(
    source: str | Path | Mapping[str, Any] | Script,
    scenes: str | Scene | Iterable[str | Scene] | None = None,
    *,
    data: str | Path | None = None,
    overrides: str | Iterable[str] = (),
    plugins: str | Path | Iterable[str | Path] = (),
    scenes_optional: bool = False,
    may_execute: bool = True,
    folder: Path | None = None,
) -> tuple[Script, list[Task]]:
    """Load a script, and create its tasks.

    The commands `check` and `run` both call this function. Therefore `check` refuses
    the same scripts as `run`.

    Parameters
    ----------
    source : path, name of a built-in script, mapping or Script
        The script to load.
    scenes, data, overrides, plugins
        Arguments with the same meaning as the arguments of `run` with these names.
    scenes_optional : bool
        Whether a script without scenes is allowed. Such a script has no tasks.
    may_execute : bool
        Whether the functions that the script names may be imported to find the files
        that they depend on.
    folder : Path, optional
        Folder at which relative paths of scenes start. The default is the current
        folder at the time of the call, even if a plug-in changes the current folder
        when the plug-in is imported.

    Returns
    -------
    Script
        The checked script.
    list of Task
        The tasks, scene by scene.

    Raises
    ------
    ScriptError, DataError, ParameterError
        The script, its scenes or its search ranges are not valid.
    """
    start = folder or Path.cwd()
    if isinstance(source, Script):
        script = source
    else:
        script = load(
            source, overrides=overrides, plugins=plugins, with_scenes=scenes is None, data=data
        )
    with contextlib.chdir(start):
        lacks_scenes = scenes is None and not script.scenes
        loaded_scenes = [] if scenes_optional and lacks_scenes else scenes_of(script, scenes, data)
        tasks = tasks_of_script(
            script, loaded_scenes, may_execute=may_execute, by_default=scenes is None
        )
    wanted_scenes = list(script.scenes) if scenes is None else _as_list(scenes)
    names = _names_to_load(wanted_scenes, loaded_scenes)
    if names:
        resolved = on_scenes(script.resolved, names, are_of_script=scenes is None)
        script = replace(script, resolved=resolved)
    return script, tasks


def _as_list(scenes: str | Scene | Iterable[str | Scene]) -> list[str | Scene]:
    """Return the scenes that the user names as a list."""
    return [scenes] if isinstance(scenes, str | Scene) else list(scenes)


def _names_to_load(
    wanted_scenes: Sequence[str | Scene], loaded_scenes: Sequence[Scene]
) -> dict[str, str]:
    """Return the names under which scenes are loaded, by their full names.

    The full name of a scene of the user leaves out a part of the path of its file.
    Therefore such a scene is loaded under the path that the user has written.

    Parameters
    ----------
    wanted_scenes : sequence of str or Scene
        Scenes as the script or the user names them.
    loaded_scenes : sequence of Scene
        The scenes for which these names stand.
    """
    names = {scene.name: scene.name for scene in loaded_scenes}
    for wanted in wanted_scenes:
        if isinstance(wanted, Scene) or not _is_path(wanted):
            continue
        for full_name in names:
            if scene_fits(full_name, wanted):
                names[full_name] = wanted
    return names


def _is_path(scene: str) -> bool:
    """Return whether a user names a scene by the path of its file or its folder."""
    return scene.endswith((".yaml", ".yml")) or scene.startswith(("/", ".", "~"))


def scenes_of(
    script: Script, scenes: str | Scene | Iterable[str | Scene] | None, data: str | Path | None
) -> list[Scene]:
    """Load the scenes on which a script runs.

    Parameters
    ----------
    script : Script
        Script whose scenes are loaded by default.
    scenes : scene names or Scene objects, optional
        Scenes to load instead of the scenes of the script.
    data : path, optional
        Folder that contains the data sets.

    Raises
    ------
    DataError
        Neither the script nor the argument names a scene, or a scene does not exist.
    """
    scene_list = list(script.scenes) if scenes is None else _as_list(scenes)
    if not scene_list:
        message = (
            f"{script.name}: no scene to run on; name some under 'scenes:' or with --scene "
            "(synthetic/planes needs no data)"
        )
        raise DataError(message)
    return load_scenes(scene_list, data=data)


def execute(
    scripts: Sequence[Script],
    tasks: Sequence[Task],
    *,
    out: Path | None = None,
    maps: bool | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    memory: int | None = None,
) -> Iterator[TaskResults]:
    """Run tasks, and yield each task as soon as its results are complete.

    With `out`, the function first reads the results that the folder already contains.
    The function then computes the missing results and the results of failed runs, and
    writes each new result to the folder immediately.

    Parameters
    ----------
    scripts : sequence of Script
        Scripts of the tasks. The function writes the resolved scripts to the folder.
    tasks : sequence of Task
        Tasks to run.
    out, maps, workers, executor, memory
        Arguments with the same meaning as the arguments of `run` with these names.

    Yields
    ------
    (Task, list of Result)
        A task and its results. A task has one result for each protocol.
    """
    keep_maps = maps
    if keep_maps is None:
        keep_maps = out is None or not any(task.setting.axes for task in tasks)
    with contextlib.ExitStack() as stack:
        computation = stack.enter_context(
            Computation(workers, executor, memory, keep_maps=keep_maps)
        )
        store = None
        if out is not None:
            store = stack.enter_context(Store(out, create=True))
            store.describe(scripts, _metrics_of(tasks))
            store.set_listed_keys(_keys_of(tasks))
        yield from read_or_compute(store, tasks, computation)


def _keys_of(tasks: Sequence[Task]) -> list[str]:
    """Return the keys of the results of all tasks, without duplicates."""
    keys: dict[str, None] = {}
    for task in tasks:
        keys |= dict.fromkeys(task.keys)
    return list(keys)


def _metrics_of(tasks: Sequence[Task]) -> list[str]:
    """Return the names of the metrics of all protocols, without duplicates."""
    metrics: dict[str, None] = {}
    for task in tasks:
        for protocol in task.protocols:
            metrics |= dict.fromkeys(protocol.metrics)
    return list(metrics)


def read_or_compute(
    store: Store | None, tasks: Sequence[Task], computation: Computation
) -> Iterator[TaskResults]:
    """Yield stored results, and then compute the other results and store them.

    Parameters
    ----------
    store : Store or None
        Results store that is open for writing. Without a store, all tasks are computed.
    tasks : sequence of Task
        Tasks whose results are needed.
    computation : Computation
        Object that computes the missing results.

    Yields
    ------
    (Task, list of Result)
        A task and its results. A task has one result for each protocol.
    """
    tasks_to_compute = []
    stored_runs = set() if store is None else store.runs()
    for task in tasks:
        stored_results = None
        if store is not None and task.id in stored_runs:
            stored_results = _read(store, task, keep_maps=computation.keep_maps)
        if stored_results is None:
            tasks_to_compute.append(task)
        else:
            yield task, stored_results

    remaining_tasks = collections.Counter(task.scene for task in tasks_to_compute)
    has_many_scenes = len(remaining_tasks) > MAX_LOADED_SCENES
    for task, computed_results in computation.results_of(tasks_to_compute):
        results = _with_damage(task, _failed_if_changed(task, computed_results))
        if store is not None:
            store.check_in_place()
            results = _added(store, task, store.with_map(results))
        yield task, results
        remaining_tasks[task.scene] -= 1
        if has_many_scenes and not remaining_tasks[task.scene]:
            release_scene(task.scene)


def _read(store: Store, task: Task, *, keep_maps: bool) -> list[Result] | None:
    """Return the results of a task from a store, or None if the task must be computed.

    If the store contains the disparity map of the task but lacks results for some of
    its protocols, this function evaluates the stored map with all of the protocols.
    """
    results = []
    for key in task.keys:
        result = store.get(key)
        if result is not None and _is_complete(result, needs_map=keep_maps):
            results.append(result)
    if len(results) == len(task.keys):
        if results[0].axes == task.setting.axes:
            return results
        # The stored results belong to another script that computes the same run but
        # sweeps other axes. The results are stored again with the axes of this script.
        with_axes = [replace(result, axes=task.setting.axes) for result in results]
        return _added(store, task, with_axes)

    result_with_map = _matched_before(store, task)
    if result_with_map is None:
        return None
    return _added(store, task, measure_stored_map(task, result_with_map))


def _is_complete(result: Result, *, needs_map: bool) -> bool:
    """Return whether a stored result is without error, and has its map if needed."""
    return not result.error and not (needs_map and _lacks_map(result))


def _with_damage(task: Task, results: list[Result]) -> list[Result]:
    """Add warnings about damaged image files to the results of a task."""
    damage = task.scene.damage
    has_result = not all(result.error for result in results)
    if has_result and task.setting.pipeline.reads_frames:
        damage += task.scene.damage_of_other_frames
    if not damage:
        return results
    return [
        replace(result, warnings=tuple(dict.fromkeys([*damage, *result.warnings])))
        for result in results
    ]


def _failed_if_changed(task: Task, results: list[Result]) -> list[Result]:
    """Replace the results of a task by errors if files of its stages have changed.

    The key of a result depends on the content of the files when the task was planned.
    If the files have changed, the result must not be stored under this key.
    """
    if all(result.error for result in results):
        return results
    stages = task.changed_stages()
    if not stages:
        return results
    error_line = (
        f"{stages[0]}: a file of this stage changed during the run, so its result is discarded; "
        "run again, and if the method itself writes the file, do not name it in the script"
    )
    return failed(task, error_line)


def _added(store: Store, task: Task, results: list[Result]) -> list[Result]:
    """Add the results of a task to a store, and return them."""
    for key, result in zip(task.keys, results, strict=True):
        store.add(key, result)
    return results


def _matched_before(store: Store, task: Task) -> Result | None:
    """Return a stored result of the same run whose map can be evaluated again, or None.

    The files of the disparity map and of all confidence maps must exist, and no other
    program may have changed the files.
    """
    steps = task.setting.pipeline.in_slot("confidence")
    measures = {step.stage.name for step in steps}
    for result in store.of_run(task.id):
        is_same_method = result.method == task.setting.method
        if result.error or not is_same_method or result.map is None or _lacks_map(result):
            continue
        confidence = confidence_files(result.map)
        is_complete = measures <= confidence.keys()
        if is_complete and all(map(is_replaceable, [result.map, *confidence.values()])):
            return result
    return None


def _lacks_map(result: Result) -> bool:
    """Return whether a file with a map of a result is missing or incomplete."""
    if result.map is None or not result.map.is_file():
        return True
    return not all(map(is_whole, [result.map, *confidence_files(result.map).values()]))
