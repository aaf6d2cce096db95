"""Published tables, as YAML files of facts, and their numbers beside ours: difference, tolerance and the reason for it."""

import functools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase as fnmatch
from typing import Any

from pandas import DataFrame

from stereo_framework.core.package_files import package_yaml
from stereo_framework.tables.tables import Cell, Table, best_places


@dataclass(frozen=True)
class PublishedTable:
    """Numbers as printed.

    Parameters
    ----------
    columns : tuple of str
    rows : mapping of str to mapping of str to float
        By row label and column; a value that is not printed is absent.
    tolerances : sequence of mapping
        How far ours may lie from it: the first whose patterns ``row`` and ``column`` fit a number tells ``within``, or ``below`` and ``above``, in its unit or
        as a ``share`` of it, and the ``reason``.
    """

    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Any]]
    tolerances: Sequence[Mapping[str, Any]] = ()

    @property
    def frame(self) -> DataFrame:
        """The numbers by row and column; NaN where none is printed."""
        return DataFrame.from_dict(self.rows, orient="index")[list(self.columns)]

    def limits(self, row: str, column: str) -> tuple[float | None, float | None, str]:
        """How far our number may lie below and above the printed one, and the reason."""
        fits = (
            r
            for r in self.tolerances
            if fnmatch(row, r.get("row", "*")) and fnmatch(column, r.get("column", "*"))
        )
        rule = next(fits)
        below, above = (rule.get(side, rule.get("within")) for side in ("below", "above"))
        if rule.get("share"):
            # In whole units.
            below, above = (
                None if part is None else math.floor(part * self.rows[row][column])
                for part in (below, above)
            )
        return below, above, rule["reason"]


@functools.cache
def raw_table(paper: str, name: str) -> Mapping[str, Any]:
    """The unprocessed content of the file ``papers/PAPER/NAME.yaml``."""
    content: dict[str, Any] = package_yaml(f"papers/{paper}/{name}.yaml")
    return content


def published_table(paper: str, name: str) -> PublishedTable:
    """Read ``papers/PAPER/NAME.yaml``: ``source``, ``columns``, and ``rows``, a list of values for each."""
    content = raw_table(paper, name)
    columns = content["columns"]
    rows = {
        label: {c: value for c, value in zip(columns, values, strict=True) if value is not None}
        for label, values in content["rows"].items()
    }
    return PublishedTable(tuple(columns), rows, content.get("tolerances", ()))


@dataclass(frozen=True)
class Comparison:
    """One published number and ours.

    Parameters
    ----------
    row, column : str
        Its place in the published table.
    published : float or None
        As printed; None where the paper prints none.
    ours : float or None
        None where it could not be computed.
    below, above : float or None
        How far our number may lie below and above the published one; None = not judged.
    reason : str
        The reason for this tolerance, or why the number is not judged; never empty.
    """

    row: str
    column: str
    published: float | None
    ours: float | None
    below: float | None
    above: float | None
    reason: str

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError(f"{self.row}, {self.column}: a tolerance needs its reason")

    @property
    def difference(self) -> float | None:
        """Ours minus published."""
        return None if self.ours is None or self.published is None else self.ours - self.published

    @property
    def is_outside_tolerance(self) -> bool:
        """Whether ours lies outside its tolerance; also False if there is nothing to judge, see `judged`."""
        if self.difference is None:
            return False
        low = -math.inf if self.below is None else -self.below
        high = math.inf if self.above is None else self.above
        # Printed numbers are decimal, ours binary.
        return not low - 1e-9 <= self.difference <= high + 1e-9

    @property
    def judged(self) -> bool:
        """Return whether there are a published number, our number and a tolerance."""
        return self.difference is not None and not (self.below is None and self.above is None)

    @property
    def one_sided(self) -> bool:
        """Whether it is judged by a limit on one side alone: ours may lie as far as it will on the other."""
        return self.judged and (self.below is None) != (self.above is None)

    @property
    def near(self) -> bool:
        """Return whether the difference is at most the larger of both sides' tolerances.

        If one side has no limit, this is stricter than `is_outside_tolerance`.
        """
        widest = max(self.below or 0, self.above or 0)
        return self.difference is not None and abs(self.difference) <= widest + 1e-9

    @property
    def digits(self) -> int:
        """Digits after the point with which it is shown: with fewer of them than the tolerance has a table would contradict its verdict."""
        sides = (
            f"{side:f}".rstrip("0") for side in (self.below, self.above, self.published) if side
        )
        return max([2, *(len(side.partition(".")[2]) for side in sides)])

    @property
    def tolerance(self) -> str:
        """The tolerance in words."""
        if self.below is None and self.above is None:
            return "not judged"
        if self.below is None:
            return "at most" if not self.above else f"at most +{self.above:g}"
        if self.above is None:
            return "at least" if not self.below else f"at least -{self.below:g}"
        return (
            f"±{self.above:g}" if self.below == self.above else f"-{self.below:g} +{self.above:g}"
        )


