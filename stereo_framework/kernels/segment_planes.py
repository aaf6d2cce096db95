"""Fit of a plane to the disparity estimates in each segment of an image.

RANSAC tests many planes through three random estimates of a segment, and selects the
best plane. A least-squares fit to the estimates near the plane refines the plane.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.random_numbers import random_number
from stereo_framework.kernels.threads import over_rows

_REFITS = 2
"""Number of least-squares fits after RANSAC."""

_BATCH = 256
"""Number of estimates between two tests of a plane's score.

If the plane can no longer reach the best score, the remaining estimates are skipped.
"""


class _Estimates(NamedTuple):
    """Disparity estimates, sorted by segment.

    Parameters
    ----------
    points : ndarray, float64, (3, estimates)
        Row, column and disparity of each estimate.
    starts : ndarray, int64, (segments + 1,)
        Index of the first estimate of each segment. Segment i has the estimates
        ``points[:, starts[i] : starts[i + 1]]``.
    medians : ndarray, float64, (segments,)
        Median disparity of each segment. For the values 1, 2, 3 and 4, the median is 2.
        For an empty segment, the value is arbitrary.
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
    """Compute the disparity of each hole from the plane of its segment.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels; NaN means no estimate.
    holes : ndarray, bool, (rows, columns)
        Mask of the holes (pixels without an estimate). At least one pixel must be a
        hole.
    segments : ndarray, int32, (rows, columns)
        Segment number of each pixel, beginning with 0.
    plane_tolerance, min_count, min_share, plane_iterations, seed
        Parameters of the stage `segment_planes`.

    Returns
    -------
    ndarray, float32, (number of holes,)
        Disparities of the holes in raster order; NaN if a segment has no plane.
    """
    segment_count = int(segments.max()) + 1
    has_holes = np.zeros(segment_count, np.bool_)
    has_holes[segments[holes]] = True
    planes = fit_segment_planes(
        disparity,
        segments,
        has_holes,
        plane_tolerance,
        min_count,
        min_share,
        plane_iterations,
        seed,
    )

    y, x = np.nonzero(holes)
    level, down, right = planes[segments[holes]].T
    return (level + down * y + right * x).astype(np.float32)


def fit_segment_planes(
    disparity: NDArray[np.float32],
    segments: NDArray[np.int32],
    is_fitted: NDArray[np.bool_],
    plane_tolerance: float,
    min_count: int,
    min_share: float,
    plane_iterations: int,
    seed: int,
) -> NDArray[np.float64]:
    """Fit a plane to the estimates of each selected segment.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels; NaN means no estimate.
    segments : ndarray, int32, (rows, columns)
        Segment number of each pixel, beginning with 0.
    is_fitted : ndarray, bool, (segments,)
        Segments that get a plane. At least one segment must be selected.
    plane_tolerance, min_count, min_share, plane_iterations, seed
        Parameters of the stage `segment_planes`.

    Returns
    -------
    ndarray, float64, (segments, 3)
        Disparity at pixel (0, 0), slope per row and slope per column of each plane;
        NaN if a segment is not selected or has no plane.
    """
    segment_count = len(is_fitted)
    is_used = is_fitted[segments] & ~np.isnan(disparity)
    estimates = _group_by_segment(disparity, segments, is_used, segment_count)

    planes = np.full((segment_count, 3), np.nan)
    keys = (np.random.PCG64(seed).random_raw(2) >> 32).astype(np.int64)

    # Segments have different sizes. Therefore each thread gets the same number of
    # estimates, not of segments.
    segments_to_fit = np.flatnonzero(is_fitted)
    estimates_per_segment = np.diff(estimates.starts)[segments_to_fit]
    ends = np.cumsum(estimates_per_segment)

    def fit_segments_that_end_between(start: int, stop: int) -> None:
        """Fit the segments that end between the estimates `start` and `stop`."""
        first, after_last = np.searchsorted(ends, (start, stop), side="right")
        _fit_planes(
            *estimates,
            segments_to_fit[first:after_last],
            keys,
            plane_iterations,
            plane_tolerance,
            min_count,
            min_share,
            planes,
        )

    estimate_count = int(ends[-1])
    work = plane_iterations * estimate_count
    over_rows(fit_segments_that_end_between, estimate_count, work)
    return planes


