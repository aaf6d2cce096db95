"""Tables as text: for a terminal, no wider than it is and without breaking numbers, and for a pipe, with tabs between the cells.

If a table is too wide, the names of its columns are broken into several lines and texts are wrapped; columns for which there is still no room are set below
the others, in their order.
"""

from __future__ import annotations

import io
import os
import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from stereo_framework.core.errors import short
from stereo_framework.tables.words import short_names

if TYPE_CHECKING:
    from rich.text import Text

_GAP = 2
_FEW = 3
"""Up to so many results are shown side by side, with one statistic on each line."""

_NARROWEST = 12
"""Smallest width, in characters, of a column of texts as long as there is another way to make room."""

_DUMB_TERMINALS = ("dumb", "unknown")
"""Values of the variable TERM for terminals without escape sequences."""

_WORDS = ("", "-", "none", "failed")
"""Texts that may occur in a column of numbers."""


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
) -> str:
    """A table for people.

    Parameters
    ----------
    header : sequence of str
        The most important columns first.
    rows : sequence of sequence of str
    width : int
        Characters in a line. Only a number that is wider than this beside columns of one character may exceed it.
    keys : int
        How many of the first columns distinguish the rows. A column that is the same in all rows is written once, above the table, and so are the folders
        of names that remain different without them.
    upright : bool
        Show up to three rows as columns, with one statistic on each line.
    best : collection of (int, int)
        Row and column of cells that are printed in bold.
    """
    from rich.text import Text

    cells = [
        [Text(cell, "bold" if (j, i) in best else "") for i, cell in enumerate(row)]
        for j, row in enumerate(rows)
    ]
    said, kept = [], []
    for i, name in enumerate(header):
        texts = dict.fromkeys(row[i] for row in rows) if i < keys else {}
        if len(texts) == 1:
            said.append(f"{name} {rows[0][i]}")
            continue
        kept.append(i)
        short = short_names(texts)
        folders = dict.fromkeys(text.rpartition("/")[0] for text in texts if short[text] != text)
        if folders:
            said.append(f"{name} {', '.join(f'{folder}/...' for folder in folders)}")
            for row in cells:
                row[i] = Text(short[row[i].plain])
    names, cells = [header[i] for i in kept], [[row[i] for i in kept] for row in cells]
    keys = sum(i < keys for i in kept)
    if upright and 0 < len(rows) <= _FEW and len(names) - keys > len(rows):
        heads = ["", *("\n".join(cell.plain for cell in row[:keys]) for row in cells)]
        cells = [
            [Text(name), *(row[i] for row in cells)] for i, name in enumerate(names[keys:], keys)
        ]
        names, keys = heads, 1
    above = textwrap.fill("; ".join(said), width) + "\n" if said else ""
    return above + "\n\n".join(_text(*part, width) for part in _parts(names, cells, width, keys))


def _parts(
    names: list[str], cells: list[list[Text]], width: int, keys: int
) -> Iterable[tuple[list[str], list[list[Text]]]]:
    """The tables below each other, each with the columns that distinguish the rows."""
    if sum(_widths(names, cells, _NARROWEST)) > width:
        names = [
            _broken(name, room)
            for name, room in zip(names, _widths([""] * len(names), cells), strict=True)
        ]
    widths = _widths(names, cells, _NARROWEST)
    tables: list[list[int]] = [[]]
    for i, wide in enumerate(widths[keys:], keys):
        if tables[-1] and sum(widths[:keys]) + sum(widths[k] for k in tables[-1]) + wide > width:
            tables.append([])
        tables[-1].append(i)
    for some in ([*range(keys), *own] for own in tables):
        yield [names[i] for i in some], [[row[i] for i in some] for row in cells]


