"""The files that the ``report`` of a script asks for: plots and tables."""

from collections.abc import Iterable, Mapping, Sequence
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

Reports = Iterable[tuple[list[Result], Mapping[str, Any]]]
"""The ``report`` of scripts, each with the results that it is about."""


def reports_of(results: Sequence[Result], scripts: Iterable[Mapping[str, Any]]) -> Reports:
    """What scripts ask for, as `Script.resolved` has it, each with the results of its own methods; scripts without either are passed over."""
    for script in scripts:
        methods = script.get("methods") or [script.get("name")]
        own = [r for r in results if r.method in methods]
        if own and script.get("report"):
            yield own, script["report"]


def write_reports(reports: Reports, out: Path) -> list[Path]:
    """Write plots and tables.

    Parameters
    ----------
    reports : iterable of (list of Result, mapping)
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
        Faults of a report.
    ParameterError
        What could not be drawn or written, or two scripts call alike, one line each; everything else was written.
    """
    written: list[Path] = []
    problems: list[str] = []
    for results, report in reports:
        wanted, taken = read_report(report), set(written)
        several: tuple[Plot | PivotTable, ...] = (*wanted.plots, *wanted.tables)
        for one in several:
            kind, statistics = ("plots", one.y) if isinstance(one, Plot) else ("tables", one.value)
            try:
                with output_folder(out):
                    for ending, same in of_each_protocol(results, one.where, statistics):
                        stem = out / kind / f"{one.name}{ending}"
                        if taken & {Path(f"{stem}.svg"), Path(f"{stem}.csv")}:
                            raise ParameterError(
                                "another script's is called so and was written; rename one of them"
                            )
                        written += _write(one, same, stem)
            except StereoFrameworkError as error:
                problems.append(f"report.{kind}.{one.name}: {error}")
    if problems:
        raise ParameterError("\n".join(problems))
    return written


def _write(one: Plot | PivotTable, results: list[Result], stem: Path) -> list[Path]:
    if isinstance(one, Plot):
        return save_figure(plot_figure(one, results), stem, results[0].protocol_text)
    found = pivot(results, one.rows, one.columns, one.value)
    paths = {
        form: stem.with_name(f"{stem.name}.{suffix}")
        for form, suffix in (("csv", "csv"), ("markdown", "md"))
    }
    for form, path in paths.items():
        write_bytes(path, to_text(found, form).encode())
    return list(paths.values())
