"""Limits of what is read. No honest input comes near them; a bad one cannot take the memory or the time of the machine."""

from __future__ import annotations

import os

from stereo_framework.core.errors import DataError, ParameterError

VARIABLE = "STEREO_MAX_PIXELS"
"""Environment variable that replaces the number of pixels below."""

RAISED = f"--max-pixels N, or {VARIABLE}=N in the environment, raises that"
"""What can be done about the limit of pixels."""

_PIXELS = 100_000_000
"""Pixels of an image, map or mask: some four times those of the largest cameras."""

_BYTES_PER_PIXEL = 24
"""Of the largest files: three channels of float64."""

TEXT = 2**20
"""Bytes of a script, a ``scene.yaml`` or a calibration, and of what comes out of a pipe."""

WRITTEN = 2**24
"""Bytes of a resolved script, which lists all values of its axes."""

STORED = 2**26
"""Bytes of one value in a results store, such as a result's statistics as JSON."""

TABLE = 2**28
"""Bytes of a file with scores."""

NODES = 20_000
"""Values of a YAML text once its aliases are followed, if there are fewer without them."""

NESTING = 100
"""Levels of a YAML text."""

INCLUDES = 500
"""Script files that one script includes, each counted once."""

INCLUDE_DEPTH = 50
"""Script files, each of which includes the next."""

FAULTS = 200
"""Faults that are told of a script."""

SETTINGS = 200_000
"""Values of all axes of a script, and its runs; more are a slip of the pen."""

WINDOW = 65_536
"""Pixels of a window, or of a distance in whole pixels: more than images are wide."""

UNPACKED = 100 * 2**30
"""Bytes that the content of an archive may have; the largest public set has a tenth."""

RATIO = 200
"""How many times as large as an archive its content may be; images are compressed much less."""

MEMBERS = 1_000_000
"""Files and folders in an archive; empty files take no bytes, but they fill a disk as well."""

TRACE = 10_000
"""Points of an optimizer's trace that are kept; evenly spaced points of a longer one remain."""

TRACE_TEXT = 2**24
"""Characters of a stored trace."""

ENTRIES = 10_000
"""Statistics, axes, stages with seconds, or other entries of one kind in a stored result."""

METRICS = 1000
"""Metrics of plug-ins that a results folder describes."""

LINES = 20
"""Warnings, or errors of single runs, that a command prints; it counts the others."""


def most_pixels() -> int:
    """Pixels that an image may have.

    Raises
    ------
    ParameterError
        The environment variable is no number above 0.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return _PIXELS
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text) > 0):
        raise ParameterError(
            f"the environment variable {VARIABLE}: {text!r} is not a whole number above 0"
        )
    return int(text)


def most_bytes() -> int:
    """Bytes that the file of an image or map may have."""
    return _BYTES_PER_PIXEL * most_pixels() + 2**20


def check_pixels(columns: int, rows: int, path: str | os.PathLike[str] = "") -> None:
    """Refuse a size before memory is taken for it.

    Raises
    ------
    DataError
        It has more pixels than are read.
    """
    if columns * rows > most_pixels():
        raise DataError(
            f"{path}{': ' * bool(str(path))}says {columns}x{rows} pixels; at most {most_pixels()} are read ({RAISED})"
        )