def _text(names: Sequence[str], cells: Sequence[Sequence[Text]], width: int) -> str:
    """The lines of a table, in which columns of texts are wrapped, and words that are longer than their column are broken after separators."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="",
        show_header=any(names),
    )
    height = max((name.count("\n") for name in names), default=0)
    wide, least = _widths(names, cells), _widths(names, cells, 1)
    sizes = range(width, _NARROWEST, -1)
    most = next(
        (
            n
            for n in sizes
            if sum(min(w, max(m, n)) for w, m in zip(wide, least, strict=True)) <= width
        ),
        _NARROWEST,
    )
    long_word = re.compile(rf"\S{{{most - _GAP + 1},}}")
    for i, name in enumerate(names):
        numeric = _is_numeric(row[i].plain for row in cells)
        title = Text("\n" * (height - name.count("\n")) + name)
        table.add_column(
            title, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold"
        )
    for row in cells:
        table.add_row(
            *(
                Text(
                    long_word.sub(lambda word: _broken(word[0], most - _GAP), cell.plain),
                    cell.style,
                )
                for cell in row
            )
        )
    # Rich would cut numbers for which there is no room.
    room = max(width, sum(_widths([""] * len(names), cells, 1)))
    # A dumb terminal would show the codes for bold letters as characters.
    color_system: Literal["standard"] | None = "standard"
    if os.environ.get("TERM", "").lower() in _DUMB_TERMINALS:
        color_system = None
    console = Console(
        file=io.StringIO(),
        width=room,
        # Without a height, rich would take 80 columns on a dumb terminal.
        height=len(cells),
        force_terminal=True,
        color_system=color_system,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _widths(
    names: Sequence[str], cells: Sequence[Sequence[Text]], most: int | None = None
) -> list[int]:
    """Characters that columns need, each with the gap before it; columns of texts at most so many, for they can be wrapped."""
    from rich.cells import cell_len

    found = []
    for i, name in enumerate(names):
        texts = [row[i].plain for row in cells]
        wide = max(map(cell_len, (*name.split("\n"), *texts)))
        found.append(
            _GAP * (i > 0) + (wide if most is None or _is_numeric(texts) else min(wide, most))
        )
    return found


def _broken(name: str, room: int) -> str:
    """A name on as many lines as `room` requires, broken after separators, but not within a number."""
    lines = [""]
    for piece in re.findall(r"(?:\d\.(?=\d)|[^\s_./:=])+[\s_./:=]*|^[\s_./:=]+", name):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > max(room, *map(len, lines)):
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _is_numeric(cells: Iterable[str]) -> bool:
    """Whether a column is flushed right and never wrapped."""
    texts = list(cells)
    return any(c.isdigit() for text in texts for c in text) and all(map(_is_number, texts))


def _is_number(text: str) -> bool:
    return text in _WORDS or not any(
        c.isalpha() or c in "/_" for c in text.replace("e-", "").replace("e+", "")
    )


COVERAGE_LEGEND = "fraction_matched (0 to 1) = share of the pixels with an estimate"
"""Explanation of a column whose values are no percentages."""


def protocol_line(text: str, width: int, how: str, legends: Sequence[str] = ()) -> str:
    """Return a protocol in one line: its name and as many of its choices as fit.

    The metrics are left out, because the columns of the table show them.

    Parameters
    ----------
    text : str
        The text of a `Protocol`, ``str(protocol)``.
    width : int
        Characters in the line. The first choice is always included.
    how : str
        Command or document that lists all choices.
    legends : sequence of str
        Explanations of columns, which follow the first choice.
    """
    name, _, choices = text.partition(": ")
    all_choices = choices.split("; ")
    kept = [choice for choice in all_choices if not choice.startswith("metrics ")]
    end = f" ({how} lists all choices)"
    # A stored protocol may hold its metrics alone, or a name and choices of any length.
    first, *further = kept or [""]
    beginning = f"protocol {short(name, 80)}: {short(first, 300)}"
    line = "; ".join([beginning, *legends])
    for choice in further:
        if len(f"{line}; {choice}{end}") > width:
            break
        line += f"; {choice}"
    return line + end
