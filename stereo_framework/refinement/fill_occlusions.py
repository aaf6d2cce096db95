"""Filling of pixels without an estimate from their scan line."""

from __future__ import annotations

from typing import Literal

from stereo_framework.kernels.filling import fill_rows
from stereo_framework.stages import Disparity, stage


@stage("refinement", source="Scharstein & Szeliski 2002, sections 3.4 and 4.3", halo=lambda: 0)
def fill_occlusions(
    disparity: Disparity, *, rule: Literal["background", "left"] = "background"
) -> Disparity:
    """Give every pixel without an estimate one of the nearest estimates in its row.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels; NaN = no estimate.
    rule : str
        "background": the farther (smaller) of the nearest known disparities to the left and right, since what is occluded lies
        behind what occludes it. "left": the nearest known to the left, as the original test bed fills after dynamic programming.
        Where a pixel has known disparities on one side only, both rules take the nearest of these.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels; NaN only in rows without any estimate.

    Raises
    ------
    ParameterError
        The rule is unknown.

    Notes
    -----
    Scharstein & Szeliski 2002, section 3.4. The results of dynamic programming in their Table 5 are filled from the left, which is
    the background for a reference frame to the left of the match frame.

    Examples
    --------
    >>> import numpy as np
    >>> row = np.array([[5, np.nan, 2, np.nan]], np.float32)
    >>> fill_occlusions(row).tolist(), fill_occlusions(row, rule="left").tolist()
    ([[5.0, 2.0, 2.0, 2.0]], [[5.0, 5.0, 2.0, 2.0]])
    """
    return fill_rows(disparity, from_left=rule == "left")
