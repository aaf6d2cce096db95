"""Filling of pixels without an estimate by the votes of the region of similar colour around them."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Image, SearchRange
from stereo_framework.kernels.arms import MAX_ARM_LENGTH, Arms, measure_arms
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import (
    Fraction01,
    Levels,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Status,
    StatusMap,
    Unit,
    per_image,
    stage,
)

arms_of = per_image(measure_arms)


@stage(
    "refinement",
    source="Mei et al. 2011, section 3.4",
    halo=lambda max_arm, iterations: iterations * (max_arm - 1),
)
def region_voting(
    disparity: Disparity,
    reference: Image,
    search: SearchRange,
    status: StatusMap,
    *,
    min_count: Annotated[NonNegativeInt, Unit("pixels")] = 20,
    min_share: Fraction01 = 0.4,
    iterations: Annotated[PositiveInt, Unit("passes")] = 5,
    max_arm: Annotated[int, Ge(1), Le(MAX_ARM_LENGTH), Unit("pixels")] = 34,
    tau: Annotated[Positive, Unit("grey levels")] = 20.0,
    far_arm: Annotated[PositiveInt, Unit("pixels")] = 17,
    tau_far: Annotated[Positive, Unit("grey levels")] = 6.0,
) -> tuple[Disparity, StatusMap]:
    """Give pixels without an estimate the most frequent one in the region of similar colour around them.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, from which `cross_based` makes its regions: the horizontal arms of all pixels on a pixel's vertical ones.
    search : SearchRange
        Votes are for its levels: an estimate between two of them counts for the nearer one, an estimate beyond its ends not at all.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`. Invalid pixels are not filled.
    min_count : int
        Number of estimates, in pixels, that a region must exceed to decide: tau_S of
        the paper.
    min_share : float
        Share of a region's estimates that the winning level must exceed, 0..1: tau_H of
        the paper.
    iterations : int
        Number of passes; pixels filled in one pass vote in the next.
    max_arm, tau, far_arm, tau_far : int, float, int, float
        Limits of the arms that span a region, with the meanings that they have in
        `cross_based`.

    Returns
    -------
    disparity : ndarray, float32, (rows, columns)
        Pixels. Of several most frequent levels the lowest is taken.
    status : ndarray, uint8, (rows, columns)
        Filled where a pixel was given a level.

    Raises
    ------
    ParameterError
        The share is outside 0..1, the count is negative, there are no iterations, or `cross_based` would refuse the arms.
    DataError
        The image or the status has another size than the disparities.

    Notes
    -----
    Mei et al. 2011, section 3.4; in the paper, voting precedes the estimation of sub-pixel positions.

    Examples
    --------
    >>> import numpy as np
    >>> row, image = np.float32([[3, 3, np.nan, 5, 7]]), np.array([[80, 80, 80, 80, 200]], np.uint8)
    >>> region_voting(row, image, SearchRange(0, 7), np.uint8([[0, 0, 1, 0, 0]]), min_count=2)
    (array([[3., 3., 3., 5., 7.]], dtype=float32), array([[0, 0, 3, 0, 0]], dtype=uint8))
    """
    arms = arms_of(reference, max_arm, float(tau), far_arm, float(tau_far))
    minimum, step = float(search.minimum), float(search.step)
    levels = np.rint((disparity - minimum) / step)
    votes = np.where((levels >= 0) & (levels < search.levels), levels, -1).astype(np.int16)
    empty = np.isnan(disparity) & (status != Status.INVALID)
    filled, told = disparity.copy(), status.copy()
    for _ in range(iterations):
        # Column by column, since regions of neighbours in a column share most of their rows.
        open_, elected = np.flatnonzero(empty.T), np.full(disparity.shape, -1, np.int16)

        def run(start: int, stop: int, chosen: NDArray = open_, elected: NDArray = elected) -> None:
            _kernel(
                votes,
                arms,
                chosen[start:stop],
                search.levels,
                min_count,
                min_share,
                elected,
            )

        over_rows(run, open_.size, 100 * open_.size)
        won = elected >= 0
        if not won.any():
            break
        votes[won] = elected[won]
        filled[won] = minimum + elected[won] * step
        told[won] = Status.FILLED
        empty &= ~won
    return filled, told


@kernel
def _kernel(
    votes: Levels,
    arms: Arms,
    chosen: NDArray[np.int64],
    levels: int,
    min_count: int,
    min_share: float,
    elected: Levels,
) -> None:
    """The level that the region of each of the `chosen` pixels elects, -1 = none; the pixels are counted down the columns."""
    rows = votes.shape[0]
    counts = np.zeros(levels, np.int32)
    # The rows of the region that has been counted, and its column.
    top, bottom, column = 0, 0, -1
    for pixel in chosen:
        x, y = pixel // rows, pixel % rows
        first, end = y - arms[2, y, x], y + arms[3, y, x] + 1
        if x != column or first >= bottom or end <= top:
            counts[:] = 0
            top, bottom, column = first, first, x
        _count(votes, arms, x, first, top, 1, counts)
        _count(votes, arms, x, top, first, -1, counts)
        _count(votes, arms, x, bottom, end, 1, counts)
        _count(votes, arms, x, end, bottom, -1, counts)
        top, bottom = first, end
        total, best = counts.sum(), np.argmax(counts)
        if total > min_count and counts[best] > min_share * total:
            elected[y, x] = best


@kernel
def _count(
    votes: NDArray[np.int16],
    arms: Arms,
    x: int,
    start: int,
    stop: int,
    by: int,
    counts: NDArray[np.int32],
) -> None:
    """Add `by` for each vote on the horizontal arms of the rows `start` to `stop` - 1 of a column."""
    for v in range(start, stop):
        for u in range(x - arms[0, v, x], x + arms[1, v, x] + 1):
            if votes[v, u] >= 0:
                counts[votes[v, u]] += by
