"""Evaluation protocols: records of every choice that changes a number.

A protocol is given as the name of a preset, as a mapping that derives one from a preset (``{base: taxonomy2002, thresholds: [1, 0.5]}``, as
scripts write it), or as a `Protocol`. `resolve` takes all three. What a benchmark publishes of a submission is the `average` of its protocol over the scenes;
means over scenes, seeds and settings that tables and charts show are those of `tables.means`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from stereo_framework.core.arguments import AnyNumber, calling_module, checked
from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.former_names import new_or_nearest
from stereo_framework.core.package_files import package_yaml
from stereo_framework.core.parameters import as_yaml, parameters_of
from stereo_framework.core.registry import Registry
from stereo_framework.core.scene import Scene
from stereo_framework.evaluation._protocol import (
    REGIONS,
    Protocol,
    field,
    grouped,
    region_fault,
    value_faults,
)
from stereo_framework.evaluation.hci import Parameters as HciParameters
from stereo_framework.evaluation.metrics import metric_of, shortest

__all__ = [
    "PRESETS",
    "REGIONS",
    "Protocol",
    "average",
    "faults",
    "of_scene",
    "protocol",
    "resolve",
    "shortest",
    "with_metrics",
]


class _Presets(Registry[Any]):
    """The protocols that can be named. Each is made when it is asked for, since checking the values of all takes longer than matching a small pair."""

    def __getitem__(self, name: str) -> Protocol:
        found = super().__getitem__(name)
        if not isinstance(found, Protocol):
            found = self[name] = Protocol(name, **found)
        return found


PRESETS = _Presets("protocol", package_yaml("evaluation/presets.yaml"))
"""The protocols that can be named; ``presets.yaml`` beside this file lists those of the package."""


@checked()
def protocol(name: str, *, base: str | Mapping[str, Any] | Protocol, **fields: Any) -> Protocol:
    """Register a protocol under a name.

    Parameters
    ----------
    name : str
        As scripts and ``--protocol`` then name it.
    base : str, mapping or Protocol
        What it differs from, as `resolve` takes it.
    **fields
        The fields of `Protocol` that differ.

    Raises
    ------
    ParameterError
        Values that are not allowed, one line each; another module has a protocol of this name.

    Examples
    --------
    >>> from stereo_framework import protocol
    >>> protocol("strict", base="taxonomy2002", thresholds=[0.25], regions=["all"]).thresholds
    (0.25,)
    """
    found = derive(resolve(base), {**fields, "name": name})
    PRESETS.add(name, found, calling_module())
    return found


def resolve(spec: str | Mapping[str, Any] | Protocol) -> Protocol:
    """The protocol that `spec` stands for.

    Parameters
    ----------
    spec : str, mapping or Protocol
        The name of a preset; or a mapping of ``base`` (the name of a preset), the fields that differ from it, where ``threshold`` or ``thresholds``
        is a number or a list of numbers, and perhaps ``name``, which by default spells out the differences.

    Raises
    ------
    ParameterError
        The faults of `faults`, one line each.

    Examples
    --------
    >>> resolve({"base": "taxonomy2002", "threshold": 0.5, "border": 20}).name
    'taxonomy2002[thresholds=0.5; border=20]'
    """
    if isinstance(spec, Protocol):
        return spec
    found = faults(spec)
    if found:
        raise ParameterError(
            "\n".join(f"{'.'.join(filter(None, ('protocol', k)))}: {v}" for k, v in found.items())
        )
    if isinstance(spec, str):
        return PRESETS[spec]
    return derive(PRESETS[spec["base"]], {k: v for k, v in spec.items() if k != "base"})


def derive(base: Protocol, changes: Mapping[str, Any]) -> Protocol:
    """A protocol that differs from `base` in some fields. Its name spells them out, unless the changes contain a name.

    Raises
    ------
    ParameterError
        Values that are not allowed, one line each.
    """
    derived = dataclasses.replace(base, **{field(k): v for k, v in changes.items()})
    return (
        derived
        if "name" in changes
        else dataclasses.replace(derived, name=_derived_name(base, derived))
    )


@functools.cache
def with_metrics(protocol: Protocol, metrics: tuple[str, ...]) -> Protocol:
    """Return a protocol with further metrics, which its name lists.

    Examples
    --------
    >>> with_metrics(PRESETS["taxonomy2002"], ("mape", "rms_error")).name
    'taxonomy2002+mape'
    """
    both = dataclasses.replace(
        protocol, metrics=tuple(dict.fromkeys((*protocol.metrics, *metrics)))
    )
    more = tuple(name for name in both.metrics if name not in protocol.metrics)
    return dataclasses.replace(both, name="+".join((protocol.name, *grouped(more))))


def faults(spec: object) -> dict[str, str]:
    """What is wrong with a protocol as a script or command line gives it.

    Parameters
    ----------
    spec : object
        What the user gave for `resolve`.

    Returns
    -------
    dict of str to str
        For each faulty key of the mapping one line with the allowed values, under ``""`` for the whole; empty if there is no fault.
    """
    if isinstance(spec, Protocol):
        return {}
    if isinstance(spec, str):
        return {} if spec in PRESETS else {"": _no_preset(spec)}
    if not isinstance(spec, Mapping):
        expected = "a name or a mapping of 'base' and the fields that differ"
        return {
            "": f"{as_yaml(spec)} is not a protocol; expected {expected}; {nearest('', PRESETS, kind='protocols')}"
        }
    found = {}
    base = spec.get("base")
    if "base" not in spec:
        found[""] = f"a derived protocol needs a 'base'; {nearest('', PRESETS, kind='protocols')}"
    elif not isinstance(base, str) or base not in PRESETS:
        found["base"] = _no_preset(base)
    allowed = parameters_of(Protocol)
    for key in spec:
        if key != "base" and field(str(key)) not in allowed:
            fields = {"base", "threshold", *allowed}
            name = str(key)
            remedy = new_or_nearest("protocol_fields", "protocol", name, fields, kind="fields")
            found[name] = f"a protocol has no such field; {remedy}"
    for key in spec:
        if isinstance(key, str) and field(key) != key and field(key) in spec:
            found[key] = f"given twice: as {key!r} and as {field(key)!r}; keep one"
    found |= value_faults({k: v for k, v in spec.items() if field(str(k)) in allowed})
    key = next((k for k in ("regions", "region", "masks") if k in spec), "")
    if key and not {"regions", "region", "masks"} & found.keys():
        inherited = (
            PRESETS[base] if isinstance(base, str) and base in PRESETS else PRESETS["taxonomy2002"]
        )
        regions = spec.get("regions", spec.get("region", inherited.regions))
        if fault := region_fault(regions, spec.get("masks", inherited.masks)):
            found[key] = fault
    if isinstance(spec.get("name"), str) and spec["name"] in PRESETS:
        found["name"] = (
            f"{spec['name']!r} is the preset itself; give the derived protocol another name or none"
        )
    return found


def of_scene(scene: Scene) -> Protocol:
    """The protocol of the scene's data set, or ``taxonomy2002`` if that is not a preset; ``truthfree-1`` for a scene without truth."""
    if (scene.reference_index, scene.match_index) not in scene.truths:
        return PRESETS["truthfree-1"]
    return PRESETS.get(scene.protocol, PRESETS["taxonomy2002"])


