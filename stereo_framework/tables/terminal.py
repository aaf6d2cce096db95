"""Tables as text: for a terminal, no wider than it is and without breaking numbers, and for a pipe, with tabs between the cells.

If a table is too wide, the first of these remedies that makes it fit is applied: neighbouring columns whose names begin alike share that beginning
(``bad_pixels_`` above ``nonocc`` and ``all``); names are broken into several lines; texts are wrapped; the columns are set below each other in blocks.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

_GAP = "  "
_FEW = 3
"""Up to so many results are shown side by side, with one statistic on each line."""

_NARROWEST = 12
"""Smallest width, in characters, of a column of texts as long as there is another way to make room."""

_WORDS = ("", "-", "none", "failed")
"""Texts that may occur in a column of numbers."""


@dataclass(frozen=True)
class _Column:
    """A column: the lines of its name, the lines of each cell, and the beginning of the name that it shares with its neighbours."""

    title: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    numeric: bool
    group: str = ""

    @property
    def room(self) -> int:
        """Characters that the widest cell takes."""
        return max(map(_width, itertools.chain(*self.cells)), default=0)

    @property
    def width(self) -> int:
        """Characters that the widest cell or line of the name takes."""
        return max(self.room, *map(_width, self.title), 0)


def tabbed(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table for programs: nothing is padded or left out. Runs of spaces and line ends within a cell become one space."""
    return ["\t".join(" ".join(cell.split()) for cell in row) for row in (header, *rows)]


def laid_out(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    keys: int = 0,
    upright: bool = False,
    best: Collection[tuple[int, int]] = (),
    bold: Callable[[str], str] = str,
) -> list[str]:
    """Lines of a table for people.

    Parameters
    ----------
    header : sequence of str
        May hold line ends.
    rows : sequence of sequence of str
    width : int
        Characters in a line. Only a number or a single word that is wider than this may exceed it.
    keys : int
        How many of the first columns distinguish the rows. A column that is the same in all rows is written once, above the table, and so is a folder
        in which all names of a column lie.
    upright : bool
        Show up to three rows as columns, with one statistic on each line.
    best : collection of (int, int)
        Row and column of cells to put through `bold`.
    bold : callable
    """
    said, shown = _said_once(header, rows, keys)
    kept = [i for i in range(len(header)) if i >= keys or shown[i] or not rows]
    cells = [[row[i] if i >= keys else shown[i][j] for i in kept] for j, row in enumerate(rows)]
    keys = sum(i < keys for i in kept)
    marked = {(j, kept.index(i)) for j, i in best if i in kept}
    names = [header[i] for i in kept]
    if upright and 0 < len(rows) <= _FEW and len(names) - keys > len(rows):
        heads = ["", *("\n".join(row[:keys]) for row in cells)]
        cells = [[name.replace("\n", " "), *(row[i + keys] for row in cells)] for i, name in enumerate(names[keys:])]
        names, keys, marked = heads, 1, {(i - keys, j + 1) for j, i in marked}
    columns = [
        _Column(tuple(name.split("\n")), tuple((row[i],) for row in cells), _is_numeric([row[i] for row in cells]))
        for i, name in enumerate(names)
    ]
    return [*(line for one in said for line in textwrap.wrap(one, width)), *_tables(columns, width, keys, marked, bold)]


def _said_once(header: Sequence[str], rows: Sequence[Sequence[str]], keys: int) -> tuple[list[str], list[list[str]]]:
    """The text above the table, and the remaining cells of the key columns. A column that is the same everywhere has none left."""
    said, shown = [], []
    for i in range(keys):
        column = [row[i] for row in rows]
        folders = {name.rpartition("/")[0] for name in column}
        if len(set(column)) == 1:
            said.append(f"{header[i]} {column[0]}")
            column = []
        elif len(folders) == 1 and "" not in folders:
            folder = folders.pop()
            said.append(f"{header[i]} {folder}/...")
            column = [name.removeprefix(f"{folder}/") for name in column]
        shown.append(column)
    return ["; ".join(said)] if said else [], shown


