"""Files of a header and numbers: PGM and PPM, PFM, numpy's, optical flow, and point clouds as PLY.

Netpbm's are read by code of our own: OpenCV does not return the largest grey value in the header of a PGM or PPM, by which intensities are scaled, and it
divides the values of a PFM by the scale in its header.
"""

import io
import math
import os
import re
import zipfile
from collections.abc import Mapping
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError, few
from stereo_framework.io._files import PathLike, read_bytes, write_bytes
from stereo_framework.io.file_kinds import known_kind

_SPACE = rb"(?:\s|#[^\n\r]*[\n\r])"
_PNM_HEADER = re.compile(rb"P([2356])" + 2 * (_SPACE + rb"+(\d{1,9})") + _SPACE + rb"+(\d{1,9})\s")


def decode_netpbm(data: bytes, path: PathLike) -> tuple[NDArray[Any], int]:
    """The samples as stored, and the largest grey value in the header.

    Parameters
    ----------
    data : bytes
        The whole file; comments in the header may stand anywhere.
    path : path-like
        For messages.

    Returns
    -------
    samples : ndarray, uint8 or uint16, (rows, columns) or (rows, columns, 3) RGB
    largest : int
        1..65535; files above 255 have two bytes a sample.

    Raises
    ------
    DataError
        There is no header, the size is 0, or there are fewer or larger samples than the header says.
    """
    header = _PNM_HEADER.match(data)
    if header is None:
        raise DataError(
            f"{path}: starts with {data[:2].decode('latin-1')!r} but has no valid header of a PGM or PPM"
        )
    kind, columns, rows, largest = map(int, header.groups())
    if rows == 0 or columns == 0 or not 0 < largest < 65536:
        raise DataError(
            f"{path}: the header says {columns}x{rows}, largest grey {largest}; allowed: sizes from 1, grey 1..65535"
        )
    shape = (rows, columns, 3) if kind in (3, 6) else (rows, columns)
    if kind in (2, 3):
        return _plain_samples(data[header.end() :], shape, largest, path), largest
    dtype, needed = np.dtype(np.uint8 if largest < 256 else ">u2"), math.prod(shape)
    there = (len(data) - header.end()) // dtype.itemsize
    if there < needed:
        raise DataError(
            f"{path}: is truncated: {columns}x{rows} needs {needed} samples after the header, the file has {there}"
        )
    samples = np.frombuffer(data, dtype, needed, header.end()).reshape(shape)
    if samples.max() > largest:
        raise DataError(f"{path}: holds grey {samples.max()} above the {largest} of its header")
    return samples.astype(np.uint8 if largest < 256 else np.uint16), largest


def _plain_samples(
    text: bytes, shape: tuple[int, ...], largest: int, path: PathLike
) -> NDArray[Any]:
    """Return the samples of a plain PGM or PPM file, which are decimal numbers."""
    limits.check_pixels(shape[1], shape[0], path)
    words = re.sub(rb"#[^\n\r]*", b"", text).split()
    needed = math.prod(shape)
    if len(words) < needed:
        size = f"{shape[1]}x{shape[0]}"
        raise DataError(
            f"{path}: is truncated: {size} needs {needed} samples after the header, the file has {len(words)}"
        )
    # The end of the file may hold further lines, as that of a raw PGM may.
    odd_word = next((word for word in words[:needed] if len(word) > 9 or not word.isdigit()), None)
    if odd_word is not None:
        raise DataError(
            f"{path}: holds {odd_word[:20]!r} among its samples; expected whole numbers from 0 to {largest}"
        )
    samples = np.array(words[:needed]).astype(np.int64)
    if samples.max() > largest:
        raise DataError(f"{path}: holds grey {samples.max()} above the {largest} of its header")
    return samples.astype(np.uint8 if largest < 256 else np.uint16).reshape(shape)


_FLOW_HEADER = b"PIEH"
_UNKNOWN_FLOW = 1e9
"""Components of an optical flow beyond this number are unknown (Baker et al. 2011)."""


