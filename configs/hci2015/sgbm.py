"""A matcher from outside as a stage: OpenCV's semi-global block matching, which needs no cost volume and so stands as a refinement.

It replaces the map that comes in; ``fast.yaml`` lets it follow the winners of single pixels, which cost next to nothing. Scripts can sweep its
parameters, and its results are stored and resumed like all others.
"""

import math
from typing import Annotated

import cv2
import numpy as np

from stereo_framework.stage import NonNegative, NonNegativeInt, PositiveInt, Unit, stage


@stage("refinement", source="Hirschmueller 2008, in the form of OpenCV's StereoSGBM")
def sgbm(
    disparity,
    reference,
    match,
    search,
    *,
    window: Annotated[PositiveInt, Unit("pixels")] = 3,
    small_change: Annotated[NonNegative, Unit("units of the matching cost")] = 72.0,
    large_change: Annotated[NonNegative, Unit("units of the matching cost")] = 288.0,
    uniqueness: Annotated[NonNegativeInt, Unit("%")] = 10,
    speckle_size: Annotated[NonNegativeInt, Unit("pixels")] = 100,
):
    """Match with OpenCV's StereoSGBM, whatever the map so far.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels; gives the size alone.
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : Search
        Disparities between its ends, in pixels, are searched; OpenCV rounds their number up to a multiple of 16.
    window : int
        Side in pixels of the windows that are matched; odd.
    small_change, large_change : float
        Penalties, in units of the matching cost, for neighbours whose disparities differ by one pixel and by more. The defaults are those of
        OpenCV's example for windows of 3x3 pixels in colour: 8 and 32 times the pixels and channels of a window, rounded.
    uniqueness : int
        Percent by which the best cost must undercut the second.
    speckle_size : int
        Regions of one surface with no more pixels than this are taken out.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Sixteenths of pixels; NaN where no match is unique, agrees with the other frame's or belongs to a region large enough.

    Notes
    -----
    Five paths. OpenCV leaves out as many columns at the border as there are disparities; here the images are continued by so many copies of their
    outermost columns, as they are to the left of a cost volume's.
    """
    images = [np.clip(np.rint(image), 0, 255).astype(np.uint8) for image in (reference, match)]
    if search.direction < 0:
        images = [image[:, ::-1] for image in images]
    least = math.floor(search.minimum)
    levels = 16 * math.ceil((math.ceil(search.maximum) - least + 1) / 16)
    before, after = max(least + levels, 0), max(-least, 0)
    left, right = (cv2.copyMakeBorder(image, 0, 0, before, after, cv2.BORDER_REPLICATE) for image in images)
    matcher = cv2.StereoSGBM_create(
        minDisparity=least,
        numDisparities=levels,
        blockSize=window,
        P1=round(small_change),
        P2=round(large_change),
        disp12MaxDiff=1,
        preFilterCap=63,
        uniquenessRatio=uniqueness,
        speckleWindowSize=speckle_size,
        speckleRange=1,
    )
    columns = disparity.shape[1]
    sixteenths = matcher.compute(left, right)[:, before : before + columns].astype(np.float32)
    found = np.where(sixteenths < 16 * least, np.float32(np.nan), sixteenths / np.float32(16))
    return found[:, ::-1].copy() if search.direction < 0 else found