def _tables(
    columns: list[_Column], width: int, keys: int, marked: Collection[tuple[int, int]], bold: Callable[[str], str]
) -> list[str]:
    """The lines of the columns, in as many tables below each other as are needed."""
    grouped = _grouped(columns, keys)
    broken = [_broken(c) for c in grouped]
    for arranged in (columns, grouped, broken, _wrapped(broken, width, _NARROWEST)):
        if arranged is not None and _total(arranged) <= width:
            return _lines(arranged, marked, bold)
    first = max((_total([*broken[:keys], c]) for c in broken[keys:]), default=0)
    fixed = [c if c.numeric else _wrap(c, _NARROWEST) for c in broken[:keys]] if first > width else broken[:keys]
    lines: list[str] = []
    block: list[int] = []
    for part in _parts_of_blocks(fixed, broken, keys, width):
        if block and _total([*fixed, *(broken[k] for k in (*block, *part))]) > width:
            lines += [*_block(fixed, broken, block, width, marked, bold), ""]
            block = []
        block += part
    return lines + _block(fixed, broken, block, width, marked, bold)


def _parts_of_blocks(fixed: list[_Column], columns: list[_Column], keys: int, width: int) -> Iterator[list[int]]:
    """Columns that are kept together: those of a group, if they fit into one block."""
    for _, some in _spans(columns[keys:]):
        part = [keys + i for i in some]
        whole = _total([*fixed, *(columns[i] for i in part)]) <= width
        yield from [part] if whole else ([i] for i in part)


def _block(
    fixed: list[_Column],
    columns: list[_Column],
    block: list[int],
    width: int,
    marked: Collection[tuple[int, int]],
    bold: Callable[[str], str],
) -> list[str]:
    """The lines of some of the columns, beside those that distinguish the rows."""
    some = [*fixed, *(columns[i] for i in block)]
    places = [*range(len(fixed)), *block]
    here = {(j, places.index(i)) for j, i in marked if i in places}
    if _total(some) > width:
        some = [replace(c, title=(c.group + "".join(c.title),), group="") if c.group else c for c in some]
        some = _wrapped(some, width, 1) or some
    return _lines(some, here, bold)


def _grouped(columns: list[_Column], keys: int) -> list[_Column]:
    """The columns, with the beginnings that neighbours share taken out of their names."""
    found = list(columns[:keys])
    for _, some in itertools.groupby(columns[keys:], lambda c: _parts(c.title[0])[:1]):
        same = list(some)
        parts = [_parts(c.title[0]) for c in same]
        shared = sum(
            1 for _ in itertools.takewhile(lambda level: len(set(level)) == 1, zip(*(p[:-1] for p in parts), strict=False))
        )
        group = "".join(parts[0][:shared])
        if len(same) > 1 and group and all(len(c.title) == 1 for c in same):
            same = [replace(c, title=(c.title[0][len(group) :],), group=group) for c in same]
        found += same
    return found


def _parts(name: str) -> list[str]:
    """The parts of a statistic's or parameter's name, each with the separator that follows it."""
    return re.findall(r"[^_.:]*[_.:]|[^_.:]+$", name)


def _broken(column: _Column) -> _Column:
    """The column with its name broken after separators into as many lines as its width requires."""
    room = max(column.room, *(_width(piece) for line in column.title for piece in _pieces(line)), 1)
    return replace(column, title=tuple(piece for line in column.title for piece in _folded(line, room)))


def _wrapped(columns: list[_Column], width: int, narrowest: int) -> list[_Column] | None:
    """The columns with their texts wrapped, the widest first, until all fit; None if they cannot be made to fit.

    In a column of numbers only the name may become narrower, and only if texts may be one character wide.
    """
    widths = [c.width for c in columns]
    least = [
        (max(1, c.room) if narrowest == 1 else w) if c.numeric else min(w, narrowest)
        for c, w in zip(columns, widths, strict=True)
    ]
    room = width - len(_GAP) * (len(columns) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda i: widths[i] - least[i] and widths[i])
        widths[widest] -= 1
    return [c if c.width <= w else _wrap(c, w) for c, w in zip(columns, widths, strict=True)]


def _wrap(column: _Column, width: int) -> _Column:
    return replace(
        column,
        title=tuple(piece for line in column.title for piece in _folded(line, width)),
        cells=tuple(tuple(piece for line in cell for piece in _folded(line, width)) or ("",) for cell in column.cells),
    )


def _pieces(text: str) -> list[str]:
    """The pieces into which a word may be broken: after separators, but not within a number."""
    return re.findall(r".+?(?:(?<=[\s_/=,:;-])|(?<=[.])(?!\d)|$)", text)


