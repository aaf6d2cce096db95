"""What matchers from outside the package have in common: the files they consist of, the pair that they receive, and how their maps are taken over."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.scene import Disparity, Image, SearchRange, unmasked
from stereo_framework.stages import ParameterError, StereoFrameworkError


def existing(parameter: str, paths: Iterable[str]) -> list[Path]:
    """The existing files that a parameter names.

    Raises
    ------
    ParameterError
        A file is missing, or its path is empty.
    """
    for path in paths:
        if not path:
            raise ParameterError(f"{parameter}: is missing")
        if not Path(path).is_file():
            raise ParameterError(f"{parameter}: no file {path}")
    return list(map(Path, paths))


def left_and_right(reference: Image, match: Image, search: SearchRange) -> tuple[Image, Image]:
    """The pair as outside matchers expect it, a left and a right image: if the match frame lies to the left of the reference frame, both are mirrored."""
    if search.direction > 0:
        return reference, match
    return reference[:, ::-1].copy(), match[:, ::-1].copy()


def taken(
    who: str, found: Any, reference: Image, search: SearchRange, *, scale: float = 1.0
) -> Disparity:
    """Turn a map from outside into what a stage returns.

    Parameters
    ----------
    who : str
        The name of what computed it, for messages.
    found : object
        Disparities of the left image as of `left_and_right`; values that are not finite or that are masked mean no estimate.
    reference : ndarray, (rows, columns) or (rows, columns, 3)
    search : SearchRange
    scale : float
        Units of the map per pixel.

    Raises
    ------
    StereoFrameworkError
        It is not a map of numbers, or not of the image's size.
    """
    values = np.asarray(unmasked(who, found))
    rows, columns = reference.shape[:2]
    if values.dtype.kind not in "fiu" or values.ndim != 2:
        kind = (
            f"{values.dtype} {values.shape}"
            if isinstance(found, np.ndarray)
            else type(found).__name__
        )
        raise StereoFrameworkError(
            f"{who}: gave {kind}; expected a map of numbers, ({rows}, {columns})"
        )
    if values.shape != (rows, columns):
        raise StereoFrameworkError(
            f"{who}: its map is {values.shape[1]}x{values.shape[0]} pixels, the images are {columns}x{rows}"
        )
    with np.errstate(over="ignore"):
        disparity = (values / np.float64(scale)).astype(np.float32)
    disparity[~np.isfinite(disparity)] = np.nan
    return disparity if search.direction > 0 else np.ascontiguousarray(disparity[:, ::-1])
