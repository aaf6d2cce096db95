"""The key ``report`` of a script: plots, tables and charts that are made of its results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stereo_framework.errors import close_names, nearest
from stereo_framework.evaluation.metrics import GROUPS, metric_of, spelled_out
from stereo_framework.parameters import spelled
from stereo_framework.script.document import expect_mapping, text
from stereo_framework.script.places import Faults, Node, from_python
from stereo_framework.script.result_names import STATISTIC, key_fault, statistic_fault
from stereo_framework.script.specs import is_number

SCALES = ("linear", "log", "category")
SPREADS = ("none", "deviation", "range")
CHARTS = ("stacked_bars", "radar", "parallel_coordinates", "correlation", "histogram")


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
        Statistics.
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
    x: tuple[str, ...]
    y: tuple[str, ...]
    series: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    x_scale: str = "linear"
    y_scale: str = "linear"
    spread: str = "none"
    title: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


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
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    value: tuple[str, ...]
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Chart:
    """Charts for choosing among methods by several measures.

    Parameters
    ----------
    name : str
        Beginning of the names of its files.
    kinds : tuple of str
        Of `CHARTS`.
    measures : tuple of str
        Statistics; groups are spelled out.
    where : mapping of str to tuple
        Only results that have one of these values.
    weights : mapping of str to float
        Of the stacked bars: >= 0 by statistic or group, 1 where nothing is given.
    method : str or None
        Whose scores the histograms mark, as the charts name it.
    title : str
    labels : mapping of str to str
        Other words for methods and measures.
    """

    name: str
    kinds: tuple[str, ...] = CHARTS
    measures: tuple[str, ...] = spelled_out(["hci"])
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    method: str | None = None
    title: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """What a script wants to see of its results."""

    plots: tuple[Plot, ...] = ()
    tables: tuple[PivotTable, ...] = ()
    charts: tuple[Chart, ...] = ()


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
    parser = _Parser(faults)
    given = expect_mapping(node, ("plots", "tables", "charts"), faults)
    return Report(
        tuple(parser.plot(name, one) for name, one in parser.named(given.get("plots"))),
        tuple(parser.table(name, one) for name, one in parser.named(given.get("tables"))),
        tuple(parser.chart(name, one) for name, one in parser.named(given.get("charts"))),
    )


def spelled_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights by statistic: that of a group is each of its statistics', unless one has its own.

    Examples
    --------
    >>> found = spelled_weights({"hci_offset": 3, "hci": 2})
    >>> found["hci_offset"], found["hci_fuzziness"], len(found)
    (3, 2, 9)
    """
    members = {name: spelled_out([name]) for name in weights}
    found = {one: weights[name] for name, ones in members.items() if name not in ones for one in ones}
    return found | {name: weights[name] for name, ones in members.items() if name in ones}


def _statistic_or_group_fault(name: str) -> str | None:
    if name in GROUPS:
        return None
    if metric_of(name) is None and close_names(name, GROUPS):
        return f"no such statistic or group {name!r}; {nearest(name, GROUPS, kind='groups')}"
    return statistic_fault(name)