def read_flow(path: PathLike) -> NDArray[np.float32]:
    """Read the disparities of an optical flow in a ``.flo`` file of Middlebury.

    Parameters
    ----------
    path : path-like
        The flow from the left to the right image of a rectified pair.

    Returns
    -------
    ndarray, float32, (rows, columns)
        The negated horizontal components; NaN where the flow is unknown.

    Raises
    ------
    DataError
        The file is missing, is no ``.flo`` file, or has more or less data than its header
        states.
    """
    data = read_bytes(path)
    if not data.startswith(_FLOW_HEADER) or len(data) < 12:
        kind = (
            known_kind(data)
            or "does not begin with 'PIEH' as an optical flow does; replace the file, or give it its right ending"
        )
        raise DataError(f"{path}: {kind}")
    columns = int.from_bytes(data[4:8], "little")
    rows = int.from_bytes(data[8:12], "little")
    needed = 8 * rows * columns
    if needed == 0 or len(data) - 12 != needed:
        message = f"{path}: the header says {columns}x{rows}, which needs {needed} bytes after the header; the file has {len(data) - 12}"
        raise DataError(message)

    flow = np.frombuffer(data, "<f4", offset=12).reshape(rows, columns, 2)
    horizontal = flow[..., 0].astype(np.float32)
    with np.errstate(invalid="ignore"):
        is_unknown = ~(np.abs(flow) < _UNKNOWN_FLOW).all(axis=2)
    # 0 - 0 is 0, whereas the negated 0 would be -0.
    return np.where(is_unknown, np.float32(np.nan), np.float32(0) - horizontal)


_PFM_HEADER = re.compile(
    rb"P([fF])\s+(\d{1,9})\s+(\d{1,9})\s+([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?=\s)"
)


@checked()
def read_pfm(path: PathLike) -> NDArray[np.float32]:
    """Read a PFM file.

    Parameters
    ----------
    path : path-like
        Grey (``Pf``) or colour (``PF``). A negative scale means little-endian; the size of the scale is ignored.

    Returns
    -------
    ndarray, float32, (rows, columns) or (rows, columns, 3)
        Values as stored, NaN and infinities included, top row first.

    Raises
    ------
    DataError
        The file is missing, has no valid header, or has more or less data than the header says.

    Notes
    -----
    One white-space character (or CR LF) ends the header. Further ones count as part of it only if the length of the data shows that they do.
    """
    data = read_bytes(path)

    def wrong(said: str) -> DataError:
        return DataError(f"{path}: {said}")

    header = _PFM_HEADER.match(data)
    if header is None:
        kind = None if data[:1] == b"P" else known_kind(data)
        raise wrong(
            kind
            or f"is not a PFM file: expected 'Pf' or 'PF', width, height and scale, found {data[:16].decode('latin-1')!r}"
        )
    columns, rows, scale, channels = (
        int(header[2]),
        int(header[3]),
        float(header[4]),
        3 if header[1] == b"F" else 1,
    )
    if rows == 0 or columns == 0 or scale == 0 or not math.isfinite(scale):
        raise wrong(
            f"the PFM header says {columns}x{rows}, scale {header[4].decode()}; allowed: sizes from 1, a scale other than 0"
        )
    needed = 4 * rows * columns * channels
    start = header.end() + (2 if data[header.end() : header.end() + 2] == b"\r\n" else 1)
    if len(data) - start != needed and not data[header.end() : len(data) - needed].strip():
        start = max(start, len(data) - needed)
    if len(data) - start != needed:
        what = "is truncated" if len(data) - start < needed else "has data after its end"
        raise wrong(
            f"{what}: {columns}x{rows} needs {needed} bytes after the header, the file has {len(data) - start}"
        )
    values = np.frombuffer(data, "<f4" if scale < 0 else ">f4", offset=start).astype(np.float32)
    return np.ascontiguousarray(values.reshape(rows, columns, *(3,) * (channels == 3))[::-1])


