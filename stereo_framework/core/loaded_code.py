"""Compute digests of functions that the user has defined in a program or notebook.

If a function of the user changes, stored results that were computed with this function
are outdated. The digest covers the function in memory instead of its source file. The
reason is that a notebook has no source file, and that a source file may have changed
after its import.
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
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.contents import file_digest
from stereo_framework.core.module_sources import is_users_file, source_files
from stereo_framework.core.source_summaries import summarize_source

_PLAIN = (bool, int, float, complex, str, bytes, slice, type(None), type(...), np.generic, np.dtype)
"""Types for which the text ``repr(value)`` describes a value completely."""

_UNCOUNTED_MEMBERS = ("__dict__", "__weakref__", "__doc__")
"""Attributes of a class that are not part of its digest."""


@dataclass(frozen=True)
class LoadedContent:
    """Digest of functions, classes or data in memory, and the packages that they use.

    Parameters
    ----------
    digest : bytes
        SHA-256 digest, which ignores comments and docstrings.
    installed_names : frozenset of str
        Dotted names of used modules and objects in installed packages, such as
        ``scipy.ndimage.gaussian_filter``. The names include modules of this package.
    """

    digest: bytes
    installed_names: frozenset[str]


def loaded_content(values: Any) -> LoadedContent:
    """Return a digest of functions, classes or data, and the packages that they use.

    For a function of the user, the digest covers the code of the function, and the
    global variables that the code uses. For a function of an installed package, the
    digest covers only the name of the function.

    Parameters
    ----------
    values : object
        Any value, such as a function, a class, an array or a list.
    """
    converter = _Converter()
    digest = hashlib.sha256(repr(converter.content(values)).encode()).digest()
    return LoadedContent(digest, frozenset(converter.installed_names))


class _Converter:
    """Converter of functions and objects to tuples, lists and texts.

    Objects may refer to each other in a circle. Therefore, if an object occurs again,
    the converter returns a tuple with the number of the object, such as
    ``("visited", 3)``.
    """

    def __init__(self) -> None:
        self.installed_names: set[str] = set()
        self._numbers: dict[int, int] = {}
        self._visited: list[Any] = []

    def content(self, value: Any) -> object:
        """Convert a value to tuples, lists and texts.

        Two equal arrays have equal results. The result of a list or of a mapping also
        depends on the order of the items, and on whether an object occurs twice.
        """
        if isinstance(value, _PLAIN):
            return type(value).__name__, repr(value)
        # Python may store two equal tuples as one object or as two objects. The result
        # must not depend on this. Therefore tuples, sets and code objects are converted
        # at each occurrence, and are not replaced by ``("visited", 3)``.
        if isinstance(value, tuple):
            return type(value).__name__, [self.content(item) for item in value]
        if isinstance(value, frozenset | set):
            return "set", sorted(repr(self._content_of_item(item)) for item in value)
        if isinstance(value, types.CodeType):
            return self._code(value)

        if id(value) in self._numbers:
            return "visited", self._numbers[id(value)]
        self._numbers[id(value)] = len(self._numbers)
        # Python gives the id of a deleted object to a new object. The reference in
        # `_visited` keeps the value from being deleted.
        self._visited.append(value)
        return self._content_of_new_object(value)

    def _content_of_item(self, item: Any) -> object:
        """Convert an item of a set with a new converter.

        The items of a set have no order. With a new converter, the result of an item
        does not depend on the items that were converted before.
        """
        converter = _Converter()
        content = converter.content(item)
        self.installed_names |= converter.installed_names
        return content

    def _content_of_new_object(self, value: Any) -> object:
        """Convert an object that this converter has not converted before."""
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
        """Convert a function, a wrapper such as ``functools.partial``, or an object."""
        if isinstance(value, functools.partial):
            return "partial", self.content((value.func, value.args, value.keywords))
        if isinstance(value, types.MethodType):
            return "method", self.content((value.__func__, value.__self__))
        if isinstance(value, staticmethod | classmethod):
            return type(value).__name__, self.content(value.__func__)
        if isinstance(value, property):
            return "property", self.content((value.fget, value.fset))
        # A function that Numba has compiled has the attribute `py_func`, which is the
        # original Python function.
        if hasattr(value, "py_func"):
            return "compiled", self.content(value.py_func)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.BuiltinFunctionType):
            return "built in", value.__module__, value.__qualname__
        return self._object(value)

    def _function(self, function: types.FunctionType) -> object:
        """Convert a function to its code, its default arguments and the used values.

        A function of an installed package is converted to its name.
        """
        enclosed_values = [_cell_contents(cell) for cell in function.__closure__ or ()]
        name = f"{function.__module__}.{function.__qualname__}"
        if not _is_users(function.__module__):
            self.installed_names.add(name)
            # A decorator of an installed package returns a function of this package,
            # and the decorated function of the user is one of its enclosed values.
            return name, self.content(enclosed_values)
        self.installed_names.update(_installed_names(function.__code__, function.__globals__))
        parts = (
            function.__code__,
            function.__defaults__,
            function.__kwdefaults__,
            enclosed_values,
            list(_used_values(function.__code__, function.__globals__)),
        )
        return "function", self.content(parts)

    def _code(self, code: types.CodeType) -> object:
        """Convert the code of a function to a list of its instructions.

        In the code, an instruction contains the index of a constant. The list contains
        the constant itself, because a docstring is also a constant and would change the
        indices of other constants.
        """
        instructions = []
        for instruction in dis.get_instructions(code):
            argument: object = instruction.arg
            if instruction.opcode in dis.hasconst:
                argument = self.content(instruction.argval)
            instructions.append((instruction.opname, argument))
        return instructions, code.co_names, code.co_varnames, code.co_exceptiontable

    def _class(self, value: type) -> object:
        name = f"{value.__module__}.{value.__qualname__}"
        if not _is_users(value.__module__):
            self.installed_names.add(name)
            return name
        members = {key: item for key, item in vars(value).items() if key not in _UNCOUNTED_MEMBERS}
        bases = [base for base in value.__bases__ if base is not object]
        return name, self.content(bases), self.content(members)

    def _object(self, value: Any) -> object:
        """Convert an object to its class, together with the data of the object.

        The data are the attributes of an object whose class the user has written, and
        the fields of a dataclass. For any other object, the data are the digest of its
        pickle. If Python cannot pickle the object, the result contains only the class.
        """
        kind = type(value)
        if is_dataclass(value):
            names = [field.name for field in fields(value)]
            return self._class(kind), [(name, self.content(getattr(value, name))) for name in names]
        if _is_users(kind.__module__):
            return self._class(kind), self.content(getattr(value, "__dict__", None))
        try:
            return kind.__qualname__, hashlib.sha256(pickle.dumps(value)).hexdigest()
        except Exception:  # An object of another package may raise any exception.
            return kind.__qualname__


def _array_content(array: np.ndarray) -> object:
    """Return the number type of an array, its shape, and the digest of its numbers.

    For a masked array, the digest also covers the mask.
    """
    numbers = np.ascontiguousarray(np.ma.getdata(array)).tobytes()
    mask = b""
    if isinstance(array, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(array).tobytes()
    return array.dtype.str, array.shape, hashlib.sha256(numbers + mask).hexdigest()


def _cell_contents(cell: types.CellType) -> Any:
    """Return the value of a closure variable, or None if the variable has no value."""
    try:
        return cell.cell_contents
    except ValueError:  # The enclosing function has not yet assigned the variable.
        return None


def _with_nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of a function, followed by the codes of all nested functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_nested_codes(constant)


def _used_values(
    function_code: types.CodeType, global_variables: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the global variables that a function uses.

    For an expression such as ``settings.radius``, the function yields the module and
    the attribute. For an import statement, the function yields the digests of the
    imported files. The function also searches nested functions.

    Parameters
    ----------
    function_code : code object
        Compiled code of the searched function, which is its attribute ``__code__``.
    global_variables : mapping of str to object
        Global variables of the module that defines the searched function.
    """
    for code in _with_nested_codes(function_code):
        for name in code.co_names:
            if name not in global_variables:
                continue
            value = global_variables[name]
            is_module = isinstance(value, types.ModuleType)
            if is_module and not _is_users(value.__name__):
                continue
            yield name, value
            if is_module:
                for attribute in code.co_names:
                    if attribute in vars(value):
                        yield attribute, vars(value)[attribute]
        for module in [*_imported_modules(code), *_possible_modules(code)]:
            yield module, _digests_of_module_name(module)


