"""Adaptive support weights: means over windows whose pixels weigh the more, the nearer and the more alike in colour they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.search import Geometry, arrange_samples, geometry
from stereo_framework.core.volume import Costs, CostVolume, SearchMask
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.exponential import exponential
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import Image, Positive, PositiveInt, Unit, per_image, stage

_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
"""Of linear sRGB, white (1, 1, 1), as in IEC 61966-2-1."""


class _Images(NamedTuple):
    """CIELab colours, (3, rows, positions), of the reference image and of the match image at all positions that levels reach; how many of these a pixel
    has; which of them each place takes when they are arranged by their geometry.
    """

    own: Costs
    other: Costs
    denominator: int
    places: NDArray[np.int64]
    geometry: Geometry


@stage("aggregation", source="Yoon & Kweon 2006", halo=lambda size: size // 2, memory=1)
def support_weights(
    volume: CostVolume,
    reference: Image,
    match: Image,
    mask: SearchMask | None = None,
    *,
    size: Annotated[PositiveInt, Unit("pixels")] = 35,
    gamma_c: Annotated[Positive, Unit("units of CIELab")] = 5.0,
    gamma_p: Annotated[Positive, Unit("pixels")] = 17.5,
    views: Literal["both", "reference"] = "both",
) -> CostVolume:
    """Weighted mean of the costs in a window around each pixel, level by level, with weights that fall with distance and difference in colour.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255 of sRGB.
    mask : SearchMask, optional
        Cells that it closes are left out.
    size : int
        Width of the square windows, in pixels; an even one counts as one more.
    gamma_c : float
        Difference of two colours, in units of CIELab, at which a weight falls to 1/e.
    gamma_p : float
        Distance of two pixels, in pixels, at which a weight falls to 1/e.
    views : {"both", "reference"}
        Whether a weight is the product of those in both images, level by level, or the reference image's alone.

    Returns
    -------
    CostVolume
        Same unit and shape; lower is better. Cells out of view are left out, and hold `outside_cost`.

    Raises
    ------
    DataError
        An image that does not fit the volume, or is neither uint8 nor float32.
    ParameterError
        `size` is below 1, or `gamma_c` or `gamma_p` is not above 0.

    Notes
    -----
    Yoon & Kweon 2006 (TPAMI 28), equations 4 and 7, with their window of 35x35 and
    their gamma_c and gamma_p; the weight is ``exp(-(c / gamma_c + g / gamma_p))`` with
    the Euclidean distances c of the colours and g of the pixels. Their costs are
    absolute differences summed over the channels and truncated at 40. Between two
    pixels of the match image colours are interpolated. Its time grows with the area of
    the windows.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> image = np.array([[90, 90, 90, 200, 200, 200]], np.uint8)
    >>> costs = np.array([[0, 9, 0, 5, 5, 5]], np.float32)[..., None].repeat(2, axis=2)
    >>> support_weights(CostVolume(costs, SearchRange(0, 1), 9.0), image, image, size=3).costs[0, :, 0].round(2)
    array([4.24, 3.23, 4.24, 5.  , 5.  , 5.  ], dtype=float32)
    """
    search, (rows, columns, _) = volume.search, volume.costs.shape
    n = search.denominator
    colours, view = _lab(match), geometry(columns, search)
    fine = np.empty((3, rows, view.samples), np.float32)
    for i in range(n):
        part = np.float32(i / n)
        fine[..., i::n] = (
            colours if i == 0 else (1 - part) * colours[..., :-1] + part * colours[..., 1:]
        )
    images = _Images(_lab(reference), fine, n, arrange_samples(np.arange(view.samples), view), view)
    # 1 for each open cell, which need not be written down unless some are closed.
    weights = np.empty((0, 0, 0), np.float32)
    if mask is not None:
        weights = np.ones_like(volume.costs)
        mask.exclude(CostVolume(weights, search, 0.0), 0)
    costs = np.empty_like(volume.costs)
    falls = np.float32(1 / gamma_c), np.float32(1 / gamma_p)

    def run(start: int, stop: int) -> None:
        _kernel(
            volume.costs,
            weights,
            images,
            size // 2,
            *falls,
            views == "both",
            volume.outside_cost,
            start,
            costs[start:stop],
        )

    over_rows(run, rows, (2 * (size // 2) + 1) ** 2 * costs.size)
    aggregated = replace(volume, costs=costs)
    if mask is not None:
        mask.exclude(aggregated, volume.outside_cost)
    return aggregated


@per_image
def _lab(image: Image) -> Costs:
    """CIELab colours of an image in sRGB, D65; (3, rows, columns). Grey is taken for as much red, green and blue."""
    shares = np.asarray(image, np.float64) / 255
    linear = np.where(
        shares <= 0.04045, shares / 12.92, ((np.maximum(shares, 0) + 0.055) / 1.055) ** 2.4
    )
    if linear.ndim == 2:
        linear = linear[..., None].repeat(3, axis=2)
    ratios = linear @ (_TO_XYZ / _TO_XYZ.sum(axis=1, keepdims=True)).T
    x, y, z = np.where(
        ratios > (6 / 29) ** 3, np.cbrt(ratios), ratios * (29 / 6) ** 2 / 3 + 4 / 29
    ).transpose(2, 0, 1)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)]).astype(np.float32)


@kernel
def _kernel(
    costs: Costs,
    counted: Costs,
    images: _Images,
    radius: int,
    colour_fall: float,
    space_fall: float,
    both: bool,
    outside_cost: float,
    start: int,
    out: Costs,
) -> None:
    """Means of the rows from `start` on. `counted`: the weight of each cell, 0 or 1; of no size where it is 1 everywhere."""
    rows, columns, levels = costs.shape
    size = 2 * radius + 1
    # For one row of the window about each pixel of a row: weights by column offset, of the match image also in the order of levels.
    own, ordered = (
        np.empty((size, columns), np.float32),
        np.empty((size, images.places.shape[0]), np.float32),
    )
    line = np.empty(images.geometry.samples, np.float32)
    sums, totals = np.empty((columns, levels), np.float32), np.empty((columns, levels), np.float32)
    for y in range(out.shape[0]):
        sums[:], totals[:] = 0, 0
        for v in range(max(start + y - radius, 0), min(start + y + radius + 1, rows)):
            for i in range(size):
                far = (
                    np.float32(np.sqrt(np.float32((v - start - y) ** 2 + (i - radius) ** 2)))
                    * space_fall
                )
                _weigh(images.own, start + y, v, i - radius, colour_fall, far, own[i])
                # Without falls the weight is 1 in the image.
                offset, used = (i - radius) * images.denominator, np.float32(both)
                _weigh(images.other, start + y, v, offset, used * colour_fall, used * far, line)
                for p in range(ordered.shape[1]):
                    ordered[i, p] = line[images.places[p]]
            for x in range(columns):
                first, stop = images.geometry.starts[x], images.geometry.stops[x]
                if first < stop:
                    low, high = max(radius - x, 0), min(size, columns + radius - x)
                    place = images.geometry.origins[x] + first
                    row, seen = (
                        costs[v].reshape(-1),
                        counted[v].reshape(-1) if counted.size > 0 else counted.reshape(-1),
                    )
                    base = (x - radius) * levels + first
                    _add(
                        row,
                        seen,
                        own,
                        ordered,
                        x,
                        low,
                        high,
                        place,
                        base,
                        levels,
                        sums[x, first:stop],
                        totals[x, first:stop],
                    )
        for x in range(columns):
            for k in range(levels):
                out[y, x, k] = sums[x, k] / totals[x, k] if totals[x, k] > 0 else outside_cost


@kernel
def _weigh(
    colours: Costs, y: int, v: int, offset: int, colour_fall: float, far: float, weights: Costs
) -> None:
    """Weights of the pixels of row `v`, `offset` further right, for those of row `y`; 0 beyond the image."""
    columns = weights.shape[0]
    weights[:] = 0
    if abs(offset) >= columns:
        return
    start, count = max(-offset, 0), columns - abs(offset)
    here, there = (
        colours[:, y, start : start + count],
        colours[:, v, start + offset : start + offset + count],
    )
    l0, a0, b0, l1, a1, b1 = here[0], here[1], here[2], there[0], there[1], there[2]
    target = weights[start : start + count]
    for x in range(count):
        l, a, b = l1[x] - l0[x], a1[x] - a0[x], b1[x] - b0[x]  # noqa: E741  L, a, b of CIELAB
        target[x] = exponential(-(np.sqrt(l * l + a * a + b * b) * colour_fall + far))


@kernel
def _add(
    costs: Costs,
    counted: Costs,
    own: Costs,
    other: Costs,
    x: int,
    low: int,
    high: int,
    place: int,
    base: int,
    levels: int,
    sums: Costs,
    totals: Costs,
) -> None:
    """Add what the pixels from `low` to `high` - 1 of a row of the window about column `x` weigh and cost."""
    size = other.shape[1]
    weights = other.reshape(-1)
    for i in range(low, high):
        weight = own[i, x]
        # Unsigned indices need no wraparound check.
        at, cell = np.uint64(i * size + place), np.uint64(base + i * levels)
        if counted.size > 0:
            for k in range(sums.shape[0]):
                level = np.uint64(k)
                product = weight * weights[at + level] * counted[cell + level]
                totals[level] += product
                sums[level] += product * costs[cell + level]
        else:
            for k in range(sums.shape[0]):
                level = np.uint64(k)
                product = weight * weights[at + level]
                totals[level] += product
                sums[level] += product * costs[cell + level]
