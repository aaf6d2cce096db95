"""Filling of the border that the match image does not show, by continuing the surfaces next to it."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Image, Mask, SearchRange
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.local_planes import solve_normal_equations
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import (
    NonNegative,
    Positive,
    PositiveInt,
    Status,
    StatusMap,
    Unit,
    kernel_array,
    stage,
)

# Rows per column of the ways inwards, in quarters.
_WAYS = (0, 1, -1, 2, -2, 4, -4, 8, -8)
_FARTHER = 0.25
"""Difference in grey levels that counts as much as one more column on the way."""
_HOLD = (10.0, 1e-3)
"""Weights that keep slopes near 0 and the value near the pixel's own, in squared pixels and pixels."""


@stage(
    "refinement", source="ours, unpublished; Bleyer & Gelautz 2005 for planes of occluded surfaces"
)
def border_fill(
    disparity: Disparity,
    reference: Image,
    search: SearchRange,
    status: StatusMap,
    *,
    reach: Annotated[PositiveInt, Unit("pixels")] = 25,
    gate: Annotated[Positive, Unit("pixels")] = 2.5,
    max_slope: Annotated[NonNegative, Unit("pixels per pixel")] = 0.3,
) -> tuple[Disparity, StatusMap]:
    """Fill the border that the match image does not show by continuing the surfaces next to it as planes.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Its direction says at which end of the rows the border is; disparities are limited to its ends.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`. Invalid pixels are not filled.
    reach : int
        Estimates count up to this distance above, below and outwards from where a surface begins, and up to twice as far inwards, in pixels.
    gate : float
        Of these estimates, only those count that differ by at most this from the first one, in pixels.
    max_slope : float
        Largest slope of a plane along rows and along columns, in pixels per pixel.

    Returns
    -------
    disparity : ndarray, float32, (rows, columns)
        Pixels. Those are filled that have no estimate between them and the end of their row at the border.
    status : ndarray, uint8, (rows, columns)
        Filled where a pixel was given an estimate.

    Raises
    ------
    ParameterError
        `reach` is below 1, `gate` is not above 0, or `max_slope` is negative.
    DataError
        The image or the status has another size than the disparities.

    Notes
    -----
    Ours, unpublished. The border is on the left of a reference image whose match frame lies to the right, as wide as disparities are large. From each of
    its pixels 9 ways lead inwards: one level, the others rising or falling by 1/4, 1/2, 1 and 2 rows per column. Of the first estimates on these ways, the one
    with the most similar colour counts (largest difference of a channel); each column on the way counts as a quarter of a grey level. The least-squares
    plane there is continued to the pixel. Run this after a check of both views and before any other filling.

    Examples
    --------
    >>> import numpy as np
    >>> row = np.float32([[np.nan, np.nan, 2, 2, 2, 2, 5, 5]])
    >>> status = np.uint8([[1, 1, 0, 0, 0, 0, 0, 0]])
    >>> border_fill(row, np.zeros((1, 8), np.uint8), SearchRange(0, 7), status)[0].tolist()
    [[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 5.0, 5.0]]
    """
    # From here on the border is always on the left.
    inwards = np.s_[:, :: search.direction]
    given = kernel_array(disparity[inwards])
    colours = kernel_array(
        reference.reshape(*disparity.shape, -1)[inwards].astype(np.float32, copy=False)
    )
    known = ~np.isnan(given)
    border = ~np.logical_or.accumulate(known, axis=1) & (status[inwards] != Status.INVALID)
    begins = np.full(disparity.shape, -1, np.int32)
    over_rows(
        lambda start, stop: _begin(colours, known, border, start, stop, begins),
        disparity.shape[0],
        100 * int(border.sum()),
    )
    y, x = np.nonzero(begins >= 0)
    sources, which = np.unique(begins[y, x], return_inverse=True)
    planes = np.empty((sources.size, 3))
    over_rows(
        lambda start, stop: _fit(given, sources[start:stop], reach, gate, planes[start:stop]),
        sources.size,
        9 * reach * reach * sources.size,
    )
    right, down, value = planes[which].T
    right, down = np.clip(right, -max_slope, max_slope), np.clip(down, -max_slope, max_slope)
    v, u = np.divmod(sources[which], disparity.shape[1])
    filled, told = given.copy(), status[inwards].copy()
    filled[y, x] = np.clip(value + right * (x - u) + down * (y - v), search.minimum, search.maximum)
    told[y, x] = Status.FILLED
    return np.ascontiguousarray(filled[inwards]), np.ascontiguousarray(told[inwards])


@kernel
def _begin(
    colours: NDArray[np.float32],
    known: Mask,
    border: Mask,
    start: int,
    stop: int,
    begins: NDArray[np.int32],
) -> None:
    """Where the surface that continues into each border pixel begins, as an index in reading order."""
    rows, columns, channels = colours.shape
    for y in range(start, stop):
        for x in range(columns):
            if not border[y, x]:
                continue
            least = np.float32(np.inf)
            for way in _WAYS:
                for s in range(1, columns - x):
                    # Halves are rounded away from the row.
                    v, u = y + (way * s + 2) // 4 if way >= 0 else y - (2 - way * s) // 4, x + s
                    if not 0 <= v < rows:
                        break
                    if known[v, u]:
                        unlike = np.float32(0)
                        for c in range(channels):
                            unlike = max(unlike, abs(colours[v, u, c] - colours[y, x, c]))
                        cost = unlike + np.float32(_FARTHER * s)
                        if cost < least:
                            least, begins[y, x] = cost, v * columns + u
                        break


@kernel
def _fit(
    disparity: Disparity,
    sources: NDArray[np.int32],
    reach: int,
    gate: float,
    planes: NDArray[np.float64],
) -> None:
    """The slopes along rows and columns and the value of the plane at each source."""
    rows, columns = disparity.shape
    for i in range(sources.shape[0]):
        y, x = sources[i] // columns, sources[i] % columns
        own = np.float64(disparity[y, x])
        xx = yy = _HOLD[0]
        ones = _HOLD[1]
        xy = across = along = xz = yz = z = 0.0
        for v in range(max(y - reach, 0), min(y + reach + 1, rows)):
            for u in range(max(x - reach, 0), min(x + 2 * reach + 1, columns)):
                height = disparity[v, u] - own
                if not abs(height) <= gate:
                    continue
                dx, dy = np.float64(u - x), np.float64(v - y)
                xx, xy, across = xx + dx * dx, xy + dx * dy, across + dx
                yy, along, ones = yy + dy * dy, along + dy, ones + 1
                xz, yz, z = xz + dx * height, yz + dy * height, z + height
        right, down, rise = solve_normal_equations(xx, xy, across, yy, along, ones, xz, yz, z)
        planes[i, 0], planes[i, 1], planes[i, 2] = right, down, own + rise
