"""Camera calibration files: Middlebury's ``calib.txt``, which ETH3D uses too, KITTI's, and those that OpenCV writes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Calibration
from stereo_framework.io._files import PathLike, read_bytes, write_bytes
from stereo_framework.io.places import Faults
from stereo_framework.io.raw import read_numpy
from stereo_framework.io.yaml_text import parse

_ENTRY = re.compile(r"\b(\w+)\s*=\s*(\[[^\]=]*\]|[^\s\[\]]+)")
_PEEK = 4096
"""Number of bytes at the beginning of a file that are examined to find out its kind."""

_LEVELS = range(2, 32768)
"""Legal numbers of disparities in a search."""


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
    """

    left: NDArray[np.float64]
    left_distortion: NDArray[np.float64]
    right: NDArray[np.float64]
    right_distortion: NDArray[np.float64]
    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]


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
    entries = dict(_ENTRY.findall(read_bytes(path, limits.TEXT).decode("latin-1")))
    missing = [key for key in ("cam0", "doffs", "baseline", "ndisp") if key not in entries]
    if missing:
        raise DataError(f"{path}: no entry {', '.join(missing)}; expected Middlebury's calib.txt")
    camera = _numbers(path, "cam0", entries["cam0"].strip("[]"), 9, "[f 0 cx; 0 f cy; 0 0 1]")
    (doffs,), (baseline,), (ndisp,) = (_numbers(path, key, entries[key], 1) for key in ("doffs", "baseline", "ndisp"))
    if ndisp not in _LEVELS:
        raise DataError(
            f"{path}: ndisp: {entries['ndisp'][:40]} is not a whole number from {_LEVELS.start} to {_LEVELS.stop - 1}"
        )
    calibration = _checked(path, camera[0], baseline, doffs, (camera[2], camera[5]))
    return calibration, int(ndisp), "isint" in entries and _numbers(path, "isint", entries["isint"], 1) != [0]


