"""HTML pages: what they hold, and how they are written.

A page is a list of sections, a section a list of blocks. It opens offline, on a phone, and with the keyboard alone: its pictures lie in a folder beside
it, from which each is fetched when it comes into view, or all within it.
"""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup, escape

from stereo_framework import __version__
from stereo_framework.core.errors import escape_controls
from stereo_framework.figures._curves import Positions
from stereo_framework.figures.grid import LARGEST_ERROR, colour_table
from stereo_framework.io import PathLike, is_replaceable, output_folder, write_bytes
from stereo_framework.page.stored_pictures import Scenes, data_uri
from stereo_framework.tables.tables import Cell, Table

if TYPE_CHECKING:
    import jinja2


_MOST_KEYS = 2
"""So many columns that tell what a row is about stay in view."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A picture: SVG text or the bytes of a PNG file, what it shows for those who do not see it, its caption, and the name of a file that it is as well."""

    content: str | bytes
    description: str
    caption: str = ""
    name: str = ""

    @property
    def file(self) -> bytes:
        """As a file holds it."""
        return self.content.encode() if isinstance(self.content, str) else self.content


@dataclass(frozen=True)
class Curves:
    """Curves that the page draws, as wide as it is shown, each with a ring around its best point.

    Parameters
    ----------
    caption, x_label, y_label : str
    lines : mapping of str to sequence of (any, float)
        By name the points of a curve; null of the horizontal axis stands apart at its right end.
    better : str
        ``lower`` or ``higher``.
    """

    caption: str
    x_label: str
    y_label: str
    lines: Mapping[str, Sequence[tuple[Any, float]]]
    better: str

    def data(self) -> dict[str, Any]:
        """What the page's script must know, as plain data."""
        x = Positions(
            [value for points in self.lines.values() for value, _ in points], "linear", {}
        )
        lines = {
            name: sorted((x[value], y) for value, y in points)
            for name, points in self.lines.items()
        }
        axes = {"x": self.x_label, "y": self.y_label, "ticks": x.ticks, "ends": x.limits}
        return {**axes, "lines": list(lines.items()), "better": self.better}


@dataclass(frozen=True)
class Statement:
    """A sentence with its verdict.

    Parameters
    ----------
    text : str
    holds : bool or None
        None = no verdict.
    figures : str
        The numbers that decide; without a verdict, the reason.
    source : str
        Where it is said.
    asked : str
        Of what it was asked, such as "judged on our runs".
    notes : tuple of str
        The rule, what our own numbers say, an earlier rule and its verdict, why it does not hold.
    undecided : bool
        Whether there are numbers, but too few to decide; `holds` is None then.
    tested_parts : tuple of str
        Words of the text to which the verdict belongs; empty = all of them.
    """

    text: str
    holds: bool | None
    figures: str
    source: str = ""
    asked: str = ""
    notes: tuple[str, ...] = ()
    undecided: bool = False
    tested_parts: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.undecided:
            return "not decided"
        if self.holds is None:
            return "no verdict"
        return "holds" if self.holds else "does not hold"

    @property
    def html_text(self) -> Markup:
        """Return the text as HTML, with its tested parts marked."""
        html = str(escape(self.text))
        for part in self.tested_parts:
            escaped_part = str(escape(part))
            html = html.replace(escaped_part, f"<mark>{escaped_part}</mark>", 1)
        return Markup(html)


@dataclass(frozen=True)
class Details:
    """Text that opens on demand: parameters, protocols, environments."""

    summary: str
    text: str


@dataclass(frozen=True)
class Folded:
    """Blocks that open on demand."""

    summary: str
    blocks: Sequence[Block]


Block = Text | Table | Picture | Curves | Scenes | Statement | Details | Folded


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

    def write(self, path: PathLike, *, single_file: bool = False) -> None:
        """Write the page and, into the folder ``assets`` beside it, its pictures. What an earlier page of this name left there goes.

        Parameters
        ----------
        path : path-like
        single_file : bool
            Keep the pictures within the page, to send it to somebody.

        Raises
        ------
        DataError
            It cannot be written.
        """
        path = Path(path)
        pictures, folder = _Pictures(path.stem, single_file), path.parent / _ASSETS
        text = (
            _environment()
            .get_template("page.html")
            .render(
                page=self,
                version=__version__,
                pictures=pictures,
                table=_table_parts,
                scenes=functools.partial(_scenes_data, key=pictures.key),
                colours=lambda name: base64.b64encode(colour_table(name).tobytes()).decode(),
                largest_error=LARGEST_ERROR,
            )
        )
        with output_folder(path.parent):
            # The pictures first, so that a page always has all of its own.
            for name, content in pictures.files.items():
                write_bytes(folder / name, content)
            # A folder may have a name that is not UTF-8.
            write_bytes(path, text.encode(errors="backslashreplace"))
            earlier = re.compile(re.escape(path.stem) + r"-\d+\.(js|png|svg)")
            for old in [*folder.iterdir()] if folder.is_dir() else []:
                if (
                    earlier.fullmatch(old.name)
                    and old.name not in pictures.files
                    and is_replaceable(old)
                ):
                    old.unlink()


