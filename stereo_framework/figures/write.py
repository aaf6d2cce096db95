"""Write what the ``report`` of a script asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stereo_framework.errors import ParameterError, StereoFrameworkError
from stereo_framework.figures.charts import write_charts
from stereo_framework.figures.plots import write_plot
from stereo_framework.script.report import PivotTable, read_report
from stereo_framework.sweep import Result
from stereo_framework.tables.formats import to_text, write_text
from stereo_framework.tables.results import of_each_protocol
from stereo_framework.tables.summaries import pivot


def write_report(results: Sequence[Result], report: Mapping[str, Any], out: Path) -> list[Path]:
    """Write the plots, tables and charts of a script's ``report``.

    Parameters
    ----------
    results : sequence of Result
    report : mapping
        As a script has it: ``Script.report``.
    out : Path
        Plots go to ``out/plots`` as SVG and PNG, tables to ``out/tables`` as CSV and Markdown, charts to ``out/charts`` as SVG and PNG.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    ScriptError
        Faults of the report.
    ParameterError, DataError
        What could not be drawn or written, one line each; everything else was.
    """
    wanted = read_report(report)
    written: list[Path] = []
    problems: list[str] = []
    kinds: Sequence[tuple[str, Sequence[Any], Callable[[Any, Sequence[Result], Path], list[Path]]]] = (
        ("plots", wanted.plots, write_plot),
        ("tables", wanted.tables, _write_table),
        ("charts", wanted.charts, write_charts),
    )
    for folder, those, write in kinds:
        for one in those:
            try:
                written += write(one, results, out / folder / one.name)
            except StereoFrameworkError as error:
                problems.append(f"report.{folder}.{one.name}: {error}")
    if problems:
        raise ParameterError("\n".join(problems))
    return written


def write_reports(results: Sequence[Result], scripts: Sequence[Mapping[str, Any]], out: Path) -> list[Path]:
    """The same for several scripts that wrote to one folder, each with the results of its own methods.

    Parameters
    ----------
    results : sequence of Result
    scripts : sequence of mapping
        ``Script.resolved``.
    out : Path
    """
    return [path for own, report in reports(results, scripts) for path in write_report(own, report, out)]


def reports(results: Sequence[Result], scripts: Sequence[Mapping[str, Any]]) -> Iterator[tuple[list[Result], Mapping[str, Any]]]:
    """The reports of scripts, each with the results of its own methods; scripts without either are passed over."""
    for script in scripts:
        methods = script.get("methods") or [script.get("name")]
        own = [r for r in results if r.method in methods]
        if own and script.get("report"):
            yield own, script["report"]


def _write_table(table: PivotTable, results: Sequence[Result], stem: Path) -> list[Path]:
    written = []
    for ending, same in of_each_protocol(results, table.where, table.value):
        found = pivot(same, table.rows, table.columns, table.value)
        paths = [stem.with_name(f"{stem.name}{ending}{suffix}") for suffix in (".csv", ".md")]
        write_text(paths[0], to_text(found, "csv"))
        write_text(paths[1], to_text(found, "markdown"))
        written += paths
    return written
