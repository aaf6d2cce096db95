"""Registered stages with their functions and options."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stereo_framework.core.arguments import describe_value
from stereo_framework.core.docstrings import summary
from stereo_framework.core.errors import (
    ParameterError,
    describe_exception,
    nearest,
    source_location,
)
from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.core.parameters import inner_slot, parameters_of, unit
from stereo_framework.core.slots import SLOTS, Slot


@dataclass(frozen=True)
class Stage:
    """A function that is registered as a stage, such as a matching cost.

    The decorator `registration.stage` creates this object. The optional parameters are
    keyword arguments of the decorator.

    Parameters
    ----------
    name, slot : str
    function : callable
        Original function without checks of its arguments, for pipelines.
    public : callable
        Function for users, with checks of the arguments.
    source : str
        Reference to a section, an equation or a table of a paper.
    halo : callable, optional
        Function that takes parameters of the stage by name. The result is the number of
        rows above and below a row that affect this row. A pipeline can then process the
        image in strips. None means all rows of the image. If the function does not take
        an inner stage, the halo of the inner stage is added to the result.
    data : tuple of str
        Names of the data arguments of the stage, such as ``reference`` or ``volume``.
    resume : str, optional
        Name of the parameter for the number of iterations. An aggregation with this
        option can continue an earlier computation. Its data argument ``partial`` is the
        result after fewer iterations, or None. With ``partial``, the parameter is the
        number of additional iterations. The result must be bitwise equal to a
        computation in one call.
    memory : int or callable, optional
        Maximum number of cost volumes in memory at the same time. The returned volume
        is counted, but the input volume is not. Default: 4 in aggregation, otherwise 2.
        The volumes of an inner stage are added to this number.
        A scheme for parts of images declares a function instead. The function takes the
        rows, columns and `SearchRange` of a pair, and the parameters of the scheme. The
        result is the rows and columns of the largest part.
    rows_per_frame : callable, optional
        Function that takes parameters of the stage by name. The result is the number of
        rows of the cost volumes that the stage holds at the same time for each other
        frame of the scene. None means all rows. These volumes are added to `memory`.
        Default: the stage holds no cost volumes of other frames.
    integer : bool
        True if the stage supports costs of type uint8 and uint16. Otherwise, the
        pipeline converts all costs to float32.
    other_needs : frozenset of str
        Required cost volumes of the other image: ``volume``, ``raw`` or both. The stage
        needs the data argument ``other``. Default: the volumes that the code of the
        stage names.
    data_for_inner : frozenset of str
        Names of data arguments that the stage reads only to give them to its inner
        stages. These data arguments need default values. The pipeline gives them to the
        stage only if an inner stage names them, too.
    files : callable, optional
        Function that takes parameters of the stage and the argument ``scene``. The
        result is a list of external files, such as programs and trained models. The
        contents of the files are part of the identity of a run. The check of a script
        passes None as the scene. The function raises a ParameterError if a file is
        missing.
    executes : callable, optional
        Function that takes parameters of the stage by name. The result describes the
        executed third-party code, such as ``the program ./elas``. The command `check`
        prints this description. The option ``--no-plugins`` forbids such a stage.
    check_parameters : callable, optional
        Function that takes parameters of the stage by name. The result is the reason
        why the values cannot be combined, or None. Scripts are checked by this function
        before they run. For an optimizer, the argument ``smoothness`` is the name of
        the smoothness term, or None.
    whole_steps : str
        Reason why the stage supports only steps of whole pixels. In a message, this
        text follows the name of the stage. Default: the stage supports every step.
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
    rows_per_frame: Callable[..., int | None] | None = None
    integer: bool = False
    other_needs: frozenset[str] = frozenset()
    data_for_inner: frozenset[str] = frozenset()
    files: Callable[..., Iterable[Path]] | None = None
    executes: Callable[..., str] | None = None
    check_parameters: Callable[..., str | None] | None = None
    whole_steps: str = ""

    @property
    def rules(self) -> Slot:
        """Return the rules of the slot of the stage."""
        return SLOTS[self.slot]

    @property
    def is_built_in(self) -> bool:
        """Whether the stage belongs to this package."""
        return str(self.function.__module__).startswith("stereo_framework.")

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Keyword-only arguments of the stage by name."""
        return parameters_of(self.function)

    def unit(self, parameter: str) -> str:
        """Return the unit of a parameter, such as ``pixels``.

        Examples
        --------
        >>> from stereo_framework.matching_cost import absolute_difference
        >>> stage_of(absolute_difference).unit("truncation")
        'grey levels'
        >>> stage_of(absolute_difference).unit("birchfield_tomasi")
        ''
        """
        return unit(self.parameters[parameter].annotation)

    def execution(self, parameters: Mapping[str, Any]) -> str:
        """Describe the third-party code of the stage, or return an empty text."""
        if self.executes is None:
            return ""
        names = _signature(self.executes).parameters
        return self.executes(**{name: value for name, value in parameters.items() if name in names})

    def misfit(self, parameters: Mapping[str, Any]) -> str:
        """Return the reason why parameter values cannot be combined.

        The result is empty if the values fit, or if a value is missing.

        Examples
        --------
        >>> from stereo_framework.optimization import semi_global
        >>> stage_of(semi_global).misfit({"p1": 8.0, "p2": 5.0})
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
            # A function of a plug-in may raise any exception.
            message = describe_exception(error, self.function, f"check_parameters of {self.name}")
            raise ParameterError(message) from error

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Raise an error if the values of the parameters cannot be combined.

        Raises
        ------
        ParameterError
            The values cannot be combined. The message gives the reason.
        """
        if misfit := self.misfit(parameters):
            raise ParameterError(f"{self.name}: {misfit}")

    def defaults(self, data: str) -> bool:
        """Return whether a data argument of the stage has a default value."""
        parameter = _signature(self.function).parameters[data]
        return parameter.default is not inspect.Parameter.empty

    @functools.cached_property
    def inner_slots(self) -> Mapping[str, str]:
        """Return the slots of all inner stages, by name of the parameter."""
        slots = {}
        for name, parameter in self.parameters.items():
            slot = inner_slot(parameter.annotation)
            if slot is None:
                continue
            if slot not in SLOTS:
                place = source_location(self.function)
                remedy = nearest(slot, SLOTS, kind="slots")
                raise ParameterError(
                    f"{place}: {self.name}.{name}: InSlot({slot!r}): no such slot; {remedy}"
                )
            slots[name] = slot
        return slots

    @functools.cached_property
    def keywords_in_code(self) -> frozenset[str]:
        """Names of the keyword arguments of all calls in the code of the stage.

        A stage gives data to an inner stage by name, as in ``inner(volume=volume)``.
        Therefore, the result contains the names of the data that the stage gives. Other
        functions of the same module that the stage calls are searched, too.
        """
        return frozenset(_keywords_in_code(self.function))

    @property
    def summary(self) -> str:
        """First sentence of the docstring of the stage's function."""
        return summary(self.function)