def _no_preset(name: object) -> str:
    return f"there is no protocol {as_yaml(name)}; {nearest(str(name), PRESETS, kind='protocols')}"


def _derived_name(base: Protocol, derived: Protocol) -> str:
    different = [
        f"{f.name}={_short(grouped(new) if f.name == 'metrics' else new)}"
        for f in dataclasses.fields(base)
        if f.name != "name" and (new := getattr(derived, f.name)) != getattr(base, f.name)
    ]
    return f"{base.name}[{'; '.join(different)}]" if different else base.name


def _short(value: Any) -> str:
    if isinstance(value, HciParameters):
        return ",".join(f"{name}:{_short(v)}" for name, v in value.changed().items())
    if isinstance(value, list):
        return "/".join(map(_short, value))
    if isinstance(value, tuple):
        return ",".join(map(_short, value))
    return shortest(value) if isinstance(value, float) else str(value)


@checked()
def average(
    statistics: Sequence[Mapping[str, AnyNumber]],
    protocol: Protocol,
    weights: Sequence[float] | None = None,
) -> dict[str, float]:
    """Average statistics over scenes as the protocol prescribes.

    Parameters
    ----------
    statistics : sequence of mappings of str to float
        What `evaluate` returned for each scene, always under `protocol`.
    protocol : Protocol
    weights : sequence of float, optional
        `Scene.weight` of each scene; only weighted averages use them.

    Returns
    -------
    dict of str to float
        The statistics that all scenes have, by name; NaN where one of them is undefined. A scene that has no pixel below the protocol's limit of the truth
        is left out. In averages over pixels an empty region adds nothing, and
        statistics that cannot be averaged in this way (quantiles) are absent. Averages of columns also have ``bad_pixels``, the mean of the columns.

    Notes
    -----
    Middlebury v2: mean over scenes and columns; v3: weighted mean; ETH3D and KITTI 2012: mean; KITTI 2015: errors of all images over
    pixels of all images.

    Examples
    --------
    >>> from stereo_framework.evaluation import resolve
    >>> average([{"bad_pixels_all": 2.0}, {"bad_pixels_all": 4.0}], resolve("middlebury-v2"))
    {'bad_pixels_all': 3.0, 'bad_pixels': 3.0}
    """
    return average_unchecked(statistics, protocol, weights)


