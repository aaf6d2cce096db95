"""Keys, values and units in words, for headers, legends and axes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.script.addresses import split
from stereo_framework.script.report import STATISTIC
from stereo_framework.sweep.value_text import key_value_text, setting_text
from stereo_framework.tables.directions import better_direction

_NO_LABELS: Mapping[str, str] = {}


def caption(
    keys: Sequence[str], values: Sequence[Any], labels: Mapping[str, str] = _NO_LABELS
) -> str:
    """Join the values of several keys to a text.

    The value of a single key has no key in front.

    Parameters
    ----------
    keys : sequence of str
        Keys of results, such as ``method`` or the address of a parameter.
    values : sequence
        The value of each key.
    labels : mapping of str to str
        Labels that replace the texts of single values.
    """
    if len(keys) != 1:
        pairs = zip(keys, values, strict=True)
        texts = [key_value_text(key, value, labels) for key, value in pairs]
        return ", ".join(filter(None, texts))
    label = labels.get(key_value_text(keys[0], values[0]))
    if label is not None:
        return label
    text = setting_text(values[0])
    return labels.get(text, text)


def metric_name(name: str) -> str:
    """Return a statistic in words. The symbol of the paper follows an HCI metric.

    Examples
    --------
    >>> metric_name("hci_offset"), metric_name("bad_pixels_all")
    ('offset (P_off)', 'bad_pixels_all')
    """
    metric = HCI_METRICS.get(name)
    return f"{metric.title} ({metric.symbol})" if metric else name


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return short names by full names: without folders, if they remain different.

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
    """Return the unit of a statistic or parameter. The text is empty without unit.

    The unit comes from the metric of the statistic or from the stage of the parameter.

    Examples
    --------
    >>> unit("bad_pixels_all"), unit("aggregation.box.size"), unit("scene")
    ('%', 'pixels', '')
    >>> unit("matching_cost.truncation")
    'grey levels'
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
    # If the address names no stage, any stage of the slot with this parameter may be
    # used.
    any_stage = not stage or stage.isdecimal()
    units: set[str] = set()
    for candidate in stages(head):
        if parameter in candidate.parameters and (any_stage or candidate.name == stage):
            units.add(candidate.unit(parameter))
    units.discard("")
    return units.pop() if len(units) == 1 else ""


def statistic_title(statistic: str) -> str:
    """Return a statistic with its unit and direction, if it has them.

    Examples
    --------
    >>> statistic_title("bad_pixels_all"), statistic_title("iterations")
    ('bad_pixels_all (%, lower is better)', 'iterations')
    """
    direction = better_direction(statistic)
    remarks = [unit(statistic), f"{direction} is better" if direction else ""]
    listed = ", ".join(filter(None, remarks))
    return f"{statistic} ({listed})" if listed else statistic


def with_unit(name: str, labels: Mapping[str, str] = _NO_LABELS) -> str:
    """Return the label of an axis of a chart: a key or statistic with its unit."""
    text = labels.get(name, "" if name == STATISTIC else name)
    unit_text = unit(name)
    return f"{text} ({unit_text})".strip() if unit_text else text
