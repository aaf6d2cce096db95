"""Registered stages: their functions, and the options that their authors declare."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stereo_framework.core.docstrings import summary
from stereo_framework.core.errors import ParameterError, describe_exception
from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.core.parameters import parameters_of, unit


@dataclass(frozen=True)
class Stage:
    """A function that is registered as a stage, such as a matching cost.

    The decorator `registration.stage` creates this object. The optional parameters
    below are keyword arguments of the decorator.

    Parameters
    ----------
    name, slot : str
    function : callable
        Original function, without checks of its arguments. Pipelines call this
        function.
    public : callable
        Function that users call directly. It checks the data and parameters before it
        calls the original function.
    source : str
        Reference to the paper that defines the method, with a section, an equation or a
        table.
    halo : callable, optional
        Function that takes parameters of the stage by name. It returns how many rows
        above and below a row the stage needs to compute this row. A stage with this
        function can run on strips of rows. If there is no such function, or if it
        returns None, the stage always gets all rows of the image.
    data : tuple of str
        Names of the data arguments of the stage, such as ``reference`` or ``volume``.
    resume : str, optional
        Name of the parameter that gives the number of iterations of an aggregation. It
        is declared by aggregations that can continue an earlier computation. Such a
        stage has the data argument ``partial``, which is the result of the same stage
        after fewer iterations on the same volume, or None. If ``partial`` is not None,
        the parameter gives the number of additional iterations. The result must be
        bitwise equal to the result of all iterations in one call.
    memory : int or callable, optional
        Maximum number of cost volumes that the stage allocates at the same time, from
        which the required memory is estimated. The returned volume is counted, but the
        input volume is not. Default: 4 in aggregation, otherwise 2. A scheme that
        divides images into parts declares a function instead. This function takes the
        rows and columns of a pair, its `SearchRange` and the parameters of the scheme,
        and returns the rows and columns of the largest part.
    integer : bool
        True if the stage can read or return cost volumes of type uint8 and uint16.
        Otherwise, the pipeline converts all costs to float32 before it calls the stage.
    other_needs : frozenset of str
        Cost volumes of the other image that the stage reads: ``volume``, ``raw`` or
        both. Only a stage with the data argument ``other`` can read them. Default: the
        volumes whose names occur in the code of the stage's function.
    files : callable, optional
        Function that takes parameters of the stage by name, and the scene or None as
        ``scene``. It returns the paths of external files and folders that affect the
        result, such as programs and trained models. The contents of these files are
        part of the identity of a run. When a script is checked, the function is called
        with the scene None. The function raises a ParameterError if a file is missing.
    executes : callable, optional
        Function that takes parameters of the stage by name, and returns a description
        of the third-party code that the stage executes, such as ``the program ./elas``.
        The command `check` prints this description. The option ``--no-plugins`` forbids
        to run such a stage.
    check_parameters : callable, optional
        Function that takes parameters of the stage by name. Each parameter alone has an
        allowed value. If the values cannot be combined, the function returns the reason
        as a text, and otherwise None. It is called when a script is checked and at
        every call of the stage. The function of an optimizer may also have an argument
        ``smoothness``, which is the name of the smoothness term of the method, or None.
    whole_steps : str
        Reason why the stage does not support search ranges with a step below a pixel.
        In a message, this text follows the name of the stage. If a script or a pipeline
        combines the stage with such a search range, an error is raised before anything
        is computed. Default: the stage supports every step.
    """

    name: str
    slot: str
    function: Callable[..., Any]
    public: Callable[..., Any]
    source: str
    halo: Callable[..., int | None] | None
    data: tuple[str, ...]
    resume: str | None = None
    memory: int | Callable[..., tuple[int, int]] | None = None
    integer: bool = False
    other_needs: frozenset[str] = frozenset()
    files: Callable[..., Iterable[Path]] | None = None
    executes: Callable[..., str] | None = None
    check_parameters: Callable[..., str | None] | None = None
    whole_steps: str = ""

    @property
    def is_built_in(self) -> bool:
        """Whether the stage belongs to this package."""
        return str(self.function.__module__).startswith("stereo_framework.")

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Parameters of the stage by name, which are the keyword-only arguments."""
        return parameters_of(self.function)

    def unit(self, parameter: str) -> str:
        """Return the unit of a parameter, such as ``pixels``; empty without a unit.

        Examples
        --------
        >>> from stereo_framework.core.registration import of
        >>> from stereo_framework.matching_cost import absolute_difference
        >>> of(absolute_difference).unit("truncation")
        'grey levels'
        >>> of(absolute_difference).unit("birchfield_tomasi")
        ''
        """
        return unit(self.parameters[parameter].annotation)

    def execution(self, parameters: Mapping[str, Any]) -> str:
        """Describe the third-party code that the stage executes; empty if none."""
        if self.executes is None:
            return ""
        names = _signature(self.executes).parameters
        return self.executes(**{name: value for name, value in parameters.items() if name in names})

    def misfit(self, parameters: Mapping[str, Any]) -> str:
        """Return the reason why parameter values cannot be combined; empty if they can.

        The result is also empty if `parameters` lacks a parameter that
        `check_parameters` needs.

        Examples
        --------
        >>> from stereo_framework.core.registration import of
        >>> from stereo_framework.optimization import semi_global
        >>> of(semi_global).misfit({"p1": 8.0, "p2": 5.0})
        'p2 is 5, below p1, 8'
        """
        if self.check_parameters is None:
            return ""
        needed = _signature(self.check_parameters).parameters
        values = {name: value for name, value in parameters.items() if name in needed}
        for name, parameter in needed.items():
            if name not in values and parameter.default is parameter.empty:
                return ""
        try:
            return self.check_parameters(**values) or ""
        except Exception as error:
            # The function `check_parameters` may belong to a plug-in, which may raise
            # any exception.
            message = describe_exception(error, self.function, f"check_parameters of {self.name}")
            raise ParameterError(message) from error

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Raise an error if the values of the parameters cannot be combined.

        Raises
        ------
        ParameterError
            The values cannot be combined. The message gives the reason, which is the
            result of `misfit`.
        """
        if misfit := self.misfit(parameters):
            raise ParameterError(f"{self.name}: {misfit}")

    def defaults(self, data: str) -> bool:
        """Return whether a data argument of the stage has a default value."""
        parameter = _signature(self.function).parameters[data]
        return parameter.default is not inspect.Parameter.empty

    @property
    def summary(self) -> str:
        """First sentence of the docstring of the stage's function."""
        return summary(self.function)


_signature = functools.cache(inspect.signature)

report_attributes_of_module(__name__)
