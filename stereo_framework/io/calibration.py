"""Camera calibration files: Middlebury's ``calib.txt``, which ETH3D uses too, KITTI's, and those that OpenCV writes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Calibration
from stereo_framework.io._files import PathLike, read_bytes, write_bytes
from stereo_framework.io.locations import Faults
from stereo_framework.io.numbers import parse_number
from stereo_framework.io.raw import read_numpy
from stereo_framework.io.yaml_text import parse

_ENTRY = re.compile(r"\b(\w+)\s*=\s*(\[[^\]=]*\]|[^\s\[\]]+)([^\n=]*?)(?=\b\w+\s*=|\n|$)")
"""An entry of a ``calib.txt``: its key, its value, and what follows on the line up to the next key."""

_PEEK = 4096
"""Number of bytes at the beginning of a file that are examined to find out its kind."""

_LEVELS = range(2, 32768)
"""Allowed numbers of disparities in a search."""


_DISTORTIONS = (4, 5, 8, 12, 14)
"""The numbers of distortion coefficients that OpenCV knows."""

_STEREO = {
    ("M1", "K1", "cameraMatrix1"): (9,),
    ("D1", "distCoeffs1"): _DISTORTIONS,
    ("M2", "K2", "cameraMatrix2"): (9,),
    ("D2", "distCoeffs2"): _DISTORTIONS,
    ("R",): (9,),
    ("T",): (3,),
}
"""Names under which files hold the results of `cv2.stereoCalibrate`: in OpenCV's example, in many textbooks, and in the function itself; and how many
numbers each has."""


@dataclass(frozen=True, eq=False)
class StereoCalibration:
    """The calibration of two cameras before rectification, as `cv2.stereoCalibrate` finds it.

    Parameters
    ----------
    left, right : ndarray, float64, (3, 3)
        Camera matrices, pixels.
    left_distortion, right_distortion : ndarray, float64, (n,)
        Coefficients in OpenCV's order; n is 4, 5, 8, 12 or 14.
    rotation, translation : ndarray, float64, (3, 3) and (3,)
        They take points from the coordinates of the left camera to those of the right one.
    size : (int, int), optional
        Columns and rows of the images for which the calibration was made, if the files state them.
    """

    left: NDArray[np.float64]
    left_distortion: NDArray[np.float64]
    right: NDArray[np.float64]
    right_distortion: NDArray[np.float64]
    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]
    size: tuple[int, int] | None = None


@checked()
def read_calibration(path: PathLike) -> tuple[Calibration, int, bool]:
    """Read a Middlebury ``calib.txt``. Entries may be separated by any spaces and line breaks.

    Returns
    -------
    calibration : Calibration
        Focal length of cam0 in pixels, baseline in mm, doffs in pixels.
    ndisp : int
        A conservative bound: disparities lie in 0..ndisp-1. ETH3D gives the image width.
    isint : bool
        Whether the truth is accurate to whole pixels only.

    Raises
    ------
    DataError
        The file is missing or lacks an entry, or an entry is not a number.
    """
    entries = _entries(path)
    missing = [key for key in ("cam0", "doffs", "baseline", "ndisp") if key not in entries]
    if missing:
        raise DataError(f"{path}: no entry {', '.join(missing)}; expected Middlebury's calib.txt")
    camera = _numbers(path, "cam0", entries["cam0"].strip("[]"), 9, "[f 0 cx; 0 f cy; 0 0 1]")
    (doffs,), (baseline,), (ndisp,) = (
        _numbers(path, key, entries[key], 1) for key in ("doffs", "baseline", "ndisp")
    )
    if ndisp not in _LEVELS:
        raise DataError(
            f"{path}: ndisp: {entries['ndisp'][:40]} is not a whole number from {_LEVELS.start} to {_LEVELS.stop - 1}"
        )
    calibration = _checked(path, camera[0], baseline, doffs, (camera[2], camera[5]))
    sides = [
        _numbers(path, key, entries[key], 1)[0] for key in ("width", "height") if key in entries
    ]
    calibration = replace(calibration, size=_size(path, sides))
    return (
        calibration,
        int(ndisp),
        "isint" in entries and _numbers(path, "isint", entries["isint"], 1) != [0],
    )


def _entries(path: PathLike) -> dict[str, str]:
    """Return the values of a Middlebury ``calib.txt`` by their keys.

    Raises
    ------
    DataError
        An entry has more than one value, or stands twice with different values.
    """
    entries: dict[str, str] = {}
    for key, value, rest in _ENTRY.findall(read_bytes(path, limits.TEXT).decode("latin-1")):
        if rest.strip():
            message = f"{path}: {key}: {rest.strip()[:40]!r} follows its value {value[:40]}; expected one value"
            raise DataError(message)
        if entries.setdefault(key, value) != value:
            message = f"{path}: {key} stands twice, as {entries[key][:40]} and as {value[:40]}; expected one value"
            raise DataError(message)
    return entries


@checked()
def read_kitti_calibration(path: PathLike, left: int, right: int) -> Calibration:
    """Read the calibration of two of KITTI's cameras. Cameras 0 and 1 are grey, 2 and 3 take colour images.

    The size of the images is stated by an entry such as ``S_rect_02``, which KITTI 2015 has.

    Parameters
    ----------
    path : path-like
        ``calib/000000.txt`` (KITTI 2012) or ``calib_cam_to_cam/000000.txt`` (2015), with one 3x4 projection matrix a camera
        and line: ``P0: f 0 cx -f*b 0 f cy ...``, or ``P_rect_00:``.
    left, right : int
        Numbers of the camera of the reference frame and of that of the match frame.

    Returns
    -------
    Calibration
        Focal length in pixels, baseline in metres.

    Raises
    ------
    DataError
        The file is missing, lacks a camera, or an entry is no number.
    """
    lines = [
        line.partition(":") for line in read_bytes(path, limits.TEXT).decode("latin-1").splitlines()
    ]
    entries = {key.strip(): value for key, colon, value in lines if colon}

    def matrix(camera: int) -> list[float]:
        keys = [key for key in (f"P{camera}", f"P_rect_{camera:02d}") if key in entries]
        if not keys:
            raise DataError(
                f"{path}: no entry P{camera} or P_rect_{camera:02d}; expected KITTI's calibration of camera {camera}"
            )
        return _numbers(path, keys[0], entries[keys[0]], 12, "a 3x4 projection matrix")

    reference, match = matrix(left), matrix(right)
    focal_length = reference[0]
    # The fourth number is -f times the camera's place along the baseline, measured from camera 0.
    baseline = (reference[3] - match[3]) / focal_length if focal_length else 0.0
    calibration = _checked(
        path, focal_length, baseline, match[2] - reference[2], (reference[2], reference[6])
    )
    size_key = f"S_rect_{left:02d}"
    sides = _numbers(path, size_key, entries[size_key], 2) if size_key in entries else []
    return replace(calibration, size=_size(path, sides))


@checked()
def kitti_cameras(path: PathLike) -> list[int] | None:
    """Return the numbers of the cameras in a calibration of KITTI; None for other files."""
    if Path(path).suffix.lower() == ".npy":
        return None
    text = read_bytes(path, limits.TEXT).decode("latin-1")
    if re.match(r"\s*(%YAML|\{)", text) or re.search(r"^\s*cam0\s*=", text, re.MULTILINE):
        return None
    numbers = re.findall(r"^\s*P(?:_rect_0)?(\d):", text, re.MULTILINE)
    return sorted(set(map(int, numbers))) or None


@checked()
def read_opencv_calibration(path: PathLike) -> Calibration:
    """Read the calibration of a rectified pair from a file that OpenCV wrote, with ``Q`` or with ``P1`` and ``P2`` of ``cv2.stereoRectify``.

    Parameters
    ----------
    path : path-like
        A YAML or JSON file of ``cv2.FileStorage``, or a ``.npy`` file with only `Q`, a 4x4 array.

    Returns
    -------
    Calibration
        Focal length in pixels, baseline in the unit that the cameras were calibrated in.

    Raises
    ------
    DataError
        The file is missing or damaged, or holds neither of the two.
    """
    size = None
    if Path(path).suffix.lower() == ".npy":
        found = {"Q": read_numpy(path, "matrix").astype(float)}
    else:
        found = _matrices(path)
        size = _stated_size(path, _file_storage(path))
    shapes = {"Q": (4, 4), "P1": (3, 4), "P2": (3, 4)}
    matrices = {
        name: m for name, m in found.items() if m.shape == shapes.get(name) and np.isfinite(m).all()
    }
    if "Q" in matrices and matrices["Q"][3, 2]:
        q = matrices["Q"]
        calibration = _checked(
            path, q[2, 3], abs(1 / q[3, 2]), q[3, 3] / q[3, 2], (-q[0, 3], -q[1, 3])
        )
        return replace(calibration, size=size)
    if {"P1", "P2"} <= matrices.keys() and matrices["P1"][0, 0]:
        left, right = matrices["P1"], matrices["P2"]
        calibration = _checked(
            path,
            left[0, 0],
            (left[0, 3] - right[0, 3]) / left[0, 0],
            right[0, 2] - left[0, 2],
            (left[0, 2], left[1, 2]),
        )
        return replace(calibration, size=size)
    raise DataError(
        f"{path}: holds neither Q (4x4) nor P1 and P2 (3x4); write one of cv2.stereoRectify's results"
    )


@checked()
def write_opencv_calibration(
    path: PathLike, calibration: Calibration, shape: tuple[int, ...]
) -> None:
    """Write the calibration of a rectified pair of images of this shape as OpenCV's YAML with `Q`, which `read_opencv_calibration` reads."""
    column, row = calibration.center or ((shape[1] - 1) / 2, (shape[0] - 1) / 2)
    f, b = calibration.focal_length, calibration.baseline
    q = [1, 0, 0, -column, 0, 1, 0, -row, 0, 0, 0, f, 0, 0, 1 / b, calibration.doffs / b]
    numbers = ", ".join(repr(float(number)) for number in q)
    size = f"image_width: {shape[1]}\nimage_height: {shape[0]}\n"
    write_bytes(
        path,
        f"%YAML:1.0\n---\n{size}Q: !!opencv-matrix\n   rows: 4\n   cols: 4\n   dt: d\n   data: [ {numbers} ]\n".encode(),
    )


