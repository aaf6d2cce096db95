"""Rows of the match image brought to those of the reference image, by what an initial map says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import NOTE
from stereo_framework.core.grey import GreyConversion, grey_values
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import (
    CallReport,
    Disparity,
    DisparityMap,
    Image,
    NonNegative,
    SearchRange,
    Status,
    Unit,
    auxiliary_map,
    report_call,
    stage,
)

Grey = NDArray[np.float32]
Field = NDArray[np.float64]
"""Rows as a polynomial of second order: what multiplies 1, u, v, uu, uv, vv, where u and v go from -1 to 1 over the match image's columns and rows."""

_HALF = 4
"""Windows have 9x9 pixels."""
_WINDOWS = 20_000
"""About so many windows are looked at, on a square grid."""
_ENOUGH = 300
"""A field is fitted to no fewer windows than this."""
_FULL = 0.6
"""Share of a window's pixels that the initial map must have matched."""
_TEXTURE = 1.0
"""Squared grey levels: the least determinant over trace of a window's gradients, below which it does not say where it has moved."""
_FARTHEST = 2.0
"""Windows that seem to have moved by more pixels than this do not count."""
_STEPS = 3
"""How often a window is moved until it fits."""
_PASSES, _DONE = 6, 0.01
"""Passes at most; they end when the field changes by less than so many rows (root of the mean square)."""
_A = -0.75
"""Parameter of Keys' kernel; it is -1/2 in Keys' paper, and -3/4 in OpenCV, which keeps more of fine texture."""
_PULL = np.diag([1e-4, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2])
"""Ridge of the fit in shares of the sum of weights, so that a field that few windows speak of stays small where there are none."""


@stage(
    "preprocessing",
    source="ours, unpublished; Lucas & Kanade 1981 for windows, Beaton & Tukey 1974 for weights",
)
def row_alignment(
    reference: Image,
    match: Image,
    search: SearchRange,
    auxiliary: Mapping[str, DisparityMap],
    *,
    row_tolerance: Annotated[NonNegative, Unit("pixels")] = 0.1,
    initial: str | None = None,
    grey_conversion: GreyConversion = "luma",
) -> tuple[Image, Image]:
    """Sample the match image where it shows what the reference image shows in the same row, if the rows of the two are not the same.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Its direction says where the match frame lies.
    auxiliary : mapping of str to DisparityMap
        The initial map is one of them. Pixels count that have an estimate and were not filled.
    row_tolerance : float
        Root mean square of the row differences, in pixels, up to which the images stay
        as they are.
    initial : str, optional
        Name of the auxiliary method whose map is the initial map; null: the only one.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours to the grey values of the windows, as in `census`.

    Returns
    -------
    reference, match : ndarray
        Same shapes and types. The reference image stays as it is. The match image is sampled by Keys' cubic kernel, uint8 rounded; rows outside it are its first and last.

    Raises
    ------
    ParameterError
        `row_tolerance` is below 0, there is no such auxiliary method, or none is named and there are several.

    Notes
    -----
    Ours, unpublished. Pairs that count as rectified had row differences of up to 0.7 px
    on ten photographs of Middlebury and up to 2.1 px on roads of KITTI. Half a row at a
    steep edge looks like a wrong disparity. Windows of
    9x9 pixels around matched ones are moved in both directions until they fit, in images blurred by a pixel and less their means in the window, by Lucas and
    Kanade's method (in both, since the initial map has made up for wrong rows by wrong disparities). A polynomial of second order is fitted to how far they moved down,
    with Tukey's weights (three deviations, from the median), and all is repeated from
    there until the field stays. A field above `row_tolerance` is reported as a note.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import load_scene
    >>> scene = load_scene("synthetic/planes")
    >>> matched = np.zeros(scene.truth.shape, np.uint8)
    >>> initial = DisparityMap(scene.truth, matched, scene.search)
    >>> low = np.roll(scene.match, 1, axis=0)  # a row too low
    >>> _, again = row_alignment(scene.reference, low, scene.search, {"initial": initial})
    >>> before, after = (np.abs(image - scene.match.astype(float))[2:-2].mean() for image in (low, again))
    >>> bool(after < before / 4)
    True
    """
    seen = auxiliary_map("row_alignment.initial", auxiliary, initial)
    field = _field(
        reference,
        match,
        search.direction,
        np.where(seen.status == Status.MATCHED, seen.disparity, np.float32(np.nan)),
        grey_conversion,
    )
    rows = _rows(field)
    if _mean_square(rows) <= row_tolerance**2:
        return reference, match
    offset = np.abs(rows).max()
    remark = f"rows are off by up to {offset:.1f} px; they were corrected, so no action is needed"
    report_call(CallReport(warning=NOTE + remark))
    moved = np.empty_like(match)
    channels = match.reshape(*match.shape[:2], -1)
    out = moved.reshape(channels.shape)
    over_rows(
        lambda start, stop: _sample(channels, match.dtype == np.uint8, field, start, stop, out),
        len(match),
        8 * match.size,
    )
    return reference, moved


