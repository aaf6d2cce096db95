"""Errors and warnings that a user can cause, and functions that word their messages.

A line of a message has the form ``place: event; expected value; remedy``. Messages
about unknown names suggest the nearest allowed name.
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
"""Maximum length of a line of an error, in characters.

A longer line contains an input of the user, which would hide the message.
"""

_COMPARED_CHARACTERS = 200
"""Maximum length of a name that is compared with allowed names.

No allowed name is longer. The time of a comparison grows with the square of the length.
"""

_CONTROL_CODES = (*range(9), *range(11, 32), *range(127, 160))
"""Codes of characters that move the cursor or change the colours of a terminal."""

_LINE_AND_DIRECTION_CODES = (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Codes of line separators, and of characters that change the direction of writing."""

_SURROGATE_CODES = range(0xD800, 0xE000)
"""Codes that Python uses for bytes of a path that are not valid UTF-8.

A text with such a code cannot be written to a file.
"""

_ESCAPES = {code: f"\\x{code:02x}" for code in _CONTROL_CODES}
_ESCAPES |= {code: f"\\u{code:04x}" for code in (*_LINE_AND_DIRECTION_CODES, *_SURROGATE_CODES)}


def escape_controls(text: str) -> str:
    r"""Escape the characters of a text that could damage a terminal or a file.

    Use this function for texts from outside the program, such as paths. It escapes
    control characters except tabs and line ends, characters that change the direction
    of writing, and bytes that are not valid UTF-8.

    Examples
    --------
    >>> print(escape_controls("\x1b[31mred"))
    \x1b[31mred
    """
    return text.translate(_ESCAPES)


def short(text: str, length: int = _LINE) -> str:
    """Return a text for a message: escaped, and without its middle if it is long.

    Parameters
    ----------
    text : str
    length : int
        Maximum length of a text that is returned as a whole, in characters. Of a longer
        text, a quarter of this length is kept at each end, or nearly half of it if the
        text is a whole line of a message.

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
        # The note in the middle has at most 40 characters, so that the line does not
        # become longer than `length`.
        end_length = (length - 40) // 2
    note = f"... ({len(text)} characters) ..."
    return f"{text[:end_length]}{note}{text[-end_length:]}"


def one_line(text: str, length: int = _LINE) -> str:
    r"""Return a text for a message as `short` does, with line ends and tabs escaped.

    Examples
    --------
    >>> print(one_line("two\nlines"))
    two\nlines
    """
    return short(text, length).replace("\n", "\\n").replace("\t", "\\t")


class StereoFrameworkError(Exception):
    """Root of all errors that this package raises on purpose.

    The command line prints such errors without a traceback. Lines of the message that
    are longer than 1000 characters are shortened.
    """

    def __init__(self, message: object = ""):
        super().__init__("\n".join(map(short, str(message).split("\n"))))


class DataWarning(UserWarning):
    """Warning about a file whose content is doubtful but was read.

    The command line prints it as one line.
    """


class ResultWarning(DataWarning):
    """Warning about a doubtful result, or about doubtful data that a result depends on.

    Examples are exchanged images, a search range that is too small, and intensities or
    disparities in another scale.
    """


NOTE = "note: "
"""Beginning of a remark about a result that requires no action of the user.

Such remarks are stored together with the warnings of a result.
"""


def warn(messages: Iterable[str], category: type[DataWarning] = ResultWarning) -> None:
    """Issue warnings at the line of the user's code that called this package.

    The command line prints the messages without that line. Remarks that begin with
    `NOTE` are not issued.
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
    """Error about a parameter whose name or value is not allowed.

    The parameter belongs to a stage, a protocol, a search range or a function.
    """


class ArgumentError(ParameterError):
    """Error about an argument of a public function or class that has the wrong type."""


class DataError(StereoFrameworkError):
    """Error about input data that are missing, unreadable or inconsistent.

    The data are an image, a disparity map, a calibration file or a scene.
    """


class ScriptError(StereoFrameworkError):
    """Error about a script, with one line for each fault.

    Parameters
    ----------
    faults : iterable of str
        One message for each fault of the script.
    """

    def __init__(self, faults: Iterable[str]):
        self.faults = tuple(map(short, faults))
        super().__init__("\n".join(self.faults))


class MissingExtraError(StereoFrameworkError):
    """Error about an optional dependency of a feature that is not installed."""


def describe_exception(
    error: BaseException, function: Callable[..., Any] | None = None, subject: str = ""
) -> str:
    """Describe an exception of third-party code in one line.

    Parameters
    ----------
    error : exception
    function : callable, optional
        Function that raised the exception. The description begins with the last line of
        the function's file that the exception passed through.
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
    """Return the file and the line of a function.

    Parameters
    ----------
    function : callable
    error : exception, optional
        Exception that the function raised. The line is then the last line of the
        function's file that the exception passed through.

    Returns
    -------
    str
        Such as ``mine.py:12``. The path is relative if the file lies below the working
        directory. For a function without Python source, the name of its module.
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
    """Return the command that installs the dependencies of an extra, for messages."""
    return f"pip install '.[{extra}]' in the folder of this project's source"


def nearest(name: str, names: Iterable[str], *, kind: str = "") -> str:
    """Return the end of an error line: the allowed names, and a close name if any.

    Parameters
    ----------
    name : str
        Name that the user wrote.
    names : iterable of str
        Allowed names.
    kind : str
        Plural noun for the allowed names, such as "stages". Without it the line reads
        "allowed: a, b".

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
    """Return the end of an error line: a close name, and where all names are listed.

    Parameters
    ----------
    name : str
        Name that the user wrote.
    names : iterable of str
        Allowed names, which are too many for a message.
    listing : str
        Clause about the list of all names.

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
    """Return at most `count` names as a text, with the number of the remaining names.

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
    """Return at most `count` names that resemble a name, the most similar name first.

    Upper and lower case are not distinguished.
    """
    name_in_lower_case = str(name).lower()[:_COMPARED_CHARACTERS]
    by_lower_case = {candidate.lower(): candidate for candidate in names}
    matches = difflib.get_close_matches(name_in_lower_case, by_lower_case, n=count, cutoff=0.5)
    return [by_lower_case[match] for match in matches]
