"""OpenCV's block matching."""

from __future__ import annotations

from typing import Annotated, Literal

import cv2
from annotated_types import Ge, Le

from stereo_framework.matcher._opencv import SIXTEENTHS, check_odd, compute
from stereo_framework.stages import (
    Disparity,
    Image,
    NonNegativeInt,
    Positive,
    SearchMask,
    SearchRange,
    Unit,
    stage,
)

_FILTERS = {
    "sobel": cv2.STEREO_BM_PREFILTER_XSOBEL,
    "normalized": cv2.STEREO_BM_PREFILTER_NORMALIZED_RESPONSE,
}

Odd = Annotated[int, Ge(5), Le(255)]


@stage(
    "matcher",
    source="Konolige 1997, in the form of OpenCV's StereoBM",
    whole_steps="searches whole pixels and interpolates between them",
)
def opencv_bm(
    reference: Image,
    match: Image,
    search: SearchRange,
    mask: SearchMask | None = None,
    *,
    block_size: Annotated[Odd, Unit("pixels")] = 21,
    pre_filter_type: Literal["sobel", "normalized"] = "sobel",
    pre_filter_size: Annotated[Odd, Unit("pixels")] = 9,
    pre_filter_cap: Annotated[int, Ge(1), Le(63), Unit("grey levels")] = 31,
    texture_threshold: Annotated[NonNegativeInt, Unit("grey levels")] = 10,
    uniqueness_ratio: Annotated[NonNegativeInt, Unit("percent")] = 15,
    disp12_max_diff: Annotated[NonNegativeInt, Unit("pixels")] | None = None,
    speckle_window_size: Annotated[NonNegativeInt, Unit("pixels")] = 0,
    speckle_range: Annotated[Positive, Unit("pixels")] = 1.0,
) -> Disparity:
    """Match with OpenCV's StereoBM: the sum of absolute differences over square windows of filtered grey images.

    The parameters have OpenCV's names, in snake case, and OpenCV's defaults.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255; fractions are rounded, and colours are matched as grey.
    search : SearchRange
        Disparities between its ends, in pixels, are searched; OpenCV rounds their number up to a multiple of 16, and what it finds among
        the additional ones counts as no estimate. The step is not used, but for half of it that estimates may lie outside. Pipelines and scripts
        refuse steps below a pixel, because estimates are seldom as accurate as half of such a step.
    mask : SearchMask, optional
        OpenCV has no masks: a disparity in an excluded cell counts as no estimate.
    block_size : int
        Side in pixels of the windows that are matched; odd, 5 to 255.
    pre_filter_type : str
        Filter whose result is matched. "sobel": horizontal derivatives; "normalized":
        intensities less their mean over a window.
    pre_filter_size : int
        Side in pixels of the window whose mean "normalized" subtracts; odd, 5 to 255. The other filter does not use it.
    pre_filter_cap : int
        Magnitude, in grey levels, at which filtered intensities are cut off; 1 to 63.
    texture_threshold : int
        Smallest sum of the magnitudes of filtered intensities, in grey levels, over a window that is still matched.
    uniqueness_ratio : int
        Percent by which the best sum must undercut all that lie more than a pixel away.
    disp12_max_diff : int or None
        Largest accepted difference in pixels to the other frame's map; null: no such check.
    speckle_window_size : int
        Regions of one surface with no more pixels than this are taken out; 0: none.
    speckle_range : float
        Largest difference in pixels, to a sixteenth, between neighbours of one surface.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Sixteenths of pixels; NaN where the window has too little texture, or the match is not unique, disagrees with the other frame's map or belongs to
        a region that is too small.

    Raises
    ------
    ParameterError
        An unknown filter, or an even window size.

    Notes
    -----
    OpenCV leaves out half a window all around and as many columns at the border as there are disparities; here the images are extended by that many copies
    of their outermost pixels.
    """
    check_odd("opencv_bm.block_size", block_size)
    check_odd("opencv_bm.pre_filter_size", pre_filter_size)
    costs = {
        "PreFilterType": _FILTERS[pre_filter_type],
        "PreFilterSize": pre_filter_size,
        "PreFilterCap": pre_filter_cap,
    }
    checks = {
        "TextureThreshold": texture_threshold,
        "UniquenessRatio": uniqueness_ratio,
        "SpeckleWindowSize": speckle_window_size,
    }
    checks["SpeckleRange"] = round(SIXTEENTHS * speckle_range)
    return compute(
        cv2.StereoBM.create(),
        (reference, match),
        search,
        mask,
        block_size,
        disp12_max_diff,
        costs | checks,
        margin=block_size,
        grey=True,
    )
