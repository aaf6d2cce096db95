"""Reader of calibration files written by OpenCV's ``cv2.FileStorage``.

OpenCV's parser is not used, because damaged files can make it overwrite memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.io.files import PathLike, read_bytes
from stereo_framework.io.locations import Faults
from stereo_framework.io.yaml_text import parse

_WIDTH_KEYS = ("imagewidth", "width", "imgwidth", "framewidth")
_HEIGHT_KEYS = ("imageheight", "height", "imgheight", "frameheight")
_SIZE_KEYS = (
    "imagesize",
    "imgsize",
    "framesize",
    "resolution",
    "imageshape",
    "imageresolution",
    "calibrationsize",
)
"""Normalized keys of the image size in calibration files.

For example, the function `_normalized` converts ``Image_Size`` to ``imagesize``.
"""

_PINHOLE_MODELS = (
    "pinhole",
    "perspective",
    "standard",
    "opencv",
    "none",
    "central",
    "plumbbob",
    "radtan",
    "radialtangential",
    "brown",
    "brownconrady",
    "rational",
    "rationalpolynomial",
    "thinprism",
    "tilted",
    "polynomial",
    "pinholeradtan",
    "fullopencv",
)
"""Normalized names of OpenCV's pinhole camera model.

Models such as fisheye are refused, because their distortion equations differ.
"""

_MODEL_KEYS = (
    "cameramodel",
    "distortionmodel",
    "lensmodel",
    "projectionmodel",
    "distortiontype",
    "lenstype",
    "cameratype",
)
"""Parts of normalized keys of the camera model in calibration files.

For example, the normalized key ``leftcameramodel`` contains ``cameramodel``.
"""

_OTHER_LENSES = (
    "fisheye",
    "equi",
    "kannala",
    "omni",
    "unified",
    "eucm",
    "doublesphere",
    "fov",
    "scaramuzza",
)
"""Parts of the names of unsupported camera models, such as fisheye."""

_FALSE_VALUES = ("0", "0.0", "false", "no", "none", "off")
"""Values that mean False, for example in ``fisheye: no``."""


def read_file_storage(path: PathLike) -> dict[str, Any]:
    """Read the top-level entries of a YAML or JSON file of OpenCV's FileStorage.

    Raises
    ------
    DataError
        The file does not exist or is damaged.
    """
    text = read_bytes(path, limits.TEXT).decode("latin-1")
    # OpenCV's first line, "%YAML:1.0", is not valid YAML.
    if text.startswith("%"):
        text = text.partition("\n")[2]
    root = parse(text.replace("!!opencv-matrix", ""), str(path), Faults())
    if root is None or not isinstance(root.data, dict):
        message = (
            f"{path}: the file may be damaged or not a file of OpenCV's FileStorage; write it "
            "again with cv2.FileStorage, or name another file"
        )
        raise DataError(message)
    return root.data


# --- matrices -------------------------------------------------------------------------


def matrices_in(entries: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Return all valid matrices of a FileStorage file, by name.

    A valid matrix contains rows * columns finite numbers.
    """
    matrices = {}
    for name, fields in entries.items():
        if isinstance(fields, dict) and {"rows", "cols", "data"} <= fields.keys():
            matrix = _matrix(fields)
            if matrix is not None:
                matrices[name] = matrix
    return matrices


