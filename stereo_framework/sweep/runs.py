"""Run a parameter script: every method and setting on every scene, measured and stored."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from stereo_framework._parallel import threads
from stereo_framework.datasets import load_scene
from stereo_framework.errors import DataError, ParameterError, ScriptError, StereoFrameworkError
from stereo_framework.evaluation import evaluate
from stereo_framework.evaluation.protocols import Protocol, of_scene
from stereo_framework.evaluation.sanity import doubts
from stereo_framework.io import write_disparity
from stereo_framework.pipeline import Match
from stereo_framework.scene import Scene, Search
from stereo_framework.script import Run, Script, load
from stereo_framework.sweep.identity import code_digest, run_id, scene_digest
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.store import Store


@dataclass(frozen=True)
class Task:
    """One run on one scene, and the keys under which its results, one for each protocol, are stored."""

    scene: Scene
    run: Run
    search: Search
    id: str
    protocols: tuple[Protocol, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """One key for each protocol."""
        return tuple(f"{self.id} {self.run.method} {protocol}" for protocol in self.protocols)

    @property
    def stem(self) -> str:
        """File name, without ending, of what is written about this task."""
        return f"{self.scene.name.replace('/', '-')}_{self.run.method}_{self.id[:8]}"


def run(
    script: str | Path | Mapping[str, Any] | Script,
    scenes: Sequence[str | Scene] | str | Scene | None = None,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    overrides: Sequence[str] = (),
    workers: int = 1,
    maps: bool | None = None,
) -> list[Result]:
    """Run a parameter script.

    Parameters
    ----------
    script : path, name of a shipped script, mapping or Script
    scenes : scene names or Scene objects, optional
        Instead of the script's own.
    data : path, optional
        Data root; default: the environment variable STEREO_DATA, then the user's cache folder.
    out : path, optional
        Folder for the results store, the resolved script and the maps. Results that are there already are not computed again.
    overrides : sequence of str
        ``key.path=value`` settings over the script's.
    workers : int
        Runs at a time; each then uses one thread. With 1 the stages themselves use all cores.
    maps : bool, optional
        Write disparity maps to ``out/maps``. Default: only when the script sweeps nothing.

    Returns
    -------
    list of Result
        Scene by scene, in the script's order. A run that failed has an `error` and no statistics.

    Raises
    ------
    ScriptError, DataError, ParameterError
        Faults of the script, its scenes or search ranges, before anything runs.

    Examples
    --------
    >>> import stereo_framework
    >>> [result] = stereo_framework.run("window", scenes="synthetic/planes")
    >>> bool(result.statistics["bad_pixels_nonocc"] < 20)
    True
    """
    loaded = script if isinstance(script, Script) else load(script, overrides=overrides)
    tasks = plan(loaded, scenes_of(loaded, scenes, data))
    return list(execute([loaded], tasks, out=None if out is None else Path(out), workers=workers, maps=maps))


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
    return [s if isinstance(s, Scene) else load_scene(s, data=data) for s in wanted]


def plan(script: Script, scenes: Sequence[Scene]) -> list[Task]:
    """Every run of the script on every scene, scene by scene, checked.

    Raises
    ------
    DataError
        A scene cannot be loaded or has no search range.
    ScriptError
        A search range is wrong together with a scene's own.
    """
    code = code_digest(script.plugins)
    tasks, faults = [], []
    for scene in scenes:
        content = scene_digest(scene)
        for one in script.runs:
            try:
                search = _search(scene, one.search)
            except ParameterError as error:
                faults.append(f"{script.name}: scene {scene.name}: {error}")
                continue
            identity = run_id(content, repr(search), one.parameters, code)
            tasks.append(Task(scene, one, search, identity, one.protocols or (of_scene(scene),)))
    if faults:
        raise ScriptError(dict.fromkeys(faults))
    return tasks


def _search(scene: Scene, override: Mapping[str, Any]) -> Search:
    if scene.search is not None:
        return replace(scene.search, **override)
    if not {"minimum", "maximum"} <= set(override):
        raise DataError(f"scene {scene.name}: no search range; give one (search: {{minimum, maximum}} or --disparities A:B)")
    return Search(**override, direction=scene.direction)


def execute(
    scripts: Sequence[Script], tasks: Sequence[Task], *, out: Path | None = None, workers: int = 1, maps: bool | None = None
) -> Iterator[Result]:
    """Run tasks and yield their results in order, as they are there.

    With `out`, results found in its store are taken from there and new ones written to it, one by one; failed ones are run again.
    """
    if workers < 1:
        raise ParameterError(f"workers: {workers} is below 1")
    keep_maps = (not any(task.run.axes for task in tasks)) if maps is None else maps
    if out is None:
        yield from _compute(tasks, workers, None)
        return
    with Store(out, create=True) as store:
        for script in scripts:
            (out / f"{script.name}.yaml").write_text(yaml.safe_dump(script.resolved, sort_keys=False))
        store.plan(list(dict.fromkeys(key for task in tasks for key in task.keys)), [script.resolved for script in scripts])
        folder = out / "maps" if keep_maps else None
        stored = {task: _stored(store, task, folder) for task in tasks}
        fresh = _compute([task for task in tasks if stored[task] is None], workers, folder)
        for task in tasks:
            for i, key in enumerate(task.keys):
                known = stored[task]
                result = known[i] if known else next(fresh)
                if known is None:
                    store.add(key, result)
                yield result


def _stored(store: Store, task: Task, maps: Path | None) -> list[Result] | None:
    """The results of a task that need not be computed again."""
    found = [store.get(key) for key in task.keys]
    complete = [
        r for r in found if r is not None and r.error is None and (maps is None or (r.map is not None and r.map.is_file()))
    ]
    return complete if len(complete) == len(found) else None


def _compute(tasks: Sequence[Task], workers: int, maps: Path | None) -> Iterator[Result]:
    if workers == 1:
        for task in tasks:
            yield from _measure(task, maps)
        return
    # Results come in order; a few tasks ahead keep all workers busy without holding many maps.
    with ThreadPoolExecutor(workers) as pool:
        waiting: list[Future[list[Result]]] = []
        ahead = iter(tasks)
        try:
            for task in ahead:
                waiting.append(pool.submit(contextvars.copy_context().run, _single_threaded, task, maps))
                if len(waiting) >= 2 * workers:
                    yield from waiting.pop(0).result()
            while waiting:
                yield from waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()


def _single_threaded(task: Task, maps: Path | None) -> list[Result]:
    with threads(1):
        return _measure(task, maps)


def _measure(task: Task, maps: Path | None) -> list[Result]:
    """Match and evaluate; what a stage raises becomes the results' error."""
    blank = Result(
        id=task.id,
        scene=task.scene.name,
        method=task.run.method,
        parameters=task.run.parameters,
        axes=task.run.axes,
        protocol="",
        script=dict(task.run.mapping) | {"scenes": [task.scene.name]},
    )
    empty = [replace(blank, protocol=p.name, protocol_text=str(p)) for p in task.protocols]
    try:
        match = task.run.pipeline(task.scene, task.search)
        measured = _evaluated(task, match, empty)
    except StereoFrameworkError as error:
        return [replace(result, error=str(error)) for result in empty]
    except Exception as error:  # a plug-in may raise anything; one failed run must not end a sweep
        return [replace(result, error=f"{type(error).__name__}: {error}") for result in empty]
    if maps is None:
        return measured
    maps.mkdir(parents=True, exist_ok=True)
    path = maps / f"{task.stem}.pfm"
    write_disparity(path, match.disparity)
    return [replace(result, map=path) for result in measured]


def _evaluated(task: Task, match: Match, empty: Sequence[Result]) -> list[Result]:
    warnings = tuple(dict.fromkeys((*match.warnings, *doubts(match.disparity, task.scene))))
    results = []
    for protocol, result in zip(task.protocols, empty, strict=True):
        start = time.perf_counter()
        statistics = evaluate(match.disparity, task.scene, protocol)
        seconds = match.seconds | {"evaluation": time.perf_counter() - start}
        results.append(
            replace(
                result,
                statistics=statistics,
                energy=match.energy,
                seconds=seconds,
                warnings=warnings,
                _disparity=match.disparity,
            )
        )
    return results
