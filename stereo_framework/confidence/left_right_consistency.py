"""Left-right consistency: how well the match frame's own disparity map agrees."""

from __future__ import annotations

import numpy as np

from stereo_framework.kernels.left_right import compute_left_right_difference
from stereo_framework.stages import ConfidenceMap, Disparity, SearchRange, View, stage


@stage("confidence", source="Hu & Mordohai 2012, section 3 (LRC); Egnal & Wildes 2002")
def left_right_consistency(disparity: Disparity, other: View, search: SearchRange) -> ConfidenceMap:
    """Minus the difference between a pixel's disparity and the disparity of its matched pixel in the match frame's own map.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    other : View
        The match frame's disparity map.
    search : SearchRange
        Its direction says where the match frame lies; its width bounds the differences.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels; 0 = both maps agree, lower = less sure. The lowest value is minus the width of the search range; it is used where there is no
        estimate, where the matched pixel has none, or where it would lie outside the image.

    Notes
    -----
    The matched pixel is the one nearest to ``x - direction * d``; `d` is rounded with halves away from zero, as in `left_right_check`.

    Examples
    --------
    >>> from stereo_framework.stages import DisparityMap
    >>> import numpy as np
    >>> left, right = np.float32([[0, 0, 1, 1]]), np.float32([[0, 1, 0.5, 0]])
    >>> matched = np.zeros((1, 4), np.uint8)
    >>> other = DisparityMap(right, matched, SearchRange(0, 2, direction=-1))
    >>> left_right_consistency(left, other, SearchRange(0, 2)).tolist()
    [[0.0, -1.0, 0.0, -0.5]]
    """
    difference = compute_left_right_difference(disparity, other.disparity, search.direction)
    width = np.float32(search.maximum - search.minimum)
    # Where both maps agree the result is 0, not -0.
    return np.float32(0) - np.fmin(difference, width)
