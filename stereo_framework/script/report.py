"""The key ``report`` of a script: plots and tables that are made of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from stereo_framework.core.parameters import Checked, Words, spelled
from stereo_framework.evaluation.metrics import metric_of, spelled_out
from stereo_framework.io import name_fault
from stereo_framework.io.places import Faults, Node, from_python
from stereo_framework.script.reading import expect_mapping, is_number, read
from stereo_framework.script.result_names import STATISTIC, key_fault, statistic_fault

# --- what may stand under the keys ------------------------------------------------------------------------------------


def _name(fault: Callable[[str], str | None], example: str) -> Checked:
    """A check by a function that says what is wrong with a name; None: nothing is."""

    def check(value: Any) -> Any:
        if wrong := fault(value) if isinstance(value, str) else f"{spelled(value)} is not a name, such as {example}":
            raise ValueError(wrong)
        return value

    return Checked(check)


def _listed(value: Any) -> tuple[Any, ...]:
    if value == []:
        raise ValueError("an empty list; write a name, or leave the key out")
    return tuple(value) if isinstance(value, list) else (value,)


def _scalar(value: Any) -> Any:
    if isinstance(value, dict | list):
        raise ValueError(f"{spelled(value)} is not a value or a list of values")
    return value


def _text(value: Any) -> Any:
    if not isinstance(value, str) and not is_number(value):
        raise ValueError(f"{spelled(value)} is not a text")
    return str(value)


_SOME = Checked(_listed, lambda own: {"anyOf": [own["items"], own | {"minItems": 1}]})
Key = Annotated[str, _name(key_fault, "matching_cost.truncation")]
Statistic = Annotated[str, _name(statistic_fault, "bad_pixels_nonocc")]
Keys = Annotated[tuple[Key, ...], _SOME]
Statistics = Annotated[tuple[Statistic, ...], _SOME]
Values = Annotated[tuple[Annotated[Any, Checked(_scalar)], ...], Checked(_listed, lambda own: {})]
ResultKey = Annotated[str, _name(lambda name: None if name == "protocol" else key_fault(name), "scene")]
Where = Annotated[Mapping[ResultKey, Values], Words("a mapping, as in {scene: [tsukuba, venus]}")]
Title = Annotated[str, Checked(_text, lambda own: {"type": ["string", "number"]})]
Labels = Annotated[Mapping[str, Title], Words("a mapping, as in {absolute_difference: AD}")]


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
    panels: Keys = ()
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
        if wrong := name_fault(name):
            faults.add(node.keys[name], wrong)
        yield name, one


def _part(kind: type, name: str, node: Node, faults: Faults) -> Any:
    """A plot or table. No key has two parts in it; several statistics are told apart, by default in the second of them."""
    values, parts = _LAYOUTS[kind]
    found = dict.fromkeys((values, *parts), ()) | read(kind, node, faults, without=("name",))
    found[values] = spelled_out(found[values])
    if len(panels := found.get("panels", ())) > 2:
        faults.add(node.entries["panels"].place, f"{len(panels)} keys; panels have one key, or two: for rows and columns")
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