def _table_parts(table: Table) -> dict[str, Any]:
    """The classes of a table's headings, and its rows as a page holds them. A template takes several times as long."""
    cells, keys = table.cells(), min(table.keys, _MOST_KEYS)
    numeric = [any(row[j].value is not None for row in cells) for j in range(len(table.header))]
    heads = ["key" if j < keys else "number" * number for j, number in enumerate(numeric)]
    rows = ("".join([_cell(cell, j < keys) for j, cell in enumerate(row)]) for row in cells)
    return {"heads": heads, "body": Markup("\n".join(f"<tr>{row}</tr>" for row in rows))}


def _cell(cell: Cell, key: bool) -> str:
    """A cell as a page holds it; `key`: it tells what its row is about."""
    mark = cell.mark and ("best" if cell.mark == "best" else "bad")
    classes = " ".join(
        filter(
            None, ("key" * key, mark, "long" * (len(cell.text) > 40), "none" * (cell.text == "-"))
        )
    )
    told = (("data-value", cell.value), ("class", classes or None), ("title", cell.hint or None))
    attributes = "".join(
        [f' {name}="{escape(value)}"' for name, value in told if value is not None]
    )
    unseen = f'<span class="unseen"> ({escape(cell.mark)})</span>' if cell.mark else ""
    return escape_controls(f"<td{attributes}>{escape(cell.text)}{unseen}</td>")


def _scenes_data(scenes: Scenes, key: Callable[[bytes], str]) -> list[dict[str, Any]]:
    """What the viewer must know of scenes, row by row, as plain data; `key` says under which it finds a picture."""
    rows = []
    for row in scenes.rows:
        own = {name: getattr(row, name) for name in ("name", "note", "limits", "threshold")}
        own["width"], own["height"] = next(iter(row.pictures.values())).size
        cells = {
            n: {"name": n, "source": key(p.content), "caption": p.caption, **p.about}
            for n, p in row.pictures.items()
        }
        rows.append(own | {"cells": [cells.get(name) for name in scenes.columns]})
    return rows


_ASSETS = "assets"
"""The folder of a page's pictures."""


class _Pictures:
    """Pictures in files beside a page, or `inside` it. One that stands in it several times is stored once.

    A browser does not let a script read the pixels of a picture file beside a page that was opened from a disk. So what the script reads comes as a
    script.
    """

    def __init__(self, name: str, inside: bool) -> None:
        self._name, self._inside = name, inside
        self.files: dict[str, bytes] = {}
        self.texts: dict[str, str] = {}
        self._places: dict[bytes, str] = {}

    @property
    def scripts(self) -> bool:
        """Whether the page's script reads some."""
        return bool(self.texts) or any(name.endswith(".js") for name in self.files)

    def source(self, content: bytes) -> str:
        """What an ``img`` shows."""
        if self._inside:
            return data_uri(content)
        return self._stored(
            content, "png" if content.startswith(b"\x89PNG") else "svg", lambda place: content
        )

    def key(self, content: bytes) -> str:
        """Under which the page's script finds a picture."""
        if self._inside:
            return self.texts.setdefault(data_uri(content), f"picture-{len(self.texts)}")

        def script(place: str) -> bytes:
            return f"stored({json.dumps(place)}, {json.dumps(data_uri(content))});".encode()

        return self._stored(content, "js", script)

    def _stored(self, content: bytes, ending: str, file: Callable[[str], bytes]) -> str:
        """The place of a picture, beginning at the page; `file` makes the file of it."""
        if content not in self._places:
            name = f"{self._name}-{len(self.files)}.{ending}"
            place = self._places[content] = f"{_ASSETS}/{quote(name)}"
            self.files[name] = file(place)
        return self._places[content]


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    return jinja2.Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
    )


def _printable(value: Any) -> Any:
    """Return a text without control characters, which terminals execute that print a page."""
    # Markup has been made from such texts, or holds a picture of many megabytes.
    return escape_controls(value) if type(value) is str else value
