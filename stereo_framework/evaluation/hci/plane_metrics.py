"""Metrics on planar surfaces: bumpiness, offset, misorientation.

Conventions: a map and the truth are float32 ``(rows, columns)`` in pixels; a value that is not finite is missing or unknown. `subsets` are those of the
truth, of the map's size. 0 is perfect, larger is worse. The planes are fitted to the truth, so the truth itself scores a little above 0 where a surface is not quite flat.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity
from stereo_framework.evaluation.hci.score import Score, mean_score
from stereo_framework.evaluation.hci.subsets import Subsets


def bumpiness(disparity: Disparity, subsets: Subsets) -> Score:
    """Mean curvature of the estimate where the truth is a plane.

    Returns
    -------
    Score
        1/px: pixels of disparity per square pixel of the image. Measured where the four neighbours have estimates too.

    Notes
    -----
    Honauer et al. 2015, equation 7: the absolute Laplacian. The paper does not give its kernel; we use that of the 4-neighbours. Nothing is clipped.
    """
    laplacian = np.full(disparity.shape, np.nan, np.float32)
    with np.errstate(invalid="ignore"):  # infinite estimates are missing ones
        centre = disparity[1:-1, 1:-1]
        laplacian[1:-1, 1:-1] = (disparity[1:-1, :-2] - centre) + (disparity[1:-1, 2:] - centre)
        laplacian[1:-1, 1:-1] += (disparity[:-2, 1:-1] - centre) + (disparity[2:, 1:-1] - centre)
    return mean_score(np.where(np.isfinite(laplacian), np.abs(laplacian), np.nan), subsets.planes > 0, subsets)


def offset(disparity: Disparity, subsets: Subsets) -> Score:
    """Mean distance of the estimate from the true plane.

    Returns
    -------
    Score
        Pixels, perpendicular to the plane in the space of column, row and disparity.

    Notes
    -----
    Honauer et al. 2015, equation 8; figure 11 calls it P_dist.
    """
    a, b, c = _coefficients(subsets)
    y, x = np.ogrid[: disparity.shape[0], : disparity.shape[1]]
    estimate = np.where(np.isfinite(disparity), disparity, np.nan)
    distance = np.abs(a * x + b * y + c - estimate) / np.sqrt(a * a + b * b + 1)
    return mean_score(distance, subsets.planes > 0, subsets)


def misorientation(disparity: Disparity, subsets: Subsets) -> Score:
    """Mean angle between the estimated surface and the true plane.

    Returns
    -------
    Score
        Degrees, 0..90, in the space of column, row and disparity. Measured where the whole window (`Parameters.normal_window`) has estimates.

    Notes
    -----
    Honauer et al. 2015, equation 9, called P_mis in figure 11. The surface normal is that of a plane fitted by least squares in a window.
    """
    side = subsets.parameters.normal_window
    estimated = np.isfinite(disparity)
    # On a full window the normal equations fall apart into one sum for each slope.
    line, ones = np.arange(side, dtype=np.float64) - side // 2, np.ones(side)
    line /= side * (line @ line)
    values = np.where(estimated, disparity, 0).astype(np.float64)
    p, q = cv2.sepFilter2D(values, cv2.CV_64F, line, ones), cv2.sepFilter2D(values, cv2.CV_64F, ones, line)
    a, b, _ = _coefficients(subsets)
    # Lengths of the cross product and the dot product of the normals (-a, -b, 1) and (-p, -q, 1); an arccosine would lose small angles.
    across = np.sqrt((a - p) ** 2 + (b - q) ** 2 + (a * q - b * p) ** 2)
    angle = np.degrees(np.arctan2(across, np.abs(a * p + b * q + 1)))
    whole = cv2.erode(estimated.view(np.uint8), np.ones((side, side), np.uint8), borderType=cv2.BORDER_CONSTANT, borderValue=0)
    return mean_score(np.where(whole, angle, np.nan), subsets.planes > 0, subsets)


def _coefficients(subsets: Subsets) -> tuple[NDArray[np.float64], ...]:
    """a, b and c of every pixel's plane; NaN off the planes."""
    table = np.vstack([np.full(3, np.nan), subsets.plane_coefficients])
    return tuple(table[:, i][subsets.planes] for i in range(3))