_STAGE_OF_FUNCTION: dict[Callable[..., Any], Stage] = {}


def remember_functions(stage: Stage) -> None:
    """Store which stage the two functions of a stage implement, for `stage_of`."""
    _STAGE_OF_FUNCTION[stage.public] = stage
    _STAGE_OF_FUNCTION[stage.function] = stage


def stage_of(function: Callable[..., Any]) -> Stage:
    """Return the registered stage that a function implements.

    Parameters
    ----------
    function : callable
        Decorated function, or the original function.

    Raises
    ------
    ParameterError
        The function is not registered as a stage.
    """
    try:
        return _STAGE_OF_FUNCTION[function]
    except (KeyError, TypeError):
        name = getattr(function, "__name__", describe_value(function))
        message = (
            f"{name}: not a stage; give step(NAME, parameter=value), or register a function "
            "with @stage(slot, source=...)"
        )
        raise ParameterError(message) from None


def _keywords_in_code(function: Callable[..., Any]) -> set[str]:
    """Return the names of the keywords in a function and in functions that it calls.

    Only called functions of the same module are searched.
    """
    keywords: set[str] = set()
    finished: set[types.CodeType] = set()
    waiting: list[types.CodeType] = [*_codes(function)]
    module_globals = getattr(function, "__globals__", {})
    while waiting:
        code = waiting.pop()
        if code in finished:
            continue
        finished.add(code)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                waiting.append(constant)
            elif isinstance(constant, tuple):
                # Python stores the names of the keywords of a call as a tuple of texts.
                keywords |= {item for item in constant if isinstance(item, str)}
        for name in code.co_names:
            called = module_globals.get(name)
            if getattr(called, "__globals__", None) is module_globals:
                waiting += _codes(called)
    return keywords


def _codes(function: Any) -> Iterator[types.CodeType]:
    """Yield the code of a function and of the functions in its closure."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    yield code
    for cell in function.__closure__ or ():
        try:
            code = getattr(cell.cell_contents, "__code__", None)
        except ValueError:
            # The cell is empty, because its variable has no value yet.
            continue
        if code is not None:
            yield code


_signature = functools.cache(inspect.signature)

report_attributes_of_module(__name__)
