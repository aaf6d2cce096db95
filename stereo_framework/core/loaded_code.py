"""Digests of functions and objects in memory, with the code and values that they use.

The digest of a run contains the functions of the user. A function of a notebook has no
source file, and a module that was edited and reloaded differs from its file at the
first import. Therefore the objects in memory are read here, and not their files. The
digest of equal objects is the same in every process.
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
from stereo_framework.core.module_sources import is_users_file, source_files

_PLAIN = (bool, int, float, complex, str, bytes, slice, type(None), type(...), np.generic, np.dtype)
"""Types whose values are represented by their `repr`."""

_UNCOUNTED_MEMBERS = ("__dict__", "__weakref__", "__doc__")
"""Members of a class that do not change its behaviour."""


def loaded_content(values: Any) -> bytes:
    """Return the digest of values in memory.

    The digest of functions and classes of the user includes their code and all values
    that the code uses. Functions of this package and of installed packages are
    represented by their names.

    Parameters
    ----------
    values : object
        Functions, classes, numbers, arrays, collections, and objects that contain
        these.
    """
    return hashlib.sha256(repr(_Reader().content(values)).encode()).digest()


class _Reader:
    """Converter of values to plain values, which represents each object only once.

    Objects may contain each other. The second time that the reader meets an object, it
    returns the number of the object.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._visited: list[Any] = []

    def content(self, value: Any) -> object:
        """Return a plain value whose `repr` represents the content of a value."""
        if isinstance(value, _PLAIN):
            return type(value).__name__, repr(value)
        # Constants of a program are not numbered, because equal constants are one
        # object in some processes and several objects in others.
        if isinstance(value, tuple):
            return type(value).__name__, [self.content(item) for item in value]
        if isinstance(value, frozenset | set):
            return "set", sorted(repr(_Reader().content(item)) for item in value)
        if isinstance(value, types.CodeType):
            return self._code(value)

        if id(value) in self._numbers:
            return "visited", self._numbers[id(value)]
        self._numbers[id(value)] = len(self._numbers)
        # While the reader keeps the object, no other object gets its id.
        self._visited.append(value)
        return self._content_of_new_object(value)

    def _content_of_new_object(self, value: Any) -> object:
        """Return the content of an object that the reader meets for the first time."""
        if isinstance(value, np.ndarray) and value.dtype != object:
            return _array_content(value)
        if isinstance(value, list):
            return "list", [self.content(item) for item in value]
        if isinstance(value, Mapping):
            items = [(self.content(key), self.content(item)) for key, item in value.items()]
            return "mapping", items
        if isinstance(value, types.ModuleType):
            return "module", value.__name__, _digests_of_loaded_module(value)
        if isinstance(value, type):
            return self._class(value)
        return self._callable_or_object(value)

    def _callable_or_object(self, value: Any) -> object:
        """Return the content of a function, a wrapper of a function, or an object."""
        if isinstance(value, functools.partial):
            return "partial", self.content((value.func, value.args, value.keywords))
        if isinstance(value, types.MethodType):
            return "method", self.content((value.__func__, value.__self__))
        if isinstance(value, staticmethod | classmethod):
            return type(value).__name__, self.content(value.__func__)
        if isinstance(value, property):
            return "property", self.content((value.fget, value.fset))
        # A function that numba compiles keeps the Python function in py_func.
        if hasattr(value, "py_func"):
            return "compiled", self.content(value.py_func)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.BuiltinFunctionType):
            return "built in", value.__module__, value.__qualname__
        return self._object(value)

    def _function(self, function: types.FunctionType) -> object:
        """Return the code of a function, its defaults and the values that it uses."""
        enclosed_values = [_cell_contents(cell) for cell in function.__closure__ or ()]
        name = f"{function.__module__}.{function.__qualname__}"
        if not _is_users(function.__module__):
            # A decorator of a package may enclose a function of the user.
            return name, self.content(enclosed_values)
        used_values = list(_used_values(function.__code__, function.__globals__))
        return "function", self.content(
            (
                function.__code__,
                function.__defaults__,
                function.__kwdefaults__,
                enclosed_values,
                used_values,
            )
        )

    def _code(self, code: types.CodeType) -> object:
        constants = [self.content(constant) for constant in code.co_consts]
        return code.co_code.hex(), constants, code.co_names, code.co_varnames

    def _class(self, value: type) -> object:
        name = f"{value.__module__}.{value.__qualname__}"
        if not _is_users(value.__module__):
            return name
        members = {key: item for key, item in vars(value).items() if key not in _UNCOUNTED_MEMBERS}
        bases = [base for base in value.__bases__ if base is not object]
        return name, self.content(bases), self.content(members)

    def _object(self, value: Any) -> object:
        """Return the class of an object, with its fields, attributes or pickle."""
        kind = type(value)
        if is_dataclass(value):
            names = [field.name for field in fields(value)]
            return self._class(kind), [(name, self.content(getattr(value, name))) for name in names]
        if _is_users(kind.__module__):
            return self._class(kind), self.content(getattr(value, "__dict__", None))
        try:
            return kind.__qualname__, hashlib.sha256(pickle.dumps(value)).hexdigest()
        except Exception:  # Objects of other packages may raise anything.
            return kind.__qualname__


