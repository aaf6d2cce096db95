"""Files of a header and raw numbers: PGM, PPM, PFM, optical flow, and PLY.

OpenCV is not used for PGM, PPM and PFM. It does not return the largest grey value in
the header of a PGM or PPM, which scales the intensities, and it divides the values of a
PFM by the scale in its header.
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
"""White space or a comment in the header of a PGM or PPM."""

_NETPBM_HEADER = re.compile(
    rb"P([2356])" + 2 * (_SPACE + rb"+(\d{1,9})") + _SPACE + rb"+(\d{1,9})\s"
)
"""Header of a PGM or PPM: kind, columns, rows and largest grey value."""

_PLAIN_KINDS = (2, 3)
"""Numbers of the kinds whose samples are decimal numbers and not bytes."""

_COLOUR_KINDS = (3, 6)
"""Numbers of the kinds with colours, which are PPM."""

_MAX_SAMPLE_DIGITS = 9
"""Largest number of digits of a sample in a plain file, so that it fits int64."""


# --- PGM and PPM ----------------------------------------------------------------------


def decode_netpbm(data: bytes, path: PathLike) -> tuple[NDArray[Any], int]:
    """Return the samples and the largest grey value of a PGM or PPM file.

    Parameters
    ----------
    data : bytes
        The whole file. Its header may have comments everywhere.
    path : path-like
        Path of the file, for messages.

    Returns
    -------
    samples : ndarray, uint8 or uint16, (rows, columns) or (rows, columns, 3) RGB
        Samples as stored.
    largest : int
        Largest grey value, 1..65535. Above 255 a sample has two bytes.

    Raises
    ------
    DataError
        The header is not valid, or the file has fewer or larger samples than the header
        states.
    """
    header = _NETPBM_HEADER.match(data)
    if header is None:
        beginning = data[:2].decode("latin-1")
        message = (
            f"{path}: the file starts with {beginning!r} but has no valid header of a PGM or PPM"
        )
        raise DataError(message)
    kind, columns, rows, largest = map(int, header.groups())
    if rows == 0 or columns == 0 or not 0 < largest < 65536:
        message = (
            f"{path}: the header states {columns}x{rows}, largest grey {largest}; allowed: sizes "
            "from 1, grey 1..65535"
        )
        raise DataError(message)
    shape = (rows, columns, 3) if kind in _COLOUR_KINDS else (rows, columns)
    if kind in _PLAIN_KINDS:
        samples = _plain_samples(data[header.end() :], shape, largest, path)
    else:
        samples = _binary_samples(data, header.end(), shape, largest, path)
    if samples.max() > largest:
        message = (
            f"{path}: the file has grey {samples.max()}, which is above the {largest} of its header"
        )
        raise DataError(message)
    dtype = np.uint8 if largest < 256 else np.uint16
    return samples.astype(dtype), largest


def _binary_samples(
    data: bytes, start: int, shape: tuple[int, ...], largest: int, path: PathLike
) -> NDArray[Any]:
    """Return the samples of a PGM or PPM file that are bytes or pairs of bytes."""
    # A sample of two bytes has the higher byte first.
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
    """Return the samples of a PGM or PPM file that are decimal numbers."""
    limits.check_pixels(shape[1], shape[0], path)
    words = re.sub(rb"#[^\n\r]*", b"", text).split()
    count = math.prod(shape)
    if len(words) < count:
        raise _truncated(path, shape, count, len(words))
    # Further lines after the samples are ignored, as in a file of bytes.
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
        f"{path}: the file is truncated: {shape[1]}x{shape[0]} needs {count} samples after the "
        f"header, the file has {present_count}"
    )


# --- optical flow ---------------------------------------------------------------------

_FLOW_BEGINNING = b"PIEH"
_FLOW_HEADER_BYTES = 12
_BYTES_PER_FLOW = 8
_UNKNOWN_FLOW = 1e9
"""Components of an optical flow beyond this number are unknown (Baker et al. 2011)."""


def read_flow(path: PathLike) -> NDArray[np.float32]:
    """Read the disparities of an optical flow in a ``.flo`` file of Middlebury.

    Parameters
    ----------
    path : path-like
        File with the flow from the left to the right image of a rectified pair.

    Returns
    -------
    ndarray, float32, (rows, columns)
        The negated horizontal components; NaN where the flow is unknown.

    Raises
    ------
    DataError
        The file is missing, is not a ``.flo`` file, or has more or fewer bytes than its
        header states.
    """
    data = read_bytes(path)
    if not data.startswith(_FLOW_BEGINNING) or len(data) < _FLOW_HEADER_BYTES:
        event = known_kind(data)
        if event is None:
            event = (
                "the file does not begin with 'PIEH' like an optical flow; replace the file, or "
                "give it its correct ending"
            )
        message = f"{path}: {event}"
        raise DataError(message)
    columns = int.from_bytes(data[4:8], "little")
    rows = int.from_bytes(data[8:12], "little")
    needed_bytes = _BYTES_PER_FLOW * rows * columns
    present_bytes = len(data) - _FLOW_HEADER_BYTES
    if needed_bytes == 0 or present_bytes != needed_bytes:
        message = (
            f"{path}: the header states {columns}x{rows}, which needs {needed_bytes} bytes after "
            f"the header; the file has {present_bytes}"
        )
        raise DataError(message)

    flow = np.frombuffer(data, "<f4", offset=_FLOW_HEADER_BYTES).reshape(rows, columns, 2)
    horizontal = flow[..., 0].astype(np.float32)
    # A comparison with NaN is False, so that NaN is unknown.
    with np.errstate(invalid="ignore"):
        is_unknown = ~(np.abs(flow) < _UNKNOWN_FLOW).all(axis=2)
    # 0 - 0 is 0, whereas the negated 0 would be -0.
    return np.where(is_unknown, np.float32(np.nan), np.float32(0) - horizontal)


# --- PFM ------------------------------------------------------------------------------

_PFM_HEADER = re.compile(
    rb"P([fF])\s+(\d{1,9})\s+(\d{1,9})\s+([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?=\s)"
)
"""Header of a PFM file: kind, columns, rows and scale."""

_MAX_PFM_HEADER_BYTES = 100


@checked()
def read_pfm(path: PathLike) -> NDArray[np.float32]:
    """Read a PFM file.

    Parameters
    ----------
    path : path-like
        A file in grey (``Pf``) or colour (``PF``). If its scale is negative, its bytes
        are in little-endian order. The size of the scale is ignored.

    Returns
    -------
    ndarray, float32, (rows, columns) or (rows, columns, 3)
        Values as stored, including NaN and infinity, with the top row first.

    Raises
    ------
    DataError
        The file is missing, has no valid header, or has more or fewer bytes than the
        header states.

    Notes
    -----
    One white-space character (or CR LF) ends the header. Further white space belongs to
    the header only if the number of bytes in the file requires it.
    """
    data = read_bytes(path)
    header = _PFM_HEADER.match(data)
    if header is None:
        raise DataError(f"{path}: {_message_without_pfm_header(data)}")
    columns = int(header[2])
    rows = int(header[3])
    scale = float(header[4])
    if rows == 0 or columns == 0 or scale == 0 or not math.isfinite(scale):
        message = (
            f"{path}: the PFM header states {columns}x{rows}, scale {header[4].decode()}; "
            "allowed: sizes from 1, a scale other than 0"
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
            f"{path}: {event}: {columns}x{rows} needs {needed_bytes} bytes after the header, the "
            f"file has {present_bytes}"
        )
        raise DataError(message)
    stored_type = "<f4" if scale < 0 else ">f4"
    values = np.frombuffer(data, stored_type, offset=start).astype(np.float32)
    shape = (rows, columns, 3) if channels == 3 else (rows, columns)
    # The file has the bottom row first.
    return np.ascontiguousarray(values.reshape(shape)[::-1])


def _message_without_pfm_header(data: bytes) -> str:
    """Describe a file without a valid PFM header."""
    # A damaged header may still begin with "Pf", and known_kind would then take the
    # file for a PFM file with a wrong ending.
    event = None if data[:1] == b"P" else known_kind(data)
    if event is not None:
        return event
    beginning = data[:16].decode("latin-1")
    return (
        "the file is not a PFM file: expected 'Pf' or 'PF', width, height and scale, found "
        f"{beginning!r}"
    )


def _start_of_pfm_values(data: bytes, header_end: int, needed_bytes: int) -> int:
    """Return the position of the first value after a PFM header and its white space."""
    has_crlf = data[header_end : header_end + 2] == b"\r\n"
    start = header_end + (2 if has_crlf else 1)
    start_from_end = len(data) - needed_bytes
    if start != start_from_end and not data[header_end:start_from_end].strip():
        start = max(start, start_from_end)
    return start


def _pfm_channels(header: re.Match[bytes]) -> int:
    """Return the number of channels that a PFM header states."""
    return 3 if header[1] == b"F" else 1


def is_whole(path: PathLike) -> bool:
    """Return whether a file from `write_pfm` is complete, from its header and size."""
    if not os.path.isfile(path):
        # Opening a pipe would wait without end for a program that writes to it.
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
    """Write a PFM file, little-endian with scale -1.

    Parameters
    ----------
    path : path-like
        The file.
    array : ndarray of floats, (rows, columns) or (rows, columns, 3)
        Values, including NaN and infinity. They are stored as float32.

    Raises
    ------
    DataError
        The array has another shape, or the file cannot be written.
    """
    array = np.asarray(array)
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,)) or array.size == 0:
        message = (
            f"{path}: an array of shape {array.shape} does not fit a PFM file; expected "
            "(rows, columns[, 3])"
        )
        raise DataError(message)
    kind = "PF" if array.ndim == 3 else "Pf"
    header = f"{kind}\n{array.shape[1]} {array.shape[0]}\n-1.0\n".encode()
    write_bytes(path, header + array[::-1].astype("<f4").tobytes())


# --- point clouds ---------------------------------------------------------------------


@checked()
def write_points(path: PathLike, points: NDArray[np.float32], colours: NDArray[np.uint8]) -> None:
    """Write coloured points as a little-endian binary PLY file.

    Parameters
    ----------
    path : path-like
        A ``.ply`` file.
    points : ndarray, float32, (n, 3)
        Coordinates in any unit: x to the right, y down, z away from the camera.
    colours : ndarray, uint8, (n, 3)
        Red, green and blue.

    Raises
    ------
    DataError
        The arrays do not fit together, or the file cannot be written.
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
