"""Median filter of a disparity map whose weights follow the image."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.parameters import require
from stereo_framework.refinement._sizes import check_size
from stereo_framework.scene import Disparity, Image, Mask
from stereo_framework.stage import Positive, PositiveInt, Unit, stage
from stereo_framework.volume import Status

WHERE = ("status", "everywhere")

_WHOLE = 2**20
"""The weight of the pixel itself. Whole weights add up alike in any order, so that halves of equal weight are told from rounding."""
_LEAST = math.log(2 * _WHOLE)


@stage("refinement", source="Ma et al. 2013; Rhemann et al. 2011, section 3.1", halo=lambda radius: radius)
def weighted_median(
    disparity: Disparity,
    reference: Image,
    status: NDArray[np.uint8],
    *,
    radius: Annotated[PositiveInt, Unit("pixels")] = 9,
    sigma_colour: Annotated[Positive, Unit("grey levels")] = 10.0,
    sigma_space: Annotated[Positive, Unit("pixels")] = 9.0,
    where: Literal["status", "everywhere"] = "status",
) -> Disparity:
    """Give pixels the median of the estimates around them, of which those that are near and similar in colour weigh most.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`.
    radius : int
        Largest distance along rows and columns of what is looked at, in pixels: the window is 2 radius + 1 wide and high.
    sigma_colour : float
        Standard deviation of the weights by colour, in grey levels.
    sigma_space : float
        Standard deviation of the weights by distance, in pixels.
    where : {"status", "everywhere"}
        "status": only pixels whose status is not matched, such as those filled before, change. "everywhere": all pixels with an estimate.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels. What has no estimate keeps none, and neighbours without one are left out, as is what lies beyond the image.

    Raises
    ------
    ParameterError
        A radius below 1, a standard deviation that is not above 0, another `where`.
    DataError
        An image or a status of another size than the disparities.

    Notes
    -----
    Ma et al. 2013 refine disparities so; Rhemann et al. 2011 filter what they have filled after a check of both views. The weights are those of the bilateral filter,
    ``exp(-distance^2 / (2 sigma_space^2) - difference^2 / (2 sigma_colour^2))``, with the Euclidean length of the difference of two
    colours, in units of 2^-20. Ma et al. replace them by a guided filter's, which approximates them in constant time; here each window is
    looked through. Of several medians the lowest is taken, the background's.

    Examples
    --------
    Of three neighbours that have been filled the two at the right look like what is there.

    >>> import numpy as np
    >>> row, image = np.float32([[2, 2, 2, 2, 7, 7]]), np.array([[50, 50, 50, 90, 90, 90]], np.uint8)
    >>> weighted_median(row, image, np.uint8([[0, 0, 3, 3, 0, 0]]), radius=2).tolist()
    [[2.0, 2.0, 2.0, 7.0, 7.0, 7.0]]
    """
    require(weighted_median, radius=radius, sigma_colour=sigma_colour, sigma_space=sigma_space, where=where)
    check_size("weighted_median", disparity, reference=reference, status=status)
    filtered = disparity.copy()
    chosen = ~np.isnan(disparity)
    if where == "status":
        chosen &= status != Status.MATCHED
    colours = np.ascontiguousarray(reference, np.float32).reshape(*disparity.shape, -1)
    # By how much the exponent of a weight falls, for each distance along an axis and for each square of a difference.
    far = np.square(np.arange(radius + 1) / sigma_space) / 2
    unlike = 0.5 / sigma_colour**2
    # Squares of whole differences are whole: those whose weight is not 0 have a table.
    whole = reference.dtype == np.uint8
    table = np.exp(-np.arange(min(_LEAST / unlike + 1, 3 * 255**2 + 1) if whole else 0) * unlike)
    near = np.exp(-(far[:, None] + far)) * _WHOLE

    def run(start: int, stop: int) -> None:
        _kernel(disparity, colours, chosen, far, unlike, table, near, start, filtered[start:stop])

    over_rows(run, disparity.shape[0], (2 * radius + 1) ** 2 * int(np.count_nonzero(chosen)))
    return filtered


@kernel
def _kernel(
    disparity: Disparity,
    colours: NDArray[np.float32],
    chosen: Mask,
    far: NDArray[np.float64],
    unlike: float,
    table: NDArray[np.float64],
    near: NDArray[np.float64],
    start: int,
    filtered: Disparity,
) -> None:
    rows, columns, channels = colours.shape
    radius = far.shape[0] - 1
    size = (2 * radius + 1) ** 2
    values, weights = np.empty(size, np.float32), np.empty(size, np.int64)
    for y in range(start, start + filtered.shape[0]):
        for x in range(columns):
            if not chosen[y, x]:
                continue
            count = 0
            for j in range(max(y - radius, 0), min(y + radius + 1, rows)):
                for i in range(max(x - radius, 0), min(x + radius + 1, columns)):
                    if np.isnan(disparity[j, i]):
                        continue
                    difference = 0.0
                    for c in range(channels):
                        difference += (np.float64(colours[j, i, c]) - np.float64(colours[y, x, c])) ** 2
                    fall = far[abs(j - y)] + far[abs(i - x)] + difference * unlike
                    # Less weighs less than half a unit.
                    if fall < _LEAST:
                        alike = table[int(difference)] if table.size > 0 else np.exp(-difference * unlike)
                        values[count], weights[count] = disparity[j, i], round(alike * near[abs(j - y), abs(i - x)])
                        count += 1
            filtered[y - start, x] = _lower_median(values[:count], weights[:count])


@kernel
def _lower_median(values: NDArray[np.float32], weights: NDArray[np.int64]) -> float:
    """The least value that has, with those below it, half of all weight; both arrays are put into another order."""
    whole = weights.sum()
    low, high, below = 0, values.shape[0] - 1, 0
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
        # Up to j nothing is above the pivot, from i nothing below; what is between equals it.
        upto = below + weights[low : j + 1].sum()
        if 2 * upto >= whole:
            high = j
            continue
        upto += weights[j + 1 : i].sum()
        if 2 * upto >= whole:
            return pivot
        low, below = i, upto
    return values[low]
