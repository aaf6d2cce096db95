"""Planes through the estimates of each segment of an image, each the best of many that are tried."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.random_numbers import random_number
from stereo_framework.kernels.threads import over_rows

_FITS = 2
"""How often a plane is refitted to the estimates near it."""
_PIECE = 256
"""Number of estimates between checks whether a plane can still become the best."""


def plane_values(
    disparity: NDArray[np.float32],
    wanted: NDArray[np.bool_],
    segments: NDArray[np.int32],
    plane_tolerance: float,
    min_count: int,
    min_share: float,
    plane_iterations: int,
    seed: int,
) -> NDArray[np.float32]:
    """The disparities of wanted pixels, row by row, on the planes of their segments; NaN where a segment has none.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    wanted : ndarray, bool, (rows, columns)
        Pixels without an estimate; at least one.
    segments : ndarray, int32, (rows, columns)
        Numbers from 0 on.
    plane_tolerance, min_count, min_share, plane_iterations, seed
        As of the stage `segment_planes`.
    """
    count = int(segments.max()) + 1
    asked = np.zeros(count, np.bool_)
    asked[segments[wanted]] = True
    known = asked[segments] & ~np.isnan(disparity)
    # The estimates of one segment lie together, those of segment i from begins[i] on. Numbers of 16 bits are sorted several times faster.
    number, values = (
        segments[known].astype(np.uint16 if count <= 1 << 16 else np.int32),
        disparity[known],
    )
    order = np.argsort(number, kind="stable")
    begins = np.append(0, np.cumsum(np.bincount(number, minlength=count)))
    y, x = np.nonzero(known)
    points = np.stack([y[order], x[order], values[order]]).astype(np.float64)
    # The value in the middle of each segment's, or before it; that of a segment without estimates means nothing.
    rising = np.argsort(values)
    ascending = values[rising][np.argsort(number[rising], kind="stable")].astype(np.float64)
    medians = np.append(ascending, np.nan)[(begins[:-1] + begins[1:] - 1) // 2]
    planes = np.full((count, 3), np.nan)
    some = np.flatnonzero(asked)
    keys = (np.random.PCG64(seed).random_raw(2) >> 32).astype(np.int64)
    # Each thread gets the same number of estimates, not of segments.
    ends = np.cumsum(np.diff(begins)[some])

    def run(start: int, stop: int) -> None:
        first, last = np.searchsorted(ends, (start, stop), side="right")
        _fit(
            points,
            begins,
            medians,
            some[first:last],
            keys,
            plane_iterations,
            plane_tolerance,
            min_count,
            min_share,
            planes,
        )

    estimates = int(ends[-1])
    over_rows(run, estimates, plane_iterations * estimates)
    y, x = np.nonzero(wanted)
    level, down, right = planes[segments[wanted]].T
    return (level + down * y + right * x).astype(np.float32)


@kernel
def _fit(
    points: NDArray[np.float64],
    begins: NDArray[np.int64],
    medians: NDArray[np.float64],
    asked: NDArray[np.int64],
    keys: NDArray[np.int64],
    plane_iterations: int,
    plane_tolerance: float,
    min_count: int,
    min_share: float,
    planes: NDArray[np.float64],
) -> None:
    """Planes (level at row and column 0, change from row to row, from column to column) of the segments `asked` for; NaN stays where there is none.

    `points`: rows, columns and disparities, a line each.
    """
    for segment in asked:
        some = points[:, begins[segment] : begins[segment + 1]]
        count = some.shape[1]
        if count < min_count:
            continue
        level, down, right = medians[segment], 0.0, 0.0
        best = _rating(some, level, down, right, plane_tolerance, -1.0)
        for trial in range(plane_iterations):
            place = 3 * (int(segment) * plane_iterations + trial)
            i = random_number(place, keys[0], keys[1]) % count
            j = random_number(place + 1, keys[0], keys[1]) % count
            k = random_number(place + 2, keys[0], keys[1]) % count
            y1, x1, d1 = some[0, j] - some[0, i], some[1, j] - some[1, i], some[2, j] - some[2, i]
            y2, x2, d2 = some[0, k] - some[0, i], some[1, k] - some[1, i], some[2, k] - some[2, i]
            area = y1 * x2 - y2 * x1
            # Three pixels on a line, or the same pixel twice.
            if area == 0:
                continue
            v, u = (d1 * x2 - d2 * x1) / area, (y1 * d2 - y2 * d1) / area
            if abs(u) >= 1:
                continue
            z = some[2, i] - v * some[0, i] - u * some[1, i]
            rating = _rating(some, z, v, u, plane_tolerance, best)
            if rating > best:
                best, level, down, right = rating, z, v, u
        for _ in range(_FITS):
            level, down, right = _least_squares(some, level, down, right, plane_tolerance)
        near = 0
        for p in range(count):
            near += (
                abs(level + down * some[0, p] + right * some[1, p] - some[2, p]) < plane_tolerance
            )
        if near >= min_share * count:
            planes[segment, 0], planes[segment, 1], planes[segment, 2] = level, down, right


@kernel
def _rating(
    points: NDArray[np.float64],
    level: float,
    down: float,
    right: float,
    plane_tolerance: float,
    best: float,
) -> float:
    """The rating of a plane, or -1 as soon as it is known to be no more than `best`."""
    count, total = points.shape[1], 0.0
    for start in range(0, count, _PIECE):
        # No term is above 1, but sums are rounded.
        if total + (count - start) * (1 + 1e-15 * count) < best:
            return -1.0
        for p in range(start, min(start + _PIECE, count)):
            off = (
                level + down * points[0, p] + right * points[1, p] - points[2, p]
            ) / plane_tolerance
            total += max(1 - off * off, 0.0)
    return total


@kernel
def _least_squares(
    points: NDArray[np.float64], level: float, down: float, right: float, plane_tolerance: float
) -> tuple[float, float, float]:
    """The plane of least squares through the points on one; that one where they do not tell its slopes, or tell slopes that are not seen."""
    count, y, x, d = 0, 0.0, 0.0, 0.0
    for p in range(points.shape[1]):
        if abs(level + down * points[0, p] + right * points[1, p] - points[2, p]) < plane_tolerance:
            count, y, x, d = count + 1, y + points[0, p], x + points[1, p], d + points[2, p]
    if count == 0:
        return level, down, right
    y, x, d = y / count, x / count, d / count
    yy = yx = xx = yd = xd = 0.0
    for p in range(points.shape[1]):
        if abs(level + down * points[0, p] + right * points[1, p] - points[2, p]) < plane_tolerance:
            v, u, z = points[0, p] - y, points[1, p] - x, points[2, p] - d
            yy, yx, xx, yd, xd = yy + v * v, yx + v * u, xx + u * u, yd + v * z, xd + u * z
    area = yy * xx - yx * yx
    # Pixels on a line span an area of 0, except for rounding.
    if area <= 1e-9 * yy * xx:
        return level, down, right
    v, u = (yd * xx - xd * yx) / area, (xd * yy - yd * yx) / area
    return (d - v * y - u * x, v, u) if abs(u) < 1 else (level, down, right)
