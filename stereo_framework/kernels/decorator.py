"""The decorator of all kernels.

`kernel` compiles a function with numba and stores the machine code on disk. numba uses
stored code until the file of the kernel changes. But the machine code also contains
helper functions and constants that the kernel takes from other files. Therefore the key
of the stored code includes a digest of everything that the kernel names, and of
everything that these objects name in turn.
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

_CONSTANTS = (bool, int, float, complex, str, bytes, slice, type(None), np.generic, np.dtype)
"""Types whose values numba compiles into the code as constants.

Arrays and collections are treated separately.
"""

_EXTERNAL_PACKAGES = {"llvmlite", "numba", "numpy"}
"""Packages whose functions the digest leaves out.

Their machine code changes only with the version of numba, which numba checks itself.
"""


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function with numba at its first call, and store the code on disk.

    The code releases the GIL and divides like NumPy. If numba's JIT is off, the
    function is returned as it is. If no folder is writable, or if this version of numba
    has another cache, every process compiles the kernel again.

    Parameters
    ----------
    function : callable
        Function to compile. It may use kernels, intrinsics, numbers and arrays of any
        file, by their name or as an attribute of a module. A change of these objects is
        recognized. A change of functions that are reached in another way, such as an
        ``@overload`` of numba, is not.
    **options
        Further options of `numba.njit`, such as ``inline="always"``.

    Examples
    --------
    >>> @kernel
    ... def _kernel(costs, out):
    ...     for i in range(costs.shape[0]):
    ...         out[i] = costs[i] / 2
    """
    if function is None:
        return functools.partial(kernel, **options)
    # No C code calls a kernel, so numba need not compile an entry point for C.
    compiled = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    if hasattr(compiled, "py_func"):
        internals.cache_on_disk(compiled, function, _digest)
    return compiled


def _digest(function: Callable[..., Any], signature: Any) -> str:
    """Return a digest of a function, of the objects that it names, and of its types."""
    argument_types = getattr(signature, "args", signature)
    # numba compares the types of named tuples by their class, and not by their fields.
    fields = [getattr(argument_type, "fields", ()) for argument_type in argument_types]
    return hashlib.sha256(repr((_content(function, []), fields)).encode()).hexdigest()


def _content(value: Any, visited: list[Any]) -> object:
    """Describe an object that a kernel names, as far as it affects the machine code.

    Parameters
    ----------
    value : object
        A constant, a collection, a type, a kernel, an intrinsic or a function.
    visited : list of function
        Functions that are described already. Functions may call each other.

    Returns
    -------
    object
        Description whose ``repr`` is the same in every process.
    """
    if isinstance(value, _CONSTANTS):
        return type(value).__name__, repr(value)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return [_content(item, visited) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(repr(_content(item, visited)) for item in value)
    if isinstance(value, enum.EnumMeta):
        members = {name: vars(value)[name].value for name in value.__members__}
        return _content(members, visited)
    if isinstance(value, dict):
        return [(name, _content(value[name], visited)) for name in sorted(value)]
    if isinstance(value, type):
        return getattr(value, "_fields", None)
    if hasattr(value, "py_func"):
        return _content(value.targetoptions, visited), _content(value.py_func, visited)
    # numba keeps the function of an intrinsic in _defn.
    function = getattr(value, "_defn", value)
    if isinstance(function, types.FunctionType):
        return _content_of_function(function, visited)
    return None


def _content_of_function(function: types.FunctionType, visited: list[Any]) -> object:
    """Describe the code of a function, its defaults and the objects that it names."""
    if function.__module__.partition(".")[0] in _EXTERNAL_PACKAGES:
        return None
    if function in visited:
        return visited.index(function)
    visited.append(function)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    named_objects = [
        (name, _content(item, visited))
        for name, item in _named_objects(function.__code__, function.__globals__)
    ]
    bound_objects = _content([function.__defaults__, cells], visited)
    return _content_of_code(function.__code__), bound_objects, named_objects


def _content_of_code(code: types.CodeType) -> object:
    """Describe bytecode, its constants, and its names."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            constants.append(_content_of_code(constant))
        else:
            constants.append(_content(constant, []))
    return code.co_code, constants, code.co_names, code.co_varnames


def _named_objects(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the global variables that code names, with their names.

    If a variable is a module, its attributes that the code names are yielded in its
    place.
    """
    for name in code.co_names:
        if name not in namespace:
            continue
        value = namespace[name]
        if not isinstance(value, types.ModuleType):
            yield name, value
            continue
        for attribute in code.co_names:
            if attribute in vars(value):
                yield attribute, vars(value)[attribute]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _named_objects(constant, namespace)
