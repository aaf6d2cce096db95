"""A quick map: the pair at a fraction of its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.stages import Pair, Positive, PositiveInt, SearchRange, Status, Unit, stage


@stage("scheme", source="Quam 1987")
def coarse(
    solve: Callable[[Pair], Any],
    pair: Pair,
    *,
    reduction: PositiveInt = 2,
    step: Annotated[Positive, Unit("pixels")] | None = None,
) -> Any:
    """Match the pair several times smaller, and enlarge the map.

    Parameters
    ----------
    solve : callable
        Matches a pair.
    pair : Pair
        Its mask, if it has one, is made smaller with it.
    reduction : int
        Number by which the rows and columns of the pair are divided. With 1, the pair
        is matched at its full size.
    step : float, optional
        Distance of the smaller pair's levels in pixels of the smaller pair, N or 1/N.
        With null, it is the same number as the pair's own step.

    Returns
    -------
    Estimate
        Each pixel has `reduction` times the disparity of its block, and the status and
        the confidence of its block. There are no levels. If the disparity lies more
        than half a step outside the range (`SearchRange.beyond`), or if the block is
        invalid, the pixel has no estimate and is mismatched. A pixel whose cells are
        all excluded is invalid in any case.

    Raises
    ------
    ParameterError
        `reduction` below 1, or a step that is neither N nor 1/N.

    Notes
    -----
    Quam 1987 begins with small images too. An eighth of the cells are left at half the size: an initial map for stages that need one, such as
    `radiometric_field`, not a map to measure. A parabola before the check of both views brings back some of the precision.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import Pipeline, SearchRange
    >>> from stereo_framework.matching_cost import absolute_difference
    >>> from stereo_framework.optimization import winner_take_all
    >>> left, right = np.array([[0, 0, 80, 80, 0, 0]], np.uint8), np.array([[80, 80, 0, 0, 0, 0]], np.uint8)
    >>> match = Pipeline([absolute_difference, winner_take_all, coarse])(Pair(left, right, SearchRange(0, 2)))
    >>> match.disparity[0, 2:4].tolist()
    [2.0, 2.0]
    """
    search = pair.search
    if reduction == 1:
        if step is not None:
            search = SearchRange.covering(search.minimum, search.maximum, step, search.direction)
        return solve(replace(pair, search=search))

    small = solve(pair.reduced(reduction, step))
    rows, columns = pair.shape

    def enlarged(array: NDArray) -> NDArray:
        return array.repeat(reduction, axis=0).repeat(reduction, axis=1)[:rows, :columns]

    disparity, status = enlarged(small.disparity * np.float32(reduction)), enlarged(small.status)
    # The smaller pair's range is rounded outwards, and that all of a block's cells are closed says nothing of those of its pixels.
    lost = pair.search.beyond(disparity) | (status == Status.INVALID)
    disparity[lost], status[lost] = np.nan, Status.MISMATCHED
    if pair.mask is not None:
        # Nor does an estimate for a block say that its pixels may have one.
        invalid = pair.mask.invalid(pair.search, pair.shape)
        disparity[invalid], status[invalid] = np.nan, Status.INVALID
    return replace(
        small,
        disparity=disparity,
        status=status,
        confidence={name: enlarged(values) for name, values in small.confidence.items()},
        search=pair.search,
        trace=(),
        **dict.fromkeys(("levels", "volume", "energy", "objective", "lower_bound")),
    )
