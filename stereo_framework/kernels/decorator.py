"""The decorator `kernel`, which compiles functions with numba.

The decorator also stores the machine code on disk. By default, numba uses stored
machine code until the source file of the kernel changes. However, the machine code also
contains helper functions and constants from other source files. Therefore the machine
code is stored under a key that includes a digest of the kernel, of its helper functions
and of the constants that these functions use. If one of them changes, the key changes,
and numba compiles the kernel again.
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
"""Types of the values that numba writes into machine code as constants.

numba does this with arrays and collections too, which `_content` treats separately.
"""

_EXTERNAL_PACKAGES = {"llvmlite", "numba", "numpy"}
"""Packages whose functions are not part of the digest of a kernel.

The machine code of these functions changes only with the version of numba, and numba
checks its version itself.
"""


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function with numba at its first call, and store the code on disk.

    The compiled code releases the GIL, and divides by zero without an exception, like
    NumPy. If numba's JIT compiler is off, the function is returned unchanged. If no
    folder is writable, or if the cache of the installed numba version has an unknown
    interface, every process compiles the kernel again.

    Parameters
    ----------
    function : callable
        Function to compile. It may use kernels, intrinsics, numbers and arrays from any
        module, as ``name`` or ``module.name``. If one of these objects changes, the
        function is compiled again. If a function that is used in another way changes,
        such as an ``@overload`` of numba, the old machine code remains in use.
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
    # No C code calls a kernel, so numba need not compile an entry point for C.
    compiled = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    if hasattr(compiled, "py_func"):
        internals.cache_on_disk(compiled, function, _digest)
    return compiled


def _digest(function: Callable[..., Any], signature: Any) -> str:
    """Return a digest of a function, the objects it uses, and its argument types."""
    argument_types = getattr(signature, "args", signature)
    # numba compares the classes of named tuples but not the names of their fields. The
    # names also affect the machine code, in which a field is a numbered element.
    fields = [getattr(argument_type, "fields", ()) for argument_type in argument_types]
    return hashlib.sha256(repr((_content(function, []), fields)).encode()).hexdigest()


def _content(value: Any, visited: list[Any]) -> object:
    """Describe the properties of an object that affect the machine code of a kernel.

    Parameters
    ----------
    value : object
        Object that the kernel uses: a constant, a collection, a type, another kernel,
        an intrinsic or a function.
    visited : list of function
        Functions that have been described already, to which this call adds functions.
        The list prevents an endless recursion if functions call each other.

    Returns
    -------
    object
        Description, such as a nested list. Equal objects have descriptions with the
        same ``repr`` in every process.
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
    # numba stores the Python function of an intrinsic in the attribute _defn.
    function = getattr(value, "_defn", value)
    if isinstance(function, types.FunctionType):
        return _content_of_function(function, visited)
    return None


def _content_of_function(function: types.FunctionType, visited: list[Any]) -> object:
    """Describe the code of a function, its default arguments and the objects it uses.

    A function of numba, llvmlite or NumPy is described by None. A function that has
    been described already is replaced by its index in `visited`.
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

    If the variable is a module, the attributes of the module that the code uses are
    yielded instead. For example, ``math.pi`` yields "pi" and its value.
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
