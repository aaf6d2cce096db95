"""Plots and tables of results, as the key ``report`` of a script describes them.

A report refers to the values of a setting by keys, such as
``matching_cost.truncation``. It refers to measured values by the names of statistics,
such as ``bad_pixels_nonocc``. This module checks both.
"""

import contextvars
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from stereo_framework.core.errors import close_names, nearest
from stereo_framework.core.former_names import new_or_nearest, parameter_hint
from stereo_framework.core.parameters import Checked, Words, as_yaml
from stereo_framework.core.registration import names_of_confidence_maps, stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.evaluation._protocol import MASKS, REGIONS
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import (
    GROUPS,
    METRICS,
    THRESHOLDED,
    Metric,
    metric_of,
    spelled_out,
)
from stereo_framework.io import name_fault
from stereo_framework.io.document import Document, document_of
from stereo_framework.io.locations import Faults
from stereo_framework.kernels.progress import temporarily_set
from stereo_framework.script.addresses import addresses_inner_stage, parameters, split
from stereo_framework.script.keys import SEARCH, allowed_entries, is_number, read_mapping

# --- names of keys and statistics -----------------------------------------------------

STATISTIC = "statistic"
"""Key whose values are the names of statistics.

It distinguishes the statistics of a plot or a table that has several of them.
"""

_WORDS_OF_METHODS = (*SLOTS, "auxiliary")
"""First words of keys inside a method."""

_FIRST_WORDS = ("scene", "method", STATISTIC, "seed", "search", *_WORDS_OF_METHODS)
"""First words of keys."""

_ENDINGS: Mapping[str, Sequence[str]] = {
    "region": tuple(dict.fromkeys((*REGIONS, *MASKS))),
    "frame": ("near", "middle", "match", "far"),
    "hci_coverage": tuple(name.removeprefix("hci_") for name in HCI_METRICS),
}
"""Possible endings of the names of statistics.

The endings are listed by the object that the metric measures, or by the name of the
metric. The names of all other statistics have no ending.
"""

ABOUT_RUNS = ("energy", "gap", "lower_bound", "seconds")
"""Statistics that describe the computation, and not the errors of the disparity map."""


def key_fault(name: str) -> str | None:
    """Return the message about an unknown key of a setting, or None for a known key.

    Plots and tables select and sort results by such keys: ``scene``, ``method``,
    ``seed``, the address of a slot or of a parameter, or a key of the search range.

    Examples
    --------
    >>> key_fault("matching_cost.truncation") is None
    True
    >>> message = key_fault("search.stop")
    >>> message.startswith("there is no key 'search.stop'; allowed keys: ")
    True
    """
    home, word, rest = split(name)
    first_words = _WORDS_OF_METHODS if home else _FIRST_WORDS
    if word not in first_words:
        kind = f"words after {home}" if home else "first words"
        remedy = new_or_nearest("script_keys", "script", word, first_words, kind=kind)
        return f"there is no key {name!r}; {remedy}"
    if word in SLOTS and addresses_inner_stage(word, rest):
        return None
    keys = _keys_with_first_word(word)
    if name.removeprefix(home) in keys or _addresses_by_index(rest, keys):
        return None
    allowed_keys = [home + key for key in keys]
    remedy = _new_parameter_hint(word, rest) or nearest(name, allowed_keys, kind="keys")
    return f"there is no key {name!r}; {remedy}"


def _keys_with_first_word(word: str) -> set[str]:
    """Return the known keys with a first word, but no keys of inner stages."""
    if word == "search":
        return {f"search.{key}" for key in SEARCH}
    if word == "auxiliary":
        return {"auxiliary", "auxiliary.use"}
    if word in SLOTS:
        return {word, f"{word}.use", *parameters(word)}
    return {word}


def _addresses_by_index(rest: str, keys: Collection[str]) -> bool:
    """Return whether a key means a parameter of a stage by the index of the stage.

    A slot may contain a stage twice. The two stages then differ in their indices.

    Parameters
    ----------
    rest : str
        Part of the key after the slot, such as ``0.size``.
    keys : collection of str
        Keys of the slot, such as ``aggregation.box.size``.
    """
    index, _, parameter = rest.partition(".")
    if not re.fullmatch("[0-9]+", index):
        return False
    parts_of_keys = [key.split(".") for key in keys]
    return any(len(parts) == 3 and parts[2] == parameter for parts in parts_of_keys)


