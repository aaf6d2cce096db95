"""Calibration files of rectified pairs: Middlebury and ETH3D, KITTI, and OpenCV."""

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
"""An entry of a ``calib.txt``: its key, its value, and the rest before the next key."""

_OPENCV_BEGINNING = re.compile(r"\s*(%YAML|\{)")
_MIDDLEBURY_ENTRY = re.compile(r"^\s*cam0\s*=", re.MULTILINE)
_KITTI_ENTRY = re.compile(r"^\s*(P\d|P_rect_\d\d):", re.MULTILINE)
"""Texts by which the formats are recognized."""

_EXAMINED_BYTES = 4096
"""Number of bytes at the beginning of a file that show its format."""

_LEVELS = range(2, 32768)
"""Allowed numbers of disparities in a search range."""

_KITTI_GREY_CAMERAS = (0, 1)
_KITTI_COLOUR_CAMERAS = (2, 3)
"""Numbers of KITTI's left and right cameras."""

_OPENCV_SHAPES: Mapping[str, tuple[int, int]] = {"Q": (4, 4), "P1": (3, 4), "P2": (3, 4)}
"""Shapes of the results of `cv2.stereoRectify`."""

_SHOWN_LENGTH = 40
"""Number of characters of a wrong text that a message shows."""


# --- Middlebury -----------------------------------------------------------------------


