"""Repetition of a refinement until the disparity map no longer changes."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from stereo_framework.refinement.median import median
from stereo_framework.stages import (
    Disparity,
    InSlot,
    PositiveInt,
    StatusMap,
    Step,
    Unit,
    stage,
    status_after_refinement,
    step,
)


def _halo(inner: Step, max_iterations: int) -> int | None:
    """Return the number of rows above and below a row that affect its disparities."""
    if inner.halo is None:
        return None
    return max_iterations * inner.halo


@stage("refinement", source="Gallagher & Wise 1981", halo=_halo)
def iterated(
    disparity: Disparity,
    status: StatusMap,
    *,
    inner: Annotated[Step, InSlot("refinement")] = step(median),
    max_iterations: Annotated[PositiveInt, Unit("iterations")] = 10,
) -> tuple[Disparity, StatusMap]:
    """Repeat a refinement until the disparity map and the status no longer change.

    The refinement is repeated at most `max_iterations` times.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels. NaN marks a pixel without an estimate.
    status : ndarray, uint8, (rows, columns)
        Status of each pixel. In a direct call, you may omit the status. The status is
        then computed from the disparity map. Pixels with a disparity are matched, and
        pixels without a disparity are occluded.
    inner : Step
        Refinement that is repeated. Each iteration gets the disparity map and the
        status of the previous iteration. All other data, such as the cost volume, are
        the same in all iterations.
    max_iterations : int
        Maximum number of iterations.

    Returns
    -------
    disparity : ndarray, float32, (rows, columns)
    status : ndarray, uint8, (rows, columns)

    Raises
    ------
    ParameterError
        `max_iterations` is below 1.

    Notes
    -----
    Gallagher & Wise 1981 study repeated median filters for one-dimensional signals.
    They prove that the filtered signal converges. The filter does not change the final
    signal, which they call a root. Other refinements may not converge.

    Examples
    --------
    >>> import numpy as np
    >>> disparity = np.array([[0, 9, 0, 9, 0, 9, 9, 9]], np.float32)
    >>> refined, _ = iterated(disparity, inner=step(median, size=3))
    >>> refined.tolist()
    [[0.0, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0]]
    """
    for _ in range(max_iterations):
        result = inner(disparity=disparity, status=status)
        if isinstance(result, tuple):
            new_disparity, new_status = result
        else:
            new_disparity = result
            new_status = status_after_refinement(disparity, status, new_disparity)
        is_unchanged = np.array_equal(new_disparity, disparity, equal_nan=True) and (
            np.array_equal(new_status, status)
        )
        disparity, status = new_disparity, new_status
        if is_unchanged:
            break
    return disparity, status
