"""Cross-based aggregation: means over regions of like colour that grow from each pixel in four directions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from stereo_framework.core.scene import read_only
from stereo_framework.core.search import Geometry, arrange_samples, geometry
from stereo_framework.core.volume import Costs, CostVolume, SearchMask
from stereo_framework.kernels.arms import MAX_ARM_LENGTH, Arms, measure_arms
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import Image, Positive, PositiveInt, Unit, per_image, stage

arms_of = per_image(measure_arms)

Counts = NDArray[np.uint16]
Views = Literal["both", "reference"]

_BLOCK = 128
"""Rows that are summed up at a time."""
_HONEST, _FAR_OFF = 256, 4096
"""An outside cost up to the first takes no precision from costs in view; a larger one that is so many times their largest says nothing of their size."""
_PART = 1024
"""Cells of a row that are summed up at a time along columns: the sums of a block and its arms are to stay in the second cache."""


class _Support(NamedTuple):
    """Arms of the reference image, (4, rows, columns), and of the match image as `_along_levels` puts them, by their geometry."""

    own: Arms
    other: Arms
    geometry: Geometry


class _Arms(NamedTuple):
    """The arms of a row of pixels in one direction: their own, back and on, (columns,), and those of the match row, in the order of `_along_levels`."""

    own_back: NDArray[np.uint8]
    own_on: NDArray[np.uint8]
    back: NDArray[np.uint8]
    on: NDArray[np.uint8]


class _Running(NamedTuple):
    """Running sums of costs in the direction of arms, and over how many cells they are, flat.

    `counted`: the numbers are kept; otherwise every cell is one. `step`: from a cell's sum to that of the next cell on the arm; `levels`: from a pixel's
    cell to that of its neighbour in the row.
    """

    sums: NDArray[np.float64]
    totals: NDArray[np.int32]
    counted: bool
    step: int
    levels: int


def _halo(max_arm: int, iterations: int) -> int:
    # The arms of a pixel look at no rows but those that they reach.
    return iterations * (max_arm - 1)


@stage(
    "aggregation",
    source="Zhang, Lu & Lafruit 2009; Mei et al. 2011, section 3.2",
    halo=_halo,
    memory=3,
)
def cross_based(
    volume: CostVolume,
    reference: Image,
    match: Image,
    mask: SearchMask | None = None,
    *,
    max_arm: Annotated[int, Ge(1), Le(MAX_ARM_LENGTH), Unit("pixels")] = 34,
    tau: Annotated[Positive, Unit("grey levels")] = 20.0,
    far_arm: Annotated[PositiveInt, Unit("pixels")] = 17,
    tau_far: Annotated[Positive, Unit("grey levels")] = 6.0,
    views: Views = "both",
    iterations: Annotated[PositiveInt, Unit("passes")] = 4,
) -> CostVolume:
    """Mean of the costs in a region of like colour around each pixel, level by level.

    From each pixel four arms run along its row and its column while colours stay alike. Its region consists of the horizontal arms of all pixels on
    its vertical ones or, in every second pass, of the vertical arms of those on its horizontal ones.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Colours differ by the largest difference of a channel.
    mask : SearchMask, optional
        Cells that it closes are left out of sums and counts.
    max_arm : int
        Length, in pixels, that every arm stays below: 34 permits arms of 33 pixels. It
        is L_1 of Mei et al. and L of Zhang et al.
    tau : float
        Colour difference, in grey levels, below which an arm continues. The colour of
        each of its pixels is compared with the colour of the centre and with that of
        the pixel before it. It is tau_1 of Mei et al. and tau of Zhang et al.
    far_arm : int
        Length of an arm, in pixels, beyond which `tau_far` also holds: L_2 of Mei et
        al.
    tau_far : float
        Colour difference from the centre, in grey levels, below which an arm continues
        beyond `far_arm`: tau_2 of Mei et al.
    views : {"both", "reference"}
        Whether an arm ends, level by level, where that of the pixel's candidate in the match image ends too, or with the reference image's alone.
    iterations : int
        How often means are taken, in passes; the 1st, 3rd ... over horizontal arms first, the 2nd, 4th ... over vertical ones first.

    Returns
    -------
    CostVolume
        Same unit and shape; lower is better. Cells out of view are left out of sums and counts and hold `outside_cost`.

    Raises
    ------
    DataError
        An image that does not fit the volume, or is neither uint8 nor float32.
    ParameterError
        `max_arm` is not 1 to 255, `tau` or `tau_far` is not above 0, or `far_arm` or
        `iterations` is below 1.

    Notes
    -----
    Zhang, Lu & Lafruit 2009 (IEEE TCSVT 19) for arms and their use in both images; Mei
    et al. 2011, section 3.2, for the two thresholds and lengths and for the iterations,
    which alternate. Departures: no arm is made a pixel long where colours differ, and
    colours are not smoothed by a median beforehand. Between two pixels of the match
    image the shorter one of their arms counts. Sums are exact, so that rows may be
    computed in any pieces: costs are rounded to 2^-30 of the power of two above
    `outside_cost` or, where that is thousands of times larger than all costs in view,
    above the largest of these.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> image = np.array([[10, 12, 90, 95]], np.uint8)
    >>> costs = np.array([[4, 8, 1, 3]], np.float32)[..., None].repeat(2, axis=2)
    >>> cross_based(CostVolume(costs, SearchRange(0, 1), 9.0), image, image, iterations=1).costs[0].tolist()
    [[6.0, 9.0], [6.0, 8.0], [2.0, 1.0], [2.0, 3.0]]
    """
    search, shape = volume.search, volume.costs.shape
    rows, columns, _ = shape
    limits = max_arm, tau, far_arm, tau_far
    own = arms_of(reference, *limits)
    view = geometry(columns, search)
    other = _along_levels(
        arms_of(match, *limits) if views == "both" else _to_the_border(rows, columns),
        search.denominator,
        view,
    )
    support = _Support(own, other, view)
    # Each cell in view counts once, which need not be written down unless some are closed.
    once: Any = np.empty((0, 0, 0), np.uint16)
    if mask is not None:
        once = np.ones(shape, np.uint16)
        mask.exclude(CostVolume(once, search, 0.0), 0)
    # A number of this size rounds what is added to it to 2^-30 of the power of two above `largest`, so that rows computed in pieces are rounded alike.
    largest = abs(volume.outside_cost)
    if largest > _HONEST:
        seen = volume.inside
        in_view = float(
            max(volume.costs.max(where=seen, initial=0), -volume.costs.min(where=seen, initial=0))
        )
        largest = in_view if largest > _FAR_OFF * in_view else largest
    rounder = math.ldexp(1.5, 52 - 30 + math.frexp(largest)[1])
    costs, result = volume.costs, np.empty_like(volume.costs)
    sums, counts = np.empty_like(costs), np.empty(shape, np.uint16)

    def add(across: bool, values: Costs, numbers: Counts, last: bool, out: Costs) -> None:
        def run(start: int, stop: int) -> None:
            if across:
                _across(
                    values, numbers, support, start, stop, last, volume.outside_cost, out, counts
                )
            else:
                _along(
                    values,
                    numbers,
                    support,
                    start,
                    stop,
                    last,
                    volume.outside_cost,
                    max_arm - 1,
                    rounder,
                    out,
                    counts,
                )

        over_rows(run, rows, 4 * costs.size)

    for i in range(iterations):
        across_first = i % 2 == 0
        add(across_first, read_only(costs), once, False, sums)
        add(not across_first, read_only(sums), counts, True, result)
        costs = result
    aggregated = replace(volume, costs=result)
    if mask is not None:
        mask.exclude(aggregated, volume.outside_cost)
    return aggregated


def _to_the_border(rows: int, columns: int) -> Arms:
    """Arms that nothing but the image's left and right border ends."""
    arms = np.full((4, rows, columns), MAX_ARM_LENGTH, np.uint8)
    arms[0] = np.minimum(np.arange(columns), MAX_ARM_LENGTH)
    arms[1] = arms[0][:, ::-1]
    return arms


