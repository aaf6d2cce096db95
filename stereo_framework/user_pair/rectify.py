"""Rectify a pair, so that every point appears in the same row of both images: with the calibration of its cameras, or from points found in both images."""

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, DataWarning
from stereo_framework.core.scene import Calibration, Frame, Image, InMemory, Mask, Scene
from stereo_framework.io import StereoCalibration
from stereo_framework.user_pair.calibrations import OFF_CENTRE, fitted_stereo
from stereo_framework.user_pair.search_range import ENOUGH, SparseMatches, sparse_matches

_WHOLE = 0.99
"""Share of a remapped pixel that must come from pixels with data. It is a little below 1 to allow for rounding in OpenCV."""

_ROUNDING = 0.01
"""By how many pixels a position may lie outside the image, since positions are float32."""


_SEED = 1
_OFF = 1.5
"""Distance from its epipolar line, in pixels of the images that points are found in, up to which a match counts as right."""

_AGREE = 0.4
"""Share of the matches that must agree on one geometry."""

_ALIKE = 0.9
"""A pair in which so many of the right matches move as the points of one plane shows no depth."""

_WIDEST = np.deg2rad(30)
"""Largest angle by which a camera is turned: beyond it images are torn apart."""


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
        another shape.

    Notes
    -----
    OpenCV's ``stereoRectify`` with CALIB_ZERO_DISPARITY and its default scaling, which keeps the size of objects. Pixels are interpolated by cubics, and the
    results are clipped to the darkest and brightest intensity of the image. If the calibration states the size of its images and the images were resized as
    a whole, it is scaled with a `DataWarning`. A `DataWarning` is also given if a principal point lies so far from the middle of
    the image that the calibration may have been made with images of another size.
    """
    import cv2

    size = scene.reference.shape[1], scene.reference.shape[0]
    names = [scene.frames[index].name for index in (scene.reference_index, scene.match_index)]
    cameras, remark = fitted_stereo(cameras, size, names[0])
    if remark:
        warnings.warn(remark, DataWarning, stacklevel=2)
    for name, matrix in zip(names, (cameras.left, cameras.right), strict=True):
        column, row = matrix[0, 2], matrix[1, 2]
        off = max(abs(column / size[0] - 0.5), abs(row / size[1] - 0.5))
        said = f"{name}: the calibration's principal point, column {column:g} and row {row:g}, lies"
        if off >= 0.5:
            raise DataError(
                f"{said} outside the image of {size[0]}x{size[1]} pixels; it may have been made with images of another size; scale the calibration, or give images of its size"
            )
        if off > OFF_CENTRE:
            said += f" far from the middle of the image of {size[0]}x{size[1]} pixels; if it was made with images of another size, depths are wrong"
            warnings.warn(said, DataWarning, stacklevel=2)
    lenses = (cameras.left, cameras.left_distortion), (cameras.right, cameras.right_distortion)
    turning = cameras.rotation, cameras.translation[:, None]
    found: Sequence[NDArray] = ()
    with contextlib.suppress(cv2.error):
        found = cv2.stereoRectify(
            *lenses[0], *lenses[1], size, *turning, flags=cv2.CALIB_ZERO_DISPARITY
        )[:4]
    if not found or not all(np.isfinite(matrix).all() for matrix in found):
        raise DataError(
            f"{names[0]}: OpenCV cannot rectify a pair with this calibration; it may be damaged, or not be that of two cameras; calibrate again, or name the right file"
        )
    *turns, left, right = found
    if right[1, 3] != 0:
        raise DataError(
            "rectify: the cameras stand one above the other; turn both images by 90 degrees and calibrate those"
        )
    if right[0, 3] >= 0:
        raise DataError(
            "rectify: by the calibration the right camera stands left of the left one; exchange the images and the calibration's cameras"
        )
    places = [
        cv2.initUndistortRectifyMap(*lens, turn, new[:, :3], size, cv2.CV_32FC2)[0]
        for lens, turn, new in zip(lenses, turns, (left, right), strict=True)
    ]
    focal, column, row = map(float, (left[0, 0], left[0, 2], left[1, 2]))
    calibration = Calibration(
        focal, float(-right[0, 3]) / focal, float(right[0, 2]) - column, (column, row)
    )
    return replace(warped(scene, places), calibration=calibration)


def warped(scene: Scene, places: Sequence[NDArray[np.float32]]) -> Scene:
    """The pair of a scene with new images: for each the column and row, float32 ``(rows, columns, 2)``, from which its pixels come."""
    frames = []
    for position, index in enumerate((scene.reference_index, scene.match_index)):
        image, valid = _remapped(scene.image(index), scene.valid(index), places[position])
        frames.append(Frame(scene.frames[index].name, InMemory(image), position, InMemory(valid)))
    return Scene(scene.name, tuple(frames), search=scene.search)


def _remapped(image: Image, valid: Mask | None, place: NDArray[np.float32]) -> tuple[Image, Mask]:
    """The remapped image, and which of its pixels hold data."""
    import cv2

    height, width = image.shape[:2]
    seen = ((place >= -_ROUNDING) & (place <= np.array([width, height]) - 1 + _ROUNDING)).all(
        axis=2
    )
    if valid is not None:
        seen = seen & (cv2.remap(valid.astype(np.float32), place, None, cv2.INTER_LINEAR) > _WHOLE)
    # Beyond the border its pixels are repeated, so that cubics at the border do not mix in black.
    turned = cv2.remap(
        np.ascontiguousarray(image), place, None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    # Cubics may exceed the intensities of the image, which nothing else prevents in images of floats.
    return np.clip(turned, image.min(), image.max(), out=turned), np.asarray(seen)


def rectified_by_points(scene: Scene) -> Scene:
    """The pair as if both cameras had been turned, about their own centres, until they look in the same direction.

    Parameters
    ----------
    scene : Scene
        Two photographs of a scene that does not move, from two places beside each other.

    Returns
    -------
    Scene
        Images of the same size and dtype; pixels that no camera saw hold no data. There is no calibration, so that disparities have an unknown offset and scale.

    Raises
    ------
    DataError
        Too few points are found in both images, or they agree on no geometry; the photographs show no depth; the cameras stand one behind or above the other.

    Notes
    -----
    Fusiello & Irsara 2008: both cameras are taken to have square pixels, their principal point in the middle and one unknown focal length. Of this and five angles
    those are taken that bring the matched points closest to their epipolar lines (Sampson's distance). Images that are only turned keep their area, but for
    perspective. Wrong matches are left out first, by a robust estimate of the fundamental matrix (MAGSAC, in OpenCV). That a pair shows no depth, and
    that its cameras stand one behind the other, are seen by a homography that explains its points, and by an epipole in the image.
    """
    import cv2

    points = sparse_matches(scene)
    rows, columns = scene.reference.shape[:2]
    turns = _turns(*_right_matches(points, (rows, columns)), (rows, columns))
    pixels = np.dstack(np.meshgrid(np.arange(columns), np.arange(rows))).astype(np.float64)
    return warped(
        scene,
        [
            cv2.perspectiveTransform(pixels, np.linalg.inv(turn)).astype(np.float32)
            for turn in turns
        ],
    )


def _right_matches(points: SparseMatches, shape: tuple[int, int]) -> tuple[NDArray, NDArray]:
    """The matches that agree on one geometry, as one can be rectified by."""
    import cv2

    count = len(points.here)
    if count < ENOUGH:
        raise DataError(
            f"rectify: {count} points were found in both images; {ENOUGH} are needed: do they show the same thing?"
        )
    cv2.setRNGSeed(_SEED)
    off = _OFF * points.size
    matrix, agree = cv2.findFundamentalMat(
        points.here, points.there, cv2.USAC_MAGSAC, off, 0.999, 10000
    )
    right = np.zeros(count, bool) if agree is None else agree.ravel() > 0
    if matrix is None or matrix.shape != (3, 3) or right.sum() < max(ENOUGH, _AGREE * count):
        raise DataError(
            f"rectify: {right.sum()} of {count} matched points agree on one geometry; does something move between the photographs?"
        )
    here, there = points.here[right].astype(np.float64), points.there[right].astype(np.float64)
    _, plane = cv2.findHomography(here, there, cv2.USAC_MAGSAC, off)
    if plane is not None and plane.mean() > _ALIKE:
        raise DataError(
            f"rectify: {plane.mean():.0%} of the matched points move as one plane does; photographs from one place, or of a plane alone, show no depth"
        )
    for side in (matrix, matrix.T):
        epipole = np.linalg.svd(side)[2][-1]
        # Where it lies, from the middle of the image; at infinity a direction.
        x, y = epipole[:2] - epipole[2] * (np.array(shape[::-1]) - 1) / 2
        if max(abs(x) / shape[1], abs(y) / shape[0]) < 0.5 * abs(epipole[2]):
            raise DataError(
                "rectify: one camera stood behind the other one: lines of sight meet in the image, and cannot be made parallel"
            )
        if abs(y) > abs(x):
            raise DataError(
                "rectify: the cameras stood one above the other; turn both photographs by 90 degrees"
            )
    return here, there


def _turns(here: NDArray, there: NDArray, shape: tuple[int, int]) -> tuple[NDArray, NDArray]:
    """The homographies of both images, from five angles and a focal length."""
    from scipy.optimize import least_squares
    from scipy.spatial.transform import Rotation

    rows, columns = shape
    middle = np.array([(columns - 1) / 2, (rows - 1) / 2, 1])
    ends = [np.column_stack([points, np.ones(len(points))]) for points in (here, there)]

    def cameras(found: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        lens = np.diag([(rows + columns) * 3.0 ** found[5]] * 2 + [1])
        lens[:, 2] = middle
        left, right = Rotation.from_euler("xyz", [[0, *found[:2]], found[2:5]]).as_matrix()
        return lens, left, right

    def distances(found: NDArray) -> NDArray:
        lens, left, right = cameras(found)
        back = np.linalg.inv(lens)
        # Rows are the same where both cameras are turned: the third coordinates of x' and (0, 0, 1) x (1, 0, 0).
        matrix = back.T @ right.T @ np.array([[0, 0, 0], [0, 0, -1], [0, 1, 0]]) @ left @ back
        lines, others = ends[0] @ matrix.T, ends[1] @ matrix
        steepness: NDArray = np.sqrt(
            (lines[:, :2] ** 2).sum(axis=1) + (others[:, :2] ** 2).sum(axis=1)
        )
        return (ends[1] * lines).sum(axis=1) / steepness

    bounds = np.array([_WIDEST] * 5 + [1.0])
    fits = [
        least_squares(
            distances, [0, 0, 0, 0, 0, power], bounds=(-bounds, bounds), loss="soft_l1", f_scale=0.2
        )
        for power in (-0.3, 0.3)
    ]
    lens, left, right = cameras(min(fits, key=lambda fit: fit.cost).x)
    turns = [lens @ turn @ np.linalg.inv(lens) for turn in (left, right)]
    moved = [turn @ middle / (turn @ middle)[2] - middle for turn in turns]
    # Both images stay in the middle: along the columns each by itself, down the rows both together.
    down = (moved[0][1] + moved[1][1]) / 2
    shifts = [np.array([[1, 0, -own[0]], [0, 1, -down], [0, 0, 1]]) for own in moved]
    return shifts[0] @ turns[0], shifts[1] @ turns[1]
