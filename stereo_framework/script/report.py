"""The key ``report`` of a script: plots and tables that are made of its results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from stereo_framework.core.errors import close_names, nearest, short
from stereo_framework.core.parameters import Checked, spelled
from stereo_framework.evaluation.metrics import GROUPS, METRICS, metric_of, spelled_out
from stereo_framework.io import name_fault
from stereo_framework.io.places import Faults, Node, from_python
from stereo_framework.script.reading import expect_mapping, is_number, must_be, read, without_fault
from stereo_framework.script.result_names import ABOUT_RUNS, STATISTIC, key_fault, key_schema, statistic_fault

FILE_NAME = r"^\w[\w.-]{0,99}$"
"""Names of plots and tables: they become those of files."""


# --- what may stand under the keys ------------------------------------------------------------------------------------


def _statistic_or_group_fault(name: str) -> str | None:
    if name in GROUPS:
        return None
    if metric_of(name) is None and close_names(name, GROUPS):
        return f"no such statistic or group {name!r}; {nearest(name, GROUPS, kind='groups')}"
    return statistic_fault(name)


def _name(fault: Callable[[str], str | None], example: str, schema: Callable[[dict[str, Any]], dict[str, Any]]) -> Checked:
    no_text = f"is not a name, such as {example}"
    return without_fault(lambda value: fault(value) if isinstance(value, str) else f"{spelled(value)} {no_text}", schema)


def _some(example: str) -> Checked:
    """One value or a list of them."""

    def check(value: Any) -> Any:
        if value == []:
            raise ValueError(f"an empty list; write a name, such as {example}")
        return _listed(value)

    return Checked(check, lambda own: {"anyOf": [own["items"], own | {"minItems": 1}]})


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def _mapping(example: str, **schema: Any) -> Checked:
    return must_be(f"a mapping, as in {example}", lambda value: isinstance(value, dict), lambda own: own | schema)


def _panels_fault(value: Any) -> str | None:
    many = isinstance(value, list) and len(value) > 2
    return f"{len(value)} keys; panels have one key, or two: for rows and columns" if many else None


def _words(value: Any) -> Any:
    if is_number(value):
        return str(value)
    if not isinstance(value, str) or value.isspace():
        raise ValueError(f"{spelled(value)} is not a text")
    return value


def _statistic_schema(own: dict[str, Any]) -> dict[str, Any]:
    names = rf"({'|'.join([*ABOUT_RUNS, *METRICS])})([._].*)?"
    return {"type": "string", "pattern": rf"^((total_)?bad[0-9].*|{names}|{'|'.join(GROUPS)})$"}


_WORDS = {"type": ["string", "number"]}

Keys = Annotated[
    tuple[Annotated[str, _name(key_fault, "matching_cost.truncation", lambda own: key_schema())], ...],
    _some("matching_cost.truncation"),
]
Panels = Annotated[
    Keys, without_fault(_panels_fault, lambda own: {"anyOf": [own["anyOf"][0], own["anyOf"][1] | {"maxItems": 2}]})
]
Statistics = Annotated[
    tuple[Annotated[str, _name(_statistic_or_group_fault, "bad_pixels_nonocc", _statistic_schema)], ...],
    _some("bad_pixels_nonocc"),
]
_Scalar = Annotated[Any, must_be("a value or a list of values", lambda value: not isinstance(value, dict | list))]
Where = Annotated[
    Mapping[
        Annotated[str, without_fault(lambda name: None if name == "protocol" else key_fault(name))],
        Annotated[tuple[_Scalar, ...], Checked(_listed, lambda own: {})],
    ],
    _mapping("{scene: [tsukuba, venus]}"),
]
Title = Annotated[str, Checked(_words, lambda own: _WORDS)]
Labels = Annotated[Mapping[str, Title], _mapping("{absolute_difference: AD}")]


@dataclass(frozen=True)
class Plot:
    """A plot of statistics against an axis; what is neither axis, series nor panel is averaged.

    Parameters
    ----------
    name : str
        Of its files.
    x : tuple of str
        What the horizontal axis shows; of several keys, for methods that have different ones, each result uses the first that it has.
    y : tuple of str
        Statistics; several become series.
    series : tuple of str
        A curve for each combination of their values.
    panels : tuple of str
        A panel for each value; of two keys the first makes rows and the second columns.
    where : mapping of str to tuple
        Only results that have one of these values.
    x_scale, y_scale : str
        ``linear``, ``log`` or, for x, ``category``: values side by side.
    spread : str
        Error bars over what is averaged: ``none``, ``deviation`` (standard deviation) or ``range`` (smallest to largest).
    title : str
    labels : mapping of str to str
        Other words for keys, values and ``key=value``.
    """

    name: str
    x: Keys
    y: Statistics
    series: Keys = ()
    panels: Panels = ()
    where: Where = field(default_factory=dict)
    x_scale: Literal["linear", "log", "category"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    spread: Literal["none", "deviation", "range"] = "none"
    title: Title = ""
    labels: Labels = field(default_factory=dict)


@dataclass(frozen=True)
class PivotTable:
    """A table of statistics; what stands neither in its rows nor in its columns is averaged.

    Parameters
    ----------
    name : str
        Of its files.
    rows, columns, value : tuple of str
        Keys, keys, and statistics.
    where : mapping of str to tuple
        Only results that have one of these values.
    """

    name: str
    rows: Keys
    columns: Keys
    value: Statistics
    where: Where = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """Plots and tables of the results.

    Parameters
    ----------
    plots : mapping
        Plots by name, written to OUT/plots as SVG and PNG.
    tables : mapping
        Pivot tables by name, written to OUT/tables as CSV and Markdown.
    """

    plots: tuple[Plot, ...] = ()
    tables: tuple[PivotTable, ...] = ()


PARTS: Mapping[str, type] = {"plots": Plot, "tables": PivotTable}


def read_report(report: Mapping[str, Any]) -> Report:
    """The report of a script, as plain data, checked.

    Raises
    ------
    ScriptError
        All its faults.
    """
    faults = Faults()
    found = parse_report(from_python(report, faults, "report"), faults)
    faults.raise_if_any()
    return found


def parse_report(node: Node, faults: Faults) -> Report:
    """Check the key ``report``. Where something is reported to `faults`, the result is not to be used."""
    given = expect_mapping(node, PARTS, faults)
    return Report(
        **{
            key: tuple(_part(kind, name, one, faults) for name, one in _named(given.get(key), faults))
            for key, kind in PARTS.items()
        }
    )


def _named(node: Node | None, faults: Faults) -> Iterator[tuple[str, Node]]:
    """The entries of a mapping whose keys become names of files."""
    if node is None or node.value is None:
        return
    if not isinstance(node.value, dict):
        faults.add(node.place, f"{spelled(node.data())} is not a mapping of names, as in {{figure8: {{x: ..., y: ...}}}}")
    for name, one in node.entries.items():
        if not re.fullmatch(FILE_NAME, name) or name_fault(name):
            said = f"{short(name, 80)!r} cannot be the name of a file"
            faults.add(node.keys[name], f"{said}; legal: up to 100 letters, digits and _ . -, 100 bytes in UTF-8")
        yield name, one


def _part(kind: type, name: str, node: Node, faults: Faults) -> Any:
    """A plot or table. No key has two parts in it; several statistics are told apart, by default in the second of them."""
    values, parts = _LAYOUTS[kind]
    found = dict.fromkeys((values, *parts), ()) | read(kind, node, faults, without=("name",))
    found[values] = spelled_out(found[values])
    # Of several keys of x each result has one.
    used = [key for part in parts if part != "x" for key in found[part]] + list(dict.fromkeys(found.get("x", ())))
    twice = [key for key in used if used.count(key) > 1]
    if twice:
        faults.add(node.place, f"{twice[0]!r} stands twice in {', '.join(parts)}")
    if len(found[values]) > 1 and STATISTIC not in used:
        found[parts[1]] = (*found[parts[1]], STATISTIC)
    units = dict.fromkeys(metric.unit if metric else "none" for metric in map(metric_of, found[values]))
    if kind is Plot and len(units) > 1 and STATISTIC not in found["panels"]:
        said = f"statistics in different units ({', '.join(units)}) cannot share an axis; write panels: {STATISTIC}"
        faults.add(node.entries[values].place, said)
    return kind(name, **found)


_LAYOUTS: Mapping[type, tuple[str, tuple[str, ...]]] = {
    Plot: ("y", ("x", "series", "panels")),
    PivotTable: ("value", ("rows", "columns")),
}
"""The key of the statistics, and those of the parts that other keys stand in."""
