"""Checks of the arrays and objects that the stages of a method return.

If a result is wrong, the error message names the file and the line of the stage.
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
from stereo_framework.core.view import BothSides
from stereo_framework.core.volume import (
    CostVolume,
    Labeling,
    Smoothness,
    Status,
)


def wrong_return(stage: Stage, description: str) -> StereoFrameworkError:
    """Create an error that names the stage, the file and the line of a wrong result."""
    location = source_location(stage.function)
    return StereoFrameworkError(
        f"{location}: {stage.slot} stage {stage.name} returned {description}"
    )


def check_returned(
    stage: Stage, result: Any, image_shape: tuple[int, ...], search: SearchRange
) -> ResultKind:
    """Check the result of a stage, and return its kind, such as a cost volume.

    Parameters
    ----------
    stage : Stage
    result : object
    image_shape : tuple of int
        Shape of the reference image, such as (480, 640) or (480, 640, 3).
    search : SearchRange
        Search range that the stage received.

    Raises
    ------
    StereoFrameworkError
        If the result has a wrong class, or if an array has a wrong shape, type or
        value. The error message names the file and the line of the stage.
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
        if isinstance(part, CostVolume) and (outside_fault := outside_cost_fault(part)):
            raise wrong_return(stage, outside_fault)
    return kind


def check_result_of_inner_stage(stage: Stage, result: Any, data: Mapping[str, Any]) -> None:
    """Check the result that an inner stage returns to its outer stage.

    Parameters
    ----------
    stage : Stage
        The inner stage.
    result : object
    data : mapping of str to object
        Data of the call of the inner stage, such as ``volume`` and ``reference``.

    Raises
    ------
    StereoFrameworkError
        If the result is wrong, see `check_returned`.
    """
    if isinstance(result, BothSides) and stage.rules.returns_both_sides:
        return
    check_returned(stage, result, _image_shape_of(data), _search_of(data))


