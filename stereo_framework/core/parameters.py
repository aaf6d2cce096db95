"""Parameters: annotated types and bounds, what is wrong with values, and their words and units.

Parameters are the keyword-only ones of a function, such as a stage, or the fields of a dataclass. Annotations are types and bounds, defaults are
defaults. Nothing is converted: neither ``true`` nor ``"20"`` is a number.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from stereo_framework.core import limits
from stereo_framework.core.errors import (
    ParameterError,
    close_names,
    describe_exception,
    nearest,
    short,
    source_location,
)
from stereo_framework.core.former_names import parameter_hint

if TYPE_CHECKING:
    import pydantic

T = TypeVar("T")

Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
PositiveInt = Annotated[int, Ge(1)]
NonNegativeInt = Annotated[int, Ge(0)]
Fraction01 = Annotated[float, Ge(0), Le(1)]


@dataclass(frozen=True)
class Unit:
    """Unit of a stage's parameter, in its annotation: ``size: Annotated[PositiveInt, Unit("pixels")] = 9``.

    Plots, pages and the command line take it from there. What is no quantity has none, nor has a count that its name explains (`iterations`).

    Parameters
    ----------
    text : str
        As it follows a number: ``pixels``, ``grey levels``, ``levels`` (of disparity), ``passes``, ``units of the matching cost``.
    """

    text: str


@dataclass(frozen=True)
class Words:
    """What is allowed, in an annotation whose type and bounds do not say it well: ``Annotated[int, Predicate(is_odd), Words("an odd number")]``."""

    text: str


@dataclass(frozen=True)
class Checked:
    """In an annotation: what a value is put through before its type is checked, and what becomes of its JSON Schema.

    Parameters
    ----------
    check : callable
        Returns the value, or another one in its place. A ValueError is the message about the value.
    schema : callable
        Takes the type's own JSON Schema.
    """

    check: Callable[[Any], Any]
    schema: Callable[[dict[str, Any]], dict[str, Any]] = lambda own: own

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return self.schema(handler(core))


@dataclass(frozen=True)
class Located:
    """In an annotation: the value names files, and what becomes of it when a script in some folder says it.

    Parameters
    ----------
    start : callable
        Takes the value and the folder; returns the value with all relative paths starting there.
    """

    start: Callable[[Any, Path], Any]


def located(annotation: Any, value: Any, folder: Path) -> Any:
    """An allowed value with the files that it names, if its annotation says that it names some, found from a folder."""
    for part in _parts(annotation):
        if isinstance(part, Located) and value is not None:
            value = part.start(value, folder)
    return value


def _parts(annotation: Any) -> Iterator[Any]:
    """An annotation and all that it is made of: its type, alternatives, elements, bounds, units."""
    yield annotation
    for part in typing.get_args(annotation):
        yield from _parts(part)


@functools.cache
def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Parameters by name, annotations resolved: the keyword-only ones of a function, all fields of a dataclass."""
    every = inspect.signature(function).parameters.values()
    own = {
        p.name: p for p in every if dataclasses.is_dataclass(function) or p.kind is p.KEYWORD_ONLY
    }
    # Annotations of data may name what only type checkers import.
    written = types.SimpleNamespace(__annotations__={name: p.annotation for name, p in own.items()})
    names = getattr(inspect.unwrap(function), "__globals__", None) or vars(
        sys.modules[function.__module__]
    )
    try:
        hints = typing.get_type_hints(written, names, include_extras=True)
    except Exception as error:
        raise ParameterError(
            f"{source_location(function)}: an annotation of {function.__name__}: {describe_exception(error)}"
        ) from error
    return types.MappingProxyType(
        {name: p.replace(annotation=hints[name]) for name, p in own.items()}
    )


@functools.cache
def checkers_of(function: Callable[..., Any]) -> Mapping[str, pydantic.TypeAdapter[Any]]:
    """Pydantic's strict check of each parameter's annotation, by name; built on first use."""
    import pydantic

    found = {}
    for name, parameter in parameters_of(function).items():
        annotation = parameter.annotation
        kind = (
            typing.get_args(annotation)[0]
            if typing.get_origin(annotation) is Annotated
            else annotation
        )
        # Records have checked themselves, and pydantic refuses to be told how to check them.
        config = (
            None
            if dataclasses.is_dataclass(kind)
            else pydantic.ConfigDict(strict=True, allow_inf_nan=False)
        )
        try:
            found[name] = pydantic.TypeAdapter(annotation, config=config)
        except pydantic.errors.PydanticUserError as error:
            wrong = f"an annotation of {function.__name__}: {describe(annotation)} is none of numbers, texts and lists of these"
            raise ParameterError(f"{source_location(function)}: {wrong}") from error
    return found


