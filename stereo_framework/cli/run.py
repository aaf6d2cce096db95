"""The command ``run``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli._progress import Progress, continuable
from stereo_framework.cli._repeated_run import (
    CodeRefusedError,
    print_comparison,
    print_other_versions,
    print_refused_code,
    repeated_folder,
    scripts_to_run,
)
from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError

if TYPE_CHECKING:
    from stereo_framework.script import Script
    from stereo_framework.sweep import Result, ResultSet
    from stereo_framework.sweep.tasks import Task

_MOST_ROWS = 200
"""Maximum number of stored results that are printed; 'results' shows all."""


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
    sort: Annotated[str | None, typer.Option(metavar="[-]KEY,KEY")] = None,
    traceback: _shared.Traceback = False,
) -> int:
    """Run methods or parameter sweeps and print error statistics.

    A script names a method or a parameter sweep, and the scenes on which it runs. If the
    command is interrupted, the same command with the same --out continues it.

    Example: stereo-framework run ssd --scene synthetic/planes --out results/ssd

    Parameters
    ----------
    script
        Script files, or names of built-in methods, such as ssd, sgm and fine; or the
        results folder of an earlier run, whose scripts are run again.
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
    sort
        Sort the results by statistics or parameters, separated by commas, smallest
        first; -KEY: largest first. Default: the order of the scripts and of the sweep.
    """
    _refuse_missing_folder(out, has_report=report, has_maps=bool(maps))
    overrides = [*(settings or []), *_evaluation_overrides(protocol, metric)]
    repeated_options = {
        "--scene": scene or [],
        "--set": overrides,
        "--out": [str(out)] if out else [],
    }
    try:
        script = scripts_to_run(script, scenes=scene or [], options=repeated_options)
    except CodeRefusedError as error:
        print_refused_code(error)
        return 2
    earlier_folder = repeated_folder(script, out)
    scripts, tasks = _load(script, scene, overrides=overrides, plugins=plugin or [])
    if earlier_folder is not None:
        print_other_versions(earlier_folder)
    options: dict[str, Any] = {
        "workers": workers,
        "memory": memory,
        "out": out,
        "maps": maps if out else False,
    }
    with _shared.who(executor, workers, dask) as pool:
        results = _compute(scripts, tasks, executor=pool, **options)

    has_plots = out is not None and _write_plots(results, scripts, out)
    results = _sorted(results, sort)
    if json:
        _shared.print_json([result.record() for result in results])
        printed = results
    else:
        printed = _print_table(results, metric or [], out, sort=_shared.names(sort))
        if settings:
            _shared.say(f"changed with --set: {', '.join(settings)}")
    if out is not None and not json:
        has_maps = any(result.map for result in results)
        _print_places(out, has_maps=has_maps, has_plots=has_plots)
    if report and out is not None:
        _write_report(out)
    elif not json:
        _print_next_step(out)
    if earlier_folder is not None:
        print_comparison(earlier_folder, results, out)
    return _report_failures(results, printed, out, traceback=traceback)


def _refuse_missing_folder(out: Path | None, *, has_report: bool, has_maps: bool) -> None:
    """Refuse options that write files if there is no folder for them."""
    if has_report and out is None:
        raise ParameterError("--report: needs --out DIR, where the page is written")
    if has_maps and out is None:
        raise ParameterError("--maps: needs --out DIR, where the maps are written")


def _evaluation_overrides(protocol: str | None, metrics: Sequence[str] | None) -> list[str]:
    """Return the options about the evaluation as overrides of a script."""
    overrides = []
    if protocol:
        overrides.append(f"evaluation.protocol={protocol}")
    if metrics:
        names = ", ".join(_shared.metrics_of(metrics))
        overrides.append(f"evaluation.metrics=[{names}]")
    return overrides


def _load(
    names: Sequence[str],
    scenes: Sequence[str] | None,
    *,
    overrides: Sequence[str],
    plugins: Sequence[str],
) -> tuple[list[Script], list[Task]]:
    """Return the scripts of a command line and their tasks."""
    from stereo_framework.sweep.script_run import load_tasks

    # A plug-in of one script must not move the folder from which the scenes of the next
    # one start.
    start = Path.cwd()
    scripts: list[Script] = []
    tasks: list[Task] = []
    for name in names:
        script, tasks_of_script = load_tasks(
            name, scenes or None, overrides=overrides, plugins=plugins, folder=start
        )
        scripts.append(script)
        tasks += tasks_of_script
    return scripts, tasks


def _compute(
    scripts: Sequence[Script], tasks: Sequence[Task], *, out: Path | None, **options: Any
) -> ResultSet:
    """Return the results of all tasks in order, and write pictures of stored maps.

    Parameters
    ----------
    scripts : sequence of Script
    tasks : sequence of Task
    out : Path, optional
        Folder of the results.
    **options
        Further options of `execute`.
    """
    from stereo_framework.sweep.result_set import ResultSet
    from stereo_framework.sweep.script_run import execute

    progress = Progress(sum(len(task.protocols) for task in tasks))
    results_of_task: dict[Task, list[Result]] = {}
    with continuable(progress, "results", out) as count:
        for task, results in execute(scripts, tasks, out=out, **options):
            results_of_task[task] = results
            count(len(results))
            _write_pictures(task, results[0])
    return ResultSet(result for task in tasks for result in results_of_task[task])


def _write_pictures(task: Task, result: Result) -> None:
    """Write the pictures of a result whose disparity map is stored.

    Raises
    ------
    DataError
        The stored map cannot be read.
    """
    if result.map is None:
        return

    # Runs without maps do not need matplotlib, whose import takes long.
    from stereo_framework.figures.disparity_figures import write_pictures

    if result.disparity is None:
        message = f"{result.scene} {result.method}: the map {result.map} cannot be read"
        raise DataError(message)
    stem = result.map.parents[1] / "pictures" / result.map.stem
    write_pictures(stem, result.disparity, task.scene, task.protocols[0], result.confidence)


def _write_plots(results: ResultSet, scripts: Sequence[Script], out: Path) -> bool:
    """Write the plots and tables of the scripts; return whether there are any."""
    from stereo_framework.page.report_files import reports_of, write_reports

    if not any(script.report for script in scripts):
        return False
    try:
        reports = reports_of(results, [script.resolved for script in scripts])
        return bool(write_reports(reports, out))
    except StereoFrameworkError as error:
        # The results are stored and printed in spite of this error.
        _shared.tell("warning", *str(error).splitlines())
        return True


def _sorted(results: ResultSet, sort: str | None) -> ResultSet:
    """Return the results in the order of --sort.

    A key that no result has is no reason to lose results that took long to compute.
    """
    from stereo_framework.tables.results import ordered

    if sort is None:
        return results
    try:
        return ordered(results, _shared.names(sort))
    except ParameterError as error:
        _shared.tell("warning", f"--sort {sort}: the results are not sorted: {error}")
        return results


def _print_table(
    results: ResultSet,
    metrics: Sequence[str],
    out: Path | None,
    *,
    sort: Sequence[str],
) -> ResultSet:
    """Print the table of the results, and return the results that it shows.

    All results that are not stored are printed.
    """
    columns = _shared.statistics_of_metrics(results, metrics)
    if out is None:
        return _shared.print_results(results, columns, sort=sort)
    command = f"stereo-framework results {out} --limit 0"
    return _shared.print_results(results, columns, most=_MOST_ROWS, whole=command, sort=sort)


def _print_places(out: Path, *, has_maps: bool, has_plots: bool) -> None:
    """Print the names of the results that were written, and their folder."""
    contents = ["the results", "the complete script"]
    if has_maps:
        contents += ["the disparity maps", "the pictures"]
    if has_plots:
        contents.append("the plots")
    _shared.say(f"{_shared.listed(contents)} are in {out}")


def _write_report(out: Path) -> None:
    """Write the HTML report of a folder."""
    from stereo_framework.page.run_page import run_page

    path = out / "report.html"
    run_page(out).write(path)
    print(_shared.as_typed(f"report: {path}"), file=sys.stderr)


def _print_next_step(out: Path | None) -> None:
    if out is None:
        _shared.say(
            "next step: the option --out DIR stores the results, and "
            "'stereo-framework report DIR' then writes an HTML report"
        )
    else:
        _shared.say(f"next step: 'stereo-framework report {out}' writes an HTML report")


def _report_failures(
    results: ResultSet, printed: ResultSet, out: Path | None, *, traceback: bool
) -> int:
    """Print the number of errors that the table lacks; return the exit status."""
    failed = [result for result in results if result.error]
    count = len(failed) - len([result for result in printed if result.error])
    if count:
        command = f"stereo-framework results {out} --limit 0"
        _shared.tell("error", f"{count} more runs failed; {command} lists the errors")
    if traceback:
        _shared.print_tracebacks(failed)
    return 1 if failed else 0