@checked()
def read_stereo_calibration(paths: Sequence[PathLike]) -> StereoCalibration:
    """Read the calibration of two cameras before rectification. OpenCV's example ``stereo_calib`` writes it in two files.

    Parameters
    ----------
    paths : sequence of path-like
        YAML or JSON files of ``cv2.FileStorage`` that together hold the camera matrices `M1` and `M2`, the distortions `D1` and `D2`, and the
        rotation `R` and translation `T` between the cameras. Names such as `K1`, `cameraMatrix1` and `distCoeffs1` are understood, too.

    Raises
    ------
    DataError
        A file is missing or damaged, states another lens model than that of `cv2.stereoCalibrate`, none of them holds one of the matrices, or a
        matrix cannot be what its name says.
    """
    said = " and ".join(map(str, paths))
    found: dict[str, NDArray[np.float64]] = {}
    stated_sizes: dict[tuple[int, int], PathLike] = {}
    for path in paths:
        entries = _file_storage(path)
        _refuse_other_lenses(path, entries)
        if size := _stated_size(path, entries):
            stated_sizes[size] = path
        matrices = _matrices(path)
        for matrix_name in found.keys() & matrices.keys():
            if not np.array_equal(found[matrix_name], matrices[matrix_name]):
                message = f"{said}: both hold {matrix_name}, with different numbers; give the files of one calibration"
                raise DataError(message)
        found |= matrices
    if len(stated_sizes) > 1:
        sizes_text = " and ".join(
            f"{path} is for {size[0]}x{size[1]} pixels" for size, path in stated_sizes.items()
        )
        message = f"{sizes_text}; give files of one calibration"
        raise DataError(message)
    named = [next((name for name in names if name in found), None) for names in _STEREO]
    missing = [_or(names) for names, name in zip(_STEREO, named, strict=True) if name is None]
    if missing:
        more = (
            "; where they are in two files, as of OpenCV's stereo_calib, name both"
            if len(paths) == 1
            else ""
        )
        raise DataError(f"{said}: no {', no '.join(missing)}; expected a stereo calibration{more}")
    values = [found[str(name)] for name in named]
    for name, value, sizes in zip(named, values, _STEREO.values(), strict=True):
        if value.size not in sizes:
            raise DataError(
                f"{said}: {name} has {value.size} numbers; expected {_or([str(size) for size in sizes])}"
            )
    left, left_distortion, right, right_distortion, rotation = (
        v.reshape(3, 3) if v.size == 9 else v.ravel() for v in values[:5]
    )
    # A reflection is not a rotation.
    if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-3 or np.linalg.det(rotation) < 0:
        raise DataError(f"{said}: R is not a rotation")
    size = next(iter(stated_sizes), None)
    return StereoCalibration(
        left, left_distortion, right, right_distortion, rotation, values[5].ravel(), size
    )


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _matrices(path: PathLike) -> dict[str, NDArray[np.float64]]:
    """The matrices of finite numbers at the top level of a file of OpenCV's FileStorage, by name.

    It is read by code of our own, because OpenCV's parsers write beyond their memory on some damaged files.
    """
    found = {
        name: _matrix(one)
        for name, one in _file_storage(path).items()
        if isinstance(one, dict) and {"rows", "cols", "data"} <= one.keys()
    }
    return {name: matrix for name, matrix in found.items() if matrix is not None}