def _folded(text: str, width: int) -> list[str]:
    """A text on lines of a given width, broken between words. A word that is too long is broken after separators or, if it has none, cut."""
    lines = [""]
    for word in re.findall(r"\S+\s*", text):
        for piece in [word] if _width(word.rstrip()) <= width else _pieces(word):
            if lines[-1] and _width((lines[-1] + piece).rstrip()) > width:
                lines.append("")
            lines[-1] += piece
            while _width(lines[-1].rstrip()) > width and not _is_number(lines[-1].strip()):
                cut = next(n for n in range(len(lines[-1]), 0, -1) if n == 1 or _width(lines[-1][:n]) <= width)
                lines[-1:] = [lines[-1][:cut], lines[-1][cut:]]
    return [line.strip() for line in lines if line.strip()]


def _lines(columns: list[_Column], marked: Collection[tuple[int, int]], bold: Callable[[str], str]) -> list[str]:
    """The lines of columns side by side."""
    widths = _widths(columns)
    head = _group_line(columns, widths)
    height = max((len(c.title) for c in columns), default=0)
    titles = [("",) * (height - len(c.title)) + c.title for c in columns]
    lines = [head] if head else []
    if any(any(title) for title in titles):
        lines += [_line(columns, widths, [title[k] for title in titles]) for k in range(height)]
        lines.append("─" * (sum(widths) + len(_GAP) * (len(columns) - 1)))
    for j in range(len(columns[0].cells) if columns else 0):
        for k in range(max(len(c.cells[j]) for c in columns)):
            texts = [c.cells[j][k] if k < len(c.cells[j]) else "" for c in columns]
            lines.append(_line(columns, widths, texts, [bold if (j, i) in marked else str for i in range(len(columns))]))
    return lines


def _line(
    columns: list[_Column], widths: list[int], texts: Sequence[str], styles: Sequence[Callable[[str], str]] | None = None
) -> str:
    found = []
    for i, (column, width, text) in enumerate(zip(columns, widths, texts, strict=True)):
        space = " " * (width - _width(text))
        shown = styles[i](text) if styles and text else text
        found.append(space + shown if column.numeric else shown + space)
    return _GAP.join(found).rstrip()


def _group_line(columns: list[_Column], widths: list[int]) -> str:
    """The line with the shared beginnings of names: each at the left end of its columns, with a rule to their right end."""
    parts = []
    for group, some in _spans(columns):
        span = sum(widths[i] for i in some) + len(_GAP) * (len(some) - 1)
        parts.append(f"{group} {'─' * (span - _width(group) - 1)}".rstrip().ljust(span) if group else " " * span)
    return _GAP.join(parts).rstrip()


def _spans(columns: list[_Column]) -> Iterator[tuple[str, list[int]]]:
    for (group, _), some in itertools.groupby(enumerate(columns), lambda item: (item[1].group, item[1].group or item[0])):
        yield group, [i for i, _ in some]


def _widths(columns: list[_Column]) -> list[int]:
    """The widths of columns. The last column of a group is widened if the name of the group needs it."""
    widths = [c.width for c in columns]
    for group, some in _spans(columns):
        short = _width(group) - sum(widths[i] for i in some) - len(_GAP) * (len(some) - 1)
        widths[some[-1]] += max(0, short)
    return widths


def _total(columns: list[_Column]) -> int:
    return sum(_widths(columns)) + len(_GAP) * (len(columns) - 1)


def _is_numeric(cells: Sequence[str]) -> bool:
    """Whether a column is flushed right and never wrapped."""
    return any(c.isdigit() for cell in cells for c in cell) and all(map(_is_number, cells))


def _is_number(text: str) -> bool:
    return text in _WORDS or not any(c.isalpha() or c in "/_" for c in text.replace("e-", "").replace("e+", ""))


def _width(text: str) -> int:
    """Number of character cells that a text takes in a terminal."""
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)


def protocol_line(text: str, width: int, how: str) -> str:
    """A protocol in one line: its name and as many of its choices as fit, without its measures, which the columns of the table show.

    Parameters
    ----------
    text : str
        The text of a `Protocol`, ``str(protocol)``.
    width : int
        Characters in the line. The first choice is always included.
    how : str
        How the user gets all choices.
    """
    name, _, choices = text.partition(": ")
    kept = [choice for choice in choices.split("; ") if not choice.startswith("measures ")]
    end = f" (all choices: {how})"
    line = f"{name}: {kept[0]}"
    for choice in kept[1:]:
        if _width(f"{line}; {choice}{end}") > width:
            break
        line += f"; {choice}"
    return line + end
