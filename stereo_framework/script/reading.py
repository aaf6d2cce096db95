"""Reading a script's nodes: mappings with known keys, texts, and values under annotated keys.

The keys of a mapping are the fields of a dataclass. Its annotations say which values are legal, both here and in the JSON Schema.
"""

import sys
import typing
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Gt

from stereo_framework.core.errors import nearest
from stereo_framework.core.parameters import NonNegative, NonNegativeInt, Words, checkers_of, describe, parameters_of, spelled
from stereo_framework.core.stage import SLOTS
from stereo_framework.io.places import Faults, Node, Place


def read(keys: type, node: Node, faults: Faults, *, what: str = "", without: Collection[str] = ()) -> dict[str, Any]:
    """The values of a mapping, checked; what is wrong is reported and left out.

    Parameters
    ----------
    keys : dataclass
        Its fields are the legal keys; those without a default are needed.
    node : Node
    faults : Faults
    what : str
        After the name of a key that is none: ``" of a method"``.
    without : collection of str
        Fields that are no keys.
    """
    import pydantic

    legal = {name: parameter for name, parameter in parameters_of(keys).items() if name not in without}
    given = expect_mapping(node, legal, faults, what=what)
    needed = [name for name, parameter in legal.items() if parameter.default is parameter.empty]
    missing = [name for name in needed if name not in given]
    if missing:
        faults.add(node.place, f"{' and '.join(missing)} missing; it needs {', '.join(needed)}")
    found = {}
    for name, value in given.items():
        try:
            found[name] = checkers_of(keys)[name].validate_python(value.data(), strict=True)
        except pydantic.ValidationError as error:
            for fault in error.errors(include_url=False):
                wrong = (
                    fault["ctx"]["error"] if fault["type"] == "value_error" else _wrong(fault["input"], legal[name].annotation)
                )
                faults.add(_place(value, fault["loc"]), str(wrong))
    return found


def is_right(keys: type, name: str, node: Node, faults: Faults) -> bool:
    """Whether a value may stand under the key `name`; what is wrong with it is reported."""
    return name in read(keys, Node({name: node}, node.place, {name: node.place}), faults)


def _wrong(value: Any, annotation: Any) -> str:
    if typing.get_origin(annotation) is Literal:
        return f"{spelled(value)} is not legal; {nearest(str(value), typing.get_args(annotation))}"
    return f"{spelled(value)} is not {describe(annotation)}"


def _place(node: Node, steps: Iterable[int | str]) -> Place:
    """Where pydantic found something wrong: a value or, after ``[key]``, its key."""
    key = node.place
    for step in steps:
        if step == "[key]":
            return key
        key = node.keys.get(str(step), key)
        node = node.items[step] if isinstance(step, int) else node.entries[step]
    return node.place


_LARGEST = sys.float_info.max


def is_number(value: object) -> bool:
    """A finite int or float; true and false are none."""
    # A whole number that is too large for float64 is none that anything here can hold.
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def expect_mapping(node: Node, legal: Iterable[str], faults: Faults, *, what: str = "") -> dict[str, Node]:
    """The entries of a mapping that are legal; others are reported, as is anything that is no mapping."""
    legal = tuple(legal)
    if not isinstance(node.value, dict):
        if node.value is not None:
            faults.add(node.place, f"{spelled(node.data())} is not a mapping; {nearest('', legal, kind='keys')}")
        return {}
    for key in node.entries.keys() - set(legal):
        faults.add(node.keys[key], f"no such key {key!r}{what}; {nearest(key, legal, kind='keys')}")
    return {key: value for key, value in node.entries.items() if key in legal}


def texts(node: Node, faults: Faults, what: str) -> list[Node]:
    """The texts of a list, or of one text standing for a list of one; anything else is reported."""
    found = []
    for item in node.items:
        if text(item):
            found.append(item)
        else:
            faults.add(item.place, f"{spelled(item.data())} is not {what} or a list of them")
    return found


def text(node: Node) -> str | None:
    """The text of a scalar that is one or, unquoted, reads like a number; None for anything else and for an empty text."""
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.raw
    return node.value if isinstance(node.value, str) and node.value.strip() else None


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
ALTERNATIVE_KEYS = ("include", *SLOTS, "alternatives")
METHOD_KEYS = (*ALTERNATIVE_KEYS, "maps", "sweep", "seed", "search")
KEYS = ("name", "plugins", "scenes", "evaluation", "methods", "report", *METHOD_KEYS)
