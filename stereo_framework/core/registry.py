"""What can be added to: stages, measures, data sets, readers, protocols, charts and papers, by name."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from stereo_framework.core.errors import ParameterError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Registry(UserDict[str, T]):
    """Things of a kind by name, first those of the package.

    Parameters
    ----------
    kind : str
        What they are, for messages: ``"measure"``.
    built_in : mapping of str to object
        Those of the package.
    """

    every: ClassVar[list[Registry]] = []
    OURS: ClassVar[str] = "stereo_framework"

    def __init__(self, kind: str, built_in: Mapping[str, T]):
        super().__init__(built_in)
        self.kind, self._origins = kind, dict.fromkeys(built_in, self.OURS)
        self.changes = 0
        """How often something was added or taken away."""
        self.every.append(self)

    def add(self, name: str, thing: T, origin: str) -> None:
        """Add a thing that the module `origin` brings; the same module may bring it again, as a notebook does.

        Raises
        ------
        ParameterError
            Another module has brought something of this name.
        """
        first = self._origins.setdefault(name, origin)
        if first != origin:
            raise ParameterError(
                f"{self.kind} {name!r}: already registered by {first}; choose another name"
            )
        self[name] = thing
        self.changes += 1

    def door(
        self, name: str, make: Callable[[Any], T] = lambda function: function
    ) -> Callable[[F], F]:
        """A decorator that adds what `make` makes of a function, which it returns as it is; raises as `add`."""

        def register(function: F) -> F:
            self.add(name, make(function), function.__module__)
            return function

        return register

    def origin(self, name: str) -> str:
        """The module that brought a thing."""
        return self._origins[name]

    def forget(self, name: str) -> None:
        """Take a thing away."""
        del self[name], self._origins[name]
        self.changes += 1
