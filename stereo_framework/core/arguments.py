"""Checks that compare the arguments of public functions with their type annotations.

The decorator `checked` compares each argument of a call with its type annotation. A
wrong argument raises an `ArgumentError`. Pipelines call their stages without these
checks, for speed.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import os
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from stereo_framework.core import former_names
from stereo_framework.core.errors import ArgumentError
from stereo_framework.core.parameters import Checked, Words, bounds_in_words, in_short

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

AnyNumber = Annotated[float, Words("a number, or NaN")]
"""Annotation of a number that may be infinite or NaN.

The annotation ``float`` accepts only finite numbers.
"""


def checked(**expected: str) -> Callable[[F], F]:
    """Return a decorator that compares arguments with the annotations of a function.

    The decorator also converts NumPy numbers to Python numbers, and PyTorch tensors to
    NumPy arrays. Parameters without an annotation are not checked.

    Parameters
    ----------
    **expected : str
        Description of the accepted values, for error messages. The keyword is the name
        of the parameter. Default: a description of the annotation.

    Returns
    -------
    callable
        Decorator. The decorated function raises an ArgumentError for a wrong argument.

    Examples
    --------
    >>> @checked(size="a whole number >= 1, in pixels")
    ... def window(size: int, names: Sequence[str] = ()) -> int:
    ...     return size
    >>> window(5)
    5
    >>> for arguments in [("5",), (5, "abc")]:
    ...     try:
    ...         window(*arguments)
    ...     except ArgumentError as error:
    ...         print(error)
    window: size is '5'; expected a whole number >= 1, in pixels
    window: names is 'abc'; expected a list of texts
    """

    def decorate(function: F) -> F:
        check = _Check(function, expected)

        @functools.wraps(function)
        def with_check(*arguments: Any, **keyword_arguments: Any) -> Any:
            checked_arguments = check.positional(arguments)
            if not keyword_arguments:
                return function(*checked_arguments)
            return function(*checked_arguments, **check.by_name(keyword_arguments))

        return typing.cast(F, with_check)

    return decorate


def checked_fields(**expected: str) -> Callable[[C], C]:
    """Return a class decorator that checks the arguments of the constructor.

    Parameters
    ----------
    **expected : str
        Description of the accepted values, for error messages. The keyword is the name
        of the field.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @checked_fields()
    ... @dataclass
    ... class Camera:
    ...     focal_length: float
    >>> try:
    ...     Camera("1000 px")
    ... except ArgumentError as error:
    ...     print(error)
    Camera: focal_length is '1000 px'; expected a finite number
    """

    def decorate(cls: C) -> C:
        """Add argument checks to the constructor of a class."""
        unchecked_constructor = cls.__init__  # type: ignore[misc]
        cls.__init__ = checked(**expected)(unchecked_constructor)  # type: ignore[misc]
        return cls

    return decorate


def calling_module() -> str:
    """Return the name of the module that called a registration function.

    For example, `evaluation.protocol` stores the module that registers a protocol.
    Calls of the decorator `checked` are skipped.
    """
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__") == __name__ and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "__main__"))


class _Check:
    """Argument checks of one function, based on its type annotations.

    Text annotations (``"Image | None"``) are converted to types at the first call.
    Converting them at import would slow down the import.

    Parameters
    ----------
    function : callable
        Function whose arguments are checked.
    expected : mapping of str to str
        Descriptions of the accepted values, by parameter name.
    """

    def __init__(self, function: Callable[..., Any], expected: Mapping[str, str]):
        self.function = function
        self.expected = expected
        self.label = function.__qualname__.removesuffix(".__init__").removesuffix(".__call__")

    @functools.cached_property
    def _parameters(self) -> tuple[inspect.Parameter, ...]:
        return tuple(inspect.signature(self.function).parameters.values())

    @functools.cached_property
    def _in_order(self) -> tuple[str, ...]:
        """Names of the positional parameters."""
        return tuple(
            p.name
            for p in self._parameters
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        )

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(parameter.name for parameter in self._parameters)

    @functools.cached_property
    def _variadic_name(self) -> str:
        """Name of the parameter with a star (``*names``), or an empty text."""
        return next((p.name for p in self._parameters if p.kind is p.VAR_POSITIONAL), "")

    @functools.cached_property
    def _annotations(self) -> Mapping[str, Any]:
        texts = {
            p.name: p.annotation
            for p in self._parameters
            if p.annotation is not p.empty and p.kind is not p.VAR_KEYWORD
        }
        return _resolved(texts, vars(sys.modules[self.function.__module__]))

    def positional(self, arguments: Sequence[Any]) -> list[Any]:
        """Check and convert the positional arguments of a call."""
        names = self._in_order
        values = []
        for i, value in enumerate(arguments):
            name = names[i] if i < len(names) else self._variadic_name
            values.append(self._value(name, value))
        return values

    def by_name(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Check and convert the keyword arguments of a call."""
        # Only unknown parameter names are searched in the table of former names,
        # because the search is slow.
        if not self._names.issuperset(arguments):
            former_names.check_arguments(self.label, arguments, self._names)
        return {name: self._value(name, value) for name, value in arguments.items()}

    def _value(self, name: str, value: Any) -> Any:
        """Convert one argument to the annotated type.

        Raises
        ------
        ArgumentError
            The argument does not fit the annotation of its parameter.
        """
        annotation = self._annotations.get(name, Any)
        # Comparing the classes is faster than the complete check. A float may still be
        # infinite or NaN.
        if annotation is Any or (type(value) is annotation and annotation is not float):
            return value
        try:
            return fit_value(annotation, value, name)
        except Misfit as misfit:
            # `self.expected` describes whole arguments, but not items such as names[1].
            description = ""
            if misfit.place == name:
                description = self.expected.get(name, "")
            expected = description or expected_kind(misfit.annotation)
            message = f"{self.label}: {misfit.place} is {misfit.event}; expected {expected}"
        raise ArgumentError(message)


