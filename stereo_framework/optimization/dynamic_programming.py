"""Dynamic programming along scan lines, with occlusions."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.stage import NonNegative, Unit, stage
from stereo_framework.core.volume import CostVolume, Labeling, Smoothness
from stereo_framework.kernels.threads import over_rows
from stereo_framework.optimization._occlusion_path import Steps, occlusion_paths
from stereo_framework.optimization._smoothness import required_smoothness

_REFUSED = ("linear", "truncated_linear", "truncated_quadratic")


@stage(
    "optimization",
    source="Scharstein & Szeliski 2002, section 4.3; Bobick & Intille 1999",
    halo=lambda: 0,
    check_parameters=lambda smoothness: (
        f"cannot take the smoothness term {smoothness}; legal: potts" if smoothness in _REFUSED else None
    ),
)
def dynamic_programming(
    volume: CostVolume,
    smoothness: Smoothness | None = None,
    *,
    occlusion_cost: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
) -> Labeling:
    """The cheapest ordered matching of every row, in which pixels of either image may be occluded.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    smoothness : Smoothness, optional
        A Potts model, of which the edges to the right are used.
    occlusion_cost : float
        Cost of an occluded pixel of either image, in units of the matching cost.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), -1 where the reference is occluded; the first and the last column are always matched. `objective` is
        the summed cost of the rows' paths: matching costs, occlusion costs and the weights of the edges at which a path returns from an
        occlusion to a match.

    Raises
    ------
    ParameterError
        The smoothness term grows with the difference of the disparities or does not fit the volume, or a parameter is out of its range.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.3: three states, after Bobick & Intille 1999. Where the disparity rises by k pixels, k pixels of
    the reference are occluded; where it falls by k, k pixels of the other image are. Every such jump pays once, whatever its size, the
    weight of the edge on which matching resumes. Of equal paths the one of lowest level in the row's last pixel wins; going back
    from there, a match goes before an occlusion of the reference and this before one of the other image. Path costs are accumulated in
    float32.

    Steps other than one pixel and a match frame on the left are exact too (the original test bed has the geometry of the other case only).
    A rise hides as many pixels of the reference as it is wide, rounded down, so that with fractional steps a rise by less than a pixel
    hides none, and the matched points of the match image are in order and distinct. All occlusions cost in proportion to their width.
    With the match frame on the left rows run from right to left.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, Search
    >>> costs = np.array([[[0, 9], [0, 9], [9, 9], [9, 0], [9, 0]]], np.float32)
    >>> result = dynamic_programming(CostVolume(costs, Search(0, 1), 255.0), occlusion_cost=2)
    >>> result.levels.tolist(), result.objective
    ([[0, 0, -1, 1, 1]], 2.0)
    """
    costs, search = volume.costs, volume.search
    rows, columns = costs.shape[:2]
    if smoothness is None:
        weights = np.zeros((rows, columns), np.float32)
    else:
        smoothness = required_smoothness(smoothness, "dynamic_programming")
        rho = smoothness.rho
        if (rho[1:] != rho[1]).any():
            raise ParameterError(
                "dynamic_programming: a jump pays once, whatever its size, but the smoothness term grows with it; use smoothness: potts"
            )
        weights = smoothness.right * rho[1]
    labels = np.empty((rows, columns), np.int16)
    chosen = np.empty((rows, columns), np.float32)
    totals = np.empty(rows, np.float64)
    steps = Steps(np.float32(occlusion_cost * search.step), search.denominator, search.stride, search.direction < 0)

    def run(start: int, stop: int) -> None:
        found = labels[start:stop], chosen[start:stop], totals[start:stop]
        occlusion_paths(costs[start:stop], weights[start:stop], steps, *found)

    over_rows(run, rows, costs.size)
    return Labeling(labels, chosen, objective=float(totals.sum()))
