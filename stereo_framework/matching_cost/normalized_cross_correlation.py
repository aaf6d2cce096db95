"""Normalized cross-correlation of windows."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.kernels.window_statistics import (
    Floats,
    compute_scaled_variance,
    pad_for_windows,
    round_intensities,
    sum_windows,
)
from stereo_framework.matching_cost._sampling import Interpolation, samples_of
from stereo_framework.stages import CostVolume, Image, SearchRange, Unit, stage

Form = Literal["moravec", "standard"]

_WORST = 2.0
"""Cost of a correlation of -1."""


@stage(
    "matching_cost", source="Moravec 1977; Kostliva, Cech & Sara 2007", halo=lambda size: size // 2
)
def normalized_cross_correlation(
    reference: Image,
    match: Image,
    search: SearchRange,
    *,
    size: Annotated[int, Ge(2), Unit("pixels")] = 5,
    form: Form = "moravec",
    interpolation: Interpolation = "cubic",
) -> CostVolume:
    """One minus the normalized cross-correlation (NCC) of the windows around a pixel and its candidates in the match image.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, rounded to 1/4096 grey level.
    search : SearchRange
        Disparities to try, in pixels. Calls in Python also take the ends, and the step
        if it is not 1: ``(0, 63)`` or ``(0, 63, 0.5)``.
    size : int
        Width and height of the windows in pixels. An even window reaches one pixel further right and down: the upper left of the four pixels in its middle is the centre.
    form : {"moravec", "standard"}
        What the covariance is divided by: the arithmetic mean of the two variances, which penalizes different contrasts too, or their
        geometric mean.
    interpolation : {"linear", "cubic"}
        How the match image is sampled between pixels when `search.step` is a fraction of a pixel.

    Returns
    -------
    CostVolume
        One minus correlation, float32 (rows, columns, levels), without unit: 0 = equal up to brightness (and contrast in the standard form),
        1 = uncorrelated, 2 = inverted; lower is better. A flat window is uncorrelated with any other. Cells out of view cost 2.

    Raises
    ------
    DataError
        The images differ in shape or type, or are neither uint8 nor float32.
    ParameterError
        `size` is below 2.

    Notes
    -----
    Moravec's form, ``2 cov(L, R) / (var(L) + var(R))``, known as MNCC, is what stable matching is used with (Kostliva, Cech & Sara 2007);
    the standard one is ``cov(L, R) / sqrt(var(L) var(R))``. In colour every channel of a window (RGB as it is) has its own mean; covariances and
    variances are summed over the channels. Beyond the borders of an image its outermost pixels repeat, for each image by itself.
    Samples between pixels are not rounded to integers, unlike those of the differences.

    Examples
    --------
    >>> import numpy as np
    >>> left = np.array([[10, 20, 40, 10, 10], [20, 10, 10, 30, 10]], np.uint8)
    >>> halved = left // 2 + 50
    >>> for form in ("moravec", "standard"):
    ...     volume = normalized_cross_correlation(left, halved, SearchRange(0, 1), size=2, form=form)
    ...     print(form, round(float(volume.costs[0, 2, 0]), 3))
    moravec 0.2
    standard 0.0
    """
    rows, columns = reference.shape[:2]
    left = pad_for_windows(reference, size)
    phases = _phases(match, size, search.denominator, interpolation == "cubic")
    left_sums, left_spread = sum_windows(left, size), compute_scaled_variance(left, size)
    sums, spread = (
        np.stack([of(phase, size) for phase in phases])
        for of in (sum_windows, compute_scaled_variance)
    )
    planes, images = (np.ascontiguousarray(np.moveaxis(a, -1, 0)) for a in (left, np.stack(phases)))
    left_sums, sums = (np.ascontiguousarray(np.moveaxis(a, -1, 0)) for a in (left_sums, sums))
    shifts = _shifts(columns, search)
    costs = np.full((rows, columns, search.levels), _WORST, np.float32)

    def run(start: int, stop: int) -> None:
        _kernel(
            planes,
            images,
            left_sums,
            sums,
            left_spread,
            spread,
            start,
            shifts,
            size,
            form == "standard",
            costs[start:stop],
        )

    over_rows(run, rows, costs.size)
    return CostVolume(costs, search, _WORST)


def _phases(image: Image, size: int, denominator: int, cubic: bool) -> list[Floats]:
    """The image sampled at its pixels, 1/N to the right of them, 2/N ..., each with the columns and rows more that windows need."""
    if denominator == 1:
        return [pad_for_windows(image, size)]
    # Rounded, they are float64 and no whole numbers, and float32 holds them.
    fine = np.moveaxis(samples_of(round_intensities(image), denominator, cubic), 1, 2)
    # The outermost pixels repeat, not the bend that a spline would make towards copies of them.
    before, after = (size - 1) // 2, size // 2
    aside = before * denominator, after * denominator + denominator - 1
    fine = np.pad(fine, ((before, after), aside, (0, 0)), mode="edge")
    return [round_intensities(fine[:, i::denominator]) for i in range(denominator)]


def _shifts(columns: int, search: SearchRange) -> NDArray[np.int64]:
    """By level: which phase of the match image is met, how many columns further right, and from which to before which column it is in view.

    int64 (levels, 4).
    """
    position = -search.direction * (search.first + search.stride * np.arange(search.levels))
    shift, phase = np.divmod(position, search.denominator)
    seen = search.in_view(columns)
    start = seen.argmax(axis=0)
    return np.stack([phase, shift, start, start + seen.sum(axis=0)], axis=1)


@kernel
def _kernel(
    left: Floats,
    right: Floats,
    left_sums: Floats,
    right_sums: Floats,
    left_spread: Floats,
    right_spread: Floats,
    start: int,
    shifts: NDArray[np.int64],
    size: int,
    standard: bool,
    costs: NDArray[np.float32],
) -> None:
    """Costs of the cells in view of some rows, from `start` on of arrays that are whole.

    `left` is (channels, rows + size - 1, columns + size - 1), `right` has an axis of phases after the channels; sums (channels, [phases,] rows,
    columns) and spreads ([phases,] rows, columns) are those of windows.
    """
    rows, columns, levels = costs.shape
    channels, count = left.shape[0], np.float64(size * size)
    # Of products of intensities over `size` rows, by level, from the first column in view.
    products = np.zeros((levels, columns + size - 1), np.float64)
    cross, cost = np.empty(columns, np.float64), np.empty(columns, np.float32)
    for y in range(rows):
        at = start + y
        for k in range(levels):
            phase, shift, first, stop = shifts[k]
            width = stop - first
            if width == 0:
                continue
            column = products[k, : width + size - 1]
            for c in range(channels):
                for row in range(at + size - 1 if y > 0 else at, at + size):
                    a, b = left[c, row, first:], right[c, phase, row, first + shift :]
                    for x in range(width + size - 1):
                        column[x] += a[x] * b[x]
                if y > 0:
                    a, b = left[c, at - 1, first:], right[c, phase, at - 1, first + shift :]
                    for x in range(width + size - 1):
                        column[x] -= a[x] * b[x]
            total = 0.0
            for x in range(size):
                total += column[x]
            cross[0] = total
            for x in range(1, width):
                total += column[x + size - 1] - column[x - 1]
                cross[x] = total
            for x in range(width):
                cross[x] *= count
            for c in range(channels):
                a, b = left_sums[c, at, first:], right_sums[c, phase, at, first + shift :]
                for x in range(width):
                    cross[x] -= a[x] * b[x]
            a, b = left_spread[at, first:], right_spread[phase, at, first + shift :]
            for x in range(width):
                scale = np.sqrt(a[x] * b[x]) if standard else 0.5 * (a[x] + b[x])
                correlation = cross[x] / scale if scale > 0 else 0.0
                cost[x] = 1 - min(max(correlation, -1.0), 1.0)
            # Each level on its own is what the arithmetic is fast in; the volume holds levels side by side.
            out = costs[y, first:]
            for x in range(width):
                out[x, k] = cost[x]
