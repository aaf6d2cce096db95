"""The verb ``run``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli import _options as opt
from stereo_framework.cli import _output
from stereo_framework.cli._interrupts import interruptible, status, word
from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError
from stereo_framework.core.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stereo_framework.core.scene import Scene
    from stereo_framework.script import Script
    from stereo_framework.sweep import Result
    from stereo_framework.sweep.plan import Task

_MOST_ROWS = 200
"""So many results of a protocol are printed of those that are stored; 'results' shows all."""

_MOST_READ = 5000
"""So many are read for that; where there are more, no averages over scenes are told."""

_REPLACED = ("name", "measure", "measures")


def run(
    script: list[str],
    scene: list[str] | None = None,
    disparity_range: Annotated[str | None, typer.Option("--disparities", metavar="MIN:MAX")] = None,
    settings: opt.Settings = None,
    plugin: opt.Plugins = None,
    measure: opt.Measures = None,
    out: Path | None = None,
    workers: int | None = None,
    executor: opt.ExecutorName = "thread",
    dask: opt.Dask = None,
    memory: opt.Memory = None,
    maps: Annotated[bool | None, typer.Option("--maps/--no-maps")] = None,
    columns: str | None = None,
    protocol: opt.ProtocolSpec = None,
    report: Annotated[bool, typer.Option("--report")] = False,
    data: opt.Data = None,
    json: opt.Json = False,
    traceback: opt.Traceback = False,
) -> int:
    """Run parameter scripts and print the error statistics. A folder with your own pair becomes a scene by ``scenes --new``.

    Example: stereo-framework run ssd --scene synthetic/planes --out results/ssd

    Parameters
    ----------
    script
        Scripts: files, or names of shipped ones (ssd, window).
    scene
        Scene, data set or pattern ('middlebury2006/*') to run on instead of the script's; repeatable.
    disparity_range
        Search range in pixels for all scenes, both ends included: 0:64, or 64.
    out
        Folder for results, the resolved script, maps and pictures.
    workers
        Runs at a time; default: one for each core, or all that --dask has.
    maps
        Write disparity maps and pictures to --out; default: unless sweeping.
    columns
        Statistics or parameters to show, separated by commas.
    report
        Write the page about all results in --out as well, as 'report' does.
    """
    if report and out is None:
        raise ParameterError("--report: needs --out DIR, where the page is written")
    overrides = list(settings or [])
    if protocol is not None:
        overrides.append(f"evaluation.protocol={protocol}")
    if disparity_range is not None:
        minimum, maximum = opt.disparities(disparity_range)
        overrides += [f"search.minimum={minimum:g}", f"search.maximum={maximum:g}"]
    scripts, tasks = _planned(script, overrides, plugin or [], scene, measure or [], data)
    if disparity_range is not None:
        _check_ranges(tasks)
    options = {"workers": workers, "memory": None if memory is None else opt.size(memory)}
    found: dict[Task, list[Result] | None] = {}
    with opt.who(executor, workers, dask) as pool:
        hopeless = _computed(found, scripts, tasks, out=out, maps=maps if out else False, data=data, executor=pool, **options)
    if isinstance(hopeless, int):
        return hopeless
    reported = any(s.report for s in scripts)
    done = [task for task in tasks if task in found]
    results = _results(found, done if out is None or json or reported else done[:_MOST_READ], out)
    plots = _plots(results, [s.resolved for s in scripts], out) if out is not None and reported else False
    printed = results
    if json:
        _output.print_json([r.record() for r in results])
    else:
        wanted = opt.names(columns) or _output.measured(results, measure or [])
        count = sum(len(task.protocols) for task in done)
        most, whole = None if out is None else _MOST_ROWS, len(results) == count
        printed = _output.print_results(results, wanted, errors=not hopeless, data=data, most=most, averaged=whole)
        if out is not None:
            if not whole:
                print(f"averages over scenes are left out; stereo-framework results {out} tells them")
            if len(printed) < count:
                print(f"the first {len(printed)} of {count} rows; stereo-framework results {out} --limit 0 shows all")
            kinds = ["results", "script", *["maps", "pictures"] * any(r.map for r in results), *["plots"] * plots]
            print(f"{', '.join(kinds)} in {out}")
    if report and out is not None:
        from stereo_framework.page.run_page import run_page

        run_page(out, data=data).write(out / "report.html")
        print(f"page: {out / 'report.html'}", file=sys.stderr)
    failed = [one for some in found.values() for one in some or () if one.error]
    if hopeless:
        print(f"error: {hopeless}", file=sys.stderr)
    elif more := len(failed) - sum(bool(r.error) for r in printed):
        print(f"error: {more} more runs failed; stereo-framework results {out} --limit 0 tells why", file=sys.stderr)
    if traceback:
        _output.print_tracebacks(failed)
    return 1 if failed else 0


def _results(found: dict[Task, list[Result] | None], tasks: list[Task], out: Path | None) -> list[Result]:
    """The results of some tasks: those that were kept, the others from the store."""
    from stereo_framework.sweep import Store

    if out is None:
        return [result for task in tasks for result in found[task] or ()]
    with Store(out) as store:
        stored = (result for task in tasks for result in found[task] or map(store.get, task.keys))
        return [result for result in stored if result is not None]


def _planned(
    names: list[str],
    overrides: list[str],
    plugins: list[str],
    wanted: Sequence[str] | None,
    measures: list[str],
    data: Path | None,
) -> tuple[list[Script], list[Task]]:
    """The scripts of these names and all of their runs, on the scenes that are wanted or else on their own."""
    from stereo_framework.script import load
    from stereo_framework.sweep.plan import plan
    from stereo_framework.sweep.runs import scenes_of

    scripts, tasks = [], []
    for name in names:
        script = load(name, overrides=overrides, plugins=plugins)
        scenes = scenes_of(script, wanted or None, data)
        if measures:
            script = load(name, overrides=[*overrides, _measuring(script, scenes, measures)], plugins=plugins)
        scripts.append(script)
        tasks += plan(script, scenes)
    return scripts, tasks


def _check_ranges(tasks: list[Task]) -> None:
    """Refuse or doubt a range from the command line that is wide for its scenes."""
    doubts = dict.fromkeys(task.search.check_width(task.scene.reference.shape[1]) for task in tasks)
    for doubt in filter(None, doubts):
        print(f"warning: --disparities: {doubt}", file=sys.stderr)


def _computed(
    found: dict[Task, list[Result] | None], scripts: list[Script], tasks: list[Task], *, out: Path | None, **options: Any
) -> str | int:
    """Fill in the results, None for those that can be read again, and write their pictures.

    Returns
    -------
    str or int
        Why the sweep was given up, empty if it was not; the exit status where it was interrupted, which is told.
    """
    from stereo_framework.sweep.runs import Hopeless, execute

    total = sum(len(task.protocols) for task in tasks)
    try:
        with Progress(total) as progress, interruptible() as check:
            for task, results in execute(scripts, tasks, out=out, watch=progress.watch, **options):
                # Thousands of results take more memory than to compute them; those that are stored can be read again.
                found[task] = results if out is None or results[0].error else None
                for _ in results:
                    progress.advance()
                check()
                if results[0].map is not None:
                    _pictures(results[0], task)
    except Hopeless as error:
        return str(error)
    except KeyboardInterrupt as error:
        hint = f"the same command continues from {out}" if out else "nothing was stored; --out DIR keeps results"
        print(f"{word(error)} after {progress.count} of {total} results; {hint}", file=sys.stderr)
        return status(error)
    return ""


def _measuring(script: Script, scenes: Sequence[Scene], measures: list[str]) -> str:
    """The override that lets a script measure something else, under its own protocols or the one of the scenes."""
    import json

    from stereo_framework.evaluation.protocols import of_scene

    own = script.resolved.get("evaluation", {}).get("protocol") or list(dict.fromkeys(of_scene(s).name for s in scenes))
    bases = own if isinstance(own, list) else [own]
    if "evaluation" not in script.resolved and len(bases) > 1:
        raise ParameterError(
            f"--measure: the scenes have different protocols ({', '.join(bases)}); choose one with "
            f"--set 'evaluation.protocol={{base: {bases[0]}, measures: [{', '.join(measures)}]}}'"
        )
    # A name would stay that of the protocol with its old measures.
    kept = [{"base": base} if isinstance(base, str) else {k: v for k, v in base.items() if k not in _REPLACED} for base in bases]
    return "evaluation.protocol=" + json.dumps([{**base, "measures": measures} for base in kept])


def _plots(results: list[Result], scripts: list[dict[str, Any]], out: Path) -> bool:
    """Write what the scripts' reports ask for; what cannot be drawn is told, the results stand all the same."""
    from stereo_framework.page.report_files import write_reports

    try:
        return bool(write_reports(results, scripts, out))
    except StereoFrameworkError as error:
        for line in str(error).splitlines():
            print(f"warning: {line}", file=sys.stderr)
        return True


def _pictures(result: Result, task: Task) -> None:
    from stereo_framework.figures.picture_files import write_pictures

    if result.map is None or result.disparity is None:
        raise DataError(f"{result.scene} {result.method}: the map {result.map} cannot be read")
    stem = result.map.parents[1] / "pictures" / result.map.stem
    write_pictures(stem, result.disparity, task.scene, task.protocols[0], result.confidence)
