"""Maximum sizes of files and texts.

The limits protect the computer from damaged or malicious files.
"""

from __future__ import annotations

import os

from stereo_framework.core.errors import DataError, ParameterError

VARIABLE = "STEREO_MAX_PIXELS"
"""Environment variable that sets the maximum number of pixels of an image."""

PIXEL_LIMIT_REMEDY = f"--max-pixels N, or {VARIABLE}=N in the environment, raises the limit"
"""Hint for error messages about images with too many pixels."""

_PIXELS = 100_000_000
"""Default maximum number of pixels of an image.

Large cameras have about 25 million pixels.
"""

_BYTES_PER_PIXEL = 24
"""Maximum number of bytes per pixel in a file: three channels of float64."""

TEXT = 2**20
"""Maximum size of a script, ``scene.yaml``, calibration file or pipe, in bytes."""

RESOLVED_SCRIPT = 2**24
"""Maximum size of a resolved script, in bytes.

A resolved script lists all parameter values of a sweep.
"""

STORED_VALUE = 2**26
"""Maximum size of one value in a results file, in bytes.

An example is a JSON text with the statistics of a disparity map.
"""

TABLE = 2**28
"""Maximum size of a file with evaluation scores, in bytes."""

NODES = 20_000
"""Maximum number of values that the aliases of a YAML text repeat.

An alias (``*name``) repeats another part of the text. Repeated values are counted
again.
"""

NESTING = 100
"""Maximum nesting depth of YAML lists and mappings."""

INCLUDES = 500
"""Maximum number of files that a script includes, directly or indirectly."""

INCLUDE_DEPTH = 50
"""Maximum nesting depth of included scripts."""

FAULTS = 200
"""Maximum number of faults in the error message about a script."""

SETTINGS = 200_000
"""Maximum number of runs and of varied parameter values in a script.

More runs are most likely a typing error.
"""

WINDOW = 65_536
"""Maximum window width and pixel distance, in pixels.

No real image is wider.
"""

ARCHIVE_CONTENT = 100 * 2**30
"""Maximum total size of the unpacked files of an archive, in bytes.

The largest public data set has about 10 GiB.
"""

ARCHIVE_RATIO = 200
"""Maximum ratio of unpacked size to archive size.

Archives of images have a much smaller ratio.
"""

ARCHIVE_MEMBERS = 1_000_000
"""Maximum number of files and folders in an archive.

Even empty files occupy space on a disk.
"""

TRACE = 10_000
"""Maximum number of stored energies of an optimizer.

If there are more iterations, only some energies are stored.
"""

TRACE_TEXT = 2**24
"""Maximum length of the text with an optimizer's energies, in characters."""

ENTRIES = 10_000
"""Maximum number of entries in a mapping, such as the statistics of a result."""

METRICS = 1000
"""Maximum number of plug-in metrics in a results folder."""

PRINTED_LINES = 20
"""Maximum number of warnings or failed runs that a command prints.

Of further warnings and runs, a command prints only the number.
"""


def max_pixels() -> int:
    """Return the maximum number of pixels of an image.

    The environment variable ``STEREO_MAX_PIXELS`` sets the number. The default is 100
    million.

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

    The size includes 1 MiB for the file header.
    """
    return _BYTES_PER_PIXEL * max_pixels() + 2**20


def check_pixels(columns: int, rows: int, path: str | os.PathLike[str]) -> None:
    """Raise an error if an image file has too many pixels.

    Parameters
    ----------
    columns, rows : int
        Image size in the file header.
    path : str or path
        Path of the file, for the error message.

    Raises
    ------
    DataError
        The image has too many pixels.
    """
    allowed_pixels = max_pixels()
    if columns * rows > allowed_pixels:
        message = (
            f"{path}: the file has {columns}x{rows} pixels; "
            f"at most {allowed_pixels} are read ({PIXEL_LIMIT_REMEDY})"
        )
        raise DataError(message)
