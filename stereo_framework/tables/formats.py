"""Tables as CSV, Markdown and LaTeX; and results read from CSV files: those that ``results --format csv`` prints, and tables of scores from anywhere.

A file that is read has a row for each method and a column for each score, which may be named ``SCENE:METRIC``; or the columns ``method``, ``scene`` and one
for each statistic. An empty cell, ``-``, ``nan`` or null is a hole.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, escape_controls, short
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.io import read_bytes
from stereo_framework.io.numbers import parse_number
from stereo_framework.sweep.null_value import NULL
from stereo_framework.sweep.numbers import is_number
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.tables.tables import Table


def to_text(table: Table, format: str) -> str:
    """A table as a text.

    Parameters
    ----------
    table : Table
    format : str
        ``csv``: all digits, without title and notes; ``markdown`` or ``latex`` (booktabs): with the best values in bold.
    """
    if format == "csv":
        return csv_text(table.header, [_with_null_text(row, table.keys) for row in table.rows])
    return _markdown(table) if format == "markdown" else _latex(table)


def _with_null_text(row: Sequence[Any], keys: int) -> list[Any]:
    """Return a row in which settings that are null have a text, unlike empty cells."""
    return [NULL if item is None and column < keys else item for column, item in enumerate(row)]


def csv_text(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as CSV with all digits. The cells of None and `MISSING` are empty.

    Texts that a spreadsheet would take for formulas are changed, so that it computes
    none.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(_harmless, header))
    writer.writerows(map(_harmless, row) for row in rows)
    return buffer.getvalue()


def _harmless(cell: Any) -> Any:
    """Return a cell that neither a spreadsheet nor a terminal executes.

    A text that a spreadsheet would compute gets an apostrophe in front; numbers and a
    single "-" stay as they are. A carriage return, which the csv module does not quote
    and spreadsheets take for the end of a row, becomes the end of a line. Other control
    characters, which no name in a real table contains, are spelt out.
    """
    if not isinstance(cell, str):
        return cell
    cell = escape_controls(cell.replace("\r\n", "\n").replace("\r", "\n"))
    if len(cell) < 2 or cell[0] not in "=+-@\t\n":
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _markdown(table: Table) -> str:
    rows = _marked(table, _escaped_markdown, lambda text: f"**{text}**")
    lines = [
        list(map(_escaped_markdown, table.header)),
        ["---:" if r else "---" for r in _numeric(table)],
        *rows,
    ]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return (
        "\n\n".join(
            [
                *filter(None, [_escaped_markdown(table.title)]),
                text,
                *map(_escaped_markdown, table.notes),
            ]
        )
        + "\n"
    )


def _one_line(text: str) -> str:
    """A text that ends no row and no comment, whatever the names in it hold."""
    return escape_controls(" ".join(text.split()))


def _escaped_markdown(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\|*`<[" else c for c in _one_line(text))


def _latex(table: Table) -> str:
    rows = _marked(table, _escaped_latex, lambda text: rf"\textbf{{{text}}}")
    comments = [f"% {_one_line(line)}" for line in (table.title, *table.notes) if line]
    body = [
        r"\toprule",
        _latex_line(map(_escaped_latex, table.header)),
        r"\midrule",
        *map(_latex_line, rows),
        r"\bottomrule",
    ]
    columns = "".join("r" if r else "l" for r in _numeric(table))
    return (
        "\n".join(
            [
                *comments,
                r"% \usepackage{booktabs}",
                rf"\begin{{tabular}}{{{columns}}}",
                *body,
                r"\end{tabular}",
            ]
        )
        + "\n"
    )


def _latex_line(cells: Any) -> str:
    return " & ".join(cells) + r" \\"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def _escaped_latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in _one_line(text))


def _marked(
    table: Table, escape: Callable[[str], str], bold: Callable[[str], str]
) -> list[list[str]]:
    escaped = [[escape(text) for text in row] for row in table.texts()]
    return [
        [bold(text) if (i, j) in table.best else text for j, text in enumerate(row)]
        for i, row in enumerate(escaped)
    ]


def _numeric(table: Table) -> list[bool]:
    """Whether each column holds numbers, which are flushed right."""
    columns = zip(*table.rows, strict=True) if table.rows else [()] * len(table.header)
    return [
        any(map(is_number, c))
        and not any(isinstance(v, str) and v not in ("", "failed") for v in c)
        for c in columns
    ]


_HOLES = ("", "-", "nan", "null", "n/a")


def read_csv(path: Path) -> ResultSet:
    """Read the scores of a CSV file.

    Returns
    -------
    ResultSet
        A result for each method and scene. The name of the scene is empty if the file
        names no scene.

    Raises
    ------
    DataError
        The file is missing or is not a table.
    """
    header, rows = _read_table(path)
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    methods = columns["method"] if "method" in columns else columns[header[0]]
    scenes = columns.get("scene")
    # Scores of each row, by scene and metric.
    scores: list[dict[str, dict[str, float]]] = [{} for _ in methods]
    for name in header:
        is_description = name in ("scene", "protocol") or columns[name] is methods
        if is_description or (scenes and not metric_of(name)):
            continue
        head, colon, tail = name.partition(":")
        scene, metric = (head, tail) if colon and not scenes else ("", name)
        for i, number in enumerate(_numbers(path, name, columns[name], methods)):
            scores[i].setdefault(scenes[i] if scenes else scene, {})[metric] = number

    protocols = columns.get("protocol", [""] * len(methods))
    results: list[Result] = []
    for method, protocol, scores_of_scene in zip(methods, protocols, scores, strict=True):
        for scene, statistics in (scores_of_scene or {"": {}}).items():
            results.append(Result("", scene, method, {}, {}, protocol, statistics))
    return ResultSet(results)


def _read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Read the header and the rows of a CSV file, and refuse what is not a table."""
    try:
        text = read_bytes(path, limits.TABLE, allow_empty=True).decode("utf-8-sig")
        lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines()) if line]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: cannot be read: not UTF-8 text") from error
    except csv.Error as error:
        raise DataError(
            f"{path}: may be damaged or not a CSV file: {error}; write the table again, or name another file"
        ) from None
    header = lines[0] if lines else []
    if len(header) < 2 or len(lines) < 2:
        raise DataError(
            f"{path}: no table: expected a line of column names, then a line for each method"
        )
    for name, count in Counter(header).items():
        if count > 1:
            raise DataError(f"{path}: the column {short(name, 80)!r} occurs twice")
    for i, line in enumerate(lines):
        if len(line) != len(header):
            raise DataError(f"{path}: row {i} has {len(line)} cells, the header {len(header)}")
    return header, lines[1:]


def _numbers(path: Path, name: str, cells: Sequence[str], methods: Sequence[str]) -> list[float]:
    """The cells of a column as numbers; none of a column that holds text alone. In all others every cell must be a number or a hole."""
    numbers: list[float] = []
    faults = []
    for cell, method in zip(cells, methods, strict=True):
        try:
            numbers.append(math.nan if cell.lower() in _HOLES else parse_number(cell, finite=False))
        except ValueError:
            faults.append(f"{path}: {method}, column {name!r}: {cell!r} is not a number")
    if faults and not all(map(math.isnan, numbers)):
        raise DataError(faults[0])
    return [] if faults else numbers
