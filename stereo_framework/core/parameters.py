"""Parameters of stages and protocols: their types, bounds, units and checks.

The parameters of a function are its keyword-only arguments. The parameters of a
dataclass are its fields. Annotations give the type, the bounds and the unit of a
parameter. Values are checked, but never converted. For example, a number refuses the
text ``"20"``.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """Unit of a parameter, such as pixels, as a part of its type annotation.

    Charts, reports and the command line show the unit. Counts such as `iterations` have
    no unit.

    Parameters
    ----------
    text : str
        Name of the unit, such as ``pixels`` or ``grey levels``.

    Examples
    --------
    >>> unit(Annotated[PositiveInt, Unit("pixels")])
    'pixels'
    """

    text: str


@dataclass(frozen=True)
class Words:
    """Description of the allowed values of a parameter, for messages.

    Without this annotation, messages describe the type and its bounds, such as "a
    number > 0".

    Examples
    --------
    >>> describe(Annotated[int, Words("an odd number")])
    'an odd number'
    """

    text: str


@dataclass(frozen=True)
class InSlot:
    """Slot of a parameter whose value is a stage, as a part of its type annotation.

    Such a stage is called the inner stage. Its value is a `Step`, which consists of the
    stage and the values of its parameters.

    Parameters
    ----------
    slot : str
        Name of the slot of the inner stage, such as ``aggregation``.

    Examples
    --------
    >>> from stereo_framework.core.step import Step
    >>> describe(Annotated[Step, InSlot("aggregation")] | None)
    'a stage of aggregation or null'
    """

    slot: str

    @property
    def text(self) -> str:
        """Return a description of the allowed values, for messages."""
        return f"a stage of {self.slot}"

    def check(self, value: Any) -> Any:
        """Return a step of the slot; raise a ValueError for any other value."""
        stage = getattr(value, "stage", None)
        if getattr(stage, "slot", None) == self.slot:
            return value
        if isinstance(value, str):
            raise ValueError(f"{value!r} is a text; expected a step, such as step({value!r})")
        if isinstance(value, Mapping):
            raise ValueError("a mapping; expected a step, such as step('NAME', parameter=value)")
        description = as_yaml(value)
        if stage is not None:
            description = f"{stage.name}, a stage of {stage.slot},"
        raise ValueError(f"{description} is not {self.text}")

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.check)


def inner_slot(annotation: Any) -> str | None:
    """Return the slot of an inner stage's annotation, or None for other annotations."""
    for part in _parts(annotation):
        if isinstance(part, InSlot):
            return part.slot
    return None


@dataclass(frozen=True)
class Checked:
    """Check of a parameter value, as a part of its type annotation.

    Parameters
    ----------
    check : callable
        Function that takes a value and returns the checked value. The function raises a
        ValueError if the value is not allowed. Users see the text of this error.
    schema : callable
        Function that takes the JSON Schema of the annotated type. The result is the
        JSON Schema of the values that `check` accepts.
    """

    check: Callable[[Any], Any]
    schema: Callable[[dict[str, Any]], dict[str, Any]] = lambda schema_of_type: schema_of_type

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return self.schema(handler(core))


def _with_other_paths(value: Any, change: Callable[[str], str]) -> Any:
    """Return a path, or a list of paths, with each path changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [change(path) for path in value]
    return value


@dataclass(frozen=True)
class Located:
    """Rule that resolves relative file paths in a value, as a part of an annotation.

    Paths in a script are relative to the folder of the script.

    Parameters
    ----------
    resolve : callable
        Function that takes a value and a folder. The result is the value with absolute
        paths.
    replace : callable
        Function that takes a resolved value and a second function. The result is the
        value in which each path is replaced by the result of the second function. The
        default treats the whole value as a path, or as a list of paths.
    files_decide : bool
        Whether the files that the argument ``files`` of `stage` lists contain
        everything for which the stage uses the value. An example is a folder in which
        the stage finds the file of its scene. The identity of a run then contains the
        content of the files instead of the value.
    """

    resolve: Callable[[Any, Path], Any]
    replace: Callable[[Any, Callable[[str], str]], Any] = _with_other_paths
    files_decide: bool = False


def in_folder(path: str, folder: Path) -> str:
    """Return a path that starts at a folder, or at the home folder after ``~``."""
    return str(folder / Path(path).expanduser())


FilePath = Annotated[str, Located(in_folder)]
"""Annotation of the path of a file.

