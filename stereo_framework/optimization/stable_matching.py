"""Confidently stable matching: semi-dense, pixels whose match is not beyond doubt stay unassigned."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, CostVolume, Labeling, Levels
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.kernels.window_statistics import Floats, compute_window_variance
from stereo_framework.stages import Image, Mask, NonNegative, Unit, kernel_array, stage


class Rules(NamedTuple):
    """When a candidate beats another one; the parameters of `stable_matching`."""

    alpha: float
    beta: float
    size: int
    ordering: bool
    two_sided: bool


@stage(
    "optimization",
    source="Sara 2002; Kostliva, Cech & Sara 2007",
    whole_steps="matches pixels one to one",
    halo=lambda size: size // 2,
)
def stable_matching(
    volume: CostVolume,
    reference: Image,
    match: Image,
    *,
    alpha: Annotated[NonNegative, Unit("squared grey levels")] = 10.0,
    beta: NonNegative = 0.05,
    size: Annotated[int, Ge(2), Unit("pixels")] = 5,
    ordering: bool = False,
    two_sided: bool = False,
) -> Labeling:
    """The matches of every row that beat all their competitors with confidence, and those that do once these are settled.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels). The similarity is 1 - cost: the correlation itself where the costs are those of
        `normalized_cross_correlation`, which `alpha` and `beta` are meant for.
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The images, for the variances of their windows.
    alpha : float
        Margin by which a match must beat its competitors, times the summed variances of its two windows, in squared grey levels: the less
        texture, the larger the margin. In colour variances are means over the channels.
    beta : float
        Further margin as a fraction of the match's own similarity.
    size : int
        Width and height in pixels of the windows that variances are taken over; usually that of the matching cost.
    ordering : bool
        Let matches that reverse the order of the pixels in the row compete as well, so that the result keeps that order.
    two_sided : bool
        Let competitors be as much better than they look as the match may be worse: their own margin is added to their similarity.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), -1 where nothing is certain; each pixel of either image is matched once at most.

    Raises
    ------
    ParameterError
        `alpha` or `beta` below 0, `size` below 2, or disparities at fractions of a pixel.
    DataError
        An image and the volume differ in size.

    Notes
    -----
    Sara 2002. A candidate p of similarity c(p) competes with all candidates for its reference pixel or its match pixel. It beats q when
    ``c(p) - delta(p) > c(q)``, where ``delta(p) = beta * |c(p)| + alpha / (var_L + var_R)``. A strict sub-kernel is a set without
    competitors among its members in which every competitor that a member does not beat is beaten by another member. The largest one is
    unique and found by matching, as long as there are any, candidates that beat all competitors, and removing these. With both margins
    0 this is the stable matching, which leaves hardly any pixel out; larger margins mostly leave fewer and better matches.

    The form of `alpha`'s term is ours: Kostliva, Cech & Sara 2007 name the two parameters, not the formula. Cells out of view are no
    candidates. A match without any competitor left wins, unless neither window has any texture and `alpha` is above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange
    >>> image = np.zeros((1, 3), np.uint8)
    >>> costs = np.array([[[0.1, 2], [0.3, 0.2], [0.0, 0.9]]], np.float32)
    >>> volume = CostVolume(costs, SearchRange(0, 1), 2.0)
    >>> stable_matching(volume, image, image, alpha=0, beta=0).levels.tolist()
    [[0, 0, 0]]
    >>> stable_matching(volume, image, image, alpha=0, beta=0.2).levels.tolist()
    [[-1, -1, 0]]
    """
    rules = Rules(float(alpha), float(beta), size, ordering, two_sided)
    volume.search.check_whole_steps("stable_matching")
    labels = stable_labels(volume, reference, match, rules)
    return Labeling(labels, volume.chosen(labels))


def stable_labels(volume: CostVolume, reference: Image, match: Image, rules: Rules) -> Levels:
    """Levels of the confidently stable matching, -1 where there is none; cells of infinite cost are no candidates."""
    search, (rows, columns) = volume.search, volume.costs.shape[:2]
    labels = np.full((rows, columns), -1, np.int16)
    # Rows run so that the match pixel lies to the left of the reference pixel by the disparity.
    turn = slice(None, None, search.direction)
    variances = (compute_window_variance(image, rules.size) for image in (reference, match))
    left, right = (np.ascontiguousarray(variance[:, turn]) for variance in variances)
    seen = np.ascontiguousarray(search.in_view(columns)[turn])

    def run(start: int, stop: int) -> None:
        costs = kernel_array(volume.costs[start:stop, turn])
        _kernel(
            costs,
            left[start:stop],
            right[start:stop],
            seen,
            search.first,
            search.stride,
            rules,
            labels[start:stop],
        )

    over_rows(run, rows, volume.costs.size)
    return np.ascontiguousarray(labels[:, turn])


@kernel
def _kernel(
    costs: Costs,
    left_variance: Floats,
    right_variance: Floats,
    seen: Mask,
    first: int,
    stride: int,
    rules: Rules,
    labels: Levels,
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
        _confidence(
            costs[y], left_variance[y], right_variance[y], seen, first, stride, rules, low, high
        )
        partner[:] = -1
        while _match(low, high, crossing, first, ordering, partner):
            _remove(high, first, ordering, partner)
        for x in range(columns):
            if partner[x] >= 0:
                labels[y, x] = (x - partner[x] - first) // stride


@kernel
def _confidence(
    costs: Costs,
    left: Floats,
    right: Floats,
    seen: Mask,
    first: int,
    stride: int,
    rules: Rules,
    low: Floats,
    high: Floats,
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
def _match(
    low: Floats,
    high: Floats,
    crossing: Floats,
    first: int,
    ordering: bool,
    partner: NDArray[np.int64],
) -> bool:
    """Match all candidates that beat every competitor there still is; whether there was one."""
    columns, disparities = high.shape
    # By reference pixel and by match pixel: the highest candidate, and the second highest, its value alone.
    best, at, second = (
        np.full((2, columns), -np.inf),
        np.full((2, columns), -1),
        np.full((2, columns), -np.inf),
    )
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
            if beats and (
                not ordering or (value > crossing[0, x + 2, d + 4] and value > crossing[1, x, d])
            ):
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
