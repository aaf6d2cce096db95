"""Rectify a pair with the calibration of its cameras, so that every point appears in the same row of both images."""

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, DataWarning
from stereo_framework.core.scene import Calibration, Frame, Given, Image, Mask, Scene
from stereo_framework.io import StereoCalibration

_WHOLE = 0.99
"""Share of a remapped pixel that must come from pixels with data. It is a little below 1 to allow for rounding in OpenCV."""

_ROUNDING = 0.01
"""By how many pixels a position may lie outside the image, since positions are float32."""


_OFF_CENTRE = 0.2
"""Distance of a principal point from the middle, as a share of the image's width or height, above which a warning is given."""


def rectified(scene: Scene, cameras: StereoCalibration) -> Scene:
    """The pair as two cameras would have taken it that stand side by side and look in the same direction.

    Parameters
    ----------
    scene : Scene
        The pair as its cameras took it. The reference frame is the left one.
    cameras : StereoCalibration

    Returns
    -------
    Scene
        Images of the same size and dtype as before, with the calibration of the rectified cameras. Pixels that no camera saw hold no data.

    Raises
    ------
    DataError
        The cameras stand one above the other, the right camera stands to the left of the left one, or the calibration is impossible or made with images of
        another size.

    Notes
    -----
    OpenCV's ``stereoRectify`` with CALIB_ZERO_DISPARITY and its default scaling, which keeps the size of objects. Pixels are interpolated by cubics, and the
    results are clipped to the darkest and brightest intensity of the image. A `DataWarning` is given if a principal point lies so far from the middle of
    the image that the calibration may have been made with images of another size.
    """
    import cv2

    size = scene.reference.shape[1], scene.reference.shape[0]
    names = [scene.frames[index].name for index in (scene.reference_index, scene.match_index)]
    for name, matrix in zip(names, (cameras.left, cameras.right), strict=True):
        column, row = matrix[0, 2], matrix[1, 2]
        off = max(abs(column / size[0] - 0.5), abs(row / size[1] - 0.5))
        said = f"{name}: the calibration's principal point, column {column:g} and row {row:g}, lies"
        if off >= 0.5:
            raise DataError(f"{said} outside the image of {size[0]}x{size[1]} pixels; was it made with images of another size?")
        if off > _OFF_CENTRE:
            said += f" far from the middle of the image of {size[0]}x{size[1]} pixels; if it was made with images of another size, depths are wrong"
            warnings.warn(said, DataWarning, stacklevel=2)
    lenses = (cameras.left, cameras.left_distortion), (cameras.right, cameras.right_distortion)
    turning = cameras.rotation, cameras.translation[:, None]
    found: Sequence[NDArray] = ()
    with contextlib.suppress(cv2.error):
        found = cv2.stereoRectify(*lenses[0], *lenses[1], size, *turning, flags=cv2.CALIB_ZERO_DISPARITY)[:4]
    if not found or not all(np.isfinite(matrix).all() for matrix in found):
        raise DataError(f"{names[0]}: its calibration cannot be that of a camera: it cannot be rectified")
    *turns, left, right = found
    if right[1, 3] != 0:
        raise DataError("rectify: the cameras stand one above the other; turn both images by 90 degrees and calibrate those")
    if right[0, 3] >= 0:
        raise DataError(
            "rectify: by the calibration the right camera stands left of the left one; exchange the images and the calibration's cameras"
        )
    places = [
        cv2.initUndistortRectifyMap(*lens, turn, new[:, :3], size, cv2.CV_32FC2)[0]
        for lens, turn, new in zip(lenses, turns, (left, right), strict=True)
    ]
    focal, column, row = map(float, (left[0, 0], left[0, 2], left[1, 2]))
    calibration = Calibration(focal, float(-right[0, 3]) / focal, float(right[0, 2]) - column, (column, row))
    return replace(warped(scene, places), calibration=calibration)


def warped(scene: Scene, places: Sequence[NDArray[np.float32]]) -> Scene:
    """The pair of a scene with new images: for each the column and row, float32 ``(rows, columns, 2)``, from which its pixels come."""
    frames = []
    for position, index in enumerate((scene.reference_index, scene.match_index)):
        image, valid = _remapped(scene.image(index), scene.valid(index), places[position])
        frames.append(Frame(scene.frames[index].name, Given(image), position, Given(valid)))
    return Scene(scene.name, tuple(frames), search=scene.search)


def _remapped(image: Image, valid: Mask | None, place: NDArray[np.float32]) -> tuple[Image, Mask]:
    """The remapped image, and which of its pixels hold data."""
    import cv2

    height, width = image.shape[:2]
    seen = ((place >= -_ROUNDING) & (place <= np.array([width, height]) - 1 + _ROUNDING)).all(axis=2)
    if valid is not None:
        seen = seen & (cv2.remap(valid.astype(np.float32), place, None, cv2.INTER_LINEAR) > _WHOLE)
    # Beyond the border its pixels are repeated, so that cubics at the border do not mix in black.
    turned = cv2.remap(np.ascontiguousarray(image), place, None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    # Cubics may exceed the intensities of the image, which nothing else prevents in images of floats.
    return np.clip(turned, image.min(), image.max(), out=turned), np.asarray(seen)
