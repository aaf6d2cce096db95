"""What stages return, checked where they return it: a mistake is told with the file and line of the stage that made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Search
from stereo_framework.core.stage import Stage
from stereo_framework.core.view import View
from stereo_framework.core.volume import INTEGERS, CostVolume, Labeling, Smoothness, Status
from stereo_framework.engine.match import Match
from stereo_framework.engine.stage_errors import wrong_return
from stereo_framework.engine.step import Step

Shape = tuple[int, ...]


def check_returned(step: Step, result: Any, view: View, data: Mapping[str, Any]) -> None:
    """Refuse what a stage must not return: another type, shape or dtype than its slot's stages return, or values that are not finite.

    Parameters
    ----------
    step : Step
    result : object
    view : View
        The view that the step works on.
    data : mapping
        What the stage was given.

    Raises
    ------
    StereoFrameworkError
        The message names the stage's file and line.
    """
    wrong = _CHECKS[step.stage.slot](result, view, data)
    # To see that all costs of a volume are finite takes time: only stages from outside are asked, the shipped ones are tested for it.
    if not wrong and _from_outside(step.stage):
        volume = result.volume if isinstance(result, Labeling) else result
        if isinstance(volume, CostVolume) and volume.costs.dtype == np.float32 and not np.isfinite(volume.costs).all():
            wrong = "costs that are not finite; expected finite costs"
    if wrong:
        raise wrong_return(step.stage, wrong)


def _from_outside(stage: Stage) -> bool:
    return not str(stage.function.__module__).startswith("stereo_framework.")


def check_direction(step: Step, image: NDArray) -> None:
    """Refuse a matching cost from outside that looks to the same side whatever ``search.direction`` says: its other view would be wrong all over.

    A texture of the image's type, moved by two pixels, must be found at 2 from either side. A cost that does not find it from the usual side either is not judged: it may
    need larger images or more than them.

    Raises
    ------
    StereoFrameworkError
        It finds the texture from the left image and not from the right one.
    """
    if not _from_outside(step.stage):
        return
    texture = np.random.default_rng(1).integers(0, 256, (24, 48, 3)[: image.ndim]).astype(image.dtype)
    left, right = (np.ascontiguousarray(texture[:, start : start + 40]) for start in (0, 2))
    shares = []
    for reference, match, direction in ((left, right, 1), (right, left, -1)):
        data = {"reference": reference, "match": match, "search": Search(0, 5, direction=direction)}
        data |= dict.fromkeys(step.data - data.keys())
        try:
            levels = step(data).costs[6:-6, 12:-12].argmin(axis=2)
        except Exception:  # too small an image for it, or it takes what is missing here
            return
        shares.append(float(np.mean(levels == 2)))
    if shares[0] > _FOUND and shares[1] < _CHANCE:
        raise wrong_return(
            step.stage,
            f"costs that do not obey search.direction: a texture moved by 2 pixels is found at 2 by {shares[0]:.0%} of the pixels of the left image and by "
            f"{shares[1]:.0%} of those of the right one; a pixel meets x - search.direction * d",
        )


_FOUND, _CHANCE = 0.8, 0.5
"""Share of the pixels of a texture that a cost must find from one side to be judged, and below which it does not find it from the other: by chance a sixth."""


def spelled(value: Any) -> str:
    """A returned value in short: its type or, of an array, dtype and shape."""
    if isinstance(value, np.ndarray):
        return f"{'a masked array of ' * isinstance(value, np.ma.MaskedArray)}{value.dtype} {value.shape}"
    if isinstance(value, CostVolume):
        return f"a CostVolume of {spelled(value.costs)}"
    if isinstance(value, tuple):
        return f"({', '.join(map(spelled, value))})"
    return "None" if value is None else type(value).__name__


def _map(value: Any, shape: Shape, dtype: Any = np.float32, *, nan: bool = True) -> str | None:
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray) or value.shape != shape or value.dtype != dtype:
        return f"{spelled(value)}; expected {np.dtype(dtype)} {shape}"
    if value.dtype == np.float32 and (np.isinf(value).any() or (not nan and np.isnan(value).any())):
        return f"values that are not finite; expected finite numbers{', NaN = no estimate' if nan else ''}"
    return None


def _image(result: Any, view: View, data: Mapping[str, Any]) -> str | None:
    if "image" in data:
        return _one_image(result, view.reference.shape)
    if not isinstance(result, tuple) or len(result) != 2:
        return f"{spelled(result)}; expected both images, (reference, match)"
    return next(filter(None, (_one_image(image, view.reference.shape) for image in result)), None)


def _one_image(image: Any, shape: Shape) -> str | None:
    if not isinstance(image, np.ndarray) or image.shape != shape or image.dtype not in (np.uint8, np.float32):
        return f"{spelled(image)}; expected uint8 or float32 {shape}"
    return None if np.isfinite(image).all() else "intensities that are not finite"


def _volume(result: Any, view: View, data: Mapping[str, Any]) -> str | None:
    search = view.search
    size = (*view.shape, search.levels)
    expected = f"expected a CostVolume of float32, uint8 or uint16 {size} with the search that it was given"
    if not isinstance(result, CostVolume) or not isinstance(result.costs, np.ndarray):
        return f"{spelled(result)}; {expected}"
    if result.costs.shape != size or result.costs.dtype not in (np.float32, *INTEGERS):
        return f"{spelled(result)}; {expected}"
    if not result.costs.flags.c_contiguous:
        return "costs that are not in C order; expected np.ascontiguousarray(costs)"
    if result.search != search:
        return f"a volume of {result.search!r}; {expected}, {search!r}"
    return None if np.isfinite(result.outside) else f"the outside cost {result.outside}; expected a finite one"


def _smoothness(result: Any, view: View, data: Mapping[str, Any]) -> str | None:
    if not isinstance(result, Smoothness):
        return f"{spelled(result)}; expected a Smoothness"
    for name, expected in (("right", view.shape), ("down", view.shape), ("rho", (view.search.levels,))):
        if wrong := _map(getattr(result, name), expected, nan=False):
            return f"{name}: {wrong}"
    return None


def _labeling(result: Any, view: View, data: Mapping[str, Any]) -> str | None:
    if "other" in data:
        return _map(result, view.shape)
    if not isinstance(result, Labeling):
        return f"{spelled(result)}; expected a Labeling"
    if wrong := _levels(result.labels, view):
        return wrong
    if wrong := _map(result.costs, view.shape, nan=False):
        return f"costs: {wrong}"
    return None if result.volume is None else _volume(result.volume, view, data)


def _levels(labels: Any, view: View) -> str | None:
    if wrong := _map(labels, view.shape, np.int16):
        return f"labels: {wrong}"
    if labels.min() < -1 or labels.max() >= view.search.levels:
        return f"labels from {labels.min()} to {labels.max()}; expected -1 to {view.search.levels - 1}"
    return None


def _matched(result: Any, view: View, data: Mapping[str, Any]) -> str | None:
    kinds = "disparities, (disparities, status), (disparities, status, confidence), or Views of both"
    return _disparities(result, view.shape, kinds, 3)


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


def _match(result: Any, view: View, data: Mapping[str, Any]) -> str | None:
    """Whole: what a scheme puts together goes to people and tables as it is."""
    if not isinstance(result, Match):
        return f"{spelled(result)}; expected a Match of {view.shape}"
    if result.search != view.search:
        return f"a Match of {result.search!r}; expected {view.search!r}, as of the pair"
    if wrong := _disparities((result.disparity, result.status), view.shape, "a Match", 2):
        return wrong
    if result.labels is not None and (wrong := _levels(result.labels, view)):
        return wrong
    wrongs = ((name, _map(values, view.shape, nan=False)) for name, values in result.confidence.items())
    return next((f"confidence {name}: {wrong}" for name, wrong in wrongs if wrong), None)


_CHECKS: Mapping[str, Callable[[Any, View, Mapping[str, Any]], str | None]] = {
    "preprocessing": _image,
    "matcher": _matched,
    "matching_cost": _volume,
    "aggregation": _volume,
    "smoothness": _smoothness,
    "optimization": _labeling,
    "scheme": _match,
    "confidence": lambda result, view, data: _map(result, view.shape, nan=False),
    "refinement": lambda result, view, data: _disparities(result, view.shape, "disparities or (disparities, status)", 2),
}
