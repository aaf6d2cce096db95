"""Numbers in text files and options, which have plain ASCII digits.

Python's `float` and `int` also read ``6_0`` as 60, the digits of other alphabets, and
``infinity``. In a file such a text is a slip or damage, and the number would be wrong.
"""

import math
import re

_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


def is_number(text: str) -> bool:
    """Return whether a text is a number in plain ASCII digits, such as ``-1.5e3``.

    Examples
    --------
    >>> is_number("60"), is_number("6_0"), is_number("６０"), is_number("nan")
    (True, False, False, False)
    """
    return _NUMBER.fullmatch(text) is not None


def is_whole_number(text: str) -> bool:
    """Return whether a text is a whole number in ASCII digits, such as ``-15``."""
    return _WHOLE_NUMBER.fullmatch(text) is not None


def parse_number(text: str, *, finite: bool = True) -> float:
    """Convert a text of plain ASCII digits to a number.

    Parameters
    ----------
    text : str
        The number, without blanks around it.
    finite : bool
        Whether ``nan``, ``inf``, ``-inf`` and numbers that are too large for float64
        are refused. If they are not refused, numbers that are too large become
        infinite.

    Raises
    ------
    ValueError
        The text is not a number.

    Examples
    --------
    >>> parse_number("6.5e1")
    65.0
    """
    if not finite and text.lower() in _NOT_FINITE:
        return _NOT_FINITE[text.lower()]
    if not is_number(text):
        message = f"{text!r} is not a number in plain digits"
        raise ValueError(message)
    number = float(text)
    if finite and math.isinf(number):
        message = f"{text!r} is too large for a number of 64 bits"
        raise ValueError(message)
    return number


def parse_whole_number(text: str) -> int:
    """Convert a text of plain ASCII digits to a whole number.

    Raises
    ------
    ValueError
        The text is not a whole number, or it has thousands of digits.
    """
    if not is_whole_number(text):
        message = f"{text!r} is not a whole number in plain digits"
        raise ValueError(message)
    return int(text)