A relative path in a script starts at the folder of the script. A default value and a
path in a direct call start at the working folder.
"""

FilePaths = Annotated[
    list[str], Located(lambda paths, folder: [in_folder(path, folder) for path in paths])
]
"""Annotation of a list of paths, see `FilePath`."""


def resolve_paths(annotation: Any, value: Any, folder: Path) -> Any:
    """Resolve relative paths in a value if its annotation contains a `Located` rule.

    Parameters
    ----------
    annotation : object
    value : object
        Value of the annotated parameter.
    folder : Path
        Folder that contains the relative paths, such as the folder of a script.
    """
    rule = path_rule(annotation)
    return value if rule is None or value is None else rule.resolve(value, folder)


def path_rule(annotation: Any) -> Located | None:
    """Return the rule for the file paths in a value, or None if it contains none."""
    rules = [part for part in _parts(annotation) if isinstance(part, Located)]
    return rules[0] if rules else None


def _parts(annotation: Any) -> Iterator[Any]:
    """Yield an annotation and all types, bounds and units inside it."""
    yield annotation
    for part in typing.get_args(annotation):
        yield from _parts(part)


@functools.cache
def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function or a dataclass by name.

    Parameters
    ----------
    function : callable
        Function or dataclass, such as the function of a stage.

    Returns
    -------
    mapping of str to inspect.Parameter
        Parameters by name. Annotations such as ``"int"`` are replaced by their types.

    Raises
    ------
    ParameterError
        An annotation contains a name that does not exist.
    """
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if dataclasses.is_dataclass(function) or parameter.kind is parameter.KEYWORD_ONLY
    }
    # Annotations of data arguments are not resolved. Some of their names are imported
    # only for type checkers.
    holder = types.SimpleNamespace(
        __annotations__={name: parameter.annotation for name, parameter in parameters.items()}
    )
    scope = getattr(inspect.unwrap(function), "__globals__", None)
    if not scope:
        scope = vars(sys.modules[function.__module__])
    try:
        hints = typing.get_type_hints(holder, scope, include_extras=True)
    except Exception as error:  # An annotation in a plug-in may raise any exception.
        message = (
            f"{source_location(function)}: an annotation of {function.__name__}: "
            f"{describe_exception(error)}"
        )
        raise ParameterError(message) from error
    return types.MappingProxyType(
        {name: parameter.replace(annotation=hints[name]) for name, parameter in parameters.items()}
    )


@functools.cache
def checkers_of(function: Callable[..., Any]) -> Mapping[str, pydantic.TypeAdapter[Any]]:
    """Return a pydantic type check for each parameter of a function or a dataclass.

    Raises
    ------
    ParameterError
        pydantic does not support the type of a parameter.
    """
    import pydantic

    strict = pydantic.ConfigDict(strict=True, allow_inf_nan=False)
    checkers = {}
    for name, parameter in parameters_of(function).items():
        annotation = parameter.annotation
        kind = annotation
        if typing.get_origin(annotation) is Annotated:
            kind = typing.get_args(annotation)[0]
        # pydantic allows no configuration for a dataclass. The constructor of the
        # dataclass checks its fields.
        config = None if dataclasses.is_dataclass(kind) else strict
        try:
            checkers[name] = pydantic.TypeAdapter(annotation, config=config)
        except pydantic.errors.PydanticUserError as error:
            message = (
                f"{source_location(function)}: an annotation of {function.__name__}: "
                f"{describe(annotation)} is not supported; "
                "expected numbers, texts or lists of these"
            )
            raise ParameterError(message) from error
    return checkers


