"""The axes of a sweep, and the values that they take."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from stereo_framework.core import limits
from stereo_framework.core.errors import nearest
from stereo_framework.core.former_names import new_or_nearest
from stereo_framework.core.parameters import as_yaml
from stereo_framework.core.slots import SLOTS
from stereo_framework.io.document import Document
from stereo_framework.io.locations import Faults, Location
from stereo_framework.script.addresses import split
from stereo_framework.script.keys import SEARCH, is_number


@dataclass(frozen=True, eq=False)
class Axis:
    """An address, and the values that a sweep puts there.

    Parameters
    ----------
    name : str
        Address of the values, such as ``matching_cost``, ``aggregation.box.size``,
        ``search.step`` or ``seed``.
    location : Location
        Location of the key of the axis.
    values : tuple of Document
        The values. They are empty if the axis has a fault.
    zipped : bool
        True if the axis moves together with the other axes of the ``zip``.
    """

    name: str
    location: Location
    values: tuple[Document, ...]
    zipped: bool = False


def groups_of_axes(axes: Iterable[Axis]) -> list[list[Axis]]:
    """Return the groups of axes that move together.

    Each axis of a grid is a group of its own. All axes of the zip are the last group.
    """
    groups: list[list[Axis]] = []
    zipped_axes: list[Axis] = []
    for axis in axes:
        if axis.zipped:
            zipped_axes.append(axis)
        else:
            groups.append([axis])
    if zipped_axes:
        groups.append(zipped_axes)
    return groups


def fault_of_address(name: str, *, owner: str = "axis", place: str = "an axis") -> str:
    """Return the message about an address of nothing; empty without a fault.

    Parameters
    ----------
    name : str
        The address.
    owner : str
        What has the address, for the message: an axis or a key.
    place : str
        Where the address is written, for the list of allowed words.

    Examples
    --------
    >>> fault_of_address("aggregation.box.size")
    ''
    >>> fault_of_address("auxiliary.robust").partition(";")[0]
    'this axis addresses nothing'
    """
    prefix, word, rest = split(name)
    words = SLOTS if prefix else (*SLOTS, "auxiliary", "search", "seed")
    remedy = ""
    if word == "auxiliary" and not prefix:
        remedy = "write auxiliary.NAME.SLOT or auxiliary.NAME.SLOT.PARAMETER"
    elif word not in words or (rest and word == "seed"):
        kind = f"words after {prefix}" if prefix else f"first words of {place}"
        remedy = new_or_nearest("script_keys", "script", word, words, kind=kind)
    elif word == "search" and rest not in SEARCH:
        remedy = nearest(rest, SEARCH, kind="keys of search")
    return f"this {owner} addresses nothing; {remedy}" if remedy else ""


def axis_values(document: Document, faults: Faults) -> list[Document]:
    """Return the values of an axis.

    Parameters
    ----------
    document : Document
        A list of values, or a mapping with one of three keys. ``{range: [first, last,
        step]}`` includes `last` if a step ends there. ``{linspace: [first, last,
        count]}`` and ``{geomspace: [first, last, count]}`` include both ends.
    faults : Faults
        Collects faults. The result is then empty.

    Returns
    -------
    list of Document
        Generated values between whole numbers are whole numbers if possible. Decimal
        numbers are exact: steps of 0.1 give 0.1, 0.2 and 0.3.
    """
    if isinstance(document.data, list):
        if not document.data:
            faults.add(document.location, "the axis is empty; give at least one value")
            return []
        return document.items()
    if not isinstance(document.data, dict) or len(document.data) != 1:
        message = (
            f"{as_yaml(document.data)} is not a list of values; allowed: [value, ...], "
            "{range: [first, last, step]}, {linspace or geomspace: [first, last, count]}"
        )
        faults.add(document.location, message)
        return []
    [kind] = document.data
    if kind not in _KINDS:
        remedy = nearest(kind, _KINDS, kind="kinds")
        key_location = document.locations[kind,].key or document.location
        faults.add(key_location, f"there is no kind of axis {kind!r}; {remedy}")
        return []
    return _generated_values(document, kind, faults)


_KINDS = {"range": "step", "linspace": "count", "geomspace": "count"}
"""Kinds of generated axes, and the names of their third numbers."""


def _generated_values(document: Document, kind: str, faults: Faults) -> list[Document]:
    """Return the values of an axis such as ``{range: [1, 9, 2]}``."""
    arguments = document.part(kind)
    numbers = arguments.data
    if not isinstance(numbers, list) or len(numbers) != 3 or not all(map(is_number, numbers)):
        message = f"{as_yaml(numbers)} is not three numbers: [first, last, {_KINDS[kind]}]"
        faults.add(arguments.location, message)
        return []
    try:
        count = _count(kind, *numbers)
        faults.count_values(document.location, count)
        fractions = [_number(kind, index, count, *numbers) for index in range(count)]
    except ValueError as error:
        faults.add(arguments.location, str(error))
        return []
    except ArithmeticError:
        message = f"{as_yaml(numbers)}: the numbers are too far apart"
        faults.add(arguments.location, message)
        return []
    has_whole_ends = all(isinstance(end, int) for end in numbers[:2])
    values = []
    for fraction in fractions:
        is_whole = has_whole_ends and fraction.denominator == 1
        value = int(fraction) if is_whole else float(fraction)
        values.append(Document(value, {(): document.location}))
    return values


def _count(kind: str, first: float, last: float, third: float) -> int:
    """Return the number of values of a generated axis.

    Raises
    ------
    ValueError
        The three numbers do not describe an axis.
    """
    if kind == "range":
        if third == 0 or (last - first) * third < 0:
            message = (
                f"the axis is empty, because steps of {third!r} do not lead "
                f"from {first!r} to {last!r}"
            )
            raise ValueError(message)
        third = math.floor((_exact(last) - _exact(first)) / _exact(third)) + 1
    elif kind == "geomspace" and first * last <= 0:
        message = (
            f"geometric spacing from {first!r} to {last!r} is not possible; "
            "both ends must be above 0, or both below"
        )
        raise ValueError(message)
    least = 1 if kind == "range" else 2
    if third != int(third) or not least <= third <= limits.SETTINGS:
        message = (
            f"an axis cannot have {third!r} values; "
            f"expected a whole number from {least} to {limits.SETTINGS}"
        )
        raise ValueError(message)
    return int(third)


def _number(kind: str, index: int, count: int, first: float, last: float, step: float) -> Fraction:
    """Return one value of a generated axis, by its index."""
    if kind == "range":
        return _exact(first) + index * _exact(step)
    if kind == "linspace":
        return _exact(first) + (_exact(last) - _exact(first)) * index / (count - 1)
    share = index / (count - 1)
    # With 15 digits, the cube root of 1000 is 10, and not 9.999999999999998.
    magnitude = abs(first) ** (1 - share) * abs(last) ** share
    return Fraction(f"{math.copysign(magnitude, first):.15g}")


def _exact(value: float) -> Fraction:
    """Return the decimal number that the user wrote."""
    return Fraction(repr(value))