def _resolved(texts: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Convert annotations that are texts, such as ``"int | None"``, to types.

    A package may be imported only under ``if TYPE_CHECKING``. Such a package is
    imported here.

    Parameters
    ----------
    texts : mapping of str to object
        Annotations, by parameter name.
    names : mapping of str to object
        Global variables of the annotated module.
    """
    scope = dict(names)
    holder = types.SimpleNamespace(__annotations__=dict(texts))
    while True:
        try:
            return typing.get_type_hints(holder, scope, include_extras=True)
        except NameError as error:
            package = str(error.name)
            scope[package] = importlib.import_module(package)


class Misfit(Exception):
    """Error about a value that does not fit a type annotation.

    Parameters
    ----------
    place : str
        Name of the argument (``names``) or of an item (``names[1]``).
    value : object
        The value, which does not fit the type annotation.
    annotation : object
        Type annotation of the argument or item.
    event : str, optional
        Description of the value for the error message. Default:
        ``describe_value(value)``.
    """

    def __init__(self, place: str, value: Any, annotation: Any, event: str = ""):
        super().__init__(place)
        self.place = place
        self.annotation = annotation
        self._value = value
        self._event = event

    @property
    def event(self) -> str:
        """Description of the value that does not fit.

        Describing a large list is slow. Therefore the text is computed on demand.
        """
        return self._event or describe_value(self._value)


def fit_value(annotation: Any, value: Any, place: str) -> Any:
    """Convert a value to an annotated type, or raise a `Misfit`.

    Parameters
    ----------
    annotation : object
        Type such as ``Sequence[float] | None``.
    value : object
        Value that is checked.
    place : str
        Name of the value, for error messages.

    Raises
    ------
    Misfit
        The value does not fit the annotation.
    """
    if annotation is Any or annotation is object or isinstance(annotation, TypeVar):
        return value
    origin = typing.get_origin(annotation)
    fit = _FITS.get(origin or annotation, _fit_class)
    return fit(annotation, value, place)


def _fit_alternatives(annotation: Any, value: Any, place: str) -> Any:
    """Convert a value to the first matching type of a union (``int | str``)."""
    alternatives = typing.get_args(annotation)
    if value is None and types.NoneType in alternatives:
        return None
    if isinstance(value, str) and _is_path(alternatives):
        _check_path(annotation, value, place)

    # An error about a single item, such as names[1], helps more than an error about the
    # whole list.
    misfit_of_item: Misfit | None = None
    for alternative in alternatives:
        try:
            return fit_value(alternative, value, place)
        except Misfit as misfit:
            if misfit.place != place:
                misfit_of_item = misfit_of_item or misfit
    raise misfit_of_item or Misfit(place, value, annotation)


def _check_path(annotation: Any, text: str, place: str) -> None:
    """Refuse a path that is empty or contains a null character."""
    if not text:
        raise Misfit(place, text, annotation, "'', an empty path")
    if "\0" in text:
        event = f"{describe_value(text)}, which contains a character that no path can contain"
        raise Misfit(place, text, annotation, event)


def _is_path(alternatives: Sequence[Any]) -> bool:
    """Return whether a union, such as ``str | Path``, describes a path."""
    classes = [typing.get_origin(alternative) or alternative for alternative in alternatives]
    return str in classes and any(
        isinstance(kind, type) and hasattr(kind, "__fspath__") for kind in classes
    )


def _fit_annotated(annotation: Any, value: Any, place: str) -> Any:
    """Check a value against a type with bounds, such as ``Annotated[int, Ge(1)]``."""
    base, *extras = typing.get_args(annotation)
    for extra in extras:
        if isinstance(extra, Checked):
            value = extra.check(value)
    if annotation == AnyNumber:
        return _fit_any_number(annotation, value, place)
    try:
        value = fit_value(base, value, place)
    except Misfit as misfit:
        if misfit.place == place:
            misfit.annotation = annotation
        raise
    for extra in extras:
        fits = _BOUNDS.get(type(extra))
        if fits is not None and not fits(value, extra):
            raise Misfit(place, value, annotation)
    return value


_BOUNDS: Mapping[type, Callable[[Any, Any], bool]] = {
    Gt: lambda value, bound: value > bound.gt,
    Ge: lambda value, bound: value >= bound.ge,
    Lt: lambda value, bound: value < bound.lt,
    Le: lambda value, bound: value <= bound.le,
}


def _number(annotation: Any, value: Any, place: str) -> Any:
    """Convert a NumPy number, including infinity and NaN, to a Python number."""
    if isinstance(value, np.generic) or (type(value) is np.ndarray and value.ndim == 0):
        value = value.item()
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Misfit(place, value, annotation)
    return value


def _fit_any_number(annotation: Any, value: Any, place: str) -> Any:
    """Convert a number, but refuse integers that are too large for a float."""
    number = _number(annotation, value, place)
    try:
        float(number)
    except OverflowError:
        raise Misfit(place, value, annotation) from None
    return number


def _fit_float(annotation: Any, value: Any, place: str) -> Any:
    number = _number(annotation, value, place)
    try:
        is_finite = math.isfinite(number)
    except OverflowError:  # The integer is too large for a float.
        is_finite = False
    if not is_finite:
        raise Misfit(place, value, annotation)
    return number


def _fit_int(annotation: Any, value: Any, place: str) -> Any:
    number = _number(annotation, value, place)
    if isinstance(number, float):
        raise Misfit(place, value, annotation)
    return number


def _fit_bool(annotation: Any, value: Any, place: str) -> Any:
    if not isinstance(value, bool | np.bool_):
        raise Misfit(place, value, annotation)
    return bool(value)


def _fit_literal(annotation: Any, value: Any, place: str) -> Any:
    choices = typing.get_args(annotation)
    # True equals 1 in Python. Therefore the types are compared too.
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise Misfit(place, value, annotation)
    return value


def _fit_none(annotation: Any, value: Any, place: str) -> Any:
    if value is not None:
        raise Misfit(place, value, annotation)
    return value


def _fit_callable(annotation: Any, value: Any, place: str) -> Any:
    if not callable(value):
        raise Misfit(place, value, annotation)
    return value


def _fit_class(annotation: Any, value: Any, place: str) -> Any:
    kind = typing.get_origin(annotation) or annotation
    if not isinstance(value, kind):
        raise Misfit(place, value, annotation)
    return value


def _fit_array(annotation: Any, value: Any, place: str) -> Any:
    number_type = _number_type(typing.get_args(annotation))
    array = _converted(value, place, lists=number_type is np.bool_)
    is_numeric = isinstance(array, np.ndarray) and array.dtype.kind in "biuf"
    if not is_numeric or array.ndim == 0:
        raise Misfit(place, array, annotation)
    return array


def as_array(value: Any, label: str) -> Any:
    """Convert array-like objects of other packages to NumPy arrays.

    Examples are PyTorch tensors and Pillow images. Lists and numbers are returned
    unchanged.

    Parameters
    ----------
    value : object
        Array-like object, or any other value.
    label : str
        Function and argument for error messages, such as ``census: image``.

    Raises
    ------
    ArgumentError
        The conversion fails.
    """
    try:
        return _converted(value, label)
    except Misfit as misfit:
        message = f"{label} is {misfit.event}; expected {expected_kind(np.ndarray)}"
    raise ArgumentError(message)


def _converted(value: Any, place: str, *, lists: bool = False) -> Any:
    """Convert an array-like object of another package to a NumPy array.

    If `lists` is True, lists and tuples are converted too.

    Raises
    ------
    Misfit
        The conversion fails.
    """
    if type(value) is np.ndarray or isinstance(value, np.ma.MaskedArray | np.generic | type):
        return value
    kind = type(value)
    offers_conversion = hasattr(kind, "__array__") or hasattr(kind, "__array_interface__")
    is_converted_list = lists and isinstance(value, list | tuple)
    if not (offers_conversion or is_converted_list):
        return value
    try:
        return np.asarray(value)
    except Exception as error:  # Classes of other packages may raise anything.
        cause = f"{type(error).__name__}: {error}"
        event = f"{describe_value(value)}, whose conversion to an array fails ({cause})"
        raise Misfit(place, value, np.ndarray, " ".join(event.split())) from None


def _fit_tuple(annotation: Any, value: Any, place: str) -> Any:
    """Convert a list or an array to a tuple of the annotated length."""
    kinds = typing.get_args(annotation)
    if isinstance(value, np.ndarray) and value.ndim:
        value = tuple(value)
    if not isinstance(value, tuple | list):
        raise Misfit(place, value, annotation)
    if not kinds:
        return value
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(value) != len(kinds):
        raise Misfit(place, value, annotation)
    items = [
        fit_value(kind, item, f"{place}[{i}]")
        for i, (kind, item) in enumerate(zip(kinds, value, strict=True))
    ]
    # A new tuple would lose the field names of a named tuple.
    if isinstance(value, tuple) and _are_unchanged(items, value):
        return value
    return tuple(items)


def _are_unchanged(items: Sequence[Any], original_items: Sequence[Any]) -> bool:
    """Return whether the check left all items unchanged."""
    return all(item is original for item, original in zip(items, original_items, strict=True))


def _fit_sequence(annotation: Any, value: Any, place: str) -> Any:
    """Check all items of a collection."""
    if not _is_collection(annotation, value):
        raise Misfit(place, value, annotation)
    sequence = value if isinstance(value, Sequence) else list(value)
    kinds = typing.get_args(annotation)
    if not kinds:
        return sequence
    items = [fit_value(kinds[0], item, f"{place}[{i}]") for i, item in enumerate(sequence)]
    return sequence if _are_unchanged(items, sequence) else items


def _is_collection(annotation: Any, value: Any) -> bool:
    """Return whether a value is a collection such as a list, a tuple or an array.

    For the annotation ``Iterable``, generators are allowed too.
    """
    if isinstance(value, str | bytes | bytearray | Mapping | type):
        return False
    if isinstance(value, np.ndarray) and not value.ndim:
        return False
    # A loop over a pandas table would yield column names instead of values.
    if hasattr(value, "columns"):
        return False
    is_iterable_allowed = (typing.get_origin(annotation) or annotation) is Iterable
    return isinstance(value, Iterable if is_iterable_allowed else Collection)


def _fit_mapping(annotation: Any, value: Any, place: str) -> Any:
    """Check all keys and values of a mapping such as a dictionary."""
    if not isinstance(value, Mapping):
        raise Misfit(place, value, annotation)
    kinds = typing.get_args(annotation)
    if not kinds:
        return value
    for key in value:
        fit_value(kinds[0], key, f"the key {describe_value(key)} of {place}")
    items = {
        key: fit_value(kinds[1], item, f"{place}[{describe_value(key)}]")
        for key, item in value.items()
    }
    return value if all(items[key] is value[key] for key in items) else items


_FITS: Mapping[Any, Callable[[Any, Any, str], Any]] = {
    typing.Union: _fit_alternatives,
    types.UnionType: _fit_alternatives,
    Annotated: _fit_annotated,
    Literal: _fit_literal,
    None: _fit_none,
    types.NoneType: _fit_none,
    bool: _fit_bool,
    int: _fit_int,
    float: _fit_float,
    np.ndarray: _fit_array,
    Callable: _fit_callable,
    tuple: _fit_tuple,
    list: _fit_sequence,
    Sequence: _fit_sequence,
    Iterable: _fit_sequence,
    Mapping: _fit_mapping,
    dict: _fit_mapping,
}


# --- descriptions for messages ------------------------------------------------------


_PLAIN_TYPES = (
    bool | int | float | complex | str | bytes | bytearray | list | tuple | set | frozenset | dict
)
"""Types whose values are shown as Python source in error messages.

For example, a text is shown as ``'abc'``.
"""


def describe_value(value: Any) -> str:
    """Describe a value in one line for an error message.

    Numbers, texts, lists and paths are shown as Python source. Arrays are described by
    type and shape.

    Examples
    --------
    >>> describe_value([1, 2]), describe_value(print)
    ('[1, 2]', 'a builtin_function_or_method')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, np.generic):
        value = value.item()
    name = type(value).__name__
    if value is None or isinstance(value, np.ndarray | os.PathLike | _PLAIN_TYPES):
        try:
            return in_short(value)
        except RecursionError:
            return f"{_article(name)} {name} that contains itself"
    return f"{_article(name)} {name}"