def is_whole(path: PathLike) -> bool:
    """Return whether a file that `write_pfm` wrote has all of its bytes; read only its header."""
    if not os.path.isfile(path):
        # Opening a pipe would wait without end for a program that writes to it.
        return False
    with open(path, "rb") as file:
        header = _PFM_HEADER.match(file.read(100))
        size = file.seek(0, os.SEEK_END)
    return header is not None and size == header.end() + 1 + 4 * int(header[2]) * int(header[3]) * (
        3 if header[1] == b"F" else 1
    )


@checked()
def write_pfm(path: PathLike, array: NDArray) -> None:
    """Write a PFM file, little-endian with scale -1.

    Parameters
    ----------
    path : path-like
    array : ndarray of floats, (rows, columns) or (rows, columns, 3)
        Stored as float32, NaN and infinities included.

    Raises
    ------
    DataError
        The array has another shape, or the file cannot be written.
    """
    array = np.asarray(array)
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,)) or array.size == 0:
        raise DataError(
            f"{path}: an array of shape {array.shape} does not fit a PFM file; expected (rows, columns[, 3])"
        )
    header = (
        f"{'PF' if array.ndim == 3 else 'Pf'}\n{array.shape[1]} {array.shape[0]}\n-1.0\n".encode()
    )
    write_bytes(path, header + array[::-1].astype("<f4").tobytes())


Content = Literal["disparity", "image", "matrix"]
"""Content of a file of numbers, and the name of its array in an archive of several."""

_SHAPES: Mapping[str, str] = {
    "disparity": "(rows, columns)",
    "image": "(rows, columns[, 3])",
    "matrix": "(rows, columns)",
}
"""Shape of an array, by its content."""


def read_numpy(path: PathLike, content: Content) -> NDArray[np.float32]:
    """Read the array of a ``.npy`` or ``.npz`` file as float32; overflow gives infinity."""
    with np.errstate(over="ignore"):
        return numpy_array(path, content).astype(np.float32)


def numpy_array(path: PathLike, content: Content) -> NDArray[Any]:
    """Read the array of a ``.npy`` file or ``.npz`` archive as it is stored.

    Parameters
    ----------
    path : path-like
        If an archive holds several arrays, the array that is named like the content is
        read, or the only one whose shape and type fit.
    content : {"disparity", "image", "matrix"}

    Raises
    ------
    DataError
        The file is missing or damaged, holds no array or something other than real
        numbers, or it is an archive in which several arrays fit.
    """
    data = read_bytes(path)
    if not data.startswith((b"PK", *_NUMPY_MAGIC)):
        kind = (
            known_kind(data)
            or f"is not a numpy file: it begins with {data[:8]!r}; {_NUMPY_REMEDIES}"
        )
        raise DataError(f"{path}: {kind}")
    try:
        if data.startswith(b"PK"):
            data = _array_of_archive(data, path, content)
        _check_array_of_numbers(data, path)
        array: NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
    except DataError:
        raise
    except (
        Exception
    ) as error:  # whatever the parsers of headers and archives raise on bytes that are neither
        raise DataError(
            f"{path}: may be damaged or not a numpy file: {_numpy_reason(error)}; {_NUMPY_REMEDIES}"
        ) from None
    if array.dtype.kind not in "fiu" or array.size == 0:
        raise DataError(f"{path}: holds {array.dtype} of shape {array.shape}; expected numbers")
    return array


_NUMPY_MAGIC = (b"\x93NUMPY",)
_NUMPY_REMEDIES = "replace it by an undamaged copy, or write the array again with numpy.save"


def _numpy_reason(error: Exception) -> str:
    """Return NumPy's description of an error, without its advice to load files unsafely."""
    reason = " ".join(str(error).split())
    if "allow_pickle" in reason or "unsafely" in reason:
        return "its header is too long, or it holds more than numbers"
    return reason[:200] or type(error).__name__


