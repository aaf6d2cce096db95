"""Readers of the calibration files of Middlebury, ETH3D, KITTI and OpenCV.

A calibration describes the two cameras of a rectified image pair. The module also
writes OpenCV calibration files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Calibration
from stereo_framework.io.file_storage import (
    checked_size,
    matrices_in,
    read_file_storage,
    stated_size,
)
from stereo_framework.io.files import PathLike, read_bytes
from stereo_framework.io.numbers import parse_number
from stereo_framework.io.numpy_files import read_numpy
from stereo_framework.io.output_folders import write_bytes

_ENTRY = re.compile(r"\b(\w+)\s*=\s*(\[[^\]=]*\]|[^\s\[\]]+)([^\n=]*?)(?=\b\w+\s*=|\n|$)")
"""Pattern of an entry in Middlebury's ``calib.txt``, such as ``ndisp=290``.

The groups are the key, the value, and any unexpected text after the value.
"""

_OPENCV_BEGINNING = re.compile(r"\s*(%YAML|\{)")
_MIDDLEBURY_ENTRY = re.compile(r"^\s*cam0\s*=", re.MULTILINE)
_KITTI_ENTRY = re.compile(r"^\s*(P\d|P_rect_\d\d):", re.MULTILINE)
"""Patterns that identify the calibration files of OpenCV, Middlebury and KITTI."""

_EXAMINED_BYTES = 4096
"""Number of bytes that are searched to detect the format of a calibration file."""

_LEVELS = range(2, 32768)
"""Allowed numbers of disparities (``ndisp``)."""

_KITTI_GREY_CAMERAS = (0, 1)
"""Numbers of KITTI's left and right grey cameras."""

_KITTI_COLOUR_CAMERAS = (2, 3)
"""Numbers of KITTI's left and right colour cameras."""

_OPENCV_SHAPES: Mapping[str, tuple[int, int]] = {"Q": (4, 4), "P1": (3, 4), "P2": (3, 4)}
"""Shapes of the matrices of `cv2.stereoRectify`."""

_SHOWN_LENGTH = 40
"""Maximum length, in characters, of an invalid value in an error message."""


# --- Middlebury -----------------------------------------------------------------------


@checked()
def read_calibration(path: PathLike) -> tuple[Calibration, int, bool]:
    """Read a ``calib.txt`` file of Middlebury or ETH3D.

    Returns
    -------
    calibration : Calibration
        Calibration of the pair. The focal length is in pixels, and the baseline is in
        mm. The columns of the principal points differ by ``doffs`` pixels.
    ndisp : int
        Number of disparities. The search range is 0 to ndisp - 1. ETH3D files store the
        image width as ``ndisp``.
    isint : bool
        True if the ground truth has only integer disparities.

    Raises
    ------
    DataError
        The file does not exist. An entry is missing or invalid.
    """
    entries = _entries(path)
    missing = [key for key in ("cam0", "doffs", "baseline", "ndisp") if key not in entries]
    if missing:
        message = (
            f"{path}: the file has no entry {', '.join(missing)}; expected Middlebury's calib.txt"
        )
        raise DataError(message)
    cam0_text = entries["cam0"].strip("[]")
    camera = _numbers(path, "cam0", cam0_text, 9, "[f 0 cx; 0 f cy; 0 0 1]")
    doffs = _number(path, entries, "doffs")
    baseline = _number(path, entries, "baseline")
    ndisp = _number(path, entries, "ndisp")
    if ndisp not in _LEVELS:
        message = (
            f"{path}: ndisp: {entries['ndisp'][:_SHOWN_LENGTH]} is not a whole number from "
            f"{_LEVELS.start} to {_LEVELS.stop - 1}"
        )
        raise DataError(message)
    calibration = _checked_calibration(path, camera[0], baseline, doffs, (camera[2], camera[5]))
    sides = [_number(path, entries, key) for key in ("width", "height") if key in entries]
    calibration = replace(calibration, size=checked_size(path, sides))
    is_integer = "isint" in entries and _number(path, entries, "isint") != 0
    return calibration, int(ndisp), is_integer


