"""A confidence measure with an inner aggregation."""

from typing import Annotated

import numpy as np

from stereo_framework import stage, step
from stereo_framework.aggregation import box
from stereo_framework.stages import InSlot, Step


@stage("confidence", source="An example without a paper, 2026", halo=lambda: 0)
def stability(
    disparity,
    volume,
    *,
    inner: Annotated[Step, InSlot("aggregation")] = step(box, size=9),
):
    """Measure how little a disparity changes if the costs are aggregated once more.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    volume : CostVolume
        Costs that the optimizer decided on.
    inner : Step
        Aggregation that is applied to these costs.

    Returns
    -------
    ndarray, float32, (rows, columns)
        0 where the lowest aggregated cost lies at the same disparity, and lower values
        where it lies farther away. Pixels without an estimate have the lowest value.
    """
    # The pipeline gives the inner stage all other data, such as the reference image.
    aggregated = inner(volume=volume)
    winners = volume.search.disparity_of(aggregated.costs.argmin(axis=2))
    change = np.abs(winners - disparity)
    largest_change = volume.search.maximum - volume.search.minimum
    change[np.isnan(change)] = largest_change
    return -change.astype(np.float32)