def _article(noun: str) -> str:
    return "an" if noun[:1].lower() in "aeiou" else "a"


def expected_kind(annotation: Any, *, plural: bool = False) -> str:
    """Describe the values of a type annotation for an error message.

    Parameters
    ----------
    annotation : object
        Type such as ``Sequence[str] | None``.
    plural : bool
        Whether the description is in the plural, such as "texts".

    Examples
    --------
    >>> expected_kind(Sequence[str] | float | None)
    'a list of texts, a finite number or None'
    """
    if annotation in _NOUNS:
        noun, plural_noun = _NOUNS[annotation]
        return plural_noun if plural else noun
    origin = typing.get_origin(annotation)
    if origin in _DESCRIPTIONS:
        return _DESCRIPTIONS[origin](typing.get_args(annotation), plural)
    name = getattr(origin or annotation, "__name__", str(annotation))
    return f"objects of {name}" if plural else f"{_article(name)} {name}"


_NOUNS: Mapping[Any, tuple[str, str]] = {
    Any: ("an object", "objects"),
    types.NoneType: ("None", "None"),
    bool: ("True or False", "True or False"),
    int: ("a whole number", "whole numbers"),
    float: ("a finite number", "finite numbers"),
    str: ("a text", "texts"),
    tuple: ("a tuple", "tuples"),
    dict: ("a mapping", "mappings"),
    Mapping: ("a mapping", "mappings"),
    np.ndarray: ("an array of numbers", "arrays of numbers"),
}
"""Singular and plural descriptions of simple types."""


