"""Depth discontinuities, and the foreground and background beside them (M_d, M_f, M_b of Honauer et al. 2015, section 3.1)."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from stereo_framework.core.scene import Disparity, Mask
from stereo_framework.evaluation.hci._nearest import distance_to, nearest_values
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
    foreground_disparity, background_disparity = nearest_values(truth, near), nearest_values(truth, far)
    # Distances are roots of whole numbers: no other lies within 0.01 of a whole one below 50.
    band = distance_to(edges) <= round(parameters.band_width.of(truth.shape[1])) + 1e-3
    band &= edges.any()
    # A comparison with unknown truth is false.
    to_foreground, to_background = np.abs(truth - foreground_disparity), np.abs(truth - background_disparity)
    foreground = _cleaned(band & (to_foreground < to_background), parameters.band_median)
    background = _cleaned(band & (to_background < to_foreground), parameters.band_median)
    within = foreground | background
    disparities = (np.where(within, d, np.float32(np.nan)) for d in (foreground_disparity, background_disparity))
    return Edges(edges, foreground, background, *disparities)


def edge_sides(truth: Disparity, jump: float) -> tuple[Mask, Mask]:
    """Pixels on the near side and pixels on the far side of a step of more than `jump` pixels between 4-neighbours. A pixel may be in both."""
    near, far = np.zeros(truth.shape, bool), np.zeros(truth.shape, bool)
    for before, after in (((slice(None), slice(None, -1)), (slice(None), slice(1, None))), (slice(None, -1), slice(1, None))):
        step = truth[after] - truth[before]
        near[after] |= step > jump
        far[before] |= step > jump
        near[before] |= step < -jump
        far[after] |= step < -jump
    return near, far


def _cleaned(mask: Mask, side: int) -> Mask:
    """The pixels of a mask that a binary median leaves."""
    # For masks the median is the majority, which a box sum counts for any window.
    count = cv2.boxFilter(mask.view(np.uint8), cv2.CV_32F, (side, side), normalize=False, borderType=cv2.BORDER_REPLICATE)
    return mask & (2 * count > side * side)
