"""The errors that a user can cause. Each message is one line: what, where, what is legal, the nearest name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class StereoFrameworkError(Exception):
    """Root of all errors raised on purpose; the command line prints them without a traceback."""


class ParameterError(StereoFrameworkError):
    """A parameter of a stage, a protocol or a search range has an illegal value or name."""


class DataError(StereoFrameworkError):
    """An image, disparity map, calibration file or scene is missing, unreadable or inconsistent."""


class ScriptError(StereoFrameworkError):
    """A parameter script has faults; ``faults`` holds one line for each."""

    def __init__(self, faults: Iterable[str]):
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class MissingExtraError(StereoFrameworkError):
    """A feature needs an optional dependency that is not installed."""


def nearest(name: str, names: Iterable[str], *, kind: str = "") -> str:
    """The end of an error line that lists the legal names and, where one is close, asks for it.

    Parameters
    ----------
    name : str
        What the user wrote.
    names : iterable of str
        The legal names.
    kind : str
        Plural noun for the legal names ("stages"); without it the list reads "legal: a, b".

    Returns
    -------
    str
        For example ``"legal: box, min_filter; did you mean 'box'?"``.
    """
    names = sorted(map(str, names))
    legal = f"legal{' ' + kind if kind else ''}: {', '.join(names) or 'none'}"
    close = close_names(name, names)
    return f"{legal}; did you mean {close[0]!r}?" if close else legal


def close_names(name: str, names: Iterable[str], count: int = 1) -> list[str]:
    """Up to `count` of the names that resemble `name`, the nearest first; case does not matter."""
    folded = {n.lower(): n for n in names}
    return [folded[n] for n in difflib.get_close_matches(str(name).lower(), folded, n=count, cutoff=0.5)]
