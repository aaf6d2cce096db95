"""What stages return, checked where they return it: a mistake is told with the file and line of the stage that made it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.border import fault, role_of
from stereo_framework.core.brief import in_short
from stereo_framework.core.scene import Search
from stereo_framework.core.stage import Stage
from stereo_framework.core.view import View
from stereo_framework.core.volume import CostVolume, Labeling, Smoothness, Status
from stereo_framework.engine.match import Match
from stereo_framework.engine.stage_errors import wrong_return
from stereo_framework.engine.step import Step


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


def _images(result: Any, view: View, data: Mapping[str, Any]) -> str:
    if "image" in data:
        return fault(result, "image", view.reference.shape, nan=False)
    if not isinstance(result, tuple) or len(result) != 2:
        return f"{in_short(result)}; expected both images, (reference, match)"
    return _first(*(fault(image, "image", view.reference.shape, nan=False) for image in result))


def _volume(result: Any, view: View, data: Mapping[str, Any]) -> str:
    size = (*view.shape, view.search.levels)
    if not isinstance(result, CostVolume):
        return f"{in_short(result)}; expected a CostVolume of float32, uint8 or uint16 {size}"
    wrong = fault(result.costs, "costs", size)
    if wrong:
        return f"a CostVolume of {wrong}"
    if not result.costs.flags.c_contiguous:
        return "costs that are not in C order; expected np.ascontiguousarray(costs)"
    if result.search != view.search:
        return f"a volume of {result.search!r}; expected the search that it was given, {view.search!r}"
    return "" if np.isfinite(result.outside) else f"the outside cost {result.outside}; expected a finite one"


def _smoothness(result: Any, view: View, data: Mapping[str, Any]) -> str:
    if not isinstance(result, Smoothness):
        return f"{in_short(result)}; expected a Smoothness"
    shapes = {"right": view.shape, "down": view.shape, "rho": (view.search.levels,)}
    return _first(
        *(_named(name, fault(getattr(result, name), role_of(name), shape, nan=False)) for name, shape in shapes.items())
    )


def _labeling(result: Any, view: View, data: Mapping[str, Any]) -> str:
    if "other" in data:
        return fault(result, "map", view.shape)
    if not isinstance(result, Labeling):
        return f"{in_short(result)}; expected a Labeling"
    costs = _named("costs", fault(result.costs, "map", view.shape, nan=False))
    return _first(_levels(result.labels, view), costs) or (_volume(result.volume, view, data) if result.volume else "")


def _levels(labels: Any, view: View) -> str:
    wrong = _named("labels", fault(labels, "levels", view.shape))
    if not wrong and (labels.min() < -1 or labels.max() >= view.search.levels):
        return f"labels from {labels.min()} to {labels.max()}; expected -1 to {view.search.levels - 1}"
    return wrong


def _maps(result: Any, view: View, data: Mapping[str, Any], *, most: int = 2) -> str:
    """What is wrong with disparities and what may follow them in a tuple of at most so many maps."""
    maps = result if isinstance(result, tuple) else (result,)
    if not isinstance(maps[0], np.ndarray) or len(maps) > most or (isinstance(result, tuple) and len(maps) < 2):
        kinds = (
            "disparities or (disparities, status)",
            "disparities, (disparities, status), (disparities, status, confidence), or Views of both",
        )
        return f"{in_short(result)}; expected {kinds[most - 2]}"
    wrong = fault(maps[0], "map", view.shape)
    if not wrong and len(maps) > 1:
        wrong = _named("status", fault(maps[1], "status", view.shape))
        if not wrong and maps[1].max(initial=0) > max(Status):
            return f"the status {maps[1].max()}; expected values of Status, 0 to {int(max(Status))}"
    return wrong or ("" if len(maps) < 3 else _named("confidence", fault(maps[2], "map", view.shape, nan=False)))


def _match(result: Any, view: View, data: Mapping[str, Any]) -> str:
    """Whole: what a scheme puts together goes to people and tables as it is."""
    if not isinstance(result, Match):
        return f"{in_short(result)}; expected a Match of {view.shape}"
    if result.search != view.search:
        return f"a Match of {result.search!r}; expected {view.search!r}, as of the pair"
    maps = (
        _named(f"confidence {name}", fault(values, "map", view.shape, nan=False)) for name, values in result.confidence.items()
    )
    labels = "" if result.labels is None else _levels(result.labels, view)
    return _first(_maps((result.disparity, result.status), view, data), labels, *maps)


def _first(*wrong: str) -> str:
    return next(filter(None, wrong), "")


def _named(name: str, wrong: str) -> str:
    return wrong and f"{name}: {wrong}"


_CHECKS: Mapping[str, Callable[[Any, View, Mapping[str, Any]], str]] = {
    "preprocessing": _images,
    "matcher": functools.partial(_maps, most=3),
    "matching_cost": _volume,
    "aggregation": _volume,
    "smoothness": _smoothness,
    "optimization": _labeling,
    "scheme": _match,
    "confidence": lambda result, view, data: fault(result, "map", view.shape, nan=False),
    "refinement": _maps,
}
