"""A metric: a number that says how far a map is from the truth, in each region of the protocol."""

import numpy as np

import stereo_framework as sf


@sf.metric(unit="px", better="lower", source="TODO: paper, equation")
def mine(disparity, truth, mask):
    """Median distance from the truth. The maps are float32 (rows, columns), NaN = no estimate; mask is True where pixels count."""
    return np.nanmedian(np.abs(disparity - truth)[mask])
