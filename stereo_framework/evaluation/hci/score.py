"""What every HCI metric returns: a number, the contribution of each pixel, and the share of the subset that was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.parameters import brief
from stereo_framework.core.scene import Mask
from stereo_framework.evaluation.hci.subsets import Subsets


@brief
@dataclass(frozen=True, eq=False)
class Score:
    """The result of one metric.

    Parameters
    ----------
    value : float
        0 is perfect, larger is worse; NaN where the subset is empty or nothing in it was measured.
    picture : ndarray, float32, (rows, columns)
        The contribution of every measured pixel, in the metric's unit; NaN elsewhere.
    coverage : float
        Share of the subset's evaluated pixels that were measured, 0..1; NaN where there are none. A pixel without an estimate is not measured.
    """

    value: float
    picture: NDArray[np.float32]
    coverage: float


def mean_score(contributions: NDArray[np.floating], subset: Mask, subsets: Subsets) -> Score:
    """The mean of the contributions over the evaluated pixels of a subset. Pixels with NaN are not measured."""
    counted = subset & subsets.evaluated
    picture = np.where(counted, contributions, np.nan).astype(np.float32)
    values = picture[counted]
    measured = values[~np.isnan(values)]
    value = float(measured.mean(dtype=np.float64)) if measured.size else math.nan
    return Score(value, picture, measured.size / values.size if values.size else math.nan)
