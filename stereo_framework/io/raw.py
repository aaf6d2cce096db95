"""Read PGM, PPM, PFM and optical flow files, and write PFM and PLY files.

OpenCV is not used for two reasons. OpenCV does not return the largest grey value in the
header of a PGM or PPM file. OpenCV also divides the values of a PFM file by the scale
in the header.
"""

import math
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError
from stereo_framework.io.file_kinds import known_kind
from stereo_framework.io.files import PathLike, read_bytes
from stereo_framework.io.output_folders import write_bytes

_SPACE = rb"(?:\s|#[^\n\r]*[\n\r])"
"""Pattern for white space or a comment in the header of a PGM or PPM file."""

_NETPBM_HEADER = re.compile(
    rb"P([2356])" + 2 * (_SPACE + rb"+(\d{1,9})") + _SPACE + rb"+(\d{1,9})\s"
)
"""Pattern for a header such as ``P5 640 480 255``, with the largest grey value 255."""

_PLAIN_KINDS = (2, 3)
"""Kinds P2 and P3 store the samples as decimal text."""

_COLOUR_KINDS = (3, 6)
"""Kinds P3 and P6 are PPM files, which store colours."""

_MAX_SAMPLE_DIGITS = 9
"""Maximum number of digits of a sample in decimal text."""


# --- PGM and PPM ----------------------------------------------------------------------


def decode_netpbm(data: bytes, path: PathLike) -> tuple[NDArray[Any], int]:
    """Decode the samples and the largest grey value of a PGM or PPM file.

    Parameters
    ----------
    data : bytes
        Content of the file. The header may contain comments.
    path : path-like
        Path of the file, for error messages.

    Returns
    -------
    samples : ndarray, uint8 or uint16, (rows, columns) or (rows, columns, 3) RGB
        Samples as stored in the file. The type is uint8 if `largest` is at most 255.
    largest : int
        Largest grey value in the header, from 1 to 65535.

    Raises
    ------
    DataError
        The header is not valid, samples are missing, or a sample is larger than
        `largest`.
    """
    header = _NETPBM_HEADER.match(data)
    if header is None:
        beginning = data[:2].decode("latin-1")
        message = (
            f"{path}: the file starts with {beginning!r} but has no valid header of a PGM or PPM "
            "file"
        )
        raise DataError(message)
    kind, columns, rows, largest = map(int, header.groups())
    if rows == 0 or columns == 0 or not 0 < largest < 65536:
        message = (
            f"{path}: the header states {columns}x{rows} pixels and the largest grey value "
            f"{largest}; allowed: at least 1x1 pixels, largest grey value from 1 to 65535"
        )
        raise DataError(message)
    shape = (rows, columns, 3) if kind in _COLOUR_KINDS else (rows, columns)
    if kind in _PLAIN_KINDS:
        samples = _plain_samples(data[header.end() :], shape, largest, path)
    else:
        samples = _binary_samples(data, header.end(), shape, largest, path)
    if samples.max() > largest:
        message = (
            f"{path}: the file has the grey value {samples.max()}, but the header states {largest} "
            "as the largest grey value"
        )
        raise DataError(message)
    dtype = np.uint8 if largest < 256 else np.uint16
    return samples.astype(dtype), largest


def _binary_samples(
    data: bytes, start: int, shape: tuple[int, ...], largest: int, path: PathLike
) -> NDArray[Any]:
    """Decode the samples of a binary PGM or PPM file (P5 or P6)."""
    # Samples of two bytes are big-endian.
    stored_type = np.uint8 if largest < 256 else ">u2"
    dtype = np.dtype(stored_type)
    count = math.prod(shape)
    present_count = (len(data) - start) // dtype.itemsize
    if present_count < count:
        raise _truncated(path, shape, count, present_count)
    return np.frombuffer(data, dtype, count, start).reshape(shape)


def _plain_samples(
    text: bytes, shape: tuple[int, ...], largest: int, path: PathLike
) -> NDArray[Any]:
    """Decode the samples of a PGM or PPM file in decimal text (P2 or P3)."""
    limits.check_pixels(shape[1], shape[0], path)
    words = re.sub(rb"#[^\n\r]*", b"", text).split()
    count = math.prod(shape)
    if len(words) < count:
        raise _truncated(path, shape, count, len(words))
    # Text after the last sample is ignored.
    for word in words[:count]:
        if len(word) > _MAX_SAMPLE_DIGITS or not word.isdigit():
            message = (
                f"{path}: the file has {word[:20]!r} among its samples; expected whole numbers "
                f"from 0 to {largest}"
            )
            raise DataError(message)
    return np.array(words[:count]).astype(np.int64).reshape(shape)


