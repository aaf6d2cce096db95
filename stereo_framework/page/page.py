"""Self-contained HTML pages: what they hold, and how they are written.

A page is a list of sections, a section a list of blocks. Everything is inside the one file: it opens offline, on a phone, and with the
keyboard alone.
"""

from __future__ import annotations

import base64
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from stereo_framework import __version__
from stereo_framework.io import PathLike
from stereo_framework.tables.formats import write_text

if TYPE_CHECKING:
    import jinja2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Cell:
    """A table's cell.

    Parameters
    ----------
    text : str
        What is shown.
    value : float, optional
        What a column is sorted by, where it is a number.
    mark : str
        ``"best"``, ``"bad"`` or nothing.
    hint : str
        Told when the pointer rests on the cell, and to screen readers.
    """

    text: str
    value: float | None = None
    mark: Literal["", "best", "bad"] = ""
    hint: str = ""

    @classmethod
    def number(cls, value: float | None, form: str = ".2f", *, mark: Literal["", "best", "bad"] = "", hint: str = "") -> Cell:
        """A number as `format` writes it; a dash for None and NaN."""
        known = value is not None and not math.isnan(value)
        return cls(format(value, form), value, mark, hint) if known else cls("-", hint=hint)


@dataclass(frozen=True)
class PageTable:
    """A sortable table.

    Parameters
    ----------
    caption : str
    header : sequence of str
    rows : sequence of sequences of Cell
        As long as the header each.
    note : str
        Stands below.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    kind: ClassVar[str] = "table"


@dataclass(frozen=True)
class Picture:
    """A picture: SVG text or the bytes of a PNG file, what it shows for those who do not see it, and its caption."""

    content: str | bytes
    description: str
    caption: str = ""
    kind: ClassVar[str] = "figure"

    @property
    def source(self) -> str:
        """The picture as a data URI."""
        return _data_uri(self.content)


@dataclass(frozen=True)
class Charts:
    """Charts of the same scores that a browser draws, to change weights and choose methods in; without scripts their pictures stand.

    Parameters
    ----------
    data : mapping
        What they show, as plain data without NaN: what `choosing.choosing_blocks` makes and ``charts.js`` reads.
    pictures : mapping of str to Picture
        By the kind of chart.
    """

    data: Mapping[str, Any]
    pictures: Mapping[str, Picture]
    kind: ClassVar[str] = "charts"


@dataclass(frozen=True)
class Viewer:
    """Pictures of one size on top of each other, to zoom into and to blink between.

    Parameters
    ----------
    title : str
    layers : sequence of (str, bytes)
        What the button says, and a PNG file.
    note : str
    """

    title: str
    layers: Sequence[tuple[str, bytes]]
    note: str = ""
    kind: ClassVar[str] = "viewer"

    @property
    def sources(self) -> list[tuple[str, str]]:
        """Each layer's name and data URI."""
        return [(name, _data_uri(content)) for name, content in self.layers]


@dataclass(frozen=True)
class Statement:
    """A claim that was checked.

    Parameters
    ----------
    text : str
    holds : bool or None
        None = could not be checked.
    figures : str
        The numbers that decide.
    source : str
        Where it is said; empty for a check of our own.
    why : str
        What is known of why it does not hold.
    """

    text: str
    holds: bool | None
    figures: str
    source: str = ""
    why: str = ""
    kind: ClassVar[str] = "statement"


@dataclass(frozen=True)
class Details:
    """Text that opens on demand: parameters, protocols, environments."""

    summary: str
    text: str
    kind: ClassVar[str] = "details"


Block = Text | PageTable | Picture | Charts | Viewer | Statement | Details


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A page.

    Parameters
    ----------
    title : str
    lead : str
        The first paragraph: what this is.
    sections : sequence of Section
    """

    title: str
    lead: str = ""
    sections: Sequence[Section] = field(default_factory=tuple)

    def html(self) -> str:
        """The whole file. A picture that stands in it several times is stored once."""
        places: dict[str, int] = {}

        def place(source: str) -> tuple[int, bool]:
            """Number of a picture, and whether it is its first time."""
            first = source not in places
            return places.setdefault(source, len(places)), first

        return _environment().get_template("page.html").render(page=self, version=__version__, place=place)

    def has(self, kind: str) -> bool:
        """Whether some block is of this kind."""
        return any(block.kind == kind for section in self.sections for block in section.blocks)

    def write(self, path: PathLike) -> None:
        """Write the file; its folder is made.

        Raises
        ------
        DataError
            It cannot be written.
        """
        write_text(Path(path), self.html())


def mark_best(rows: Sequence[Sequence[Cell]], better: Sequence[str]) -> list[list[Cell]]:
    """The same rows with the best number of each column marked.

    Parameters
    ----------
    rows : sequence of sequences of Cell
    better : sequence of str
        Per column ``"lower"``, ``"higher"`` or ``""`` for columns without a best. A column of one number has none either.
    """
    marked = [list(row) for row in rows]
    for i, direction in enumerate(better):
        numbers = [value for row in rows if (value := row[i].value) is not None]
        if not direction or len(numbers) < 2:
            continue
        best = min(numbers) if direction == "lower" else max(numbers)
        for row in marked:
            if row[i].value == best:
                row[i] = replace(row[i], mark="best")
    return marked


def _data_uri(content: str | bytes) -> str:
    kind = "svg+xml" if isinstance(content, str) else "png"
    data = content.encode() if isinstance(content, str) else content
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    return jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
