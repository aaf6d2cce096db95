"""A disparity map in the form in which a protocol measures it: enlarged, rounded, clipped and filled, and without values that are out of bounds."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.core.frames import pixels_as_float
from stereo_framework.core.scene import Disparity, Mask, Scene, unmasked
from stereo_framework.evaluation._protocol import Protocol
from stereo_framework.kernels.filling import fill_rows

_KITTI_INVALID = -1
"""Value of pixels without an estimate in KITTI's kits. They compute errors with it."""

WHOLE_NUMBERS = (
    "; divide whole numbers by their units per pixel (the scale of a picture, 16 for OpenCV's StereoSGBM, "
    "whose (minimum - 1) * 16 means no estimate)"
)
"""Remedy for a map of whole numbers whose scale is unknown."""

_LARGEST_BY_DEFAULT = 99999
_FAR_BEYOND = 1000
"""Largest disparity that Middlebury's kit assumes if none is given, and the multiple of
the largest disparity from which on it counts an estimate as invalid."""


def prepare(disparity: NDArray, scene: Scene, protocol: Protocol) -> tuple[Disparity, Disparity]:
    """Apply the rules of a protocol to a disparity map.

    Parameters
    ----------
    disparity : ndarray of floats, (rows, columns)
        Pixels, not finite = no estimate, except that Middlebury's kit clips minus infinity to 0. A protocol that enlarges maps also accepts half and quarter size, with disparities in their own pixels.
    scene : Scene
    protocol : Protocol

    Returns
    -------
    prepared : ndarray, float32, (rows, columns)
        Pixels of the scene's images, NaN = still missing. What KITTI's kits cannot fill
        has their value for invalid pixels, -1, so that it counts as an error.
    given : ndarray, float32, (rows, columns)
        The same before anything was filled: NaN where the method gave no estimate.

    Raises
    ------
    DataError
        The map has another size than the scene or does not hold floats.
    """
    measured = _checked(disparity, scene, protocol)
    estimated = _estimated(measured, scene, protocol)
    if protocol.rounding == "grey" and scene.grey_levels is not None:
        grey = np.clip(np.rint(measured * np.float32(scene.grey_levels)), 0, 255)
        measured = (grey / np.float32(scene.grey_levels)).astype(np.float32)
    elif protocol.rounding == "whole" and scene.whole_truth:
        measured = np.floor(measured + np.float32(0.5))
    if protocol.beyond == "clip":
        measured = np.clip(measured, np.float32(0), np.float32(_largest(scene)))

    if estimated.all():
        return measured, measured
    given = np.where(estimated, measured, np.float32(np.nan))
    if protocol.missing == "interpolate":
        filled = interpolated(given)
        return np.where(np.isnan(filled), np.float32(_KITTI_INVALID), filled), given
    if protocol.missing == "zero":
        return np.where(estimated, measured, np.float32(0)), given
    return given, given


def _estimated(measured: Disparity, scene: Scene, protocol: Protocol) -> Mask:
    """Return the pixels of a map that count as estimates under a protocol."""
    if protocol.beyond == "clip":
        # NaN and values that are far too large are invalid; minus infinity is clipped to 0.
        within: Mask = measured <= np.float32(_FAR_BEYOND * _largest(scene))
        return within
    estimated: Mask = np.isfinite(measured)
    if protocol.beyond == "drop":
        estimated &= ~(np.abs(measured) > measured.shape[1])
    if protocol.missing == "interpolate":
        estimated &= ~(measured < 0)
    return estimated


def _largest(scene: Scene) -> float:
    """Return the largest disparity to which Middlebury's kit clips estimates."""
    return _LARGEST_BY_DEFAULT if scene.largest_disparity is None else scene.largest_disparity


def interpolated(disparity: Disparity) -> Disparity:
    """Fill missing estimates from the background, as KITTI's development kits do.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = missing.

    Returns
    -------
    ndarray, float32, (rows, columns)
        In each row a hole gets the smaller one of the estimates to its left and right,
        or the only one. Rows without any estimate above the first and below the last row
        that has one are copied from it. Such rows between others stay NaN, as does a map
        without any estimate.

    Notes
    -----
    KITTI 2012 and 2015 development kits.

    Examples
    --------
    >>> import numpy as np
    >>> interpolated(np.array([[np.nan, 5, np.nan, np.nan, 3, np.nan]], np.float32))
    array([[5., 5., 3., 3., 3., 3.]], dtype=float32)
    """
    filled = fill_rows(disparity)
    known_rows = np.flatnonzero(~np.isnan(filled).all(axis=1))
    if known_rows.size:
        first, last = known_rows[0], known_rows[-1]
        filled[:first] = filled[first]
        filled[last + 1 :] = filled[last]
    return filled


def _checked(disparity: NDArray, scene: Scene, protocol: Protocol) -> Disparity:
    disparity = pixels_as_float(
        f"scene {scene.name}: the map", np.asarray(unmasked("the map", disparity))
    )
    rows, columns = scene.reference.shape[:2]
    if disparity.ndim != 2:
        raise DataError(
            f"scene {scene.name}: the map has shape {disparity.shape}; expected (rows, columns) = ({rows}, {columns})"
        )
    if not np.issubdtype(disparity.dtype, np.floating):
        message = f"scene {scene.name}: the map holds {disparity.dtype}; expected float32 in pixels, NaN = no estimate{WHOLE_NUMBERS}"
        raise DataError(message)
    measured = disparity.astype(np.float32, copy=False)
    if disparity.shape == (rows, columns):
        return measured
    factor = columns // disparity.shape[1] if disparity.shape[1] else 0
    if (
        protocol.enlarge
        and factor in (2, 4)
        and (rows, columns) == (factor * disparity.shape[0], factor * disparity.shape[1])
    ):
        return np.repeat(np.repeat(measured * np.float32(factor), factor, axis=0), factor, axis=1)
    smaller = disparity.shape[0] < rows and disparity.shape[1] < columns
    hint = (
        ": where it is of reduced images, enlarge it and multiply its disparities by as much"
        if smaller
        else ""
    )
    raise DataError(
        f"scene {scene.name}: the map is {disparity.shape[1]}x{disparity.shape[0]}, the scene's images are {columns}x{rows}{hint}"
    )
