"""Read disparity maps, images and matrices from ``.npy`` and ``.npz`` files."""

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
"""Expected content of a file: a disparity map, an image or a matrix."""

_SHAPES: Mapping[Content, str] = {
    "disparity": "(rows, columns)",
    "image": "(rows, columns[, 3])",
    "matrix": "(rows, columns)",
}
"""Expected array shapes, for error messages."""

_NPY_BEGINNING = b"\x93NUMPY"
_ARCHIVE_BEGINNING = b"PK"
_REMEDIES = "replace it by an undamaged copy, or write the array again with numpy.save"
_NO_ARRAY = (
    "the file is an archive without an array of NumPy; write the array with numpy.savez, or name "
    "another file"
)

_SHOWN_ARRAYS = 6
"""Maximum number of arrays of an archive that an error message lists."""


def read_numpy(path: PathLike, content: Content) -> NDArray[np.float32]:
    """Read the array of a ``.npy`` or ``.npz`` file, and convert it to float32.

    Numbers that are too large for float32 become infinity.
    """
    with np.errstate(over="ignore"):
        return numpy_array(path, content).astype(np.float32)


def numpy_array(path: PathLike, content: Content) -> NDArray[Any]:
    """Read the array of a ``.npy`` or ``.npz`` file in its stored data type.

    Parameters
    ----------
    path : path-like
        Path of the file. In a ``.npz`` archive, an array with the name `content` is
        read, such as ``disparity``. Without this name, the archive must contain exactly
        one suitable array.
    content : {"disparity", "image", "matrix"}
        Expected content of the file.

    Raises
    ------
    DataError
        The file is missing or damaged. The array does not contain real numbers. The
        archive contains no suitable array or several suitable arrays.
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
        # NumPy and zipfile may raise any exception if the file is damaged.
        message = (
            f"{path}: the file may be damaged or not a numpy file: {_numpy_reason(error)}; "
            f"{_REMEDIES}"
        )
        raise DataError(message) from None
    if array.dtype.kind not in "fiu" or array.size == 0:
        message = (
            f"{path}: the array has type {array.dtype} and shape {array.shape}; expected at least "
            "one integer or float"
        )
        raise DataError(message)
    return array


def _numpy_reason(error: Exception) -> str:
    """Return the text of NumPy's error message without the advice to allow pickles.

    NumPy recommends ``allow_pickle=True``, but a pickle can execute code.
    """
    reason = " ".join(str(error).split())
    if "allow_pickle" in reason or "unsafely" in reason:
        return "its header is too long, or its array contains Python objects"
    return reason[:200] or type(error).__name__


def _check_array_of_numbers(data: bytes, path: PathLike) -> None:
    """Raise an error if a file contains pickled Python objects or no NumPy array.

    Pickled objects are refused, because reading a pickle can execute code.
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
    """Decompress one array of a ``.npz`` archive and return it as a ``.npy`` file."""
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
    """Select the array to read from a ``.npz`` archive with several arrays.

    A suitable array contains real numbers and has a shape that fits `content`. An array
    with the name `content` has priority.

    Raises
    ------
    DataError
        The archive has no suitable array. No array has the name `content`, and several
        arrays are suitable.
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
        f"{path}: the file is an archive, and {candidates} may be the {content}, an array of "
        f"numbers with shape {_SHAPES[content]}; the archive contains "
        f"{few(descriptions, _SHOWN_ARRAYS)}; give the correct array the name {content!r}, or "
        "save it in a separate file"
    )
    raise DataError(message)


def _fits(shape: tuple[int, ...], content: Content) -> bool:
    """Return whether a shape fits the content of a file, such as ``(480, 640)``.

    An image can also have three channels. An empty array never fits.
    """
    is_colour = content == "image" and len(shape) == 3 and shape[2] == 3
    return 0 not in shape and (len(shape) == 2 or is_colour)


def _array_header(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Read the shape and the data type of an array in a ``.npz`` archive.

    The result is None if the member of the archive is not a NumPy array.
    """
    with archive.open(member) as stream:
        return _npy_header(stream)


def _npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Read the shape and the data type of an array from a ``.npy`` header.

    The result is None if the file has no valid header.
    """
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        version = np.lib.format.read_magic(stream)
        shape, _, dtype = readers[version](stream)
    except (ValueError, KeyError):
        # The header may also have version 3.0. NumPy uses this version only for records
        # with unusual field names.
        return None
    return shape, dtype
