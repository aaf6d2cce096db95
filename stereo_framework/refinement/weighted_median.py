"""Median filter of a disparity map with weights that follow the image."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, Levels, Status, StatusMap
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import Disparity, Image, Mask, Positive, PositiveInt, Unit, stage

Floats = NDArray[np.float64]
Alike = tuple[float, Floats]
"""By how much the exponent of a weight falls for a squared difference in colour, and the weights of whole ones."""

_WHOLE = 2**20
"""The weight of the pixel itself. Whole numbers add up to the same sum in any order, so that two halves of equal weight are recognized."""
_LEAST = math.log(2 * _WHOLE)
"""If the exponent falls by more than this, the weight rounds to 0."""
_LANES = 8
"""Of float64 in the widest registers there are."""
_BINS = 1024
"""Of the disparities of an image: only those in the median's bin are looked at one by one."""


@stage(
    "refinement",
    source="Ma et al. 2013; Rhemann et al. 2011, section 3.1",
    halo=lambda size: size // 2,
)
def weighted_median(
    disparity: Disparity,
    reference: Image,
    status: StatusMap,
    *,
    size: Annotated[PositiveInt, Unit("pixels")] = 19,
    sigma_colour: Annotated[Positive, Unit("grey levels")] = 10.0,
    sigma_space: Annotated[Positive, Unit("pixels")] = 9.0,
    scope: Literal["status", "everywhere"] = "status",
) -> Disparity:
    """Give pixels the weighted median of the estimates around them; those that are near and similar in colour weigh most.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`.
    size : int
        Width of the square windows, in pixels; an even one counts as one more.
    sigma_colour : float
        Standard deviation of the weights by colour, in grey levels.
    sigma_space : float
        Standard deviation of the weights by distance, in pixels.
    scope : {"status", "everywhere"}
        Pixels that may change. "status": only pixels whose status is not matched, such as
        filled pixels. "everywhere": all pixels with an estimate.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels. A pixel without an estimate gets none and does not count as a neighbour
        of other pixels. Windows end at the border of the image.

    Raises
    ------
    ParameterError
        The size is below 1, a standard deviation is not above 0, or `scope` is not allowed.
    DataError
        The image or the status has another size than the disparities.

    Notes
    -----
    Ma et al. 2013 refine disparities in this way; Rhemann et al. 2011 filter what they have filled after a check of both views. The weights are those of the bilateral filter,
    ``exp(-distance^2 / (2 sigma_space^2) - difference^2 / (2 sigma_colour^2))``, with the Euclidean length of the difference of two
    colours, in units of 2^-20. Ma et al. replace them by a guided filter's, which approximates them in constant time; here every pixel of each
    window is visited. Of several medians the lowest is taken, which belongs to the background.

    Examples
    --------
    Of three neighbours that have been filled the two at the right look like what is there.

    >>> import numpy as np
    >>> row, image = np.float32([[2, 2, 2, 2, 7, 7]]), np.array([[50, 50, 50, 90, 90, 90]], np.uint8)
    >>> weighted_median(row, image, np.uint8([[0, 0, 3, 3, 0, 0]]), size=5).tolist()
    [[2.0, 2.0, 2.0, 7.0, 7.0, 7.0]]
    """
    filtered = disparity.copy()
    known = ~np.isnan(disparity)
    chosen = known if scope == "everywhere" else known & (status != Status.MATCHED)
    if not chosen.any():
        return filtered
    # How much the exponent of a weight falls for each distance along an axis, and for each squared colour difference.
    radius = size // 2
    far = np.square(np.arange(-radius, radius + 1) / sigma_space) / 2
    unlike = 0.5 / sigma_colour**2
    # Squares of whole differences are whole: those whose weight is not 0 have a table, and after them stands a 0.
    whole = reference.dtype == np.uint8
    table = np.exp(-np.arange(min(_LEAST / unlike + 1, 3 * 255**2 + 1) if whole else 0) * unlike)
    table = np.append(table, 0)
    low, high = float(disparity[known].min()), float(disparity[known].max())
    heights = (disparity.astype(np.float64) - low) * (
        (_BINS - 1) / (high - low) if high > low else 0
    )
    # Rows of a window fill whole registers; places beyond the window or the image weigh nothing.
    more = -(2 * radius + 1) % _LANES
    around = ((0, 0), (radius, radius + more))
    near = np.pad(np.exp(-(far[:, None] + far)) * _WHOLE, ((0, 0), (0, more)))
    bins = np.pad(np.where(known, heights, _BINS).astype(np.int16), around, constant_values=_BINS)
    # Always three channels, so that the compiler knows their number; two of them are 0 for grey images.
    channels = np.ascontiguousarray(
        np.moveaxis(reference.reshape(*disparity.shape, -1), 2, 0), np.float32
    )
    colours = np.pad(channels, ((0, 3 - len(channels)), *around))

    def run(start: int, stop: int) -> None:
        _kernel(
            disparity, bins, colours, chosen, (unlike, table), near, start, filtered[start:stop]
        )

    over_rows(run, disparity.shape[0], near.size * int(np.count_nonzero(chosen)))
    return filtered


