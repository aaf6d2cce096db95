"""Find and read the disparity maps that other programs made for scenes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.io.disparity import FORMAT_MARKER, Unknown, in_pixels, map_values, scale_of
from stereo_framework.io.files import PathLike
from stereo_framework.io.registered_readers import registered_suffixes

SUFFIXES = (".pfm", ".png", ".pgm", ".npy", ".npz", ".tif", ".tiff", ".flo")
"""Endings of files that may be disparity maps."""

_SCENE_FIELD = "{scene}"
"""Part of a path that the name of a scene replaces."""


def map_files(folder: Path) -> list[Path]:
    """Return all files below a folder that may be disparity maps, sorted."""
    allowed = {*SUFFIXES, *registered_suffixes("disparity")}
    files = [path for path in folder.rglob("*") if path.suffix.lower() in allowed]
    return sorted(path for path in files if path.is_file())


def best_scenes(path: Path, names: Sequence[str]) -> dict[str, int]:
    """Return the scenes whose names fit the path of a file best.

    Parameters
    ----------
    path : Path
        Path of the file. It begins with the name of the folder that was searched.
    names : sequence of str
        Full names of scenes, such as ``middlebury2001/tsukuba``.

    Returns
    -------
    dict of str to int
        Names of the best scenes, each with the number of folders of its data set that
        occur in the path. There are several names if the path fits them equally well,
        and none if the path has the name of no scene. If two names have equally many
        folders in the path, the name with fewer missing folders is best.
    """
    parts = [*path.parts[:-1], path.stem]
    scores: dict[str, tuple[int, int]] = {}
    for name in names:
        *data_set_folders, scene_name = name.split("/")
        if scene_name in parts or _begins_with_word(path.stem, scene_name):
            present_folders = sum(folder in parts for folder in data_set_folders)
            missing_folders = len(data_set_folders) - present_folders
            scores[name] = present_folders, -missing_folders
    best_score = max(scores.values(), default=(0, 0))
    return {name: score[0] for name, score in scores.items() if score == best_score}


def _begins_with_word(text: str, word: str) -> bool:
    """Return whether a word begins a longer text and no letter or digit follows it."""
    return text.startswith(word) and not text[len(word)].isalnum()


def map_of(location: str, scene: str) -> Path:
    """Return the file with the disparity map of a scene.

    Parameters
    ----------
    location : str
        One of three kinds of paths:

        - a path with ``{scene}``, which is replaced by the full name of the scene, by
          the last part of this name, or by the full name with hyphens, whichever
          exists;
        - a folder in which a file, or the folder of a file, has the name of the scene;
        - a single file, which is used for every scene.
    scene : str
        Full name of the scene.

    Raises
    ------
    DataError
        There is no such file, or there are several.
    """
    if _SCENE_FIELD in location:
        return _file_for_pattern(location, scene)
    folder = Path(location)
    if folder.is_file():
        return folder
    scores: dict[Path, int] = {}
    for path in map_files(folder):
        fitting_scenes = best_scenes(path.relative_to(folder.parent), [scene])
        if scene in fitting_scenes:
            scores[path] = fitting_scenes[scene]
    best_files = [path for path, score in scores.items() if score == max(scores.values())]
    if len(best_files) > 1:
        first, second = (path.relative_to(folder) for path in best_files[:2])
        message = f"{folder}: there are two maps for {scene}: {first} and {second}"
        raise DataError(message)
    if not best_files:
        message = (
            f"there is no map of {scene}: no file in {folder}, and no folder there, has the name "
            "of the scene"
        )
        raise DataError(message)
    return best_files[0]


def _file_for_pattern(pattern: str, scene: str) -> Path:
    """Return the existing file whose path is a pattern with a scene's name in it."""
    names = dict.fromkeys([scene, scene.rpartition("/")[2], scene.replace("/", "-")])
    files = [Path(pattern.replace(_SCENE_FIELD, name)) for name in names]
    for file in files:
        if file.is_file():
            return file
    message = f"there is no map of {scene}: there is no {' or '.join(map(str, files))}"
    raise DataError(message)


def read_map(
    path: PathLike,
    scene: Scene,
    *,
    disparity_scale: float | None = None,
    unknown: float | None = None,
    zero_is_known: bool | None = None,
) -> Disparity:
    """Read a disparity map of a scene in the encoding of the scene's data set.

    Parameters
    ----------
    path : path-like
        A file that `read_disparity` or a registered reader reads.
    scene : Scene
        The scene.
    disparity_scale : float, optional
        Stored units per pixel of disparity, negative for the opposite sign. Default:
        the scale of the scene for pictures of 8 bits; otherwise as in `read_disparity`.
    unknown : float, optional
        Stored value that means no estimate. Default: 0 in pictures, except in 8-bit
        maps in which 0 is a disparity. In other files only values that are not finite
        mean no estimate.
    zero_is_known : bool, optional
        Whether 0 is a disparity in 8-bit maps. Default: only for scenes with the
        protocol of the 2002 paper, whose maps contain 0 as a disparity.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Disparities in pixels; NaN if there is no estimate.

    Raises
    ------
    DataError
        The file is missing or damaged, or the scale is missing.
    """
    _, disparity = read_encoded(
        path, scene, disparity_scale=disparity_scale, unknown=unknown, zero_is_known=zero_is_known
    )
    return disparity


def read_encoded(
    path: PathLike,
    scene: Scene,
    *,
    disparity_scale: float | None = None,
    unknown: float | None = None,
    zero_is_known: bool | None = None,
) -> tuple[float, Disparity]:
    """Return the stored units per pixel of a map, and the result of `read_map`."""
    stored = map_values(path)
    if zero_is_known is None:
        zero_is_known = scene.protocol == "taxonomy2002"
    has_eight_bits = stored[0].dtype == np.uint8

    if disparity_scale is None and has_eight_bits:
        disparity_scale = scene.grey_levels
    marker: Unknown = unknown
    if unknown is None and not (has_eight_bits and zero_is_known):
        marker = FORMAT_MARKER
    return scale_of(path, stored, disparity_scale), in_pixels(path, stored, disparity_scale, marker)
