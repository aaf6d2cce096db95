"""The content of functions as they are in memory, with all that they use, in a form that is equal in every process.

A notebook has no source file, and a module that was edited and reloaded is not what its
file was at the first import. Therefore the objects themselves are read here.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import importlib.util
import pickle
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.contents import file_digest
from stereo_framework.core.plugins import is_users_file, sources

_PLAIN = (bool, int, float, complex, str, bytes, slice, type(None), type(...), np.generic, np.dtype)


def loaded_content(values: Any) -> bytes:
    """Return the digest of values in memory.

    Functions and classes of the user count with their code and with everything that this
    code names. Functions of this package and of installed packages count by their names.

    Parameters
    ----------
    values : object
        Functions, classes, numbers, arrays, collections and objects of these.

    Returns
    -------
    bytes
    """
    return hashlib.sha256(repr(_Reader().content(values)).encode()).digest()


class _Reader:
    """A walk through values that visits each object once."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._visited: list[Any] = []

    def content(self, value: Any) -> object:
        """Return a plain value whose `repr` represents the content of any value."""
        if isinstance(value, _PLAIN):
            return type(value).__name__, repr(value)
        if isinstance(value, tuple):
            # Equal constants of a program are one object in some processes only.
            return type(value).__name__, [self.content(item) for item in value]
        if isinstance(value, frozenset | set):
            return "set", sorted(repr(_Reader().content(item)) for item in value)
        if isinstance(value, types.CodeType):
            return self._code(value)
        if id(value) in self._numbers:
            return "visited", self._numbers[id(value)]
        self._numbers[id(value)] = len(self._numbers)
        # The object must live as long as its id is in use.
        self._visited.append(value)

        if isinstance(value, np.ndarray) and value.dtype != object:
            array = np.ascontiguousarray(np.ma.getdata(value))
            mask = (
                np.ma.getmaskarray(value).tobytes() if isinstance(value, np.ma.MaskedArray) else b""
            )
            return value.dtype.str, value.shape, hashlib.sha256(array.tobytes() + mask).hexdigest()
        if isinstance(value, list):
            return "list", [self.content(item) for item in value]
        if isinstance(value, Mapping):
            return "mapping", [
                (self.content(key), self.content(item)) for key, item in value.items()
            ]
        if isinstance(value, types.ModuleType):
            return "module", value.__name__, _file_contents(value)
        if isinstance(value, type):
            return self._class(value)
        return self._callable_or_object(value)

    def _callable_or_object(self, value: Any) -> object:
        """Return the content of a function, of something that wraps one, or of an object."""
        if isinstance(value, functools.partial):
            return "partial", self.content((value.func, value.args, value.keywords))
        if isinstance(value, types.MethodType):
            return "method", self.content((value.__func__, value.__self__))
        if isinstance(value, staticmethod | classmethod):
            return type(value).__name__, self.content(value.__func__)
        if isinstance(value, property):
            return "property", self.content((value.fget, value.fset))
        if hasattr(value, "py_func"):
            # A function that numba compiles.
            return "compiled", self.content(value.py_func)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.BuiltinFunctionType):
            return "built in", value.__module__, value.__qualname__
        return self._object(value)

    def _function(self, function: types.FunctionType) -> object:
        """Return the code, the defaults and the named values of a function."""
        bound = [_cell_contents(cell) for cell in function.__closure__ or ()]
        name = f"{function.__module__}.{function.__qualname__}"
        if not _is_users(function.__module__):
            # A decorator of a package may hold a function of the user.
            return name, self.content(bound)
        named = list(_named_values(function.__code__, function.__globals__))
        return "function", self.content(
            (function.__code__, function.__defaults__, function.__kwdefaults__, bound, named)
        )

    def _code(self, code: types.CodeType) -> object:
        constants = [self.content(constant) for constant in code.co_consts]
        return code.co_code.hex(), constants, code.co_names, code.co_varnames

    def _class(self, value: type) -> object:
        name = f"{value.__module__}.{value.__qualname__}"
        if not _is_users(value.__module__):
            return name
        members = {
            key: item
            for key, item in vars(value).items()
            if key not in ("__dict__", "__weakref__", "__doc__")
        }
        bases = [base for base in value.__bases__ if base is not object]
        return name, self.content(bases), self.content(members)

    def _object(self, value: Any) -> object:
        """Return the content of an object: its fields, its attributes, or what pickle makes of it."""
        kind = type(value)
        if is_dataclass(value):
            return self._class(kind), [
                (field.name, self.content(getattr(value, field.name))) for field in fields(value)
            ]
        if _is_users(kind.__module__):
            return self._class(kind), self.content(getattr(value, "__dict__", None))
        try:
            return kind.__qualname__, hashlib.sha256(pickle.dumps(value)).hexdigest()
        except Exception:  # Objects of any package may refuse in any way.
            return kind.__qualname__


def _cell_contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # The variable was not assigned yet.
        return None


def _named_values(code: types.CodeType, names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values that code names: globals, attributes of the user's modules, imports."""
    for name in code.co_names:
        value = names.get(name)
        if not isinstance(value, types.ModuleType):
            if name in names:
                yield name, value
        elif _is_users(value.__name__):
            yield name, value
            yield from (
                (attribute, vars(value)[attribute])
                for attribute in code.co_names
                if attribute in vars(value)
            )
    for module in [*_imported_modules(code), *_modules_of_calls(code)]:
        yield module, _file_contents_of(module)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _named_values(constant, names)


def _imported_modules(code: types.CodeType) -> list[str]:
    """List the modules that import statements inside a function name."""
    instructions = [
        instruction
        for instruction in dis.get_instructions(code)
        if instruction.opname == "IMPORT_NAME"
    ]
    return [str(instruction.argval) for instruction in instructions]


def _modules_of_calls(code: types.CodeType) -> list[str]:
    """List the constants of a function that may name a module in a call that imports it."""
    if not {"import_module", "__import__"} & set(code.co_names):
        return []
    # To find a module inside a package, Python would import the package.
    return [
        constant
        for constant in code.co_consts
        if isinstance(constant, str) and constant.isidentifier()
    ]


def _is_users(module: str) -> bool:
    """Return whether a module is a program, a notebook or a file of the user."""
    if module == "__main__":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and is_users_file(Path(file).resolve())


def _file_contents(module: types.ModuleType) -> list[str]:
    """Return the digests of the source files of a module of the user and of its imports."""
    file = getattr(module, "__file__", None)
    if file is None or not is_users_file(Path(file).resolve()):
        return []
    return [file_digest(path).hex() for path in sources(Path(file))]


def _file_contents_of(module: str) -> list[str]:
    """Return the digests of the files of a module that may not have been imported yet."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return []
    if (
        spec is None
        or not spec.has_location
        or not spec.origin
        or not is_users_file(Path(spec.origin).resolve())
    ):
        return []
    return [file_digest(path).hex() for path in sources(Path(spec.origin))]