def average_unchecked(
    statistics: Sequence[Mapping[str, AnyNumber]],
    protocol: Protocol,
    weights: Sequence[float] | None = None,
) -> dict[str, float]:
    """Average statistics as `average` does, without a check of the arguments.

    A table of thousands of averages spends most of its time on such checks.
    """
    if not statistics:
        return {}
    if protocol.averaging == "pixels":
        return _over_pixels(statistics, protocol.regions)
    if weights is None or protocol.averaging != "weighted":
        weights = [1.0] * len(statistics)
    counted = [
        i for i, scene_statistics in enumerate(statistics) if is_counted(scene_statistics, protocol)
    ]
    if counted:
        statistics = [statistics[i] for i in counted]
        weights = [weights[i] for i in counted]
    used = list(weights)
    everywhere = set(statistics[0]).intersection(*statistics[1:])
    names = [name for name in statistics[0] if name in everywhere]
    found = {
        name: sum(map(operator.mul, used, [s[name] for s in statistics])) / sum(used)
        for name in names
    }
    if protocol.averaging == "columns":
        columns = [value for name, value in found.items() if name.startswith("bad_pixels_")]
        if columns:
            found["bad_pixels"] = sum(columns) / len(columns)
    return found


def is_counted(statistics: Mapping[str, float], protocol: Protocol) -> bool:
    """Return whether a scene takes part in averages of a protocol.

    A protocol with a limit of the truth leaves out scenes without a pixel below the limit,
    as the programs of its authors do.
    """
    matched = statistics.get("fraction_matched", 0.0)
    return protocol.truth_limit is None or not (matched is None or math.isnan(matched))


def _over_pixels(
    statistics: Sequence[Mapping[str, float]], regions: Sequence[str]
) -> dict[str, float]:
    found = {}
    for name in dict.fromkeys(name for s in statistics for name in s):
        metric = metric_of(name)
        if metric is None or not metric.pooled:
            continue
        if metric.pooled == "sum":
            found[name] = sum(s.get(name, 0.0) for s in statistics)
            continue
        # The name of one region may be the end of another one's name: nonocc, background_nonocc.
        region = max((r for r in regions if name.endswith(f"_{r}")), key=len)
        counted = [
            (s[f"pixels_{region}"], s[name])
            for s in statistics
            if name in s and s[f"pixels_{region}"]
        ]
        pixels = sum(count for count, _ in counted)
        power = 2 if metric.pooled == "rms" else 1
        power_mean = (
            sum(count * value**power for count, value in counted) / pixels if pixels else math.nan
        )
        found[name] = power_mean ** (1 / power)
    return found
