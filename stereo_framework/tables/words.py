"""Keys, values and units in words, for headers, legends and axes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.script.addresses import split
from stereo_framework.script.report import STATISTIC
from stereo_framework.sweep import Result
from stereo_framework.tables.values import NOT_APPLICABLE, all_names, word

_NOTHING: Mapping[str, str] = {}


def part(key: str, item: Any, labels: Mapping[str, str] = _NOTHING) -> str:
    """The value of a key in a list of several: a text stands alone, a number is written ``truncation=5``. Empty if the key does not apply.

    Examples
    --------
    >>> part("matching_cost.birchfield_tomasi", True), part("matching_cost", "absolute_difference", {"absolute_difference": "AD"})
    ('birchfield_tomasi=true', 'AD')
    """
    if item == NOT_APPLICABLE:
        return ""
    if isinstance(item, str):
        return labels.get(word(item), word(item))
    text = f"{key.rpartition('.')[2]}={word(item)}"
    return labels.get(text, text)


def caption(
    keys: Sequence[str], values: Sequence[Any], labels: Mapping[str, str] = _NOTHING
) -> str:
    """The values of several keys in words; the value of a single key stands alone."""
    if len(keys) == 1:
        own = labels.get(part(keys[0], values[0]))
        return labels.get(word(values[0]), word(values[0])) if own is None else own
    return ", ".join(filter(None, (part(k, v, labels) for k, v in zip(keys, values, strict=True))))


def setting_name(result: Result) -> str:
    """A method with the settings that were swept: ``window (aggregation.box.size=9)``."""
    return name_of(result.method, result.axes)


def name_of(method: str, axes: Mapping[str, Any]) -> str:
    """A method with the values of its axes in brackets."""
    settings = ", ".join([f"{k}={word(v)}" for k, v in axes.items()])
    return f"{method} ({settings})" if settings else method


def setting_names(results: Sequence[Result]) -> list[str]:
    """A short name for the setting of each result, such as ``ssd, size=9``: the method, if there are several, and the axes that vary.

    If that does not distinguish the settings, or two axes have the same last name, the names are those of `setting_name`.
    """
    full = [setting_name(r) for r in results]
    # Of thousands of results few are of other settings.
    different = dict(zip(full, results, strict=True))
    settings = different.values()
    axes = all_names(r.axes for r in settings)
    parts = {
        name: [part(name, r.axes.get(name, NOT_APPLICABLE)) for r in settings] for name in axes
    }
    varying = [name for name, own in parts.items() if len(set(own)) > 1]
    several = len({r.method for r in settings}) > 1 or not varying
    heads = [r.method * several for r in settings]
    short = [
        ", ".join(filter(None, told))
        for told in zip(heads, *map(parts.__getitem__, varying), strict=True)
    ]
    alike = len({name.rpartition(".")[2] for name in varying}) < len(varying)
    names = dict(zip(different, short, strict=True))
    return (
        full
        if alike or "" in short or len(set(short)) < len(short)
        else [names[name] for name in full]
    )


def metric_name(name: str) -> str:
    """A statistic in words; an HCI metric is followed by the symbol of the paper.

    Examples
    --------
    >>> metric_name("hci_offset"), metric_name("bad_pixels_all")
    ('offset (P_off)', 'bad_pixels_all')
    """
    metric = HCI_METRICS.get(name)
    return f"{metric.title} ({metric.symbol})" if metric else name


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Short names by full names: without folders, if the names then remain different.

    Examples
    --------
    >>> short_names(["middlebury2001/map", "synthetic/planes"])
    {'middlebury2001/map': 'map', 'synthetic/planes': 'planes'}
    >>> short_names(["a/venus", "b/venus"])
    {'a/venus': 'a/venus', 'b/venus': 'b/venus'}
    """
    short = {name: name.rpartition("/")[2] for name in sorted(names)}
    return short if len(set(short.values())) == len(short) else {name: name for name in short}


def unit(name: str) -> str:
    """The unit of a statistic or parameter, from its metric or the annotation of its stage; empty if it has none.

    Examples
    --------
    >>> unit("bad_pixels_all"), unit("aggregation.box.size"), unit("matching_cost.truncation"), unit("scene")
    ('%', 'pixels', 'grey levels', '')
    """
    metric = metric_of(name)
    if metric is not None:
        return {"px": "pixels"}.get(metric.unit, metric.unit)
    _, head, rest = split(name)
    if head == "seconds":
        return "s"
    if head == "search":
        return "pixels"
    if head not in SLOTS or not rest:
        return ""
    stage, _, parameter = rest.rpartition(".")
    # In a slot that holds one stage, any stage with this parameter may be meant.
    meant = [
        s
        for s in stages(head)
        if parameter in s.parameters and (not stage or s.name == stage or stage.isdecimal())
    ]
    found = {s.unit(parameter) for s in meant} - {""}
    return found.pop() if len(found) == 1 else ""


def with_unit(name: str, labels: Mapping[str, str] = _NOTHING) -> str:
    """The label of an axis: a key or statistic with its unit."""
    text = labels.get(name, "" if name == STATISTIC else name)
    return f"{text} ({unit(name)})".strip() if unit(name) else text
