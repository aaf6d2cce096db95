"""What stages return, checked where they return it: a mistake is told with the file and line of the stage that made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stereo_framework.engine.blame import WrongReturn
from stereo_framework.stage import Stage
from stereo_framework.view import Views
from stereo_framework.volume import INTEGERS, CostVolume, Labeling, Smoothness, Status

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
    WrongReturn
        Another type, shape or dtype than the slot's stages return, or values that are not finite. The message names the stage's file and line.
    """
    shape = state["reference"].shape[:2]
    # To see that all costs of a volume are finite takes time: only stages from outside are asked, the shipped ones are tested for it.
    plugin = not str(stage.function.__module__).startswith("stereo_framework.")
    if wrong := _CHECKS[stage.slot](result, shape, state, plugin):
        raise WrongReturn(stage, wrong)


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
    if "image" in state:
        return _one_image(result, state["image"].shape)
    if not isinstance(result, tuple) or len(result) != 2:
        return f"{spelled(result)}; expected both images, (reference, match)"
    return next(filter(None, (_one_image(image, state["reference"].shape) for image in result)), None)


def _one_image(image: Any, shape: Shape) -> str | None:
    if not isinstance(image, np.ndarray) or image.shape != shape or image.dtype not in (np.uint8, np.float32):
        return f"{spelled(image)}; expected uint8 or float32 {shape}"
    return None if np.isfinite(image).all() else "intensities that are not finite"


def _volume(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    search = state["search"]
    held = state["volume"].held if "volume" in state else state["held"]
    size = (*shape, search.levels) if held is None else (len(held.firsts), held.size)
    expected = f"expected a CostVolume of float32, uint8 or uint16 {size} with the search that it was given"
    if not isinstance(result, CostVolume) or not isinstance(result.costs, np.ndarray):
        return f"{spelled(result)}; {expected}"
    if result.costs.shape != size or result.costs.dtype not in (np.float32, *INTEGERS):
        return f"{spelled(result)}; {expected}"
    if not result.costs.flags.c_contiguous:
        return "costs that are not in C order; expected np.ascontiguousarray(costs)"
    if result.held is not held:
        return f"other levels held; {expected}, and the levels held"
    if result.search != search:
        return f"a volume of {result.search!r}; {expected}, {search!r}"
    if plugin and result.costs.dtype == np.float32 and not np.isfinite(result.costs).all():
        return "costs that are not finite; expected finite costs"
    return None if np.isfinite(result.outside) else f"the outside cost {result.outside}; expected a finite one"


def _smoothness(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    if not isinstance(result, Smoothness):
        return f"{spelled(result)}; expected a Smoothness"
    for name, expected in (("right", shape), ("down", shape), ("rho", (state["search"].levels,))):
        if wrong := _map(getattr(result, name), expected, nan=False):
            return f"{name}: {wrong}"
    return None


def _labeling(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    if "other" in state:
        # It works on both sides at once.
        if not isinstance(result, Views):
            return f"{spelled(result)}; expected Views of both disparity maps, since it names other"
        return next(filter(None, (_map(one, shape) for one in result)), None)
    if not isinstance(result, Labeling):
        return f"{spelled(result)}; expected a Labeling"
    if wrong := _map(result.labels, shape, np.int16):
        return f"labels: {wrong}"
    if result.labels.min() < -1 or result.labels.max() >= (levels := state["search"].levels):
        return f"labels from {result.labels.min()} to {result.labels.max()}; expected -1 to {levels - 1}"
    if wrong := _map(result.costs, shape, nan=False):
        return f"costs: {wrong}"
    return None if result.volume is None else _volume(result.volume, shape, state, plugin)


def _matched(result: Any, shape: Shape, state: Mapping[str, Any], plugin: bool) -> str | None:
    kinds = "disparities, (disparities, status), (disparities, status, confidence), or Views of both"
    if isinstance(result, Views):
        return next(filter(None, (_disparities(one, shape, kinds, 3) for one in result)), None)
    return _disparities(result, shape, kinds, 3)


def _disparities(result: Any, shape: Shape, kinds: str, most: int) -> str | None:
    """What is wrong with disparities and what may follow them in a tuple of at most so many maps."""
    parts = result if isinstance(result, tuple) else (result,)
    if (isinstance(result, tuple) and not 2 <= len(result) <= most) or not isinstance(parts[0], np.ndarray):
        return f"{spelled(result)}; expected {kinds}"
    if wrong := _map(parts[0], shape):
        return wrong
    if len(parts) > 1 and (wrong := _map(parts[1], shape, np.uint8)):
        return f"as status {wrong}"
    if len(parts) > 1 and parts[1].max(initial=0) > max(Status):
        return f"the status {parts[1].max()}; expected values of Status, 0 to {int(max(Status))}"
    return f"as confidence {wrong}" if len(parts) > 2 and (wrong := _map(parts[2], shape, nan=False)) else None


_CHECKS: Mapping[str, Callable[[Any, Shape, Mapping[str, Any], bool], str | None]] = {
    "preprocessing": _image,
    "matcher": _matched,
    "matching_cost": _volume,
    "aggregation": _volume,
    "smoothness": _smoothness,
    "optimization": _labeling,
    "confidence": lambda result, shape, state, plugin: _map(result, shape, nan=False),
    "refinement": lambda result, shape, state, plugin: _disparities(result, shape, "disparities or (disparities, status)", 2),
}