@checked()
def read_calibration(path: PathLike) -> tuple[Calibration, int, bool]:
    """Read a Middlebury ``calib.txt``.

    Spaces or line breaks separate the entries.

    Returns
    -------
    calibration : Calibration
        Focal length of cam0 in pixels, baseline in mm, doffs in pixels.
    ndisp : int
        Upper bound of the disparities, which are 0..ndisp-1. The bound of ETH3D is the
        width of the image.
    isint : bool
        Whether the ground truth is accurate only to whole pixels.

    Raises
    ------
    DataError
        The file is missing or has not all entries, or an entry is not a number.
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
    """Return the values of a Middlebury ``calib.txt`` by their keys.

    Raises
    ------
    DataError
        An entry has more than one value, or occurs twice with different values.
    """
    entries: dict[str, str] = {}
    for key, value, rest in _ENTRY.findall(_read_text(path)):
        if rest.strip():
            message = (
                f"{path}: {key}: {rest.strip()[:_SHOWN_LENGTH]!r} follows its value "
                f"{value[:_SHOWN_LENGTH]}; expected one value"
            )
            raise DataError(message)
        first_value = entries.setdefault(key, value)
        if first_value != value:
            message = (
                f"{path}: {key} occurs twice, as {first_value[:_SHOWN_LENGTH]} and as "
                f"{value[:_SHOWN_LENGTH]}; expected one value"
            )
            raise DataError(message)
    return entries


# --- KITTI ----------------------------------------------------------------------------


@checked()
def read_kitti_calibration(path: PathLike, left: int, right: int) -> Calibration:
    """Read the calibration of two of KITTI's cameras.

    The cameras 0 and 1 are grey, 2 and 3 take colour images. An entry such as
    ``S_rect_02``, which KITTI 2015 has, states the size of the images.

    Parameters
    ----------
    path : path-like
        ``calib/000000.txt`` (KITTI 2012) or ``calib_cam_to_cam/000000.txt`` (2015).
        Each line has the 3x4 projection matrix of a camera: ``P0: f 0 cx -f*b 0 f cy
        ...``, or ``P_rect_00:``.
    left, right : int
        Numbers of the cameras of the reference frame and of the match frame.

    Returns
    -------
    Calibration
        Focal length in pixels, baseline in metres.

    Raises
    ------
    DataError
        The file is missing or has no entry for a camera, or an entry is not a number.
    """
    entries: dict[str, str] = {}
    for line in _read_text(path).splitlines():
        key, colon, value = line.partition(":")
        if colon:
            entries[key.strip()] = value
    reference = _projection_matrix(path, entries, left)
    match = _projection_matrix(path, entries, right)
    focal_length = reference[0]
    # The fourth number is -f times the camera's position along the baseline, measured
    # from camera 0.
    baseline = (reference[3] - match[3]) / focal_length if focal_length else 0.0
    doffs = match[2] - reference[2]
    center = (reference[2], reference[6])
    calibration = _checked_calibration(path, focal_length, baseline, doffs, center)
    size_key = f"S_rect_{left:02d}"
    sides = _numbers(path, size_key, entries[size_key], 2) if size_key in entries else []
    return replace(calibration, size=checked_size(path, sides))


def _projection_matrix(path: PathLike, entries: Mapping[str, str], camera: int) -> list[float]:
    """Return the 12 numbers of the 3x4 projection matrix of one of KITTI's cameras."""
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
    """Return the camera numbers in a calibration of KITTI; None for other files."""
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
    """Read the calibration of a rectified pair from a file that OpenCV wrote.

    Parameters
    ----------
    path : path-like
        A YAML or JSON file of ``cv2.FileStorage`` with ``Q``, or with ``P1`` and
        ``P2``, of ``cv2.stereoRectify``; or a ``.npy`` file with only `Q`, a 4x4 array.

    Returns
    -------
    Calibration
        Focal length in pixels, baseline in the unit of the calibration of the cameras.

    Raises
    ------
    DataError
        The file is missing or damaged, or has neither ``Q`` nor ``P1`` and ``P2``.
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
    """Return the calibration in the matrix Q, which turns disparities into depth."""
    focal_length = q[2, 3]
    baseline = abs(1 / q[3, 2])
    doffs = q[3, 3] / q[3, 2]
    return _checked_calibration(path, focal_length, baseline, doffs, (-q[0, 3], -q[1, 3]))


def _from_projections(
    path: PathLike, left: NDArray[np.float64], right: NDArray[np.float64]
) -> Calibration:
    """Return the calibration in the projection matrices P1 and P2."""
    focal_length = left[0, 0]
    baseline = (left[0, 3] - right[0, 3]) / left[0, 0]
    doffs = right[0, 2] - left[0, 2]
    return _checked_calibration(path, focal_length, baseline, doffs, (left[0, 2], left[1, 2]))


@checked()
def write_opencv_calibration(
    path: PathLike, calibration: Calibration, shape: tuple[int, ...]
) -> None:
    """Write the calibration of a rectified pair as a YAML file of OpenCV with `Q`.

    `read_opencv_calibration` reads the file.

    Parameters
    ----------
    path : path-like
        The file.
    calibration : Calibration
        The calibration. If it has no center, the center of the images is written.
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
    """Read a calibration file of any supported format, which its content determines.

    Parameters
    ----------
    path : path-like
        The file.
    colour : bool
        Whether a KITTI pair was taken by the colour cameras, 2 and 3, rather than by
        the grey cameras, 0 and 1.
    cameras : (int, int), optional
        Numbers of KITTI's left and right camera, in place of `colour`.

    Returns
    -------
    calibration : Calibration
        The calibration.
    ndisp : int or None
        Upper bound of the disparities, which are 0..ndisp-1; None if the file has no
        bound.

    Raises
    ------
    DataError
        The file is missing, damaged or of an unknown format.
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
    """Return the text of a calibration file."""
    return read_bytes(path, limits.TEXT).decode("latin-1")


def _checked_calibration(
    path: PathLike,
    focal_length: float,
    baseline: float,
    doffs: float,
    center: tuple[float, float] | None = None,
) -> Calibration:
    """Return a calibration whose numbers are possible.

    Raises
    ------
    DataError
        The focal length or the baseline is not positive, or a number is not finite.
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
    """Return the single number of an entry."""
    return _numbers(path, key, entries[key], 1)[0]


def _numbers(
    path: PathLike, key: str, text: str, count: int, expected_value: str = ""
) -> list[float]:
    """Return the numbers of an entry.

    Raises
    ------
    DataError
        A part of the text is not a number, or the text does not have `count` numbers.
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
