"""Guided filter: costs become, window by window, linear functions of the image's colours."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import Image, Positive, PositiveInt, Unit, per_image, stage

Floats = NDArray[np.float64]

_LEVELS = 32
"""Levels that are filtered at a time; what a window of rows needs of them stays in the caches."""
_MIDDLE = 128
"""Intensities are counted from here, which takes a bit off their products."""
_FRACTION = 10
"""Bits of an intensity behind the point, where images are float32."""
_MANTISSA = 53


@stage(
    "aggregation",
    source="He, Sun & Tang 2010; Rhemann et al. 2011, section 3.2",
    halo=lambda size: 2 * (size // 2),
    memory=1,
)
def guided_filter(
    volume: CostVolume,
    reference: Image,
    *,
    size: Annotated[PositiveInt, Unit("pixels")] = 19,
    epsilon: Annotated[Positive, Unit("squared intensities of 0 to 1")] = 1e-4,
) -> CostVolume:
    """Weighted mean of the costs around each pixel, level by level, with weights that keep to the edges of the reference image.

    In every window costs are fitted by a linear function of the colours; a pixel gets the mean of what the functions of all windows that contain it
    say about its colour.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The guide, intensities 0..255.
    size : int
        Width of the square windows, in pixels; an even one counts as one more. Support is twice as wide.
    epsilon : float
        Variance of intensities, counted from 0 to 1, below which a window is smoothed as if it were flat.

    Returns
    -------
    CostVolume
        Same unit and shape. Lower is better. Windows are clipped at the image borders, and cells out of view take part with their cost.

    Raises
    ------
    DataError
        An image that does not fit the volume, or is neither uint8 nor float32.
    ParameterError
        `size` below 1, `epsilon` not above 0.

    Notes
    -----
    He, Sun & Tang 2010 (ECCV), equations 5 to 8, for a grey guide and their extension to colour, equations 19 to 21 of the journal version (TPAMI 35,
    2013); Rhemann et al. 2011, section 3.2, for costs, whose size and epsilon these are. Sums are exact, so that rows may be computed in any
    pieces: intensities of float32 images are rounded to 1/1024 grey level and costs to the 2^-25th part of the power of two above
    `outside_cost`, or finer where windows allow it.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> image = np.array([[0, 0, 0, 255, 255, 255]], np.uint8)
    >>> costs = np.array([[0, 9, 0, 5, 5, 5]], np.float32)[..., None].repeat(2, axis=2)
    >>> guided_filter(CostVolume(costs, SearchRange(0, 1), 9.0), image, size=3).costs[0, :, 0].round(2)
    array([3.75, 4.  , 2.5 , 5.  , 5.  , 5.  ], dtype=float32)
    """
    radius = size // 2
    guide = _statistics(reference, radius, float(epsilon))
    # What the sums over a window may have before they are rounded: bits of the products of costs and intensities, of which costs may go
    # beyond four times `outside_cost` before the last one is lost.
    window = math.ceil(2 * math.log2(2 * radius + 1))
    most = math.ldexp(4, math.frexp(volume.outside_cost)[1])
    fraction = 0 if reference.dtype == np.uint8 else _FRACTION
    cost_bits = _MANTISSA - window - math.frexp(_MIDDLE)[1] - fraction
    # The slope of a linear function that fits costs within these bounds, and its value where intensities are in the middle.
    steepest = most / (2 * 255 * math.sqrt(epsilon))
    cost_rounder = _rounder(most, cost_bits)
    rounders = (
        _rounder(most + 2 * _MIDDLE * steepest, _MANTISSA - window),
        _rounder(steepest, _MANTISSA - window),
    )
    costs = np.empty_like(volume.costs)

    def run(start: int, stop: int) -> None:
        _kernel(volume.costs, guide, radius, cost_rounder, rounders, start, costs[start:stop])

    over_rows(run, costs.shape[0], 4 * costs.size)
    return replace(volume, costs=costs)


def _rounder(most: float, bits: int) -> float:
    """What rounds numbers up to `most`, when it is added to them and taken off again, to so many bits of the power of two above that."""
    return math.ldexp(1.5, _MANTISSA - 1 + math.frexp(most)[1] - bits)


class _Guide(NamedTuple):
    """Float64, of grey levels counted from the middle: (rows, columns, 1 + channels) with 1 everywhere and the colours, (rows, columns, channels) with their
    means over windows, and (rows, columns, channels, channels) with the inverse of their covariances plus epsilon.
    """

    colours: Floats
    means: Floats
    inverse: Floats


@per_image
def _statistics(image: Image, radius: int, epsilon: float) -> _Guide:
    unit = 1 if image.dtype == np.uint8 else 2**_FRACTION
    colours = np.moveaxis(image.reshape(*image.shape[:2], -1), 2, 0)
    guide = np.rint((colours - np.float64(_MIDDLE)) * unit) / unit
    pairs = list(itertools.combinations_with_replacement(range(len(guide)), 2))
    size, ones = (2 * radius + 1, 2 * radius + 1), np.ones(image.shape[:2])
    # Nothing is added beyond the border. These sums are exact too.
    count, *sums = (
        cv2.boxFilter(values, -1, size, normalize=False, borderType=cv2.BORDER_CONSTANT)
        for values in (ones, *guide, *(guide[i] * guide[j] for i, j in pairs))
    )
    means = [values / count for values in sums]
    covariances = [
        product - means[i] * means[j] + (epsilon * 255**2 if i == j else 0)
        for (i, j), product in zip(pairs, means[len(guide) :], strict=True)
    ]
    inverse = np.empty((*image.shape[:2], len(guide), len(guide)))
    for (i, j), element in zip(pairs, _inverse(*covariances), strict=True):
        inverse[..., i, j] = inverse[..., j, i] = element
    return _Guide(np.stack([ones, *guide], axis=2), np.stack(means[: len(guide)], axis=2), inverse)


def _inverse(*matrix: Floats) -> list[Floats]:
    """Inverses of symmetric matrices of one or three rows: their elements on and above the diagonal, row by row."""
    if len(matrix) == 1:
        return [1 / matrix[0]]
    a, b, c, d, e, f = matrix
    cofactors = [
        d * f - e * e,
        c * e - b * f,
        b * e - c * d,
        a * f - c * c,
        b * c - a * e,
        a * d - b * b,
    ]
    determinant = a * cofactors[0] + b * cofactors[1] + c * cofactors[2]
    return [cofactor / determinant for cofactor in cofactors]


@kernel
def _kernel(
    costs: Costs,
    guide: _Guide,
    radius: int,
    cost_rounder: float,
    rounders: tuple[float, float],
    start: int,
    out: Costs,
) -> None:
    """Filter the rows from `start` on, some levels at a time. `rounders`: of values in the middle and of slopes."""
    rows, columns, levels = costs.shape
    colours, means, inverse = guide
    parts, stop, size = colours.shape[2], start + out.shape[0], 2 * radius + 1
    # Rows beyond the image.
    no_costs, no_guide = np.zeros((columns, levels), np.float32), np.zeros((columns, parts))
    for first in range(0, levels, _LEVELS):
        shape = (parts, columns, min(_LEVELS, levels - first))
        # Per column sums over the rows of a window: of the costs and of their products with the channels; of linear functions, by their
        # value in the middle and their slopes.
        sums, totals, slid, found = (
            np.zeros(shape),
            np.zeros(shape),
            np.empty(shape),
            np.empty(shape),
        )
        # The functions of the rows of a window; those of row y stand in y % size.
        functions = np.zeros((size, *shape))
        top = max(0, start - radius)
        # The rows above the first window's last one enter before it.
        for y in range(top - 2 * radius, stop + radius):
            enters, leaves = 0 <= y + radius < rows, y - radius - 1 >= max(0, top - radius)
            new, new_guide = (
                (costs[y + radius], colours[y + radius]) if enters else (no_costs, no_guide)
            )
            old, old_guide = (
                (costs[y - radius - 1], colours[y - radius - 1]) if leaves else (no_costs, no_guide)
            )
            if enters or leaves:
                _exchange(new, new_guide, old, old_guide, first, cost_rounder, sums)
            if y < top:
                continue
            if y < rows:
                _slide(sums, radius, slid)
                _fit(slid, means[y], inverse[y], _height(y, radius, rows), radius, rounders, found)
            else:
                found[:] = 0
            _replace(functions[y % size].reshape(-1), found.reshape(-1), totals.reshape(-1))
            at = y - radius
            if at >= start:
                _slide(totals, radius, slid)
                _apply(slid, colours[at], _height(at, radius, rows), radius, first, out[at - start])


@kernel
def _exchange(
    new: Costs,
    new_guide: Floats,
    old: Costs,
    old_guide: Floats,
    first: int,
    rounder: float,
    sums: Floats,
) -> None:
    """Let a row of costs, some levels from `first` on, enter the sums and another one leave them."""
    parts, columns, levels = sums.shape
    enter, leave = np.empty(levels), np.empty(levels)
    for x in range(columns):
        # Unsigned indices need no wraparound check.
        at, begin = np.uint64(x), np.uint64(first)
        for k in range(levels):
            enter[k] = (np.float64(new[at, begin + np.uint64(k)]) + rounder) - rounder
        for k in range(levels):
            leave[k] = (np.float64(old[at, begin + np.uint64(k)]) + rounder) - rounder
        for p in range(parts):
            part = np.uint64(p)
            gain, loss = new_guide[at, part], old_guide[at, part]
            for k in range(levels):
                sums[part, at, k] += gain * enter[k] - loss * leave[k]


@kernel
def _slide(sums: Floats, radius: int, out: Floats) -> None:
    """Sums over the columns of windows, clipped at the ends of the row."""
    parts, columns, levels = sums.shape
    window = np.empty(levels)
    for p in range(parts):
        part = np.uint64(p)
        window[:] = 0.0
        for x in range(-radius, columns):
            if x + radius < columns:
                enter = np.uint64(x + radius)
                for k in range(levels):
                    window[k] += sums[part, enter, k]
            if x > radius:
                leave = np.uint64(x - radius - 1)
                for k in range(levels):
                    window[k] -= sums[part, leave, k]
            if x >= 0:
                at = np.uint64(x)
                for k in range(levels):
                    out[part, at, k] = window[k]


@kernel(inline="always")
def _height(y: Any, radius: Any, rows: Any) -> Any:
    """Rows of a window, or columns."""
    return min(y + radius, rows - 1) - max(y - radius, 0) + 1


@kernel
def _fit(
    sums: Floats,
    means: Floats,
    inverse: Floats,
    height: int,
    radius: int,
    rounders: tuple[float, float],
    found: Floats,
) -> None:
    """The linear functions of the windows of a row, from the sums over them."""
    parts, columns, levels = sums.shape
    rounder, steep = rounders
    covariances, slopes = np.empty((parts - 1, levels)), np.empty(levels)
    for x in range(columns):
        at, share = np.uint64(x), 1.0 / (height * _height(x, radius, columns))
        for k in range(levels):
            found[0, at, k] = sums[0, at, k] * share
        for c in range(parts - 1):
            part, channel, mean = np.uint64(c + 1), np.uint64(c), means[at, np.uint64(c)]
            for k in range(levels):
                covariances[channel, k] = sums[part, at, k] * share - mean * found[0, at, k]
        for c in range(parts - 1):
            part, channel, mean = np.uint64(c + 1), np.uint64(c), means[at, np.uint64(c)]
            slopes[:] = 0
            for d in range(parts - 1):
                factor = inverse[at, channel, np.uint64(d)]
                for k in range(levels):
                    slopes[k] += factor * covariances[np.uint64(d), k]
            for k in range(levels):
                slope = (slopes[k] + steep) - steep
                found[part, at, k] = slope
                found[0, at, k] -= slope * mean
        for k in range(levels):
            found[0, at, k] = (found[0, at, k] + rounder) - rounder


@kernel
def _replace(kept: Floats, new: Floats, totals: Floats) -> None:
    for i in range(kept.shape[0]):
        totals[i] += new[i] - kept[i]
        kept[i] = new[i]


@kernel
def _apply(sums: Floats, guide: Floats, height: int, radius: int, first: int, out: Costs) -> None:
    """What the mean linear functions of the windows that contain the pixels of a row say about their colours."""
    parts, columns, levels = sums.shape
    values = np.empty(levels)
    for x in range(columns):
        at, share = np.uint64(x), 1.0 / (height * _height(x, radius, columns))
        values[:] = 0
        for p in range(parts):
            part, factor = np.uint64(p), guide[at, np.uint64(p)]
            for k in range(levels):
                values[k] += factor * sums[part, at, k]
        for k in range(levels):
            out[at, np.uint64(first) + np.uint64(k)] = values[k] * share