def _installed_names(
    function_code: types.CodeType, global_variables: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the dotted names in a function that belong to installed packages.

    The function also searches nested functions. `_used_values` describes the
    parameters.
    """
    for code in _with_nested_codes(function_code):
        for name in _dotted_names(code, global_variables):
            if not _is_users(name.partition(".")[0]):
                yield name


def _dotted_names(code: types.CodeType, global_variables: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dotted names of modules and of their attributes in a code object.

    For an expression such as ``scipy.ndimage.zoom(image)``, the names are ``scipy``,
    ``scipy.ndimage`` and ``scipy.ndimage.zoom``.
    """
    modules = {
        name: value.__name__
        for name, value in global_variables.items()
        if isinstance(value, types.ModuleType)
    }
    # The loop follows the instructions. The variable `dotted_name` is the name of the
    # value that the last instruction has loaded, or empty if this value has no name.
    imported_module = dotted_name = ""
    for instruction in dis.get_instructions(code):
        operation = instruction.opname
        if operation == "IMPORT_NAME":
            imported_module = dotted_name = str(instruction.argval)
        elif operation == "IMPORT_FROM":
            dotted_name = f"{imported_module}.{instruction.argval}"
        elif operation.startswith("STORE") and dotted_name:
            # An import statement or an assignment gives the value a further name.
            modules[instruction.argval] = dotted_name
            dotted_name = ""
        elif operation.startswith("LOAD_") and instruction.argval in modules:
            dotted_name = modules[instruction.argval]
        elif operation in ("LOAD_ATTR", "LOAD_METHOD") and dotted_name:
            dotted_name = f"{dotted_name}.{instruction.argval}"
        else:
            dotted_name = ""
        if dotted_name:
            yield dotted_name


def _imported_modules(code: types.CodeType) -> list[str]:
    """Return the names of modules in the import statements of a function."""
    return [
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opname == "IMPORT_NAME"
    ]


def _possible_modules(code: types.CodeType) -> list[str]:
    """Return the constant texts in a function that may be names of imported modules.

    For example, the call ``importlib.import_module("settings")`` contains the text
    ``"settings"``.
    """
    if not {"import_module", "__import__"} & set(code.co_names):
        return []
    # Names with a dot are left out, because a search for "package.module" would import
    # the package.
    texts = [constant for constant in code.co_consts if isinstance(constant, str)]
    return [text for text in texts if text.isidentifier()]


def _is_users(module: str) -> bool:
    """Return whether the user has written a module, such as a script or a notebook."""
    if module == "__main__":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and is_users_file(Path(file).resolve())


def _digests_of_loaded_module(module: types.ModuleType) -> list[str]:
    """Return the digests of the source files of an imported module."""
    file = getattr(module, "__file__", None)
    return [] if file is None else _digests_of_sources(Path(file))


def _digests_of_module_name(module: str) -> list[str]:
    """Find a module by its name, and return the digests of its source files.

    The function does not import the module. The list is empty if no module has this
    name.
    """
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return []
    if spec is None or not spec.has_location or not spec.origin:
        return []
    return _digests_of_sources(Path(spec.origin))


def _digests_of_sources(file: Path) -> list[str]:
    """Return the digests of a module's file and of all files that the module imports.

    The list is empty if the user has not written the module.
    """
    if not is_users_file(file.resolve()):
        return []
    return [_digest_of_source(path).hex() for path in source_files(file)]


def _digest_of_source(file: Path) -> bytes:
    """Return the digest of a source file, which ignores comments in a Python file."""
    if file.suffix == ".py":
        return summarize_source(file.read_bytes()).digest
    return file_digest(file)