def _new_parameter_hint(slot: str, rest: str) -> str:
    """Return the clause that gives the new name of a former parameter of a stage.

    The clause is empty if the parameter was never renamed.

    Parameters
    ----------
    slot : str
        Slot, or another first word of a key.
    rest : str
        Part of the key after the slot: ``PARAMETER`` or ``STAGE.PARAMETER``.
    """
    *outer_names, parameter = rest.split(".")
    stage_name = outer_names[-1] if outer_names else slot
    candidates = stages(slot) if slot in SLOTS else ()
    for stage in candidates:
        if stage_name in (slot, stage.name):
            hint = parameter_hint(stage.function, parameter)
            if hint:
                return hint
    return ""


def statistic_fault(name: str) -> str | None:
    """Return the message about an unknown statistic, or None for a known statistic.

    The names of groups of metrics are known, too. A protocol may define masks with
    other names, so an unknown region is only refused if it resembles a known region.

    Examples
    --------
    >>> statistic_fault("bad_pixels_sky") is None
    True
    >>> statistic_fault("rms_error_nonoc").endswith("did you mean 'rms_error_nonocc'?")
    True
    """
    # An example of a name with a dot is seconds.matching_cost, the time of a stage.
    if name in (*ABOUT_RUNS, *GROUPS) or name.partition(".")[0] == "seconds":
        return None
    metric = metric_of(name)
    if metric is None:
        beginnings = [*METRICS, *ABOUT_RUNS, *GROUPS]
        kind = "statistics begin with"
        remedy = new_or_nearest("statistics", "metrics", name, beginnings, kind=kind)
        return f"there is no statistic {name!r}; {remedy}"

    beginning = _beginning(name, metric)
    endings = _endings(metric)
    allowed_names = [f"{beginning}_{ending}" for ending in endings] or [beginning]
    if name in allowed_names:
        return None
    region = name[len(beginning) + 1 :]
    if metric.about == "region" and region and not close_names(region, endings):
        return None
    return f"there is no statistic {name!r}; {nearest(name, allowed_names, kind='statistics')}"


def _beginning(name: str, metric: Metric) -> str:
    """Return the part of a name before the ending: ``bad_pixels`` or ``bad0.5``."""
    if metric.name in THRESHOLDED:
        with_threshold = re.match(r"((?:total_)?bad[0-9.e+-]+)_", name)
        if with_threshold:
            return with_threshold[1]
    return metric.name


def _endings(metric: Metric) -> Sequence[str]:
    """Return the possible endings of the statistics of a metric, such as ``nonocc``."""
    if metric.about == "confidence":
        return names_of_confidence_maps()
    if metric.name in _ENDINGS:
        return _ENDINGS[metric.name]
    return _ENDINGS.get(metric.about, ())


# --- types of the values --------------------------------------------------------------

_IS_STORED = contextvars.ContextVar("is_stored", default=False)
"""Whether the report comes from a stored script, whose names are not checked again.

The names were checked before the script was stored. They may belong to plug-ins that
are not registered now.
"""


def _name_check(fault_of_name: Callable[[str], str | None], example: str) -> Checked:
    """Return the check of a name.

    Parameters
    ----------
    fault_of_name : callable
        Function that takes a name. It returns a message, or None for an allowed name.
    example : str
        Example of a name, for the message about a value that is no text.
    """

    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise ValueError(f"{as_yaml(value)} is not a name; expected a name such as {example}")
        if _IS_STORED.get():
            return value
        message = fault_of_name(value)
        if message:
            raise ValueError(message)
        return value

    return Checked(check)


def _result_key_fault(name: str) -> str | None:
    """Return the message about an unknown key of a result, or None for a known key."""
    return None if name == "protocol" else key_fault(name)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """Return the items of a list, or a single value, as a tuple."""
    if value == []:
        raise ValueError("the list is empty; write a name, or leave the key out")
    return tuple(value) if isinstance(value, list) else (value,)


