"""Maps of a method as the benchmarks want them submitted: names, folders, times and encodings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from stereo_framework.core.errors import DataError
from stereo_framework.io import write_bytes, write_disparity
from stereo_framework.sweep.result import Result

FORMATS: Mapping[str, tuple[str, str, str]] = {
    # Maps with holes bear another name.
    "middlebury-v3": ("{folder}/{scene}/disp0{method}{holes}.pfm", "{folder}/{scene}/time{method}.txt", "{:.6g}\n"),
    # A disparity of 0, which means no estimate there, becomes the smallest that there is.
    "kitti2015": ("{part}/disp_0/{scene}.png", "", ""),
    "eth3d": ("low_res_two_view/{scene}.pfm", "low_res_two_view/{scene}.txt", "runtime {:.6g}\n"),
}
"""By data set, as their organizers describe them for submission: the path of a map, that of the file with its seconds (empty: none), and what stands there."""


def export_maps(results: Sequence[Result], form: str, method: str, folder: Path) -> list[str]:
    """Write the maps of one method as a benchmark wants them.

    Parameters
    ----------
    results : sequence of Result
        Of one setting of a method, with maps.
    form : str
        One of `FORMATS`.
    method : str
        What the method is called there; letters, digits, ``-`` and ``_`` are kept.
    folder : Path
        Gets the benchmark's own folders.

    Returns
    -------
    list of str
        What is missing, one line each: scenes without a map, times that nobody knows.

    Raises
    ------
    DataError
        No map is of the benchmark's data set, or one does not fit its encoding.
    """
    map_path, time_path, seconds = FORMATS[form]
    # Several protocols measure the same map.
    ours = {r.scene.removeprefix(f"{form}/"): r for r in results if r.map is not None and r.scene.startswith(f"{form}/")}
    if not ours:
        raise DataError(f"{method}: no map of a scene of {form}; run with --maps on some, such as --scene {form}")
    told = []
    for scene, result in ours.items():
        disparity = result.disparity
        if disparity is None:
            told.append(f"{method}: the map of {result.scene}, {result.map}, is gone")
            continue
        part, _, last = scene.rpartition("/")
        holes = "_s" if np.isnan(disparity).any() else ""
        names = {
            "part": part or "training",
            "folder": part,
            "scene": last,
            "method": re.sub(r"[^\w-]", "", method),
            "holes": holes,
        }
        # A store of somebody else may name any scenes: joined as texts, an absolute one stays below the folder, and what leads out is not written.
        write_disparity(f"{folder}/{map_path.format(**names)}", disparity)
        if time_path and result.matching_seconds is None:
            told.append(f"{method}: nobody knows what {result.scene} took; the benchmark wants it in {time_path.format(**names)}")
        elif time_path:
            write_bytes(f"{folder}/{time_path.format(**names)}", seconds.format(result.matching_seconds).encode())
    return told
