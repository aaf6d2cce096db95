"""Registration of functions as stages, and creation of steps from these stages."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import (
    ParameterError,
    StereoFrameworkError,
    close_or_listing,
    nearest,
)
from stereo_framework.core.former_names import new_or_nearest
from stereo_framework.core.input_checks import convert_data
from stereo_framework.core.plugins import installed_plugins
from stereo_framework.core.registry import Registry
from stereo_framework.core.slots import SLOTS, ResultKind
from stereo_framework.core.stage import Stage, remember_functions, stage_of
from stereo_framework.core.step import Step, checked_step, naming_outer_parameter
from stereo_framework.core.view import VOLUMES
from stereo_framework.core.volume import CostVolume, Labeling, as_volume

F = TypeVar("F", bound=Callable[..., Any])

_STAGES: dict[str, Registry[Stage]] = {slot: Registry(f"stage of {slot}", {}) for slot in SLOTS}


@checked()
def stage(
    slot: str, *, source: str = "", halo: Callable[..., int | None] | None = None, **options: Any
) -> Callable[[F], F]:
    """Register a function as a stage of a slot.

    The decorated function checks its data and parameters before it calls the original
    function. A pipeline calls the original function directly.

    Parameters
    ----------
    slot : str
        Name of the slot, such as ``matching_cost``.
    source : str
        Reference to a section, an equation or a table of a paper. The command `check`
        requires a source for each stage of a script.
    halo : callable, optional
        Function that takes parameters of the stage by name. The function returns the
        number of rows above and below a row that affect this row. None means that all
        rows of the image affect each row.
    **options
        Further options, such as ``memory``. The docstring of `Stage` describes all
        options.

    Raises
    ------
    StereoFrameworkError
        The signature of the function does not fit the slot.
    """
    if slot not in SLOTS:
        raise StereoFrameworkError(
            f"@stage({slot!r}): no such slot; {nearest(slot, SLOTS, kind='slots')}"
        )

    def register(function: F) -> F:
        bare_stage = _create_stage(slot, function, source=source, halo=halo, **options)
        public = _with_checks(bare_stage)
        new_stage = replace(bare_stage, public=public)
        _STAGES[slot].add(new_stage.name, new_stage, function.__module__)
        remember_functions(new_stage)
        return cast(F, public)

    return register


def _create_stage(slot: str, function: Callable[..., Any], **options: Any) -> Stage:
    """Create a stage whose public function is the undecorated function of the author.

    Parameters
    ----------
    slot : str
    function : callable
        The function of the author of the stage.
    **options
        Fields of `Stage`.
    """
    data_names = _data_names(slot, options.get("resume"), function)
    _check_option_functions(slot, function, options)
    other_needs = options.pop("other_needs", None)
    if other_needs is None:
        other_needs = _volumes_in_code(function) if "other" in data_names else ()
    data_for_inner = frozenset(options.pop("data_for_inner", ()))
    _check_data_for_inner(slot, function, data_names, data_for_inner)
    return Stage(
        name=function.__name__,
        slot=slot,
        function=function,
        public=function,
        data=data_names,
        other_needs=frozenset(other_needs),
        data_for_inner=data_for_inner,
        **options,
    )


def _check_data_for_inner(
    slot: str,
    function: Callable[..., Any],
    data_names: Collection[str],
    data_for_inner: Collection[str],
) -> None:
    """Check the data that a stage reads only to give them to its inner stages.

    Raises
    ------
    StereoFrameworkError
        A name is no data argument of the stage, or the argument has no default value.
    """
    parameters = inspect.signature(function).parameters
    for name in data_for_inner:
        if name not in data_names or parameters[name].default is inspect.Parameter.empty:
            raise StereoFrameworkError(
                f"stage {slot}.{function.__name__}: data_for_inner= contains {name!r}, which is "
                "no data argument with a default value; remove the name, or give the function "
                f"this argument with a default value, such as {name}=()"
            )


_ARGUMENTS_OF_OPTIONS: Mapping[str, frozenset[str]] = {
    "halo": frozenset(),
    "rows_per_frame": frozenset(),
    "files": frozenset({"scene"}),
    "executes": frozenset(),
    "check_parameters": frozenset({"smoothness"}),
}
"""Arguments that the function in an option may take, by the name of the option.

