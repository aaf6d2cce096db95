"""Results that no run made, with values that are easy to follow."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stereo_framework.sweep import Result, Store

SCENES = ("middlebury2001/tsukuba", "middlebury2001/venus")


def result(
    scene: str, axes: Mapping[str, Any], statistics: Mapping[str, float], **changes: Any
) -> Result:
    values = {
        "id": "0",
        "scene": scene,
        "method": "m",
        "parameters": {
            name: value for name, value in axes.items() if "." in name or name == "seed"
        },
        "axes": axes,
        "protocol": "p",
        "protocol_text": "p: as one likes",
        "statistics": statistics,
        "energy": 1.0,
        "seconds": {"matching_cost": 0.5},
    }
    return Result(**(values | changes))


def sweep(
    axes: Mapping[str, Sequence[Any]],
    statistics: Callable[..., Mapping[str, float]],
    scenes: Sequence[str] = SCENES,
    **changes: Any,
) -> list[Result]:
    """A result for each scene and combination of the axes' values, in the order of a script; `statistics` gets scene and values."""
    names = list(axes)
    combinations = list(itertools.product(*axes.values()))
    return [
        result(scene, dict(zip(names, values, strict=True)), statistics(scene, *values), **changes)
        for scene in scenes
        for values in combinations
    ]


def kept(folder: Path, results: Sequence[Result]) -> Path:
    """A folder that holds the results."""
    with Store(folder, create=True) as store:
        store.set_listed_keys([str(i) for i in range(len(results))])
        for i, one in enumerate(results):
            store.add(str(i), one)
    return folder


HCI = {
    "hci_foreground_fattening": 0.4,
    "hci_foreground_thinning": 0.1,
    "hci_fuzziness": 8.0,
    "hci_bumpiness": 2.0,
    "hci_offset": 4.0,
    "hci_misorientation": 20.0,
    "hci_porosity": 0.6,
    "hci_fragmentation": 0.3,
    "hci_detail_fattening": 0.5,
}


def scored(scores: Mapping[str, Mapping[str, Mapping[str, float]]], **changes: Any) -> list[Result]:
    """Results by method and scene: the HCI scores above with others in place of some."""
    return [
        result(scene, {}, HCI | own, method=method, **changes)
        for method, scenes in scores.items()
        for scene, own in scenes.items()
    ]
