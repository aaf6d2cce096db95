"""Metrics at depth discontinuities: foreground fattening and thinning, fuzziness.

Conventions: a map and the truth are float32 ``(rows, columns)`` in pixels; a value that is not finite is missing or unknown. `subsets` are those of the
truth, of the map's size. 0 is perfect, larger is worse.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Mask
from stereo_framework.evaluation.hci._nearest import distance_to, nearest_values
from stereo_framework.evaluation.hci.score import Score, mean_score
from stereo_framework.evaluation.hci.subsets import Subsets


def foreground_fattening(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """Share of the background beside discontinuities whose disparity is closer to the foreground's than to its own.

    Returns
    -------
    Score
        Fraction, 0..1. Picture: 1 where fattened, 0 elsewhere in M_b.

    Notes
    -----
    Honauer et al. 2015, equations 1 and 2: ``|D_gt - D_a| > |D_f - D_a|``.
    """
    return nearer_to(disparity, truth, subsets.foreground_disparity, subsets.background, subsets)


def foreground_thinning(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """Share of the foreground beside discontinuities whose disparity is closer to the background's than to its own.

    Returns
    -------
    Score
        Fraction, 0..1. Picture: 1 where thinned, 0 elsewhere in M_f.

    Notes
    -----
    Honauer et al. 2015, equations 3 and 4: ``|D_gt - D_a| > |D_b - D_a|``.
    """
    return nearer_to(disparity, truth, subsets.background_disparity, subsets.foreground, subsets)


def nearer_to(disparity: Disparity, truth: Disparity, other: Disparity, subset: Mask, subsets: Subsets) -> Score:
    """Share of a subset whose disparities are closer to those of another surface than to the truth."""
    with np.errstate(invalid="ignore"):  # an infinite estimate is a missing one, as is NaN
        wrong = np.abs(truth - disparity) > np.abs(other - disparity)
    return mean_score(np.where(np.isfinite(disparity), wrong, np.nan), subset, subsets)


def fuzziness(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """How far the gradients of a map lie from the discontinuities at which they belong.

    Returns
    -------
    Score
        Pixels of distance times pixels per pixel of gradient (in image widths instead: `Parameters.fuzziness_distance`); not bounded.
        Over M_e, the discontinuities and both bands.

    Notes
    -----
    Honauer et al. 2015, equations 5 and 6: where the estimate's gradient is too strong, the difference counts with the distance to
    the discontinuity; where it is too weak, with the distance to the outside of M_e. Gradients are the lengths of central differences.
    Pixels with unknown truth or without an estimate are not counted. In the gradients of their neighbours, in both maps, they take the disparity of the
    nearest pixel that has both, so that an estimate at an unknown pixel has no influence. Unknown pixels do not count as outside either.
    """
    near = subsets.edges | subsets.foreground | subsets.background
    known, estimated = np.isfinite(truth), np.isfinite(disparity)
    too_weak = _gradient(truth, known & estimated) - _gradient(disparity, known & estimated)
    weight = np.where(too_weak < 0, distance_to(subsets.edges), distance_to(known & ~near))
    if subsets.parameters.fuzziness_distance == "width":
        weight /= truth.shape[1]
    return mean_score(np.where(estimated, np.abs(too_weak) * weight, np.nan), near, subsets)


def _gradient(disparity: Disparity, known: Mask) -> NDArray[np.float32]:
    """Length of the gradient by central differences, in pixels per pixel."""
    filled = np.pad(nearest_values(disparity, known), 1, mode="edge")
    across, down = filled[1:-1, 2:] - filled[1:-1, :-2], filled[2:, 1:-1] - filled[:-2, 1:-1]
    return np.hypot(across, down) / 2
