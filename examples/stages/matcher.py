"""A whole matcher from elsewhere: it takes two images and gives a map, whatever it does in between."""

from typing import Annotated

import cv2
import numpy as np

from stereo_framework import PositiveInt, Unit, stage
from stereo_framework.core.volume import Status


@stage("matcher", source="Kanade & Okutomi 1994, section 2")
def match_windows(reference, match, search, *, window: Annotated[PositiveInt, Unit("pixels")] = 9):
    """Give each pixel the disparity whose window differs least.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        The disparities to try, `search.disparities`, in pixels; x_match = x_reference -
        search.direction * d. Here the steps are whole pixels.
    window : int
        Side of the square windows in pixels.

    Returns
    -------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate. A matcher may return this alone, (disparity, status), or (disparity, status, confidence);
        one that matches both views at once returns `BothSides(reference, match)` of such results.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`.
    """
    one, other = (
        image.astype(np.float32).reshape(*image.shape[:2], -1) for image in (reference, match)
    )
    rows, columns = one.shape[:2]
    lowest = np.full((rows, columns), np.inf, np.float32)
    disparity = np.full((rows, columns), np.nan, np.float32)
    # search.columns gives the columns that are visible in both images. It refuses steps
    # below a pixel, because the images are not sampled between pixels.
    spans = search.columns(columns)
    for d, (seen, match_columns) in zip(search.disparities, spans, strict=True):
        if seen.start == seen.stop:
            continue
        difference = np.abs(one[:, seen] - other[:, match_columns]).sum(axis=2)
        costs = cv2.blur(difference, (window, window))
        better = costs < lowest[:, seen]
        lowest[:, seen][better], disparity[:, seen][better] = costs[better], d
    return disparity, np.where(np.isnan(disparity), Status.OCCLUDED, Status.MATCHED).astype(
        np.uint8
    )
