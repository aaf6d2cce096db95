"""Run a parameter script: every method and setting on every scene, measured and stored."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Literal

import yaml

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError, short
from stereo_framework.core.progress import in_notebook
from stereo_framework.core.scene import Scene
from stereo_framework.core.stage import installed_plugins, typed_stages
from stereo_framework.datasets import load_scenes
from stereo_framework.io import read_bytes, write_bytes, write_disparity, write_pfm
from stereo_framework.io.pfm import is_whole
from stereo_framework.kernels.counting import counted
from stereo_framework.script import Script, load
from stereo_framework.script.library import RESOLVED
from stereo_framework.sweep.executors import Options, Workers
from stereo_framework.sweep.identity import code_digest
from stereo_framework.sweep.kept_parts import remove_kept
from stereo_framework.sweep.kept_scenes import keep_scene
from stereo_framework.sweep.plan import FEW, Task, forget, plan
from stereo_framework.sweep.result import CONFIDENCE, Result, ResultList, confidence_file
from stereo_framework.sweep.store import Store
from stereo_framework.sweep.work import Outcome


def run(
    script: str | Path | Mapping[str, Any] | Script,
    scenes: Sequence[str | Scene] | str | Scene | None = None,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    overrides: Sequence[str] = (),
    plugins: Sequence[str | Path] = (),
    workers: int | None = None,
    executor: Literal["thread", "process"] | Executor = "thread",
    dask: str | None = None,
    memory: int | None = None,
    maps: bool | None = None,
) -> ResultList:
    """Run a parameter script.

    Settings that begin with the same stages share them: each beginning is computed once. The numbers are those of runs one by
    one, whoever computes them.

    Parameters
    ----------
    script : path, name of a shipped script, mapping or Script
    scenes : scene names or Scene objects, optional
        Instead of the script's own. Names as `find_scenes` takes them: data sets and patterns stand for all their scenes.
    data : path, optional
        Data root; default: the environment variable STEREO_DATA, then the user's cache folder.
    out : path, optional
        Folder for the results store, the resolved script and the maps. Results that are there already are not computed again.
    overrides : sequence of str
        ``key.path=value`` settings over the script's.
    plugins : sequence of str or Path
        Plug-ins besides those that the script names, and files outside its folder that it may name.
    workers : int, optional
        Units of work at a time, each in one thread; default: one for each core, or as many as the cluster or executor has. With 1 worker, or
        a single unit, the stages themselves use all cores.
    executor : {"thread", "process"} or concurrent.futures.Executor
        Who computes. Processes and executors other than a ThreadPoolExecutor get scenes by name or, where a name is not enough, pickled, and
        import the stages. A script that makes a process pool needs ``if __name__ == "__main__":``.
    dask : str, optional
        Address of a Dask scheduler, whose workers compute.
    memory : int, optional
        Bytes that cost volumes may take together (of a cluster: on each worker); default: four fifths of what is free.
    maps : bool, optional
        Keep disparity maps: in ``out/maps`` or, without `out`, in the results. Default: with `out` only when the script sweeps
        nothing, else always.

    Returns
    -------
    list of Result
        Scene by scene, in the script's order; a notebook shows it as a table, and ``plot`` draws curves. A run that failed has an `error` and no statistics.

    Raises
    ------
    ScriptError, DataError, ParameterError
        Faults of the script, its scenes or search ranges, before anything runs; another sweep that writes to `out`.
    Hopeless
        The first three of more runs failed with the same words in a stage that all of them have; `out` keeps what is done.
    MissingExtraError
        `dask` without dask.distributed.

    Examples
    --------
    >>> import stereo_framework
    >>> [result] = stereo_framework.run("window", scenes="synthetic/planes")
    >>> bool(result.statistics["bad_pixels_nonocc"] < 20)
    True
    """
    loaded = script if isinstance(script, Script) else load(script, overrides=overrides, plugins=plugins)
    tasks = plan(loaded, scenes_of(loaded, scenes, data))
    found: dict[int, Result] = {}
    total = sum(len(task.protocols) for task in tasks)
    # Who listens already, such as a bar over several scripts, hears of every result; a notebook's own bar counts them itself.
    rounds = counted(total, "run")
    next(rounds, None)
    with in_notebook(total) as progress:
        for place, result in execute(
            [loaded],
            tasks,
            out=None if out is None else Path(out),
            workers=workers,
            executor=executor,
            dask=dask,
            memory=memory,
            maps=maps,
            data=data,
            watch=progress.watch if progress else None,
        ):
            found[place] = result
            next(rounds, None)
            if progress:
                progress.advance()
    return ResultList(found[place] for place in sorted(found))


def scenes_of(script: Script, scenes: Sequence[str | Scene] | str | Scene | None, data: str | Path | None) -> list[Scene]:
    """The scenes to run a script on: those given, else its own.

    Raises
    ------
    DataError
        None at all, or one that does not exist.
    """
    wanted = script.scenes if scenes is None else [scenes] if isinstance(scenes, str | Scene) else scenes
    if not wanted:
        raise DataError(
            f"{script.name}: no scene to run on; name some under 'scenes:' or with --scene (synthetic/planes needs no data)"
        )
    return load_scenes(wanted, data=data)


def execute(
    scripts: Sequence[Script],
    tasks: Sequence[Task],
    *,
    out: Path | None = None,
    workers: int | None = 1,
    executor: Literal["thread", "process"] | Executor = "thread",
    dask: str | None = None,
    memory: int | None = None,
    maps: bool | None = None,
    data: str | Path | None = None,
    watch: Callable[[str], None] | None = None,
) -> Iterator[tuple[int, Result]]:
    """Run tasks and yield their results as they are there, each with its place in the order of tasks and protocols.

    With `out`, results found in its store are taken from there, first of all, and new ones written to it, one by one; failed ones
    are run again. `watch` is called with a text whenever a stage begins in this process. The other parameters are those of `run`.
    """
    check_workers(workers)
    keep = (out is None or not any(task.run.axes for task in tasks)) if maps is None else maps
    # Parts of one version of the code and of all plug-ins are no other's.
    plugins = tuple(dict.fromkeys(plugin for script in scripts for plugin in script.plugins))
    parts = None if out is None else out.absolute() / "parts" / code_digest(plugins + installed_plugins(), typed_stages())
    crew = Workers(Options(workers or 0, memory, keep, None if data is None else str(data), watch, parts=parts), executor, dask)
    with contextlib.ExitStack() as stack:
        stack.enter_context(crew)
        store = None if out is None else stack.enter_context(Store(out, create=True))
        if store is not None:
            store.describe_measures(dict.fromkeys(m for task in tasks for protocol in task.protocols for m in protocol.measures))
        if store is not None:
            for script in scripts:
                write_script(store.folder, script)
            store.plan(list(dict.fromkeys(key for task in tasks for key in task.keys)))
        owners = [task for task in tasks for _ in task.protocols]
        for place, result in stored_or_computed(store, tasks, crew, give_up=True):
            if parts is not None and result.error is None and owners[place].run.pipeline.in_slot("scheme"):
                pipeline = owners[place].run.pipeline
                remove_kept(parts, pipeline.having(scheme=pipeline.in_slot("scheme")[1:]))
            yield place, result


class Hopeless(StereoFrameworkError):
    """The first runs of a sweep failed alike, in a stage that all of them have; the others were left out."""


def check_workers(workers: int | None) -> None:
    """Raise a ParameterError if nobody is to work."""
    if workers is not None and workers < 1:
        raise ParameterError(f"workers: {workers} is below 1")


def write_script(folder: Path, script: Script) -> None:
    """Write the resolved script to an output folder, under a name that is nobody else's.

    Raises
    ------
    DataError
        A file of that name is the user's, or was changed; or the disk is full.
    """
    write_bytes(folder / f"{script.name}{RESOLVED}", yaml.safe_dump(script.resolved, sort_keys=False).encode())


def read_scripts(folder: Path) -> dict[str, dict[str, Any]]:
    """The resolved scripts in an output folder, by the names of their files.

    Raises
    ------
    DataError
        One of them is damaged.
    """
    found = {}
    # Earlier versions wrote NAME.yaml.
    for path in sorted(folder.glob(f"*{RESOLVED}")) or sorted(folder.glob("*.yaml")):
        try:
            script = yaml.safe_load(read_bytes(path, limits.WRITTEN))
        except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
            reason = " ".join(str(error).split())
            raise DataError(f"{path}: is damaged: {short(reason, 200)}; delete it, and the next run writes it again") from None
        if isinstance(script, dict):
            found[path.name] = script
    return found


_ENOUGH = 3
"""So many runs that fail alike, the first ones, end a sweep."""


def stored_or_computed(
    store: Store | None, tasks: Sequence[Task], crew: Workers, *, give_up: bool = False
) -> Iterator[tuple[int, Result]]:
    """Results of tasks, as `execute` yields them: those that a store has, then the others, which are computed and added to it.

    With `give_up` a `Hopeless` is raised when the first ones fail alike, and all have the stage that fails.
    """
    places, count, keep = [], 0, crew.options.keep
    for task in tasks:
        places.append(count)
        count += len(task.protocols)
    todo = list(enumerate(tasks))
    if store is not None:
        done = _stored_already(store, tasks, keep)
        todo = [(i, task) for i, task in todo if i not in done]
        for i in sorted(done):
            for j, key in enumerate(tasks[i].keys):
                if (known := store.get(key)) is not None:
                    yield places[i] + j, known
    first: list[Outcome] = []
    # Tasks of each scene that are not through yet.
    left = collections.Counter(id(task.scene) for _, task in todo)
    many = len(left) > FEW
    copied: set[Scene] = set()
    with contextlib.closing(crew.compute(todo)) as computed:
        for i, measured in computed:
            if store is not None:
                store.check_there()
            if store is not None and measured.disparity is not None and tasks[i].scene not in copied:
                keep_scene(store.folder, tasks[i].scene, crew.options.data)
                copied.add(tasks[i].scene)
            for j, result in enumerate(_results(tasks[i], measured, store.folder if store and keep else None)):
                if store is not None:
                    store.add(tasks[i].keys[j], result)
                yield places[i] + j, result
            left[id(tasks[i].scene)] -= 1
            if many and not left[id(tasks[i].scene)]:
                forget(tasks[i].scene)
            if give_up and len(first) < _ENOUGH:
                first.append(measured)
                if (
                    len(first) == _ENOUGH < len(todo) == len(tasks)
                    and (stage := _common_fault(first))
                    and _all_have(stage, tasks)
                ):
                    raise Hopeless(
                        f"{len(tasks) - _ENOUGH} of {len(tasks)} runs are left out: the first {_ENOUGH} failed alike: {measured.error}"
                    )


def _common_fault(runs: Sequence[Outcome]) -> str:
    """The stage that failed with the same words in all runs, if any."""
    return runs[0].stage if len({(run.error, run.stage) for run in runs}) == 1 else ""


def _all_have(stage: str, tasks: Sequence[Task]) -> bool:
    # Programs from outside are others in other methods, whatever stage calls them.
    return all(
        any(f"{b.stage.slot}.{b.stage.name}" == stage and b.stage.files is None for _, b in pipeline.stages())
        for pipeline in {task.run.pipeline for task in tasks}
    )


def _stored_already(store: Store, tasks: Sequence[Task], keep: bool) -> set[int]:
    """The tasks that need not be computed again."""
    complete = store.complete()
    maps = _whole_maps(store.folder) if keep else set()
    return {
        i for i, task in enumerate(tasks) if all(key in complete and (not keep or complete[key] in maps) for key in task.keys)
    }


def _whole_maps(folder: Path) -> set[Path]:
    """The maps in an output folder that were not cut off, nor was their confidence."""
    files = list((folder / "maps").glob("*.pfm"))
    cut = {file.stem.partition(CONFIDENCE)[0] for file in files if not is_whole(file)}
    return {file for file in files if file.stem not in cut}


def _results(task: Task, measured: Outcome, out: Path | None) -> Iterator[Result]:
    """What came of a task as results, one for each protocol. With `out` the map is written."""
    path = None
    if out is not None and measured.disparity is not None:
        path = out / "maps" / f"{task.stem}.pfm"
        write_disparity(path, measured.disparity)
        for name, confidence in measured.confidence.items():
            write_pfm(confidence_file(path, name), confidence)
    parameters, script = task.run.parameters, dict(task.run.mapping) | {"scenes": [task.scene.name]}
    for i, protocol in enumerate(task.protocols):
        yield Result(
            id=task.id,
            scene=task.scene.name,
            method=task.run.method,
            parameters=parameters,
            axes=task.run.axes,
            protocol=protocol.name,
            statistics={} if measured.error else measured.statistics[i],
            energy=measured.energy,
            seconds={} if measured.error else measured.seconds[i],
            warnings=measured.warnings,
            error=measured.error,
            script=script,
            protocol_text=str(protocol),
            map=path,
            environment=measured.environment,
            traceback=measured.traceback,
            _disparity=None if path else measured.disparity,
            _confidence={} if path else measured.confidence,
        )
