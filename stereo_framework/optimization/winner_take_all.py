"""Winner-take-all: every pixel for itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.optimization._winners import Searched, row_winners, searched
from stereo_framework.stages import CostVolume, Labeling, stage


@stage(
    "optimization", source="Scharstein & Szeliski 2002, section 4.3", halo=lambda: 0, integer=True
)
def winner_take_all(volume: CostVolume) -> Labeling:
    """The level of lowest cost at each pixel; of equal costs the lowest level.

    Parameters
    ----------
    volume : CostVolume
        Costs float32, uint8 or uint16 (rows, columns, levels); NaN loses to every number.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), all assigned, and their costs, float32.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange
    >>> costs = np.array([[[3, 1, 1], [0, 0, 2]]], np.float32)
    >>> winner_take_all(CostVolume(costs, SearchRange(0, 2), 255.0)).levels.tolist()
    [[1, 0]]
    """
    costs, shape = np.ascontiguousarray(volume.costs), volume.shape
    labels = np.empty(shape, np.int16)
    lowest = np.empty(shape, np.float32)
    form = searched(costs)

    def run(start: int, stop: int) -> None:
        _kernel(costs, form, start, stop, labels, lowest)

    over_rows(run, shape[0], costs.size)
    return Labeling(labels, lowest)


@kernel
def _kernel(
    costs: NDArray,
    form: Searched,
    start: int,
    stop: int,
    labels: NDArray[np.int16],
    lowest: NDArray[np.float32],
) -> None:
    for y in range(start, stop):
        row_winners(form[0], form[1], y, labels[y])
        for x in range(labels.shape[1]):
            lowest[y, x] = costs[y, x, labels[y, x]]