def _describe_annotated(arguments: Sequence[Any], plural: bool) -> str:
    """Describe an ``Annotated`` type with bounds or a `Words` object.

    For example, ``Annotated[int, Ge(1)]`` is "a whole number >= 1".
    """
    base, *extras = arguments
    words = [extra.text for extra in extras if isinstance(extra, Words)]
    if words:
        return words[-1]
    kind = expected_kind(base, plural=plural)
    bounds = bounds_in_words(extras)
    return f"{kind} {bounds}" if bounds else kind


def _describe_alternatives(alternatives: Sequence[Any], plural: bool) -> str:
    """Describe a union, for example "a whole number or None" for ``int | None``."""
    descriptions: list[str] = []
    for alternative in alternatives:
        if alternative is not types.NoneType:
            descriptions += _descriptions_of_alternative(alternative, alternatives, plural)
    if types.NoneType in alternatives:
        descriptions.append("None")
    return _joined(list(dict.fromkeys(descriptions)))


def _descriptions_of_alternative(
    alternative: Any, alternatives: Sequence[Any], plural: bool
) -> list[str]:
    """Describe one type of a union.

    In ``str | Path``, both types are described as "a path". All array types of a union
    share one description, such as "an array of float32 or uint8". The caller removes
    duplicates.

    Parameters
    ----------
    alternative : object
        The described type.
    alternatives : sequence of object
        All types of the union.
    plural : bool
        Whether the description is in the plural.
    """
    kind = typing.get_origin(alternative) or alternative
    if _is_path(alternatives) and (kind is str or hasattr(kind, "__fspath__")):
        return ["paths"] if plural else ["a path"]
    arrays = [part for part in alternatives if typing.get_origin(part) is np.ndarray]
    if alternative in arrays:
        number_types = [_number_type(typing.get_args(array)) for array in arrays]
        return [_describe_arrays(number_types, plural)]
    if alternative is bool:
        return ["True", "False"]
    return [expected_kind(alternative, plural=plural)]


