"""Maximum-likelihood matching: the best ordered matching of every row at one price for every pixel that is left out."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import CostVolume, Labeling, Mask, NonNegative, Unit, stage

# How the best set of matches up to a cell follows from that up to another one.
_BOTH, _MATCH, _REFERENCE, _OTHER = 0, 1, 2, 3


@stage(
    "optimization",
    source="Cox, Hingorani, Rao & Maggs 1996",
    whole_steps="matches pixels one to one",
    halo=lambda: 0,
)
def maximum_likelihood_matching(
    volume: CostVolume,
    *,
    occlusion_cost: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
) -> Labeling:
    """The one-to-one matching of every row that keeps the order of the pixels and costs least, unmatched pixels having one price.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    occlusion_cost : float
        Price of every unmatched pixel of either image, in units of the matching cost. Two pixels are never matched where that costs
        twice as much or more.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), -1 = unmatched. `objective` is the cost of all matches and all unmatched pixels of both images.

    Raises
    ------
    ParameterError
        `occlusion_cost` below 0, or disparities at fractions of a pixel.

    Notes
    -----
    Cox, Hingorani, Rao & Maggs 1996, without their further criterion of few discontinuities. In their model the matching cost is half
    the squared normalized difference of the two pixels, and the price follows from the probability of detection; here both are free.

    It differs from `dynamic_programming` without a smoothness term in two respects: pixels of both images may stay unmatched at the same
    place, which leaves doubtful pixels out within a surface too, and so may those at the ends of the rows. Of equal solutions one is
    taken by a fixed rule, the same on any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange
    >>> costs = np.array([[[0, 255], [0, 9], [50, 9], [9, 0], [9, 0]]], np.float32)
    >>> result = maximum_likelihood_matching(CostVolume(costs, SearchRange(0, 1), 255.0), occlusion_cost=2)
    >>> result.levels.tolist(), result.objective
    ([[0, 0, -1, 1, 1]], 4.0)
    """
    volume.search.check_whole_steps("maximum_likelihood_matching")
    costs, search = volume.costs, volume.search
    rows, columns = costs.shape[:2]
    labels = np.full((rows, columns), -1, np.int16)
    # Rows run so that the match pixel lies to the left of the reference pixel by the disparity.
    turned, result = (a[:, :: search.direction] for a in (costs, labels))
    seen = search.in_view(columns)[:: search.direction]

    def run(start: int, stop: int) -> None:
        _kernel(turned[start:stop], seen, search.stride, 2 * occlusion_cost, result[start:stop])

    over_rows(run, rows, costs.size)
    chosen = volume.chosen(labels)
    unmatched = 2 * int((labels < 0).sum())
    return Labeling(
        labels, chosen, objective=float(chosen.sum(dtype=np.float64)) + unmatched * occlusion_cost
    )


@kernel
def _kernel(
    costs: NDArray[np.float32], seen: Mask, stride: int, worth: float, labels: NDArray[np.int16]
) -> None:
    """Label the pixels of every row so that all its matches together save as much as possible. Pixels without a match keep their label.

    A match saves `worth` less its cost. Matches follow each other in both rows, so the problem falls apart: let S(x, d) be the most that can be saved
    by the pixels up to x of the reference row and those up to x - d of the match row. It is the largest of

    - S(x - 1, d - 1), where pixel x of the reference row has no match,
    - S(x, d + 1), where pixel x - d of the match row has none,
    - S(x - 1, d), where the two are matched, which saves something, or where neither has a match.

    Only the whole disparities of the range are kept. Beyond the range there is no match, so that the first two save no more there than the third.
    """
    rows, columns, levels = costs.shape
    disparities = (levels - 1) * stride + 1
    # S of one pixel x at a time. With d going down, the cells d - 1 and d still hold what they were for x - 1 when cell d is computed.
    saved = np.empty(disparities, np.float64)
    # Which of the three was the largest.
    choices = np.empty((columns, disparities), np.uint8)
    for y in range(rows):
        saved[:] = 0
        for x in range(columns):
            choice = choices[x]
            above = 0.0  # S(x, d + 1)
            for d in range(disparities - 1, -1, -1):
                best, what = saved[d], _BOTH
                if d < disparities - 1 and above >= best:
                    best, what = above, _OTHER
                if d > 0 and saved[d - 1] >= best:
                    best, what = saved[d - 1], _REFERENCE
                if d % stride == 0 and seen[x, d // stride]:
                    gain = worth - np.float64(costs[y, x, d // stride])
                    if gain > 0 and saved[d] + gain >= best:
                        best, what = saved[d] + gain, _MATCH
                choice[d] = what
                above = best
                saved[d] = best
        # Back along the choices, from the whole of both rows.
        x, d = columns - 1, 0
        while x >= 0:
            what = choices[x, d]
            if what == _MATCH:
                labels[y, x] = d // stride
            if what == _OTHER:
                d += 1
            else:
                x -= 1
                d -= what == _REFERENCE