def _group_by_segment(
    disparity: NDArray[np.float32],
    segments: NDArray[np.int32],
    mask: NDArray[np.bool_],
    segment_count: int,
) -> _Estimates:
    """Sort the disparities inside a mask by segment, and then in raster order."""
    # NumPy sorts 16-bit integers several times faster than 32-bit integers.
    number_type = np.uint16 if segment_count <= 1 << 16 else np.int32
    segment_numbers = segments[mask].astype(number_type)
    values = disparity[mask]
    y, x = np.nonzero(mask)

    order = np.argsort(segment_numbers, kind="stable")
    points = np.stack([y[order], x[order], values[order]]).astype(np.float64)
    estimates_per_segment = np.bincount(segment_numbers, minlength=segment_count)
    starts = np.append(0, np.cumsum(estimates_per_segment))
    medians = _compute_medians(values, segment_numbers, starts)
    return _Estimates(points, starts, medians)


def _compute_medians(
    values: NDArray[np.float32], segment_numbers: NDArray, starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute the median value of each segment.

    `segment_numbers` contains the segment of each value. `starts` contains the index of
    the first value of each segment after sorting by segment.
    """
    # The second sort is stable, so the values of each segment remain in ascending
    # order.
    by_value = np.argsort(values)
    by_segment_and_value = by_value[np.argsort(segment_numbers[by_value], kind="stable")]
    sorted_values = values[by_segment_and_value].astype(np.float64)

    # The index of an empty segment may be -1. The appended NaN makes -1 a valid index.
    middles = (starts[:-1] + starts[1:] - 1) // 2
    return np.append(sorted_values, np.nan)[middles]


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
    """Fit a plane to each segment in `segments_to_fit` by RANSAC.

    The plane of segment i is written into ``planes[i]``: the disparity at pixel (0, 0),
    the slope per row and the slope per column. A segment with too few estimates near
    its plane remains NaN.
    """
    for segment in segments_to_fit:
        estimates = points[:, starts[segment] : starts[segment + 1]]
        count = estimates.shape[1]
        if count < min_count:
            continue
        # The first plane has a constant disparity, the median of the segment.
        level = medians[segment]
        down = 0.0
        right = 0.0
        best_score = _score_plane(estimates, level, down, right, plane_tolerance, -1.0)
        for trial in range(plane_iterations):
            counter = 3 * (int(segment) * plane_iterations + trial)
            i = random_number(counter, keys[0], keys[1]) % count
            j = random_number(counter + 1, keys[0], keys[1]) % count
            k = random_number(counter + 2, keys[0], keys[1]) % count
            # Two vectors in the plane: (y1, x1, d1) from estimate i to j, and
            # (y2, x2, d2) from estimate i to k.
            y1 = estimates[0, j] - estimates[0, i]
            x1 = estimates[1, j] - estimates[1, i]
            d1 = estimates[2, j] - estimates[2, i]
            y2 = estimates[0, k] - estimates[0, i]
            x2 = estimates[1, k] - estimates[1, i]
            d2 = estimates[2, k] - estimates[2, i]
            area = y1 * x2 - y2 * x1
            # Three pixels on a line, or a pixel that is drawn twice, define no plane.
            if area == 0:
                continue
            trial_down = (d1 * x2 - d2 * x1) / area
            trial_right = (y1 * d2 - y2 * d1) / area
            # If the disparity changes by 1 pixel or more per column, one camera cannot
            # see the plane.
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
    """Compute the score of a plane; return -1 if the score cannot exceed `best_score`.

    The score is the sum of ``max(0, 1 - (e / plane_tolerance)^2)`` over all points. The
    distance of a point from the plane is e, in pixels of disparity.
    """
    count = points.shape[1]
    score = 0.0
    for start in range(0, count, _BATCH):
        # Each remaining point adds at most 1 to the score. The factor slightly above 1
        # allows for rounding errors.
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
    """Fit a plane to the points near a given plane by least squares.

    The given plane is returned if the fit is impossible, for example if all near points
    lie on a line. The given plane is also returned if the new plane is invisible to one
    camera.
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
    # For points on a line, the determinant is 0 except for rounding errors.
    if determinant <= 1e-9 * yy * xx:
        return level, down, right
    new_down = (yd * xx - xd * yx) / determinant
    new_right = (xd * yy - yd * yx) / determinant
    if abs(new_right) >= 1:
        return level, down, right
    return mean_d - new_down * mean_y - new_right * mean_x, new_down, new_right