@kernel
def _kernel(
    disparity: Costs,
    bins: Levels,
    colours: Costs,
    chosen: Mask,
    alike: Alike,
    near: Floats,
    start: int,
    filtered: Costs,
) -> None:
    (rows, columns), (unlike, table) = disparity.shape, alike
    height, width = near.shape
    radius, pitch = height // 2, bins.shape[1]
    # Weights of a window, and their sums in each bin of disparities; the last bin is for pixels without an estimate.
    weights, sums = np.empty(height * width, np.int32), np.empty(_BINS + 1, np.int64)
    values, kept = np.empty(height * width, np.float32), np.empty(height * width, np.int64)
    differences = np.empty(width, np.float64)
    # Of a table that holds its end alone nothing is taken.
    end = np.float64(table.shape[0] - 1)
    flat, places, nearest = colours.reshape(-1), bins.reshape(-1), near.reshape(-1)
    for y in range(start, start + filtered.shape[0]):
        first, last = max(radius - y, 0), min(radius + rows - y, height)
        for x in range(columns):
            if not chosen[y, x]:
                continue
            sums[:] = 0
            for j in range(first, last):
                at, line = (y + j - radius) * pitch + x, j * width
                _compare(flat, y * pitch + x + radius, at, rows * pitch, differences)
                for i in range(width):
                    n = np.uint64(i)
                    if end > 0:
                        share = table[np.uint64(min(differences[n], end))]
                    else:
                        share = np.exp(-differences[n] * unlike)
                    weight = np.int32(np.rint(share * nearest[np.uint64(line) + n]))
                    weights[np.uint64(line) + n] = weight
                    sums[np.uint64(places[np.uint64(at) + n])] += weight
            # The bin in which half of the total weight is reached, and its values that have a weight.
            whole, below, middle = sums[:_BINS].sum(), np.int64(0), 0
            while 2 * (below + sums[middle]) < whole:
                below += sums[middle]
                middle += 1
            count = 0
            for j in range(first, last):
                at, line = (y + j - radius) * pitch + x, j * width
                for i in range(width):
                    weight = weights[np.uint64(line + i)]
                    if places[np.uint64(at + i)] == middle and weight > 0:
                        values[count], kept[count] = (
                            disparity[y + j - radius, x + i - radius],
                            weight,
                        )
                        count += 1
            filtered[y - start, x] = _lower_median(values[:count], kept[:count], whole, below)


@kernel
def _compare(
    colours: NDArray[np.float32], own: int, at: int, plane: int, differences: NDArray[np.float64]
) -> None:
    """Squared colour distances between the pixels from `at` on and the pixel `own`; `plane` is the distance from one channel to the next in memory."""
    p, q = np.uint64(own), np.uint64(at)
    second, third = np.uint64(plane), np.uint64(2 * plane)
    red, green, blue = (
        np.float64(colours[p]),
        np.float64(colours[p + second]),
        np.float64(colours[p + third]),
    )
    for n in range(differences.shape[0]):
        i = np.uint64(n)
        r, g = np.float64(colours[q + i]) - red, np.float64(colours[q + second + i]) - green
        b = np.float64(colours[q + third + i]) - blue
        differences[i] = r * r + g * g + b * b


@kernel
def _lower_median(
    values: NDArray[np.float32], weights: NDArray[np.int64], whole: int, below: int
) -> float:
    """The smallest value at which the weights, added to `below` in ascending order of the values, reach half of `whole`; both arrays are reordered."""
    low, high = 0, values.shape[0] - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                weights[i], weights[j] = weights[j], weights[i]
                i += 1
                j -= 1
        # Up to j nothing is above the pivot, from i on nothing is below it; what lies between equals it.
        upto = below + weights[low : j + 1].sum()
        if 2 * upto >= whole:
            high = j
            continue
        upto += weights[j + 1 : i].sum()
        if 2 * upto >= whole:
            return pivot
        low, below = i, upto
    return values[low]
