"""The command ``results``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _shared
from stereo_framework.core.errors import DataError, ParameterError, nearest, one_line

if TYPE_CHECKING:
    from stereo_framework.sweep import ResultSet


def results(
    folders: list[Path],
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
    folders
        The --out folder of a run. What its last run asked for is shown, and maps that evaluate added.
        Of several folders, results that are in more than one are listed once.
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
    from stereo_framework.tables.results import where as select

    if len(folders) > 1:
        _refuse_several_folders({"--export": export is not None, "--plots": plots})
    _shared.check_format(format, json=json)
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
    options = _TableOptions(
        columns=_shared.names(columns),
        sort=_shared.names(sort),
        limit=limit,
        format="json" if json else format,
    )
    with _opened(folders, every=every) as (all_results, lacking):
        selected = select(all_results, where or [])
        if export is not None:
            return _export(selected, export, folders[0])
        if plots:
            _write_plots(selected, folders[0])
        elif group_by is not None:
            _print_groups(selected, _shared.names(group_by), options)
        else:
            _print_listing(selected, options)
    if lacking:
        print(lacking, file=sys.stderr)
    return 0


def _refuse_several_folders(options: Mapping[str, bool]) -> None:
    """Refuse options that write into the results folder if there are several folders.

    Parameters
    ----------
    options : mapping of str to bool
        Whether the user has written an option, by its name.
    """
    for option, is_written in options.items():
        if is_written:
            message = (
                f"{option}: writes into the results folder, so it needs exactly one folder; merge "
                "the folders with 'stereo-framework merge FOLDER FOLDER --out DIR' first"
            )
            raise ParameterError(message)


@contextlib.contextmanager
def _opened(folders: Sequence[Path], *, every: bool) -> Iterator[tuple[ResultSet, str]]:
    """Yield the results of all folders, and a message about missing results.

    The store of a single folder stays open during the ``with`` block, because only the
    results that are shown are read.

    Parameters
    ----------
    folders : sequence of Path
        Results folders.
    every : bool
        Whether to yield results of earlier scripts, too.
    """
    from stereo_framework.sweep import Store
    from stereo_framework.sweep.merging import combined_results

    if len(folders) == 1:
        with Store(folders[0]) as store:
            yield store.query(every=every), store.lacking()
        return
    combined = combined_results(folders, every=every)
    _shared.tell_some("warning", combined.warnings)
    yield combined.results, combined.missing_text


@dataclass(frozen=True)
class _TableOptions:
    """The options of a printed table.

    Parameters
    ----------
    columns, sort : sequence of str
        The names in --columns and in --sort.
    limit : int
        Maximum number of rows; 0: all.
    format : str
        The name of --format, or ``json``.
    """

    columns: Sequence[str]
    sort: Sequence[str]
    limit: int
    format: str


def _write_plots(results: ResultSet, folder: Path) -> None:
    """Write the plots and tables of the scripts in a folder, and print their names."""
    from stereo_framework.page.report_files import reports_of, write_reports
    from stereo_framework.sweep.store import read_scripts

    written = write_reports(reports_of(results, read_scripts(folder).values()), folder)
    if not written:
        message = (
            f"{folder}: no script there asks for plots; write them under 'report:' and run it again"
        )
        raise ParameterError(message)
    print("\n".join(map(_shared.as_typed, written)))


def _print_groups(results: ResultSet, keys: Sequence[str], options: _TableOptions) -> None:
    """Print the table of means that --group-by requests."""
    from stereo_framework.tables.formats import to_text
    from stereo_framework.tables.summaries import group
    from stereo_framework.tables.tables import shown_statistics, sort_table

    statistics = shown_statistics(results, options.columns)
    table = sort_table(group(results, keys, statistics), options.sort)
    if options.format == "json":
        records = [dict(zip(table.header, row, strict=True)) for row in table.rows]
        _shared.print_json(records)
    elif options.format != "table":
        print(to_text(table, options.format), end="")
    else:
        _shared.say(table.title)
        shown = table.rows_of(range(len(table.rows))[: options.limit or None])
        _shared.print_table(shown.header, shown.texts(), keys=table.keys, best=shown.best)
        *notes, protocol = table.notes
        _shared.say(*notes, _shared.protocol_summary(protocol, table.header))
        _shared.say_cut(len(shown.rows), len(table.rows), "rows", "--limit 0")
    if options.format in ("json", "csv"):
        # These formats have no place for the title and the notes.
        print("\n".join(map(one_line, [table.title, *table.notes])), file=sys.stderr)


def _print_listing(results: ResultSet, options: _TableOptions) -> None:
    """Print a row for each result."""
    from stereo_framework.tables.averages import average_rows
    from stereo_framework.tables.formats import csv_text, to_text
    from stereo_framework.tables.results import ordered
    from stereo_framework.tables.tables import listing

    results = ordered(results, options.sort)
    if options.format == "json":
        _shared.print_json([result.record() for result in results])
    elif options.format == "csv":
        print(csv_text(*results.tidy()), end="")
    elif options.format == "table":
        _shared.print_results(results, options.columns, most=options.limit, sort=options.sort)
        print("1 result" if len(results) == 1 else f"{len(results)} results")
    else:
        averages = average_rows(results).sorted_by(options.sort)
        tables_of_protocols = (results + averages).by("protocol_text").values()
        tables = [listing(rows, options.columns) for rows in tables_of_protocols]
        print("\n".join(to_text(table, options.format) for table in tables), end="")


def _export(results: ResultSet, format: str, folder: Path) -> int:
    """Write maps in the format of a benchmark, and return the exit status."""
    from stereo_framework.io import output_folder
    from stereo_framework.sweep.benchmark_export import BENCHMARKS, export_maps
    from stereo_framework.tables.grouping import group_items

    if format not in BENCHMARKS:
        raise ParameterError(f"--export {format}: no such benchmark; {nearest(format, BENCHMARKS)}")
    results_of_setting = group_items(results, lambda result: result.setting_name)
    failed = 0
    setting_of_folder: dict[Path, str] = {}
    for name, results_to_export in results_of_setting.items():
        target = folder / "submissions" / _folder_name(name)
        try:
            first = setting_of_folder.setdefault(target, name)
            if first is not name:
                message = (
                    f"{name}: its folder would be that of {first}, {target}; call one of them "
                    "otherwise"
                )
                raise DataError(message)
            with output_folder(folder):
                warnings = export_maps(results_to_export, format, name, target)
        except DataError as error:
            _shared.tell("error", str(error))
            failed += 1
            continue
        _shared.tell("warning", *warnings)
        _shared.say(f"{name}: {target}; measure it with: evaluate {target} --scene {format}")
    if failed == len(results_of_setting):
        return 2
    return 1 if failed else 0


def _folder_name(setting: str) -> str:
    """Return the name of the folder for the maps of a setting."""
    characters = [c if c.isalnum() or c in "-_" else "_" for c in setting]
    return "".join(characters)