def _matrix(fields: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """Create a matrix from the values of ``rows``, ``cols`` and ``data``.

    If a value is invalid, the result is None.
    """
    rows = fields["rows"]
    columns = fields["cols"]
    try:
        numbers = np.array(fields["data"], object).ravel()
    except ValueError:
        return None
    # Without this check, NumPy would convert strings such as "6_0" to numbers.
    if not all(map(_is_number, [*numbers, rows, columns])):
        return None
    if rows != int(rows) or columns != int(columns):
        return None
    try:
        matrix = np.array(numbers, np.float64).reshape(int(rows), int(columns))
    except (ValueError, OverflowError):
        return None
    return matrix if matrix.size and np.isfinite(matrix).all() else None


def _is_number(value: object) -> bool:
    """Return whether a value is a finite int or float. Booleans are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# --- sizes of images ------------------------------------------------------------------


def stated_size(path: PathLike, entries: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the image size stored in a calibration file.

    Parameters
    ----------
    path : path-like
        Path of the file, for error messages.
    entries : mapping
        Top-level keys and values of the file.

    Returns
    -------
    (int, int) or None
        Image columns and rows, or None if the file contains no image size.

    Raises
    ------
    DataError
        The image size is invalid.
    """
    values: dict[str, Any] = {}
    for name, value in entries.items():
        # If a file contains both "Image_Size" and "imageSize", the first key is used.
        values.setdefault(_normalized(name), value)
    for key in _SIZE_KEYS:
        sides = _two_sides(values.get(key))
        if sides is None:
            continue
        # A shape is (rows, columns), but a size is (columns, rows).
        if key == "imageshape":
            sides = sides[::-1]
        return checked_size(path, sides)
    widths = [values[key] for key in _WIDTH_KEYS if key in values]
    heights = [values[key] for key in _HEIGHT_KEYS if key in values]
    return checked_size(path, [*widths[:1], *heights[:1]])


def _two_sides(value: Any) -> list[Any] | None:
    """Return the two numbers of an image size, or None for other values.

    An image size is a list, a matrix, or a mapping with ``width`` and ``height``.
    """
    if isinstance(value, dict):
        sides = {_normalized(name): side for name, side in value.items()}
        value = value.get("data", [sides.get("width"), sides.get("height")])
    if isinstance(value, list) and len(value) == 2:
        return value
    return None


def checked_size(path: PathLike, sides: Sequence[Any]) -> tuple[int, int] | None:
    """Check an image size and return the columns and rows as integers.

    If a number is missing, the result is None.

    Raises
    ------
    DataError
        The image size is not two whole numbers above 0.
    """
    if len(sides) != 2:
        return None
    for side in sides:
        is_number = isinstance(side, int | float) and not isinstance(side, bool)
        if not is_number or side < 1 or not float(side).is_integer():
            message = (
                f"{path}: the file states {sides[0]} x {sides[1]} as the size of its images; "
                "expected whole numbers of pixels"
            )
            raise DataError(message)
    return int(sides[0]), int(sides[1])


# --- lens models ----------------------------------------------------------------------


def refuse_other_lenses(path: PathLike, entries: Mapping[str, Any]) -> None:
    """Raise an error if a calibration does not use the pinhole camera model.

    Raises
    ------
    DataError
        The file contains a camera model such as fisheye.
    """
    for name, value in _all_entries(entries):
        if _is_of_other_lens(_normalized(name), value):
            message = (
                f"{path}: {name} is {value}; only calibrations of pinhole cameras are read here, "
                "with the coefficients of cv2.stereoCalibrate; rectify the images with the "
                "functions of this lens model, such as cv2.fisheye.stereoRectify; match the "
                "rectified images, and pass a file with the matrices P1 and P2 of this "
                "function as --calibration"
            )
            raise DataError(message)


def _all_entries(entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield all keys and values, including nested keys.

    For example, ``{"a": [1, 2]}`` yields ``("a", 1)`` and ``("a", 2)``.
    """
    for name, value in entries.items():
        items = value if isinstance(value, list) else [value]
        for item in items:
            if isinstance(item, dict):
                yield from _all_entries(item)
            else:
                yield name, item


def _is_of_other_lens(key: str, value: Any) -> bool:
    """Return whether an entry names a camera model other than the pinhole model."""
    if "fisheye" in key or "omnidir" in key:
        return str(value).lower() not in _FALSE_VALUES
    # Only omnidirectional cameras have the parameter "xi".
    if key == "xi":
        return True
    model = _normalized(value) if isinstance(value, str) else ""
    if any(part in key for part in _MODEL_KEYS):
        return model not in ("", *_PINHOLE_MODELS)
    # The key "model" may contain the product name of a camera, which is allowed.
    return "model" in key and any(lens in model for lens in _OTHER_LENSES)


def _normalized(name: object) -> str:
    """Convert a name to lower case, without punctuation or digits at the end.

    For example, ``Camera_Model_1`` becomes ``cameramodel``.
    """
    return re.sub(r"[\W_]|\d+$", "", str(name).lower())
