"""Write the plots and tables that the key ``report`` of a script describes."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.figures.plots import plot_figure
from stereo_framework.figures.saving import save_figure
from stereo_framework.io import output_folder, write_bytes
from stereo_framework.script.report import PivotTable, Plot, read_report
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.tables.formats import to_text
from stereo_framework.tables.results import of_each_protocol
from stereo_framework.tables.summaries import pivot

Reports = Iterable[tuple[ResultSet, Mapping[str, Any]]]
"""The key ``report`` of scripts, each with the results of the script."""


def reports_of(results: ResultSet, scripts: Iterable[Mapping[str, Any]]) -> Reports:
    """Yield the key ``report`` of each script with the results of the script's methods.

    Scripts without results or without this key are left out. Parts of a divided sweep
    have the same methods and the same report, which is then yielded once.

    Parameters
    ----------
    results : ResultSet
        Results of all scripts.
    scripts : iterable of mapping
        Scripts in the form of `Script.resolved`.
    """
    earlier_texts: set[str] = set()
    for script in scripts:
        methods = list(script.get("methods") or [script.get("name")])
        # A comparison of texts ends, even if a hostile script nests aliases.
        text = yaml.safe_dump([methods, script.get("report")])
        if not script.get("report") or text in earlier_texts:
            continue
        earlier_texts.add(text)
        results_of_script = ResultSet(result for result in results if result.method in methods)
        if results_of_script:
            yield results_of_script, script["report"]


def write_reports(reports: Reports, out: Path) -> list[Path]:
    """Write the plots and tables of several scripts.

    If several protocols have the statistics of a plot or table, each protocol has its
    own files, ``NAME_PROTOCOL.svg``.

    Parameters
    ----------
    reports : iterable of (ResultSet, mapping)
        The key ``report`` of each script, with the results of the script.
    out : Path
        Plots are written to ``out/plots`` as SVG and PNG, and tables to ``out/tables``
        as CSV and Markdown.

    Returns
    -------
    list of Path
        The written files.

    Raises
    ------
    ScriptError
        A report has faults.
    ParameterError
        Some plots or tables could not be written, or two scripts have plots or tables
        of the same name. The message has one line for each. All others are written.
    """
    written: list[Path] = []
    problems: list[str] = []
    for results, report in reports:
        checked_report = read_report(report)
        files_of_other_scripts = set(written)
        entries: list[Plot | PivotTable] = [*checked_report.plots, *checked_report.tables]
        for entry in entries:
            kind = "plots" if isinstance(entry, Plot) else "tables"
            statistics = entry.y if isinstance(entry, Plot) else entry.value
            try:
                with output_folder(out):
                    for ending, same in of_each_protocol(results, entry.where, statistics):
                        stem = out / kind / f"{entry.name}{ending}"
                        _refuse_files(stem, files_of_other_scripts)
                        written += _write(entry, same, stem)
            except StereoFrameworkError as error:
                problems.append(f"report.{kind}.{entry.name}: {error}")
    if problems:
        raise ParameterError("\n".join(problems))
    return written


def _refuse_files(stem: Path, files_of_other_scripts: set[Path]) -> None:
    """Refuse to write files that another script has written.

    Raises
    ------
    ParameterError
        Another script has a plot or table of the same name.
    """
    if files_of_other_scripts & {Path(f"{stem}.svg"), Path(f"{stem}.csv")}:
        message = "another script's is called so and was written; rename one of them"
        raise ParameterError(message)


def _write(entry: Plot | PivotTable, results: ResultSet, stem: Path) -> list[Path]:
    """Write a plot or a table, and return the written files."""
    if isinstance(entry, Plot):
        return save_figure(plot_figure(entry, results), stem, results[0].protocol_text)
    table = pivot(results, entry.rows, entry.columns, entry.value)
    paths: list[Path] = []
    for form, suffix in (("csv", "csv"), ("markdown", "md")):
        path = stem.with_name(f"{stem.name}.{suffix}")
        write_bytes(path, to_text(table, form).encode())
        paths.append(path)
    return paths