def _checked(
    function: Callable[..., Any], parameters: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The values that are allowed, with the defaults of what is not given, and messages about all others, both by name."""
    import pydantic

    allowed, checkers = parameters_of(function), checkers_of(function)
    given = {str(name): plain(value) for name, value in parameters.items()}
    values: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for name, parameter in allowed.items():
        if name not in given:
            values[name] = copy.deepcopy(parameter.default)
            if parameter.default is parameter.empty:
                faults[name] = "is missing"
            continue
        value, annotation = given[name], parameter.annotation
        try:
            values[name] = checkers[name].validate_python(value, strict=True)
        except pydantic.ValidationError as error:
            fault = error.errors(include_url=False)[-1]
            close = close_names(value, _choices(annotation)) if isinstance(value, str) else []
            near = f"; did you mean {close[0]!r}?" if close else ""
            own_words = fault["type"] == "value_error"
            faults[name] = (
                str(fault["ctx"]["error"])
                if own_words
                else f"{spelled(value)} is not {describe(annotation)}{near}"
            )
        else:
            if isinstance(value, int) and value > limits.WINDOW and unit(annotation) == "pixels":
                faults[name] = (
                    f"{spelled(value)} pixels are more than any image has in a row; allowed: up to {limits.WINDOW}"
                )
    for name in given:
        if name not in allowed:
            faults[name] = _no_parameter(function, name)
    return values, faults


def _no_parameter(function: Callable[..., Any], name: str) -> str:
    """Return the message about a parameter that a function does not have."""
    # Users do not know the names of dataclasses.
    owner = "" if dataclasses.is_dataclass(function) else f" of {function.__name__}"
    hint = parameter_hint(function, name)
    remedy = hint or nearest(name, parameters_of(function), kind="parameters")
    return f"no such parameter{owner}; {remedy}"


def parameter_faults(function: Callable[..., Any], parameters: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with values of parameters: messages by name, empty when all is well."""
    return _checked(function, parameters)[1]


def with_defaults(function: Callable[..., Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters: those given, checked, and the defaults of the rest, in signature order.

    Raises
    ------
    ParameterError
        Unknown names, or values that are not allowed, one line each.
    """
    values, faults = _checked(function, parameters)
    if faults:
        raise ParameterError(
            "\n".join(f"{function.__name__}.{name}: {message}" for name, message in faults.items())
        )
    return values


def check_kind(
    function: str, name: str, value: Any, kind: type | tuple[type, ...], expected: str
) -> None:
    """Refuse an argument of another kind than a function takes.

    Parameters
    ----------
    function, name : str
        The function and its argument, as messages name them.
    value : object
    kind : type or tuple of type
    expected : str
        What it takes, in words.

    Raises
    ------
    ParameterError
        `value` is of another kind.
    """
    if not isinstance(value, kind):
        raise ParameterError(f"{function}: {name} is {in_short(value)}; expected {expected}")


def brief(kind: type[T]) -> type[T]:
    """Let objects of a dataclass print types and shapes of the arrays that they hold, instead of all numbers; what is None, False or empty is left out."""

    def shown(self: Any) -> str:
        values = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        told = (
            f"{name}={in_short(value)}"
            for name, value in values
            if not (value is None or _is_empty(value))
        )
        return f"{kind.__name__}({', '.join(told)})"

    kind.__repr__ = shown  # type: ignore[method-assign]
    return kind


def in_short(value: Any) -> str:
    """An array as ``float32 (20, 30)``, anything else as it prints, in one line, its middle left out where that is long."""
    if hasattr(value, "dtype") and getattr(value, "shape", None):
        return f"{'a masked array of ' * isinstance(value, np.ma.MaskedArray)}{value.dtype} {value.shape}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {in_short(item)}" for name, item in value.items()) + "}"
    if isinstance(value, tuple | list) and any(isinstance(item, np.ndarray) for item in value):
        return f"{'a list of ' * isinstance(value, list)}({', '.join(map(in_short, value))})"
    text = " ".join(_printed(value).split())
    return text if len(text) <= 200 else f"{text[:90]} ... {text[-90:]}"


def _printed(value: Any) -> str:
    """Return the ``repr`` of a value, or its class if it has none."""
    try:
        return repr(value)
    except ValueError:  # Python writes no number of more than 4300 digits.
        return "a number of thousands of digits"
    except Exception:  # The repr of a class of the user may raise anything.
        return f"an object of {type(value).__name__}"


def _is_empty(value: Any) -> bool:
    return value is False or (isinstance(value, tuple | dict) and not value)


def plain(value: Any) -> Any:
    """A number computed with numpy as the number that one would write down."""
    return value.item() if isinstance(value, np.generic) else value


def _choices(annotation: Any) -> list[str]:
    """The texts that an annotation lists, itself or as one of its alternatives."""
    lists = (
        typing.get_args(part) for part in _parts(annotation) if typing.get_origin(part) is Literal
    )
    return [value for values in lists for value in values if isinstance(value, str)]


def describe(annotation: Any) -> str:
    """An annotation in words: ``Positive | None`` is "a number > 0 or null"."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        told = [extra.text for extra in arguments[1:] if isinstance(extra, Words)]
        if told:
            return told[-1]
        signs = {Gt: (">", "gt"), Ge: (">=", "ge"), Lt: ("<", "lt"), Le: ("<=", "le")}
        bounds = [(b, *signs[type(b)]) for b in arguments[1:] if type(b) in signs]
        limits = [f"{sign} {getattr(bound, field):g}" for bound, sign, field in bounds]
        return " ".join([describe(arguments[0]), " and ".join(limits)]).strip()
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe(a) for a in arguments)
    if origin is Literal:
        return ("one of " if len(arguments) > 1 else "") + ", ".join(map(str, arguments))
    if origin in (list, tuple):
        return "a list" + (f" of {describe(arguments[0])}" if arguments else "")
    words = {
        float: "a number",
        int: "a whole number",
        bool: "true or false",
        str: "a text",
        type(None): "null",
    }
    return words.get(annotation, getattr(annotation, "__name__", str(annotation)))


def unit(annotation: Any) -> str:
    """Unit in an annotation or one of its alternatives; empty where there is none."""
    return next((part.text for part in _parts(annotation) if isinstance(part, Unit)), "")


def spelled(value: Any) -> str:
    """A value as a script spells it, for a message: the middle of a long one is left out."""
    if isinstance(value, bool | None):
        return {True: "true", False: "false", None: "null"}[value]
    if hasattr(value, "dtype") or hasattr(value, "columns"):
        return in_short(value)  # an array or a table, whose repr has several lines
    return short(" ".join(_printed(value).splitlines()), _SHOWN)


_SHOWN = 80
"""Characters of a value in a message."""
