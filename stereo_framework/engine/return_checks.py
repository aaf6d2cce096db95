"""Check whether the result of a stage is allowed.

If the result is wrong, the error message names the file and the line of the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import (
    StereoFrameworkError,
    source_location,
)
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.input_checks import (
    COSTS,
    DISPARITY,
    IMAGE,
    LEVELS,
    MAP,
    PENALTIES,
    STATUS,
    ArrayKind,
    fault,
)
from stereo_framework.core.parameters import in_short
from stereo_framework.core.scene import SearchRange
from stereo_framework.core.slots import ResultKind
from stereo_framework.core.stage import Stage
from stereo_framework.core.volume import (
    CostVolume,
    Labeling,
    Smoothness,
    Status,
)


def wrong_return(stage: Stage, description: str) -> StereoFrameworkError:
    """Create the error for a wrong result, with the file and line of the stage."""
    location = source_location(stage.function)
    return StereoFrameworkError(
        f"{location}: {stage.slot} stage {stage.name} returned {description}"
    )


def check_returned(
    stage: Stage, result: Any, image_shape: tuple[int, ...], search: SearchRange
) -> ResultKind:
    """Raise an error if a stage returned a result that its slot does not allow.

    Otherwise, return the kind of the result.

    Parameters
    ----------
    stage : Stage
    result : object
        Result of the stage.
    image_shape : tuple of int
        Shape of the reference image, which has a third element for colour images.
    search : SearchRange
        Search range with which the stage was called.

    Raises
    ------
    StereoFrameworkError
        The result has a wrong class, or an array in it has a wrong shape, type or
        value. The message names the file and the line of the stage.
    """
    kind, arrays = _kind_and_arrays(stage, result)
    if kind is None:
        size = f"of {image_shape[:2]} pixels and {search.levels} levels"
        message = f"{in_short(result)}; expected {stage.rules.returns}, {size}"
        raise wrong_return(stage, message)
    for name, array, array_kind in arrays:
        if array_fault := _fault_of_array(stage, array, array_kind, image_shape, search.levels):
            raise wrong_return(stage, f"{name}: {array_fault}")

    # The result may be a cost volume, or a labeling that contains a cost volume.
    for part in (result, getattr(result, "volume", None)):
        if isinstance(part, CostVolume | Estimate):
            _check_search_range(stage, part, search)
        if isinstance(part, CostVolume):
            _check_outside_cost(stage, part)
    return kind


def _check_search_range(stage: Stage, part: CostVolume | Estimate, search: SearchRange) -> None:
    """Raise an error if a result has another search range than the stage received."""
    if part.search != search:
        message = (
            f"the search range of the {type(part).__name__} is {part.search!r}; "
            f"expected {search!r}, the range that the stage received"
        )
        raise wrong_return(stage, message)


def _check_outside_cost(stage: Stage, volume: CostVolume) -> None:
    """Raise an error if the type of the costs cannot represent the outside cost."""
    if volume.costs.dtype == np.float32:
        largest = float(np.finfo(np.float32).max)
    else:
        largest = float(np.iinfo(volume.costs.dtype.name).max)
    is_number = isinstance(volume.outside_cost, int | float | np.floating | np.integer)
    if not is_number or not abs(volume.outside_cost) <= largest:
        message = (
            f"the outside cost {volume.outside_cost!r}; expected a finite number, up to {largest:g}"
        )
        raise wrong_return(stage, message)


class ReturnedArray(NamedTuple):
    """An array in the result of a stage, with its expected properties.

    Parameters
    ----------
    name : str
        Name of the array in error messages, such as ``costs``.
    array : object
        The array, or any other object if the stage has a mistake.
    kind : ArrayKind
    """

    name: str
    array: Any
    kind: ArrayKind


def _kind_and_arrays(stage: Stage, result: Any) -> tuple[ResultKind | None, list[ReturnedArray]]:
    """Return the kind of a result, or None if it is not allowed, and its arrays."""
    for kind in stage.rules.results:
        arrays = _ARRAYS_OF_KINDS[kind](stage, result)
        if arrays is not None:
            return kind, arrays
    return None, []


def _arrays_of_image(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the image; None if the stage gets both images of a pair."""
    if "image" not in stage.data:
        return None
    return [ReturnedArray("image", result, IMAGE)]


