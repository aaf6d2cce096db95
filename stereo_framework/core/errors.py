"""The errors that a user can cause. Each message is one line: what, where, what is allowed, the nearest name."""

from __future__ import annotations

import difflib
import inspect
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

_LINE = 1000
"""Characters of a line that an error prints; what is longer holds an input, not a message."""


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}
# Separators of lines, and characters that turn the direction of the text after them.
_CONTROLS |= {
    code: f"\\u{code:04x}"
    for code in (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
# What Python makes of bytes of a path that are not UTF-8; no file and no drawing can hold it.
_CONTROLS |= {code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)}


def harmless(text: str) -> str:
    r"""A text of somebody else's, such as a path, for a terminal or a file: what would move a cursor or change colours, or is not UTF-8, is spelt out.

    Examples
    --------
    >>> print(harmless("\x1b[31mred"))
    \x1b[31mred
    """
    return text.translate(_CONTROLS)


def short(text: str, most: int = _LINE) -> str:
    """A text for a message, `harmless`; the middle of one that is longer than `most` characters is left out.

    Examples
    --------
    >>> short("x" * 5000, 40)
    'xxxxxxxxxx... (5000 characters) ...xxxxxxxxxx'
    """
    text = harmless(text)
    if len(text) <= most:
        return text
    end = most // 4 if most < _LINE else (most - 40) // 2
    return f"{text[:end]}... ({len(text)} characters) ...{text[-end:]}"


def one_line(text: str, most: int = _LINE) -> str:
    r"""Return a text as one line for a terminal: `short`, with its line ends and tabs spelt out.

    Examples
    --------
    >>> print(one_line("two\nlines"))
    two\nlines
    """
    return short(text, most).replace("\n", "\\n").replace("\t", "\\t")


class StereoFrameworkError(Exception):
    """Root of all errors raised on purpose; the command line prints them without a traceback. No line of them is longer than 1000 characters."""

    def __init__(self, message: object = ""):
        super().__init__("\n".join(map(short, str(message).split("\n"))))


class DataWarning(UserWarning):
    """Something in a file is doubtful, and was read all the same; the command line prints it as one line."""


class ResultWarning(DataWarning):
    """A result is doubtful, or what it was made of: exchanged images, a range that is too small, intensities or disparities in another scale."""


NOTE = "note: "
"""Beginning of a remark on a result that is no warning.

The user has to do nothing. Such remarks are stored together with the warnings of a
result.
"""


def warn(doubts: Iterable[str], category: type[DataWarning] = ResultWarning) -> None:
    """Issue each doubt as a warning at the line that called this package.

    The command line prints warnings as lines, without a place. Remarks that begin with
    `NOTE` are not issued.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(
        "stereo_framework."
    ):
        frame, level = frame.f_back, level + 1
    for doubt in doubts:
        if not doubt.startswith(NOTE):
            warnings.warn(doubt, category, stacklevel=level)


class ParameterError(StereoFrameworkError):
    """A parameter of a stage, a protocol or a search range has a value or a name that is not allowed."""


class ArgumentError(ParameterError):
    """An argument of a public function or class is of a kind that it does not take."""


class DataError(StereoFrameworkError):
    """An image, disparity map, calibration file or scene is missing, unreadable or inconsistent."""


class ScriptError(StereoFrameworkError):
    """A parameter script has faults; ``faults`` holds one line for each."""

    def __init__(self, faults: Iterable[str]):
        self.faults = tuple(map(short, faults))
        super().__init__("\n".join(self.faults))


class MissingExtraError(StereoFrameworkError):
    """A feature needs an optional dependency that is not installed."""


def describe_exception(
    error: BaseException, function: Callable[..., Any] | None = None, what: str = ""
) -> str:
    """What somebody's code raised, in one line.

    Parameters
    ----------
    error : exception
    function : callable, optional
        Whose code it is: the line begins with the last place of its file that the exception passed through.
    what : str
        What the function is, ``refinement stage mine``.
    """
    text = next(iter(str(error).splitlines()), "")
    line = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return line if function is None else f"{source_location(function, error)}: {what}: {line}"


def source_location(function: Callable[..., Any], error: BaseException | None = None) -> str:
    """File and line of a function, or of the last of the lines of its file that an exception passed through, as one would type it here."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return str(function.__module__)
    frames = traceback.walk_tb(error.__traceback__ if error else None)
    lines = [number for frame, number in frames if frame.f_code.co_filename == code.co_filename]
    path = Path(code.co_filename)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else code.co_filename
    return f"{shown}:{(lines or [code.co_firstlineno])[-1]}"


def brings(extra: str) -> str:
    """The command that installs what an extra needs, for messages."""
    return f"pip install '.[{extra}]' in the folder of this project's source"


def nearest(name: str, names: Iterable[str], *, kind: str = "") -> str:
    """The end of an error line that lists the allowed names and, where one is close, asks for it.

    Parameters
    ----------
    name : str
        What the user wrote.
    names : iterable of str
        The allowed names.
    kind : str
        Plural noun for the allowed names ("stages"); without it the list reads "allowed: a, b".

    Returns
    -------
    str
        For example ``"allowed: box, min_filter; did you mean 'box'?"``.
    """
    names = sorted(map(str, names))
    allowed = f"allowed{' ' + kind if kind else ''}: {one_line(', '.join(names), _LINE) or 'none'}"
    close = close_names(name, names)
    return f"{allowed}; did you mean {short(close[0], 80)!r}?" if close else allowed


def close_or_listing(name: str, names: Iterable[str], listing: str) -> str:
    """Return the end of an error line: a close name, and where all names are listed.

    Parameters
    ----------
    name : str
        The name that the user wrote.
    names : iterable of str
        The allowed names, which are too many for a message.
    listing : str
        Clause about the list of all names.

    Examples
    --------
    >>> close_or_listing("boxx", ["box", "census"], "'stages' lists all stages")
    "did you mean 'box'? 'stages' lists all stages"
    """
    close = close_names(name, names)
    return f"did you mean {short(close[0], 80)!r}? {listing}" if close else listing


def few(names: Sequence[str], most: int) -> str:
    """The first names and how many more there are.

    Examples
    --------
    >>> few(["census", "rank", "birchfield"], 2)
    'census, rank and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def close_names(name: str, names: Iterable[str], count: int = 1) -> list[str]:
    """Up to `count` of the names that resemble `name`, the nearest first; case does not matter."""
    folded = {n.lower(): n for n in names}
    # Nobody writes a name of more letters; to compare one takes time by the square of them.
    return [
        folded[n]
        for n in difflib.get_close_matches(str(name).lower()[:_NAME], folded, n=count, cutoff=0.5)
    ]


_NAME = 200
