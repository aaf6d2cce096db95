"""Checks of the energies over time, and of single numbers, that optimizers return."""

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
"""Point of a trace: seconds, energy and, if the optimizer has one, a lower bound."""

_EXPECTED = "expected a sequence of points (seconds, energy) or (seconds, energy, lower bound)"


def as_number(value: Any) -> float:
    """Convert a Python or NumPy number to a float.

    Raises
    ------
    ValueError
        The value is not a real number (but for example a text, True or an array with
        several elements), or it is too large for a float.
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
    """Convert a number to a float; raise an error if it is NaN or infinite.

    Raises
    ------
    ValueError
        The value is not a number, or it is NaN or infinite.
    """
    number = as_number(value)
    if not math.isfinite(number):
        raise ValueError(f"{number}; expected a finite number")
    return number


def as_lower_bound(value: Any) -> float:
    """Convert a lower bound of an energy to a float; -inf means that it is unknown.

    Raises
    ------
    ValueError
        The value is not a number, or it is NaN or plus infinity.
    """
    number = as_number(value)
    if math.isnan(number) or number == math.inf:
        raise ValueError(f"{number}; expected a finite number, or -inf if no bound is known yet")
    return number


def as_trace(value: Any) -> tuple[Point, ...]:
    """Check the trace of an optimizer (energies over time), and convert it to floats.

    If a trace has more than `limits.TRACE` points, only that many evenly spaced points
    are kept.

    Parameters
    ----------
    value : sequence of sequence, or ndarray, (points, 2) or (points, 3)
        Points of the trace. Each point contains the seconds since the start, the energy
        and, if the optimizer computes one, a lower bound of the energy. Either all
        points or no points have a lower bound. The lower bound is -inf as long as the
        optimizer has not computed it.

    Returns
    -------
    tuple of tuple of float
        Points of the trace: all points, or `limits.TRACE` evenly spaced points if the
        trace is longer.

    Raises
    ------
    ValueError
        The value is not a sequence of such points, a time or an energy is not finite, a
        lower bound is NaN or plus infinity, a time is negative, or a time is smaller
        than the time of the previous point.

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
        The time of a point is smaller than the time of the previous point.
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
    """Select at most `limits.TRACE` evenly spaced points, with the first and last."""
    if len(points) <= limits.TRACE:
        return list(points)
    indices = np.linspace(0, len(points) - 1, limits.TRACE).astype(np.int64)
    return [points[index] for index in indices.tolist()]


def _point(i: int, point: Any) -> Point:
    """Check one point of a trace, and convert its numbers to floats.

    Raises
    ------
    ValueError
        The point does not consist of two or three numbers, or one of its numbers is not
        allowed.
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
