"""Keep what the other view confirms, and fill occluded pixels from the background."""

from typing import Annotated

import numpy as np

from stereo_framework import NonNegative, Unit, stage
from stereo_framework.core.volume import Status
from stereo_framework.refinement import fill_occlusions


@stage("refinement", source="Fua 1993, section 2.1")
def keep_confirmed(
    disparity,
    other,
    search,
    status,
    *,
    tolerance: Annotated[NonNegative, Unit("pixels")] = 1.0,
    fill: bool = True,
):
    """Take away disparities that the match frame's own map contradicts, and fill the holes along their row.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    other : View
        The match frame's disparity and status, as they were before this stage. Naming it is all it takes: the exchanged pair is matched by the same stages.
    search : SearchRange
        x_match = x_reference - search.direction * d.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`. A stage that returns disparities alone leaves it to the pipeline.
    tolerance : float
        Largest accepted difference in pixels.
    fill : bool
        Fill the holes from the background, or leave them.

    Returns
    -------
    disparity, status : ndarray
        The same shapes and types.
    """
    columns = np.arange(disparity.shape[1])
    target = np.rint(columns - search.direction * np.nan_to_num(disparity)).astype(int)
    seen = np.take_along_axis(other.disparity, np.clip(target, 0, columns[-1]), axis=1)
    # Comparisons with NaN are false.
    agrees = (target >= 0) & (target <= columns[-1]) & (np.abs(seen - disparity) <= tolerance)
    kept = np.where(agrees, disparity, np.float32(np.nan))
    told = np.where(agrees | np.isnan(disparity), status, Status.OCCLUDED)
    if fill:
        hole, kept = np.isnan(kept), fill_occlusions(kept)
        told = np.where(hole & ~np.isnan(kept), Status.FILLED, told)
    return kept, told.astype(np.uint8)
