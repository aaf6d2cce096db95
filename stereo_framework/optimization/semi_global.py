"""Semi-global matching: sums of the cheapest paths to each pixel from many sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from stereo_framework.core.grey import GreyConversion
from stereo_framework.core.volume import EXCLUDED, EXCLUDED_FLOAT, Costs, CostVolume, Labeling
from stereo_framework.optimization._semi_global_paths import path_sums
from stereo_framework.optimization._semi_global_penalties import (
    Penalties,
    PenaltyRule,
    PenaltyRules,
    penalties_of_steps,
)
from stereo_framework.stages import Image, NonNegative, Unit, stage


def fault_of_penalties(p1: float, p2: float) -> str | None:
    """Describe penalties that do not fit together; None if they fit."""
    return f"p2 is {p2:g}, below p1, {p1:g}" if p2 < p1 else None


@stage(
    "optimization",
    source="Hirschmueller 2008, section 2.2; Mei et al. 2011",
    memory=1,
    integer=True,
    check_parameters=fault_of_penalties,
)
def semi_global(
    volume: CostVolume,
    reference: Image | None = None,
    match: Image | None = None,
    *,
    paths: Literal[4, 8] = 8,
    p1: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
    p2: Annotated[NonNegative, Unit("units of the matching cost")] = 100.0,
    penalties: PenaltyRule = "constant",
    edge_threshold: Annotated[NonNegative, Unit("grey levels")] = 15.0,
    grey_conversion: GreyConversion = "luma",
) -> Labeling:
    """The level of lowest cost at each pixel, its costs summed over the cheapest paths that lead there from four or eight sides.

    Parameters
    ----------
    volume : CostVolume
        Costs float32, uint8 or uint16 (rows, columns, levels).
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3), optional
        Intensities 0..255, for penalties that depend on them.
    paths : int
        4: along rows and columns; 8: along diagonals too.
    p1 : float
        Penalty of a change by one level between neighbours on a path, in units of the matching cost.
    p2 : float
        Penalty of any larger change, in units of the matching cost; not below `p1`.
    penalties : {"constant", "gradient", "edges"}
        "gradient": `p2` is divided by the difference of the grey values of both pixels
        of the reference image, in whole grey levels, but never falls below `p1`. Where
        `p1` and `p2` are whole numbers, the quotient is rounded to one. "edges": both
        penalties fall to a quarter where the reference or the match image has an edge
        between both pixels, and to a tenth where both images have one.
    edge_threshold : float
        Two pixels have an edge between them when their intensities differ by this much in some channel, in grey levels; for "edges" alone. Out
        of view the match image has no edge; between two pixels it has those of the nearer.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours to the grey values of "gradient", as in `census`.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), all assigned, and the costs of the given volume there. `volume` holds the sums of the paths, which later
        stages see: uint16 where the given costs are integers, all penalties whole and the sums below 65535, else float32.

    Raises
    ------
    ParameterError
        A parameter out of its range, or `p2` below `p1`.

    Notes
    -----
    Hirschmueller 2008, section 2.2: along a path that steps from p - r to p::

        L(p, d) = C(p, d) + min(L(p-r, d), L(p-r, d-1) + p1, L(p-r, d+1) + p1, min_k L(p-r, k) + p2) - min_k L(p-r, k)

    A path starts at the image's border with its costs alone. The winner has the lowest sum of L over all paths; of equal sums the lowest level wins.
    Penalties by gradient are his too; those by edges are Mei et al.'s (2011), who take four paths, and p1 = 1 and p2 = 3 for costs from 0 to 2. The defaults
    suit costs from 0 to about 60, such as the bits of a census of 9x7; as multiples of 20 they stay whole numbers at edges.

    Whole numbers give the same result in either type. The largest sum that open cells can have is known before the paths are walked, from the
    penalties and the largest cost, so that nothing wraps. Cells that a mask closes, which hold 65535 or 1000000, stay closed in the sums: 65535, or at
    least 1000000; no path to another cell comes through them as long as `p2` and the costs are smaller. Direct calls refuse NaN costs; in
    pipelines they count as closed. Through pixels without an open cell, which cost
    nothing, paths pass unchanged but for penalties.

    `stereo_framework.parts.compute_path_costs` returns the path costs L of one
    direction.

    At most two threads work, one down and one up the image. Besides the given volume there is that of the sums; paths are kept for a row.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange
    >>> costs = np.array([[[0, 9], [5, 4], [0, 9]]], np.uint8)
    >>> image = np.zeros((1, 3), np.uint8)
    >>> result = semi_global(CostVolume(costs, SearchRange(0, 1), 9.0), image, image, paths=4, p1=2, p2=2)
    >>> result.levels.tolist(), result.volume.costs[0, 1].tolist()
    ([[0, 0, 0]], [20, 20])
    """
    steps = paths // 2
    shape = volume.shape
    rules = PenaltyRules(p1, p2, penalties, edge_threshold, grey_conversion)
    prices = penalties_of_steps("semi_global", shape, (reference, match), steps, rules)
    costs = without_nan(volume.costs)
    kind = np.uint16 if _fits(costs, prices, paths) else np.float32
    sums, labels, chosen = path_sums(costs, volume.search, prices, kind)
    return Labeling(
        labels, chosen, replace(volume, costs=sums, outside_cost=paths * volume.outside_cost)
    )


def without_nan(costs: Costs) -> Costs:
    """Replace NaN, which would spread along paths, by the cost of excluded cells."""
    costs = np.ascontiguousarray(costs)
    if np.isnan(costs.min()):
        return np.where(np.isnan(costs), EXCLUDED_FLOAT, costs)
    return costs


def _fits(costs: Costs, penalties: Penalties, paths: int) -> bool:
    """Whether sums of paths are whole numbers that uint16 holds."""
    prices = penalties.prices
    if costs.dtype == np.float32 or (prices != np.rint(prices)).any():
        return False
    # Of bytes the largest there may be, else the largest of the open cells.
    largest = 255 if costs.dtype == np.uint8 else int(costs.max())
    if largest == EXCLUDED:
        largest = int(np.max(costs, initial=0, where=costs != EXCLUDED))
    # A path costs at its end no more than the pixel there and one change.
    return paths * (largest + float(prices.max())) < EXCLUDED
