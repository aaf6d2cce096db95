"""Checks of the arguments of public functions and dataclasses, by their annotations.

Users call these functions with whatever they have. `checked` compares each argument with
the annotation of its parameter before the function looks at it, and raises an error of
this package that names the function, the argument, its value and the expected kind.
Calls inside the package that must be fast, such as those of stages in a pipeline, do not
pass through checked functions.
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
from stereo_framework.core.parameters import Checked, Words, in_short

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

AnyNumber = Annotated[float, Words("a number, or NaN")]
"""Annotation of a number that may be infinite or NaN; a plain ``float`` is finite."""

_MISSING = object()


def checked(**expected: str) -> Callable[[F], F]:
    """Let a public function check its arguments by its annotations.

    Numbers of NumPy become numbers of Python, and objects that can be converted to an
    array (with ``__array__``) become arrays where the annotation names an array.
    Parameters without an annotation, and those annotated as ``Any``, are not checked.

    Parameters
    ----------
    **expected : str
        Description of the expected kind by the name of a parameter, with a remedy.
        Default: the words of the annotation.

    Returns
    -------
    callable
        Decorator of a function. Name, signature and docstring of the function remain.

    Raises
    ------
    ArgumentError
        The decorated function raises it for an argument of another kind.

    Examples
    --------
    >>> @checked(size="a whole number >= 1, in pixels")
    ... def window(size: int, names: Sequence[str] = ()) -> int:
    ...     return size
    >>> window(5)
    5
    >>> window("5")
    Traceback (most recent call last):
        ...
    stereo_framework.core.errors.ArgumentError: window: size is '5'; expected a whole number >= 1, in pixels
    >>> window(5, "abc")
    Traceback (most recent call last):
        ...
    stereo_framework.core.errors.ArgumentError: window: names is 'abc'; expected a list of texts
    """

    def decorate(function: F) -> F:
        check = _Check(function, expected)

        @functools.wraps(function)
        def with_check(*arguments: Any, **named: Any) -> Any:
            return function(*check.positional(arguments), **check.by_name(named))

        return typing.cast(F, with_check)

    return decorate


def checked_fields(**expected: str) -> Callable[[C], C]:
    """Let a public class check the arguments of its constructor, as `checked` does."""

    def decorate(kind: C) -> C:
        constructor = kind.__init__  # type: ignore[misc]
        kind.__init__ = checked(**expected)(constructor)  # type: ignore[misc]
        return kind

    return decorate


def calling_module() -> str:
    """Return the name of the module that called the function that asks for it.

    The frames of `checked` between the two functions are skipped.
    """
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__") == __name__ and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "__main__"))


class _Check:
    """The check of the arguments of a function.

    Annotations are resolved at the first call, so that importing a module stays fast.

    Parameters
    ----------
    function : callable
    expected : mapping of str to str
        As in `checked`.
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
        """Names of the parameters that can be given by position."""
        return tuple(
            p.name
            for p in self._parameters
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        )

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(parameter.name for parameter in self._parameters)

    @functools.cached_property
    def _rest(self) -> str:
        """Name of the parameter that takes further positional arguments; empty if there is none."""
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
        """Return checked positional arguments."""
        names = self._in_order
        values = []
        for i, value in enumerate(arguments):
            name = names[i] if i < len(names) else self._rest
            values.append(self._value(name, value))
        return values

    def by_name(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Return checked arguments that were given by name."""
        # Sweeps make many steps, so names are only searched if one is unknown.
        if not self._names.issuperset(named):
            former_names.check_arguments(self.label, named, self._names)
        return {name: self._value(name, value) for name, value in named.items()}

    def _value(self, name: str, value: Any) -> Any:
        annotation = self._annotations.get(name, Any)
        # Most arguments are objects of the annotated class, and this test is fast.
        if type(value) is annotation and annotation is not float:
            return value
        try:
            return fitted(annotation, value, name)
        except Misfit as misfit:
            words = self.expected.get(name, "") if misfit.place == name else ""
            message = f"{self.label}: {misfit.place} is {misfit.event}; expected {words or expected_kind(misfit.annotation)}"
        raise ArgumentError(message)


def _resolved(texts: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Return annotations by name of the parameter, with all names in them replaced by their values.

    A package that a module imports for type checkers only, such as pandas, is imported.
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
    """A value that does not fit an annotation.

    Parameters
    ----------
    place : str
        Name of the argument, or of an item in it.
    value : object
    annotation : object
    event : str, optional
        Description of the value. Default: the value itself.
    """

    def __init__(self, place: str, value: Any, annotation: Any, event: str = ""):
        super().__init__(place)
        self.place = place
        self.annotation = annotation
        self._value = value
        self._event = event

    @property
    def event(self) -> str:
        """Description of the value, made only for messages, because it may take time."""
        return self._event or shown(self._value)


def fitted(annotation: Any, value: Any, place: str) -> Any:
    """Return a value in the form that an annotation describes.

    Raises
    ------
    Misfit
        The value is of another kind.
    """
    if annotation is Any or annotation is object or isinstance(annotation, TypeVar):
        return value
    origin = typing.get_origin(annotation)
    fit = _FITS.get(origin or annotation, _fit_class)
    return fit(annotation, value, place)


def _fit_alternatives(annotation: Any, value: Any, place: str) -> Any:
    """Return a value in the form of the first alternative that it fits."""
    alternatives = typing.get_args(annotation)
    if value is None and types.NoneType in alternatives:
        return None
    if isinstance(value, str) and _is_path(alternatives):
        if not value:
            raise Misfit(place, value, annotation, "'', an empty path")
        if "\0" in value:
            raise Misfit(
                place,
                value,
                annotation,
                f"{shown(value)}, which contains a character that no path can contain",
            )

    deepest: Misfit | None = None
    for alternative in alternatives:
        try:
            return fitted(alternative, value, place)
        except Misfit as misfit:
            # A list with a wrong item is described by this item.
            if misfit.place != place:
                deepest = deepest or misfit
    raise deepest or Misfit(place, value, annotation)


def _is_path(alternatives: Sequence[Any]) -> bool:
    """Return whether alternatives contain a text and a path object."""
    classes = [typing.get_origin(alternative) or alternative for alternative in alternatives]
    return str in classes and any(
        isinstance(kind, type) and hasattr(kind, "__fspath__") for kind in classes
    )


def _fit_annotated(annotation: Any, value: Any, place: str) -> Any:
    """Return a value that also keeps the bounds in an annotation."""
    base, *extras = typing.get_args(annotation)
    for extra in extras:
        if isinstance(extra, Checked):
            value = extra.check(value)
    if annotation == AnyNumber:
        return _fit_any_number(annotation, value, place)
    try:
        value = fitted(base, value, place)
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
    """Return a number as a number of Python; it may be infinite or NaN."""
    if isinstance(value, np.generic) or (type(value) is np.ndarray and value.ndim == 0):
        value = value.item()
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Misfit(place, value, annotation)
    return value


def _fit_any_number(annotation: Any, value: Any, place: str) -> Any:
    """Return a number that a float can hold; it may be infinite or NaN."""
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
    except OverflowError:  # an int that no float can hold
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
    if not any(
        type(value) is type(choice) and value == choice for choice in typing.get_args(annotation)
    ):
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
    dtype = _dtype(annotation)
    array = _converted(value, place, lists=dtype is np.bool_)
    is_numeric = isinstance(array, np.ndarray) and array.dtype.kind in "biuf"
    if not is_numeric or array.ndim == 0:
        raise Misfit(place, array, annotation)
    return array


def as_array(value: Any, label: str) -> Any:
    """Return an object that can be converted to an array as an array; others unchanged.

    Parameters
    ----------
    value : object
        Such as an array of xarray, a tensor or a picture of Pillow.
    label : str
        Function and name of the value, for messages.

    Raises
    ------
    ArgumentError
        The object refuses the conversion.
    """
    try:
        return _converted(value, label)
    except Misfit as misfit:
        message = f"{label} is {misfit.event}; expected {expected_kind(np.ndarray)}"
    raise ArgumentError(message)


def _converted(value: Any, place: str, *, lists: bool = False) -> Any:
    """Return what can be converted to an array as an array; also lists if `lists` is set."""
    if type(value) is np.ndarray or isinstance(value, np.ma.MaskedArray | np.generic | type):
        return value
    kind = type(value)
    if not (
        hasattr(kind, "__array__")
        or hasattr(kind, "__array_interface__")
        or (lists and isinstance(value, list | tuple))
    ):
        return value
    try:
        return np.asarray(value)
    except Exception as error:  # The conversion of a class of another package may raise anything.
        event = (
            f"{shown(value)}, whose conversion to an array fails ({type(error).__name__}: {error})"
        )
        raise Misfit(place, value, np.ndarray, " ".join(event.split())) from None


def _fit_tuple(annotation: Any, value: Any, place: str) -> Any:
    """Return a list, tuple or array of the annotated length as a tuple."""
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
        fitted(kind, item, f"{place}[{i}]")
        for i, (kind, item) in enumerate(zip(kinds, value, strict=True))
    ]
    # A named tuple stays what it is.
    same = isinstance(value, tuple) and all(map(_is_same, items, value))
    return value if same else tuple(items)


def _is_same(first: Any, second: Any) -> bool:
    return first is second


def _fit_sequence(annotation: Any, value: Any, place: str) -> Any:
    """Return a collection with checked items; a text is no list of letters."""
    is_iterable = (typing.get_origin(annotation) or annotation) is Iterable
    allowed = Iterable if is_iterable else Collection
    # The items of a table of pandas are the names of its columns.
    is_table = hasattr(value, "columns")
    is_scalar = isinstance(value, str | bytes | bytearray | Mapping | type) or (
        isinstance(value, np.ndarray) and not value.ndim
    )
    if is_table or is_scalar or not isinstance(value, allowed):
        raise Misfit(place, value, annotation)
    sequence = value if isinstance(value, Sequence) else list(value)
    kinds = typing.get_args(annotation)
    if not kinds:
        return sequence
    items = [fitted(kinds[0], item, f"{place}[{i}]") for i, item in enumerate(sequence)]
    return sequence if all(map(_is_same, items, sequence)) else items


def _fit_mapping(annotation: Any, value: Any, place: str) -> Any:
    """Return a mapping with checked keys and values."""
    if not isinstance(value, Mapping):
        raise Misfit(place, value, annotation)
    kinds = typing.get_args(annotation)
    if not kinds:
        return value
    for key in value:
        fitted(kinds[0], key, f"the key {shown(key)} of {place}")
    items = {key: fitted(kinds[1], item, f"{place}[{shown(key)}]") for key, item in value.items()}
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


# --- words ------------------------------------------------------------------------------


def shown(value: Any) -> str:
    """Return a value for a message in one line; an object without a short form by its class."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, np.generic):
        value = value.item()
    plain = (
        bool
        | int
        | float
        | complex
        | str
        | bytes
        | bytearray
        | list
        | tuple
        | set
        | frozenset
        | dict
        | os.PathLike
    )
    name = type(value).__name__
    if value is None or isinstance(value, np.ndarray | plain):
        try:
            return in_short(value)
        except RecursionError:
            return f"{_article(name)} {name} that contains itself"
    return f"{_article(name)} {name}"


def _article(noun: str) -> str:
    return "an" if noun[:1].lower() in "aeiou" else "a"


def expected_kind(annotation: Any, *, plural: bool = False) -> str:
    """Return an annotation in words.

    Parameters
    ----------
    annotation : object
    plural : bool
        Whether several values are described, such as the items of a list.

    Examples
    --------
    >>> expected_kind(Sequence[str] | float | None)
    'a list of texts, a finite number or None'
    """
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if annotation in _NOUNS:
        return _NOUNS[annotation][plural]
    if origin is Annotated:
        return _words_of_annotated(arguments, plural=plural)
    if origin in (typing.Union, types.UnionType):
        return _words_of_alternatives(arguments, plural=plural)
    if origin is Literal:
        return _joined([repr(choice) for choice in arguments])
    if origin is np.ndarray or annotation is np.ndarray:
        return _words_of_arrays([_dtype(annotation)], plural=plural)
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        return f"({', '.join(map(expected_kind, arguments))})"
    if origin in (tuple, list, Sequence, Iterable):
        noun = "lists" if plural else "a list"
        return f"{noun} of {expected_kind(arguments[0], plural=True)}" if arguments else noun
    if origin in (Mapping, dict):
        return f"a mapping of {expected_kind(arguments[0], plural=True)} to {expected_kind(arguments[1], plural=True)}"
    if origin is Callable:
        return "functions" if plural else "a function"
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
}
"""Words for a value and for several values."""


