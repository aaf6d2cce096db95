"""Metrics of fine structures: porosity, fragmentation, detail fattening, and how many are missed.

Conventions: a map and the truth are float32 ``(rows, columns)`` in pixels; a value that is not finite is missing or unknown. `subsets` are those of the
truth, of the map's size. 0 is perfect, larger is worse. A pixel of a structure is found when its error is at most `Parameters.structure_tolerance`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np

from stereo_framework.core.scene import Disparity, Mask
from stereo_framework.evaluation.hci._nearest import distance_to
from stereo_framework.evaluation.hci.discontinuity_metrics import nearer_to
from stereo_framework.evaluation.hci.score import Score, mean_score
from stereo_framework.evaluation.hci.subsets import Subsets


def porosity(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """How many holes the structures have, and how large they are.

    Returns
    -------
    Score
        Natural logarithm of 1 + distance in pixels; not bounded.

    Notes
    -----
    Honauer et al. 2015, equation 10: a pixel that is not found counts with ``log(1 + distance)``, where the distance is to the nearest pixel that is found;
    a found pixel counts with 0. We depart from the equation in one point: it takes the nearest found pixel of any structure, while we take that of the
    pixel's own structure, because a neighbouring structure that was found does not fill the hole. If nothing of a structure is found, the distance is
    the diagonal of its bounding box, which is finite and larger than any distance within the structure.
    """
    contributions = np.full(truth.shape, np.nan, np.float32)
    for window, structure, found in _structures(disparity, truth, subsets):
        # In a window that is the bounding box, this distance is its diagonal when nothing is found.
        contributions[window][structure] = np.log1p(distance_to(found)[structure])
    return mean_score(np.where(np.isfinite(disparity), contributions, np.nan), subsets.structures > 0, subsets)


def fragmentation(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """Into how many pieces the structures fall.

    Returns
    -------
    Score
        0..1, the mean over the structures of 1 - 1 / pieces: 0 in one piece, 0.5 in two, 0.67 in three. NaN where all are missed. Picture: this
        number in the pixels of every structure that is not missed.

    Notes
    -----
    Honauer et al. 2015, equation 11, with 8-connected pieces of found pixels. We depart from the equation in one point: it divides by the number of all
    structures, while we divide by the number of structures of which something is found. A structure of which nothing is found has no pieces, and the
    equation gives no value for it; `missed_structures` counts it instead. A pixel without an estimate is not found.
    """
    contributions = np.full(truth.shape, np.nan, np.float32)
    values = []
    for window, structure, found in _structures(disparity, truth, subsets):
        pieces = cv2.connectedComponents(found.view(np.uint8), connectivity=8)[0] - 1
        if pieces:
            values.append(1 - 1 / pieces)
            contributions[window][structure] = values[-1]
    score = mean_score(np.where(np.isfinite(disparity), contributions, np.nan), subsets.structures > 0, subsets)
    return Score(float(np.mean(values)) if values else math.nan, score.picture, score.coverage)


def missed_structures(disparity: Disparity, truth: Disparity, subsets: Subsets) -> int:
    """Number of structures of which no pixel is found.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels.
    subsets : Subsets
        Of the truth; `Subsets.structure_count` is the number of its structures.
    """
    return sum(not found.any() for _, _, found in _structures(disparity, truth, subsets))


def detail_fattening(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """Share of the background beside structures whose disparity is closer to the structure's than to its own.

    Returns
    -------
    Score
        Fraction, 0..1. Picture: 1 where fattened, 0 elsewhere in M_n.

    Notes
    -----
    Honauer et al. 2015, equations 12 and 13: ``|D_gt - D_a| > |D_n - D_a|``.
    """
    return nearer_to(disparity, truth, subsets.neighbourhood_disparity, subsets.neighbourhood, subsets)


def _structures(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Iterator[tuple[tuple[slice, slice], Mask, Mask]]:
    """For every structure its bounding box and, within the box, masks of its evaluated pixels and of those that are found."""
    from scipy.ndimage import find_objects

    labels = np.where(subsets.evaluated, subsets.structures, 0)
    tolerance = subsets.parameters.structure_tolerance.of(truth.shape[1])
    for label, window in enumerate(find_objects(labels), start=1):
        if window is not None:
            structure = labels[window] == label
            # A comparison with a missing estimate is false.
            with np.errstate(invalid="ignore"):
                yield window, structure, structure & (np.abs(disparity[window] - truth[window]) <= tolerance)
