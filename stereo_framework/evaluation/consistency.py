"""Do two maps agree, those of the reference and of the match frame (left-right consistency) or two of one frame? Needs no ground truth.

The maps have the same shape and hold float32 disparities in pixels, larger = nearer; a value that is not finite is missing. The map of the
match frame holds disparities towards the reference frame, so that corresponding pixels of perfect maps have the same value.
"""

from __future__ import annotations

import numpy as np

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Disparity, Mask
from stereo_framework.evaluation._sizes import check_sizes
from stereo_framework.evaluation.disparity_error import bad_pixels, mean_absolute_error
from stereo_framework.kernels.left_right import left_right_kernel
from stereo_framework.kernels.threads import over_rows


def left_right_difference(disparity: Disparity, match_disparity: Disparity, direction: int) -> Disparity:
    """Absolute difference between every disparity and that of the pixel that it points to in the match frame's map.

    Parameters
    ----------
    disparity, match_disparity : ndarray, float32, (rows, columns)
        Pixels, of the reference frame and of the match frame.
    direction : int
        1 when the match frame lies to the right of the reference frame, -1 otherwise (`Scene.direction`).

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels; 0 where both maps agree. NaN where there is no estimate, or where it points out of the image or to a pixel without an estimate.

    Raises
    ------
    DataError
        The maps differ in size.
    ParameterError
        `direction` is neither 1 nor -1.

    Notes
    -----
    The cross-check of Fua 1993, section 2.1, before its threshold. A disparity `d` points to the pixel nearest to ``x - direction * d``, where `d` is
    rounded with halves away from zero, as in `render`.

    Examples
    --------
    >>> import numpy as np
    >>> left_right_difference(np.float32([[0, 1, 1, 2.5]]), np.float32([[1, 3, 0, 0]]), 1)
    array([[1. , 0. , 2. , 1.5]], dtype=float32)
    """
    check_sizes("left_right_difference", disparity=disparity, match_disparity=match_disparity)
    if direction not in (1, -1):
        raise ParameterError(f"direction: {direction!r} is neither 1 nor -1")
    difference = np.empty(disparity.shape, np.float32)
    over_rows(
        lambda a, b: left_right_kernel(disparity[a:b], match_disparity[a:b], direction, difference[a:b]),
        len(disparity),
        disparity.size,
    )
    return difference


def map_difference(
    disparity: Disparity, other: Disparity, threshold: float = 1.0, *, mask: Mask | None = None
) -> dict[str, float]:
    """How far two maps of one frame differ where both have an estimate.

    Parameters
    ----------
    disparity, other : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    threshold : float
        Pixels from which two estimates differ.
    mask : ndarray, bool, (rows, columns), optional
        Region; default: everywhere.

    Returns
    -------
    dict of str to float
        ``differing_pixels`` in percent of the pixels that both estimate, and ``mean_difference``, absolute, in pixels; NaN where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> map_difference(np.float32([[1, 2, 3, np.nan]]), np.float32([[1, 5, 3, 4]]), mask=np.array([[True, True, False, True]]))
    {'differing_pixels': 50.0, 'mean_difference': 1.5}
    """
    both = np.isfinite(other) & np.isfinite(disparity)
    if mask is not None:
        both &= mask
    return {
        "differing_pixels": bad_pixels(disparity, other, both, threshold),
        "mean_difference": mean_absolute_error(disparity, other, both),
    }
