"""OpenCV's semi-global block matching."""

from __future__ import annotations

from typing import Annotated, Literal

import cv2
from annotated_types import Ge, Le

from stereo_framework.matcher._opencv import check_odd, compute
from stereo_framework.stages import (
    Disparity,
    Image,
    NonNegativeInt,
    PositiveInt,
    SearchMask,
    SearchRange,
    Unit,
    stage,
)

_MODES = {
    "sgbm": cv2.STEREO_SGBM_MODE_SGBM,
    "hh": cv2.STEREO_SGBM_MODE_HH,
    "3way": cv2.STEREO_SGBM_MODE_SGBM_3WAY,
    "hh4": cv2.STEREO_SGBM_MODE_HH4,
}


@stage(
    "matcher",
    source="Hirschmueller 2008, in the form of OpenCV's StereoSGBM",
    whole_steps="searches whole pixels and interpolates between them",
)
def opencv_sgbm(
    reference: Image,
    match: Image,
    search: SearchRange,
    mask: SearchMask | None = None,
    *,
    mode: Literal["sgbm", "hh", "3way", "hh4"] = "sgbm",
    block_size: Annotated[PositiveInt, Unit("pixels")] = 3,
    p1: Annotated[PositiveInt, Unit("units of the matching cost")] = 72,
    p2: Annotated[PositiveInt, Unit("units of the matching cost")] = 288,
    disp12_max_diff: Annotated[PositiveInt, Unit("pixels")] | None = 1,
    pre_filter_cap: Annotated[int, Ge(15), Le(127), Unit("grey levels")] = 63,
    uniqueness_ratio: Annotated[NonNegativeInt, Unit("percent")] = 10,
    speckle_window_size: Annotated[NonNegativeInt, Unit("pixels")] = 100,
    speckle_range: Annotated[PositiveInt, Unit("pixels")] = 1,
) -> Disparity:
    """Match with OpenCV's StereoSGBM.

    The parameters have OpenCV's names, in snake case.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255; fractions are rounded.
    search : SearchRange
        Disparities between its ends, in pixels, are searched; OpenCV rounds their number up to a multiple of 16, and what it finds among
        the additional ones counts as no estimate. The step is not used, but for half of it that estimates may lie outside. Pipelines and scripts
        refuse steps below a pixel, because estimates are seldom as accurate as half of such a step.
    mask : SearchMask, optional
        OpenCV has no masks: a disparity in an excluded cell counts as no estimate.
    mode : str
        The paths along which costs are summed up. "sgbm": five, in one pass over the image; "hh": eight, in two passes; "3way": three, in one pass, the
        fastest; "hh4": four, in two passes.
    block_size : int
        Side in pixels of the windows that are matched; odd.
    p1, p2 : int
        Penalties, in units of the matching cost, for neighbours whose disparities differ by one pixel and by more. The defaults are 8 and 32
        times the 9 pixels of a window; OpenCV's examples multiply by the channels too. A large change counts as at least 1 more than a small one.
    disp12_max_diff : int or None
        Largest accepted difference in pixels to the other frame's map; null: no such check.
    pre_filter_cap : int
        Magnitude, in grey levels, at which horizontal derivatives, which are matched,
        are cut off; even values count as 1 more.
    uniqueness_ratio : int
        Percent by which the best cost must undercut all that lie more than a pixel away.
    speckle_window_size : int
        Regions of one surface with no more pixels than this are taken out; 0: none.
    speckle_range : int
        Largest difference in pixels between neighbours of one surface.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Sixteenths of pixels; NaN where the match is not unique, disagrees with the other frame's map or belongs to a region that is too small.

    Raises
    ------
    ParameterError
        An unknown mode, or an even window.

    Notes
    -----
    Hirschmueller 2008 sums mutual information; OpenCV matches derivatives and intensities as Birchfield & Tomasi 1998 do, over windows. It always
    takes medians over 3x3 pixels at the end. OpenCV 5.0 checks with a tolerance of 1 where its documentation promises no check; null therefore sets
    a tolerance as large as the range, which rejects nothing. It leaves out as many columns at the border as there are disparities; here the images
    are extended by that many copies of their outermost columns, as those of a cost volume are.
    """
    check_odd("opencv_sgbm.block_size", block_size)
    costs = {"P1": p1, "P2": p2, "PreFilterCap": pre_filter_cap, "Mode": _MODES[mode]}
    checks = {
        "UniquenessRatio": uniqueness_ratio,
        "SpeckleWindowSize": speckle_window_size,
        "SpeckleRange": speckle_range,
    }
    return compute(
        cv2.StereoSGBM.create(),
        (reference, match),
        search,
        mask,
        block_size,
        disp12_max_diff,
        costs | checks,
    )
