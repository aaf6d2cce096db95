"""Files of OpenCV's ``cv2.FileStorage``: their matrices, image sizes and lens models.

The parsers of OpenCV are not used, because some damaged files make them write outside
their buffers.
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
"""Keys under which calibration files store the width and height of their images.

The keys are in the form that `_normalized` returns. For example, ``Image_Size`` becomes
``imagesize``.
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
"""Names of the camera models that OpenCV's pinhole functions can undistort.

The names are in the form that `_normalized` returns. A file with another camera model
is refused, because its distortion coefficients belong to different equations.
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
"""Parts of the keys under which calibration files store the name of a camera model.

For example, the key ``left_camera_model`` has the normalized form ``leftcameramodel``,
which contains ``cameramodel``.
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
"""Parts of the names of camera models, such as fisheye, that are not pinhole models."""

_FALSE_VALUES = ("0", "0.0", "false", "no", "none", "off")
"""Texts that mean False if they are the value of a key such as ``fisheye``."""


def read_file_storage(path: PathLike) -> dict[str, Any]:
    """Read the top-level keys and values of a file that OpenCV's FileStorage wrote.

    The file may be a YAML or a JSON file.

    Raises
    ------
    DataError
        The file is missing, or it does not consist of keys with values.
    """
    text = read_bytes(path, limits.TEXT).decode("latin-1")
    # OpenCV writes the first line "%YAML:1.0", which is not valid YAML.
    if text.startswith("%"):
        text = text.partition("\n")[2]
    root = parse(text.replace("!!opencv-matrix", ""), str(path), Faults())
    if root is None or not isinstance(root.value, dict):
        message = (
            f"{path}: the file may be damaged or not a file of OpenCV's FileStorage; write it "
            "again with cv2.FileStorage, or name another file"
        )
        raise DataError(message)
    return {name: node.data() for name, node in root.entries.items()}


# --- matrices -------------------------------------------------------------------------


def matrices_in(entries: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Return all valid matrices of a FileStorage file, by name.

    A matrix is valid if all its numbers are finite and their count is rows * columns.
    """
    matrices = {}
    for name, fields in entries.items():
        if isinstance(fields, dict) and {"rows", "cols", "data"} <= fields.keys():
            matrix = _matrix(fields)
            if matrix is not None:
                matrices[name] = matrix
    return matrices


def _matrix(fields: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """Build a matrix from the values of its keys ``rows``, ``cols`` and ``data``.

    The result is None if these values do not describe a matrix of finite numbers.
    """
    rows = fields["rows"]
    columns = fields["cols"]
    try:
        numbers = np.array(fields["data"], object).ravel()
    except ValueError:
        return None
    # NumPy would convert strings and Booleans to numbers. For example, "6_0" would
    # become 60.
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
    """Return whether a value is a finite int or float, but not True or False."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# --- sizes of images ------------------------------------------------------------------


def stated_size(path: PathLike, entries: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the image size that is stored in a calibration file.

    Parameters
    ----------
    path : path-like
        Path of the file, which error messages show.
    entries : mapping
        Top-level keys and values of the file.

    Returns
    -------
    (int, int) or None
        Numbers of columns and rows of the images. The result is None unless the file
        contains both numbers.

    Raises
    ------
    DataError
        The number of columns or rows is not a whole number above 0.
    """
    values: dict[str, Any] = {}
    for name, value in entries.items():
        # If two keys have the same normalized form, the value of the first key is used.
        values.setdefault(_normalized(name), value)
    for key in _SIZE_KEYS:
        sides = _two_sides(values.get(key))
        if sides is None:
            continue
        # A shape has the order (rows, columns). A size has the order (columns, rows).
        if key == "imageshape":
            sides = sides[::-1]
        return checked_size(path, sides)
    widths = [values[key] for key in _WIDTH_KEYS if key in values]
    heights = [values[key] for key in _HEIGHT_KEYS if key in values]
    return checked_size(path, [*widths[:1], *heights[:1]])


def _two_sides(value: Any) -> list[Any] | None:
    """Return the two numbers of an image size in the order in which they are stored.

    The size may be a list, a matrix, or a mapping with the keys ``width`` and
    ``height``. The result is None if the value is not such a size.
    """
    if isinstance(value, dict):
        sides = {_normalized(name): side for name, side in value.items()}
        value = value.get("data", [sides.get("width"), sides.get("height")])
    if isinstance(value, list) and len(value) == 2:
        return value
    return None


def checked_size(path: PathLike, sides: Sequence[Any]) -> tuple[int, int] | None:
    """Check an image size from a file, and return the columns and rows as integers.

    The result is None unless `sides` contains two numbers, columns and rows.

    Raises
    ------
    DataError
        The number of columns or rows is not a whole number above 0.
    """
    if len(sides) != 2:
        return None
    for side in sides:
        is_number = isinstance(side, int | float) and not isinstance(side, bool)
        if not is_number or side < 1 or side != int(side):
            message = (
                f"{path}: the file states {sides[0]} x {sides[1]} as the size of its images; "
                "expected whole numbers of pixels"
            )
            raise DataError(message)
    return int(sides[0]), int(sides[1])


# --- lens models ----------------------------------------------------------------------


def refuse_other_lenses(path: PathLike, entries: Mapping[str, Any]) -> None:
    """Refuse a calibration with a camera model such as fisheye.

    Only the pinhole model is allowed, which `cv2.stereoCalibrate` uses.

    Raises
    ------
    DataError
        The file contains the name of a camera model that is not a pinhole model.
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
    """Yield every key with its value, including the keys of nested mappings and lists.

    If a value is a list, its key is yielded once with each element of the list.
    """
    for name, value in entries.items():
        items = value if isinstance(value, list) else [value]
        for item in items:
            if isinstance(item, dict):
                yield from _all_entries(item)
            else:
                yield name, item


def _is_of_other_lens(key: str, value: Any) -> bool:
    """Return whether a key and its value name a camera model that is not a pinhole."""
    if "fisheye" in key or "omnidir" in key:
        return str(value).lower() not in _FALSE_VALUES
    # Only omnidirectional cameras have the parameter xi.
    if key == "xi":
        return True
    model = _normalized(value) if isinstance(value, str) else ""
    if any(part in key for part in _MODEL_KEYS):
        return model not in ("", *_PINHOLE_MODELS)
    # The value of a key such as "model" may be the product name of a camera. Therefore,
    # only names of known camera models are refused.
    return "model" in key and any(lens in model for lens in _OTHER_LENSES)


def _normalized(name: object) -> str:
    """Return a name in lower case, without punctuation, and without digits at its end.

    Digits at the end are usually the number of a camera. For example, the result for
    ``Camera_Model_1`` is ``cameramodel``.
    """
    return re.sub(r"[\W_]|\d+$", "", str(name).lower())
