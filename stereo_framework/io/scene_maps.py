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
"""File extensions of the supported formats for disparity maps."""

_SCENE_FIELD = "{scene}"
"""Placeholder in a path, which is replaced by the name of a scene."""


def map_files(folder: Path) -> list[Path]:
    """Return the files in a folder and its subfolders that can be disparity maps.

    Only the file extensions are tested. They include the extensions that plug-ins have
    registered. The files are sorted by their paths.
    """
    allowed = {*SUFFIXES, *registered_suffixes("disparity")}
    files = [path for path in folder.rglob("*") if path.suffix.lower() in allowed]
    return sorted(path for path in files if path.is_file())


def best_scenes(path: Path, names: Sequence[str]) -> dict[str, int]:
    """Find out to which scene a disparity map belongs, from the path of its file.

    The last part of a scene's name must be a folder in the path, or the beginning of
    the file name. If this holds for several scenes, the scene with the largest number
    of data set folders in the path is selected. For example, the path
    ``maps/middlebury2001/tsukuba.pfm`` contains the folder ``middlebury2001`` of the
    scene ``middlebury2001/tsukuba``. If these numbers are equal, the scene with the
    smallest number of data set folders that are not in the path is selected.

    Parameters
    ----------
    path : Path
        Path of the file, relative to the parent of the folder in which the user looks
        for disparity maps.
    names : sequence of str
        Full names of scenes, such as ``middlebury2001/tsukuba``.

    Returns
    -------
    dict of str to int
        Name of the selected scene, with the number of its data set folders that occur
        in the path. The dict has several names if several scenes fit equally well, and
        it is empty if no scene fits.

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
    """Return whether a longer text begins with a word as a whole.

    Examples
    --------
    >>> _begins_with_word("venus_left", "venus"), _begins_with_word("venus2", "venus")
    (True, False)
    """
    return text.startswith(word) and not text[len(word)].isalnum()


def map_of(location: str, scene: str) -> Path:
    """Find the file with the disparity map of a scene.

    Parameters
    ----------
    location : str
        A path of one of three kinds:

        - A path that contains ``{scene}``. For the scene ``middlebury2001/tsukuba``,
          this part is replaced by ``middlebury2001/tsukuba``, ``tsukuba`` or
          ``middlebury2001-tsukuba``. The first of these files that exists is returned.
        - A folder that contains the disparity maps of several scenes. The name of a
          scene must be in the name of the file or in the name of its folder.
        - A file, which is returned for every scene.
    scene : str
        Full name of the scene, such as ``middlebury2001/tsukuba``.

    Raises
    ------
    DataError
        No file has the name of the scene, or several files fit the name equally well.
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
    """Replace ``{scene}`` in a path by a scene's name, and return the file there.

    The full name of the scene, the last part of this name, and the full name with
    hyphens are tried in this order.

    Raises
    ------
    DataError
        None of the three files exists.
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
    """Read a disparity map that uses the encoding of the scene's data set.

    For example, an 8-bit disparity map of Tsukuba usually stores 16 times the
    disparity, because the ground truth of Tsukuba has this scale.

    Parameters
    ----------
    path : path-like
        Path of a disparity map in a format of `read_disparity` or of a plug-in.
    scene : Scene
        The scene to which the disparity map belongs.
    disparity_scale : float, optional
        Factor by which the disparities were multiplied before they were stored. The
        factor is negative if the file stores negated disparities. The default for 8-bit
        images is the scale of the scene's ground truth. For other files, the default is
        the same as in `read_disparity`.
    unknown : float, optional
        Stored value that marks a pixel without an estimate. The default is 0 for
        images such as PNG files, unless `zero_is_known` applies. In other files, such
        as PFM files, NaN and infinity mark pixels without an estimate.
    zero_is_known : bool, optional
        Whether a stored 0 in an 8-bit image means the disparity 0 and not a missing
        estimate. The default is True for scenes with the protocol ``taxonomy2002``
        (Scharstein and Szeliski 2002), and False for all other scenes.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Disparities in pixels. They are NaN at pixels without an estimate.

    Raises
    ------
    DataError
        The file is missing or damaged, or `disparity_scale` is missing although the
        file format requires it.
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
    """Read a disparity map as `read_map` does, and also return its scale.

    The parameters are those of `read_map`.

    Returns
    -------
    scale : float
        Factor by which the disparities were multiplied before they were stored.
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels. They are NaN at pixels without an estimate.
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
