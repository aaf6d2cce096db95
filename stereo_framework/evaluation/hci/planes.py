"""Planar regions of the truth and their planes (M_p of Honauer et al. 2015, section 3.2)."""

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, Mask
from stereo_framework.evaluation.hci.edges import distance_to, nearest_values
from stereo_framework.evaluation.hci.parameters import Parameters
from stereo_framework.kernels.decorator import kernel


def find_planes(
    truth: Disparity, evaluated: Mask, blocked: Mask, parameters: Parameters
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find regions in which the truth is a plane, and the planes.

    Parameters
    ----------
    truth : ndarray, float32, (rows, columns)
        Pixels, NaN = unknown.
    evaluated : ndarray, bool, (rows, columns)
        Pixels that planes may consist of.
    blocked : ndarray, bool, (rows, columns)
        Pixels from which planes keep a distance of `plane_margin`: discontinuities, and unknown and occluded pixels.
    parameters : Parameters

    Returns
    -------
    planes : ndarray, int32, (rows, columns)
    coefficients : ndarray, float64, (planes, 3)
        As in `Subsets`. Labels 1, 2, ... count the regions in raster order and, within a region, the planes in the order in which they were found.

    Notes
    -----
    Honauer et al. 2015, section 3.2: regions of homogeneous gradients, robust planes. A plane in space has one gradient vector in disparity
    space, whatever its slope, so a region is where the gradient of the truth (median, central differences, averaged) hardly changes: the root of
    the sum of its four squared derivatives is below `plane_bend`. In every 4-connected region, planes through three random pixels
    are tried, and the one with the most pixels within `plane_tolerance` is fitted to these pixels by least squares. Of the pixels within the tolerance of the
    fitted plane, the largest connected part becomes a planar region if it is large enough; the search then goes on in the remaining pixels. Finally the plane
    of each region is fitted to its pixels once more.
    """
    least = parameters.plane_min_share * truth.size
    candidates = evaluated & (distance_to(blocked) > parameters.plane_margin)
    candidates &= _bend(truth, parameters) < parameters.plane_bend
    count, regions, boxes, _ = cv2.connectedComponentsWithStats(
        candidates.view(np.uint8), connectivity=4, ltype=cv2.CV_32S
    )
    random = np.random.default_rng(parameters.seed)
    tolerance = parameters.plane_tolerance.of(truth.shape[1])
    planes, coefficients = np.zeros(truth.shape, np.int32), []
    for region in range(1, count):
        left, top, width, height, area = boxes[region]
        if area < max(least, 3):
            continue
        window = np.s_[top : top + height, left : left + width]
        rest = regions[window] == region
        for mask in _planar_parts(
            truth[window].astype(np.float64), rest, least, tolerance, random, parameters
        ):
            a, b, c = fit_plane(truth[window], mask)
            coefficients.append((a, b, c - a * left - b * top))
            planes[window][mask] = len(coefficients)
    return planes, np.array(coefficients, np.float64).reshape(-1, 3)


def fit_plane(disparity: Disparity, mask: Mask) -> tuple[float, float, float]:
    """Fit ``disparity = a * x + b * y + c`` by least squares.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, known in the mask.
    mask : ndarray, bool, (rows, columns)

    Returns
    -------
    (float, float, float)
        a and b in pixels per pixel, c in pixels.

    Raises
    ------
    DataError
        Fewer than three pixels, or all on one line.

    Examples
    --------
    >>> import numpy as np
    >>> y, x = np.mgrid[:4, :5]
    >>> a, b, c = fit_plane((0.5 * x + 2 * y + 7).astype(np.float32), x >= 0)
    >>> round(a, 6), round(b, 6), round(c, 6)
    (0.5, 2.0, 7.0)
    """
    y, x = np.nonzero(mask)
    plane = _least_squares(x, y, disparity[mask].astype(np.float64))
    if plane is None:
        raise DataError(
            f"a plane needs three pixels or more that are not on one line, not these {x.size}"
        )
    return plane


def _bend(truth: Disparity, parameters: Parameters) -> NDArray[np.float32]:
    """How fast the averaged gradient of the truth changes, in 1/px."""
    if min(truth.shape) < 2:
        return np.full(truth.shape, np.inf, np.float32)
    filled = nearest_values(truth, np.isfinite(truth))
    if parameters.plane_median > 1:
        filled = cv2.medianBlur(filled, parameters.plane_median)
    side = (parameters.plane_smoothing,) * 2
    squares = np.zeros(truth.shape, np.float32)
    for gradient in np.gradient(filled):
        for derivative in np.gradient(
            cv2.boxFilter(gradient, cv2.CV_32F, side, borderType=cv2.BORDER_REPLICATE)
        ):
            squares += derivative * derivative
    return np.sqrt(squares)


def _planar_parts(
    disparity: NDArray[np.float64],
    rest: Mask,
    least: float,
    tolerance: float,
    random: np.random.Generator,
    parameters: Parameters,
) -> Iterator[Mask]:
    """Take one planar part after another out of a region, beginning with the plane that has the most pixels."""
    while True:
        y, x = np.nonzero(rest)
        if x.size < max(least, 3):
            return
        d = disparity[rest]
        sample = (
            random.integers(x.size, size=parameters.plane_sample)
            if x.size > parameters.plane_sample
            else np.arange(x.size)
        )
        triples = random.integers(sample.size, size=(parameters.plane_iterations, 3))
        best = _best_plane(x[sample], y[sample], d[sample], triples, tolerance)
        near = np.abs(best[0] * x + best[1] * y + best[2] - d) <= tolerance
        plane = _least_squares(x[near], y[near], d[near])
        if plane is None:
            return
        near = np.abs(plane[0] * x + plane[1] * y + plane[2] - d) <= tolerance
        if np.count_nonzero(near) < max(least, 3):
            return
        inliers = np.zeros(rest.shape, bool)
        inliers[y[near], x[near]] = True
        _, labels, boxes, _ = cv2.connectedComponentsWithStats(
            inliers.view(np.uint8), connectivity=4
        )
        largest = 1 + int(np.argmax(boxes[1:, cv2.CC_STAT_AREA]))
        part = labels == largest
        if boxes[largest, cv2.CC_STAT_AREA] >= max(least, 3):
            yield part
            rest = rest & ~part
        else:
            # Scattered pixels on a common plane are no region; without them the next search cannot find them again.
            rest = rest & ~inliers


def _least_squares(
    x: NDArray[np.integer], y: NDArray[np.integer], d: NDArray[np.float64]
) -> tuple[float, float, float] | None:
    """Coefficients of the plane of least squares; None where the pixels do not determine one."""
    if x.size < 3:
        return None
    # About the centre the normal equations are well conditioned.
    cx, cy, cd = float(x.mean()), float(y.mean()), float(d.mean())
    u, v, e = x - cx, y - cy, d - cd
    uu, uv, vv = float(u @ u), float(u @ v), float(v @ v)
    determinant = uu * vv - uv * uv
    if not determinant > 1e-9 * max(uu, vv) ** 2:
        return None
    ue, ve = float(u @ e), float(v @ e)
    a, b = (ue * vv - ve * uv) / determinant, (ve * uu - ue * uv) / determinant
    return a, b, cd - a * cx - b * cy


@kernel
def _best_plane(
    x: NDArray, y: NDArray, d: NDArray, triples: NDArray, tolerance: float
) -> tuple[float, float, float]:
    """The plane through three pixels that has the most pixels within the tolerance; the first of several."""
    best, most = (0.0, 0.0, np.inf), 0
    for i in range(triples.shape[0]):
        p, q, r = triples[i]
        x1, y1, d1 = x[q] - x[p], y[q] - y[p], d[q] - d[p]
        x2, y2, d2 = x[r] - x[p], y[r] - y[p], d[r] - d[p]
        determinant = x1 * y2 - x2 * y1
        if determinant == 0:
            continue
        a, b = (d1 * y2 - d2 * y1) / determinant, (x1 * d2 - x2 * d1) / determinant
        c = d[p] - a * x[p] - b * y[p]
        count = 0
        for j in range(x.size):
            count += abs(a * x[j] + b * y[j] + c - d[j]) <= tolerance
        if count > most:
            best, most = (a, b, c), count
    return best
