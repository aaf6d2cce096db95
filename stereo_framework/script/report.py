"""The key ``report`` of a script: plots and tables that are made of its results, and the names that results have."""

import contextvars
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from stereo_framework.core.errors import close_names, nearest
from stereo_framework.core.former_names import new_or_nearest, parameter_hint
from stereo_framework.core.parameters import Checked, Words, as_yaml
from stereo_framework.core.registration import names_of_confidence_maps, stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.evaluation._protocol import MASKS, REGIONS
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import GROUPS, METRICS, THRESHOLDED, metric_of, spelled_out
from stereo_framework.io import name_fault
from stereo_framework.io.locations import Faults, Node, from_python
from stereo_framework.kernels.progress import temporarily_set
from stereo_framework.script.reading import SEARCH, expect_mapping, is_number, read
from stereo_framework.script.specs import addresses_inner_stage, parameters, split

# --- the names of what was set, and of what was measured --------------------------------------------------------------

STATISTIC = "statistic"
"""The key that tells statistics apart where several are shown."""

_OF_METHODS = (*SLOTS, "auxiliary")
_HEADS = ("scene", "method", STATISTIC, "seed", "search", *_OF_METHODS)
_PLACES: Mapping[str, Sequence[str]] = {
    "region": tuple(dict.fromkeys((*REGIONS, *MASKS))),
    "frame": ("near", "middle", "match", "far"),
    "hci_coverage": tuple(name.removeprefix("hci_") for name in HCI_METRICS),
}
"""What the names of statistics end in, by what their metric is about or by its name; nothing where none stands here."""

ABOUT_RUNS = ("energy", "gap", "lower_bound", "seconds")


def key_fault(name: str) -> str | None:
    """Return the message about an unknown key of a setting, or None.

    Keys name the scene, the method, a slot, a parameter, the search range or the seed.

    Examples
    --------
    >>> key_fault("matching_cost.truncation") is None
    True
    >>> key_fault("search.stop")
    "no such key 'search.stop'; allowed keys: search.maximum, search.minimum, search.step, search.truth_margin; did you mean 'search.step'?"
    """
    home, head, _ = split(name)
    if home:
        heads, kind = _OF_METHODS, f"words after {home}"
    else:
        heads, kind = _HEADS, "first words"
    if head not in heads:
        remedy = new_or_nearest("script_keys", "script", head, heads, kind=kind)
        return f"no such key {name!r}; {remedy}"
    if head in SLOTS and addresses_inner_stage(head, split(name).rest):
        return None
    allowed = {home + key for key in _keys_under(head)}
    # Where several stages may stand one may stand twice; they are then told apart by their index.
    generic = re.sub(r"^(\w+)\.[0-9]+\.", r"\1.*.", name.removeprefix(home))
    ends = {
        re.sub(r"^(\w+)\.\w+\.", r"\1.*.", key) for key in _keys_under(head) if key.count(".") == 2
    }
    if name in allowed or (home + generic != name and generic in ends):
        return None
    remedy = _new_parameter_hint(head, name) or nearest(name, allowed, kind="keys")
    return f"no such key {name!r}; {remedy}"


def _new_parameter_hint(slot: str, address: str) -> str:
    """Return the clause that gives the new name of a former parameter of a slot's stages.

    Parameters
    ----------
    slot : str
        A slot, or another first word of an address.
    address : str
        ``SLOT.PARAMETER`` or ``SLOT.STAGE.PARAMETER``.
    """
    *_, stage_name, parameter = address.split(".")
    candidates = stages(slot) if slot in SLOTS else ()
    hints = [
        parameter_hint(stage.function, parameter)
        for stage in candidates
        if stage_name in (stage.name, slot)
    ]
    return next(filter(None, hints), "")


def _keys_under(head: str) -> set[str]:
    if head == "search":
        return {f"search.{key}" for key in SEARCH}
    if head == "auxiliary":
        return {head, f"{head}.use"}
    if head not in SLOTS:
        return {head}
    return {head, f"{head}.use", *parameters(head)}


def statistic_fault(name: str) -> str | None:
    """What is wrong with the name of something that was measured, or of a group of metrics.

    A protocol may name masks of its own, so a region is refused only where it resembles a known one.

    Examples
    --------
    >>> statistic_fault("bad_pixels_sky") is None
    True
    >>> statistic_fault("rms_error_nonoc").endswith("did you mean 'rms_error_nonocc'?")
    True
    """
    if name in (*ABOUT_RUNS, *GROUPS) or name.partition(".")[0] == "seconds":
        return None
    metric = metric_of(name)
    if metric is None:
        beginnings = [*METRICS, *ABOUT_RUNS, *GROUPS]
        kind = "statistics begin with"
        remedy = new_or_nearest("statistics", "metrics", name, beginnings, kind=kind)
        return f"no such statistic {name!r}; {remedy}"
    with_threshold = (
        re.match(r"((?:total_)?bad[0-9.e+-]+)_", name) if metric.name in THRESHOLDED else None
    )
    stem = with_threshold[1] if with_threshold else metric.name
    place = name[len(stem) + 1 :]
    places = _PLACES.get(metric.name, _PLACES.get(metric.about, ()))
    if metric.about == "confidence":
        places = names_of_confidence_maps()
    allowed = [f"{stem}_{one}" for one in places] or [stem]
    own_mask = metric.about == "region" and place and not close_names(place, places)
    return (
        None
        if name in allowed or own_mask
        else f"no such statistic {name!r}; {nearest(name, allowed, kind='statistics')}"
    )


