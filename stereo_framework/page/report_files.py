"""The files that the ``report`` of a script asks for: plots and tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.figures.plots import plot_figure
from stereo_framework.figures.saving import save_figure
from stereo_framework.io import output_folder, write_bytes
from stereo_framework.script.report import PivotTable, Plot, read_report
from stereo_framework.sweep import Result
from stereo_framework.tables.formats import to_text
from stereo_framework.tables.results import of_each_protocol
from stereo_framework.tables.summaries import pivot


def write_report(results: Sequence[Result], report: Mapping[str, Any], out: Path) -> list[Path]:
    """Write the plots and tables of a script's ``report``.

    Parameters
    ----------
    results : sequence of Result
    report : mapping
        As a script has it: ``Script.report``.
    out : Path
        Plots go to ``out/plots`` as SVG and PNG, tables to ``out/tables`` as CSV and Markdown. Where
        several protocols measured what is shown, each gets files of its own, ``NAME_PROTOCOL.svg``.

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
    several: tuple[Plot | PivotTable, ...] = (*wanted.plots, *wanted.tables)
    for one in several:
        kind, statistics = ("plots", one.y) if isinstance(one, Plot) else ("tables", one.value)
        try:
            with output_folder(out):
                for ending, same in of_each_protocol(results, one.where, statistics):
                    written += _write(one, same, out / kind / f"{one.name}{ending}")
        except StereoFrameworkError as error:
            problems.append(f"report.{kind}.{one.name}: {error}")
    if problems:
        raise ParameterError("\n".join(problems))
    return written


def _write(one: Plot | PivotTable, results: list[Result], stem: Path) -> list[Path]:
    if isinstance(one, Plot):
        return save_figure(plot_figure(one, results), stem, results[0].protocol_text)
    found = pivot(results, one.rows, one.columns, one.value)
    paths = {form: stem.with_name(f"{stem.name}.{suffix}") for form, suffix in (("csv", "csv"), ("markdown", "md"))}
    for form, path in paths.items():
        write_bytes(path, to_text(found, form).encode())
    return list(paths.values())


def write_reports(results: Sequence[Result], scripts: Sequence[Mapping[str, Any]], out: Path) -> list[Path]:
    """The same for several scripts that wrote to one folder, each with the results of its own methods; scripts without either are passed over.

    Parameters
    ----------
    results : sequence of Result
    scripts : sequence of mapping
        ``Script.resolved``.
    out : Path
    """
    written: list[Path] = []
    for script in scripts:
        methods = script.get("methods") or [script.get("name")]
        own = [r for r in results if r.method in methods]
        if own and script.get("report"):
            written += write_report(own, script["report"], out)
    return written
