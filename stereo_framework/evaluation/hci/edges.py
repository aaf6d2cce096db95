"""Depth discontinuities, and the foreground and background beside them (M_d, M_f, M_b of Honauer et al. 2015, section 3.1).

Distances to the nearest pixel of a set, here and in planes and metrics, are Euclidean, in pixels.
"""

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Mask
from stereo_framework.evaluation.hci.parameters import Parameters


class Edges(NamedTuple):
    """Masks bool, disparities float32 in pixels, all ``(rows, columns)``; see `Subsets`."""

    edges: Mask
    foreground: Mask
    background: Mask
    foreground_disparity: Disparity
    background_disparity: Disparity


def find_edges(truth: Disparity, parameters: Parameters) -> Edges:
    """Find discontinuities and the bands on both sides of them.

    Parameters
    ----------
    truth : ndarray, float32, (rows, columns)
        Pixels, NaN = unknown. A jump to or from an unknown pixel is no discontinuity.
    parameters : Parameters

    Returns
    -------
    Edges
        The bands hold known pixels only, including those at the discontinuity, and are disjoint. Both disparities are given within the two bands and
        are NaN elsewhere.

    Notes
    -----
    Honauer et al. 2015, section 3.1. A pixel near a discontinuity belongs to the side whose nearest edge pixel has the more similar
    disparity, and to neither band when both are equally similar. The extrapolated disparity is that of this edge pixel. The median removes
    pixels from a band and never moves them into the other.
    """
    near, far = edge_sides(truth, parameters.edge_jump.of(truth.shape[1]))
    edges = near | far
    foreground_disparity, background_disparity = (
        nearest_values(truth, near),
        nearest_values(truth, far),
    )
    # Distances are roots of whole numbers: no other lies within 0.01 of a whole one below 50.
    band = distance_to(edges) <= round(parameters.band_width.of(truth.shape[1])) + 1e-3
    band &= edges.any()
    # A comparison with unknown truth is false.
    to_foreground, to_background = (
        np.abs(truth - foreground_disparity),
        np.abs(truth - background_disparity),
    )
    foreground = _cleaned(band & (to_foreground < to_background), parameters.band_median)
    background = _cleaned(band & (to_background < to_foreground), parameters.band_median)
    within = foreground | background
    disparities = (
        np.where(within, d, np.float32(np.nan))
        for d in (foreground_disparity, background_disparity)
    )
    return Edges(edges, foreground, background, *disparities)


def edge_sides(truth: Disparity, jump: float) -> tuple[Mask, Mask]:
    """Pixels on the near side and pixels on the far side of a step of more than `jump` pixels between 4-neighbours. A pixel may be in both."""
    near, far = np.zeros(truth.shape, bool), np.zeros(truth.shape, bool)
    for before, after in (
        ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
        (slice(None, -1), slice(1, None)),
    ):
        step = truth[after] - truth[before]
        near[after] |= step > jump
        far[before] |= step > jump
        near[before] |= step < -jump
        far[after] |= step < -jump
    return near, far


def _cleaned(mask: Mask, side: int) -> Mask:
    """The pixels of a mask that a binary median leaves."""
    # For masks the median is the majority, which a box sum counts for any window.
    count = cv2.boxFilter(
        mask.view(np.uint8),
        cv2.CV_32F,
        (side, side),
        normalize=False,
        borderType=cv2.BORDER_REPLICATE,
    )
    return mask & (2 * count > side * side)


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
