"""Whole numbers for surfaces that face the camera."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from stereo_framework.kernels.local_planes import local_planes
from stereo_framework.parameters import require
from stereo_framework.scene import Disparity, Image
from stereo_framework.stage import Positive, Unit, stage

_RADII, _GATE, _COLOUR_SCALE, _RIDGE = (5, 12), 0.8, 15.0, 0.05


@stage("refinement", source="ours, unpublished; Lancaster & Salkauskas 1981 for moving least squares", halo=lambda: max(_RADII))
def snap(
    disparity: Disparity,
    reference: Image,
    *,
    distance: Annotated[Positive, Unit("pixels")] = 0.1,
    slope: Annotated[Positive, Unit("pixels per pixel")] = 0.05,
) -> Disparity:
    """Round disparities that are nearly whole where the map hardly slopes.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    distance : float
        Disparities nearer than this to a whole number are rounded to it, in pixels.
    slope : float
        Only pixels whose surrounding robust plane slopes less than this are rounded, in pixels per pixel.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels. Pixels without an estimate stay without one.

    Raises
    ------
    ParameterError
        A parameter is not above 0.
    DataError
        The image has another size than the disparities.

    Notes
    -----
    Ours, unpublished. It is meant for scenes whose ground truth consists of whole numbers, such as tsukuba, and says nothing about real surfaces: report results with and
    without it. Planes are those of `plane_smooth` with radii of 5 and 12 pixels and a gate of 0.8.

    Examples
    --------
    >>> import numpy as np
    >>> snap(np.float32([[2.04, 2.04, 2.04, 7.25, 7.25, 7.25]]), np.zeros((1, 6), np.uint8)).tolist()
    [[2.0, 2.0, 2.0, 7.25, 7.25, 7.25]]
    """
    require(snap, distance=distance, slope=slope)
    planes = local_planes(disparity, reference, _RADII, _GATE, _COLOUR_SCALE, _RIDGE)
    whole = np.rint(disparity)
    level = np.hypot(planes.right, planes.down) < slope
    return np.where((np.abs(disparity - whole) < distance) & level, whole, disparity).astype(np.float32)
