"""Registries: tables of the objects that users can add, such as stages and metrics.

Data sets, readers of files, protocols, charts and papers have registries too.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from stereo_framework.core.errors import ParameterError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Registry(UserDict[str, T]):
    """Registered objects of one kind by name. The objects of this package come first.

    Parameters
    ----------
    kind : str
        Singular noun for the objects, for messages, such as ``"metric"``.
    built_in : mapping of str to object
        The objects of this package.

    Attributes
    ----------
    changes : int
        Number of additions and removals so far. Callers that keep values computed from
        the registry compute them again if this number has changed.
    """

    registries: ClassVar[list[Registry]] = []
    """All registries of the program."""

    PACKAGE: ClassVar[str] = "stereo_framework"
    """The origin of the objects in `built_in`."""

    def __init__(self, kind: str, built_in: Mapping[str, T]):
        super().__init__(built_in)
        self.kind = kind
        self.changes = 0
        self._origins = dict.fromkeys(built_in, self.PACKAGE)
        self.registries.append(self)

    def add(self, name: str, registered: T, origin: str) -> None:
        """Add an object to the registry.

        The module that added an object may add it again. Notebooks do so when the user
        runs a cell twice.

        Parameters
        ----------
        name : str
        registered : object
        origin : str
            Name of the module that defines the object.

        Raises
        ------
        ParameterError
            Another module has registered an object of this name.
        """
        first_origin = self._origins.setdefault(name, origin)
        if first_origin != origin:
            message = (
                f"{self.kind} {name!r}: already registered by {first_origin}; choose another name"
            )
            raise ParameterError(message)
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
            Makes the registered object from the function. Default: the function itself.
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
