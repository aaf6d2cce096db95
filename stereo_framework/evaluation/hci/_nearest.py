"""Distances to the nearest pixel of a set, and the values there. Distances are Euclidean, in pixels."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Mask


def distance_to(mask: Mask) -> NDArray[np.float32]:
    """Distance of every pixel to the nearest pixel of the set. To an empty set it is the image's diagonal, so that no distance is infinite."""
    if not mask.any():
        return np.full(mask.shape, np.hypot(*mask.shape), np.float32)
    return cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)


def nearest_values(values: Disparity, mask: Mask) -> Disparity:
    """For every pixel the value of the nearest pixel of the set, which for members of the set is their own. NaN if the set is empty."""
    from scipy.ndimage import distance_transform_edt

    if mask.all():
        return values
    if not mask.any():
        return np.full(values.shape, np.nan, np.float32)
    rows, columns = distance_transform_edt(~mask, return_distances=False, return_indices=True)
    return values[rows, columns]
