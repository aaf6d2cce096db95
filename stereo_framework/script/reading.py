"""Reading a script's nodes: mappings with known keys, texts, values under annotated keys, and axes of a sweep.

The keys of a mapping are the fields of a dataclass. Its annotations say which values are allowed, both here and in the JSON Schema.
"""

import math
import sys
import typing
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from annotated_types import Gt

from stereo_framework.core import limits
from stereo_framework.core.errors import nearest
from stereo_framework.core.former_names import new_or_nearest
from stereo_framework.core.parameters import (
    NonNegative,
    NonNegativeInt,
    Words,
    as_yaml,
    checkers_of,
    describe,
    parameters_of,
)
from stereo_framework.core.slots import SLOTS
from stereo_framework.io.locations import Faults, Location, Node


def read(
    keys: type, node: Node, faults: Faults, *, what: str = "", without: Collection[str] = ()
) -> dict[str, Any]:
    """The values of a mapping, checked; what is wrong is reported and left out.

    Parameters
    ----------
    keys : dataclass
        Its fields are the allowed keys; those without a default are needed.
    node : Node
    faults : Faults
    what : str
        After the name of a key that is none: ``" of a method"``.
    without : collection of str
        Fields that are no keys.
    """
    import pydantic

    allowed = {
        name: parameter for name, parameter in parameters_of(keys).items() if name not in without
    }
    given = expect_mapping(node, allowed, faults, what=what)
    needed = [name for name, parameter in allowed.items() if parameter.default is parameter.empty]
    missing = [name for name in needed if name not in given]
    if missing:
        faults.add(node.location, f"{' and '.join(missing)} missing; it needs {', '.join(needed)}")
    found = {}
    for name, value in given.items():
        try:
            found[name] = checkers_of(keys)[name].validate_python(value.data(), strict=True)
        except pydantic.ValidationError as error:
            for fault in error.errors(include_url=False):
                wrong = (
                    fault["ctx"]["error"]
                    if fault["type"] == "value_error"
                    else _wrong(fault["input"], allowed[name].annotation)
                )
                faults.add(value.location_of(fault["loc"]), str(wrong))
    return found


def is_right(keys: type, name: str, node: Node, faults: Faults) -> bool:
    """Whether a value may stand under the key `name`; what is wrong with it is reported."""
    return name in read(keys, Node({name: node}, node.location, {name: node.location}), faults)


def _wrong(value: Any, annotation: Any) -> str:
    if typing.get_origin(annotation) is Literal:
        return (
            f"{as_yaml(value)} is not allowed; {nearest(str(value), typing.get_args(annotation))}"
        )
    return f"{as_yaml(value)} is not {describe(annotation)}"


_LARGEST = sys.float_info.max


def is_number(value: object) -> bool:
    """A finite int or float; true and false are none."""
    # A whole number that is too large for float64 is none that anything here can hold.
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -_LARGEST <= value <= _LARGEST
    )


def expect_mapping(
    node: Node, allowed: Iterable[str], faults: Faults, *, what: str = ""
) -> dict[str, Node]:
    """The entries of a mapping that are allowed; others are reported, as is anything that is no mapping."""
    allowed = tuple(allowed)
    if not isinstance(node.value, dict):
        if node.value is not None:
            faults.add(
                node.location,
                f"{as_yaml(node.data())} is not a mapping; {nearest('', allowed, kind='keys')}",
            )
        return {}
    for key in node.entries.keys() - set(allowed):
        mapping = node.location.path if node.location.path in SEPARATE_MAPPINGS else "script"
        remedy = new_or_nearest("script_keys", mapping, key, allowed, kind="keys")
        faults.add(node.keys[key], f"no such key {key!r}{what}; {remedy}")
    return {key: value for key, value in node.entries.items() if key in allowed}


SEPARATE_MAPPINGS = ("evaluation", "report", "search", "sweep")
"""Paths of the mappings whose keys are neither keys of a script nor of a method."""


def texts(node: Node, faults: Faults, what: str) -> list[Node]:
    """The texts of a list, or of one text standing for a list of one; anything else is reported."""
    found = []
    for item in node.items:
        if text(item):
            found.append(item)
        else:
            faults.add(item.location, f"{as_yaml(item.data())} is not {what} or a list of them")
    return found


def text(node: Node) -> str | None:
    """The text of a scalar that is one or, unquoted, reads like a number; None for anything else and for an empty text."""
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.raw
    return node.value if isinstance(node.value, str) and node.value.strip() else None


def entry(slot: str, node: Node) -> Node:
    """Return the mapping that a stage's name or a path of ``maps`` abbreviates."""
    word = "path" if slot == "maps" else "use"
    return Node({}, node.location).having(word, node) if isinstance(node.value, str) else node


NOTHING, FAULTY = Node(None, Location()), Node(None, Location())
"""What stands in a slot that a method does not have, and where a fault was reported of a slot as a whole."""