def _entries(path: PathLike) -> dict[str, str]:
    """Return the entries of a ``calib.txt`` file, such as ``{"ndisp": "290"}``.

    Raises
    ------
    DataError
        A key has several values.
    """
    entries: dict[str, str] = {}
    for key, value, rest in _ENTRY.findall(_read_text(path)):
        if rest.strip():
            message = (
                f"{path}: {key} has the value {value[:_SHOWN_LENGTH]} and then the text "
                f"{rest.strip()[:_SHOWN_LENGTH]!r}; expected one value"
            )
            raise DataError(message)
        first_value = entries.setdefault(key, value)
        if first_value != value:
            message = (
                f"{path}: {key} occurs twice, with the values {first_value[:_SHOWN_LENGTH]} and "
                f"{value[:_SHOWN_LENGTH]}; expected one value"
            )
            raise DataError(message)
    return entries


# --- KITTI ----------------------------------------------------------------------------


@checked()
def read_kitti_calibration(path: PathLike, left: int, right: int) -> Calibration:
    """Read the calibration of a pair of KITTI cameras.

    Cameras 0 (left) and 1 (right) take grey images. Cameras 2 (left) and 3 (right) take
    colour images. The image size is read from an entry such as ``S_rect_02``. Only the
    files of KITTI 2015 have such entries.

    Parameters
    ----------
    path : path-like
        Calibration file, such as ``calib/000000.txt`` (KITTI 2012) or
        ``calib_cam_to_cam/000000.txt`` (KITTI 2015). Each camera has a line with its
        3x4 projection matrix, such as ``P0: f 0 cx -f*b 0 f cy ...``.
    left, right : int
        Camera numbers of the reference image and the match image.

    Returns
    -------
    Calibration
        Focal length in pixels, and baseline in metres.

    Raises
    ------
    DataError
        The file does not exist. A projection matrix is missing or invalid.
    """
    entries: dict[str, str] = {}
    for line in _read_text(path).splitlines():
        key, colon, value = line.partition(":")
        if colon:
            entries[key.strip()] = value
    reference = _projection_matrix(path, entries, left)
    match = _projection_matrix(path, entries, right)
    focal_length = reference[0]
    # The fourth number of a projection matrix is -f * x. The focal length is f, and x
    # is the distance of the camera from camera 0.
    baseline = (reference[3] - match[3]) / focal_length if focal_length else 0.0
    doffs = match[2] - reference[2]
    center = (reference[2], reference[6])
    calibration = _checked_calibration(path, focal_length, baseline, doffs, center)
    size_key = f"S_rect_{left:02d}"
    sides = _numbers(path, size_key, entries[size_key], 2) if size_key in entries else []
    return replace(calibration, size=checked_size(path, sides))


def _projection_matrix(path: PathLike, entries: Mapping[str, str], camera: int) -> list[float]:
    """Return the 12 numbers of a camera's 3x4 projection matrix, row by row."""
    for key in (f"P{camera}", f"P_rect_{camera:02d}"):
        if key in entries:
            return _numbers(path, key, entries[key], 12, "a 3x4 projection matrix")
    message = (
        f"{path}: the file has no entry P{camera} or P_rect_{camera:02d}; expected KITTI's "
        f"calibration of camera {camera}"
    )
    raise DataError(message)


@checked()
def kitti_cameras(path: PathLike) -> list[int] | None:
    """Return the numbers of the cameras in a KITTI calibration file.

    Returns
    -------
    list of int or None
        Sorted camera numbers, such as [0, 1, 2, 3], or None for other file formats.
    """
    if Path(path).suffix.lower() == ".npy":
        return None
    text = _read_text(path)
    if _OPENCV_BEGINNING.match(text) or _MIDDLEBURY_ENTRY.search(text):
        return None
    numbers = re.findall(r"^\s*P(?:_rect_0)?(\d):", text, re.MULTILINE)
    return sorted(set(map(int, numbers))) or None


