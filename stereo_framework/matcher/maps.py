"""Disparity maps computed elsewhere, treated as if they had just been matched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from annotated_types import Predicate

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.parameters import Words, in_folder
from stereo_framework.io.scene_maps import map_of, read_map
from stereo_framework.stages import (
    CallReport,
    Disparity,
    Image,
    Located,
    Scene,
    SearchRange,
    Unit,
    report_call,
    stage,
)


def _is_factor(disparity_scale: float) -> bool:
    return disparity_scale != 0


def _files(path: str, scene: Scene | None) -> list[Path]:
    if not path:
        raise ParameterError("maps: is missing: a folder of maps, or a path with {scene}")
    fixed = Path(path.partition("{scene}")[0] + "*").parent if "{scene}" in path else Path(path)
    if not fixed.is_dir() and not Path(path).is_file():
        raise ParameterError(f"maps: no folder {fixed}")
    if scene is None:
        return []
    try:
        return [map_of(path, scene.name)]
    except DataError:
        # The run reports it; maps of other scenes may exist.
        return []


@stage(
    "matcher",
    source="Whoever made the maps; folders as benchmarks ask for them, Scharstein et al. 2014",
    files=_files,
)
def maps(
    reference: Image,
    match: Image,
    search: SearchRange,
    scene: Scene,
    *,
    path: Annotated[str, Located(in_folder, files_decide=True)] = "",
    disparity_scale: Annotated[
        float, Predicate(_is_factor), Words("a number other than 0"), Unit("stored units a pixel")
    ]
    | None = None,
    unknown: float | None = None,
) -> Disparity:
    """Read the disparity map of the scene from a file.

    Scripts have the key ``maps: PATH`` in place of all stages.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Only their size is used.
    search : SearchRange
        Not used.
    scene : Scene
        Its name says which file holds its map, and its data set says how 8-bit maps are encoded.
    path : str
        A path with {scene} for the scene's name (its last part, all of it, or all with hyphens), or a folder as benchmarks ask for it, in which a file or its
        folder is named like the scene; or a single file. Relative paths start at the script's folder.
    disparity_scale : float or None
        Stored units per pixel of disparity, negative if the files hold disparities of
        the other sign; null: 1 in files of pixels, 256 in pictures of 16 bits, and what
        the scene's data set uses in pictures of 8 bits.
    unknown : float or None
        Stored value that means no estimate, such as -1, before it is divided by
        `disparity_scale`; null: 0 in pictures, but none in 8-bit maps of scenes that
        are measured as in the 2002 paper, and what is not finite in files of pixels.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.

    Raises
    ------
    DataError
        There is no map of the scene or there are several, or it has another size than the images.
    """
    report_call(CallReport())  # The time of reading a file is not the time of the method.
    file = map_of(path, scene.name)
    disparity = read_map(file, scene, disparity_scale=disparity_scale, unknown=unknown)
    if disparity.shape != reference.shape[:2]:
        (rows, columns), (own_rows, own_columns) = reference.shape[:2], disparity.shape
        raise DataError(
            f"{file}: is {own_columns}x{own_rows}, the images of {scene.name} are {columns}x{rows}"
        )
    return disparity
