"""Published tables, as YAML files of facts."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    """

    source: str
    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Any]]
    ranks: Mapping[str, Mapping[str, int]]


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
    return PublishedTable(content["source"], tuple(columns), values, ranks)