def _file_storage(path: PathLike) -> dict[str, Any]:
    """Return the entries at the top level of a file of OpenCV's FileStorage."""
    text = read_bytes(path, limits.TEXT).decode("latin-1")
    # The first line that OpenCV writes, "%YAML:1.0", is not a valid directive.
    text = text.partition("\n")[2] if text.startswith("%") else text
    root = parse(text.replace("!!opencv-matrix", ""), str(path), Faults())
    if root is None or not isinstance(root.value, dict):
        raise DataError(
            f"{path}: may be damaged or not a file of OpenCV's FileStorage; write it again with cv2.FileStorage, or name another file"
        )
    return {name: node.data() for name, node in root.entries.items()}


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
"""Names, in lower case without punctuation, under which files state the size of images."""

_PINHOLE_MODELS = (
    *(
        "pinhole",
        "perspective",
        "standard",
        "opencv",
        "none",
        "central",
        "plumbbob",
        "radtan",
        "radialtangential",
    ),
    *(
        "brown",
        "brownconrady",
        "rational",
        "rationalpolynomial",
        "thinprism",
        "tilted",
        "polynomial",
        "pinholeradtan",
    ),
    "fullopencv",
)
"""Models, in lower case without punctuation, of cameras whose coefficients OpenCV's
functions for pinhole cameras take. Any other model has other equations."""