def _check_values(
    function: Callable[..., Any], parameters: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Check the values of parameters, and add missing default values.

    Returns
    -------
    values : dict of str to object
        Values of all parameters without a fault, by name. A default value is copied.
    faults : dict of str to str
        Error messages by the name of the parameter.
    """
    known_parameters = parameters_of(function)
    checkers = checkers_of(function)
    assigned = {str(name): as_python_number(value) for name, value in parameters.items()}
    values: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for name, parameter in known_parameters.items():
        if name in assigned:
            try:
                values[name] = _checked_value(checkers[name], parameter.annotation, assigned[name])
            except ValueError as error:
                faults[name] = str(error)
            continue
        if parameter.default is parameter.empty:
            faults[name] = "is missing"
        else:
            values[name] = copy.deepcopy(parameter.default)
    for name in assigned:
        if name not in known_parameters:
            faults[name] = _no_parameter(function, name)
    return values, faults


def _checked_value(checker: pydantic.TypeAdapter[Any], annotation: Any, value: Any) -> Any:
    """Check a value against its type annotation, and return the checked value.

    Parameters
    ----------
    checker : TypeAdapter
        Check of pydantic for the annotation.
    annotation, value : object

    Raises
    ------
    ValueError
        The value is not allowed.
    """
    import pydantic

    try:
        checked = checker.validate_python(value, strict=True)
    except pydantic.ValidationError as error:
        message = _message_about_value(annotation, value, error)
        raise ValueError(message) from None
    is_large = isinstance(value, int) and value > limits.WINDOW
    if is_large and unit(annotation) == "pixels":
        message = (
            f"{as_yaml(value)} pixels are more than any image has in a row; "
            f"allowed: up to {limits.WINDOW}"
        )
        raise ValueError(message)
    return checked


def _message_about_value(annotation: Any, value: Any, error: pydantic.ValidationError) -> str:
    """Return a message for the user about a value that pydantic does not allow."""
    fault = error.errors(include_url=False)[-1]
    if fault["type"] == "value_error":
        # The check of a `Checked` annotation wrote this message for the user.
        return str(fault["ctx"]["error"])
    message = f"{as_yaml(value)} is not {describe(annotation)}"
    similar_choices = close_names(value, _choices(annotation)) if isinstance(value, str) else []
    if similar_choices:
        message = f"{message}; did you mean {similar_choices[0]!r}?"
    return message


def _no_parameter(function: Callable[..., Any], name: str) -> str:
    """Return a message about an unknown parameter of a function."""
    # Users do not know the names of dataclasses.
    owner = "" if dataclasses.is_dataclass(function) else f" of {function.__name__}"
    hint = parameter_hint(function, name)
    remedy = hint or nearest(name, parameters_of(function), kind="parameters")
    return f"no such parameter{owner}; {remedy}"


def parameter_faults(function: Callable[..., Any], parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return an error message for each wrong parameter, by the parameter's name."""
    return _check_values(function, parameters)[1]


def with_defaults(function: Callable[..., Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Check the values of parameters, and complete them with default values.

    Parameters
    ----------
    function : callable
    parameters : mapping of str to object
        Values by the name of the parameter.

    Raises
    ------
    ParameterError
        A parameter is unknown, a value is missing, or a value is not allowed. The
        message has one line for each fault.
    """
    values, faults = _check_values(function, parameters)
    if faults:
        lines = [f"{function.__name__}.{name}: {message}" for name, message in faults.items()]
        raise ParameterError("\n".join(lines))
    return values


def default_parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Return copies of the default values of all parameters of a function, by name."""
    return {
        name: copy.deepcopy(parameter.default)
        for name, parameter in parameters_of(function).items()
    }


def check_kind(
    function: str, name: str, value: Any, kind: type | tuple[type, ...], expected: str
) -> None:
    """Raise an error if an argument does not have the expected type.

    Parameters
    ----------
    function, name : str
        Names of the function and the argument, for the error message.
    value : object
    kind : type or tuple of type
        Allowed types.
    expected : str
        Description of the allowed types, for the error message.

    Raises
    ------
    ParameterError
        The value has a type that is not allowed.
    """
    if not isinstance(value, kind):
        raise ParameterError(f"{function}: {name} is {in_short(value)}; expected {expected}")


def brief(kind: type[T]) -> type[T]:
    """Give a dataclass a ``repr`` with the shapes of arrays instead of their elements.

    This class decorator also hides fields with the value None, False or empty.
    """

    def representation(self: Any) -> str:
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        texts = [
            f"{name}={in_short(value)}" for name, value in values.items() if not _is_empty(value)
        ]
        return f"{kind.__name__}({', '.join(texts)})"

    kind.__repr__ = representation  # type: ignore[method-assign]
    return kind


def in_short(value: Any) -> str:
    """Return a short description of a value, in one line.

    An array is described by its type and shape, such as ``float32 (20, 30)``. Most
    values are described by their ``repr``. A long ``repr`` is shortened in the middle.
    """
    if hasattr(value, "dtype") and getattr(value, "shape", None):
        return _array_in_short(value)
    if isinstance(value, dict):
        items = [f"{name!r}: {in_short(item)}" for name, item in value.items()]
        return f"{{{', '.join(items)}}}"
    if isinstance(value, tuple | list) and any(isinstance(item, np.ndarray) for item in value):
        noun = "a list of " if isinstance(value, list) else ""
        return f"{noun}({', '.join(map(in_short, value))})"
    text = " ".join(_printed(value).split())
    return text if len(text) <= 200 else f"{text[:90]} ... {text[-90:]}"


def _array_in_short(array: Any) -> str:
    """Return the type and shape of an array as a text, such as ``float32 (20, 30)``."""
    description = f"{array.dtype} {array.shape}"
    if isinstance(array, np.ma.MaskedArray):
        return f"a masked array of {description}"
    return description


def _printed(value: Any) -> str:
    """Return the ``repr`` of a value, or the name of its class if ``repr`` fails."""
    try:
        return repr(value)
    except ValueError:  # Python cannot print a whole number of more than 4300 digits.
        return "a number of thousands of digits"
    except Exception:  # The ``repr`` of a user's class may raise any exception.
        return f"an object of {type(value).__name__}"


def _is_empty(value: Any) -> bool:
    """Return whether a value is None, False, an empty tuple or an empty dictionary."""
    is_empty_collection = isinstance(value, tuple | dict) and not value
    return value is None or value is False or is_empty_collection


def as_python_number(value: Any) -> Any:
    """Convert a NumPy number to a Python number; keep any other value."""
    return value.item() if isinstance(value, np.generic) else value


def _choices(annotation: Any) -> list[str]:
    """Return the texts in the `Literal` types of an annotation, such as "left"."""
    choices: list[Any] = []
    for part in _parts(annotation):
        if typing.get_origin(part) is Literal:
            choices += typing.get_args(part)
    return [choice for choice in choices if isinstance(choice, str)]


_NOUNS = {
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    str: "a text",
    type(None): "null",
}


def describe(annotation: Any) -> str:
    """Describe the values that an annotation allows.

    Examples
    --------
    >>> describe(Positive | None)
    'a number > 0 or null'
    """
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is Annotated:
        return _describe_annotated(arguments[0], arguments[1:])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(describe, arguments))
    if origin is Literal:
        choices = ", ".join(map(str, arguments))
        return f"one of {choices}" if len(arguments) > 1 else choices
    if origin in (list, tuple):
        return f"a list of {describe(arguments[0])}" if arguments else "a list"
    return _NOUNS.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _describe_annotated(base: Any, extras: Sequence[Any]) -> str:
    """Describe the values that a type with bounds, `Words` or `InSlot` allows."""
    words = [extra.text for extra in extras if isinstance(extra, Words | InSlot)]
    if words:
        return words[-1]
    bounds = bounds_in_words(extras)
    return f"{describe(base)} {bounds}" if bounds else describe(base)


def bounds_in_words(extras: Sequence[Any]) -> str:
    """Describe the bounds in the metadata of an annotation.

    Examples
    --------
    >>> bounds_in_words([Ge(0), Unit("pixels"), Lt(1)])
    '>= 0 and < 1'
    """
    texts = []
    for extra in extras:
        if isinstance(extra, Gt):
            texts.append(f"> {extra.gt:g}")
        elif isinstance(extra, Ge):
            texts.append(f">= {extra.ge:g}")
        elif isinstance(extra, Lt):
            texts.append(f"< {extra.lt:g}")
        elif isinstance(extra, Le):
            texts.append(f"<= {extra.le:g}")
    return " and ".join(texts)


def unit(annotation: Any) -> str:
    """Return the unit in an annotation, such as ``pixels``; empty if there is none."""
    return next((part.text for part in _parts(annotation) if isinstance(part, Unit)), "")


def as_yaml(value: Any) -> str:
    """Return a value in YAML for a message, such as ``null`` for None.

    Long texts are shortened in the middle. Arrays and tables are described by their
    type and shape.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    # The ``repr`` of an array or a table has several lines.
    if hasattr(value, "dtype") or hasattr(value, "columns"):
        return in_short(value)
    return short(" ".join(_printed(value).splitlines()), _VALUE_LENGTH)


_VALUE_LENGTH = 80
"""Maximum length of a value in a message, in characters."""
