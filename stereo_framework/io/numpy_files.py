"""Arrays of numbers in ``.npy`` files and ``.npz`` archives."""

import io
import zipfile
from collections.abc import Mapping
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, few
from stereo_framework.io.file_kinds import known_kind
from stereo_framework.io.files import PathLike, read_bytes

Content = Literal["disparity", "image", "matrix"]
"""Content of an array, and the name of the array in an archive of several arrays."""

_SHAPES: Mapping[Content, str] = {
    "disparity": "(rows, columns)",
    "image": "(rows, columns[, 3])",
    "matrix": "(rows, columns)",
}
"""Shape of an array, by its content."""

_NPY_BEGINNING = b"\x93NUMPY"
_ARCHIVE_BEGINNING = b"PK"
_REMEDIES = "replace it by an undamaged copy, or write the array again with numpy.save"
_NO_ARRAY = (
    "the file is an archive without an array of NumPy; write the array with numpy.savez, or name "
    "another file"
)

_SHOWN_ARRAYS = 6
"""Largest number of arrays of an archive that a message lists."""


def read_numpy(path: PathLike, content: Content) -> NDArray[np.float32]:
    """Read the array of a ``.npy`` or ``.npz`` file as float32.

    Numbers beyond the range of float32 become infinite.
    """
    with np.errstate(over="ignore"):
        return numpy_array(path, content).astype(np.float32)


def numpy_array(path: PathLike, content: Content) -> NDArray[Any]:
    """Read the array of a ``.npy`` file or ``.npz`` archive as it is stored.

    Parameters
    ----------
    path : path-like
        The file. If an archive has several arrays, the array with the name of the
        content is read, or else the only array whose shape and type fit.
    content : {"disparity", "image", "matrix"}
        Content of the array.

    Raises
    ------
    DataError
        The file is missing or damaged, has no array or something other than real
        numbers, or it is an archive in which several arrays fit.
    """
    data = read_bytes(path)
    if not data.startswith((_ARCHIVE_BEGINNING, _NPY_BEGINNING)):
        event = known_kind(data)
        if event is None:
            event = f"the file is not a numpy file: it begins with {data[:8]!r}; {_REMEDIES}"
        message = f"{path}: {event}"
        raise DataError(message)
    try:
        if data.startswith(_ARCHIVE_BEGINNING):
            data = _array_of_archive(data, path, content)
        _check_array_of_numbers(data, path)
        array: NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
    except DataError:
        raise
    except Exception as error:
        # The parsers of headers and archives may raise anything on damaged bytes.
        message = (
            f"{path}: the file may be damaged or not a numpy file: {_numpy_reason(error)}; "
            f"{_REMEDIES}"
        )
        raise DataError(message) from None
    if array.dtype.kind not in "fiu" or array.size == 0:
        message = f"{path}: the file has {array.dtype} of shape {array.shape}; expected numbers"
        raise DataError(message)
    return array


def _numpy_reason(error: Exception) -> str:
    """Return NumPy's description of an error, without advice to load unsafely."""
    reason = " ".join(str(error).split())
    if "allow_pickle" in reason or "unsafely" in reason:
        return "its header is too long, or it has more than numbers"
    return reason[:200] or type(error).__name__


def _check_array_of_numbers(data: bytes, path: PathLike) -> None:
    """Refuse content that NumPy would only read by executing code.

    NumPy's own messages advise users to allow that.
    """
    if not data.startswith(_NPY_BEGINNING):
        message = f"{path}: {_NO_ARRAY}"
        raise DataError(message)
    header = _npy_header(io.BytesIO(data))
    if header is not None and header[1].hasobject:
        message = (
            f"{path}: the file has Python objects, which are not read, because reading them "
            "could execute code; convert the array to numbers and save it again, for example "
            "with numpy.save(path, array.astype(float))"
        )
        raise DataError(message)


def _array_of_archive(data: bytes, path: PathLike, content: Content) -> bytes:
    """Return an array of an archive as the bytes of a ``.npy`` file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if not members:
            message = f"{path}: {_NO_ARRAY}"
            raise DataError(message)
        member = members[0] if len(members) == 1 else _fitting_member(archive, path, content)
        if member.file_size > limits.max_image_bytes():
            message = (
                f"{path}: the array unpacks to {member.file_size} bytes; at most "
                f"{limits.max_image_bytes()} are read ({limits.PIXEL_LIMIT_REMEDY})"
            )
            raise DataError(message)
        return archive.read(member)


def _fitting_member(archive: zipfile.ZipFile, path: PathLike, content: Content) -> zipfile.ZipInfo:
    """Return the member of an archive with a content's name, or the only one that fits.

    Raises
    ------
    DataError
        No member fits, or several members fit and none has the name.
    """
    descriptions = []
    fitting_members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        header = _array_header(archive, member)
        if header is None:
            descriptions.append(f"{name} (no array)")
            continue
        shape, dtype = header
        descriptions.append(f"{name} ({dtype} {shape})")
        if dtype.kind in "fiu" and _fits(shape, content):
            fitting_members[name] = member

    for name, member in fitting_members.items():
        if name.lower() == content:
            return member
    if len(fitting_members) == 1:
        return next(iter(fitting_members.values()))
    candidates = "none of its arrays"
    if fitting_members:
        candidates = f"{len(fitting_members)} of its arrays"
    message = (
        f"{path}: the file is an archive in which {candidates} may be the {content}, numbers of "
        f"shape {_SHAPES[content]}: {few(descriptions, _SHOWN_ARRAYS)}; give the correct array "
        f"the name {content!r}, or write it into a separate file"
    )
    raise DataError(message)


def _fits(shape: tuple[int, ...], content: Content) -> bool:
    """Return whether an array of a shape can be a map, an image or a matrix."""
    is_colour = content == "image" and len(shape) == 3 and shape[2] == 3
    return 0 not in shape and (len(shape) == 2 or is_colour)


def _array_header(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Return shape and type of an archive's member, or None if it is not an array."""
    with archive.open(member) as stream:
        return _npy_header(stream)


def _npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Return shape and type of the array in a ``.npy`` file; None for another file."""
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
