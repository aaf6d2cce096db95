"""Maps of a method as the benchmarks want them submitted: names, folders, times and encodings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity
from stereo_framework.datasets import load_scene
from stereo_framework.io import PathLike, write_bytes, write_disparity
from stereo_framework.io.map_files import read_map
from stereo_framework.sweep.outside import find_maps
from stereo_framework.sweep.result import Result


@dataclass(frozen=True)
class Format:
    """How a benchmark wants maps.

    Parameters
    ----------
    folder : str
        Of its data set, with which the names of its scenes begin.
    map : callable
        Path of a map from what the scene is called below that folder, the method's name and whether pixels lack an estimate.
    time : callable or None
        Likewise the path of the file with the seconds, None where the benchmark asks for none.
    seconds : str
        What stands in that file.
    tolerance : float
        Pixels by which the encoding may change a disparity.
    """

    folder: str
    map: Callable[[str, str, bool], str]
    time: Callable[[str, str], str] | None = None
    seconds: str = "{:.6g}\n"
    tolerance: float = 0.0


def _kitti(scene: str, method: str, holes: bool) -> str:
    part, _, name = scene.rpartition("/")
    return f"{part or 'training'}/disp_0/{name}.png"


FORMATS: Mapping[str, Format] = {
    "middlebury-v3": Format(
        "middlebury-v3",
        # Maps with holes bear another name.
        lambda scene, method, holes: f"{scene}/disp0{method}{'_s' * holes}.pfm",
        lambda scene, method: f"{scene}/time{method}.txt",
    ),
    # A disparity of 0, which means no estimate there, becomes the smallest that there is.
    "kitti2015": Format("kitti2015", _kitti, tolerance=1 / 256),
    "eth3d": Format(
        "eth3d",
        lambda scene, method, holes: f"low_res_two_view/{scene.rpartition('/')[2]}.pfm",
        lambda scene, method: f"low_res_two_view/{scene.rpartition('/')[2]}.txt",
        "runtime {:.6g}\n",
    ),
}
"""By name, as their organizers describe them for submission."""


def export_maps(results: Sequence[Result], form: str, method: str, folder: Path, *, data: PathLike | None = None) -> list[str]:
    """Write the maps of one method as a benchmark wants them, and check that they are read back as they are.

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
    data : path-like, optional
        Data root, as in `load_scene`.

    Returns
    -------
    list of str
        What is missing, one line each: scenes without a map, times that nobody knows.

    Raises
    ------
    DataError
        No map is of the benchmark's data set, one does not fit its encoding, or one is not read back as it was written.
    """
    wanted, name, told = FORMATS[form], re.sub(r"[^\w-]", "", method), []
    # Several protocols measure the same map.
    ours = {r.scene: r for r in results if r.map is not None and r.scene.startswith(f"{wanted.folder}/")}
    if not ours:
        raise DataError(
            f"{method}: no map of a scene of {wanted.folder}; run with --maps on some, such as --scene {wanted.folder}"
        )
    written: dict[str, Disparity] = {}
    for scene, result in ours.items():
        disparity = result.disparity
        if disparity is None:
            told.append(f"{method}: the map of {scene}, {result.map}, is gone")
            continue
        short = scene.removeprefix(f"{wanted.folder}/")
        # A store of somebody else may name any scenes: joined as texts, an absolute one stays below the folder, and what leads out is not written.
        write_disparity(f"{folder}/{wanted.map(short, name, bool(np.isnan(disparity).any()))}", disparity)
        written[scene] = disparity
        if wanted.time is not None and result.matching_seconds is None:
            told.append(f"{method}: nobody knows what {scene} took; the benchmark wants it in {wanted.time(short, name)}")
        elif wanted.time is not None:
            write_bytes(f"{folder}/{wanted.time(short, name)}", wanted.seconds.format(result.matching_seconds).encode())
    _check(folder, written, wanted, data)
    return told


def _check(folder: Path, written: Mapping[str, Disparity], wanted: Format, data: PathLike | None) -> None:
    """Read everything back as `evaluate` does."""
    found = find_maps(folder, scenes=list(written), data=data).maps
    for scene, disparity in written.items():
        if scene not in found:
            raise DataError(f"{folder}: the map of {scene} is not found there again")
        again = read_map(found[scene], load_scene(scene, data=data))
        if (np.isnan(again) != np.isnan(disparity)).any() or (np.abs(again - disparity) > wanted.tolerance).any():
            raise DataError(f"{found[scene]}: is not read back as it was written")
