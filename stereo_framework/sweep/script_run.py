"""Run a parameter script: every method and setting on every scene, measured and stored."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError
from stereo_framework.core.parameters import PositiveInt
from stereo_framework.core.scene import Scene
from stereo_framework.datasets import load_scenes
from stereo_framework.io import is_replaceable
from stereo_framework.io.raw import is_whole
from stereo_framework.kernels.progress import counted
from stereo_framework.script import Script, load
from stereo_framework.sweep.executors import Crew
from stereo_framework.sweep.result import Result, confidence_files
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.store import Store
from stereo_framework.sweep.task_results import Done, failed, measure_stored_map
from stereo_framework.sweep.tasks import FEW, Task, forget, tasks_of_script


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

    Settings that begin with the same stages share them: each beginning is computed once. The numbers are those of runs one by
    one, whoever computes them.

    Parameters
    ----------
    script : path, name of a built-in script, mapping or Script
    scenes : scene names or Scene objects, optional
        Instead of the script's own. Names as `find_scenes` takes them: data sets and patterns stand for all their scenes.
    data : path, optional
        Data root; default: the environment variable STEREO_DATA, then the user's cache folder.
    out : path, optional
        Folder for the results store, the resolved script and the maps. Results that are there already are not computed again.
    overrides : sequence of str, or str
        ``key.path=value`` settings over the script's.
    plugins : sequence of str or Path, or a single one
        Plug-ins besides those that the script names, and files outside its folder that it may name.
    workers : int, optional
        Units of work at a time, each in one thread; default: the number of `threads`, or as many as the executor has. With 1 worker, or a single unit, the
        stages themselves use all cores.
    executor : concurrent.futures.Executor, optional
        Who computes, such as a ProcessPoolExecutor or Dask's ``Client(address).get_executor()``; default: threads of this process. Executors other
        than a ThreadPoolExecutor get the scenes with all their arrays and import the stages. A script that makes a process pool needs
        ``if __name__ == "__main__":``.
    memory : int, optional
        Bytes that cost volumes may take together; default: four fifths of what is free, on a cluster all that there is.
    maps : bool, optional
        Keep disparity maps: in ``out/maps`` or, without `out`, in the results. Default: with `out` only when the script sweeps
        nothing, else always.

    Returns
    -------
    ResultSet
        Scene by scene, in the script's order; a notebook shows it as a table, and ``stereo_framework.plot`` draws curves. A run that failed has an `error` and no statistics.

    Raises
    ------
    ScriptError, DataError, ParameterError
        Faults of the script, its scenes or search ranges, before anything runs; another sweep that writes to `out`.

    Examples
    --------
    >>> import stereo_framework
    >>> [result] = stereo_framework.run("window", scenes="synthetic/planes")
    >>> bool(result.statistics["bad_pixels_nonocc"] < 20)
    True
    """
    start = Path.cwd()
    folder = None if out is None else start / out
    loaded, tasks = load_tasks(script, scenes, data=data, overrides=overrides, plugins=plugins)
    coming = execute(
        [loaded], tasks, out=folder, maps=maps, workers=workers, executor=executor, memory=memory
    )
    # Who listens already, such as a bar over several scripts, hears of every run.
    found = {
        task: results
        for (task, results), _ in zip(coming, counted(len(tasks), "run"), strict=False)
    }
    return ResultSet(result for task in tasks for result in found[task])


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
    """Load a script and plan its runs; `check` and `run` refuse the same scripts by it.

    Parameters
    ----------
    source : path, name of a built-in script, mapping or Script
    scenes, data, overrides, plugins
        As in `run`.
    scenes_optional : bool
        Plan no run, instead of an error, if nothing names a scene.
    may_execute : bool
        As in `tasks_of_script`.
    folder : Path, optional
        Folder from which relative paths of scenes start; default: the current one. A
        plug-in may change the current folder when it is imported.

    Raises
    ------
    ScriptError, DataError, ParameterError
        Faults of the script, its scenes or search ranges.
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
        return script, tasks


def scenes_of(
    script: Script, scenes: str | Scene | Iterable[str | Scene] | None, data: str | Path | None
) -> list[Scene]:
    """Return the scenes to run a script on; by default those that the script names.

    Raises
    ------
    DataError
        None at all, or one that does not exist.
    """
    if scenes is None:
        scene_list: list[str | Scene] = list(script.scenes)
    else:
        scene_list = [scenes] if isinstance(scenes, str | Scene) else list(scenes)
    if not scene_list:
        raise DataError(
            f"{script.name}: no scene to run on; name some under 'scenes:' or with --scene (synthetic/planes needs no data)"
        )
    return load_scenes(scene_list, data=data)


def execute(
    scripts: Sequence[Script],
    tasks: Sequence[Task],
    *,
    out: Path | None = None,
    maps: bool | None = None,
    **who: Any,
) -> Iterator[Done]:
    """Run tasks and yield each with its results as they are there.

    With `out`, results found in its store are taken from there, first of all, and new ones written to it, one by one; failed ones
    are run again. `who` computes, and within what memory, is told as to a `Crew`; the other parameters are those of `run`.
    """
    keep = (out is None or not any(task.setting.axes for task in tasks)) if maps is None else maps
    with contextlib.ExitStack() as stack:
        crew = stack.enter_context(Crew(keep=keep, **who))
        store = None if out is None else stack.enter_context(Store(out, create=True))
        if store is not None:
            store.describe(
                scripts,
                [
                    metric
                    for task in tasks
                    for protocol in task.protocols
                    for metric in protocol.metrics
                ],
            )
            store.set_listed_keys(dict.fromkeys(key for task in tasks for key in task.keys))
        yield from read_or_compute(store, tasks, crew)


def read_or_compute(store: Store | None, tasks: Sequence[Task], crew: Crew) -> Iterator[Done]:
    """The results of each task: those that a store has, then the others, which are computed and added to it."""
    todo = []
    for task in tasks:
        known = [] if store is None else [store.get(key) for key in task.keys]
        whole = [
            r for r in known if r is not None and not r.error and not (crew.keep and _lacks_map(r))
        ]
        if store is not None and len(whole) == len(task.keys):
            if (
                whole[0].axes != task.setting.axes
            ):  # another script asked for the same run along other axes, or along none
                whole = _added(
                    store, task, [replace(result, axes=task.setting.axes) for result in whole]
                )
            yield task, whole
        elif store is not None and (before := _matched_before(store, task)):
            yield task, _added(store, task, measure_stored_map(task, before))
        else:
            todo.append(task)
    left = collections.Counter(task.scene for task in todo)
    many = len(left) > FEW
    for task, computed in crew.computed(todo):
        results = _with_damage(task, _failed_if_changed(task, computed))
        if store is not None:
            store.check_in_place()
            results = _added(store, task, store.with_map(results))
        yield task, results
        left[task.scene] -= 1
        if many and not left[task.scene]:
            forget(task.scene)


def _with_damage(task: Task, results: list[Result]) -> list[Result]:
    """Return results whose warnings begin with the damage of the files of their images."""
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
    """Return the results of a task, or failed ones if files of its stages changed meanwhile.

    Results of other files must not be stored under the identity of the earlier ones.
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
    """The results of a task, which are added to a store."""
    for key, result in zip(task.keys, results, strict=True):
        store.add(key, result)
    return results


def _matched_before(store: Store, task: Task) -> Result | None:
    """A result of the same match under another protocol, whose map is as it was written."""
    measures = {step.stage.name for step in task.setting.pipeline.in_slot("confidence")}
    for one in store.of_run(task.id):
        if one.error or one.method != task.setting.method or one.map is None or _lacks_map(one):
            continue
        confidence = confidence_files(one.map)
        whole = measures <= confidence.keys()
        if whole and all(map(is_replaceable, [one.map, *confidence.values()])):
            return one
    return None


def _lacks_map(result: Result) -> bool:
    """Whether the map is not there or was cut off, or its confidence was."""
    if result.map is None or not result.map.is_file():
        return True
    return not all(map(is_whole, [result.map, *confidence_files(result.map).values()]))
