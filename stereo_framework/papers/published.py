"""Published tables, as YAML files of facts."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase as fnmatch
from typing import Any

from pandas import DataFrame

from stereo_framework.core.shipped import shipped_yaml


@dataclass(frozen=True)
class PublishedTable:
    """Numbers as printed.

    Parameters
    ----------
    source : str
        Paper and table.
    columns : tuple of str
    rows : mapping of str to mapping of str to float
        By row label and column; a value that is not printed is absent.
    ranks : mapping, same form
        Printed ranks, if the table has them.
    tolerances : sequence of mapping
        How far ours may lie from it: the first whose patterns ``row`` and ``column`` fit a number tells ``within``, or ``below`` and ``above``, in its unit or
        as a ``share`` of it, and the ``reason``.
    """

    source: str
    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Any]]
    ranks: Mapping[str, Mapping[str, int]]
    tolerances: Sequence[Mapping[str, Any]] = ()

    @property
    def frame(self) -> DataFrame:
        """The numbers by row and column; NaN where none is printed."""
        return DataFrame.from_dict(self.rows, orient="index")[list(self.columns)]

    def limits(self, row: str, column: str) -> tuple[float | None, float | None, str]:
        """How far our number may lie below and above the printed one, and the reason."""
        fits = (r for r in self.tolerances if fnmatch(row, r.get("row", "*")) and fnmatch(column, r.get("column", "*")))
        rule = next(fits)
        below, above = (rule.get(side, rule.get("within")) for side in ("below", "above"))
        if rule.get("share"):
            # In whole units.
            below, above = (None if part is None else math.floor(part * self.rows[row][column]) for part in (below, above))
        return below, above, rule["reason"]


@functools.cache
def raw_table(paper: str, name: str) -> Mapping[str, Any]:
    """The unprocessed content of the file ``papers/PAPER/NAME.yaml``."""
    content: dict[str, Any] = shipped_yaml(f"papers/{paper}/{name}.yaml")
    return content


def published_table(paper: str, name: str) -> PublishedTable:
    """Read ``papers/PAPER/NAME.yaml``: ``source``, ``columns`` and ``rows``, a mapping of lists or a list of records."""
    content = raw_table(paper, name)
    columns, rows = content["columns"], content["rows"]
    if isinstance(rows, dict):
        rows = [{"algorithm": label, "values": values} for label, values in rows.items()]

    def by_column(record: dict[str, Any], key: str) -> dict[str, Any]:
        return {c: v for c, v in zip(columns, record.get(key) or [None] * len(columns), strict=True) if v is not None}

    # Two rows of the 2002 paper are called "Graph cuts": their numbers tell them apart.
    count = Counter(r["algorithm"] for r in rows)
    labels = [r["algorithm"] if count[r["algorithm"]] == 1 else f"{r['algorithm']} ({r['id']})" for r in rows]
    values, ranks = ({label: by_column(r, key) for label, r in zip(labels, rows, strict=True)} for key in ("values", "ranks"))
    return PublishedTable(content["source"], tuple(columns), values, ranks, content.get("tolerances", ()))