def _array_content(array: np.ndarray) -> object:
    """Return the type, the shape and a digest of the numbers of an array."""
    numbers = np.ascontiguousarray(np.ma.getdata(array)).tobytes()
    mask = b""
    if isinstance(array, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(array).tobytes()
    return array.dtype.str, array.shape, hashlib.sha256(numbers + mask).hexdigest()


def _cell_contents(cell: types.CellType) -> Any:
    """Return the value of a variable of an enclosing function, or None."""
    try:
        return cell.cell_contents
    except ValueError:  # The enclosing function has not assigned the variable yet.
        return None


def _used_values(code: types.CodeType, names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of all that a code uses from outside of its function.

    The values are global variables, attributes of the user's modules, and the digests
    of modules that the code imports. The functions inside the code are included.

    Parameters
    ----------
    code : code object
    names : mapping of str to object
        Global variables of the function.
    """
    for name in code.co_names:
        value = names.get(name)
        if not isinstance(value, types.ModuleType):
            if name in names:
                yield name, value
        elif _is_users(value.__name__):
            yield name, value
            for attribute in code.co_names:
                if attribute in vars(value):
                    yield attribute, vars(value)[attribute]
    for module in [*_imported_modules(code), *_possible_modules(code)]:
        yield module, _digests_of_module_name(module)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _used_values(constant, names)


def _imported_modules(code: types.CodeType) -> list[str]:
    """Return the names of the modules in the import statements of a function."""
    return [
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opname == "IMPORT_NAME"
    ]


def _possible_modules(code: types.CodeType) -> list[str]:
    """Return the constants of a function that may be the names of modules.

    The list is empty if the function does not call a function that imports modules.
    """
    if not {"import_module", "__import__"} & set(code.co_names):
        return []
    # A dotted name is left out, because Python imports the package of a module in order
    # to find the module.
    texts = [constant for constant in code.co_consts if isinstance(constant, str)]
    return [text for text in texts if text.isidentifier()]


def _is_users(module: str) -> bool:
    """Return whether a module is a program, a notebook or a file of the user."""
    if module == "__main__":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and is_users_file(Path(file).resolve())


def _digests_of_loaded_module(module: types.ModuleType) -> list[str]:
    """Return the digests of the source files of an imported module."""
    file = getattr(module, "__file__", None)
    return [] if file is None else _digests_of_sources(Path(file))


def _digests_of_module_name(module: str) -> list[str]:
    """Return the digests of the source files of a module that need not be imported."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return []
    if spec is None or not spec.has_location or not spec.origin:
        return []
    return _digests_of_sources(Path(spec.origin))


def _digests_of_sources(file: Path) -> list[str]:
    """Return the digests of the source files of a module of the user.

    The list is empty for any other module.
    """
    if not is_users_file(file.resolve()):
        return []
    return [file_digest(path).hex() for path in source_files(file)]
