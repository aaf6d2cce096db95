"""Results that no run made, with values that are easy to follow."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stereo_framework.sweep import Result, ResultSet, Store

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
) -> ResultSet:
    """Return a result for each scene and combination of the axes' values.

    The function `statistics` gets the scene and the values.
    """
    names = list(axes)
    combinations = list(itertools.product(*axes.values()))
    return ResultSet(
        result(scene, dict(zip(names, values, strict=True)), statistics(scene, *values), **changes)
        for scene in scenes
        for values in combinations
    )


def kept(folder: Path, results: Sequence[Result]) -> Path:
    """Return a folder that stores the results."""
    with Store(folder, create=True) as store:
        store.set_listed_keys([str(i) for i in range(len(results))])
        for i, stored_result in enumerate(results):
            store.add(str(i), stored_result)
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


def scored(scores: Mapping[str, Mapping[str, Mapping[str, float]]], **changes: Any) -> ResultSet:
    """Return results with the HCI scores above, some of which are replaced.

    Parameters
    ----------
    scores : mapping
        The replaced scores, by method, scene and metric.
    **changes
        Further fields of all results.
    """
    return ResultSet(
        result(scene, {}, HCI | replaced, method=method, **changes)
        for method, scenes in scores.items()
        for scene, replaced in scenes.items()
    )
