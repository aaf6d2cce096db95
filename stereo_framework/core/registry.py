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

    PACKAGE: ClassVar[str] = "stereo_framework"
    """Module name that is the origin of every built-in object."""

    def __init__(self, kind: str, built_in: Mapping[str, T]):
        super().__init__(built_in)
        self.kind = kind
        self.changes = 0
        self._origins = dict.fromkeys(built_in, self.PACKAGE)
        self.registries.append(self)

    def add(self, name: str, registered: T, origin: str) -> None:
        """Add an object to the registry under a name.

        A module may register a name again, for example in a notebook cell. The new
        object then replaces the old object. This also applies if a program imports a
        file and loads the same file as a plug-in, which makes two modules.

        Parameters
        ----------
        name : str
        registered : object
        origin : str
            Name of the module that defines the object.

        Raises
        ------
        ParameterError
            Another module has already registered an object with this name.
        """
        first_origin = self._origins.setdefault(name, origin)
        if first_origin != origin and not _have_same_file(first_origin, origin):
            message = (
                f"{self.kind} {name!r}: already registered by {first_origin}; choose another name"
            )
            raise ParameterError(message)
        self._origins[name] = origin
        self[name] = registered
        self.changes += 1

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
        self.changes += 1


def _have_same_file(first_module: str, second_module: str) -> bool:
    """Return whether two imported modules come from the same source file."""
    files = []
    for name in (first_module, second_module):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None:
            return False
        files.append(Path(file).resolve())
    return files[0] == files[1]