def _along_levels(arms: Arms, n: int, view: Geometry) -> Arms:
    """Return the arms at all positions of the match image, arranged in lines.

    A pixel has `n` positions. Between two pixels, the shorter arm counts.
    """
    fine = np.empty((*arms.shape[:2], view.samples), np.uint8)
    for i in range(n):
        fine[..., i::n] = arms if i == 0 else np.minimum(arms[..., :-1], arms[..., 1:])
    return arrange_samples(fine, view)


@kernel
def _across(
    values: Costs,
    numbers: Counts,
    support: _Support,
    start: int,
    stop: int,
    last: bool,
    outside_cost: float,
    out: Costs,
    counts: Counts,
) -> None:
    """Sums over horizontal arms, and over how many cells they are, or in the `last` pass means, of the rows `start` to `stop` - 1.

    `numbers`: over how many cells each value is a sum already; of no size where it is one cell, its own.
    """
    own, other = support.own, support.other
    _, columns, levels = values.shape
    counted = numbers.size > 0
    # Of all columns before one.
    running = _Running(
        np.zeros((columns + 1) * levels),
        np.zeros((columns + 1) * levels, np.int32),
        counted,
        levels,
        levels,
    )
    for y in range(start, stop):
        _add_up(values[y], numbers[y if counted else 0 :], support, running)
        # Slices cost more than the arithmetic of a pixel.
        line, count = out[y].reshape(-1), counts[y].reshape(-1)
        arms = _Arms(own[0, y], own[1, y], other[0, y], other[1, y])
        for x in range(columns):
            _subtract(running, arms, support, x, x * levels, last, outside_cost, line, count)


