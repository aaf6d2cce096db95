"""The axes of a sweep and their values: lists, ranges, even and geometric spacing."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.errors import nearest
from stereo_framework.core.parameters import spelled
from stereo_framework.io.places import Faults, Node, Place
from stereo_framework.script.reading import is_number


@dataclass(frozen=True, eq=False)
class Axis:
    """What a sweep varies.

    Parameters
    ----------
    name : str
        Address of what is varied: ``matching_cost``, ``aggregation.box.size``, ``search.step``, ``seed``.
    place : Place
        Of the axis's key.
    values : tuple
        Per value the stages of a slot, else a `Node`; None if that value has a fault. Empty if the axis itself has one.
    zipped : bool
        It moves together with the others that do.
    """

    name: str
    place: Place
    values: tuple[Any, ...]
    zipped: bool = False


def values(node: Node, faults: Faults) -> list[Node]:
    """The values of an axis as a script writes them.

    Parameters
    ----------
    node : Node
        A list; ``{range: [first, last, step]}`` with `last` included where the steps meet it; ``{linspace: [first, last, count]}``
        or ``{geomspace: [first, last, count]}`` with both ends included.
    faults : Faults
        Gets what is wrong; the values are then empty.

    Returns
    -------
    list of Node
        Generated values between whole numbers are whole numbers where they can be; decimals come out as they are spelt:
        steps of 0.1 give 0.1, 0.2, 0.3.
    """
    if isinstance(node.value, list):
        if not node.value:
            faults.add(node.place, "an empty axis; give at least one value")
        return node.value
    if not isinstance(node.value, dict) or len(node.value) != 1:
        said = f"{spelled(node.data())} is not a list of values; legal: [value, ...]"
        faults.add(node.place, f"{said}, {{range: [first, last, step]}}, {{linspace or geomspace: [first, last, count]}}")
        return []
    ((kind, arguments),) = node.value.items()
    if kind not in _KINDS:
        faults.add(node.keys[kind], f"no such kind of axis {kind!r}; {nearest(kind, _KINDS, kind='kinds')}")
        return []
    generate, last = _KINDS[kind]
    given = arguments.data()
    if not isinstance(given, list) or len(given) != 3 or not all(map(is_number, given)):
        faults.add(arguments.place, f"{spelled(given)} is not three numbers: [first, last, {last}]")
        return []
    try:
        faults.count_values(node.place, _steps(*given) if kind == "range" else int(given[2]))
        found = generate(*given)
    except (ValueError, ArithmeticError) as error:
        faults.add(arguments.place, str(error) if isinstance(error, ValueError) else f"{spelled(given)}: numbers too far apart")
        return []
    whole = all(isinstance(end, int) for end in given[:2])
    return [Node(int(value) if whole and value.denominator == 1 else float(value), node.place) for value in found]


def _exact(value: float) -> Fraction:
    """The decimal that the user wrote."""
    return Fraction(repr(value))


def _range(first: float, last: float, step: float) -> list[Fraction]:
    return [_exact(first) + i * _exact(step) for i in range(_steps(first, last, step))]


def _steps(first: float, last: float, step: float) -> int:
    """Values of a range."""
    if step == 0 or (last - first) * step < 0:
        raise ValueError(f"an empty axis: steps of {step!r} do not lead from {first!r} to {last!r}")
    count = math.floor((_exact(last) - _exact(first)) / _exact(step)) + 1
    _check_count(count, 1)
    return count


def _linspace(first: float, last: float, count: float) -> list[Fraction]:
    _check_count(count, 2)
    return [_exact(first) + (_exact(last) - _exact(first)) * i / (int(count) - 1) for i in range(int(count))]


def _geomspace(first: float, last: float, count: float) -> list[Fraction]:
    _check_count(count, 2)
    if first * last <= 0:
        raise ValueError(f"geometric spacing from {first!r} to {last!r}: both ends must be above 0, or both below")
    shares = [i / (int(count) - 1) for i in range(int(count))]
    # 15 digits: the cube root of 1000 is then 10, not 9.999999999999998.
    return [Fraction(f"{math.copysign(abs(first) ** (1 - t) * abs(last) ** t, first):.15g}") for t in shares]


def _check_count(count: float, least: int) -> None:
    if count != int(count) or not least <= count <= limits.SETTINGS:
        raise ValueError(f"{count!r} values; a whole number from {least} to {limits.SETTINGS} is possible")


_KINDS: dict[str, tuple[Callable[[float, float, float], list[Fraction]], str]] = {
    "range": (_range, "step"),
    "linspace": (_linspace, "count"),
    "geomspace": (_geomspace, "count"),
}
