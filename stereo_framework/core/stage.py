"""A registered stage: its function, and what its author declares about it."""

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
    """A registered stage of a method.

    `registration.stage` creates the object. Its keyword arguments are the optional
    parameters below.

    Parameters
    ----------
    name, slot : str
    function : callable
        Function as its author wrote it. A pipeline calls this function.
    public : callable
        Function that users call. It checks the data and parameters first.
    source : str
        Paper and section, equation or table that define the method.
    halo : callable, optional
        Function that takes parameters of the stage by name, and returns the number of
        rows above and below a row that the stage needs to compute this row. A stage
        with such a function is local, and may run on a strip of rows. Without it, or if
        it returns None, the stage gets all rows.
    data : tuple of str
        Names of the data that the stage takes.
    resume : str, optional
        Parameter that counts the iterations of an aggregation that can be continued.
        Such a stage takes the data ``partial``: its own result for the same volume and
        the same other parameters after fewer iterations, or None. The stage then does
        as many further iterations as the parameter gives. The result is equal to the
        bit to that of all iterations.
    memory : int or callable, optional
        For the estimate of memory: the number of cost volumes that the stage holds at
        most while it works. Its result counts, the volume that it receives does not.
        Default: 4 in aggregation, otherwise 2. A scheme that cuts pairs gives a
        function of the rows and columns of a pair, its `SearchRange` and the parameters
        of the scheme, which returns the rows and columns of the largest part.
    integer : bool
        True if the stage takes or makes volumes of uint8 and uint16 costs. For any
        other stage the pipeline converts the costs to float32.
    other_needs : frozenset of str
        Cost volumes of the other image, ``volume`` or ``raw``, that a stage uses that
        names ``other``. Default: those whose names its own code contains.
    files : callable, optional
        Function that takes parameters of the stage by name and, as ``scene``, the scene
        or None. It returns the external files and folders that affect the result, such
        as programs and models. Their content is part of a run's identity. It is called
        without a scene when a script is checked, and raises a ParameterError if a file
        is missing.
    executes : callable, optional
        Function that takes parameters of the stage by name, and returns the third-party
        code that the stage executes, such as ``the program ./elas``. `check` lists this
        text, and ``--no-plugins`` refuses the stage.
    check_parameters : callable, optional
        Function that takes allowed values of parameters by name, and returns why these
        values cannot be combined, or None. It is called when a script is checked and at
        every call of the stage. That of an optimizer may name ``smoothness``, and gets
        the name of the smoothness term of the method, or None.
    whole_steps : str
        Reason why the stage does not support search ranges with a step below a pixel,
        as a phrase that continues the stage's name. Scripts and pipelines with such a
        range are refused before anything is computed. Default: every step is supported.
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
        """Keyword-only parameters by name, with resolved annotations."""
        return parameters_of(self.function)

    def unit(self, parameter: str) -> str:
        """Return the unit of a parameter from its annotation; empty without a unit.

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
        """Return the third-party code that the stage executes, or an empty text."""
        if self.executes is None:
            return ""
        names = _signature(self.executes).parameters
        return self.executes(**{name: value for name, value in parameters.items() if name in names})

    def misfit(self, parameters: Mapping[str, Any]) -> str:
        """Return why values of parameters cannot be combined; empty if they can.

        The text is also empty if the values of some parameters are missing that the
        check needs.

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
            # The function may belong to a plug-in, which may raise anything.
            message = describe_exception(error, self.function, f"check_parameters of {self.name}")
            raise ParameterError(message) from error

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Refuse values of parameters that cannot be combined.

        Raises
        ------
        ParameterError
            The message is that of `misfit`.
        """
        if misfit := self.misfit(parameters):
            raise ParameterError(f"{self.name}: {misfit}")

    def defaults(self, data: str) -> bool:
        """Return whether the stage can run without some data that it names."""
        parameter = _signature(self.function).parameters[data]
        return parameter.default is not inspect.Parameter.empty

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return summary(self.function)


_signature = functools.cache(inspect.signature)

report_attributes_of_module(__name__)