def read_kitti_calibration(path: PathLike, left: int, right: int) -> Calibration:
    """Read the calibration of two of KITTI's cameras. Cameras 0 and 1 are grey, 2 and 3 take colour images.

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
    lines = [line.partition(":") for line in read_bytes(path, limits.TEXT).decode("latin-1").splitlines()]
    entries = {key.strip(): value for key, colon, value in lines if colon}

    def matrix(camera: int) -> list[float]:
        keys = [key for key in (f"P{camera}", f"P_rect_{camera:02d}") if key in entries]
        if not keys:
            raise DataError(f"{path}: no entry P{camera} or P_rect_{camera:02d}; expected KITTI's calibration of camera {camera}")
        return _numbers(path, keys[0], entries[keys[0]], 12, "a 3x4 projection matrix")

    reference, match = matrix(left), matrix(right)
    focal_length = reference[0]
    # The fourth number is -f times the camera's place along the baseline, measured from camera 0.
    baseline = (reference[3] - match[3]) / focal_length if focal_length else 0.0
    return _checked(path, focal_length, baseline, match[2] - reference[2], (reference[2], reference[6]))


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
    found = {"Q": read_numpy(path, "matrix").astype(float)} if Path(path).suffix.lower() == ".npy" else _matrices(path)
    shapes = {"Q": (4, 4), "P1": (3, 4), "P2": (3, 4)}
    matrices = {name: m for name, m in found.items() if m.shape == shapes.get(name) and np.isfinite(m).all()}
    if "Q" in matrices and matrices["Q"][3, 2]:
        q = matrices["Q"]
        return _checked(path, q[2, 3], abs(1 / q[3, 2]), q[3, 3] / q[3, 2], (-q[0, 3], -q[1, 3]))
    if {"P1", "P2"} <= matrices.keys() and matrices["P1"][0, 0]:
        left, right = matrices["P1"], matrices["P2"]
        return _checked(
            path, left[0, 0], (left[0, 3] - right[0, 3]) / left[0, 0], right[0, 2] - left[0, 2], (left[0, 2], left[1, 2])
        )
    raise DataError(f"{path}: holds neither Q (4x4) nor P1 and P2 (3x4); write one of cv2.stereoRectify's results")


def write_opencv_calibration(path: PathLike, calibration: Calibration, shape: tuple[int, ...]) -> None:
    """Write the calibration of a rectified pair of images of this shape as OpenCV's YAML with `Q`, which `read_opencv_calibration` reads."""
    column, row = calibration.center or ((shape[1] - 1) / 2, (shape[0] - 1) / 2)
    f, b = calibration.focal_length, calibration.baseline
    q = [1, 0, 0, -column, 0, 1, 0, -row, 0, 0, 0, f, 0, 0, 1 / b, calibration.doffs / b]
    numbers = ", ".join(repr(float(number)) for number in q)
    write_bytes(path, f"%YAML:1.0\n---\nQ: !!opencv-matrix\n   rows: 4\n   cols: 4\n   dt: d\n   data: [ {numbers} ]\n".encode())


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
        A file is missing or damaged, none of them holds one of the matrices, or a matrix cannot be what its name says.
    """
    said = " and ".join(map(str, paths))
    found: dict[str, NDArray[np.float64]] = {}
    for path in paths:
        found |= _matrices(path)
    named = [next((name for name in names if name in found), None) for names in _STEREO]
    missing = [_or(names) for names, name in zip(_STEREO, named, strict=True) if name is None]
    if missing:
        more = "; where they are in two files, as of OpenCV's stereo_calib, name both" if len(paths) == 1 else ""
        raise DataError(f"{said}: no {', no '.join(missing)}; expected a stereo calibration{more}")
    values = [found[str(name)] for name in named]
    for name, value, sizes in zip(named, values, _STEREO.values(), strict=True):
        if value.size not in sizes:
            raise DataError(f"{said}: {name} has {value.size} numbers; expected {_or([str(size) for size in sizes])}")
    left, left_distortion, right, right_distortion, rotation = (v.reshape(3, 3) if v.size == 9 else v.ravel() for v in values[:5])
    # A reflection is not a rotation.
    if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-3 or np.linalg.det(rotation) < 0:
        raise DataError(f"{said}: R is not a rotation")
    return StereoCalibration(left, left_distortion, right, right_distortion, rotation, values[5].ravel())


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _matrices(path: PathLike) -> dict[str, NDArray[np.float64]]:
    """The matrices of finite numbers at the top level of a file of OpenCV's FileStorage, by name.

    It is read by code of our own, because OpenCV's parsers write beyond their memory on some damaged files.
    """
    text = read_bytes(path, limits.TEXT).decode("latin-1")
    # The first line that OpenCV writes, "%YAML:1.0", is not a legal directive.
    text = text.partition("\n")[2] if text.startswith("%") else text
    root = parse(text.replace("!!opencv-matrix", ""), str(path), Faults())
    if root is None or not isinstance(root.value, dict):
        raise DataError(f"{path}: is not a file of OpenCV's FileStorage, or a damaged one")
    found = {name: _matrix(one.data()) for name, one in root.entries.items() if {"rows", "cols", "data"} <= one.entries.keys()}
    return {name: matrix for name, matrix in found.items() if matrix is not None}


def _matrix(one: Mapping[str, Any]) -> NDArray[np.float64] | None:
    try:
        matrix = np.array(one["data"], np.float64).reshape(int(one["rows"]), int(one["cols"]))
    except (TypeError, ValueError, OverflowError):
        return None
    return matrix if matrix.size and np.isfinite(matrix).all() else None


def read_any_calibration(path: PathLike, *, colour: bool = True) -> tuple[Calibration, int | None]:
    """Read a calibration file of any kind that this module knows. The content of the file decides which kind it is.

    Parameters
    ----------
    path : path-like
    colour : bool
        Whether a KITTI pair was taken by the colour cameras, 2 and 3, rather than by the grey ones, 0 and 1.

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
        return read_kitti_calibration(path, *((2, 3) if colour else (0, 1))), None
    raise DataError(
        f"{path}: is not a calibration file of a known kind; legal: Middlebury's calib.txt, KITTI's calib, OpenCV's YAML or JSON, Q as .npy"
    )


def _checked(
    path: PathLike, focal_length: float, baseline: float, doffs: float, center: tuple[float, float] | None = None
) -> Calibration:
    for what, value in (("focal length", focal_length), ("baseline", baseline)):
        if not 0 < value < math.inf:
            raise DataError(f"{path}: the {what} {value:g} is not a number above 0")
    if not math.isfinite(doffs):
        raise DataError(f"{path}: the principal points are {doffs:g} pixels apart")
    return Calibration(float(focal_length), float(baseline), float(doffs), center)


def _numbers(path: PathLike, key: str, text: str, count: int, what: str = "") -> list[float]:
    """The numbers of an entry, as many as there must be."""
    found = []
    for part in filter(None, re.split(r"[\s;,]+", text)):
        try:
            found.append(float(part))
        except ValueError:
            found.append(math.nan)
        if not math.isfinite(found[-1]):
            raise DataError(f"{path}: {key}: {part[:40]!r} is not a number")
    if len(found) != count:
        raise DataError(f"{path}: {key} has {len(found)} numbers; expected {f'the {count} of {what}' if what else count}")
    return found
