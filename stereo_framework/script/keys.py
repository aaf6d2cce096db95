"""The keys of a script, and the checks of mappings with known keys and of texts.

The keys of a mapping are the fields of a dataclass. The annotations of the fields state
which values are allowed, both for the checks here and in the JSON Schema. The checks
themselves are those of pydantic.
"""

import sys
import typing
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Gt

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
from stereo_framework.io.document import Document
from stereo_framework.io.locations import Faults

Pixels = Annotated[float, Words("a finite number of pixels")]
SearchStep = Annotated[float, Gt(0), Words("a whole number of pixels or 1/N of one")]


@dataclass(frozen=True)
class SearchKeys:
    """Disparity range instead of the scene's own, or parts of it.

    Parameters
    ----------
    minimum : float
        Smallest disparity of the search range, in pixels.
    maximum : float
        Largest disparity of the search range, in pixels. It belongs to the range.
    step : float
        Distance of neighbouring levels, in pixels: N or 1/N.
    truth_margin : float
        Margin of the true disparities. Bounds that are not given are those of the true
        disparities, widened on both sides by this share of their range.
    """

    minimum: Pixels = 0
    maximum: Pixels = 0
    step: SearchStep = 1
    truth_margin: NonNegative = 0


@dataclass(frozen=True)
class SeedKey:
    """Seed of the stages that draw random numbers.

    Parameters
    ----------
    seed : int
        Seed of the stages that draw random numbers and have no seed of their own.
    """

    seed: NonNegativeInt = 0


SEARCH = tuple(parameters_of(SearchKeys))
AUXILIARY_KEYS = ("include", *SLOTS, "auxiliary")
METHOD_KEYS = (*AUXILIARY_KEYS, "maps", "sweep", "seed", "search", "scenes", "by_scene")
KEYS = ("name", "plugins", "evaluation", "methods", "report", *METHOD_KEYS)

SEPARATE_MAPPINGS = ("evaluation", "report", "search", "sweep")
"""Paths of the mappings whose keys are neither keys of a script nor of a method."""


def allowed_entries(
    document: Document, allowed: Iterable[str], faults: Faults, *, what: str = ""
) -> dict[str, Document]:
    """Return the entries of a mapping whose keys are allowed.

    All other keys are reported, and so are data that are no mapping.

    Parameters
    ----------
    document : Document
        A mapping, or null for an empty mapping.
    allowed : iterable of str
    faults : Faults
    what : str
        Words that follow an unknown key in its message, such as ``" of a method"``.
    """
    allowed = tuple(allowed)
    if document.data is not None and not isinstance(document.data, dict):
        keys = nearest("", allowed, kind="keys")
        faults.add(document.location, f"{as_yaml(document.data)} is not a mapping; {keys}")
        return {}
    path = document.location.path
    for key in document.mapping:
        if key not in allowed:
            mapping = path if path in SEPARATE_MAPPINGS else "script"
            remedy = new_or_nearest("script_keys", mapping, key, allowed, kind="keys")
            key_location = document.locations[key,].key or document.location
            faults.add(key_location, f"there is no key {key!r}{what}; {remedy}")
    return {key: document.part(key) for key in document.mapping if key in allowed}


def read_mapping(
    keys: type, document: Document, faults: Faults, *, without: Collection[str] = ()
) -> dict[str, Any]:
    """Return the values of a mapping that are allowed, and report all others.

    Parameters
    ----------
    keys : dataclass
        Its fields are the allowed keys. Fields without a default value are required.
    document : Document
    faults : Faults
    without : collection of str
        Fields that are not keys of the mapping.
    """
    parameters = {
        name: parameter for name, parameter in parameters_of(keys).items() if name not in without
    }
    entries = allowed_entries(document, parameters, faults)
    required = [
        name for name, parameter in parameters.items() if parameter.default is parameter.empty
    ]
    missing = [name for name in required if name not in entries]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        faults.add(
            document.location,
            f"{' and '.join(missing)} {verb} missing; required: {', '.join(required)}",
        )
    values = {}
    for name, entry in entries.items():
        is_right, value = _checked_value(keys, name, entry, faults)
        if is_right:
            values[name] = value
    return values


def is_right(keys: type, name: str, document: Document, faults: Faults) -> bool:
    """Return whether a value may stand under a key, and report its faults."""
    return _checked_value(keys, name, document, faults)[0]


def _checked_value(keys: type, name: str, document: Document, faults: Faults) -> tuple[bool, Any]:
    """Check the value of a key.

    Returns
    -------
    is_right : bool
    value : object
        The value as the type of the key demands, such as a tuple for a list.
    """
    import pydantic

    try:
        return True, checkers_of(keys)[name].validate_python(document.data, strict=True)
    except pydantic.ValidationError as error:
        for fault in error.errors(include_url=False):
            if fault["type"] == "value_error":
                message = str(fault["ctx"]["error"])
            else:
                message = _message(fault["input"], parameters_of(keys)[name].annotation)
            faults.add(document.location_of(fault["loc"]), message)
        return False, None


def _message(value: Any, annotation: Any) -> str:
    """Return the message about a value that an annotation does not allow."""
    if typing.get_origin(annotation) is Literal:
        choices = nearest(str(value), typing.get_args(annotation))
        return f"{as_yaml(value)} is not allowed; {choices}"
    return f"{as_yaml(value)} is not {describe(annotation)}"


_LARGEST = sys.float_info.max


def is_number(value: object) -> bool:
    """Return whether a value is a finite int or float, but neither true nor false."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # A whole number beyond the range of float64 cannot be used as a parameter.
    return -_LARGEST <= value <= _LARGEST


def text_of(document: Document) -> str | None:
    """Return the text of a scalar, or None if the scalar is empty or no text.

    A number without quotes is a text as well, as in the scene name ``007``.
    """
    data = document.data
    if isinstance(data, int | float) and not isinstance(data, bool):
        return document.location.unquoted_text
    return data if isinstance(data, str) and data.strip() else None


def texts_of(document: Document, faults: Faults, what: str) -> list[Document]:
    """Return the texts of a list, or of a single text. All other items are reported.

    Parameters
    ----------
    document : Document
    faults : Faults
    what : str
        Description of an item for the message, such as ``the name of a scene``.
    """
    texts = []
    for item in document.items():
        if text_of(item):
            texts.append(item)
        else:
            faults.add(item.location, f"{as_yaml(item.data)} is not {what} or a list of them")
    return texts


def texts_in(document: Document) -> tuple[str, ...]:
    """Return the texts of a list, or a single text, each once, without other items."""
    texts = [text_of(item) for item in document.items()]
    return tuple(dict.fromkeys(text for text in texts if text is not None))