# --- what may stand under the keys ------------------------------------------------------------------------------------


_STORED = contextvars.ContextVar("stored", default=False)
"""Whether the names were checked before, when plug-ins that they are of may have been there."""


def _name(fault: Callable[[str], str | None], example: str) -> Checked:
    """A check by a function that says what is wrong with a name; None: nothing is."""

    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise ValueError(f"{as_yaml(value)} is not a name, such as {example}")
        if not _STORED.get() and (wrong := fault(value)):
            raise ValueError(wrong)
        return value

    return Checked(check)


def _listed(value: Any) -> tuple[Any, ...]:
    if value == []:
        raise ValueError("an empty list; write a name, or leave the key out")
    return tuple(value) if isinstance(value, list) else (value,)


def _scalar(value: Any) -> Any:
    if isinstance(value, dict | list):
        raise ValueError(f"{as_yaml(value)} is not a value or a list of values")
    return value


def _text(value: Any) -> Any:
    if not isinstance(value, str) and not is_number(value):
        raise ValueError(f"{as_yaml(value)} is not a text")
    return str(value)


_SOME = Checked(_listed, lambda own: {"anyOf": [own["items"], own | {"minItems": 1}]})
Key = Annotated[str, _name(key_fault, "matching_cost.truncation")]
Statistic = Annotated[str, _name(statistic_fault, "bad_pixels_nonocc")]
Keys = Annotated[tuple[Key, ...], _SOME]
Statistics = Annotated[tuple[Statistic, ...], _SOME]
Values = Annotated[tuple[Annotated[Any, Checked(_scalar)], ...], Checked(_listed, lambda own: {})]
ResultKey = Annotated[
    str, _name(lambda name: None if name == "protocol" else key_fault(name), "scene")
]
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
    """The report of a script that was loaded before, as plain data, checked but for the names in it.

    Raises
    ------
    ScriptError
        All its faults.
    """
    faults = Faults()
    with temporarily_set(_STORED, True):
        found = parse_report(from_python(report, faults, "report"), faults)
    faults.raise_if_any()
    return found


def parse_report(node: Node, faults: Faults) -> Report:
    """Check the key ``report``. Where something is reported to `faults`, the result is not to be used."""
    given = expect_mapping(node, PARTS, faults)
    return Report(
        **{
            key: tuple(
                _part(kind, name, one, faults) for name, one in _named(given.get(key), faults)
            )
            for key, kind in PARTS.items()
        }
    )


def _named(node: Node | None, faults: Faults) -> Iterator[tuple[str, Node]]:
    """The entries of a mapping whose keys become names of files."""
    if node is None or node.value is None:
        return
    if not isinstance(node.value, dict):
        faults.add(
            node.location,
            f"{as_yaml(node.data())} is not a mapping of names, as in {{figure8: {{x: ..., y: ...}}}}",
        )
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
        faults.add(
            node.entries["panels"].location,
            f"{len(panels)} keys; panels have one key, or two: for rows and columns",
        )
    # Of several keys of x each result has one.
    used = [key for part in parts if part != "x" for key in found[part]] + list(
        dict.fromkeys(found.get("x", ()))
    )
    twice = [key for key in used if used.count(key) > 1]
    if twice:
        faults.add(node.location, f"{twice[0]!r} stands twice in {', '.join(parts)}")
    if len(found[values]) > 1 and STATISTIC not in used:
        found[parts[1]] = (*found[parts[1]], STATISTIC)
    units = dict.fromkeys(
        metric.unit if metric else "none" for metric in map(metric_of, found[values])
    )
    if kind is Plot and len(units) > 1 and STATISTIC not in found["panels"]:
        said = f"statistics in different units ({', '.join(units)}) cannot share an axis; write panels: {STATISTIC}"
        faults.add(node.entries[values].location, said)
    return kind(name, **found)


_LAYOUTS: Mapping[type, tuple[str, tuple[str, ...]]] = {
    Plot: ("y", ("x", "series", "panels")),
    PivotTable: ("value", ("rows", "columns")),
}
"""The key of the statistics, and those of the parts that other keys stand in."""