class _Parser:
    def __init__(self, faults: Faults):
        self.faults = faults

    def named(self, node: Node | None) -> Iterator[tuple[str, Node]]:
        """The entries of a mapping whose keys become names of files."""
        if node is None or node.value is None:
            return
        if not isinstance(node.value, dict):
            self.faults.add(
                node.place, f"{spelled(node.data())} is not a mapping of names, as in {{figure8: {{x: ..., y: ...}}}}"
            )
        for name, one in node.entries.items():
            if not re.fullmatch(r"\w[\w.-]*", name):
                self.faults.add(node.keys[name], f"{name!r} cannot be the name of a file; legal: letters, digits and _ . -")
            yield name, one

    def plot(self, name: str, node: Node) -> Plot:
        found = self.entries(node, _PLOT, ("x", "y"))
        self.tell_apart(node, found, "y", ("x", "series", "panels"), "series")
        metrics = [metric_of(one) for one in found["y"]]
        units = dict.fromkeys(metric.unit if metric else "none" for metric in metrics)
        if len(units) > 1 and STATISTIC not in found.get("panels", ()):
            shown = ", ".join(units)
            self.faults.add(
                node.entries["y"].place,
                f"statistics in different units ({shown}) cannot share an axis; write panels: {STATISTIC}",
            )
        return Plot(name, **found)

    def table(self, name: str, node: Node) -> PivotTable:
        found = self.entries(node, _TABLE, ("rows", "columns", "value"))
        self.tell_apart(node, found, "value", ("rows", "columns"), "columns")
        return PivotTable(name, **found)

    def chart(self, name: str, node: Node) -> Chart:
        found = Chart(name, **self.entries(node, _CHART, ()))
        for key in found.weights:
            if not set(spelled_out([key])) & set(found.measures):
                at = node.entries["weights"].keys[key]
                self.faults.add(at, f"weight of {key!r}: not among the measures; {nearest(key, found.measures)}")
        given = spelled_weights(found.weights)
        if given and not any(given.get(measure, 1) for measure in found.measures):
            self.faults.add(node.entries["weights"].place, "all weights are 0: nothing decides; give one above 0")
        if found.method is not None and "histogram" not in found.kinds:
            self.faults.add(node.entries["method"].place, "histograms mark a method, and none is among the kinds")
        return found

    def entries(self, node: Node, checks: Mapping[str, Callable[[_Parser, Node], Any]], needed: Sequence[str]) -> dict[str, Any]:
        """The values of a plot, table or chart by key; those it needs are there in any case."""
        given = expect_mapping(node, checks, self.faults)
        missing = [key for key in needed if key not in given]
        if missing:
            self.faults.add(node.place, f"{' and '.join(missing)} missing; it needs {', '.join(needed)}")
        return dict.fromkeys(missing, ()) | {key: checks[key](self, value) for key, value in given.items()}

    def tell_apart(self, node: Node, found: dict[str, Any], values: str, parts: Sequence[str], default: str) -> None:
        """No key has two parts; several statistics are told apart, by default in the part that is named so."""
        used = [key for part in parts if part != "x" for key in found.get(part, ())] + list(dict.fromkeys(found.get("x", ())))
        twice = [key for key in used if used.count(key) > 1]
        if twice:
            self.faults.add(node.place, f"{twice[0]!r} stands twice in {', '.join(parts)}")
        if len(found[values]) > 1 and STATISTIC not in used:
            found[default] = (*found.get(default, ()), STATISTIC)

    # One check for each kind of value ---------------------------------------------------------------------------------

    def names(self, node: Node, fault: Callable[[str], str | None], example: str) -> tuple[str, ...]:
        """Names as one text or a list of texts."""
        if node.value == []:
            self.faults.add(node.place, f"an empty list; write a name, such as {example}")
        for item in node.items:
            if not isinstance(item.value, str):
                self.faults.add(item.place, f"{spelled(item.data())} is not a name, such as {example}")
            elif message := fault(item.value):
                self.faults.add(item.place, message)
        return tuple(item.value for item in node.items if isinstance(item.value, str))

    def keys(self, node: Node) -> tuple[str, ...]:
        return self.names(node, key_fault, "matching_cost.truncation")

    def statistics(self, node: Node) -> tuple[str, ...]:
        return spelled_out(self.names(node, _statistic_or_group_fault, "bad_pixels_nonocc"))

    def kinds(self, node: Node) -> tuple[str, ...]:
        def fault(name: str) -> str | None:
            return None if name in CHARTS else f"no such chart {name!r}; {nearest(name, CHARTS, kind='charts')}"

        return tuple(dict.fromkeys(self.names(node, fault, CHARTS[0])))

    def weights(self, node: Node) -> dict[str, float]:
        if not isinstance(node.value, dict):
            self.faults.add(node.place, f"{spelled(node.data())} is not a mapping, as in {{hci_fuzziness: 2}}")
        given = {key: value.data() for key, value in node.entries.items()}
        for key, weight in given.items():
            if not is_number(weight) or weight < 0:
                self.faults.add(node.entries[key].place, f"{spelled(weight)} is not a number >= 0")
        return {key: weight for key, weight in given.items() if is_number(weight)}

    def panels(self, node: Node) -> tuple[str, ...]:
        found = self.keys(node)
        if len(found) > 2:
            self.faults.add(node.place, f"{len(found)} keys; panels have one key, or two: for rows and columns")
        return found

    def where(self, node: Node) -> dict[str, tuple[Any, ...]]:
        if not isinstance(node.value, dict):
            self.faults.add(node.place, f"{spelled(node.data())} is not a mapping, as in {{scene: [tsukuba, venus]}}")
        for key, value in node.entries.items():
            if key != "protocol" and (message := key_fault(key)):
                self.faults.add(node.keys[key], message)
            for item in value.items:
                if isinstance(item.value, dict | list):
                    self.faults.add(item.place, f"{spelled(item.data())} is not a value or a list of values")
        return {key: tuple(item.data() for item in value.items) for key, value in node.entries.items()}

    def method(self, node: Node) -> str | None:
        return self.title(node) if node.value is not None else None

    def labels(self, node: Node) -> dict[str, str]:
        if not isinstance(node.value, dict):
            self.faults.add(node.place, f"{spelled(node.data())} is not a mapping, as in {{absolute_difference: AD}}")
        return {key: self.title(value) for key, value in node.entries.items()}

    def title(self, node: Node) -> str:
        if node.value == "" or is_number(node.value):
            return str(node.value if node.raw is None else node.raw)
        found = text(node)
        if found is None:
            self.faults.add(node.place, f"{spelled(node.data())} is not a text")
        return found or ""

    def one_of(self, legal: Sequence[str], node: Node) -> str:
        if node.value not in legal:
            self.faults.add(node.place, f"{spelled(node.data())} is not legal; {nearest(str(node.data()), legal)}")
        return str(node.value)


_PLOT: Mapping[str, Callable[[_Parser, Node], Any]] = {
    "x": _Parser.keys,
    "y": _Parser.statistics,
    "series": _Parser.keys,
    "panels": _Parser.panels,
    "where": _Parser.where,
    "x_scale": lambda parser, node: parser.one_of(SCALES, node),
    "y_scale": lambda parser, node: parser.one_of(SCALES[:2], node),
    "spread": lambda parser, node: parser.one_of(SPREADS, node),
    "title": _Parser.title,
    "labels": _Parser.labels,
}
_TABLE: Mapping[str, Callable[[_Parser, Node], Any]] = {
    "rows": _Parser.keys,
    "columns": _Parser.keys,
    "value": _Parser.statistics,
    "where": _Parser.where,
}
_CHART: Mapping[str, Callable[[_Parser, Node], Any]] = {
    "kinds": _Parser.kinds,
    "measures": _Parser.statistics,
    "where": _Parser.where,
    "weights": _Parser.weights,
    "method": _Parser.method,
    "title": _Parser.title,
    "labels": _Parser.labels,
}
