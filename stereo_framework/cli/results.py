"""The command ``results``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _shared
from stereo_framework.core.errors import DataError, ParameterError, nearest, one_line

if TYPE_CHECKING:
    from stereo_framework.sweep import Result

_FORMATS = ("table", "csv", "markdown", "latex")


def results(
    folder: Path,
    where: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None,
    sort: Annotated[str | None, typer.Option(metavar="[-]KEY,KEY")] = None,
    columns: Annotated[str | None, typer.Option(metavar="NAME,NAME")] = None,
    group_by: Annotated[str | None, typer.Option(metavar="KEY,KEY")] = None,
    limit: Annotated[int, typer.Option(min=0)] = 200,
    every: Annotated[bool, typer.Option("--all")] = False,
    format: str = "table",
    json: _shared.Json = False,
    plots: bool = False,
    export: Annotated[str | None, typer.Option(metavar="BENCHMARK")] = None,
) -> int:
    """List, filter, average, plot and export stored results.

    Example: stereo-framework results results/ssd --sort bad_pixels_nonocc

    Parameters
    ----------
    folder
        The --out folder of a run. What its last run asked for is shown, and maps that evaluate added.
    where
        Keep results with this scene, method, protocol, parameter or statistic; also != < <= > >= (in quotes); repeatable.
    sort
        Sort by statistics or parameters, separated by commas, smallest first; -KEY:
        largest first.
    columns
        Statistics, groups of them (hci) or parameters to show, separated by commas.
    group_by
        Keys, separated by commas: a row for each combination of their values, with
        means over all else.
    limit
        Most rows of a printed table; 0: all. Formats for machines hold all rows.
    every
        Results of earlier scripts in this folder too.
    format
        table, csv, markdown or latex.
    export
        Write the maps to DIR/submissions as a benchmark wants them, checked by reading them back: middlebury-v3, kitti2015 or eth3d.
    plots
        Write the plots and tables of the script's 'report' to the folder again.
    """
    from stereo_framework.sweep import Store
    from stereo_framework.sweep.result import tidy
    from stereo_framework.tables import formats, means, results, summaries, tables
    from stereo_framework.tables.values import by_protocol, setting, sort_rows

    if format not in _FORMATS:
        raise ParameterError(
            f"--format: no format {format!r}; {nearest(format, _FORMATS, kind='formats')}"
        )
    if json and format != "table":
        raise ParameterError(f"one format at a time, not {format} and json")
    unused_options = {
        "--sort": sort is not None,
        "--columns": columns is not None,
        "--group-by": group_by is not None,
        "--format": format != "table",
        "--json": json,
    }
    if export is not None:
        _shared.refuse_without_effect(
            "with --export, which writes maps", unused_options | {"--plots": plots}
        )
    elif plots:
        _shared.refuse_without_effect(
            "with --plots, which writes what the script's report names", unused_options
        )
    elif group_by is None and (json or format == "csv"):
        reason = "with --json or --format csv, which hold all columns"
        _shared.refuse_without_effect(reason, {"--columns": columns is not None})
    names = _shared.names(columns)
    with Store(folder) as store:
        found, lacking = results.where(store.results(every=every), where or []), store.lacking()
    if export is not None:
        return _export(found, export, folder)
    if plots:
        from stereo_framework.page.report_files import reports_of, write_reports
        from stereo_framework.sweep.store import read_scripts

        written = write_reports(reports_of(found, read_scripts(folder).values()), folder)
        if not written:
            raise ParameterError(
                f"{folder}: no script there asks for plots; write them under 'report:' and run it again"
            )
        print("\n".join(map(_shared.as_typed, written)))
    elif group_by is not None:
        wanted = tables.shown_statistics(found, names)
        table = tables.sort_table(
            summaries.group(found, _shared.names(group_by), wanted), _shared.names(sort)
        )
        if json:
            _shared.print_json([dict(zip(table.header, row, strict=True)) for row in table.rows])
        elif format != "table":
            print(formats.to_text(table, format), end="")
        else:
            _shared.say(table.title)
            shown = table.rows_of(range(len(table.rows))[: limit or None])
            _shared.print_table(shown.header, shown.texts(), keys=table.keys, best=shown.best)
            _shared.say(*table.notes[:-1], _shared.protocol_summary(table.notes[-1], table.header))
            _shared.say_cut(len(shown.rows), len(table.rows), "rows", "--limit 0")
        if json or format == "csv":
            # These formats have no place for what must be known to read the numbers.
            print("\n".join(map(one_line, [table.title, *table.notes])), file=sys.stderr)
    else:
        found = results.ordered(found, _shared.names(sort))
        if json:
            _shared.print_json([r.record() for r in found])
        elif format == "csv":
            print(formats.csv_text(*tidy(found)), end="")
        elif format == "table":
            _shared.print_results(found, names, most=limit, sort=_shared.names(sort))
            print(f"{len(found)} result{'s' * (len(found) != 1)}")
        else:
            averages = sort_rows(means.average_rows(found), _shared.names(sort), setting)
            same = by_protocol([*found, *averages]).values()
            print(
                "\n".join(formats.to_text(tables.listing(one, names), format) for one in same),
                end="",
            )
    if lacking:
        print(lacking, file=sys.stderr)
    return 0


def _export(found: Sequence[Result], format: str, folder: Path) -> int:
    """Write maps as a benchmark wants them; returns the exit status."""
    from stereo_framework.io import output_folder
    from stereo_framework.sweep.benchmark_export import BENCHMARKS, export_maps
    from stereo_framework.tables.values import grouped
    from stereo_framework.tables.words import setting_name

    if format not in BENCHMARKS:
        raise ParameterError(f"--export {format}: no such benchmark; {nearest(format, BENCHMARKS)}")
    settings = grouped(found, setting_name)
    failed, owners = 0, dict[Path, str]()
    for name, own in settings.items():
        target = (
            folder / "submissions" / "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
        )
        try:
            if (first := owners.setdefault(target, name)) is not name:
                raise DataError(
                    f"{name}: its folder would be that of {first}, {target}; call one of them otherwise"
                )
            with output_folder(folder):
                told = export_maps(own, format, name, target)
        except DataError as error:
            _shared.tell("error", str(error))
            failed += 1
            continue
        _shared.tell("warning", *told)
        _shared.say(f"{name}: {target}; measure it with: evaluate {target} --scene {format}")
    return 2 if failed == len(settings) else 1 if failed else 0
