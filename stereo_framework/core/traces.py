"""Checks of traces (energies over time) and other numbers from optimizers."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from stereo_framework.core import limits
from stereo_framework.core.parameters import in_short

Point = tuple[float, ...]
"""Point of a trace: seconds, energy and optionally a lower bound."""

_EXPECTED = "expected a sequence of points (seconds, energy) or (seconds, energy, lower bound)"


def as_number(value: Any) -> float:
    """Convert a Python or NumPy number to a float.

    Raises
    ------
    ValueError
        The value is not a number, such as a text. The number is too large for a float.
    """
    scalar = value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        scalar = value[()]
    if not isinstance(scalar, numbers.Real) or isinstance(scalar, bool):
        raise ValueError(f"{in_short(value)}; expected a number")
    try:
        return float(scalar)
    except OverflowError:
        message = "a whole number beyond the range of float64; expected a smaller number"
        raise ValueError(message) from None


def as_finite_number(value: Any) -> float:
    """Convert a finite number to a float.

    Raises
    ------
    ValueError
        The value is not a finite number.
    """
    number = as_number(value)
    if not math.isfinite(number):
        raise ValueError(f"{number}; expected a finite number")
    return number


def as_lower_bound(value: Any) -> float:
    """Convert a lower bound of an energy to a float; -inf means unknown.

    Raises
    ------
    ValueError
        The value is not a number, is NaN or is plus infinity.
    """
    number = as_number(value)
    if math.isnan(number) or number == math.inf:
        raise ValueError(f"{number}; expected a finite number, or -inf if no bound is known yet")
    return number


def as_trace(value: Any) -> tuple[Point, ...]:
    """Check the trace of an optimizer (energies over time), and convert it to floats.

    A long trace is reduced to `limits.TRACE` evenly spaced points.

    Parameters
    ----------
    value : sequence of sequence, or ndarray, (points, 2) or (points, 3)
        Points of the trace: seconds since the start, energy and optionally a lower
        bound of the energy. Either all points or no points have a lower bound. An
        unknown lower bound is -inf.

    Returns
    -------
    tuple of tuple of float
        At most `limits.TRACE` points of the trace.

    Raises
    ------
    ValueError
        The value is not a sequence of points. A time or an energy is not finite. A
        lower bound is NaN or plus infinity. A time is negative. The times decrease.

    Examples
    --------
    >>> as_trace([(0.1, 5, -np.inf), (0.2, 4, 3.5)])
    ((0.1, 5.0, -inf), (0.2, 4.0, 3.5))
    """
    if not _is_sequence(value):
        raise ValueError(f"{in_short(value)}; {_EXPECTED}")
    points = tuple(_point(i, point) for i, point in enumerate(_thinned(value)))
    if len({len(point) for point in points}) > 1:
        message = (
            "some points with a lower bound and some without; "
            "expected one length, with -inf for an unknown bound"
        )
        raise ValueError(message)
    _check_order(points)
    return points


def _check_order(points: Sequence[Point]) -> None:
    """Raise an error if the times of a trace decrease.

    Raises
    ------
    ValueError
        The times decrease.
    """
    times = [point[0] for point in points]
    for i, (time, next_time) in enumerate(itertools.pairwise(times)):
        if next_time < time:
            message = (
                f"seconds that decrease from {time:g} to {next_time:g} at point {i + 1}; "
                "expected ascending seconds"
            )
            raise ValueError(message)


def _is_sequence(value: Any) -> bool:
    """Return whether a value is a list, a tuple or an array, but not a text."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _thinned(points: Any) -> list[Any]:
    """Select at most `limits.TRACE` evenly spaced points."""
    if len(points) <= limits.TRACE:
        return list(points)
    indices = np.linspace(0, len(points) - 1, limits.TRACE).astype(np.int64)
    return [points[index] for index in indices.tolist()]


def _point(i: int, point: Any) -> Point:
    """Check one point of a trace, and convert its numbers to floats.

    Raises
    ------
    ValueError
        The point does not consist of two or three numbers. A number is not allowed.
    """
    if not _is_sequence(point) or len(point) not in (2, 3):
        raise ValueError(f"point {i} is {in_short(point)}; {_EXPECTED}")
    names = ("seconds", "energy", "lower bound")
    converters = (as_finite_number, as_finite_number, as_lower_bound)
    numbers_of_point = []
    for name, convert, number in zip(names, converters, point, strict=False):
        try:
            numbers_of_point.append(convert(number))
        except ValueError as error:
            raise ValueError(f"the {name} at point {i}: {error}") from None
    seconds = numbers_of_point[0]
    if seconds < 0:
        raise ValueError(f"the seconds at point {i}: {seconds:g}; expected a number of 0 or more")
    return tuple(numbers_of_point)