def _words_of_annotated(arguments: Sequence[Any], *, plural: bool) -> str:
    base, *extras = arguments
    words = [extra.text for extra in extras if isinstance(extra, Words)]
    if words:
        return words[-1]
    signs = {Gt: ("> ", "gt"), Ge: (">= ", "ge"), Lt: ("< ", "lt"), Le: ("<= ", "le")}
    bounds = []
    for extra in extras:
        if type(extra) in signs:
            sign, name = signs[type(extra)]
            bounds.append(f"{sign}{getattr(extra, name):g}")
    return " ".join(filter(None, [expected_kind(base, plural=plural), " and ".join(bounds)]))


def _words_of_alternatives(alternatives: Sequence[Any], *, plural: bool) -> str:
    """Return alternatives in words; a text or path object is a path, and all arrays are one kind."""
    is_path = _is_path(alternatives)
    arrays = [part for part in alternatives if typing.get_origin(part) is np.ndarray]
    words = []
    for alternative in alternatives:
        kind = typing.get_origin(alternative) or alternative
        if is_path and (kind is str or hasattr(kind, "__fspath__")):
            words.append("paths" if plural else "a path")
        elif alternative in arrays:
            words.append(_words_of_arrays([_dtype(array) for array in arrays], plural=plural))
        elif alternative is bool:
            words += ["True", "False"]
        elif alternative is not types.NoneType:
            words.append(expected_kind(alternative, plural=plural))
    if types.NoneType in alternatives:
        words.append("None")
    return _joined(list(dict.fromkeys(words)))


def _dtype(annotation: Any) -> Any:
    """Return the scalar type of an annotated array; None if any is allowed."""
    arguments = typing.get_args(annotation)
    scalars = typing.get_args(arguments[-1]) if arguments else ()
    is_known = bool(scalars) and isinstance(scalars[0], type)
    return scalars[0] if is_known else None


def _words_of_arrays(dtypes: Sequence[Any], *, plural: bool) -> str:
    noun = "arrays" if plural else "an array"
    names = [dtype.__name__.rstrip("_") for dtype in dtypes if dtype is not None]
    return f"{noun} of {_joined(names)}" if names else f"{noun} of numbers"


def _joined(words: Sequence[str]) -> str:
    """Join alternatives by commas and a last "or"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"