def _truncated(path: PathLike, shape: tuple[int, ...], count: int, present_count: int) -> DataError:
    """Return the error for a PGM or PPM file with too few samples."""
    return DataError(
        f"{path}: the file is truncated: an image of {shape[1]}x{shape[0]} pixels needs {count} "
        f"samples after the header, but the file has {present_count}"
    )


# --- optical flow ---------------------------------------------------------------------

_FLOW_BEGINNING = b"PIEH"
_FLOW_HEADER_BYTES = 12
_BYTES_PER_FLOW = 8
_UNKNOWN_FLOW = 1e9
"""Components above this number mean an unknown flow (Baker et al. 2011)."""


def read_flow(path: PathLike) -> NDArray[np.float32]:
    """Read an optical flow in Middlebury's ``.flo`` format as a disparity map.

    Parameters
    ----------
    path : path-like
        File with the flow from the left to the right image of a rectified pair.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Disparities in pixels: the negated horizontal components of the flow. Pixels
        with unknown flow are NaN.

    Raises
    ------
    DataError
        The file is missing, is not a ``.flo`` file, or has a wrong length.
    """
    data = read_bytes(path)
    if not data.startswith(_FLOW_BEGINNING) or len(data) < _FLOW_HEADER_BYTES:
        event = known_kind(data)
        if event is None:
            event = (
                "the file does not begin with 'PIEH', as an optical flow file must; replace the "
                "file, or rename it to the file extension of its format"
            )
        message = f"{path}: {event}"
        raise DataError(message)
    columns = int.from_bytes(data[4:8], "little")
    rows = int.from_bytes(data[8:12], "little")
    needed_bytes = _BYTES_PER_FLOW * rows * columns
    present_bytes = len(data) - _FLOW_HEADER_BYTES
    if needed_bytes == 0 or present_bytes != needed_bytes:
        message = (
            f"{path}: the header states {columns}x{rows} pixels, which need {needed_bytes} bytes "
            f"after the header, but the file has {present_bytes}"
        )
        raise DataError(message)

    flow = np.frombuffer(data, "<f4", offset=_FLOW_HEADER_BYTES).reshape(rows, columns, 2)
    horizontal = flow[..., 0].astype(np.float32)
    # A component NaN also counts as unknown, because NaN < 1e9 is False.
    with np.errstate(invalid="ignore"):
        is_unknown = ~(np.abs(flow) < _UNKNOWN_FLOW).all(axis=2)
    # The component is subtracted from 0, because the negative of 0 would be -0.
    return np.where(is_unknown, np.float32(np.nan), np.float32(0) - horizontal)


# --- PFM ------------------------------------------------------------------------------

_PFM_HEADER = re.compile(
    rb"P([fF])\s+(\d{1,9})\s+(\d{1,9})\s+([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?=\s)"
)
"""Pattern for a PFM header, such as ``Pf 640 480 -1.0``."""

_MAX_PFM_HEADER_BYTES = 100


@checked()
def read_pfm(path: PathLike) -> NDArray[np.float32]:
    """Read a PFM file, which contains a disparity map or an image of floats.

    Parameters
    ----------
    path : path-like
        PFM file with one channel (``Pf``) or three channels (``PF``). A negative scale
        in the header means little-endian floats. The magnitude of the scale is ignored.

    Returns
    -------
    ndarray, float32, (rows, columns) or (rows, columns, 3)
        Values as stored in the file, including NaN and infinity. Row 0 is the top row
        of the image.

    Raises
    ------
    DataError
        The file is missing, has no valid header, or has a wrong length.

    Notes
    -----
    The header ends with one white-space character or with CR LF. If the file is too
    long, additional white space after the header is skipped.
    """
    data = read_bytes(path)
    header = _PFM_HEADER.match(data)
    if header is None:
        raise DataError(f"{path}: {_pfm_header_problem(data)}")
    columns = int(header[2])
    rows = int(header[3])
    scale = float(header[4])
    if rows == 0 or columns == 0 or scale == 0 or not math.isfinite(scale):
        message = (
            f"{path}: the PFM header states {columns}x{rows} pixels and the scale "
            f"{header[4].decode()}; allowed: at least 1x1 pixels, a finite scale other than 0"
        )
        raise DataError(message)
    channels = _pfm_channels(header)
    needed_bytes = 4 * rows * columns * channels
    start = _start_of_pfm_values(data, header.end(), needed_bytes)
    present_bytes = len(data) - start
    if present_bytes != needed_bytes:
        event = "the file has data after its end"
        if present_bytes < needed_bytes:
            event = "the file is truncated"
        message = (
            f"{path}: {event}: an image of {columns}x{rows} pixels needs {needed_bytes} bytes "
            f"after the header, but the file has {present_bytes}"
        )
        raise DataError(message)
    stored_type = "<f4" if scale < 0 else ">f4"
    values = np.frombuffer(data, stored_type, offset=start).astype(np.float32)
    shape = (rows, columns, 3) if channels == 3 else (rows, columns)
    # A PFM file begins with the bottom row of the image.
    return np.ascontiguousarray(values.reshape(shape)[::-1])


