"""Faults of a method that its stages would raise before they read any image.

Some stages look up a map by its name: the confidence of a measure, or the map of an
auxiliary method. Which names there will be is known when a script is loaded. Such a stage
is called here with these names, and without the maps: its call ends at the first map that
it reads. What it raises before that, it would raise in every run.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.view import View, one_of
from stereo_framework.engine.match import check_direction
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.step import Step, blame
from stereo_framework.script.effects import reads_auxiliary_maps

_NAMED_DATA = {"confidence", "alternatives"}
"""Data from which stages choose maps by their names."""


class _DataRead(BaseException):
    """The signal that a stage reads data; stages that catch exceptions do not catch it."""


def _raise_data_read(*arguments: Any, **keywords: Any) -> NoReturn:
    raise _DataRead


_OPERATIONS = (
    *("__getattribute__", "__getattr__", "__setattr__", "__array__", "__array_ufunc__", "__array_function__"),
    *("__len__", "__iter__", "__contains__", "__getitem__", "__setitem__", "__bool__", "__call__", "__index__", "__float__"),
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__neg__", "__abs__", "__invert__"),
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__"),
    *("__and__", "__rand__", "__or__", "__ror__", "__mod__", "__rmod__", "__pow__", "__rpow__", "__matmul__"),
)

_Unread: type = type("_Unread", (), dict.fromkeys(_OPERATIONS, _raise_data_read))
"""The type of a datum that does not exist yet: whatever a stage does with it raises `_DataRead`."""


def name_faults(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Yield the address and the message of each stage that names a map that no stage makes.

    Parameters
    ----------
    pipeline : Pipeline
    """
    auxiliary = {name: _unread_view(method) for name, method in pipeline.alternatives}
    measures: list[str] = []
    for address, step in pipeline.own_stages():
        if step.stage.slot == "matcher" and _may_give_confidence(step):
            measures.append("matcher")
        if message := _fault(step, measures, auxiliary):
            yield address, message
        if step.stage.slot == "confidence":
            measures.append(step.stage.name)


def direction_faults(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Yield the address and the message of each cost that cannot match the target image.

    Such a cost does not obey the direction of the search range. That matters only if a
    stage of the method reads the disparity map of the target image.
    """
    if not any("other" in step.stage.data for step in pipeline.steps):
        return
    for address, step in pipeline.own_stages():
        is_cost = step.stage.slot == "matching_cost" and not step.stage.shipped
        if is_cost and (message := _direction_fault(step.stage.function, step)):
            yield address, message


# A notebook may register another function under the name of a stage.
@functools.lru_cache(maxsize=4096)
def _direction_fault(function: Callable[..., Any], step: Step) -> str:
    """Return what is wrong with the costs of the target image; empty if no fault shows."""
    try:
        check_direction(step.stage, step, np.zeros((1, 1, 3), np.uint8))
    except StereoFrameworkError as error:
        return str(error)
    return ""


def _may_give_confidence(matcher: Step) -> bool:
    """Return whether a matcher may return confidence; plug-ins need not annotate that."""
    returns = inspect.signature(matcher.stage.function).return_annotation
    return not (matcher.stage.shipped and returns == "Disparity")


def _unread_view(method: Pipeline) -> View:
    """Return the view that stages get of an auxiliary method, with maps that cannot be read."""
    measures = [step.stage.name for step in method.in_slot("confidence")]
    measures += [step.stage.slot for step in method.in_slot("matcher") if _may_give_confidence(step)]
    return View(_Unread(), _Unread(), _Unread(), {name: _Unread() for name in measures})


def _fault(step: Step, measures: list[str], auxiliary: Mapping[str, View]) -> str:
    """Return what a stage raises about the names of maps; empty if it raises nothing."""
    if not _NAMED_DATA & set(step.stage.data):
        return ""
    data = {name: _Unread() for name in step.stage.data}
    data["confidence"] = {name: _Unread() for name in measures}
    data["alternatives"] = dict(auxiliary)
    named = {name: data[name] for name in step.stage.data}
    parameters = {name: value for name, value in step.parameters.items() if name in step.stage.parameters}
    try:
        step.stage.function(**named, **parameters)
    except (StereoFrameworkError, LookupError) as error:
        error.raised_by = step.stage  # type: ignore[union-attr]
        return blame(error)
    except (Exception, _DataRead):
        # The stage may have failed only because there are no data.
        pass
    return _initial_map_fault(step, auxiliary)


def _initial_map_fault(step: Step, auxiliary: Mapping[str, View]) -> str:
    """Return what is wrong with the name of the initial map of a shipped stage.

    Some stages ask for this map only after they have read their images.
    """
    has_initial_map = step.stage.shipped and "initial" in step.parameters
    if not has_initial_map or not reads_auxiliary_maps(step):
        return ""
    try:
        one_of(f"{step.stage.name}.initial", auxiliary, step.parameters["initial"])
    except ParameterError as error:
        return str(error)
    return ""
