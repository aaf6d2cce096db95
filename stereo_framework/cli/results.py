"""The verb ``results``."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _options as opt
from stereo_framework.cli import _output
from stereo_framework.core.errors import ParameterError, nearest

if TYPE_CHECKING:
    from stereo_framework.sweep import Result
    from stereo_framework.tables.tables import Table

_FORMATS = ("table", "csv", "json", "markdown", "latex")
_SHORT = {"md": "markdown", "tex": "latex"}


def results(
    folder: Path,
    where: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None,
    sort: Annotated[str | None, typer.Option(metavar="[-]KEY")] = None,
    columns: str | None = None,
    group: Annotated[str | None, typer.Option(metavar="KEY")] = None,
    rows: Annotated[str | None, typer.Option(metavar="KEY")] = None,
    value: Annotated[str | None, typer.Option(metavar="STATISTIC")] = None,
    limit: Annotated[int, typer.Option(min=0)] = 200,
    every: Annotated[bool, typer.Option("--all")] = False,
    format: str | None = None,
    json: opt.Json = False,
    plots: bool = False,
    data: opt.Data = None,
) -> int:
    """List, filter, sum up and plot stored results.

    Example: stereo-framework results results/ssd --rows scene --columns aggregation.box.size --value bad_pixels_nonocc

    Parameters
    ----------
    folder
        The --out folder of a run.
    where
        Keep results with this scene, method, protocol, parameter or statistic; also != < <= > >= (in quotes); repeatable.
    sort
        Sort by statistics or parameters, smallest first; -KEY: largest first.
    columns
        Statistics, groups of them (hci) or parameters to show, separated by commas; of a pivot: what its columns are.
    group
        A row for each value of these keys, with means over all else.
    rows
        A pivot: what its rows are; needs --columns and --value.
    value
        A pivot: what its cells show, means over all else.
    limit
        Most rows of a printed table; 0: all. Formats for machines hold all rows.
    every
        Results of earlier scripts in this folder too.
    format
        table, csv, json, markdown (md) or latex (tex).
    plots
        Write the plots and tables of the script's 'report' to the folder again.
    """
    from stereo_framework.sweep import Store
    from stereo_framework.tables.results import ordered
    from stereo_framework.tables.results import where as chosen

    kind = format_of(format, json)
    with Store(folder) as store:
        found, lacking = chosen(store.results(every=every), where or []), store.lacking()
    if plots:
        if kind != "table" or sort or columns or group or rows or value:
            raise ParameterError("--plots goes with --where and --all only; what is drawn stands in the script's 'report'")
        _write_plots(found, folder)
    elif (table := _summary(found, group, rows, columns, value, sort)) is None:
        print_all(ordered(found, opt.names(sort)), opt.names(columns), kind, most=limit)
        if kind == "table" and not (cut := _cut(limit, [r.protocol_text for r in found])):
            print(f"{len(found)} results")
        elif kind == "table":
            print(cut)
    else:
        whole = kind != "table" or not limit
        _print_table(table if whole else table.rows_of(range(len(table.rows))[:limit]), kind, {r.protocol_text for r in found})
        if not whole and (cut := _cut(limit, [""] * len(table.rows))):
            print(cut)
    if lacking:
        print(lacking, file=sys.stderr)
    return 0


def _cut(limit: int, texts: Sequence[str]) -> str:
    """What is told of rows beyond a limit, given the protocol of each row; empty where there are none."""
    counts = {text: texts.count(text) for text in dict.fromkeys(texts)}
    which = [
        f"the first {limit} of {n} rows" + f" of {text.partition(':')[0]}" * (len(counts) > 1)
        for text, n in counts.items()
        if 0 < limit < n
    ]
    return f"{', '.join(which)}; --limit 0 shows all" if which else ""


def format_of(format: str | None, json: bool) -> str:
    """The format that results are to be printed in, by either of the options that may say so."""
    kind = _SHORT.get(format or "", format) or ("json" if json else "table")
    if json and kind != "json":
        raise ParameterError(f"one format at a time, not {kind} and json")
    if kind not in _FORMATS:
        raise ParameterError(f"--format: no format {kind!r}; {nearest(kind, _FORMATS, kind='formats')}")
    return kind


def _summary(
    found: Sequence[Result],
    group: str | None,
    rows: str | None,
    columns: str | None,
    value: str | None,
    sort: str | None,
) -> Table | None:
    """The group or pivot that is asked for; None for a plain list."""
    from stereo_framework.evaluation.metrics import spelled_out
    from stereo_framework.tables import summaries
    from stereo_framework.tables.tables import shown_statistics, sort_table

    names = opt.names
    if rows is not None or value is not None:
        if rows is None or columns is None or value is None or group:
            raise ParameterError("a pivot is --rows KEY --columns KEY --value STATISTIC, without --group")
        return sort_table(summaries.pivot(found, names(rows), names(columns), spelled_out(names(value))), names(sort))
    if group is None:
        return None
    return sort_table(summaries.group(found, names(group), shown_statistics(found, names(columns))), names(sort))


def print_all(
    found: Sequence[Result], columns: Sequence[str], kind: str, *, data: Path | None = None, most: int | None = None
) -> None:
    """Results: all they hold for machines; for people a table a protocol, of its first rows, with its average over the scenes."""
    from stereo_framework.tables.formats import to_text
    from stereo_framework.tables.means import average_rows
    from stereo_framework.tables.tables import listing, to_csv
    from stereo_framework.tables.values import by_protocol

    if kind == "csv":
        print(to_csv(found), end="")
    elif kind == "json":
        _output.print_json([r.record() for r in found])
    elif kind == "table":
        _output.print_results(found, columns, data=data, most=most)
    else:
        protocols = by_protocol([*found, *average_rows(found, data)]).values()
        print("\n".join(to_text(listing(same, columns), kind) for same in protocols), end="")


def _print_table(table: Table, kind: str, texts: Collection[str]) -> None:
    """A table that sums results up; `texts` are the protocols among its notes."""
    from stereo_framework.tables.formats import to_text

    if kind == "table":
        _output.say(table.title)
        _output.print_table(table.header, table.texts(), keys=table.keys, best=table.best)
        _output.say(*(_output.said_protocol(note) if note in texts else note for note in table.notes))
        return
    if kind == "json":
        _output.print_json([dict(zip(table.header, row, strict=True)) for row in table.rows])
    else:
        print(to_text(table, kind), end="")
    if kind in ("json", "csv"):
        # These formats have no place for what must be known to read the numbers.
        for line in (table.title, *table.notes):
            print(line, file=sys.stderr)


def _write_plots(found: Sequence[Result], folder: Path) -> None:
    from stereo_framework.page.report_files import write_reports
    from stereo_framework.sweep.store import read_scripts

    written = write_reports(found, list(read_scripts(folder).values()), folder)
    if not written:
        raise ParameterError(f"{folder}: no script there asks for plots; write them under 'report:' and run it again")
    for path in written:
        print(path)
