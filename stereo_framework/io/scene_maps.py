"""Find and read disparity maps of scenes that other programs have computed."""

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
"""File extensions of disparity maps in supported formats."""

_SCENE_FIELD = "{scene}"
"""Placeholder for the name of a scene in a path."""


def map_files(folder: Path) -> list[Path]:
    """Return the disparity maps in a folder and its subfolders, sorted by path.

    Only the file extensions are tested. The extensions of plug-ins are included.
    """
    allowed = {*SUFFIXES, *registered_suffixes("disparity")}
    files = [path for path in folder.rglob("*") if path.suffix.lower() in allowed]
    return sorted(path for path in files if path.is_file())


def best_scenes(path: Path, names: Sequence[str]) -> dict[str, int]:
    """Select the scenes whose names fit the path of a disparity map best.

    A scene ``middlebury2001/tsukuba`` fits the file ``maps/tsukuba_left.pfm`` and all
    files in a folder ``tsukuba``. If several scenes fit, the scene with the most data
    set folders in the path is selected. For example, ``middlebury2001`` is a data set
    folder. In a tie, the scene with the fewest data set folders is selected.

    Parameters
    ----------
    path : Path
        Path of the disparity map, beginning with the folder of all disparity maps.
    names : sequence of str
        Names of scenes, such as ``middlebury2001/tsukuba``.

    Returns
    -------
    dict of str to int
        Name of the best scene, with its number of data set folders in the path. The
        dict contains several scenes if they fit equally well. The dict is empty if no
        scene fits.

    Examples
    --------
    >>> names = ["middlebury2001/tsukuba", "synthetic/planes"]
    >>> best_scenes(Path("maps/middlebury2001/tsukuba.pfm"), names)
    {'middlebury2001/tsukuba': 1}
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
    """Return whether a text begins with a complete word.

    Examples
    --------
    >>> _begins_with_word("venus_left", "venus"), _begins_with_word("venus2", "venus")
    (True, False)
    >>> _begins_with_word("venus", "venus")
    True
    """
    if not text.startswith(word):
        return False
    next_character = text[len(word) : len(word) + 1]
    return not next_character.isalnum()


def map_of(location: str, scene: str) -> Path:
    """Find the file with the disparity map of a scene.

    Parameters
    ----------
    location : str
        A file, a folder or a pattern:

        - A pattern contains ``{scene}``. For the scene ``middlebury2001/tsukuba``,
          ``{scene}`` is replaced by ``middlebury2001/tsukuba``, ``tsukuba`` or
          ``middlebury2001-tsukuba``. The first existing file is returned.
        - A folder contains the disparity maps of several scenes. A file fits if its
        name
          begins with the name of the scene, such as ``tsukuba_left.pfm``, or if one of
          its folders has exactly this name.
        - A file is returned for every scene.
    scene : str
        Name of the scene, such as ``middlebury2001/tsukuba``.

    Raises
    ------
    DataError
        No file fits the name of the scene, or several files fit equally well.
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
            f"there is no map of {scene}: no file and no subfolder in {folder} has the name of "
            "the scene"
        )
        raise DataError(message)
    return best_files[0]


def _file_for_pattern(pattern: str, scene: str) -> Path:
    """Replace ``{scene}`` in a pattern by the name of a scene, and return the file.

    For example, the names ``middlebury2001/tsukuba``, ``tsukuba`` and
    ``middlebury2001-tsukuba`` are tried in this order.

    Raises
    ------
    DataError
        No file exists.
    """
    names = dict.fromkeys([scene, scene.rpartition("/")[2], scene.replace("/", "-")])
    files = [Path(pattern.replace(_SCENE_FIELD, name)) for name in names]
    for file in files:
        if file.is_file():
            return file
    message = f"there is no map of {scene}: there is no file {' or '.join(map(str, files))}"
    raise DataError(message)


def read_map(
    path: PathLike,
    scene: Scene,
    *,
    disparity_scale: float | None = None,
    unknown: float | None = None,
    zero_is_known: bool | None = None,
) -> Disparity:
    """Read a disparity map of a scene with the encoding of its data set.

    For example, 8-bit disparity maps of Tsukuba usually have the scale 16 of the ground
    truth.

    Parameters
    ----------
    path : path-like
        Path of the disparity map.
    scene : Scene
        Scene of the disparity map.
    disparity_scale : float, optional
        Stored value of the disparity 1 pixel. A negative scale means negated
        disparities. The default for 8-bit images is the scale of the scene's ground
        truth. For other files, the default is the same as in `read_disparity`.
    unknown : float, optional
        Stored value of pixels without an estimate. The default for images such as PNG
        files is 0, unless `zero_is_known` applies. In PFM and similar files, NaN and
        infinity mark pixels without an estimate.
    zero_is_known : bool, optional
        Whether a 0 in an 8-bit image means the disparity 0 and not a missing estimate.
        The default is True for scenes with the protocol ``taxonomy2002`` (Scharstein
        and Szeliski 2002). For all other scenes, the default is False.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Disparities in pixels. Pixels without an estimate are NaN.

    Raises
    ------
    DataError
        The file is missing or damaged, or the file format requires a `disparity_scale`.
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
    """Read a disparity map and its scale with the parameters of `read_map`.

    Returns
    -------
    scale : float
        Stored value of the disparity 1 pixel.
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels. Pixels without an estimate are NaN.
    """
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
