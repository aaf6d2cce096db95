"""How sure each disparity is: by how much the winner undercuts the second best."""

from typing import Annotated

import numpy as np

from stereo_framework import NonNegativeInt, Unit, stage


@stage("confidence", source="Hu & Mordohai 2012, section 3", halo=lambda: 0)
def lead_of_the_winner(disparity, volume, *, apart: Annotated[NonNegativeInt, Unit("levels")] = 1):
    """Difference between the lowest cost of levels farther away and that of the chosen one.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    volume : CostVolume
        What the optimizer decided on.
    apart : int
        Levels next to the winner, to either side, that do not count as another choice.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Higher = surer, in units of the costs; finite everywhere. The pipeline sets pixels that end without an estimate, or filled, to the lowest.
    """
    search = volume.search
    chosen = np.rint((np.nan_to_num(disparity) - search.minimum) / search.step).astype(int)
    chosen = np.clip(chosen, 0, search.levels - 1)[..., None]
    lowest = np.take_along_axis(volume.costs, chosen, axis=2)[..., 0]
    near = np.abs(np.arange(search.levels) - chosen) <= apart
    second = np.where(near, np.float32(np.inf), volume.costs).min(axis=2)
    return np.where(np.isfinite(second), second - lowest, 0).astype(np.float32)