_MODEL_KEYS = (
    "cameramodel",
    "distortionmodel",
    "lensmodel",
    "projectionmodel",
    "distortiontype",
    "lenstype",
    "cameratype",
)
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
"""Parts of keys that name a model of lenses, and of names of models that are no pinhole."""


def _plain(name: object) -> str:
    """Return a name in lower case without punctuation, and without the number of a camera."""
    return re.sub(r"[\W_]|\d+$", "", str(name).lower())


def _stated_size(path: PathLike, entries: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the columns and rows of the images that a file says it was made with."""
    values = {_plain(name): value for name, value in reversed(list(entries.items()))}
    for key in _SIZE_KEYS:
        if key in values:
            value = values[key]
            if isinstance(value, dict):
                named = {_plain(name): number for name, number in value.items()}
                value = (
                    value["data"] if "data" in value else [named.get("width"), named.get("height")]
                )
            if isinstance(value, list) and len(value) == 2:
                # The shape of an array has its rows first.
                return _size(path, value[::-1] if key == "imageshape" else value)
    widths = [values[key] for key in _WIDTH_KEYS if key in values]
    heights = [values[key] for key in _HEIGHT_KEYS if key in values]
    return _size(path, [*widths[:1], *heights[:1]])


def _size(path: PathLike, sides: Sequence[Any]) -> tuple[int, int] | None:
    """Return the columns and rows that a file states; None if it does not state both.

    Raises
    ------
    DataError
        One of them is no whole number above 0.
    """
    if len(sides) != 2:
        return None
    for side in sides:
        is_number = isinstance(side, int | float) and not isinstance(side, bool)
        if not is_number or side < 1 or side != int(side):
            message = f"{path}: states {sides[0]} x {sides[1]} as the size of its images; expected whole numbers of pixels"
            raise DataError(message)
    return int(sides[0]), int(sides[1])


def _refuse_other_lenses(path: PathLike, entries: Mapping[str, Any]) -> None:
    """Refuse a calibration of fisheye and other lenses.

    Raises
    ------
    DataError
        The file states a model that is not that of `cv2.stereoCalibrate`.
    """
    for name, value in _all_entries(entries):
        if _is_of_other_lens(_plain(name), value):
            message = (
                f"{path}: {name} is {value}; only calibrations of pinhole cameras are read here, with the coefficients of "
                "cv2.stereoCalibrate; rectify the images with the functions of this lens model, such as cv2.fisheye.stereoRectify, "
                "and match the results with its P1 and P2 as --calibration"
            )
            raise DataError(message)


def _all_entries(entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names and single values of entries, those of nested mappings and lists too."""
    for name, value in entries.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from _all_entries(item)
            else:
                yield name, item


def _is_of_other_lens(key: str, value: Any) -> bool:
    """Return whether an entry shows that a lens has another model than OpenCV's pinhole."""
    if "fisheye" in key or "omnidir" in key:
        return str(value).lower() not in ("0", "0.0", "false", "no", "none", "off")
    if key == "xi":
        return True  # the parameter of omnidirectional cameras
    model = _plain(value) if isinstance(value, str) else ""
    if any(part in key for part in _MODEL_KEYS):
        return model not in ("", *_PINHOLE_MODELS)
    # A key such as "model" can also hold the name of a product.
    return "model" in key and any(lens in model for lens in _OTHER_LENSES)


def _matrix(fields: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """Return the matrix that a mapping of OpenCV's FileStorage holds; None if it holds none."""
    sizes = (fields["rows"], fields["cols"])
    try:
        numbers = np.array(fields["data"], object).ravel()
    except ValueError:
        return None
    # numpy would read texts and truth values as numbers, such as "6_0" as 60.
    if not all(map(_is_number, [*numbers, *sizes])) or any(size != int(size) for size in sizes):
        return None
    try:
        matrix = np.array(numbers, np.float64).reshape(int(sizes[0]), int(sizes[1]))
    except (ValueError, OverflowError):
        return None
    return matrix if matrix.size and np.isfinite(matrix).all() else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@checked()
def read_any_calibration(
    path: PathLike, *, colour: bool = True, cameras: tuple[int, int] | None = None
) -> tuple[Calibration, int | None]:
    """Read a calibration file of any kind that this module knows. The content of the file decides which kind it is.

    Parameters
    ----------
    path : path-like
    colour : bool
        Whether a KITTI pair was taken by the colour cameras, 2 and 3, rather than by the grey ones, 0 and 1.
    cameras : (int, int), optional
        Numbers of KITTI's left and right camera, instead of `colour`.

    Returns
    -------
    calibration : Calibration
    ndisp : int or None
        If the file bounds the disparities, they lie in 0..ndisp-1; otherwise None.

    Raises
    ------
    DataError
        The file is missing, damaged or of an unknown kind.
    """
    text = read_bytes(path, limits.TEXT)[:_PEEK].decode("latin-1")
    if Path(path).suffix.lower() == ".npy" or re.match(r"\s*(%YAML|\{)", text):
        return read_opencv_calibration(path), None
    if re.search(r"^\s*cam0\s*=", text, re.MULTILINE):
        return read_calibration(path)[:2]
    if re.search(r"^\s*(P\d|P_rect_\d\d):", text, re.MULTILINE):
        return read_kitti_calibration(path, *(cameras or ((2, 3) if colour else (0, 1)))), None
    raise DataError(
        f"{path}: is not a calibration file of a known kind; allowed: Middlebury's calib.txt, KITTI's calib, OpenCV's YAML or JSON, Q as .npy"
    )


def _checked(
    path: PathLike,
    focal_length: float,
    baseline: float,
    doffs: float,
    center: tuple[float, float] | None = None,
) -> Calibration:
    for what, value in (("focal length", focal_length), ("baseline", baseline)):
        if not 0 < value < math.inf:
            raise DataError(f"{path}: the {what} {value:g} is not a number above 0")
    if not math.isfinite(doffs):
        raise DataError(f"{path}: the principal points are {doffs:g} pixels apart")
    return Calibration(float(focal_length), float(baseline), float(doffs), center)


def _numbers(path: PathLike, key: str, text: str, count: int, what: str = "") -> list[float]:
    """Return the numbers of an entry, which must have `count` of them."""
    numbers = []
    for part in filter(None, re.split(r"[\s;,]+", text)):
        try:
            numbers.append(parse_number(part))
        except ValueError:
            message = f"{path}: {key}: {part[:40]!r} is not a number"
            raise DataError(message) from None
    if len(numbers) != count:
        expected = f"the {count} of {what}" if what else str(count)
        message = f"{path}: {key} has {len(numbers)} numbers; expected {expected}"
        raise DataError(message)
    return numbers