# --- the keys that are no stages ------------------------------------------------------------

Pixels = Annotated[float, Words("a finite number of pixels")]
Step = Annotated[float, Gt(0), Words("a whole number of pixels or 1/N of one")]


@dataclass(frozen=True)
class SearchKeys:
    """Disparity range instead of the scene's own, or parts of it.

    Parameters
    ----------
    minimum : float
        Smallest disparity tried, pixels.
    maximum : float
        Largest disparity tried, pixels; included.
    step : float
        Distance of neighbouring levels, pixels: N or 1/N.
    truth_margin : float
        Bounds that are not given: those of the true disparities, widened to both sides by this share of their range.
    """

    minimum: Pixels = 0
    maximum: Pixels = 0
    step: Step = 1
    truth_margin: NonNegative = 0


@dataclass(frozen=True)
class SeedKey:
    """What the stages' random numbers begin with.

    Parameters
    ----------
    seed : int
        Seed of the stages that draw random numbers and have none of their own.
    """

    seed: NonNegativeInt = 0


SEARCH = tuple(parameters_of(SearchKeys))
AUXILIARY_KEYS = ("include", *SLOTS, "auxiliary")
METHOD_KEYS = (*AUXILIARY_KEYS, "maps", "sweep", "seed", "search")
KEYS = ("name", "plugins", "scenes", "evaluation", "methods", "report", *METHOD_KEYS)


# --- axes -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Axis:
    """What a sweep varies.

    Parameters
    ----------
    name : str
        Address of what is varied: ``matching_cost``, ``aggregation.box.size``, ``search.step``, ``seed``.
    location : Location
        Of the axis's key.
    values : tuple of Node
        Empty if the axis has a fault.
    zipped : bool
        It moves together with the others that do.
    """

    name: str
    location: Location
    values: tuple[Node, ...]
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
            faults.add(node.location, "an empty axis; give at least one value")
        return node.value
    if not isinstance(node.value, dict) or len(node.value) != 1:
        said = f"{as_yaml(node.data())} is not a list of values; allowed: [value, ...]"
        faults.add(
            node.location,
            f"{said}, {{range: [first, last, step]}}, {{linspace or geomspace: [first, last, count]}}",
        )
        return []
    ((kind, arguments),) = node.value.items()
    if kind not in _KINDS:
        faults.add(
            node.keys[kind], f"no such kind of axis {kind!r}; {nearest(kind, _KINDS, kind='kinds')}"
        )
        return []
    given = arguments.data()
    if not isinstance(given, list) or len(given) != 3 or not all(map(is_number, given)):
        faults.add(
            arguments.location,
            f"{as_yaml(given)} is not three numbers: [first, last, {_KINDS[kind]}]",
        )
        return []
    try:
        count = _count(kind, *given)
        faults.count_values(node.location, count)
        found = [_number(kind, i, count, *given) for i in range(count)]
    except (ValueError, ArithmeticError) as error:
        faults.add(
            arguments.location,
            str(error)
            if isinstance(error, ValueError)
            else f"{as_yaml(given)}: numbers too far apart",
        )
        return []
    whole = all(isinstance(end, int) for end in given[:2])
    return [
        Node(int(value) if whole and value.denominator == 1 else float(value), node.location)
        for value in found
    ]


_KINDS = {"range": "step", "linspace": "count", "geomspace": "count"}
"""Kinds of axes that are generated, and what their third number is."""


def _count(kind: str, first: float, last: float, third: float) -> int:
    """How many numbers there are."""
    if kind == "range":
        if third == 0 or (last - first) * third < 0:
            raise ValueError(
                f"an empty axis: steps of {third!r} do not lead from {first!r} to {last!r}"
            )
        third = math.floor((_exact(last) - _exact(first)) / _exact(third)) + 1
    elif kind == "geomspace" and first * last <= 0:
        raise ValueError(
            f"geometric spacing from {first!r} to {last!r}: both ends must be above 0, or both below"
        )
    least = 1 if kind == "range" else 2
    if third != int(third) or not least <= third <= limits.SETTINGS:
        raise ValueError(
            f"{third!r} values; a whole number from {least} to {limits.SETTINGS} is possible"
        )
    return int(third)


def _number(kind: str, i: int, count: int, first: float, last: float, step: float) -> Fraction:
    """One of the numbers."""
    if kind == "range":
        return _exact(first) + i * _exact(step)
    if kind == "linspace":
        return _exact(first) + (_exact(last) - _exact(first)) * i / (count - 1)
    share = i / (count - 1)
    # 15 digits: the cube root of 1000 is then 10, not 9.999999999999998.
    return Fraction(f"{math.copysign(abs(first) ** (1 - share) * abs(last) ** share, first):.15g}")


def _exact(value: float) -> Fraction:
    """The decimal that the user wrote."""
    return Fraction(repr(value))
