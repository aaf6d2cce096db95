"""The kernel of stable matching: the largest unambiguous component of the matching table of every row."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.border import in_one_form
from stereo_framework.core.scene import Image, Mask
from stereo_framework.core.volume import Costs, CostVolume, Levels
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.kernels.window_statistics import Floats, window_variance


class Rules(NamedTuple):
    """When a candidate beats another one; the parameters of `stable_matching`."""

    alpha: float
    beta: float
    size: int
    ordering: bool
    two_sided: bool


def stable_labels(volume: CostVolume, reference: Image, match: Image, rules: Rules) -> Levels:
    """Levels of the confidently stable matching, -1 where there is none; cells of infinite cost are no candidates."""
    search, (rows, columns) = volume.search, volume.costs.shape[:2]
    labels = np.full((rows, columns), -1, np.int16)
    # Rows run so that the match pixel lies to the left of the reference pixel by the disparity.
    turn = slice(None, None, search.direction)
    left, right = (np.ascontiguousarray(window_variance(image, rules.size)[:, turn]) for image in (reference, match))
    seen = np.ascontiguousarray(search.in_view(columns)[turn])

    def run(start: int, stop: int) -> None:
        costs = in_one_form(volume.costs[start:stop, turn])
        _kernel(costs, left[start:stop], right[start:stop], seen, search.first, search.stride, rules, labels[start:stop])

    over_rows(run, rows, volume.costs.size)
    return np.ascontiguousarray(labels[:, turn])


@kernel
def _kernel(
    costs: Costs, left_variance: Floats, right_variance: Floats, seen: Mask, first: int, stride: int, rules: Rules, labels: Levels
) -> None:
    """Levels of the matched pixels of every row; the others are left alone."""
    ordering, (rows, columns, levels) = rules.ordering, costs.shape
    # Tables have a line for each reference pixel and hold every whole disparity; what is no candidate (any more) is -inf.
    shape = columns, (levels - 1) * stride + 1
    low, high = np.empty(shape, np.float64), np.empty(shape, np.float64)
    # With room for the neighbours of the outermost cells.
    crossing = np.empty((2 if ordering else 0, columns + 2, shape[1] + 4), np.float64)
    partner = np.empty(columns, np.int64)
    for y in range(rows):
        _confidence(costs[y], left_variance[y], right_variance[y], seen, first, stride, rules, low, high)
        partner[:] = -1
        while _match(low, high, crossing, first, ordering, partner):
            _remove(high, first, ordering, partner)
        for x in range(columns):
            if partner[x] >= 0:
                labels[y, x] = (x - partner[x] - first) // stride


@kernel
def _confidence(
    costs: Costs, left: Floats, right: Floats, seen: Mask, first: int, stride: int, rules: Rules, low: Floats, high: Floats
) -> None:
    """The similarity that a candidate can count on, `low`, and the one that others must beat, `high`, from costs and the variances of both images."""
    alpha, beta, two_sided = rules.alpha, rules.beta, rules.two_sided
    columns, levels = costs.shape
    low[:], high[:] = -np.inf, -np.inf
    for x in range(columns):
        for k in range(levels):
            d = k * stride
            if seen[x, k] and costs[x, k] < np.inf:
                similarity = 1 - np.float64(costs[x, k])
                margin = beta * abs(similarity)
                if alpha > 0:
                    variance = left[x] + right[x - first - d]
                    margin += alpha / variance if variance > 0 else np.inf
                low[x, d] = similarity - margin
                high[x, d] = similarity + margin if two_sided else similarity


@kernel
def _match(low: Floats, high: Floats, crossing: Floats, first: int, ordering: bool, partner: NDArray[np.int64]) -> bool:
    """Match all candidates that beat every competitor there still is; whether there was one."""
    columns, disparities = high.shape
    # By reference pixel and by match pixel: the highest candidate, and the second highest, its value alone.
    best, at, second = np.full((2, columns), -np.inf), np.full((2, columns), -1), np.full((2, columns), -np.inf)
    for x in range(columns):
        if partner[x] < 0:
            for d in range(disparities):
                value = high[x, d]
                if value > -np.inf:
                    u = x - first - d
                    if value > best[0, x]:
                        second[0, x], best[0, x], at[0, x] = best[0, x], value, u
                    elif value > second[0, x]:
                        second[0, x] = value
                    if value > best[1, u]:
                        second[1, u], best[1, u], at[1, u] = best[1, u], value, x
                    elif value > second[1, u]:
                        second[1, u] = value
    if ordering:
        _highest_crossing(high, crossing)
    found = False
    for x in range(columns):
        u = at[0, x]
        if u >= 0 and at[1, u] == x:
            d = x - first - u
            value = low[x, d]
            beats = value > second[0, x] and value > second[1, u]
            # Candidates that cross this one: later ones of higher and earlier ones of lower disparity, by two at least.
            if beats and (not ordering or (value > crossing[0, x + 2, d + 4] and value > crossing[1, x, d])):
                partner[x] = u
                found = True
    return found


@kernel
def _highest_crossing(high: Floats, crossing: Floats) -> None:
    """Per cell (x, d), at (x + 1, d + 2): the highest of all cells (x', u') with x' >= x and u' <= u, and of all with x' <= x and u' >= u."""
    columns, disparities = high.shape
    crossing[:] = -np.inf
    above, below = crossing[0], crossing[1]
    for x in range(columns - 1, -1, -1):
        for d in range(disparities - 1, -1, -1):
            above[x + 1, d + 2] = max(high[x, d], above[x + 2, d + 3], above[x + 1, d + 3])
    for x in range(columns):
        for d in range(disparities):
            below[x + 1, d + 2] = max(high[x, d], below[x, d + 1], below[x + 1, d + 1])


@kernel
def _remove(high: Floats, first: int, ordering: bool, partner: NDArray[np.int64]) -> None:
    """Take away all candidates that compete with a match, and the matches themselves."""
    columns, disparities = high.shape
    for x in range(columns):
        u = partner[x]
        if u >= 0:
            high[x] = -np.inf
            # The same match pixel at other disparities.
            for d in range(max(0, -u - first), min(disparities, columns - u - first)):
                high[u + first + d, d] = -np.inf
    if ordering:
        # Between which match pixels those of x must lie.
        after, before = np.empty(columns, np.int64), np.empty(columns, np.int64)
        nearest = -1
        for x in range(columns):
            nearest = partner[x] if partner[x] >= 0 else nearest
            after[x] = nearest
        nearest = columns
        for x in range(columns - 1, -1, -1):
            nearest = partner[x] if partner[x] >= 0 else nearest
            before[x] = nearest
        for x in range(columns):
            for d in range(disparities):
                if not after[x] < x - first - d < before[x]:
                    high[x, d] = -np.inf