def _arrays_of_both_images(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return both images; None for another result, or if the stage gets one image."""
    if "image" in stage.data or not isinstance(result, tuple) or len(result) != 2:
        return None
    return [ReturnedArray("image", image, IMAGE) for image in result]


def _arrays_of_volume(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the costs of a cost volume; None if the result is no cost volume."""
    if not isinstance(result, CostVolume):
        return None
    return [ReturnedArray("costs", result.costs, COSTS)]


def _arrays_of_smoothness(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the weights and penalties; None if the result is no smoothness term."""
    if not isinstance(result, Smoothness):
        return None
    return [
        ReturnedArray("right", result.right, MAP),
        ReturnedArray("down", result.down, MAP),
        ReturnedArray("rho", result.rho, PENALTIES),
    ]


def _arrays_of_labeling(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the arrays in a labeling and in its cost volume.

    An optimizer for both images must return disparity maps, so the result is then None.
    """
    if not isinstance(result, Labeling) or "other" in stage.data:
        return None
    arrays = [
        ReturnedArray("levels", result.levels, LEVELS),
        ReturnedArray("costs", result.costs, MAP),
    ]
    if isinstance(result.volume, CostVolume):
        arrays.append(ReturnedArray("volume.costs", result.volume.costs, COSTS))
    elif result.volume is not None:
        return None
    return arrays


def _arrays_of_levels(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the levels; None if the result is no array of levels.

    An optimizer for both images must return disparity maps, so the result is then None.
    """
    is_levels = isinstance(result, np.ndarray) and result.dtype == np.int16
    if not is_levels or "other" in stage.data:
        return None
    return [ReturnedArray("levels", result, LEVELS)]


def _arrays_of_disparity(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the disparity map; None if the result is no array."""
    if not isinstance(result, np.ndarray):
        return None
    return [ReturnedArray("disparity", result, DISPARITY)]


def _arrays_of_two_maps(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return both maps; None if the result is no tuple of two maps."""
    return _arrays_of_maps(result, ("disparity", DISPARITY), ("status", STATUS))


def _arrays_of_three_maps(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return disparity, status and confidence; None if the result is no such tuple."""
    return _arrays_of_maps(
        result, ("disparity", DISPARITY), ("status", STATUS), ("confidence", MAP)
    )


def _arrays_of_maps(result: Any, *maps: tuple[str, ArrayKind]) -> list[ReturnedArray] | None:
    """Return the maps in a tuple; None if it contains another number of maps.

    Parameters
    ----------
    result : object
        Result of the stage.
    *maps : (str, ArrayKind)
        Name and kind of each expected map.
    """
    is_tuple = isinstance(result, tuple) and len(result) == len(maps)
    if not is_tuple or not isinstance(result[0], np.ndarray):
        return None
    return [
        ReturnedArray(name, array, kind) for (name, kind), array in zip(maps, result, strict=True)
    ]


def _arrays_of_confidence(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the confidence map, which may be any object if the stage has a mistake."""
    return [ReturnedArray("confidence", result, MAP)]


def _arrays_of_estimate(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return all arrays in an estimate; None if the result is no estimate."""
    if not isinstance(result, Estimate):
        return None
    arrays = [
        ReturnedArray("disparity", result.disparity, DISPARITY),
        ReturnedArray("status", result.status, STATUS),
    ]
    if result.levels is not None:
        arrays.append(ReturnedArray("levels", result.levels, LEVELS))
    # If the confidence maps are not a mapping, `with_plain_companions` raises an error
    # later.
    if isinstance(result.confidence, Mapping):
        for name, values in result.confidence.items():
            arrays.append(ReturnedArray(f"confidence {name}", values, MAP))
    return arrays


_ARRAYS_OF_KINDS: Mapping[ResultKind, Callable[[Stage, Any], list[ReturnedArray] | None]] = {
    ResultKind.IMAGE: _arrays_of_image,
    ResultKind.BOTH_IMAGES: _arrays_of_both_images,
    ResultKind.COST_VOLUME: _arrays_of_volume,
    ResultKind.SMOOTHNESS: _arrays_of_smoothness,
    ResultKind.LABELING: _arrays_of_labeling,
    ResultKind.LEVELS: _arrays_of_levels,
    ResultKind.DISPARITY: _arrays_of_disparity,
    ResultKind.DISPARITY_AND_STATUS: _arrays_of_two_maps,
    ResultKind.DISPARITY_STATUS_AND_CONFIDENCE: _arrays_of_three_maps,
    ResultKind.CONFIDENCE: _arrays_of_confidence,
    ResultKind.ESTIMATE: _arrays_of_estimate,
}
"""Function that returns the arrays in a result of each kind.

The function takes the stage and the result, and returns None if the result is of
another kind.
"""


def _fault_of_array(
    stage: Stage, array: Any, kind: ArrayKind, image_shape: tuple[int, ...], levels: int
) -> str:
    """Describe why an array that a stage returned is wrong; empty if it is correct."""
    shape: tuple[int, ...] = image_shape[:2]
    if kind is IMAGE:
        shape = image_shape
    elif kind is COSTS:
        shape = (*shape, levels)
    elif kind is PENALTIES:
        shape = (levels,)
    if form_fault := fault(array, kind, shape):
        return form_fault
    if kind is LEVELS and (array.min() < -1 or array.max() >= levels):
        return f"levels from {array.min()} to {array.max()}; expected -1 to {levels - 1}"
    if kind is STATUS and array.max(initial=0) > max(Status):
        return f"{array.max()}; expected values of Status, 0 to {max(Status):d}"
    if kind is COSTS:
        return _fault_of_costs(stage, array)
    return ""


def _fault_of_costs(stage: Stage, costs: NDArray) -> str:
    """Describe why costs are wrong (not in C order or not finite); empty if correct."""
    if not costs.flags.c_contiguous:
        return "not in C order; expected np.ascontiguousarray(costs)"
    # The costs of built-in stages are not searched for NaN and infinity. The search
    # takes time, and tests show that these costs are finite.
    if stage.is_built_in or costs.dtype != np.float32 or np.isfinite(costs).all():
        return ""
    return "not finite; expected finite costs"