def _check_array_of_numbers(data: bytes, path: PathLike) -> None:
    """Refuse content that NumPy would only read by executing code.

    NumPy's own messages advise to allow that.
    """
    if not data.startswith(_NUMPY_MAGIC):
        message = f"{path}: is an archive that holds no array of NumPy; write the array with numpy.savez, or name another file"
        raise DataError(message)
    header = _npy_header(io.BytesIO(data))
    if header is not None and header[1].hasobject:
        message = (
            f"{path}: holds Python objects, which are not read, because reading them could execute code; "
            "convert the array to numbers and save it again, as numpy.save(path, array.astype(float)) does"
        )
        raise DataError(message)


def _array_of_archive(data: bytes, path: PathLike, content: Content) -> bytes:
    """Return the bytes of the ``.npy`` file that an archive holds for a content."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if not members:
            message = f"{path}: is an archive that holds no array of NumPy; write the array with numpy.savez, or name another file"
            raise DataError(message)
        member = members[0] if len(members) < 2 else _fitting_member(archive, path, content)
        if member.file_size > limits.max_image_bytes():
            message = f"{path}: unpacks to {member.file_size} bytes; too many are not read ({limits.PIXEL_LIMIT_REMEDY})"
            raise DataError(message)
        return archive.read(member)


def _fitting_member(archive: zipfile.ZipFile, path: PathLike, content: Content) -> zipfile.ZipInfo:
    """Return the member of an archive with a content's name, or the only one that fits.

    Raises
    ------
    DataError
        No member fits, or several do and none has the name.
    """
    descriptions = []
    fitting: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        header = _array_header(archive, member)
        if header is None:
            descriptions.append(f"{name} (no array)")
            continue
        shape, dtype = header
        descriptions.append(f"{name} ({dtype} {shape})")
        if dtype.kind in "fiu" and _fits(shape, content):
            fitting[name] = member

    for name, member in fitting.items():
        if name.lower() == content:
            return member
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    event = f"{len(fitting)} of its arrays" if fitting else "none of its arrays"
    message = (
        f"{path}: is an archive in which {event} may be the {content}, numbers of shape {_SHAPES[content]}: {few(descriptions, 6)}; "
        f"name the right array {content!r}, or write it into a file alone"
    )
    raise DataError(message)


def _fits(shape: tuple[int, ...], content: Content) -> bool:
    """Return whether an array of a shape may be a content."""
    is_colour = content == "image" and len(shape) == 3 and shape[2] == 3
    return 0 not in shape and (len(shape) == 2 or is_colour)


def _array_header(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Return shape and type of an archive's member, or None if it is no array."""
    with archive.open(member) as stream:
        return _npy_header(stream)


def _npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Return shape and type of the array of a ``.npy`` file, or None if it is none."""
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        version = np.lib.format.read_magic(stream)
        shape, _, dtype = readers[version](stream)
    except (ValueError, KeyError):
        # The content is a text, or its header has a version that only records need.
        return None
    return shape, dtype


@checked()
def write_points(path: PathLike, points: NDArray[np.float32], colours: NDArray[np.uint8]) -> None:
    """Write coloured points as a little-endian binary PLY file.

    Parameters
    ----------
    path : path-like
        A ``.ply`` file.
    points : ndarray, float32, (n, 3)
        x to the right, y down, z away from the camera, in any unit.
    colours : ndarray, uint8, (n, 3)
        Red, green and blue.

    Raises
    ------
    DataError
        The arrays do not fit together, or the file cannot be written.
    """
    if points.ndim != 2 or points.shape[1] != 3 or colours.shape != points.shape:
        raise DataError(
            f"{path}: points {points.shape} and colours {colours.shape}; expected (n, 3) of both"
        )
    vertices = np.empty(len(points), [("place", "<f4", 3), ("colour", "u1", 3)])
    vertices["place"], vertices["colour"] = points, colours
    properties = [f"property float {axis}" for axis in "xyz"] + [
        f"property uchar {c}" for c in ("red", "green", "blue")
    ]
    header = [
        "ply",
        "format binary_little_endian 1.0",
        f"element vertex {len(points)}",
        *properties,
        "end_header",
        "",
    ]
    write_bytes(path, "\n".join(header).encode() + vertices.tobytes())