def _schema_of_list(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a single item or of a list that is not empty.

    Parameters
    ----------
    schema : dict
        JSON Schema of a list of items.
    """
    return {"anyOf": [schema["items"], schema | {"minItems": 1}]}


def _scalar(value: Any) -> Any:
    """Return a value that is neither a mapping nor a list."""
    if isinstance(value, dict | list):
        raise ValueError(f"{as_yaml(value)} is not a value or a list of values")
    return value


def _as_text(value: Any) -> str:
    """Return a text, or the text of a number."""
    if not isinstance(value, str) and not is_number(value):
        raise ValueError(f"{as_yaml(value)} is not a text")
    return str(value)


_ONE_OR_SEVERAL = Checked(_as_tuple, _schema_of_list)
_ANY_VALUES = Checked(_as_tuple, lambda schema: {})
_TEXT = Checked(_as_text, lambda schema: {"type": ["string", "number"]})

Key = Annotated[str, _name_check(key_fault, "matching_cost.truncation")]
Keys = Annotated[tuple[Key, ...], _ONE_OR_SEVERAL]
Statistic = Annotated[str, _name_check(statistic_fault, "bad_pixels_nonocc")]
Statistics = Annotated[tuple[Statistic, ...], _ONE_OR_SEVERAL]
ResultKey = Annotated[str, _name_check(_result_key_fault, "scene")]
Values = Annotated[tuple[Annotated[Any, Checked(_scalar)], ...], _ANY_VALUES]
Where = Annotated[Mapping[ResultKey, Values], Words("a mapping, as in {scene: [tsukuba, venus]}")]
Title = Annotated[str, _TEXT]
Labels = Annotated[Mapping[str, Title], Words("a mapping, as in {absolute_difference: AD}")]


# --- plots, tables and reports --------------------------------------------------------


@dataclass(frozen=True)
class Plot:
    """A plot of statistics. Results with equal x, series and panel are averaged.

    Parameters
    ----------
    name : str
        Name of the plot's files, without a suffix.
    x : tuple of str
        Keys of the horizontal axis. Several keys are for methods that have different
        keys. Each result uses the first key that it has.
    y : tuple of str
        Statistics on the vertical axis. Several statistics become series, unless x or
        panels contain the key ``statistic``.
    series : tuple of str
        Keys of the series. Each combination of their values becomes a curve.
    panels : tuple of str
        Keys of the panels. Each value becomes a panel. If there are two keys, each
        value of the first key becomes a row of panels, and each value of the second key
        becomes a column.
    where : mapping of str to tuple
        Values by key. The plot uses only results that have one of the values of each
        key.
    x_scale, y_scale : str
        Scale of the axis: ``linear`` or ``log``. The x axis also has the scale
        ``category``, which places all values at equal distances.
    spread : str
        Error bars, which show the spread of the averaged results: ``none``,
        ``deviation`` (standard deviation) or ``range`` (smallest to largest value).
    title : str
        Title of the plot.
    labels : mapping of str to str
        Texts that replace keys, values and pairs such as ``key=value`` in the plot.
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
    """A table of statistics. Results in the same row and column are averaged.

    Parameters
    ----------
    name : str
        Name of the table's files, without a suffix.
    rows : tuple of str
        Keys of the rows. Each combination of their values becomes a row.
    columns : tuple of str
        Keys of the columns. Each combination of their values becomes a column.
    value : tuple of str
        Statistics in the cells. Several statistics become columns, unless the rows
        contain the key ``statistic``.
    where : mapping of str to tuple
        Values by key. The table uses only results that have one of the values of each
        key.
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
    plots : tuple of Plot
        Plots by name. Their files are written to OUT/plots, as SVG and PNG.
    tables : tuple of PivotTable
        Pivot tables by name. Their files are written to OUT/tables, as CSV and
        Markdown.
    """

    plots: tuple[Plot, ...] = ()
    tables: tuple[PivotTable, ...] = ()


PARTS: Mapping[str, type] = {"plots": Plot, "tables": PivotTable}
"""Keys of a report, and the type of the entries below each key."""


@dataclass(frozen=True)
class _Layout:
    """Fields of a plot or of a table that contain statistics and keys.

    Parameters
    ----------
    statistics : str
        Name of the field with the statistics.
    key_groups : tuple of str
        Names of the fields with groups of keys, such as the rows of a table.
    """

    statistics: str
    key_groups: tuple[str, ...]


_LAYOUTS: Mapping[type, _Layout] = {
    Plot: _Layout("y", ("x", "series", "panels")),
    PivotTable: _Layout("value", ("rows", "columns")),
}


# --- reading a report -----------------------------------------------------------------


def read_report(report: Mapping[str, Any]) -> Report:
    """Return the report of a stored script, without a check of its names.

    Parameters
    ----------
    report : mapping
        Value of the key ``report`` as plain data, from a script that was loaded before.

    Raises
    ------
    ScriptError
        The report has faults.
    """
    faults = Faults()
    with temporarily_set(_IS_STORED, True):
        checked_report = parse_report(document_of(report, faults, "report"), faults)
    faults.raise_if_any()
    return checked_report


def parse_report(document: Document, faults: Faults) -> Report:
    """Check the key ``report`` of a script, and return its plots and tables.

    If a fault is reported, the result must not be used.
    """
    entries = allowed_entries(document, PARTS, faults)
    parts: dict[str, tuple[Any, ...]] = {}
    for key, kind in PARTS.items():
        if key in entries:
            parts_by_name = _entries_by_name(entries[key], faults)
            parts[key] = tuple(_part(kind, name, part, faults) for name, part in parts_by_name)
    return Report(**parts)


def _entries_by_name(document: Document, faults: Faults) -> Iterator[tuple[str, Document]]:
    """Yield the name and the content of each plot or table, and report wrong names.

    The names become names of files.
    """
    if document.data is None:
        return
    if not isinstance(document.data, dict):
        message = (
            f"{as_yaml(document.data)} is not a mapping of names, such as "
            "{figure8: {x: ..., y: ...}}"
        )
        faults.add(document.location, message)
    for name, part in document.entries().items():
        name_message = name_fault(name)
        if name_message:
            faults.add(part.location.key or document.location, name_message)
        yield name, part


def _part(kind: type, name: str, document: Document, faults: Faults) -> Any:
    """Return a plot or a table.

    If there are several statistics, the key `STATISTIC` distinguishes them. By default,
    it is added to the second group of keys.

    Parameters
    ----------
    kind : type
        `Plot` or `PivotTable`.
    name : str
    document : Document
    faults : Faults
    """
    layout = _LAYOUTS[kind]
    values: dict[str, Any] = dict.fromkeys((layout.statistics, *layout.key_groups), ())
    values |= read_mapping(kind, document, faults, without=("name",))
    statistics = spelled_out(values[layout.statistics])
    values[layout.statistics] = statistics

    used_keys = _used_keys(values, layout)
    _check_number_of_panels(values.get("panels", ()), document, faults)
    _check_repetitions(used_keys, layout, document, faults)
    if len(statistics) > 1 and STATISTIC not in used_keys:
        default_group = layout.key_groups[1]
        values[default_group] = (*values[default_group], STATISTIC)
    if kind is Plot and STATISTIC not in values["panels"]:
        _check_units(statistics, document.part(layout.statistics), faults)
    return kind(name, **values)


def _used_keys(values: Mapping[str, Sequence[str]], layout: _Layout) -> list[str]:
    """Return the keys in all groups. A key in two groups is returned twice."""
    used_keys: list[str] = []
    for group in layout.key_groups:
        if group != "x":
            used_keys += values[group]
    # Each result uses one of the keys of x, so x may contain a key twice.
    used_keys += dict.fromkeys(values.get("x", ()))
    return used_keys


def _check_number_of_panels(panel_keys: Sequence[str], document: Document, faults: Faults) -> None:
    """Report more than two keys of panels, which have only rows and columns."""
    if len(panel_keys) > 2:
        message = (
            f"panels have {len(panel_keys)} keys; expected one key, "
            "or two keys for rows and columns"
        )
        faults.add(document.part("panels").location, message)


def _check_repetitions(
    used_keys: Sequence[str], layout: _Layout, document: Document, faults: Faults
) -> None:
    """Report a key that occurs twice in a plot or a table."""
    repeated_keys = [key for key in used_keys if used_keys.count(key) > 1]
    if repeated_keys:
        message = f"{repeated_keys[0]!r} occurs twice in {', '.join(layout.key_groups)}"
        faults.add(document.location, message)


def _unit(statistic: str) -> str:
    """Return the unit of a statistic, or ``none`` if it belongs to no metric."""
    metric = metric_of(statistic)
    return metric.unit if metric else "none"


def _check_units(statistics: Sequence[str], document: Document, faults: Faults) -> None:
    """Report statistics in different units, which cannot share an axis."""
    units = dict.fromkeys(map(_unit, statistics))
    if len(units) > 1:
        message = (
            f"statistics in different units ({', '.join(units)}) cannot share an axis; "
            f"write panels: {STATISTIC}"
        )
        faults.add(document.location, message)