def _pfm_header_problem(data: bytes) -> str:
    """Return an error message for a file without a valid PFM header.

    The message names the format of the file or quotes the first bytes.

    Examples
    --------
    >>> _pfm_header_problem(b"GIF89a...").partition(";")[0]
    'the file is a GIF picture, which is not read'
    >>> _pfm_header_problem(b"Pf 640").partition(": ")[0]
    'the file is not a PFM file'
    """
    # A file that begins with "P" is probably a PFM file with a damaged header. The
    # advice from known_kind to rename the file to .pfm would not help.
    if not data.startswith(b"P"):
        known_format = known_kind(data)
        if known_format is not None:
            return known_format
    beginning = data[:16].decode("latin-1")
    return (
        "the file is not a PFM file: it must begin with 'Pf' or 'PF', width, height and scale, "
        f"but it begins with {beginning!r}"
    )


def _start_of_pfm_values(data: bytes, header_end: int, needed_bytes: int) -> int:
    """Return the byte position of the first value in a PFM file.

    Parameters
    ----------
    data : bytes
        Content of the file.
    header_end : int
        Position after the scale in the header.
    needed_bytes : int
        Number of bytes of all values.
    """
    has_crlf = data[header_end : header_end + 2] == b"\r\n"
    start = header_end + (2 if has_crlf else 1)
    start_from_end = len(data) - needed_bytes
    if start != start_from_end and not data[header_end:start_from_end].strip():
        start = max(start, start_from_end)
    return start


def _pfm_channels(header: re.Match[bytes]) -> int:
    """Return the number of channels of a PFM file: 3 for ``PF`` and 1 for ``Pf``."""
    return 3 if header[1] == b"F" else 1


def is_whole(path: PathLike) -> bool:
    """Return whether a file from `write_pfm` is complete.

    The size of the file is compared with the size in the header. An incompletely
    written or copied file is too short.
    """
    if not os.path.isfile(path):
        # Opening a pipe would block the program.
        return False
    with open(path, "rb") as file:
        header = _PFM_HEADER.match(file.read(_MAX_PFM_HEADER_BYTES))
        size = file.seek(0, os.SEEK_END)
    if header is None:
        return False
    value_bytes = 4 * int(header[2]) * int(header[3]) * _pfm_channels(header)
    return size == header.end() + 1 + value_bytes


@checked()
def write_pfm(path: PathLike, array: NDArray) -> None:
    """Write a disparity map or an image to a PFM file with little-endian floats.

    Parameters
    ----------
    path : path-like
        Path of the new file.
    array : ndarray of floats, (rows, columns) or (rows, columns, 3)
        Values, which are stored as float32. NaN and infinity are allowed.

    Raises
    ------
    DataError
        The array has a wrong shape, or the file cannot be written.
    """
    array = np.asarray(array)
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,)) or array.size == 0:
        message = (
            f"{path}: an array of shape {array.shape} does not fit a PFM file; expected "
            "(rows, columns) or (rows, columns, 3)"
        )
        raise DataError(message)
    kind = "PF" if array.ndim == 3 else "Pf"
    header = f"{kind}\n{array.shape[1]} {array.shape[0]}\n-1.0\n".encode()
    write_bytes(path, header + array[::-1].astype("<f4").tobytes())


# --- point clouds ---------------------------------------------------------------------


@checked()
def write_points(path: PathLike, points: NDArray[np.float32], colours: NDArray[np.uint8]) -> None:
    """Write a point cloud with colours to a little-endian binary PLY file.

    Parameters
    ----------
    path : path-like
        Path of the new ``.ply`` file.
    points : ndarray, float32, (n, 3)
        Coordinates x (right), y (down) and z (away from the camera), in any unit.
    colours : ndarray, uint8, (n, 3)
        Red, green and blue value of each point.

    Raises
    ------
    DataError
        An array has a wrong shape, or the file cannot be written.
    """
    if points.ndim != 2 or points.shape[1] != 3 or colours.shape != points.shape:
        message = (
            f"{path}: points have shape {points.shape} and colours {colours.shape}; expected "
            "(n, 3) for both"
        )
        raise DataError(message)
    vertices = np.empty(len(points), [("position", "<f4", 3), ("colour", "u1", 3)])
    vertices["position"] = points
    vertices["colour"] = colours
    header = [
        "ply",
        "format binary_little_endian 1.0",
        f"element vertex {len(points)}",
        "property float x",
        "property float y",
        "property float z",
        "property uchar red",
        "property uchar green",
        "property uchar blue",
        "end_header",
        "",
    ]
    write_bytes(path, "\n".join(header).encode() + vertices.tobytes())
