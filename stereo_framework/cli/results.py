"""The verb ``results``."""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _output
from stereo_framework.cli._export import export as write_submission
from stereo_framework.cli._options import Data, Json
from stereo_framework.core.errors import ParameterError, nearest

if TYPE_CHECKING:
    from stereo_framework.sweep import Result
    from stereo_framework.tables.tables import Table

_ENDINGS = {".txt": "table", ".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex", ".parquet": "parquet"}
_SHORT = {"md": "markdown", "tex": "latex"}


def results(
    folder: Path,
    where: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None,
    sort: Annotated[str | None, typer.Option(metavar="[-]KEY")] = None,
    columns: str | None = None,
    group: Annotated[str | None, typer.Option(metavar="KEY")] = None,
    rows: Annotated[str | None, typer.Option(metavar="KEY")] = None,
    value: Annotated[str | None, typer.Option(metavar="STATISTIC")] = None,
    best: Annotated[str | None, typer.Option(metavar="STATISTIC")] = None,
    top: Annotated[int | None, typer.Option(min=1)] = None,
    limit: Annotated[int, typer.Option(min=0)] = 200,
    page: Annotated[int, typer.Option(min=1)] = 1,
    every: Annotated[bool, typer.Option("--all")] = False,
    format: str | None = None,
    output: Path | None = None,
    csv: bool = False,
    json: Json = False,
    plots: bool = False,
    export: Annotated[str | None, typer.Option(metavar="BENCHMARK")] = None,
    method: list[str] | None = None,
    out: Path | None = None,
    data: Data = None,
) -> int:
    """List, filter, sum up, plot and export stored results.

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
    best
        The best settings of each scene and on the mean of all.
    top
        How many of the best to list; default 1.
    limit
        Most rows of a printed table; 0: all. Files and formats for machines hold all rows.
    page
        Which rows of a longer one: 2 shows the next --limit of them.
    every
        Results of earlier scripts in this folder too.
    format
        table, csv, json, markdown (md), latex (tex) or parquet; default: by --output's ending, else table.
    output
        Write to this file instead of printing.
    csv
        Short for --format csv: all parameters and statistics.
    export
        Write the maps as a benchmark wants them submitted, checked by reading them back: middlebury-v3, kitti2015 or eth3d.
    method
        With --export: only this method, or setting of one; repeatable. Default: all.
    out
        With --export: folder that gets one for each method; default: submissions in the results folder.
    plots
        Write the plots and tables of the script's 'report' to the folder again.
    """
    from stereo_framework.sweep import Store
    from stereo_framework.tables.results import ordered
    from stereo_framework.tables.results import where as chosen

    if export is not None:
        return write_submission(folder, export, method or [], out, data)
    if method or out is not None:
        raise ParameterError(f"{'--method' if method else '--out'} goes with --export")
    kind = format_of(format, output, csv, json)
    with Store(folder) as store:
        found, lacking = chosen(store.results(every=every), where or []), store.lacking()
    if plots:
        if kind != "table" or output or sort or columns or group or rows or value or best or top:
            raise ParameterError("--plots goes with --where and --all only; what is drawn stands in the script's 'report'")
        _write_plots(found, folder)
    else:
        table = _summary(found, group, rows, columns, value, best, top, sort)
        whole = kind != "table" or output is not None or not limit
        if whole and page > 1:
            raise ParameterError("--page: goes with printed tables and a --limit; files and formats for machines hold all rows")
        # Each protocol has a table of its own.
        counts = Counter(r.protocol_text for r in found) if table is None else {"": len(table.rows)}
        part, told = _page(page, 0 if whole else limit, counts)
        with _target(None if kind == "parquet" else output):
            if table is None:
                print_all(ordered(found, _names(sort)), _names(columns), kind, output, part=part)
                if kind == "table":
                    print(f"{len(found)} results")
            else:
                _print_table(table.rows_of(range(len(table.rows))[part]), kind, output, {r.protocol_text for r in found})
        if told:
            print(told)
        if output is not None:
            print(f"{len(found)} results in {output}")
    if lacking:
        print(lacking, file=sys.stderr)
    return 0


