"""Filling of pixels without an estimate by planes, one through the estimates of each segment of the image."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from stereo_framework.core.scene import Disparity, Image, SearchRange
from stereo_framework.core.volume import Status, StatusMap
from stereo_framework.kernels.segment_planes import compute_plane_disparities
from stereo_framework.kernels.segments import segment_image
from stereo_framework.stages import (
    Fraction01,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Unit,
    per_image,
    stage,
)

segments_of = per_image(segment_image)


@stage(
    "refinement",
    source="Klaus, Sormann & Karner 2006, section 2.2; Felzenszwalb & Huttenlocher 2004",
)
def segment_planes(
    disparity: Disparity,
    reference: Image,
    search: SearchRange,
    status: StatusMap,
    *,
    sigma: Annotated[NonNegative, Unit("pixels")] = 0.5,
    k: Annotated[Positive, Unit("grey levels")] = 150.0,
    min_segment: Annotated[PositiveInt, Unit("pixels")] = 60,
    plane_tolerance: Annotated[Positive, Unit("pixels")] = 1.0,
    min_count: Annotated[PositiveInt, Unit("pixels")] = 20,
    min_share: Fraction01 = 0.5,
    plane_iterations: PositiveInt = 200,
    seed: NonNegativeInt = 0,
) -> tuple[Disparity, StatusMap]:
    """Fit a plane to the estimates of each segment of the image, and put the segment's pixels without an estimate on it.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Pixels are not filled where a plane lies beyond its ends.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`. Invalid pixels are not filled.
    sigma : float
        Standard deviation in pixels of the Gaussian that smooths the image before it is segmented; 0 = no smoothing.
    k : float
        Preference for large segments, in grey levels: the k of Felzenszwalb & Huttenlocher.
        Larger values give larger segments.
    min_segment : int
        Number of pixels below which a segment is merged with the most similar neighbour.
    plane_tolerance : float
        Distance from a plane, in pixels, below which an estimate lies on it.
    min_count : int
        Number of estimates that a segment needs to get a plane.
    min_share : float
        Share of a segment's estimates that must lie on its plane, 0..1.
    plane_iterations : int
        Number of planes tried for each segment, each through three of its estimates.
    seed : int
        Seed of the random choice of these three.

    Returns
    -------
    disparity : ndarray, float32, (rows, columns)
        Pixels.
    status : ndarray, uint8, (rows, columns)
        Filled where a pixel was put on a plane.

    Raises
    ------
    ParameterError
        A parameter is out of its range.
    DataError
        The image or the status has another size than the disparities.

    Notes
    -----
    Klaus, Sormann & Karner 2006 (ICPR) describe segments by planes that they fit
    robustly. Here planes only fill pixels. The score of a plane is the sum of
    1 - (e / plane_tolerance)^2 over the estimates whose distance e from the plane is
    less than `plane_tolerance`. The first candidate is level, at the lower median of the
    estimates. The other candidates are drawn as in RANSAC (Fischler & Bolles 1981). A
    plane whose disparity changes by a pixel or more from one column to the next is left
    out, because both views cannot see such a surface. The best plane is then fitted
    twice by least squares to the estimates that lie on it.

    Examples
    --------
    >>> import numpy as np
    >>> y, x = np.mgrid[:8, :10]
    >>> ramp = (x / 2 + y / 4).astype(np.float32)
    >>> ramp[3:5, 4:] = np.nan
    >>> status = np.where(np.isnan(ramp), 1, 0).astype(np.uint8)
    >>> segment_planes(ramp, np.full((8, 10), 80, np.uint8), SearchRange(0, 7), status)[0][3].round(2).tolist()
    [0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4.25, 4.75, 5.25]
    """
    filled, told = disparity.copy(), status.copy()
    wanted = np.isnan(disparity) & (status != Status.INVALID)
    if not wanted.any():
        return filled, told
    segments = segments_of(reference, float(sigma), float(k), min_segment)
    values = compute_plane_disparities(
        disparity, wanted, segments, plane_tolerance, min_count, min_share, plane_iterations, seed
    )
    y, x = np.nonzero(wanted)
    # False where a segment has no plane.
    allowed = (values >= search.minimum) & (values <= search.maximum)
    filled[y[allowed], x[allowed]] = values[allowed]
    told[y[allowed], x[allowed]] = Status.FILLED
    return filled, told
