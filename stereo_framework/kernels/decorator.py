"""The decorator `kernel`, which compiles functions with numba.

The decorator also caches the machine code on disk. numba's own cache detects changes
only in the source file of the kernel. However, a kernel may use helper functions and
constants from other files. Therefore the cache key includes a digest of the kernel, its
helper functions and its constants. If the digest changes, numba compiles the kernel
again.
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
"""Types of values that numba compiles as constants.

Arrays and collections are constants too, but `_content` handles arrays and collections
separately.
"""

_EXTERNAL_PACKAGES = {"llvmlite", "numba", "numpy"}
"""Packages whose functions are not part of the digest of a kernel.

The cache is renewed anyway if the version of numba changes.
"""


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function with numba at its first call, and store the code on disk.

    Compiled kernels release the GIL. Division by zero raises no exception. If numba's
    JIT compiler is off, the function is returned unchanged. If the cache cannot be
    used, every process compiles the kernel again.

    Parameters
    ----------
    function : callable
        Function to compile. If a function, constant or array that the kernel uses
        changes, the kernel is compiled again. Changes in an ``@overload`` of numba are
        not detected.
    **options
        Additional keyword arguments of `numba.njit`, such as ``inline="always"``.

    Examples
    --------
    >>> @kernel
    ... def _kernel(costs, out):
    ...     for i in range(costs.shape[0]):
    ...         out[i] = costs[i] / 2
    """
    if function is None:
        return functools.partial(kernel, **options)
    # Kernels are not called from C, so the C wrapper is not compiled.
    compiled = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    if hasattr(compiled, "py_func"):
        internals.cache_on_disk(compiled, function, _digest)
    return compiled


def _digest(function: Callable[..., Any], signature: Any) -> str:
    """Return a digest of a function, the objects it uses, and its argument types."""
    argument_types = getattr(signature, "args", signature)
    # numba ignores the field names of named tuples. However, the machine code depends
    # on the order of the fields.
    fields = [getattr(argument_type, "fields", ()) for argument_type in argument_types]
    return hashlib.sha256(repr((_content(function, []), fields)).encode()).hexdigest()


def _content(value: Any, visited: list[Any]) -> object:
    """Describe the properties of an object that affect the machine code of a kernel.

    Parameters
    ----------
    value : object
        Object that the kernel uses, such as a constant, a list or another kernel.
    visited : list of function
        Functions that are already described. The list prevents endless recursion if
        functions call each other.

    Returns
    -------
    object
        Description, such as a nested list. Equal objects have the same ``repr`` of the
        description in every process.
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
    # The attribute _defn of an intrinsic contains its Python function.
    function = getattr(value, "_defn", value)
    if isinstance(function, types.FunctionType):
        return _content_of_function(function, visited)
    return None


def _content_of_function(function: types.FunctionType, visited: list[Any]) -> object:
    """Describe the code of a function, its default arguments and the objects it uses.

    The result is None for functions of numba, llvmlite and NumPy. The result is the
    index in `visited` if the function is already described.
    """
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
    """Describe a code object by its bytecode, its constants and its variable names."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            constants.append(_content_of_code(constant))
        else:
            constants.append(_content(constant, []))
    return code.co_code, constants, code.co_names, code.co_varnames


def _named_objects(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each global variable that a code object uses.

    Modules are replaced by the attributes that the code uses. For example, ``math.pi``
    yields ``("pi", 3.14159...)``.
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
