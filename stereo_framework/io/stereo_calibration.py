"""Read the calibration of an unrectified stereo camera from files of OpenCV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError
from stereo_framework.io.file_storage import (
    matrices_in,
    read_file_storage,
    refuse_other_lenses,
    stated_size,
)
from stereo_framework.io.files import PathLike

Matrices = dict[str, NDArray[np.float64]]
"""Matrices by their names in a calibration file, such as ``M1``."""

_DISTORTION_COUNTS = (4, 5, 8, 12, 14)
"""Numbers of lens distortion coefficients in OpenCV's camera models."""

_ROTATION_TOLERANCE = 1e-3
"""Maximum difference between R times its transpose and the identity matrix."""


@dataclass(frozen=True)
class _MatrixKind:
    """Possible names and sizes of a matrix in a calibration file.

    Parameters
    ----------
    names : tuple of str
        Possible names of the matrix, such as ``M1``, ``K1`` and ``cameraMatrix1``.
        OpenCV's example ``stereo_calib`` uses the first name.
    counts : tuple of int
        Allowed numbers of matrix elements.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]


_KINDS: Mapping[str, _MatrixKind] = {
    "left": _MatrixKind(("M1", "K1", "cameraMatrix1"), (9,)),
    "left_distortion": _MatrixKind(("D1", "distCoeffs1"), _DISTORTION_COUNTS),
    "right": _MatrixKind(("M2", "K2", "cameraMatrix2"), (9,)),
    "right_distortion": _MatrixKind(("D2", "distCoeffs2"), _DISTORTION_COUNTS),
    "rotation": _MatrixKind(("R",), (9,)),
    "translation": _MatrixKind(("T",), (3,)),
}
"""Possible names and sizes of each matrix of `StereoCalibration`."""


@dataclass(frozen=True, eq=False)
class StereoCalibration:
    """Calibration of an unrectified stereo camera, for example from OpenCV.

    Parameters
    ----------
    left, right : ndarray, float64, (3, 3)
        Camera matrices of the left and the right camera, in pixels.
    left_distortion, right_distortion : ndarray, float64, (n,)
        Lens distortion coefficients in OpenCV's order. The number n is 4, 5, 8, 12 or
        14.
    rotation, translation : ndarray, float64, (3, 3) and (3,)
        Rotation matrix R and translation vector T. A point x in coordinates of the left
        camera has the coordinates R x + T in the right camera.
    size : (int, int), optional
        Width and height of the calibrated images in pixels. The size is None if the
        files do not contain the image size.
    """

    left: NDArray[np.float64]
    left_distortion: NDArray[np.float64]
    right: NDArray[np.float64]
    right_distortion: NDArray[np.float64]
    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]
    size: tuple[int, int] | None = None


@checked()
def read_stereo_calibration(paths: Sequence[PathLike]) -> StereoCalibration:
    """Read the calibration of an unrectified stereo camera.

    Parameters
    ----------
    paths : sequence of path-like
        YAML or JSON files of ``cv2.FileStorage``, such as the two files of OpenCV's
        example ``stereo_calib``. The files together contain six matrices:

        - Camera matrices `M1` and `M2`. The names `K1`, `K2`, `cameraMatrix1` and
          `cameraMatrix2` are also allowed.
        - Distortion coefficients `D1` and `D2`. The names `distCoeffs1` and
          `distCoeffs2` are also allowed.
        - Rotation `R` and translation `T` from the left to the right camera.

    Raises
    ------
    DataError
        A file is missing or damaged. A file has an unsupported lens model, such as a
        fisheye model. A matrix is missing or has a wrong size. `R` is not a rotation.
    """
    shown_paths = " and ".join(map(str, paths))
    matrices, size = _combined_files(paths, shown_paths)
    names = _matrix_names(matrices, shown_paths, is_single_file=len(paths) == 1)
    values: Matrices = {}
    for field_name, kind in _KINDS.items():
        matrix = matrices[names[field_name]]
        if matrix.size not in kind.counts:
            counts = _alternatives([str(count) for count in kind.counts])
            message = (
                f"{shown_paths}: {names[field_name]} has {matrix.size} numbers; expected {counts}"
            )
            raise DataError(message)
        values[field_name] = matrix.reshape(3, 3) if matrix.size == 9 else matrix.ravel()
    _check_rotation(values["rotation"], shown_paths)
    return StereoCalibration(
        left=values["left"],
        left_distortion=values["left_distortion"],
        right=values["right"],
        right_distortion=values["right_distortion"],
        rotation=values["rotation"],
        translation=values["translation"],
        size=size,
    )


def _combined_files(
    paths: Sequence[PathLike], shown_paths: str
) -> tuple[Matrices, tuple[int, int] | None]:
    """Read and combine the matrices and the image size from several files.

    Returns
    -------
    matrices : dict of str to ndarray
        All matrices by their names in the files.
    size : (int, int) or None
        Width and height of the calibrated images, or None if no file contains the size.

    Raises
    ------
    DataError
        Two files contradict each other in a matrix or the image size. A file has an
        unsupported lens model.
    """
    matrices: Matrices = {}
    path_of_size: dict[tuple[int, int], PathLike] = {}
    for path in paths:
        entries = read_file_storage(path)
        refuse_other_lenses(path, entries)
        size = stated_size(path, entries)
        if size is not None:
            path_of_size[size] = path
        matrices_of_file = matrices_in(entries)
        for name in matrices.keys() & matrices_of_file.keys():
            if not np.array_equal(matrices[name], matrices_of_file[name]):
                message = (
                    f"{shown_paths}: both files have {name}, with different numbers; give the "
                    "files of one calibration"
                )
                raise DataError(message)
        matrices |= matrices_of_file
    if len(path_of_size) > 1:
        sizes = " and ".join(
            f"{path} is for {size[0]}x{size[1]} pixels" for size, path in path_of_size.items()
        )
        message = f"{sizes}; give files of one calibration"
        raise DataError(message)
    return matrices, next(iter(path_of_size), None)


def _matrix_names(matrices: Matrices, shown_paths: str, *, is_single_file: bool) -> dict[str, str]:
    """Find the names of the six matrices in the calibration files.

    Returns
    -------
    dict of str to str
        Names in the files by the field names, such as ``M1`` for ``left``.

    Raises
    ------
    DataError
        A matrix is missing.
    """
    names_in_files: dict[str, str] = {}
    missing = []
    for field_name, kind in _KINDS.items():
        names = [name for name in kind.names if name in matrices]
        if names:
            names_in_files[field_name] = names[0]
        else:
            missing.append(_alternatives(kind.names))
    if missing:
        message = (
            f"{shown_paths}: there is no {', no '.join(missing)}; expected a stereo calibration"
        )
        if is_single_file:
            message += (
                "; if the matrices are in two files, like those of OpenCV's stereo_calib, name "
                "both files"
            )
        raise DataError(message)
    return names_in_files


def _check_rotation(rotation: NDArray[np.float64], shown_paths: str) -> None:
    """Raise an error if R is not a rotation matrix.

    The inverse of a rotation matrix is its transpose, and its determinant is 1.
    """
    deviation = np.abs(rotation @ rotation.T - np.eye(3)).max()
    # The inverse of a reflection is also its transpose, but its determinant is -1.
    if deviation > _ROTATION_TOLERANCE or np.linalg.det(rotation) < 0:
        message = (
            f"{shown_paths}: R is not a rotation matrix; expected the R of cv2.stereoCalibrate"
        )
        raise DataError(message)


def _alternatives(texts: Sequence[str]) -> str:
    """Join texts for an error message.

    Examples
    --------
    >>> _alternatives(["M1", "K1", "cameraMatrix1"])
    'M1, K1 or cameraMatrix1'
    """
    if len(texts) == 1:
        return texts[0]
    return f"{', '.join(texts[:-1])} or {texts[-1]}"
