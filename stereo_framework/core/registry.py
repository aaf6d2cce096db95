"""Registries: tables of extensible objects, such as stages and metrics.

Users can also add data sets, file readers, protocols, charts and papers.
"""

from __future__ import annotations

import sys
from collections import UserDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.package_files import PACKAGE

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Registry(UserDict[str, T]):
    """Registered objects of one kind, such as metrics. Built-in objects come first.

    Parameters
    ----------
    kind : str
        Singular noun for error messages, such as ``"metric"``.
    built_in : mapping of str to object
        Objects of this package, by name.

    Attributes
    ----------
    changes : int
        Number of additions and removals so far. A caller can detect outdated cached
        values by this number.
    """

    registries: ClassVar[list[Registry]] = []
    """List of all registries of the program."""

    def __init__(self, kind: str, built_in: Mapping[str, T]):
        super().__init__(built_in)
        self.kind = kind
        self.changes = 0
        self._origins = dict.fromkeys(built_in, PACKAGE)
        # A module that is removed from sys.modules loses its file, so files are stored.
        self._files: dict[str, Path | None] = {}
        self.registries.append(self)

    def add(self, name: str, registered: T, origin: str) -> None:
        """Add an object to the registry under a name.

        A file may register a name again, for example after a change of a notebook cell
        or of a module that the program reloads. The new object replaces the old object.

        Parameters
        ----------
        name : str
        registered : object
        origin : str
            Name of the module that defines the object.

        Raises
        ------
        ParameterError
            Another file has already registered an object with this name.
        """
        file = _file_of_module(origin)
        first_origin = self._origins.get(name, origin)
        first_file = self._files.get(name)
        is_same_file = file is not None and file == first_file
        if first_origin != origin and not is_same_file:
            first_place = self._description_of_origin(first_origin, first_file)
            place = file or f"the module {origin}"
            message = (
                f"{self.kind} {name!r}: already registered by {first_place}, and {place} registers "
                f"{name!r} too; rename one of the two"
            )
            if self._is_of_package(first_origin):
                message = (
                    f"{self.kind} {name!r}: already registered by {first_place}, so {place} cannot "
                    "register it; choose another name"
                )
            raise ParameterError(message)
        self._origins[name] = origin
        self._files[name] = file
        self[name] = registered
        self.changes += 1

    def _is_of_package(self, origin: str) -> bool:
        """Return whether a module belongs to this package."""
        return origin.partition(".")[0] == PACKAGE

    def _description_of_origin(self, origin: str, file: Path | None) -> str:
        """Describe the place that registered an object, for an error message.

        Parameters
        ----------
        origin : str
            Name of the module.
        file : Path or None
            File of the module, if it has one.
        """
        if file is None and not self._is_of_package(origin):
            return f"the module {origin}"
        if self._is_of_package(origin):
            place = file or _file_of_module(PACKAGE)
            return f"{origin} ({place}, built in)"
        return str(file)

    def decorator(
        self, name: str, make: Callable[[Any], T] = lambda function: function
    ) -> Callable[[F], F]:
        """Return a decorator that registers a function and returns it unchanged.

        Parameters
        ----------
        name : str
            Name of the registered object.
        make : callable
            Function that converts the decorated function to the registered object.
            Default: the decorated function itself is registered.
        """

        def register(function: F) -> F:
            self.add(name, make(function), function.__module__)
            return function

        return register

    def origin(self, name: str) -> str:
        """Return the name of the module that registered an object."""
        return self._origins[name]

    def remove(self, name: str) -> None:
        """Remove an object from the registry."""
        del self[name], self._origins[name]
        self._files.pop(name, None)
        self.changes += 1


def _file_of_module(name: str) -> Path | None:
    """Return the resolved path of the file of an imported module, or None."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return Path(file).resolve() if file else None
