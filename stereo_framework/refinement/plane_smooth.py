"""Smoothing of a disparity map by local planes, which keeps slopes and steps."""

from __future__ import annotations

from typing import Annotated

from stereo_framework.kernels.local_planes import fit_local_planes
from stereo_framework.stages import Disparity, Image, Positive, PositiveInt, Unit, stage


@stage(
    "refinement",
    source="ours, unpublished; Lancaster & Salkauskas 1981 for moving least squares",
    halo=lambda size, final_size: max(size, final_size) // 2,
)
def plane_smooth(
    disparity: Disparity,
    reference: Image,
    *,
    size: Annotated[PositiveInt, Unit("pixels")] = 7,
    final_size: Annotated[PositiveInt, Unit("pixels")] = 11,
    gate: Annotated[Positive, Unit("pixels")] = 0.5,
    gamma_c: Annotated[Positive, Unit("grey levels")] = 15.0,
    ridge: Positive = 0.05,
) -> Disparity:
    """Give every pixel the value of a robust plane through the estimates around it.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    size : int
        Width of the square windows in which the plane is fitted first, in pixels; an even one counts as one more.
    final_size : int
        Width of the windows in which the plane is fitted afterwards.
    gate : float
        Estimates further than this from the plane do not count, in pixels.
    gamma_c : float
        Difference of colours, the largest of a channel, at which a weight is 1/e, in grey levels.
    ridge : float
        How firmly slopes are held at their previous values, which are 0 at first. It counts as that many pixels at the windows' edge.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels. Pixels without an estimate stay without one, and are left out as neighbours.

    Raises
    ------
    ParameterError
        A parameter is not above 0, or a size is below 1.
    DataError
        The image has another size than the disparities.

    Notes
    -----
    Ours, unpublished: moving least squares with the weights
    ``exp(-difference / gamma_c) (1 - (e / gate)^2)^2``, where e is the distance from
    the plane of the previous step. Steps of a map that are higher than the gate stay
    sharp. The stage removes the ripples that sub-pixel fits leave, but it flattens
    surfaces that curve with a radius of only a few pixels. Slopes are limited to 1
    along rows and to 1.5 along columns.

    Examples
    --------
    A ripple becomes less, a step stays.

    >>> import numpy as np
    >>> row = np.float32([[2.1, 1.9, 2.1, 1.9, 7, 7, 7]])
    >>> plane_smooth(row, np.zeros((1, 7), np.uint8)).round().tolist()
    [[2.0, 2.0, 2.0, 2.0, 7.0, 7.0, 7.0]]
    """
    return fit_local_planes(
        disparity, reference, (size // 2, final_size // 2), gate, gamma_c, ridge
    ).value
