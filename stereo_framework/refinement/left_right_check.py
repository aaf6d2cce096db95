"""Left-right check: only estimates that the match frame's own map confirms are kept."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import Status, StatusMap, status_of
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.left_right import round_half_away
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import Disparity, NonNegative, SearchRange, Unit, View, stage

_OCCLUDED, _MISMATCHED = int(Status.OCCLUDED), int(Status.MISMATCHED)


@stage("refinement", source="Fua 1993, section 2.1; Hirschmueller 2008, section 2.5")
def left_right_check(
    disparity: Disparity,
    other: View,
    search: SearchRange | None = None,
    status: StatusMap | None = None,
    *,
    tolerance: Annotated[NonNegative, Unit("pixels")] = 1.0,
) -> tuple[Disparity, StatusMap]:
    """Remove the disparities that the match frame's own map contradicts, and distinguish occluded pixels from mismatched ones.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    other : View, or ndarray, float32, (rows, columns)
        The match frame's map and status, or its map alone.
    search : SearchRange, optional
        Its direction says where the match frame lies; default: to the right of the reference frame.
    status : ndarray, uint8, (rows, columns), optional
        Values of `Status`; default: occluded where there is no estimate, else matched.
    tolerance : float
        Largest accepted difference in pixels.

    Returns
    -------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN where the other map contradicts, has no estimate, or shows nothing.
    status : ndarray, uint8, (rows, columns)
        Removed pixels are mismatched where some pixel of the match frame points to them, which another disparity would have found; otherwise they are
        occluded. All other pixels keep their status, also those without an estimate.

    Raises
    ------
    ParameterError
        The tolerance is negative.

    Notes
    -----
    The other map is read at the pixel nearest to ``x - direction * d``; `d` is rounded with halves away from zero. Hirschmueller calls a pixel occluded if the line of
    all its disparities does not meet the surface that the other map describes; here it meets the surface where a pixel of the match frame
    has the very disparity, rounded, that leads to it, whatever the tolerance.

    Examples
    --------
    A near surface of two pixels occludes two of the far one, which has the disparity 0.

    >>> from stereo_framework.stages import DisparityMap
    >>> import numpy as np
    >>> left, right = np.float32([[0, 0, 0, 2, 2, 0]]), np.float32([[0, 2, 2, 0, 0, 0]])
    >>> matched = np.zeros((1, 6), np.uint8)
    >>> other = DisparityMap(right, matched, SearchRange(0, 2, direction=-1))
    >>> checked, status = left_right_check(left, other, SearchRange(0, 2), matched)
    >>> checked.tolist(), status.tolist()
    ([[0.0, nan, nan, 2.0, 2.0, 0.0]], [[0, 1, 1, 0, 0, 0]])
    """
    return confirmed(
        disparity, other.disparity, 1 if search is None else search.direction, status, tolerance
    )


def confirmed(
    disparity: Disparity,
    other: Disparity,
    direction: int,
    status: StatusMap | None,
    tolerance: float,
) -> tuple[Disparity, StatusMap]:
    """What `left_right_check` returns, by the match frame's map alone."""
    checked, judged = disparity.copy(), status_of(disparity) if status is None else status.copy()
    limit = np.float32(tolerance)

    def run(start: int, stop: int) -> None:
        _kernel(other[start:stop], direction, limit, checked[start:stop], judged[start:stop])

    over_rows(run, disparity.shape[0], 10 * disparity.size)
    return checked, judged


@kernel
def _kernel(
    other: NDArray[np.float32],
    direction: int,
    tolerance: float,
    disparity: NDArray[np.float32],
    status: StatusMap,
) -> None:
    rows, columns = disparity.shape
    met = np.empty(columns, np.bool_)
    for y in range(rows):
        met[:] = False
        for x in range(columns):
            target = x + direction * round_half_away(other[y, x])
            if 0 <= target < columns:
                met[int(target)] = True
        for x in range(columns):
            if np.isnan(disparity[y, x]):
                continue
            target = x - direction * round_half_away(disparity[y, x])
            if 0 <= target < columns and abs(other[y, int(target)] - disparity[y, x]) <= tolerance:
                continue
            disparity[y, x] = np.nan
            status[y, x] = _MISMATCHED if met[x] else _OCCLUDED
