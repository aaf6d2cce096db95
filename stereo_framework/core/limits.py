"""Limits on the size of the files and texts that are read.

No correct input comes near a limit. Without the limits, a damaged or malicious input
could use up the memory or the time of the machine.
"""

from __future__ import annotations

import os

from stereo_framework.core.errors import DataError, ParameterError

VARIABLE = "STEREO_MAX_PIXELS"
"""Environment variable that sets the maximum number of pixels of an image."""

PIXEL_LIMIT_REMEDY = f"--max-pixels N, or {VARIABLE}=N in the environment, raises the limit"
"""Clause for messages that explains how to raise the maximum number of pixels."""

_PIXELS = 100_000_000
"""Default maximum number of pixels of an image, a disparity map or a mask.

The largest cameras have about a fourth of it.
"""

_BYTES_PER_PIXEL = 24
"""Bytes per pixel of the largest files, which have three channels of float64."""

TEXT = 2**20
"""Maximum size of a script, a ``scene.yaml``, a calibration or a pipe, in bytes."""

RESOLVED_SCRIPT = 2**24
"""Maximum size of a resolved script, which lists all values of its axes, in bytes."""

STORED_VALUE = 2**26
"""Maximum size of a value in a results store, in bytes.

The statistics of a result, as JSON, are an example of such a value.
"""

TABLE = 2**28
"""Maximum size of a file with scores, in bytes."""

NODES = 20_000
"""Maximum number of values of a YAML text with aliases, after these are resolved."""

NESTING = 100
"""Maximum nesting depth of a YAML text."""

INCLUDES = 500
"""Maximum number of different files that a script includes, directly or indirectly."""

INCLUDE_DEPTH = 50
"""Maximum number of script files of which each includes the next."""

FAULTS = 200
"""Maximum number of faults that are reported for a script."""

SETTINGS = 200_000
"""Maximum number of runs of a script, and of the values of all its axes.

A larger number is most likely a typing error.
"""

WINDOW = 65_536
"""Maximum size of a window or a distance in pixels; images are narrower than this."""

ARCHIVE_CONTENT = 100 * 2**30
"""Maximum size of the content of an archive, in bytes.

The largest public data set has a tenth of it.
"""

ARCHIVE_RATIO = 200
"""Maximum ratio of the size of an archive's content to the size of the archive.

Images are compressed by much smaller ratios.
"""

ARCHIVE_MEMBERS = 1_000_000
"""Maximum number of files and folders in an archive; even empty files fill a disk."""

TRACE = 10_000
"""Maximum number of points of an optimizer's trace. Longer traces are thinned."""

TRACE_TEXT = 2**24
"""Maximum length of a stored trace, in characters."""

ENTRIES = 10_000
"""Maximum number of entries of one kind in a stored result, such as its statistics."""

METRICS = 1000
"""Maximum number of metrics of plug-ins that a results folder describes."""

PRINTED_LINES = 20
"""Maximum number of warnings or of failed runs that a command prints one by one.

The command prints only the number of the remaining ones.
"""


def max_pixels() -> int:
    """Return the maximum number of pixels of an image.

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
    """Return the maximum size of the file of an image or a disparity map, in bytes."""
    return _BYTES_PER_PIXEL * max_pixels() + 2**20


def check_pixels(columns: int, rows: int, path: str | os.PathLike[str]) -> None:
    """Refuse an image that is too large, before memory is allocated for it.

    Raises
    ------
    DataError
        The image has more than `max_pixels` pixels.
    """
    allowed_pixels = max_pixels()
    if columns * rows > allowed_pixels:
        message = (
            f"{path}: the file has {columns}x{rows} pixels; "
            f"at most {allowed_pixels} are read ({PIXEL_LIMIT_REMEDY})"
        )
        raise DataError(message)