In addition to these arguments, the function may take the parameters of the stage.
"""


def _check_option_functions(
    slot: str, function: Callable[..., Any], options: Mapping[str, Any]
) -> None:
    """Check the arguments of the functions that are given as options of a stage.

    Raises
    ------
    StereoFrameworkError
        A function takes an argument that is neither a parameter of the stage nor an
        allowed argument of the option.
    """
    parameters = inspect.signature(function).parameters.values()
    names = {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    for option, further_arguments in _ARGUMENTS_OF_OPTIONS.items():
        if not callable(options.get(option)):
            continue
        for argument in inspect.signature(options[option]).parameters.values():
            is_known = argument.name in names | further_arguments
            if not is_known and argument.default is argument.empty:
                remedy = nearest(argument.name, names | further_arguments, kind="arguments")
                raise StereoFrameworkError(
                    f"stage {slot}.{function.__name__}: the function {option}= takes "
                    f"{argument.name!r}, which is no parameter of the stage; {remedy}"
                )


def _with_checks(stage: Stage) -> Callable[..., Any]:
    """Return the function for users, which checks its data and its parameters."""

    @functools.wraps(stage.function)
    def public(*positional: Any, **keywords: Any) -> Any:
        if len(positional) > len(stage.data):
            message = (
                f"{stage.name}() takes {len(stage.data)} data, {len(positional)} were given; "
                "parameters are given by name"
            )
            raise TypeError(message)
        data = dict(zip(stage.data, positional, strict=False))
        inner_steps = _inner_steps(stage, keywords)
        keywords |= inner_steps
        # If two data have different sizes, the order of the data decides which size the
        # message calls wrong. Therefore, the data of the stage come before the data of
        # the inner steps.
        for name in dict.fromkeys([*stage.data, *Step(stage, inner_steps).data]):
            if name in keywords:
                data[name] = keywords.pop(name)
        new_step = checked_step(stage, keywords)
        stage.check(new_step.parameters)
        new_step.check_files(data.get("scene"))
        inputs = convert_data(stage.name, data, new_step.data, integer=new_step.accepts_integers)
        arguments = {name: value for name, value in inputs.items() if name in stage.data}
        result = stage.function(**arguments, **new_step.arguments_of_parameters(inputs))
        returns_array = isinstance(data.get("volume"), np.ndarray)
        return _public_result(stage.slot, result, inputs, returns_array=returns_array)

    return public


def _inner_steps(stage: Stage, parameters: Mapping[str, Any]) -> dict[str, Step]:
    """Convert the parameters that select inner stages to steps.

    Parameters
    ----------
    stage : Stage
    parameters : mapping of str to object
        Given parameters of the stage. The name or the function of an inner stage is
        converted to a step with default parameters.

    Returns
    -------
    dict of str to Step
        All inner steps of the stage. If no inner stage is given for a parameter, the
        dictionary contains the default inner step.

    Raises
    ------
    ParameterError
        An inner stage does not exist, or it belongs to another slot.
    """
    inner_steps = {}
    for name in stage.inner_slots:
        value = _as_step(stage, name, parameters.get(name, stage.parameters[name].default))
        if isinstance(value, Step):
            inner_steps[name] = value
    return inner_steps


def _as_step(stage: Stage, name: str, value: Any) -> Any:
    """Convert the name or the function of an inner stage to a step.

    All other values are returned unchanged.

    Parameters
    ----------
    stage : Stage
        The outer stage.
    name : str
        Name of a parameter of the outer stage. If the parameter selects no inner stage,
        the value is returned unchanged.
    value : object

    Raises
    ------
    ParameterError
        The inner stage does not exist.
    """
    slot = stage.inner_slots.get(name)
    if slot is None or isinstance(value, Step):
        return value
    with naming_outer_parameter(stage, name):
        if isinstance(value, str):
            return checked_step(find(slot, value), {})
        if callable(value):
            return checked_step(stage_of(value), {})
    return value


def changed_step(old_step: Step, parameters: Mapping[str, Any]) -> Step:
    """Return a copy of a step with new values of some parameters.

    Parameters
    ----------
    old_step : Step
    parameters : mapping of str to object
        Values by the address of the parameter, such as ``size`` or ``inner.size``. The
        name or the function of an inner stage is converted to a step.
    """
    return old_step.with_values(parameters, _as_step)


def _volumes_in_code(function: Callable[..., Any]) -> frozenset[str]:
    """Find the names ``volume`` and ``raw`` in the code of a function.

    The names are used as ``other_needs`` if a stage reads the results for the other
    image and does not declare ``other_needs``. The code of functions that the stage
    calls is not searched.
    """
    code = getattr(function, "__code__", None)
    return VOLUMES.intersection(code.co_names) if code is not None else frozenset()


def _public_result(
    slot: str, result: Any, inputs: Mapping[str, Any], *, returns_array: bool
) -> Any:
    """Convert the result of a stage for the caller of its function.

    Parameters
    ----------
    slot : str
        Slot of the stage.
    result : object
        Result of the undecorated function.
    inputs : mapping of str to object
        Data arguments of the call after the check.
    returns_array : bool
        True if the caller passed an array instead of a `CostVolume`. In this case, an
        array of costs is returned instead of a `CostVolume`.
    """
    if SLOTS[slot].makes_raw_volume:
        return as_volume(result, inputs["search"])
    if isinstance(result, Labeling):
        return replace(result, search=inputs["volume"].search)
    if isinstance(result, CostVolume) and returns_array:
        return result.costs
    return result


def _data_names(slot: str, resume: str | None, function: Callable[..., Any]) -> tuple[str, ...]:
    """Check the signature of a stage, and return the names of its data arguments.

    Raises
    ------
    StereoFrameworkError
        The signature of the function does not fit the slot.
    """
    parameters = inspect.signature(function).parameters
    names = tuple(
        parameter.name
        for parameter in parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    )
    fault = (
        _fault_of_kinds(parameters)
        or _fault_of_data(slot, names)
        or _fault_of_factors(slot, parameters)
        or _fault_of_resume(resume, names, parameters)
    )
    if fault:
        raise StereoFrameworkError(f"stage {slot}.{function.__name__}: {fault}")
    return names


def _fault_of_kinds(parameters: Mapping[str, inspect.Parameter]) -> str:
    """Describe the first argument that is neither a data argument nor a parameter.

    If all arguments are allowed, the description is empty.
    """
    for parameter in parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            continue
        if parameter.kind is not parameter.KEYWORD_ONLY:
            return f"{parameter} is neither a data argument nor keyword-only"
        if parameter.annotation is parameter.empty or parameter.default is parameter.empty:
            return f"parameter {parameter.name!r} needs an annotation and a default"
    return ""


def _fault_of_data(slot: str, names: tuple[str, ...]) -> str:
    """Describe the first data argument that is not allowed in a slot.

    If all data arguments are allowed, the description is empty.
    """
    beginnings = SLOTS[slot].must_name
    first = next((begin for begin in beginnings if names[: len(begin)] == begin), None)
    if first is None:
        texts = " or ".join(f"({', '.join(begin)})" for begin in beginnings)
        return f"takes ({', '.join(names)}); stages of {slot} start with {texts}"

    allowed = SLOTS[slot].may_name
    if first == ("image",):
        # A stage that processes a single image cannot get the auxiliary disparity maps,
        # because these maps belong to a pair.
        allowed = allowed - {"auxiliary"}
    for name in names[len(first) :]:
        if name not in allowed:
            remedy = new_or_nearest("data_arguments", "stage", name, allowed, kind="data")
            return f"stages of {slot} get no data {name!r}; {remedy}; parameters stand after '*'"
    return ""


def _fault_of_factors(slot: str, parameters: Collection[str]) -> str:
    """Describe the first parameter of a matching cost that has a reserved name.

    If no parameter has a reserved name, the description is empty.
    """
    if not SLOTS[slot].added:
        return ""
    for name in ("weight", "saturation"):
        if name in parameters:
            return (
                f"{name!r} belongs to the entries of a list of costs; call the parameter otherwise"
            )
    return ""


def _fault_of_resume(
    resume: str | None, data_names: tuple[str, ...], parameters: Collection[str]
) -> str:
    """Describe an incomplete declaration of a stage that can continue an earlier run.

    If the declaration is complete, the description is empty.
    """
    names_partial = "partial" in data_names
    if resume is None and not names_partial:
        return ""
    is_parameter = resume in parameters and resume not in data_names
    if names_partial and is_parameter:
        return ""
    return (
        "a stage that can be continued names the data 'partial' and "
        "declares @stage(..., resume=PARAMETER)"
    )


def names_of_confidence_maps() -> list[str]:
    """Return the names that confidence maps may have.

    The confidence map of a matcher has the name of the slot. Other confidence maps have
    the names of the stages that compute them.
    """
    names = []
    for slot, rules in SLOTS.items():
        if ResultKind.DISPARITY_STATUS_AND_CONFIDENCE in rules.results:
            names.append(slot)
        if ResultKind.CONFIDENCE in rules.results:
            names += [stage.name for stage in stages(slot)]
    return names


def stages(slot: str | None = None) -> tuple[Stage, ...]:
    """Return the stages of one slot, or the stages of all slots.

    The slots are in the order of a pipeline. The stages of a slot are sorted by name.
    The result includes the stages of installed plug-ins.

    Raises
    ------
    ParameterError
        No slot has this name.
    """
    if slot is not None and slot not in SLOTS:
        raise ParameterError(f"{slot}: no such slot; {nearest(slot, SLOTS, kind='slots')}")
    installed_plugins()
    slots = SLOTS if slot is None else [slot]
    return tuple(_STAGES[name][stage] for name in slots for stage in sorted(_STAGES[name]))


def find(slot: str, name: str) -> Stage:
    """Return the registered stage with this slot and this name.

    Raises
    ------
    ParameterError
        The slot or the stage does not exist. The message lists the allowed names.
    """
    # The function `stages` loads all plug-ins, and this takes a long time. Therefore,
    # the search begins with the stages that are already loaded.
    stages_of_slot: Mapping[str, Stage] = _STAGES.get(slot, {})
    if name in stages_of_slot:
        return stages_of_slot[name]

    if name not in [registered.name for registered in stages(slot)]:
        other_slots = [other for other in SLOTS if name in _STAGES[other]]
        hint = f"; {name!r} is a stage of {other_slots[0]}" if other_slots else ""
        remedy = nearest(name, stages_of_slot, kind="stages")
        raise ParameterError(f"{slot}: there is no stage {name!r}; {remedy}{hint}")
    return stages_of_slot[name]


def by_name(name: str) -> Stage:
    """Return the stage with a name such as ``census`` or ``refinement.median``.

    Raises
    ------
    ParameterError
        No stage has this name, or several slots have a stage with this name.
    """
    slot, _, name_in_slot = name.rpartition(".")
    if slot:
        return find(slot, name_in_slot)
    matches = [registered for registered in stages() if registered.name == name]
    if len(matches) > 1:
        choices = ", ".join(f"{match.slot}.{name}" for match in matches)
        raise ParameterError(f"{name}: several slots have such a stage; say which: {choices}")
    if not matches:
        names = [registered.name for registered in stages()]
        remedy = close_or_listing(name, names, "'stereo-framework stages' lists all stages")
        raise ParameterError(f"there is no stage {name!r}; {remedy}")
    return matches[0]


def step(stage: str | Callable[..., Any] | Step, /, **parameters: Any) -> Step:
    """Create a step from a stage and parameter values.

    Parameters
    ----------
    stage : str, callable or Step
        Name of a stage, such as ``census`` or ``refinement.median``, or the function of
        a stage. If you give a step, the result is a copy of this step with new
        parameter values.
    **parameters
        Values of parameters by name. Missing parameters get default values. You can
        give an inner stage as a name, as a function or as a step. Matching costs in a
        sum also have the parameters ``weight`` and ``saturation`` of `weighted`.

    Raises
    ------
    ParameterError
        The stage does not exist, a parameter does not exist, or the value of a
        parameter is not allowed.

    Examples
    --------
    >>> step("box", size=21)
    box(size=21)
    """
    if isinstance(stage, Step):
        return changed_step(stage, parameters) if parameters else stage
    registered = by_name(stage) if isinstance(stage, str) else stage_of(stage)
    return checked_step(registered, {**parameters, **_inner_steps(registered, parameters)})