def _field(
    reference: Image,
    match: Image,
    direction: int,
    disparity: Disparity,
    grey_conversion: GreyConversion,
) -> Field:
    """How many rows lower the match image shows what the reference image shows; without enough windows 0."""
    import cv2

    left, right = (_blurred(image, grey_conversion) for image in (reference, match))
    slopes = np.stack(
        [cv2.Sobel(left, cv2.CV_32F, *along, scale=1 / 8) for along in ((1, 0), (0, 1))]
    )
    rows, columns = left.shape
    step = max(1, round(math.sqrt(left.size / _WINDOWS)))
    places = range(step // 2, rows, step), range(step // 2, columns, step)
    shifts = np.empty((len(places[0]), len(places[1])), np.float32)
    field = np.zeros(6)
    for _ in range(_PASSES):

        def run(start: int, stop: int, field: Field = field) -> None:
            _measure(
                left, right, slopes, disparity, direction, step, field, start, shifts[start:stop]
            )

        over_rows(run, len(shifts), 16 * (2 * _HALF + 1) ** 2 * shifts.size)
        j, i = np.nonzero(~np.isnan(shifts))
        if j.size < _ENOUGH:
            return np.zeros(6)
        y, x = j * step + step // 2, i * step + step // 2
        u = (x - direction * disparity[y, x]) * (2 / columns) - 1
        change = _fitted(_terms(u, y * (2 / rows) - 1), shifts[j, i].astype(float))
        field = field + change
        if _mean_square(_rows(change)) < _DONE**2:
            break
    return field


def _blurred(image: Image, grey_conversion: GreyConversion) -> NDArray[np.float32]:
    """Return the grey values of an image, blurred by a Gaussian of one pixel."""
    import cv2

    grey = grey_values(image, grey_conversion).astype(np.float32)
    return np.ascontiguousarray(cv2.GaussianBlur(grey, (0, 0), 1.0))


def _terms(u: NDArray, v: NDArray) -> NDArray[np.float64]:
    """What the numbers of a field multiply."""
    return np.stack([np.ones_like(u), u, v, u * u, u * v, v * v], axis=-1).astype(np.float64)


def _rows(field: Field) -> NDArray[np.float64]:
    """A field at points all over an image."""
    return _terms(*np.meshgrid(*[np.linspace(-1, 1, 33)] * 2)) @ field


def _mean_square(values: NDArray[np.float64]) -> float:
    return float(np.mean(values**2))


def _fitted(terms: NDArray[np.float64], values: NDArray[np.float64]) -> Field:
    """The field through most of the values: Tukey's weights, ten rounds."""
    field = np.zeros(6)
    for _ in range(10):
        away = values - terms @ field
        weights = (
            np.clip(1 - (away / (3 * (1.4826 * np.median(np.abs(away)) + 1e-3))) ** 2, 0, None) ** 2
        )
        weighted = terms * weights[:, None]
        field = np.linalg.solve(weighted.T @ terms + weights.sum() * _PULL, weighted.T @ values)
    return field


@kernel
def _value(field: Field, x: float, y: float, columns: int, rows: int) -> float:
    """The field at a position of the match image."""
    u, v = 2 * x / columns - 1, 2 * y / rows - 1
    return (
        field[0]
        + field[1] * u
        + field[2] * v
        + field[3] * u * u
        + field[4] * u * v
        + field[5] * v * v
    )


@kernel
def _measure(
    left: Grey,
    right: Grey,
    slopes: Grey,
    disparity: Grey,
    direction: int,
    step: int,
    field: Field,
    start: int,
    shifts: Grey,
) -> None:
    """How many rows lower than the field says the match image shows the windows around some pixels; NaN where a window cannot say."""
    rows, columns = left.shape
    for j in range(start, start + shifts.shape[0]):
        for i in range(shifts.shape[1]):
            shifts[j - start, i] = np.nan
            cy, cx = j * step + step // 2, i * step + step // 2
            if np.isnan(disparity[cy, cx]):
                continue
            d = np.float64(disparity[cy, cx])
            before = _value(field, cx - direction * d, cy, columns, rows)
            across, lower = -direction * d, before
            for _ in range(_STEPS):
                count = 0
                sx = sy = se = sxx = sxy = syy = sxe = sye = 0.0
                for y in range(max(cy - _HALF, 0), min(cy + _HALF + 1, rows)):
                    row = min(max(y + lower, 0.0), rows - 1.0)
                    q = int(row)
                    q1, t = min(q + 1, rows - 1), row - q
                    for x in range(max(cx - _HALF, 0), min(cx + _HALF + 1, columns)):
                        place = x + across
                        if np.isnan(disparity[y, x]) or place < 0 or place > columns - 1:
                            continue
                        p = int(place)
                        p1, s = min(p + 1, columns - 1), place - p
                        above = (1 - s) * right[q, p] + s * right[q, p1]
                        below = (1 - s) * right[q1, p] + s * right[q1, p1]
                        e = left[y, x] - (1 - t) * above - t * below
                        gx, gy = np.float64(slopes[0, y, x]), np.float64(slopes[1, y, x])
                        count += 1
                        sx, sy, se = sx + gx, sy + gy, se + e
                        sxx, sxy, syy = sxx + gx * gx, sxy + gx * gy, syy + gy * gy
                        sxe, sye = sxe + gx * e, sye + gy * e
                if count <= _FULL * (2 * _HALF + 1) ** 2:
                    break
                # Covariances, so that unlike light does not count.
                sx, sy, se = sx / count, sy / count, se / count
                sxx, sxy, syy = sxx / count - sx * sx, sxy / count - sx * sy, syy / count - sy * sy
                sxe, sye = sxe / count - sx * se, sye / count - sy * se
                determinant = sxx * syy - sxy * sxy
                if determinant <= _TEXTURE * (sxx + syy):
                    break
                across += (syy * sxe - sxy * sye) / determinant
                lower += (sxx * sye - sxy * sxe) / determinant
            else:
                if abs(lower - before) < _FARTHEST and abs(across + direction * d) < _FARTHEST:
                    shifts[j - start, i] = lower - before


@kernel
def _near(t: float) -> float:
    """Keys' kernel at a distance of at most 1."""
    return 1 + t**2 * ((_A + 2) * t - (_A + 3))


@kernel
def _sample(match: NDArray, whole: bool, field: Field, start: int, stop: int, out: NDArray) -> None:
    """Some rows of the image ``(rows, columns, channels)``, taken from where the field says."""
    rows, columns, channels = match.shape
    for y in range(start, stop):
        for x in range(columns):
            row = y + _value(field, x, y, columns, rows)
            q = int(np.floor(row))
            t = row - q
            back = 1 - t
            shares = (_A * t * back**2, _near(t), _near(back), _A * t**2 * back)
            for n in range(channels):
                value = 0.0
                for k in range(4):
                    value += shares[k] * match[min(max(q - 1 + k, 0), rows - 1), x, n]
                value = min(max(value, 0.0), 255.0)
                out[y, x, n] = np.floor(value + 0.5) if whole else value