# --- OpenCV ---------------------------------------------------------------------------


@checked()
def read_opencv_calibration(path: PathLike) -> Calibration:
    """Read the calibration of a rectified pair from an OpenCV or NumPy file.

    Parameters
    ----------
    path : path-like
        YAML or JSON file of ``cv2.FileStorage``, or ``.npy`` file. A YAML or JSON file
        must contain ``Q``, or both ``P1`` and ``P2``, from ``cv2.stereoRectify``. A
        ``.npy`` file must contain the 4x4 matrix Q.

    Returns
    -------
    Calibration
        Calibration of the pair, with the focal length in pixels. The baseline has the
        unit of the camera calibration, for example mm.

    Raises
    ------
    DataError
        The file does not exist or is damaged. The matrices are missing.
    """
    size = None
    if Path(path).suffix.lower() == ".npy":
        stored_matrices = {"Q": read_numpy(path, "matrix").astype(float)}
    else:
        entries = read_file_storage(path)
        stored_matrices = matrices_in(entries)
        size = stated_size(path, entries)
    matrices: dict[str, NDArray[np.float64]] = {}
    for name, matrix in stored_matrices.items():
        if matrix.shape == _OPENCV_SHAPES.get(name) and np.isfinite(matrix).all():
            matrices[name] = matrix
    if "Q" in matrices and matrices["Q"][3, 2]:
        calibration = _from_q(path, matrices["Q"])
    elif {"P1", "P2"} <= matrices.keys() and matrices["P1"][0, 0]:
        calibration = _from_projections(path, matrices["P1"], matrices["P2"])
    else:
        message = (
            f"{path}: the file contains neither Q (4x4) nor P1 and P2 (3x4); save these matrices "
            "from cv2.stereoRectify"
        )
        raise DataError(message)
    return replace(calibration, size=size)


def _from_q(path: PathLike, q: NDArray[np.float64]) -> Calibration:
    """Compute a calibration from OpenCV's 4x4 matrix Q."""
    focal_length = q[2, 3]
    baseline = abs(1 / q[3, 2])
    doffs = q[3, 3] / q[3, 2]
    return _checked_calibration(path, focal_length, baseline, doffs, (-q[0, 3], -q[1, 3]))


def _from_projections(
    path: PathLike, left: NDArray[np.float64], right: NDArray[np.float64]
) -> Calibration:
    """Compute a calibration from OpenCV's projection matrices P1 and P2."""
    focal_length = left[0, 0]
    baseline = (left[0, 3] - right[0, 3]) / left[0, 0]
    doffs = right[0, 2] - left[0, 2]
    return _checked_calibration(path, focal_length, baseline, doffs, (left[0, 2], left[1, 2]))


@checked()
def write_opencv_calibration(
    path: PathLike, calibration: Calibration, shape: tuple[int, ...]
) -> None:
    """Write the calibration of a rectified pair as OpenCV's matrix Q in a YAML file.

    The function `read_opencv_calibration` and the class ``cv2.FileStorage`` can read
    the file.

    Parameters
    ----------
    path : path-like
        Path of the YAML file to write.
    calibration : Calibration
        Calibration of the pair. If ``center`` is None, the image center is the
        principal point.
    shape : tuple of int
        Shape of the images, (rows, columns) or (rows, columns, 3).
    """
    center_column, center_row = calibration.center or ((shape[1] - 1) / 2, (shape[0] - 1) / 2)
    focal_length = calibration.focal_length
    baseline = calibration.baseline
    q = [
        *(1, 0, 0, -center_column),
        *(0, 1, 0, -center_row),
        *(0, 0, 0, focal_length),
        *(0, 0, 1 / baseline, calibration.doffs / baseline),
    ]
    numbers = ", ".join(repr(float(number)) for number in q)
    lines = [
        "%YAML:1.0",
        "---",
        f"image_width: {shape[1]}",
        f"image_height: {shape[0]}",
        "Q: !!opencv-matrix",
        "   rows: 4",
        "   cols: 4",
        "   dt: d",
        f"   data: [ {numbers} ]",
        "",
    ]
    write_bytes(path, "\n".join(lines).encode())


