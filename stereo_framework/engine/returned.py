"""What stages return, checked where they return it: a mistake is told with the file and line of the stage that made it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stereo_framework.errors import StereoFrameworkError
from stereo_framework.stage import Stage
from stereo_framework.view import Views
from stereo_framework.volume import INTEGERS, CostVolume, Labeling, Smoothness

Shape = tuple[int, ...]


def check_returned(stage: Stage, result: Any, state: Mapping[str, Any]) -> None:
    """Refuse what a stage must not return.

    Parameters
    ----------
    stage : Stage
    result : object
    state : mapping
        What the stage was given.

    Raises
    ------
    StereoFrameworkError
        Another type, shape or dtype than the slot's stages return, or values that are not finite. The message names the stage's file and line.
    """
    shape = state["reference"].shape[:2]
    wrong = _CHECKS[stage.slot](result, shape, state, _is_plugin(stage))
    if wrong:
        raise StereoFrameworkError(f"{place(stage)}: {stage.slot} stage {stage.name} returned {wrong}")


def place(stage: Stage) -> str:
    """File and line of a stage's function."""
    return f"{inspect.getsourcefile(stage.function)}:{stage.function.__code__.co_firstlineno}"


def _is_plugin(stage: Stage) -> bool:
    """Whether a stage comes from outside. Whether all costs of a volume are finite takes time; the shipped stages are tested for it."""
    return not stage.function.__module__.startswith("stereo_framework.")


def spelled(value: Any) -> str:
    """A returned value in short: its type or, of an array, dtype and shape."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    if isinstance(value, CostVolume):
        return f"a CostVolume of {spelled(value.costs)}"
    if isinstance(value, tuple):
        return f"({', '.join(map(spelled, value))})"
    return "None" if value is None else type(value).__name__


def _map(value: Any, shape: Shape, dtype: Any = np.float32, *, nan: bool = True) -> str | None:
    if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != dtype:
        return f"{spelled(value)}; expected {np.dtype(dtype)} {shape}"
    if value.dtype == np.float32 and (np.isinf(value).any() or (not nan and np.isnan(value).any())):
        return f"values that are not finite; expected finite numbers{', NaN = no estimate' if nan else ''}"
    return None


def _image(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    if isinstance(result, tuple):
        if len(result) != 2:
            return f"{spelled(result)}; expected both images"
        return next(filter(None, (_one_image(image, state["reference"].shape) for image in result)), None)
    return _one_image(result, state.get("image", state["reference"]).shape)


def _one_image(image: Any, shape: Shape) -> str | None:
    if not isinstance(image, np.ndarray) or image.shape != shape or image.dtype not in (np.uint8, np.float32):
        return f"{spelled(image)}; expected uint8 or float32 {shape}"
    return None if np.isfinite(image).all() else "intensities that are not finite"


def _volume(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    search = state["search"]
    expected = f"expected a CostVolume of float32, uint8 or uint16 {(*shape, search.levels)} with the search that it was given"
    if not isinstance(result, CostVolume) or not isinstance(result.costs, np.ndarray):
        return f"{spelled(result)}; {expected}"
    if result.costs.shape != (*shape, search.levels) or result.costs.dtype not in (np.float32, *INTEGERS):
        return f"{spelled(result)}; {expected}"
    if result.search != search:
        return f"a volume of the search {result.search}; {expected}"
    if plugin and result.costs.dtype == np.float32 and not np.isfinite(result.costs).all():
        return "costs that are not finite; expected finite costs"
    return None if np.isfinite(result.outside) else f"the outside cost {result.outside}; expected a finite one"


def _smoothness(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    if not isinstance(result, Smoothness):
        return f"{spelled(result)}; expected a Smoothness"
    levels = (state["search"].levels,)
    found = ((name, _map(getattr(result, name), shape, nan=False)) for name in ("right", "down"))
    wrong = next((f"{name}: {message}" for name, message in found if message), None)
    return wrong or ((message := _map(result.rho, levels, nan=False)) and f"rho: {message}")


def _labeling(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    if not isinstance(result, Labeling):
        return f"{spelled(result)}; expected a Labeling"
    if wrong := _map(result.labels, shape, np.int16):
        return f"labels: {wrong}"
    return None if result.volume is None else _volume(result.volume, shape, state, plugin)


def _refined(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    if not isinstance(result, tuple):
        return _map(result, shape)
    if len(result) != 2:
        return f"{spelled(result)}; expected disparities or (disparities, status)"
    return _map(result[0], shape) or ((wrong := _map(result[1], shape, np.uint8)) and f"as status {wrong}")


def _matched(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    if isinstance(result, Views):
        return next(filter(None, (_matched(one, shape, state, plugin) for one in result)), None)
    if isinstance(result, tuple) and len(result) == 3:
        return _refined(result[:2], shape, state, plugin) or (
            (wrong := _map(result[2], shape, nan=False)) and f"as confidence {wrong}"
        )
    return _refined(result, shape, state, plugin)


def _confidence(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    return _map(result, shape, nan=False)


_CHECKS: Mapping[str, Callable[[Any, Shape, Mapping[str, Any], bool], str | None]] = {
    "preprocessing": _image,
    "matcher": _matched,
    "matching_cost": _volume,
    "aggregation": _volume,
    "smoothness": _smoothness,
    "optimization": _labeling,
    "confidence": _confidence,
    "refinement": _refined,
}
