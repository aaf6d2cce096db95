"""Maximum sizes of the files and texts that this package reads.

Correct files are much smaller than these limits. The limits protect the computer from
damaged or malicious files, which could otherwise fill its memory or run for hours.
"""

from __future__ import annotations

import os

from stereo_framework.core.errors import DataError, ParameterError

VARIABLE = "STEREO_MAX_PIXELS"
"""Environment variable that sets the maximum number of pixels of an image."""

PIXEL_LIMIT_REMEDY = f"--max-pixels N, or {VARIABLE}=N in the environment, raises the limit"
"""Part of error messages that explains how to read images with more pixels."""

_PIXELS = 100_000_000
"""Default maximum number of pixels of an image, a disparity map or a mask.

Large cameras have about 25 million pixels, a quarter of this limit.
"""

_BYTES_PER_PIXEL = 24
"""Maximum number of bytes per pixel in a file: three channels of float64."""

TEXT = 2**20
"""Maximum size of a script, ``scene.yaml``, calibration file or pipe, in bytes."""

RESOLVED_SCRIPT = 2**24
"""Maximum size of a resolved script, in bytes.

A resolved script is longer than the user's script, because it lists all values of the
parameters that a sweep varies.
"""

STORED_VALUE = 2**26
"""Maximum size of one value in a results file, in bytes.

An example of a value is the JSON text with the statistics of a disparity map.
"""

TABLE = 2**28
"""Maximum size of a file with the evaluation scores of methods, in bytes."""

NODES = 20_000
"""Maximum number of values in a YAML text that contains aliases.

An alias (``*name``) repeats another part of the text. The values of that part are
counted again for each alias.
"""

NESTING = 100
"""Maximum number of YAML lists and mappings that contain one another."""

INCLUDES = 500
"""Maximum number of different files that a script and its included files include."""

INCLUDE_DEPTH = 50
"""Maximum length of a chain of scripts in which each script includes the next one."""

FAULTS = 200
"""Maximum number of faults that the error message about a script lists."""

SETTINGS = 200_000
"""Maximum number of runs of a script, and of the parameter values that it varies.

A script with more runs most likely contains a typing error.
"""

WINDOW = 65_536
"""Maximum width of a window and maximum distance between pixels, in pixels.

No real image is wider than this limit.
"""

ARCHIVE_CONTENT = 100 * 2**30
"""Maximum total size of the unpacked files of an archive, in bytes.

The largest public data set has about 10 GiB, a tenth of this limit.
"""

ARCHIVE_RATIO = 200
"""Maximum size of the unpacked files of an archive, divided by the archive's size.

The ratio of archives with images is much smaller.
"""

ARCHIVE_MEMBERS = 1_000_000
"""Maximum number of files and folders in an archive.

Even empty files occupy space on a disk.
"""

TRACE = 10_000
"""Maximum number of iterations whose energy is stored for an optimizer.

If an optimizer runs for more iterations, only some of them are stored.
"""

TRACE_TEXT = 2**24
"""Maximum length of the stored text that lists the energies of an optimizer.

The unit is characters.
"""

ENTRIES = 10_000
"""Maximum number of entries in one mapping of a result, such as its statistics."""

METRICS = 1000
"""Maximum number of plug-in metrics that a results folder may describe."""

PRINTED_LINES = 20
"""Maximum number of warnings, or of failed runs, that a command prints in full.

For the remaining warnings or runs, the command prints only their number.
"""


def max_pixels() -> int:
    """Return the maximum number of pixels of an image that this package reads.

    The environment variable `VARIABLE` sets the number. Without the variable, it is
    100 million.

    Raises
    ------
    ParameterError
        The environment variable is not a whole number above 0.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return _PIXELS
    is_number = text.isascii() and text.isdecimal() and len(text) < 19
    if not is_number or int(text) == 0:
        message = f"the environment variable {VARIABLE}: {text!r} is not a whole number above 0"
        raise ParameterError(message)
    return int(text)


def max_image_bytes() -> int:
    """Return the maximum size of an image file or a disparity file, in bytes.

    The size follows from the maximum number of pixels, with 1 MiB for the file header.
    """
    return _BYTES_PER_PIXEL * max_pixels() + 2**20


def check_pixels(columns: int, rows: int, path: str | os.PathLike[str]) -> None:
    """Refuse an image file with too many pixels before its pixels are read into memory.

    Parameters
    ----------
    columns, rows : int
        Size of the image, as given in the header of the file.
    path : str or path
        Path of the file, for the error message.

    Raises
    ------
    DataError
        The image has more pixels than `max_pixels` returns.
    """
    allowed_pixels = max_pixels()
    if columns * rows > allowed_pixels:
        message = (
            f"{path}: the file has {columns}x{rows} pixels; "
            f"at most {allowed_pixels} are read ({PIXEL_LIMIT_REMEDY})"
        )
        raise DataError(message)
