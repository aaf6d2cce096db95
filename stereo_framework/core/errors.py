"""Errors and warnings that a user can cause, and functions that write their messages.

Each line of a message has the form ``place: event; expected value; remedy``. If a user
writes an unknown name, the message suggests the most similar allowed name.
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
"""Maximum length of a line of an error message, in characters.

A line becomes longer only if it quotes a very long input of the user. The long input
would hide the rest of the message.
"""

_COMPARED_CHARACTERS = 200
"""Number of characters of an unknown name that are compared with allowed names.

No allowed name is longer. The comparison of two names takes a time that grows with the
square of their length.
"""

_CONTROL_CODES = (*range(9), *range(11, 32), *range(127, 160))
"""Character codes that make a terminal move its cursor or change its colours.

Tab (9) and line feed (10) are left out.
"""

_LINE_AND_DIRECTION_CODES = (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Character codes that start a new line or change the direction of writing."""

_SURROGATE_CODES = range(0xD800, 0xE000)
"""Character codes by which Python represents path bytes that are not valid UTF-8.

Writing a text with such a character to a UTF-8 file raises an exception.
"""

_ESCAPES = {code: f"\\x{code:02x}" for code in _CONTROL_CODES}
_ESCAPES |= {code: f"\\u{code:04x}" for code in (*_LINE_AND_DIRECTION_CODES, *_SURROGATE_CODES)}


def escape_controls(text: str) -> str:
    r"""Replace control characters of a text by visible escapes such as ``\x1b``.

    Use this function before you print texts from outside the program, such as paths:
    control characters can move the cursor or change the colours of a terminal. Tabs and
    line feeds stay as they are. Characters that change the direction of writing, and
    bytes of a path that are not valid UTF-8, are replaced too.

    Examples
    --------
    >>> print(escape_controls("\x1b[31mred"))
    \x1b[31mred
    """
    return text.translate(_ESCAPES)


def short(text: str, length: int = _LINE) -> str:
    """Escape the control characters of a text, and cut out the middle of a long text.

    Parameters
    ----------
    text : str
        Text that a message quotes, or a whole line of a message.
    length : int
        Maximum length of a text that is not cut, in characters. If the text is longer,
        its first and last characters are kept. At each end, the number of these
        characters is a quarter of `length`. For whole lines (`length` >= 1000) it is
        nearly half of `length`.

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
        # The note "... (5000 characters) ..." in the middle needs up to 40 characters.
        # The two ends get the remaining characters of the line.
        end_length = (length - 40) // 2
    note = f"... ({len(text)} characters) ..."
    return f"{text[:end_length]}{note}{text[-end_length:]}"


def one_line(text: str, length: int = _LINE) -> str:
    r"""Shorten a text for a message, and replace line ends and tabs by escapes.

    The text is shortened as in `short`.

    Examples
    --------
    >>> print(one_line("two\nlines"))
    two\nlines
    """
    return short(text, length).replace("\n", "\\n").replace("\t", "\\t")


class StereoFrameworkError(Exception):
    """Base class of all errors that this package raises on purpose.

    The command line prints the message of such an error without a traceback. Each line
    of the message is shortened to 1000 characters.
    """

    def __init__(self, message: object = ""):
        super().__init__("\n".join(map(short, str(message).split("\n"))))


class DataWarning(UserWarning):
    """Warning about a file that was read although its content is doubtful.

    The command line prints the warning as one line.
    """


class ResultWarning(DataWarning):
    """Warning that a disparity map may be wrong, for example because of its input.

    Examples are exchanged left and right images, a search range that is too small, and
    intensities or disparities in another scale than expected.
    """


NOTE = "note: "
"""First characters of a remark about a result on which the user need not act.

Remarks and warnings are stored together with the result.
"""


def warn(messages: Iterable[str], category: type[DataWarning] = ResultWarning) -> None:
    """Issue Python warnings that point to the user's line which called this package.

    The command line prints only the messages, without the line of code. Messages that
    begin with `NOTE` are skipped.
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
    """Error about a parameter that does not exist or has a value that is not allowed.

    Stages, evaluation protocols, search ranges and functions have parameters.
    """


class ArgumentError(ParameterError):
    """Error about an argument of a public function or class that has a wrong type.

    For example, ``window("5")`` passes a text although ``window`` expects a number.
    """


class DataError(StereoFrameworkError):
    """Error about input data that are missing, unreadable or inconsistent.

    Examples of input data are images, disparity maps, calibration files and scenes.
    """


class ScriptError(StereoFrameworkError):
    """Error about a script. The message has one line for each fault of the script.

    Parameters
    ----------
    faults : iterable of str
        Messages, one for each fault of the script.
    """

    def __init__(self, faults: Iterable[str]):
        self.faults = tuple(map(short, faults))
        super().__init__("\n".join(self.faults))


class MissingExtraError(StereoFrameworkError):
    """Error about a feature that needs an optional package which is not installed."""


def describe_exception(
    error: BaseException, function: Callable[..., Any] | None = None, subject: str = ""
) -> str:
    """Describe an exception of third-party code in one line.

    With a function, the result is, for example, ``mine.py:12: refinement stage mine:
    ValueError: negative size``.

    Parameters
    ----------
    error : exception
        Exception that is described.
    function : callable, optional
        Function, for example a stage of a plug-in, that raised the exception. The
        description then begins with the location of the error in the function's file.
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
        Function whose file is returned.
    error : exception, optional
        Exception that the function raised. The traceback of the exception may contain
        several lines of the function's file. The last of these lines is returned
        instead of the first line of the function.

    Returns
    -------
    str
        File and line, such as ``mine.py:12``. The path is relative if the file lies in
        the working directory or in a folder below it. If the function is compiled and
        has no Python source, the result is the name of its module.
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
    """List the allowed names for an error message, and suggest the most similar name.

    Parameters
    ----------
    name : str
        Unknown name that the user wrote.
    names : iterable of str
        Allowed names.
    kind : str
        Plural noun for the allowed names, such as "stages". The list then begins with
        "allowed stages:" instead of "allowed:".

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
    """Suggest the most similar name, and refer the user to a list of all names.

    Use this function instead of `nearest` if the allowed names are too many for an
    error message.

    Parameters
    ----------
    name : str
        Unknown name that the user wrote.
    names : iterable of str
        Allowed names.
    listing : str
        Clause that explains how the user gets a list of all names.

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
    """List the first `count` names as a text, and the number of the remaining names.

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
    """Return the most similar ones of several names, beginning with the most similar.

    Upper and lower case letters count as equal.

    Parameters
    ----------
    name : str
        Name that the user wrote.
    names : iterable of str
        Names that are compared with `name`.
    count : int
        Maximum number of returned names. Names with little similarity are left out.
    """
    name_in_lower_case = str(name).lower()[:_COMPARED_CHARACTERS]
    by_lower_case = {candidate.lower(): candidate for candidate in names}
    matches = difflib.get_close_matches(name_in_lower_case, by_lower_case, n=count, cutoff=0.5)
    return [by_lower_case[match] for match in matches]
