"""Write what the ``report`` of a script asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stereo_framework.errors import ParameterError, StereoFrameworkError
from stereo_framework.report.formats import to_text, write_text
from stereo_framework.report.plots import plot_figure, save_figure
from stereo_framework.report.results import Results
from stereo_framework.report.summaries import pivot
from stereo_framework.report.values import is_number, value
from stereo_framework.script.report import PivotTable, Plot, read_report
from stereo_framework.sweep import Result


def write_report(results: Sequence[Result], report: Mapping[str, Any], out: Path) -> list[Path]:
    """Write the plots and tables of a script's ``report``.

    Parameters
    ----------
    results : sequence of Result
    report : mapping
        As a script has it: ``Script.report``.
    out : Path
        Plots go to ``out/plots`` as SVG and PNG, tables to ``out/tables`` as CSV and Markdown.

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
        ("plots", wanted.plots, _write_plot),
        ("tables", wanted.tables, _write_table),
    )
    for folder, those, write in kinds:
        for one in those:
            try:
                chosen = Results(results).where(**{key: list(values) for key, values in one.where.items()})
                for suffix, same in _by_protocol(chosen, one.y if isinstance(one, Plot) else one.value):
                    written += write(one, same, out / folder / f"{one.name}{suffix}")
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
        ``Script.resolved``. Those without a report or without results are passed over.
    out : Path
    """
    written = []
    for script in scripts:
        methods = script.get("methods") or [script.get("name")]
        own = [r for r in results if r.method in methods]
        if own and script.get("report"):
            written += write_report(own, script["report"], out)
    return written


def _by_protocol(results: Sequence[Result], statistics: Sequence[str]) -> list[tuple[str, list[Result]]]:
    """Results of each protocol that has one of the statistics, with an ending for names of files where there are several."""
    measured = {r.protocol_text for r in results if any(is_number(value(r, name)) for name in statistics)}
    if not measured:
        raise ParameterError(f"no result has {' or '.join(statistics)}")
    protocols: dict[str, list[Result]] = {}
    for r in results:
        if r.protocol_text in measured:
            protocols.setdefault(r.protocol_text, []).append(r)
    names = [re.sub(r"[^\w.-]+", "_", same[0].protocol).strip("_") for same in protocols.values()]
    # Two versions of a protocol may have the same name.
    endings = [f"_{name}{f'_{i}' * (name in names[:i])}" if len(names) > 1 else "" for i, name in enumerate(names)]
    return list(zip(endings, protocols.values(), strict=True))


def _write_plot(plot: Plot, results: Sequence[Result], stem: Path) -> list[Path]:
    return save_figure(plot_figure(plot, results), stem, results[0].protocol_text)


def _write_table(table: PivotTable, results: Sequence[Result], stem: Path) -> list[Path]:
    found = pivot(results, table.rows, table.columns, table.value)
    paths = [stem.with_name(f"{stem.name}.csv"), stem.with_name(f"{stem.name}.md")]
    write_text(paths[0], to_text(found, "csv"))
    write_text(paths[1], to_text(found, "markdown"))
    return paths