def _describe_array(arguments: Sequence[Any], plural: bool) -> str:
    """Describe an array type, for example "an array of float32"."""
    return _describe_arrays([_number_type(arguments)], plural)


def _describe_arrays(dtypes: Sequence[Any], plural: bool) -> str:
    """Describe arrays by dtype, for example "an array of float32 or uint8".

    None stands for any number type.
    """
    noun = "arrays" if plural else "an array"
    names = [dtype.__name__.rstrip("_") for dtype in dtypes if dtype is not None]
    return f"{noun} of {_joined(names)}" if names else f"{noun} of numbers"


def _number_type(arguments: Sequence[Any]) -> Any:
    """Return the number type in an array annotation, such as ``np.float32``.

    The result is None for a plain ``np.ndarray``.

    Parameters
    ----------
    arguments : sequence of object
        Types in the brackets: the shape and, for example, ``np.dtype[np.float32]``.
    """
    if not arguments:
        return None
    number_types = typing.get_args(arguments[-1])
    if number_types and isinstance(number_types[0], type):
        return number_types[0]
    return None


def _describe_literal(choices: Sequence[Any], plural: bool) -> str:
    """List the allowed values of a ``Literal`` type, such as "'left' or 'right'"."""
    return _joined([repr(choice) for choice in choices])


