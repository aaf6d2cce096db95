"""Published numbers beside ours: difference, tolerance and the reason for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stereo_framework.page.page import Cell, PageTable
from stereo_framework.papers.published import PublishedTable
from stereo_framework.tables.tables import Table


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
    def outside(self) -> bool:
        """Whether ours lies outside its tolerance; also False if there is nothing to judge, see `judged`."""
        if self.difference is None:
            return False
        low = -math.inf if self.below is None else -self.below
        high = math.inf if self.above is None else self.above
        # Printed numbers are decimal, ours binary.
        return not low - 1e-9 <= self.difference <= high + 1e-9

    @property
    def judged(self) -> bool:
        """Whether there is a published number, ours and a tolerance."""
        return self.difference is not None and not (self.below is None and self.above is None)

    @property
    def one_sided(self) -> bool:
        """Whether it is judged by a limit on one side alone: ours may lie as far as it will on the other."""
        return self.judged and (self.below is None) != (self.above is None)

    @property
    def near(self) -> bool:
        """Whether ours lies as near as the tolerance reaches, on whichever side; stricter than `outside` where one side is open."""
        widest = max(self.below or 0, self.above or 0)
        return self.difference is not None and abs(self.difference) <= widest + 1e-9

    @property
    def digits(self) -> int:
        """Digits after the point that the tolerance has; with fewer of them a table would contradict its verdict."""
        return max((len(f"{side:f}".rstrip("0").partition(".")[2]) for side in (self.below, self.above) if side), default=0)

    @property
    def tolerance(self) -> str:
        """The tolerance in words."""
        if self.below is None and self.above is None:
            return "not judged"
        if self.below is None:
            return "at most" if not self.above else f"at most +{self.above:g}"
        if self.above is None:
            return "at least" if not self.below else f"at least -{self.below:g}"
        return f"±{self.above:g}" if self.below == self.above else f"-{self.below:g} +{self.above:g}"


HEADER = ("row", "column", "published", "ours", "difference", "tolerance", "reason")


def comparison_table(caption: str, comparisons: Sequence[Comparison], digits: int = 2) -> PageTable:
    """All comparisons as a table that marks those outside their tolerance."""
    rows = []
    for c in comparisons:
        shown = max(digits, c.digits)
        numbers = [Cell.number(value, f".{shown}f") for value in (c.published, c.ours)]
        difference = Cell.number(c.difference, f"+.{shown}f", mark="outside its tolerance" if c.outside else "")
        rows.append([Cell(c.row), Cell(c.column), *numbers, difference, Cell(c.tolerance), Cell(c.reason)])
    return PageTable(caption, HEADER, rows, keys=2)


def exported(title: str, comparisons: Sequence[Comparison]) -> Table:
    """The same for CSV, Markdown and LaTeX files."""
    rows = tuple((c.row, c.column, c.published, c.ours, c.difference, c.tolerance, c.reason) for c in comparisons)
    return Table(HEADER, rows, 2, title)


def unjudged(
    published: PublishedTable,
    reason: str,
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
    found: Mapping[str, Mapping[str, float]] | None = None,
) -> list[Comparison]:
    """Printed numbers without a verdict, beside ours where there are any; default: the whole table."""
    return [
        Comparison(row, column, value, (found or {}).get(row, {}).get(column), None, None, reason)
        for row in rows or published.rows
        for column, value in published.rows[row].items()
        if not columns or column in columns
    ]


def as_printed(caption: str, published: PublishedTable, form: str = "g", note: str = "") -> PageTable:
    """A printed table as it is."""
    rows = [[Cell(row), *(Cell.number(values.get(c), form) for c in published.columns)] for row, values in published.rows.items()]
    return PageTable(caption, ["", *published.columns], rows, note)