def _image_shape_of(data: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the shape of the image to which the data of a stage belong."""
    for name in ("reference", "image", "disparity", "pair"):
        # The shape of an image includes the number of channels.
        if data.get(name) is not None:
            shape: tuple[int, ...] = data[name].shape
            return shape
    rows, columns, _ = data["volume"].costs.shape
    return rows, columns


def _search_of(data: Mapping[str, Any]) -> SearchRange:
    """Return the search range to which the data of a stage belong.

    Without a search range, the result is any range. Only the checks of cost volumes and
    levels read it, and the stages that return these always have a range.
    """
    if isinstance(data.get("search"), SearchRange):
        return data["search"]
    for name in ("volume", "pair"):
        if data.get(name) is not None:
            search: SearchRange = data[name].search
            return search
    return SearchRange(0, 1)


def _check_search_range(stage: Stage, part: CostVolume | Estimate, search: SearchRange) -> None:
    """Raise an error if a result has a wrong search range."""
    if part.search != search:
        message = (
            f"{type(part).__name__} with the search range {part.search!r}; "
            f"expected {search!r}, the range that the stage received"
        )
        raise wrong_return(stage, message)


def outside_cost_fault(volume: CostVolume) -> str:
    """Describe an outside cost that does not fit the data type of the costs.

    The description is empty if the outside cost fits.
    """
    if volume.costs.dtype == np.float32:
        largest = float(np.finfo(np.float32).max)
        smallest = -largest
    else:
        largest = float(np.iinfo(volume.costs.dtype.name).max)
        smallest = 0.0
    is_number = isinstance(volume.outside_cost, int | float | np.floating | np.integer)
    if is_number and smallest <= volume.outside_cost <= largest:
        return ""
    return (
        f"CostVolume with the outside cost {volume.outside_cost!r}; "
        f"expected a finite outside cost from {smallest:g} to {largest:g}"
    )


class ReturnedArray(NamedTuple):
    """An array in the result of a stage, with its name and its expected kind.

    Parameters
    ----------
    name : str
        Name of the array in error messages, such as ``costs``.
    array : object
        Returned array, or any other object if the stage is faulty.
    kind : ArrayKind
    """

    name: str
    array: Any
    kind: ArrayKind


def _kind_and_arrays(stage: Stage, result: Any) -> tuple[ResultKind | None, list[ReturnedArray]]:
    """Determine the kind of a result, and list the arrays in the result.

    The kind is None if the stage must not return a result of this type.
    """
    for kind in stage.rules.results:
        arrays = _ARRAYS_OF_KINDS[kind](stage, result)
        if arrays is not None:
            return kind, arrays
    return None, []


def _arrays_of_image(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the preprocessed image, or None if the stage takes both images."""
    if "image" not in stage.data:
        return None
    return [ReturnedArray("image", result, IMAGE)]


def _arrays_of_both_images(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return both preprocessed images, or None if the result is no pair of images."""
    if "image" in stage.data or not isinstance(result, tuple) or len(result) != 2:
        return None
    return [ReturnedArray("image", image, IMAGE) for image in result]


def _arrays_of_volume(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the costs of a cost volume, or None if the result is no cost volume."""
    if not isinstance(result, CostVolume):
        return None
    return [ReturnedArray("costs", result.costs, COSTS)]


def _arrays_of_smoothness(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the arrays of a smoothness term, or None for any other result."""
    if not isinstance(result, Smoothness):
        return None
    return [
        ReturnedArray("right", result.right, MAP),
        ReturnedArray("down", result.down, MAP),
        ReturnedArray("rho", result.rho, PENALTIES),
    ]


def _arrays_of_labeling(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the arrays in a labeling, or None for any other result.

    An optimizer that matches both images must not return a labeling.
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
    """Return the levels of an optimizer, or None if the result is no int16 array.

    An optimizer that matches both images must not return levels.
    """
    is_levels = isinstance(result, np.ndarray) and result.dtype == np.int16
    if not is_levels or "other" in stage.data:
        return None
    return [ReturnedArray("levels", result, LEVELS)]


def _arrays_of_disparity(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the disparity map, also from a tuple with a single map; otherwise None."""
    maps = result if isinstance(result, tuple) else (result,)
    return _arrays_of_maps(maps, ("disparity", DISPARITY))


def _arrays_of_two_maps(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the disparity map and the status map, or None for any other result."""
    return _arrays_of_maps(result, ("disparity", DISPARITY), ("status", STATUS))


def _arrays_of_three_maps(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the disparity, status and confidence maps, or None for other results."""
    return _arrays_of_maps(
        result, ("disparity", DISPARITY), ("status", STATUS), ("confidence", MAP)
    )


def _arrays_of_maps(result: Any, *maps: tuple[str, ArrayKind]) -> list[ReturnedArray] | None:
    """Return the maps in a tuple, or None if the tuple has a wrong number of maps.

    Parameters
    ----------
    result : object
    *maps : (str, ArrayKind)
        Name and kind of each map in the expected tuple.
    """
    is_tuple = isinstance(result, tuple) and len(result) == len(maps)
    if not is_tuple or not isinstance(result[0], np.ndarray):
        return None
    return [
        ReturnedArray(name, array, kind) for (name, kind), array in zip(maps, result, strict=True)
    ]


def _arrays_of_confidence(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the result of a confidence measure, which should be a confidence map."""
    return [ReturnedArray("confidence", result, MAP)]


def _arrays_of_estimate(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return all arrays in an estimate, or None if the result is no estimate."""
    if not isinstance(result, Estimate):
        return None
    arrays = [
        ReturnedArray("disparity", result.disparity, DISPARITY),
        ReturnedArray("status", result.status, STATUS),
    ]
    if result.levels is not None:
        arrays.append(ReturnedArray("levels", result.levels, LEVELS))
    # If the confidence maps are no mapping, the function `with_plain_companions` raises
    # an error later.
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
"""Functions that list the arrays in a result, with one function per kind of result.

Each function takes a stage and the result of the stage. A function returns None for a
result of another kind.
"""


def _fault_of_array(
    stage: Stage, array: Any, kind: ArrayKind, image_shape: tuple[int, ...], levels: int
) -> str:
    """Describe the fault of a returned array, or return an empty text."""
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
        return f"levels from {array.min()} to {array.max()}; expected levels -1 to {levels - 1}"
    if kind is STATUS and array.max(initial=0) > max(Status):
        return f"the value {array.max()}; expected values of Status, from 0 to {max(Status):d}"
    if kind is COSTS:
        return _fault_of_costs(stage, array)
    return ""


def _fault_of_costs(stage: Stage, costs: NDArray) -> str:
    """Describe the fault of a returned cost array, or return an empty text."""
    if not costs.flags.c_contiguous:
        return "the array is not in C order; return np.ascontiguousarray(costs)"
    # Only the costs of plug-ins are checked for NaN and infinity, because the check
    # takes time. Tests show that the costs of built-in stages are finite.
    if stage.is_built_in or costs.dtype != np.float32 or np.isfinite(costs).all():
        return ""
    return "the array contains NaN or infinite costs; expected finite costs"