HEADER = ("row", "column", "published", "ours", "difference", "tolerance", "reason")


def comparison_table(caption: str, comparisons: Sequence[Comparison]) -> Table:
    """All comparisons as a table that marks those outside their tolerance."""
    rows = []
    for c in comparisons:
        numbers = [Cell.number(value, f".{c.digits}f") for value in (c.published, c.ours)]
        difference = Cell.number(
            c.difference,
            f"+.{c.digits}f",
            mark="outside its tolerance" if c.is_outside_tolerance else "",
        )
        rows.append(
            [Cell(c.row), Cell(c.column), *numbers, difference, Cell(c.tolerance), Cell(c.reason)]
        )
    return Table(HEADER, rows, 2, caption)


def compared(
    published: PublishedTable,
    found: Mapping[str, Mapping[str, float]],
    why_not: str | Callable[[str, str], str] = "",
    *,
    columns: Collection[str] = (),
    rows: Collection[str] | None = None,
) -> list[Comparison]:
    """Printed numbers and ours, within the tolerances that stand beside the printed ones.

    Parameters
    ----------
    published : PublishedTable
    found : mapping of str to mapping of str to float
        By row and column.
    why_not : str or callable
        Why none is judged; or what takes row and column and tells it.
    columns, rows : collection of str
        Only these; default: all that are printed.
    """
    cells = [
        (r, c)
        for r in (published.rows if rows is None else rows)
        for c in published.rows[r]
        if not columns or c in columns
    ]

    def limits(row: str, column: str) -> tuple[float | None, float | None, str]:
        reason = why_not if isinstance(why_not, str) else why_not(row, column)
        return (None, None, reason) if reason else published.limits(row, column)

    return [
        Comparison(r, c, published.rows[r][c], found.get(r, {}).get(c), *limits(r, c))
        for r, c in cells
    ]


def plain_table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    forms: str | Sequence[str] = ".2f",
    note: str = "",
    *,
    keys: int = 1,
    lower: Collection[str] = (),
) -> Table:
    """A table for the page of texts, numbers and cells; a dash stands for None and NaN.

    Parameters
    ----------
    caption, note : str
    header : sequence of str
    rows : iterable of sequences
    forms : str or sequence of str
        How numbers are written, all of them or column by column.
    keys : int
        How many of the first columns tell what a row is about.
    lower : collection of str
        Columns whose lowest number is marked.
    """
    by_column = [forms] * len(header) if isinstance(forms, str) else forms
    cells = [
        [_cell(value, form) for value, form in zip(row, by_column, strict=True)] for row in rows
    ]
    for j in (j for j, name in enumerate(header) if name in lower):
        for i in best_places([row[j].value for row in cells], "lower", [range(len(cells))]):
            cells[i][j] = cells[i][j]._replace(mark="best")
    return Table(header, cells, keys, caption, [note] * bool(note))


def _cell(value: Any, form: str) -> Cell:
    return (
        value
        if isinstance(value, Cell)
        else Cell(value)
        if isinstance(value, str)
        else Cell.number(value, form)
    )


def as_printed(caption: str, published: PublishedTable, form: str = "g", note: str = "") -> Table:
    """A printed table as it is."""
    rows = [[row, *map(values.get, published.columns)] for row, values in published.rows.items()]
    return plain_table(caption, ["", *published.columns], rows, form, note)
