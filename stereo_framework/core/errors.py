"""Errors and warnings for users, and helper functions for messages.

Messages have the form ``place: event; expected value; remedy``. For an unknown name,
the message suggests a similar name.
"""

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
"""Maximum line length of an error message, in characters.

Only messages with a very long user input have longer lines.
"""

_COMPARED_CHARACTERS = 200
"""Maximum number of characters compared in the search for similar names.

The comparison time increases with the square of the length.
"""

_CONTROL_CODES = (*range(9), *range(11, 32), *range(127, 160))
"""Codes of control characters, except tab (9) and line feed (10)."""

_LINE_AND_DIRECTION_CODES = (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Codes of Unicode characters for line ends and writing direction."""

_SURROGATE_CODES = range(0xD800, 0xE000)
"""Codes of surrogates, which stand for path bytes outside UTF-8.

Writing a surrogate to a UTF-8 file raises an exception.
"""

_ESCAPES = {code: f"\\x{code:02x}" for code in _CONTROL_CODES}
_ESCAPES |= {code: f"\\u{code:04x}" for code in (*_LINE_AND_DIRECTION_CODES, *_SURROGATE_CODES)}


def escape_controls(text: str) -> str:
    r"""Replace control characters of a text by visible escapes such as ``\x1b``.

    Use this function to print untrusted texts, such as file paths. Control characters
    could otherwise move the cursor of the terminal. Tabs and line feeds are kept.

    Examples
    --------
    >>> print(escape_controls("\x1b[31mred"))
    \x1b[31mred
    """
    return text.translate(_ESCAPES)


def short(text: str, length: int = _LINE) -> str:
    """Shorten a text for a message, and escape its control characters.

    Parameters
    ----------
    text : str
        Text to shorten, such as a file name.
    length : int
        Maximum length of an uncut text, in characters. A longer text loses its middle
        part.

    Examples
    --------
    >>> short("x" * 5000, 40)
    'xxxxxxxxxx... (5000 characters) ...xxxxxxxxxx'
    """
    text = escape_controls(text)
    if len(text) <= length:
        return text
    if length < _LINE:
        end_length = length // 4
    else:
        # The note in the middle needs up to 40 characters.
        end_length = (length - 40) // 2
    note = f"... ({len(text)} characters) ..."
    return f"{text[:end_length]}{note}{text[-end_length:]}"


def one_line(text: str, length: int = _LINE) -> str:
    r"""Shorten a text for a message, and escape its line ends and tabs.

    Examples
    --------
    >>> print(one_line("two\nlines"))
    two\nlines
    """
    return short(text, length).replace("\n", "\\n").replace("\t", "\\t")


class StereoFrameworkError(Exception):
    """Base class of all errors of this package.

    The command line prints the message without a traceback. Lines over 1000 characters
    are shortened.
    """

    def __init__(self, message: object = ""):
        super().__init__("\n".join(map(short, str(message).split("\n"))))


class DataWarning(UserWarning):
    """Warning about doubtful data in a file."""


class ResultWarning(DataWarning):
    """Warning that a disparity map may be wrong.

    Possible causes are exchanged images, a small search range or a wrong intensity
    scale.
    """


NOTE = "note: "
"""Prefix of remarks that need no action by the user.

Remarks are stored with the result, like warnings.
"""


def warn(messages: Iterable[str], category: type[DataWarning] = ResultWarning) -> None:
    """Issue Python warnings that point to the user's line of code.

    Messages with the prefix `NOTE` are skipped.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(
        "stereo_framework."
    ):
        frame, level = frame.f_back, level + 1
    for message in messages:
        if not message.startswith(NOTE):
            warnings.warn(message, category, stacklevel=level)


class ParameterError(StereoFrameworkError):
    """Error about an unknown parameter or a parameter with a wrong value."""


class ArgumentError(ParameterError):
    """Error about a function argument of a wrong type.

    For example, ``window("5")`` passes a text instead of a number.
    """


class DataError(StereoFrameworkError):
    """Error about missing, unreadable or inconsistent input data.

    Input data include images, disparity maps and calibration files.
    """


class ScriptError(StereoFrameworkError):
    """Error about a script, with one message line for each fault.

    Parameters
    ----------
    faults : iterable of str
        Messages, one for each fault of the script.
    """

    def __init__(self, faults: Iterable[str]):
        self.faults = tuple(map(short, faults))
        super().__init__("\n".join(self.faults))


class MissingExtraError(StereoFrameworkError):
    """Error about an optional package that is not installed."""


def describe_exception(
    error: BaseException, function: Callable[..., Any] | None = None, subject: str = ""
) -> str:
    """Describe an exception of third-party code in one line.

    An example is ``mine.py:12: refinement stage mine: ValueError: negative size``.

    Parameters
    ----------
    error : exception
        Exception to describe.
    function : callable, optional
        Function that raised the exception. The description then begins with the file
        and line of the error.
    subject : str
        Description of the function, such as ``refinement stage mine``.
    """
    description = type(error).__name__
    first_line = next(iter(str(error).splitlines()), "")
    if first_line:
        description = f"{description}: {first_line}"
    if function is None:
        return description
    return f"{source_location(function, error)}: {subject}: {description}"


def source_location(function: Callable[..., Any], error: BaseException | None = None) -> str:
    """Return the file and the line of a function, or of an error in the function.

    Parameters
    ----------
    function : callable
        Function to locate.
    error : exception, optional
        Exception raised by the function. The line is then taken from the traceback.

    Returns
    -------
    str
        File and line, such as ``mine.py:12``. Paths inside the working directory are
        relative. For a function without Python source, the result is its module name.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return str(function.__module__)

    line = code.co_firstlineno
    for frame, frame_line in traceback.walk_tb(error.__traceback__ if error else None):
        if frame.f_code.co_filename == code.co_filename:
            line = frame_line
    path = Path(code.co_filename)
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
        return f"{path}:{line}"
    return f"{code.co_filename}:{line}"


def install_command(extra: str) -> str:
    """Return the ``pip`` command that installs an optional group of packages.

    Parameters
    ----------
    extra : str
        Name of the group in ``pyproject.toml``.
    """
    return f"pip install '.[{extra}]' in the folder of this project's source"


def nearest(name: str, names: Iterable[str], *, kind: str = "") -> str:
    """List the allowed names, and suggest the most similar name.

    Parameters
    ----------
    name : str
        Unknown name that the user wrote.
    names : iterable of str
        Allowed names.
    kind : str
        Plural noun for the allowed names, such as "stages".

    Examples
    --------
    >>> nearest("boxx", ["min_filter", "box"])
    "allowed: box, min_filter; did you mean 'box'?"
    """
    sorted_names = sorted(map(str, names))
    label = f"allowed {kind}" if kind else "allowed"
    allowed = f"{label}: {one_line(', '.join(sorted_names), _LINE) or 'none'}"
    similar_names = close_names(name, sorted_names)
    if not similar_names:
        return allowed
    return f"{allowed}; did you mean {short(similar_names[0], 80)!r}?"


def close_or_listing(name: str, names: Iterable[str], listing: str) -> str:
    """Suggest the most similar name, and refer to a list of all names.

    Use this function instead of `nearest` if there are many allowed names.

    Parameters
    ----------
    name : str
        Unknown name that the user wrote.
    names : iterable of str
        Allowed names.
    listing : str
        Hint that explains how to list all names.

    Examples
    --------
    >>> close_or_listing("boxx", ["box", "census"], "'stages' lists all stages")
    "did you mean 'box'? 'stages' lists all stages"
    """
    similar_names = close_names(name, names)
    if not similar_names:
        return listing
    return f"did you mean {short(similar_names[0], 80)!r}? {listing}"


def few(names: Sequence[str], count: int) -> str:
    """List the first `count` names, and count the remaining names.

    Examples
    --------
    >>> few(["census", "rank", "birchfield"], 2)
    'census, rank and 1 more'
    """
    text = ", ".join(names[:count])
    if len(names) > count:
        text = f"{text} and {len(names) - count} more"
    return text


def close_names(name: str, names: Iterable[str], count: int = 1) -> list[str]:
    """Return the most similar names, sorted by similarity.

    The comparison ignores upper and lower case.

    Parameters
    ----------
    name : str
        Name that the user wrote.
    names : iterable of str
        Candidate names.
    count : int
        Maximum number of returned names.
    """
    name_in_lower_case = str(name).lower()[:_COMPARED_CHARACTERS]
    by_lower_case = {candidate.lower(): candidate for candidate in names}
    matches = difflib.get_close_matches(name_in_lower_case, by_lower_case, n=count, cutoff=0.5)
    return [by_lower_case[match] for match in matches]