@kernel
def _add_up(values: Costs, numbers: Counts, support: _Support, running: _Running) -> None:
    """Sums of the cells in view of a row, level by level."""
    columns, levels = values.shape
    sums, totals = (
        running.sums.reshape(columns + 1, levels),
        running.totals.reshape(columns + 1, levels),
    )
    for x in range(columns):
        at, after = np.uint64(x), np.uint64(x + 1)
        if running.counted:
            for k in range(levels):
                n = numbers[0, at, k]
                sums[after, k] = sums[at, k] + (np.float64(values[at, k]) if n > 0 else 0.0)
                totals[after, k] = totals[at, k] + np.int32(n)
        else:
            for k in range(levels):
                sums[after, k] = sums[at, k] + values[at, k]
        for k in range(support.geometry.starts[x]):
            sums[after, k], totals[after, k] = sums[at, k], totals[at, k]
        for k in range(support.geometry.stops[x], levels):
            sums[after, k], totals[after, k] = sums[at, k], totals[at, k]


@kernel
def _along(
    values: Costs,
    numbers: Counts,
    support: _Support,
    start: int,
    stop: int,
    last: bool,
    outside_cost: float,
    reach: int,
    rounder: float,
    out: Costs,
    counts: Counts,
) -> None:
    """The same over vertical arms of at most `reach` pixels."""
    own, other = support.own, support.other
    rows, columns, levels = values.shape
    counted = numbers.size > 0
    width = min(columns, max(1, _PART // levels))
    height = min(rows, _BLOCK + 2 * reach) + 1
    # Of all rows of a block before one.
    sums, totals = np.zeros((height, width * levels)), np.zeros((height, width * levels), np.int32)
    running = _Running(sums.reshape(-1), totals.reshape(-1), counted, width * levels, levels)
    for block in range(start, stop, _BLOCK):
        top, bottom = max(0, block - reach), min(rows, block + _BLOCK + reach)
        for part in range(0, columns, width):
            end = min(part + width, columns)
            for y in range(top, bottom):
                r = y - top
                value = values[y, part:end].reshape(-1)
                if counted:
                    number = numbers[y, part:end].reshape(-1)
                    _add_counted(
                        sums[r], totals[r], value, number, rounder, sums[r + 1], totals[r + 1]
                    )
                else:
                    _add(sums[r], value, rounder, sums[r + 1])
            for y in range(block, min(block + _BLOCK, stop)):
                line, count = out[y].reshape(-1), counts[y].reshape(-1)
                arms = _Arms(own[2, y], own[3, y], other[2, y], other[3, y])
                for x in range(part, end):
                    _subtract(
                        running,
                        arms,
                        support,
                        x,
                        ((y - top) * width + x - part) * levels,
                        last,
                        outside_cost,
                        line,
                        count,
                    )


@kernel
def _add(
    before: NDArray[np.float64], values: Costs, rounder: float, after: NDArray[np.float64]
) -> None:
    for i in range(values.shape[0]):
        after[i] = before[i] + ((np.float64(values[i]) + rounder) - rounder)


@kernel
def _add_counted(
    before: NDArray[np.float64],
    total: NDArray[np.int32],
    values: Costs,
    numbers: Counts,
    rounder: float,
    after: NDArray[np.float64],
    following: NDArray[np.int32],
) -> None:
    for i in range(values.shape[0]):
        value = (np.float64(values[i]) + rounder) - rounder
        after[i] = before[i] + (value if numbers[i] > 0 else 0.0)
        following[i] = total[i] + np.int32(numbers[i])


@kernel
def _subtract(
    running: _Running,
    arms: _Arms,
    support: _Support,
    x: int,
    base: int,
    last: bool,
    outside_cost: float,
    out: Costs,
    counts: Counts,
) -> None:
    """The sums of pixel x over its arms, or in the `last` pass the means; `base`: where the running sums before it lie."""
    sums, totals, counted, step, levels = running
    back, on, view = arms.back, arms.on, support.geometry
    own_back, own_on, first, end = arms.own_back[x], arms.own_on[x], view.starts[x], view.stops[x]
    place = x * levels
    rest = outside_cost if last else 0.0
    for k in range(first):
        out[place + k], counts[place + k] = rest, 0
    for k in range(end, levels):
        out[place + k], counts[place + k] = rest, 0
    # Unsigned indices need no wraparound check.
    line, cell = np.uint64(view.origins[x] + first), np.uint64(place + first)
    pixel, pitch = np.uint64(base + first), np.uint64(step)
    if last:
        for k in range(end - first):
            level = np.uint64(k)
            before = pixel + level - pitch * np.uint64(min(own_back, back[line + level]))
            after = (
                pixel
                + level
                + pitch * np.uint64(np.uint64(min(own_on, on[line + level])) + np.uint64(1))
            )
            total, n = sums[after] - sums[before], totals[after] - totals[before]
            out[cell + level] = total / n if n > 0 else outside_cost
    elif counted:
        for k in range(end - first):
            level = np.uint64(k)
            before = pixel + level - pitch * np.uint64(min(own_back, back[line + level]))
            after = (
                pixel
                + level
                + pitch * np.uint64(np.uint64(min(own_on, on[line + level])) + np.uint64(1))
            )
            out[cell + level] = sums[after] - sums[before]
            counts[cell + level] = totals[after] - totals[before]
    else:
        for k in range(end - first):
            level = np.uint64(k)
            shorter, longer = min(own_back, back[line + level]), min(own_on, on[line + level])
            before = pixel + level - pitch * np.uint64(shorter)
            after = pixel + level + pitch * np.uint64(np.uint64(longer) + np.uint64(1))
            out[cell + level] = sums[after] - sums[before]
            counts[cell + level] = np.uint16(shorter) + np.uint16(longer) + np.uint16(1)
