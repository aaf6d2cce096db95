"""What OpenCV's block matchers have in common: how they receive a pair and how their maps are read."""

import math
from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np

from stereo_framework.stages import Disparity, Image, ParameterError, SearchMask, SearchRange

SIXTEENTHS = 16
"""Units of a pixel in OpenCV's maps; it searches a multiple of as many disparities."""

SEARCH_NAMES = {"minDisparity": "search.minimum", "numDisparities": "search.maximum"}
"""Keys of scripts that take the place of OpenCV's parameters of the search range."""


def check_odd(parameter: str, value: int) -> None:
    """Refuse windows of an even size, which have no centre pixel."""
    if value % 2 == 0:
        raise ParameterError(f"{parameter}: {value} is not odd")


def compute(
    matcher: Any,
    pair: tuple[Image, Image],
    search: SearchRange,
    mask: SearchMask | None,
    block_size: int,
    disp12_max_diff: int | None,
    settings: Mapping[str, int],
    *,
    margin: int = 0,
    grey: bool = False,
) -> Disparity:
    """Compute the map of one of OpenCV's matchers, with estimates in all columns up to the borders.

    OpenCV leaves out as many columns at a border as there are disparities, and half a window all around; here the images are therefore extended by
    copies of their outermost pixels.

    Parameters
    ----------
    matcher : cv2.StereoMatcher
    pair : two ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
    search : SearchRange
    mask : SearchMask or None
    block_size : int
        Side in pixels of the windows that are matched; OpenCV refuses images smaller than half a window.
    disp12_max_diff : int or None
        Largest accepted difference in pixels to the other frame's map; None: so large that every disparity passes.
    settings : mapping of str to int
        What else is set, by OpenCV's names.
    margin : int
        Further pixels by which the images are extended on all sides.
    grey : bool
        The matcher takes only grey images.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Sixteenths of pixels, NaN = no estimate, or one outside the range (`SearchRange.beyond`) or in a closed cell.
    """
    images = [np.clip(np.rint(image), 0, 255).astype(np.uint8) for image in pair]
    rows, columns = images[0].shape[:2]
    if grey and images[0].ndim == 3:
        images = [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in images]
    if search.direction < 0:
        images = [image[:, ::-1] for image in images]
    least = math.floor(search.minimum)
    levels = SIXTEENTHS * math.ceil((math.ceil(search.maximum) - least + 1) / SIXTEENTHS)
    searched = {
        "MinDisparity": least,
        "NumDisparities": levels,
        "Disp12MaxDiff": levels if disp12_max_diff is None else disp12_max_diff,
    }
    for name, value in {"BlockSize": block_size, **searched, **settings}.items():
        getattr(matcher, f"set{name}")(value)
    before, after = (
        max(least + levels, 0) + margin,
        max(-least, block_size // 2 + 1 - columns, 0) + margin,
    )
    left, right = (
        cv2.copyMakeBorder(image, margin, margin, before, after, cv2.BORDER_REPLICATE)
        for image in images
    )
    found = matcher.compute(left, right)[margin : margin + rows, before : before + columns].astype(
        np.float32
    )
    disparity = found / np.float32(SIXTEENTHS)
    # It marks what it does not match by a disparity below its range, and searches up to 15 disparities more than it was asked for.
    disparity[search.beyond(disparity)] = np.nan
    if search.direction < 0:
        disparity = disparity[:, ::-1].copy()
    if mask is not None:
        disparity[mask.excluded(search.levels_of(disparity), search)] = np.nan
    return disparity