# --- all formats ----------------------------------------------------------------------


@checked()
def read_any_calibration(
    path: PathLike, *, colour: bool = True, cameras: tuple[int, int] | None = None
) -> tuple[Calibration, int | None]:
    """Read a calibration file and detect its format.

    Parameters
    ----------
    path : path-like
        Calibration file of Middlebury, ETH3D, KITTI or OpenCV (YAML, JSON), or a
        ``.npy`` file with the matrix Q.
    colour : bool
        Whether a KITTI pair was taken by the colour cameras (2 and 3) or by the grey
        cameras (0 and 1). Only KITTI files use this argument.
    cameras : (int, int), optional
        Numbers of the left and the right KITTI camera. This argument overrides
        `colour`.

    Returns
    -------
    calibration : Calibration
        Calibration of the rectified pair.
    ndisp : int or None
        Number of disparities, or None if the file has no ``ndisp``. The search range
        is 0 to ndisp - 1.

    Raises
    ------
    DataError
        The file does not exist or is damaged. The format is unknown.
    """
    text = read_bytes(path, limits.TEXT)[:_EXAMINED_BYTES].decode("latin-1")
    if Path(path).suffix.lower() == ".npy" or _OPENCV_BEGINNING.match(text):
        return read_opencv_calibration(path), None
    if _MIDDLEBURY_ENTRY.search(text):
        calibration, ndisp, _ = read_calibration(path)
        return calibration, ndisp
    if _KITTI_ENTRY.search(text):
        if cameras is None:
            cameras = _KITTI_COLOUR_CAMERAS if colour else _KITTI_GREY_CAMERAS
        left, right = cameras
        return read_kitti_calibration(path, left, right), None
    message = (
        f"{path}: the calibration format is unknown; the supported formats are Middlebury "
        "calib.txt, KITTI calib, OpenCV YAML or JSON, and Q saved as .npy"
    )
    raise DataError(message)


def _read_text(path: PathLike) -> str:
    """Read a calibration file as Latin-1 text, in which every byte is valid."""
    return read_bytes(path, limits.TEXT).decode("latin-1")


def _checked_calibration(
    path: PathLike,
    focal_length: float,
    baseline: float,
    doffs: float,
    center: tuple[float, float] | None = None,
) -> Calibration:
    """Check the numbers of a calibration file and return a calibration.

    Raises
    ------
    DataError
        The focal length or baseline is not above 0. A number is not finite.
    """
    for quantity, value in (("focal length", focal_length), ("baseline", baseline)):
        if not 0 < value < math.inf:
            message = f"{path}: the {quantity} {value:g} is not a number above 0"
            raise DataError(message)
    if not math.isfinite(doffs):
        message = (
            f"{path}: the principal points are {doffs:g} pixels apart; expected a finite number"
        )
        raise DataError(message)
    return Calibration(float(focal_length), float(baseline), float(doffs), center)


def _number(path: PathLike, entries: Mapping[str, str], key: str) -> float:
    """Return the number in a calibration entry such as ``doffs=32.8``."""
    return _numbers(path, key, entries[key], 1)[0]


def _numbers(
    path: PathLike, key: str, text: str, count: int, expected_value: str = ""
) -> list[float]:
    """Convert the text of a calibration entry, such as ``"1 0 4"``, to numbers.

    Raises
    ------
    DataError
        The text contains an invalid number, or does not contain `count` numbers.
    """
    numbers = []
    for part in filter(None, re.split(r"[\s;,]+", text)):
        try:
            numbers.append(parse_number(part))
        except ValueError:
            message = f"{path}: {key}: {part[:_SHOWN_LENGTH]!r} is not a number"
            raise DataError(message) from None
    if len(numbers) != count:
        expected = f"the {count} of {expected_value}" if expected_value else str(count)
        message = f"{path}: {key} has {len(numbers)} numbers; expected {expected}"
        raise DataError(message)
    return numbers
