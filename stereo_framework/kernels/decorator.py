"""The decorator of all kernels: compiled by numba, and compiled code kept on disk for as long as everything it was made of stays the same.

numba keeps a kernel's machine code until the kernel's own file changes. It also holds what other files defined when it was compiled: helpers and
constants. Here the key that code is kept under therefore contains a digest of all that the kernel names, and of what that names in turn.
"""

import enum
import functools
import hashlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit

from stereo_framework.kernels import internals

_FROZEN = (bool, int, float, complex, str, bytes, slice, type(None), np.generic, np.dtype)
"""Types of the values, besides arrays and collections, that numba compiles in as they are."""
_FOREIGN = {"llvmlite", "numba", "numpy"}
"""Packages whose functions are not looked into: what they compile to changes with numba's version, by which code is kept too."""


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function with numba when it is first called: without the GIL and with numpy's division, kept on disk.

    Where numba's JIT is off the function stays as it is. Where nothing can be written, or numba has another way of keeping code than the one this is
    written for, every process compiles it anew.

    Parameters
    ----------
    function : callable
        What it names (kernels, intrinsics, numbers, arrays; also as attributes of modules) may stand in any file. Functions that are reached in
        another way, such as an ``@overload`` of numba's, are not followed.
    **options
        Further ones of `numba.njit`, such as ``inline="always"``.

    Examples
    --------
    >>> @kernel
    ... def _kernel(costs, out):
    ...     for i in range(costs.shape[0]):
    ...         out[i] = costs[i] / 2
    """
    if function is None:
        return functools.partial(kernel, **options)
    # Nobody calls kernels by their address, for which numba would compile a second entry to each.
    compiled = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    if hasattr(compiled, "py_func"):
        internals.keep(compiled, function, _digest)
    return compiled


def _digest(function: Callable[..., Any], signature: Any) -> str:
    # Numba compares named tuples by their class alone.
    fields = [getattr(argument, "fields", ()) for argument in getattr(signature, "args", signature)]
    return hashlib.sha256(repr((_content(function, []), fields)).encode()).hexdigest()


def _content(value: Any, seen: list[Any]) -> object:
    """What machine code takes over from a value that a kernel names, in a form whose repr is the same in every process.

    `seen`: the functions met before, which may call each other.
    """
    if isinstance(value, _FROZEN):
        return type(value).__name__, repr(value)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return [_content(item, seen) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(repr(_content(item, seen)) for item in value)
    if isinstance(value, enum.EnumMeta):
        value = {name: vars(value)[name].value for name in value.__members__}
    if isinstance(value, dict):
        return [(name, _content(value[name], seen)) for name in sorted(value)]
    if isinstance(value, type):
        return getattr(value, "_fields", None)
    if hasattr(value, "py_func"):
        return _content(value.targetoptions, seen), _content(value.py_func, seen)
    # An intrinsic's.
    value = getattr(value, "_defn", value)
    if not isinstance(value, types.FunctionType) or value.__module__.partition(".")[0] in _FOREIGN:
        return None
    if value in seen:
        return seen.index(value)
    seen.append(value)
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    named = [
        (name, _content(item, seen)) for name, item in _named(value.__code__, value.__globals__)
    ]
    return _code(value.__code__), _content([value.__defaults__, cells], seen), named


def _code(code: types.CodeType) -> object:
    constants = [
        _code(c) if isinstance(c, types.CodeType) else _content(c, []) for c in code.co_consts
    ]
    return code.co_code, constants, code.co_names, code.co_varnames


def _named(code: types.CodeType, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Values that code names: globals, attributes of modules among them."""
    for name in code.co_names:
        inside = vars(names[name]) if isinstance(names.get(name), types.ModuleType) else None
        if inside is not None:
            yield from (
                (attribute, inside[attribute]) for attribute in code.co_names if attribute in inside
            )
        elif name in names:
            yield name, names[name]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _named(constant, names)
