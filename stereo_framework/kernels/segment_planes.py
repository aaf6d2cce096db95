"""Planes that are fitted to the estimates of each segment of an image.

Each plane is the best of many planes through three random estimates (RANSAC). It is
then fitted again to all estimates near it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.random_numbers import random_number
from stereo_framework.kernels.threads import over_rows

_REFITS = 2
"""Number of times that the best plane is fitted again to the estimates near it."""

_BATCH = 256
"""Number of estimates after which a plane that can no longer be the best is dropped."""


class _Estimates(NamedTuple):
    """The estimates of the segments that have holes, ordered by segment.

    Parameters
    ----------
    points : ndarray, float64, (3, estimates)
        Row, column and disparity of each estimate.
    starts : ndarray, int64, (segments + 1,)
        The estimates of segment i are ``points[:, starts[i] : starts[i + 1]]``.
    medians : ndarray, float64, (segments,)
        Median disparity of each segment. If the number of estimates is even, it is the
        lower of the two middle values. If there are no estimates, it is arbitrary.
    """

    points: NDArray[np.float64]
    starts: NDArray[np.int64]
    medians: NDArray[np.float64]


def compute_plane_disparities(
    disparity: NDArray[np.float32],
    holes: NDArray[np.bool_],
    segments: NDArray[np.int32],
    plane_tolerance: float,
    min_count: int,
    min_share: float,
    plane_iterations: int,
    seed: int,
) -> NDArray[np.float32]:
    """Compute the disparities of holes on the planes of their segments.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels; NaN means no estimate.
    holes : ndarray, bool, (rows, columns)
        Mask of pixels without an estimate. At least one pixel is in the mask.
    segments : ndarray, int32, (rows, columns)
        Number of the segment of each pixel, from 0 on.
    plane_tolerance, min_count, min_share, plane_iterations, seed
        Parameters of the stage `segment_planes`.

    Returns
    -------
    ndarray, float32, (number of holes,)
        Disparities of the holes in raster order; NaN if the segment has no plane.
    """
    segment_count = int(segments.max()) + 1
    has_holes = np.zeros(segment_count, np.bool_)
    has_holes[segments[holes]] = True
    is_used = has_holes[segments] & ~np.isnan(disparity)
    estimates = _order_by_segment(disparity, segments, is_used, segment_count)

    planes = np.full((segment_count, 3), np.nan)
    keys = (np.random.PCG64(seed).random_raw(2) >> 32).astype(np.int64)
    # Segments have different sizes. Therefore the work is divided by estimates.
    segments_to_fit = np.flatnonzero(has_holes)
    last_estimates = np.cumsum(np.diff(estimates.starts)[segments_to_fit])

    def fit(start: int, stop: int) -> None:
        first, last = np.searchsorted(last_estimates, (start, stop), side="right")
        _fit_planes(
            *estimates,
            segments_to_fit[first:last],
            keys,
            plane_iterations,
            plane_tolerance,
            min_count,
            min_share,
            planes,
        )

    estimate_count = int(last_estimates[-1])
    over_rows(fit, estimate_count, plane_iterations * estimate_count)

    y, x = np.nonzero(holes)
    level, down, right = planes[segments[holes]].T
    return (level + down * y + right * x).astype(np.float32)


def _order_by_segment(
    disparity: NDArray[np.float32],
    segments: NDArray[np.int32],
    mask: NDArray[np.bool_],
    segment_count: int,
) -> _Estimates:
    """Return the estimates of a mask, ordered by segment."""
    # NumPy sorts 16-bit numbers several times faster.
    number_type = np.uint16 if segment_count <= 1 << 16 else np.int32
    numbers = segments[mask].astype(number_type)
    values = disparity[mask]
    y, x = np.nonzero(mask)
    order = np.argsort(numbers, kind="stable")
    points = np.stack([y[order], x[order], values[order]]).astype(np.float64)
    starts = np.append(0, np.cumsum(np.bincount(numbers, minlength=segment_count)))

    by_value = np.argsort(values)
    by_segment_and_value = by_value[np.argsort(numbers[by_value], kind="stable")]
    sorted_values = values[by_segment_and_value].astype(np.float64)
    middles = (starts[:-1] + starts[1:] - 1) // 2
    # The middle of a segment without estimates may be -1. The NaN makes this index
    # valid, even if there are no estimates at all.
    medians = np.append(sorted_values, np.nan)[middles]
    return _Estimates(points, starts, medians)


@kernel
def _fit_planes(
    points: NDArray[np.float64],
    starts: NDArray[np.int64],
    medians: NDArray[np.float64],
    segments_to_fit: NDArray[np.int64],
    keys: NDArray[np.int64],
    plane_iterations: int,
    plane_tolerance: float,
    min_count: int,
    min_share: float,
    planes: NDArray[np.float64],
) -> None:
    """Write the planes of some segments into `planes`.

    A row of `planes` has the disparity at row 0 and column 0, the change from row to
    row, and the change from column to column. It stays NaN if the segment has too few
    estimates, or if too few of them lie near the plane.
    """
    for segment in segments_to_fit:
        estimates = points[:, starts[segment] : starts[segment + 1]]
        count = estimates.shape[1]
        if count < min_count:
            continue
        level = medians[segment]
        down = 0.0
        right = 0.0
        best_score = _score_plane(estimates, level, down, right, plane_tolerance, -1.0)
        for trial in range(plane_iterations):
            counter = 3 * (int(segment) * plane_iterations + trial)
            i = random_number(counter, keys[0], keys[1]) % count
            j = random_number(counter + 1, keys[0], keys[1]) % count
            k = random_number(counter + 2, keys[0], keys[1]) % count
            # Rows, columns and disparities of the estimates j and k, relative to i.
            y1 = estimates[0, j] - estimates[0, i]
            x1 = estimates[1, j] - estimates[1, i]
            d1 = estimates[2, j] - estimates[2, i]
            y2 = estimates[0, k] - estimates[0, i]
            x2 = estimates[1, k] - estimates[1, i]
            d2 = estimates[2, k] - estimates[2, i]
            area = y1 * x2 - y2 * x1
            # The pixels lie on a line, or two of them are the same.
            if area == 0:
                continue
            trial_down = (d1 * x2 - d2 * x1) / area
            trial_right = (y1 * d2 - y2 * d1) / area
            # One of the cameras does not see the front of a plane that is so steep.
            if abs(trial_right) >= 1:
                continue
            trial_level = (
                estimates[2, i] - trial_down * estimates[0, i] - trial_right * estimates[1, i]
            )
            score = _score_plane(
                estimates, trial_level, trial_down, trial_right, plane_tolerance, best_score
            )
            if score > best_score:
                best_score = score
                level = trial_level
                down = trial_down
                right = trial_right
        for _ in range(_REFITS):
            level, down, right = _refit_plane(estimates, level, down, right, plane_tolerance)
        near_count = 0
        for p in range(count):
            distance = level + down * estimates[0, p] + right * estimates[1, p] - estimates[2, p]
            if abs(distance) < plane_tolerance:
                near_count += 1
        if near_count >= min_share * count:
            planes[segment, 0] = level
            planes[segment, 1] = down
            planes[segment, 2] = right


@kernel
def _score_plane(
    points: NDArray[np.float64],
    level: float,
    down: float,
    right: float,
    plane_tolerance: float,
    best_score: float,
) -> float:
    """Return the score of a plane, or -1 if it cannot be above `best_score`.

    A point at the distance e from the plane adds ``1 - (e / plane_tolerance)^2`` to the
    score, but at least 0.
    """
    count = points.shape[1]
    score = 0.0
    for start in range(0, count, _BATCH):
        # A point adds at most 1. The small factor allows for the rounding of the sum.
        if score + (count - start) * (1 + 1e-15 * count) < best_score:
            return -1.0
        for p in range(start, min(start + _BATCH, count)):
            distance = level + down * points[0, p] + right * points[1, p] - points[2, p]
            ratio = distance / plane_tolerance
            score += max(1 - ratio * ratio, 0.0)
    return score


@kernel
def _refit_plane(
    points: NDArray[np.float64], level: float, down: float, right: float, plane_tolerance: float
) -> tuple[float, float, float]:
    """Return the plane of least squares through the points near a plane.

    The plane itself is returned if no point is near, if the points lie on a line, or if
    the new plane is so steep that one of the cameras does not see its front.
    """
    count = 0
    y = 0.0
    x = 0.0
    d = 0.0
    for p in range(points.shape[1]):
        distance = level + down * points[0, p] + right * points[1, p] - points[2, p]
        if abs(distance) < plane_tolerance:
            count += 1
            y += points[0, p]
            x += points[1, p]
            d += points[2, p]
    if count == 0:
        return level, down, right
    mean_y = y / count
    mean_x = x / count
    mean_d = d / count
    yy = yx = xx = yd = xd = 0.0
    for p in range(points.shape[1]):
        distance = level + down * points[0, p] + right * points[1, p] - points[2, p]
        if abs(distance) < plane_tolerance:
            offset_y = points[0, p] - mean_y
            offset_x = points[1, p] - mean_x
            offset_d = points[2, p] - mean_d
            yy += offset_y * offset_y
            yx += offset_y * offset_x
            xx += offset_x * offset_x
            yd += offset_y * offset_d
            xd += offset_x * offset_d
    determinant = yy * xx - yx * yx
    # If the points lie on a line, the determinant is 0 except for rounding.
    if determinant <= 1e-9 * yy * xx:
        return level, down, right
    new_down = (yd * xx - xd * yx) / determinant
    new_right = (xd * yy - yd * yx) / determinant
    if abs(new_right) >= 1:
        return level, down, right
    return mean_d - new_down * mean_y - new_right * mean_x, new_down, new_right
