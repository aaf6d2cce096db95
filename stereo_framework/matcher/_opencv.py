"""What OpenCV's block matchers have in common: how they receive a pair and how their maps are read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Disparity, Image, Search

SIXTEENTHS = 16
"""Units of a pixel in OpenCV's maps; it searches a multiple of as many disparities."""

NAMES = {
    "minDisparity": "search.minimum",
    "numDisparities": "search.maximum",
    "blockSize": "size",
    "P1": "p1",
    "P2": "p2",
    "disp12MaxDiff": "tolerance",
    "preFilterType": "filter",
    "preFilterSize": "filter_size",
    "preFilterCap": "filter_cap",
    "textureThreshold": "texture",
    "uniquenessRatio": "uniqueness",
    "speckleWindowSize": "speckle_size",
    "speckleRange": "speckle_range",
}
"""What parameters are called here, by their names in OpenCV."""


def check_odd(parameter: str, value: int) -> None:
    """Refuse windows of an even size, which have no centre pixel."""
    if value % 2 == 0:
        raise ParameterError(f"{parameter}: {value} is not odd")


def widest_difference(tolerance: int | None, search: Search) -> int:
    """OpenCV's ``disp12MaxDiff`` for a tolerance; for None, a value so large that every disparity passes."""
    return _levels(search)[1] if tolerance is None else tolerance


def _levels(search: Search) -> tuple[int, int]:
    """The smallest disparity and the number of disparities that OpenCV searches."""
    least = math.floor(search.minimum)
    return least, SIXTEENTHS * math.ceil((math.ceil(search.maximum) - least + 1) / SIXTEENTHS)


def compute(
    reference: Image,
    match: Image,
    search: Search,
    size: int,
    make: Callable[[int, int], Any],
    *,
    margin: int = 0,
    grey: bool = False,
) -> Disparity:
    """Compute the map of one of OpenCV's matchers, with estimates in all columns up to the borders.

    OpenCV leaves out as many columns at a border as there are disparities, and half a window all around; here the images are therefore extended by
    copies of their outermost pixels.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
    search : Search
    size : int
        Side in pixels of the windows that are matched; OpenCV refuses images smaller than half a window.
    make : callable
        Creates the matcher from the smallest disparity and the number of disparities.
    margin : int
        Further pixels by which the images are extended on all sides.
    grey : bool
        The matcher takes only grey images.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Sixteenths of pixels, NaN = no estimate, or one outside the range (`Search.beyond`).
    """
    images = [np.clip(np.rint(image), 0, 255).astype(np.uint8) for image in (reference, match)]
    if grey and reference.ndim == 3:
        images = [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in images]
    if search.direction < 0:
        images = [image[:, ::-1] for image in images]
    least, levels = _levels(search)
    rows, columns = reference.shape[:2]
    before, after = max(least + levels, 0) + margin, max(-least, size // 2 + 1 - columns, 0) + margin
    left, right = (cv2.copyMakeBorder(image, margin, margin, before, after, cv2.BORDER_REPLICATE) for image in images)
    found = make(least, levels).compute(left, right)[margin : margin + rows, before : before + columns].astype(np.float32)
    disparity = found / np.float32(SIXTEENTHS)
    # It marks what it does not match by a disparity below its range, and searches up to 15 disparities more than it was asked for.
    disparity[search.beyond(disparity)] = np.nan
    return disparity[:, ::-1].copy() if search.direction < 0 else disparity
