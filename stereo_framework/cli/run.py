"""The command ``run``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli._progress import Progress, continuable
from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError

if TYPE_CHECKING:
    from stereo_framework.sweep import Result
    from stereo_framework.sweep.tasks import Task

_MOST_ROWS = 200
"""So many results of a protocol are printed of those that are stored; 'results' shows all."""


def run(
    script: Annotated[list[str], typer.Argument(metavar="SCRIPT")],
    scene: list[str] | None = None,
    settings: _shared.Settings = None,
    plugin: _shared.Plugins = None,
    metric: _shared.Metrics = None,
    protocol: _shared.ProtocolSpec = None,
    out: Path | None = None,
    workers: int | None = None,
    executor: _shared.ExecutorName = "thread",
    dask: _shared.Dask = None,
    memory: _shared.Memory = None,
    maps: Annotated[bool | None, typer.Option("--maps/--no-maps")] = None,
    report: Annotated[bool, typer.Option("--report")] = False,
    json: _shared.Json = False,
    traceback: _shared.Traceback = False,
) -> int:
    """Run methods or parameter sweeps and print error statistics.

    A script names a method or a parameter sweep, and the scenes on which it runs. If the
    command is interrupted, the same command with the same --out continues it.

    Example: stereo-framework run ssd --scene synthetic/planes --out results/ssd

    Parameters
    ----------
    script
        Script files, or names of built-in methods, such as ssd, sgm and fine.
    scene
        Scene, data set or pattern (such as 'middlebury2006/*') that replaces the scenes of the script; repeatable. The command 'scenes' lists the scenes and creates
        a scene from your images.
    out
        Folder for the results, the complete script, the disparity maps and the pictures. Default: nothing is stored.
    workers
        Number of settings that run at a time, each in one thread. Default: the number of threads, or of the workers of --dask.
    maps
        Write disparity maps and pictures to --out. Default: they are written unless the script is a sweep.
    report
        Write an HTML report, as the command 'report' does.
    """
    from stereo_framework.sweep.script_run import execute, load_tasks

    if report and out is None:
        raise ParameterError("--report: needs --out DIR, where the page is written")
    if maps and out is None:
        message = "--maps: needs --out DIR, where the maps are written"
        raise ParameterError(message)
    given = {
        "protocol": protocol,
        "metrics": metric and f"[{', '.join(_shared.metrics_of(metric))}]",
    }
    overrides = [
        *(settings or []),
        *(f"evaluation.{key}={value}" for key, value in given.items() if value),
    ]
    # A plug-in of one script must not move the folder from which the scenes of the next one start.
    start = Path.cwd()
    planned = [
        load_tasks(name, scene or None, overrides=overrides, plugins=plugin or [], folder=start)
        for name in script
    ]
    scripts = [loaded for loaded, _ in planned]
    tasks = [task for _, own in planned for task in own]
    options: dict[str, Any] = {
        "workers": workers,
        "memory": memory,
        "out": out,
        "maps": maps if out else False,
    }
    progress = Progress(sum(len(task.protocols) for task in tasks))
    found: dict[Task, list[Result]] = {}
    with (
        _shared.who(executor, workers, dask) as pool,
        continuable(progress, "results", out) as count,
    ):
        for task, own in execute(scripts, tasks, executor=pool, **options):
            found[task] = own
            count(len(own))
            if (first := own[0]).map is not None:
                from stereo_framework.figures.disparity_figures import write_pictures

                if first.disparity is None:
                    raise DataError(
                        f"{first.scene} {first.method}: the map {first.map} cannot be read"
                    )
                stem = first.map.parents[1] / "pictures" / first.map.stem
                write_pictures(
                    stem, first.disparity, task.scene, task.protocols[0], first.confidence
                )
    results = [result for task in tasks for result in found[task]]
    failed = [one for one in results if one.error]
    plots = out is not None and any(script.report for script in scripts)
    if out is not None and plots:
        from stereo_framework.page.report_files import reports_of, write_reports

        try:
            plots = bool(
                write_reports(reports_of(results, [script.resolved for script in scripts]), out)
            )
        except StereoFrameworkError as error:  # the results stand all the same
            _shared.tell("warning", *str(error).splitlines())
    printed = results
    if json:
        _shared.print_json([r.record() for r in results])
    else:
        most, whole = (
            (None, "") if out is None else (_MOST_ROWS, f"stereo-framework results {out} --limit 0")
        )
        columns = _shared.statistics_of_metrics(results, metric or [])
        printed = _shared.print_results(results, columns, most=most, whole=whole)
        if out is not None:
            _print_places(out, has_maps=any(r.map for r in results), has_plots=plots)
    if report and out is not None:
        from stereo_framework.page.run_page import run_page

        run_page(out).write(out / "report.html")
        print(_shared.as_typed(f"report: {out / 'report.html'}"), file=sys.stderr)
    elif out is not None and not json:
        _shared.say(f"next step: 'stereo-framework report {out}' writes an HTML report")
    if more := len(failed) - sum(bool(r.error) for r in printed):
        _shared.tell(
            "error", f"{more} more runs failed; stereo-framework results {out} --limit 0 tells why"
        )
    if traceback:
        _shared.print_tracebacks(failed)
    return 1 if failed else 0


def _print_places(out: Path, *, has_maps: bool, has_plots: bool) -> None:
    """Print the names of the results that were written, and their folder."""
    contents = ["the results", "the complete script"]
    if has_maps:
        contents += ["the disparity maps", "the pictures"]
    if has_plots:
        contents.append("the plots")
    _shared.say(f"{_shared.listed(contents)} are in {out}")
