"""Parse numbers that consist of the digits 0 to 9, such as ``-1.5e3``.

Python's `float` and `int` also accept ``6_0``, ``infinity`` and digits of other
alphabets. This module refuses ``6_0``, which is probably a typing error in a text file.
"""

import math
import re

_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


def is_number(text: str) -> bool:
    """Return whether a text is a decimal number in ASCII digits, such as ``-1.5e3``.

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
    """Convert a decimal number in ASCII digits, such as ``-1.5e3``, to a float.

    Parameters
    ----------
    text : str
        Number without leading or trailing blanks.
    finite : bool
        Whether the number must be finite. If False, ``nan``, ``inf`` and ``-inf`` are
        accepted, and ``1e999`` becomes infinity.

    Raises
    ------
    ValueError
        The text is not a number. The number is not finite, and `finite` is True.

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
    """Convert a whole number in ASCII digits, such as ``-15``, to an int.

    Raises
    ------
    ValueError
        The text is not a whole number or is too long (by default, over 4300 digits).
    """
    if not is_whole_number(text):
        message = f"{text!r} is not a whole number in plain digits"
        raise ValueError(message)
    return int(text)
