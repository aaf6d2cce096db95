"""Files of OpenCV's ``cv2.FileStorage``: their matrices, image sizes and lens models.

OpenCV's own parsers are not used, because they write beyond their memory on some
damaged files.
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
"""Normalized keys under which files state the size of images."""

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
"""Normalized names of camera models with the equations of OpenCV's pinhole functions.

The distortion coefficients of any other model have other equations.
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
"""Parts of normalized keys that name a camera model."""

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
"""Parts of the normalized names of camera models that are not pinhole models."""

_FALSE_VALUES = ("0", "0.0", "false", "no", "none", "off")
"""Values with which a key such as ``fisheye`` says that the lens is not a fisheye."""


def read_file_storage(path: PathLike) -> dict[str, Any]:
    """Return the entries at the top level of a file of OpenCV's FileStorage.

    The file may be YAML or JSON.

    Raises
    ------
    DataError
        The file is missing, or its content is not a mapping.
    """
    text = read_bytes(path, limits.TEXT).decode("latin-1")
    # The first line that OpenCV writes, "%YAML:1.0", is not a valid directive.
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
    """Return the matrices of finite numbers among the entries of a file, by name."""
    matrices = {}
    for name, fields in entries.items():
        if isinstance(fields, dict) and {"rows", "cols", "data"} <= fields.keys():
            matrix = _matrix(fields)
            if matrix is not None:
                matrices[name] = matrix
    return matrices


def _matrix(fields: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """Return the matrix with the given fields; None if they do not fit a matrix."""
    rows = fields["rows"]
    columns = fields["cols"]
    try:
        numbers = np.array(fields["data"], object).ravel()
    except ValueError:
        return None
    # NumPy would convert texts and truth values to numbers, such as "6_0" to 60.
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
    """Return whether a value is a finite number and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# --- sizes of images ------------------------------------------------------------------


def stated_size(path: PathLike, entries: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the columns and rows of the images for which a calibration was made.

    Parameters
    ----------
    path : path-like
        Path of the file, for messages.
    entries : mapping
        The entries of the file.

    Returns
    -------
    (int, int) or None
        Columns and rows; None if the file does not state both.

    Raises
    ------
    DataError
        The columns or rows are not whole numbers above 0.
    """
    values: dict[str, Any] = {}
    for name, value in entries.items():
        # If normalized names are equal, the first entry counts.
        values.setdefault(_normalized(name), value)
    for key in _SIZE_KEYS:
        sides = _two_sides(values.get(key))
        if sides is None:
            continue
        # The shape of an array has its rows first.
        if key == "imageshape":
            sides = sides[::-1]
        return checked_size(path, sides)
    widths = [values[key] for key in _WIDTH_KEYS if key in values]
    heights = [values[key] for key in _HEIGHT_KEYS if key in values]
    return checked_size(path, [*widths[:1], *heights[:1]])


def _two_sides(value: Any) -> list[Any] | None:
    """Return the two numbers in the value of a size key, or None.

    The value is a list, a matrix, or a mapping with a width and a height.
    """
    if isinstance(value, dict):
        sides = {_normalized(name): side for name, side in value.items()}
        value = value.get("data", [sides.get("width"), sides.get("height")])
    if isinstance(value, list) and len(value) == 2:
        return value
    return None


def checked_size(path: PathLike, sides: Sequence[Any]) -> tuple[int, int] | None:
    """Return the columns and rows that a file states; None if it does not state both.

    Raises
    ------
    DataError
        The columns or rows are not whole numbers above 0.
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
    """Refuse a calibration of fisheye and other lenses.

    Raises
    ------
    DataError
        The file states another model than that of `cv2.stereoCalibrate`.
    """
    for name, value in _all_entries(entries):
        if _is_of_other_lens(_normalized(name), value):
            message = (
                f"{path}: {name} is {value}; only calibrations of pinhole cameras are read here, "
                "with the coefficients of cv2.stereoCalibrate; rectify the images with the "
                "functions of this lens model, such as cv2.fisheye.stereoRectify, and match the "
                "results with its P1 and P2 as --calibration"
            )
            raise DataError(message)


def _all_entries(entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names and single values of entries and of nested entries."""
    for name, value in entries.items():
        items = value if isinstance(value, list) else [value]
        for item in items:
            if isinstance(item, dict):
                yield from _all_entries(item)
            else:
                yield name, item


def _is_of_other_lens(key: str, value: Any) -> bool:
    """Return whether an entry names another lens model than OpenCV's pinhole."""
    if "fisheye" in key or "omnidir" in key:
        return str(value).lower() not in _FALSE_VALUES
    # Only omnidirectional cameras have the parameter xi.
    if key == "xi":
        return True
    model = _normalized(value) if isinstance(value, str) else ""
    if any(part in key for part in _MODEL_KEYS):
        return model not in ("", *_PINHOLE_MODELS)
    # The value of a key such as "model" may also be the name of a product.
    return "model" in key and any(lens in model for lens in _OTHER_LENSES)


def _normalized(name: object) -> str:
    """Return a name in lower case without punctuation and without a number at its end.

    The number is that of a camera, as in ``Camera_Model_1``.
    """
    return re.sub(r"[\W_]|\d+$", "", str(name).lower())