def _describe_tuple(items: Sequence[Any], plural: bool) -> str:
    """Describe a tuple type, such as ``tuple[int, int]`` or ``tuple[int, ...]``."""
    if items and items[-1] is not Ellipsis:
        return f"({', '.join(map(expected_kind, items))})"
    return _describe_list(items, plural)


def _describe_list(items: Sequence[Any], plural: bool) -> str:
    """Describe a list type, for example "a list of texts" for ``Sequence[str]``."""
    noun = "lists" if plural else "a list"
    return f"{noun} of {expected_kind(items[0], plural=True)}" if items else noun


def _describe_mapping(arguments: Sequence[Any], plural: bool) -> str:
    """Describe a mapping type, for example "a mapping of texts to whole numbers"."""
    keys = expected_kind(arguments[0], plural=True)
    values = expected_kind(arguments[1], plural=True)
    return f"a mapping of {keys} to {values}"


def _describe_function(arguments: Sequence[Any], plural: bool) -> str:
    """Describe a ``Callable`` type as "a function"."""
    return "functions" if plural else "a function"


_DESCRIPTIONS: Mapping[Any, Callable[[Sequence[Any], bool], str]] = {
    Annotated: _describe_annotated,
    typing.Union: _describe_alternatives,
    types.UnionType: _describe_alternatives,
    Literal: _describe_literal,
    np.ndarray: _describe_array,
    Callable: _describe_function,
    tuple: _describe_tuple,
    list: _describe_list,
    Sequence: _describe_list,
    Iterable: _describe_list,
    Mapping: _describe_mapping,
    dict: _describe_mapping,
}
"""Functions that describe types with brackets, such as ``Sequence[str]``.

The key is the type without brackets, such as ``Sequence``.
"""


def _joined(words: Sequence[str]) -> str:
    """Join words to a list such as "a, b or c"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"