def _page(page: int, limit: int, counts: Mapping[str, int]) -> tuple[slice, str]:
    """The rows of a page of tables, and what is told of the others; all where there is no limit, or none is longer."""
    count = max(counts.values(), default=0)
    if not limit or (page == 1 and count <= limit):
        return slice(None), ""
    pages = max(1, -(-count // limit))
    if page > pages:
        raise ParameterError(f"--page {page}: there {'is 1 page' if pages == 1 else f'are {pages} pages'} of up to {limit} rows")
    first, last = (page - 1) * limit, page * limit
    # Those of fewer pages have no rows on this one.
    which = []
    for text, n in counts.items():
        if n > first:
            rows = f"the first {min(last, n)} of {n} rows" if page == 1 else f"rows {first + 1} to {min(last, n)} of {n}"
            which.append(rows + f" of {text.partition(':')[0]}" * (len(counts) > 1))
    more = f"--page {page + 1} shows the next, --limit 0 all" if page < pages else "--limit 0 shows all"
    return slice(first, last), f"{', '.join(which)}; {more}"


def format_of(format: str | None, output: Path | None, csv: bool, json: bool) -> str:
    """The format that results are to be written in, by any of the options that may say so."""
    format = _SHORT.get(format or "", format)
    asked = {name for name, given in (("csv", csv), ("json", json), (format or "", format)) if given}
    if len(asked) > 1:
        raise ParameterError(f"one format at a time, not {' and '.join(sorted(asked))}")
    kind = next(iter(asked), "table" if output is None else _ENDINGS.get(output.suffix.lower()))
    if kind is None:
        raise ParameterError(f"--output {output}: what format? Give --format, or a name that ends in {', '.join(_ENDINGS)}")
    if kind not in _ENDINGS.values():
        raise ParameterError(f"--format: no format {kind!r}; {nearest(kind, _ENDINGS.values(), kind='formats')}")
    if kind == "parquet" and output is None:
        raise ParameterError("--format parquet: needs --output FILE")
    return kind


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _summary(
    found: Sequence[Result],
    group: str | None,
    rows: str | None,
    columns: str | None,
    value: str | None,
    best: str | None,
    top: int | None,
    sort: str | None,
) -> Table | None:
    """The group, pivot or list of the best that is asked for; None for a plain list."""
    from stereo_framework.evaluation.metrics import spelled_out
    from stereo_framework.tables import summaries
    from stereo_framework.tables.tables import shown_statistics, sort_table

    if rows is not None or value is not None:
        if rows is None or columns is None or value is None or group or best or top:
            raise ParameterError("a pivot is --rows KEY --columns KEY --value STATISTIC, without --group, --best and --top")
        return sort_table(summaries.pivot(found, _names(rows), _names(columns), spelled_out(_names(value))), _names(sort))
    if best is not None:
        if group or columns or sort:
            raise ParameterError("--best goes without --group, --columns and --sort")
        return summaries.best(found, best, top or 1)
    if top is not None:
        raise ParameterError("--top: of what? Give --best STATISTIC too")
    if group is None:
        return None
    return sort_table(summaries.group(found, _names(group), shown_statistics(found, _names(columns))), _names(sort))


@contextlib.contextmanager
def _target(output: Path | None) -> Iterator[None]:
    """What is printed goes to the file, if there is one."""
    if output is None:
        yield
        return
    from stereo_framework.io import write_bytes

    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer):
        yield
    write_bytes(output, buffer.getvalue().encode())


def print_all(
    found: Sequence[Result],
    columns: Sequence[str],
    kind: str,
    output: Path | None = None,
    *,
    data: Path | None = None,
    part: slice = slice(None),
) -> None:
    """Results: all they hold for machines; for people a table a protocol, of a `part` of its rows, with its average over the scenes."""
    from stereo_framework.sweep.result import frame
    from stereo_framework.tables.average_rows import average_rows
    from stereo_framework.tables.formats import to_text, write_parquet
    from stereo_framework.tables.tables import listing, to_csv

    if kind == "parquet" and output is not None:
        write_parquet(output, frame(found))
    elif kind == "csv":
        print(to_csv(found), end="")
    elif kind == "json":
        _output.print_json([r.record() for r in found])
    elif kind == "table":
        _output.print_results(found, columns, data=data, part=part)
    else:
        protocols = dict.fromkeys(r.protocol_text for r in found)
        every = [*found, *average_rows(found, data)]
        tables = (listing([r for r in every if r.protocol_text == text], columns) for text in protocols)
        print("\n".join(to_text(table, kind) for table in tables), end="")


def _print_table(table: Table, kind: str, output: Path | None, texts: Collection[str]) -> None:
    """A table that sums results up; `texts` are the protocols among its notes."""
    from stereo_framework.sweep.result import as_frame
    from stereo_framework.tables.formats import to_text, write_parquet

    if kind in ("markdown", "latex"):
        print(to_text(table, kind), end="")
        return
    if kind == "table":
        _output.say(table.title)
        _output.print_table(table.header, table.texts(), keys=table.keys, best=table.best)
        _output.say(*(_output.said_protocol(note) if note in texts else note for note in table.notes))
        return
    if kind == "csv":
        print(to_text(table, kind), end="")
    elif kind == "json":
        _output.print_json([dict(zip(table.header, row, strict=True)) for row in table.rows])
    elif output is not None:
        write_parquet(output, as_frame(table.header, table.rows))
    # These formats have no place for what must be known to read the numbers.
    for line in (table.title, *table.notes):
        print(line, file=sys.stderr)


def _write_plots(found: Sequence[Result], folder: Path) -> None:
    from stereo_framework.page.report_files import write_reports
    from stereo_framework.sweep.runs import read_scripts

    written = write_reports(found, list(read_scripts(folder).values()), folder)
    if not written:
        raise ParameterError(f"{folder}: no script there asks for plots; write them under 'report:' and run it again")
    for path in written:
        print(path)
