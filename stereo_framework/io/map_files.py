"""Disparity maps that others made: which file of a folder is the map of which scene, and how to read it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.io._files import PathLike
from stereo_framework.io.disparity import in_pixels, map_values
from stereo_framework.io.readers import own_suffixes

SUFFIXES = (".pfm", ".png", ".pgm", ".npy", ".npz", ".tif", ".tiff")
"""Endings of files that may be disparity maps."""


def map_files(folder: Path) -> list[Path]:
    """The files in a folder and its subfolders that may be disparity maps, sorted."""
    legal = {*SUFFIXES, *own_suffixes("disparity")}
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in legal and p.is_file())


def best_scenes(path: Path, names: Sequence[str]) -> dict[str, int]:
    """The scenes whose names fit the path of a file best.

    Parameters
    ----------
    path : Path
        The path of the file, beginning with the name of the folder itself.
    names : sequence of str
        Full names of scenes.

    Returns
    -------
    dict of str to int
        The names, more than one if the path fits several equally well, each with the number of its data set's folders that occur in the path; empty if
        the path names no scene. Of two names that otherwise fit equally well, the one with fewer folders missing from the path is taken.
    """
    parts = [*path.parts[:-1], path.stem]
    found: dict[str, tuple[int, int]] = {}
    for name in names:
        *sets, short = name.split("/")
        stem = path.stem
        if short in parts or (stem.startswith(short) and not stem[len(short)].isalnum()):
            named = sum(part in parts for part in sets)
            found[name] = named, named - len(sets)
    best = max(found.values(), default=(0, 0))
    return {name: score[0] for name, score in found.items() if score == best}


def map_of(place: str, scene: str) -> Path:
    """The file that holds the disparity map of a scene.

    Parameters
    ----------
    place : str
        A path in which ``{scene}`` stands for the scene's full name, its last part, or the full name with hyphens, whichever exists; or a folder in
        which a file, or the folder of a file, is named like the scene; or a single file, which is taken for any scene.
    scene : str
        Full name.

    Raises
    ------
    DataError
        There is no such file, or there are several.
    """
    if "{scene}" in place:
        names = dict.fromkeys([scene, scene.rpartition("/")[2], scene.replace("/", "-")])
        files = [Path(place.replace("{scene}", name)) for name in names]
        found = next((file for file in files if file.is_file()), None)
        if found is None:
            raise DataError(f"no map of {scene}: there is no {' or '.join(map(str, files))}")
        return found
    folder = Path(place)
    if folder.is_file():
        return folder
    fits = {path: score for path in map_files(folder) for score in best_scenes(path.relative_to(folder.parent), [scene]).values()}
    best = [path for path, score in fits.items() if score == max(fits.values())]
    if len(best) > 1:
        raise DataError(f"{folder}: two maps for {scene}: {best[0].relative_to(folder)} and {best[1].relative_to(folder)}")
    if not best:
        raise DataError(f"no map of {scene}: none of the files in {folder}, nor a folder there, is named like it")
    return best[0]


def read_map(
    path: PathLike, scene: Scene, *, scale: float | None = None, unknown: int | None = None, zero_is_known: bool | None = None
) -> Disparity:
    """Read a disparity map of a scene in the encoding of the scene's data set.

    Parameters
    ----------
    path : path-like
        PFM, npy, TIFF of floats and what a reader of somebody's reads hold pixels.
    scene : Scene
    scale : float, optional
        Grey levels per pixel of disparity. Default: that of the scene for 8 bits, 256 for 16 bits.
    unknown : int, optional
       Grey level, or number in files of pixels, that means no estimate. Default: 0 in pictures, except in 8-bit maps in which 0 is a disparity; in files of
        pixels only what is not finite.
    zero_is_known : bool, optional
        Whether 0 is a disparity in 8-bit maps. Default: only for scenes that are measured as in the 2002 paper, whose maps use it so.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.

    Raises
    ------
    DataError
        The file is missing or damaged, or the scale is missing.
    """
    values, valid = map_values(path)
    if values.dtype.kind == "f":
        disparity = in_pixels(path, values, valid, scale=scale)
        return disparity if unknown is None else np.where(disparity == unknown, np.float32(np.nan), disparity)
    eight_bits = values.dtype == np.uint8
    if scale is None and eight_bits:
        scale = scene.grey_levels
    if unknown is None and not (eight_bits and (scene.protocol == "taxonomy2002" if zero_is_known is None else zero_is_known)):
        unknown = 0
    return in_pixels(path, values, valid, scale=scale, unknown=unknown)
