"""Faults of a method that its stages would raise before they read any image.

Some stages look up a map by its name: the confidence of a measure, or the map of an
auxiliary method. The names are known when a script is loaded, but the maps are not. A
rehearsal calls such a stage with objects that stand for the maps. The call ends when the
stage reads the first of these objects. An error that the stage raises earlier would occur
in every run.
"""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from stereo_framework.core.auxiliary_maps import auxiliary_map
from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.slots import ResultKind
from stereo_framework.core.step import Step, describe_stage_error
from stereo_framework.core.view import DisparityMap
from stereo_framework.engine.direction_check import check_direction
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.script.effects import reads_auxiliary_maps

_NAMED_DATA = {"confidence", "auxiliary"}
"""Data from which stages choose maps by their names."""


class _DataRead(BaseException):
    """A signal that a stage reads data.

    It is no `Exception`, so that a stage that catches exceptions does not catch it.
    """


def _raise_data_read(*arguments: Any, **keywords: Any) -> NoReturn:
    raise _DataRead


_OPERATIONS = (
    *(
        "__getattribute__",
        "__getattr__",
        "__setattr__",
        "__array__",
        "__array_ufunc__",
        "__array_function__",
    ),
    *(
        "__len__",
        "__iter__",
        "__contains__",
        "__getitem__",
        "__setitem__",
        "__bool__",
        "__call__",
        "__index__",
        "__float__",
    ),
    *(
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__neg__",
        "__abs__",
        "__invert__",
    ),
    *(
        "__add__",
        "__radd__",
        "__sub__",
        "__rsub__",
        "__mul__",
        "__rmul__",
        "__truediv__",
        "__rtruediv__",
    ),
    *(
        "__and__",
        "__rand__",
        "__or__",
        "__ror__",
        "__mod__",
        "__rmod__",
        "__pow__",
        "__rpow__",
        "__matmul__",
    ),
)
"""Special methods by which Python and NumPy read an object."""

_Unread: type = type("_Unread", (), dict.fromkeys(_OPERATIONS, _raise_data_read))
"""The type of an object that stands for data. Every operation on it raises `_DataRead`."""


def name_faults(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Yield address and message of each stage that names a map that does not exist.

    Parameters
    ----------
    pipeline : Pipeline
        Stages of the method. A stage can name only the confidence maps of earlier stages.
    """
    auxiliary = {name: _unread_map(method) for name, method in pipeline.auxiliary}
    measures: list[str] = []
    for address, step in pipeline.addressed_steps():
        if _may_give_confidence(step):
            measures.append(step.stage.slot)
        for _, each_step in step.walk(address):
            if message := _name_fault(each_step, measures, auxiliary):
                yield address, message
        if "confidence" in step.makes:
            measures.append(step.stage.name)


def direction_faults(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Yield the address and the message of each cost that cannot match the target image.

    Such a cost ignores the direction of the search range, or it contains an inner cost
    that does. This is a fault only if a stage of the method reads the disparity map of
    the target image.
    """
    if not any(step.reads_other for step in pipeline.steps):
        return
    for address, step in pipeline.addressed_steps():
        if not step.stage.rules.makes_raw_volume:
            continue
        try:
            check_direction(step, np.zeros((1, 1, 3), np.uint8))
        except StereoFrameworkError as error:
            yield address, str(error)


def _may_give_confidence(step: Step) -> bool:
    """Return whether a step is a matcher that may return a confidence map.

    The confidence map has the name of the slot. The annotation of a plug-in may be
    missing, so every matcher of a plug-in may return such a map.
    """
    stage = step.stage
    if ResultKind.DISPARITY_STATUS_AND_CONFIDENCE not in stage.rules.results:
        return False
    returns = inspect.signature(stage.function).return_annotation
    return not (stage.is_built_in and returns == "Disparity")


def _unread_map(method: Pipeline) -> DisparityMap:
    """Return the map of an auxiliary method with objects that stand for its arrays."""
    measures = [step.stage.name for step in method.steps if "confidence" in step.makes]
    measures += [step.stage.slot for step in method.steps if _may_give_confidence(step)]
    # The objects take the place of arrays; a stage that reads one ends its rehearsal.
    confidence: Any = {name: _Unread() for name in measures}
    unread: Any = _Unread()
    return DisparityMap(disparity=unread, status=unread, search=unread, confidence=confidence)


def _name_fault(step: Step, measures: list[str], auxiliary: Mapping[str, DisparityMap]) -> str:
    """Return the message of the error that a stage raises about the name of a map.

    The message is empty if the stage raises no such error.

    Parameters
    ----------
    step : Step
        The stage with its parameters.
    measures : list of str
        Names of the confidence maps of earlier stages.
    auxiliary : mapping of str to DisparityMap
        Disparity maps of the auxiliary methods by name.
    """
    if not _NAMED_DATA & set(step.stage.data):
        return ""
    data = {name: _Unread() for name in step.data}
    data["confidence"] = {name: _Unread() for name in measures}
    data["auxiliary"] = dict(auxiliary)
    # Data that only inner stages read may be missing, and have default values.
    arguments = {name: data[name] for name in step.stage.data if name in data}
    try:
        step.stage.function(**arguments, **step.arguments_of_parameters(data))
    except (StereoFrameworkError, LookupError) as error:
        error.raised_by = step.stage  # type: ignore[union-attr]
        return describe_stage_error(error)
    except (Exception, _DataRead):
        # Plug-ins may raise anything. The call may fail only because data are missing.
        pass
    return _initial_map_fault(step, auxiliary)


def _initial_map_fault(step: Step, auxiliary: Mapping[str, DisparityMap]) -> str:
    """Return the message about a wrong name of a built-in stage's initial map, or "".

    Some stages look up this map only after they have read their images, so their rehearsal
    ends too early to find the fault.
    """
    has_initial_map = step.stage.is_built_in and "initial" in step.parameters
    if not has_initial_map or not reads_auxiliary_maps(step):
        return ""
    try:
        auxiliary_map(f"{step.stage.name}.initial", auxiliary, step.parameters["initial"])
    except ParameterError as error:
        return str(error)
    return ""
