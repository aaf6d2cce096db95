"""Check the result of a stage, and compute the view after the stage.

If a stage returns a wrong result, the error names the file and the line of the stage.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.call_context import CallReport
from stereo_framework.core.errors import (
    StereoFrameworkError,
    escape_controls,
    one_line,
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
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.stage import Stage
from stereo_framework.core.traces import as_finite_number, as_lower_bound, as_trace
from stereo_framework.core.view import DisparityMap, View, Volumes, kernel_array
from stereo_framework.core.volume import (
    CostVolume,
    Labeling,
    Smoothness,
    Status,
    fill_levels,
    status_of,
)


def view_after(stage: Stage, result: Any, view: View) -> View:
    """Check the result of a stage, and return the view after the stage.

    Raises
    ------
    StereoFrameworkError
        The result is not allowed; see `check_returned`.
    """
    result = _with_short_levels(stage, result)
    check_returned(stage, result, view.reference.shape, view.search)
    result = with_plain_companions(stage, result)
    volumes = view.volumes
    if stage.slot == "preprocessing":
        reference, match = map(kernel_array, result)
        prepared = replace(view.require_images(), corrected=(reference, match))
        return replace(view, prepared=prepared)
    if stage.slot == "matching_cost":
        return _after_matching_cost(result, view)
    if stage.slot == "aggregation":
        # A stage gets a read-only volume, so the new one is not shared with another
        # view.
        return replace(view, volumes=replace(volumes, current=result, is_shared=False))
    if stage.slot == "smoothness":
        return replace(view, volumes=replace(volumes, smoothness=result))
    if stage.slot == "optimization":
        return _after_optimization(result, view)
    if stage.slot == "confidence":
        disparity_map = view.require_map()
        confidence = {**disparity_map.confidence, stage.name: result}
        return replace(view, disparity_map=replace(disparity_map, confidence=confidence))
    if stage.slot == "scheme":
        return replace(view, estimate=result)
    return _after_map_stage(stage, result, view)


def _after_matching_cost(volume: CostVolume, view: View) -> View:
    """Return the view with a new volume in place of all earlier ones.

    Excluded cells get the outside cost, because an aggregation may read their costs.
    """
    if view.mask is not None:
        if not volume.costs.flags.writeable:
            volume = replace(volume, costs=volume.costs.copy())
        view.mask.exclude(volume, volume.outside_cost)
    volumes = Volumes(current=volume, raw=volume, smoothness=view.smoothness)
    return replace(view, volumes=volumes)


def _after_map_stage(stage: Stage, result: Any, view: View) -> View:
    """Return the view after a matcher or a refinement."""
    disparity, status, confidence = result, None, None
    if isinstance(result, tuple):
        disparity, status, confidence = (*result, None, None)[:3]
    before = view.disparity_map
    if status is None:
        status = status_of(disparity) if before is None else _status_after(before, disparity)
    if before is None:
        disparity_map = DisparityMap(disparity, status, view.search)
    else:
        disparity_map = replace(before, disparity=disparity, status=status)
    if confidence is not None:
        maps = {**disparity_map.confidence, stage.slot: confidence}
        disparity_map = replace(disparity_map, confidence=maps)
    return view.with_map(disparity_map)


def _status_after(before: DisparityMap, disparity: NDArray) -> NDArray[np.uint8]:
    """Return the status map after a refinement that returned only disparities.

    New disparities are filled, and pixels that lost their disparity are mismatched.
    """
    status = before.status.copy()
    had_disparity = ~np.isnan(before.disparity)
    has_disparity = ~np.isnan(disparity)
    status[~had_disparity & has_disparity] = Status.FILLED
    status[had_disparity & ~has_disparity] = Status.MISMATCHED
    return status


def _with_short_levels(stage: Stage, result: Any) -> Any:
    """Return a result whose levels are int16, if they fit into int16."""
    if stage.slot != "optimization":
        return result
    levels = result.levels if isinstance(result, Labeling) else result
    is_wide = isinstance(levels, np.ndarray) and levels.dtype in (np.int32, np.int64)
    if not is_wide or not levels.size or levels.min() < -1 or levels.max() > np.iinfo(np.int16).max:
        return result
    short_levels = levels.astype(np.int16)
    return replace(result, levels=short_levels) if isinstance(result, Labeling) else short_levels


def _after_optimization(result: Any, view: View) -> View:
    """Return the view after an optimizer.

    Parameters
    ----------
    result : Labeling or ndarray
        A labeling; or levels; or a continuous disparity map.
    view : View
        The view before the optimizer.
    """
    search = view.search
    if isinstance(result, np.ndarray) and result.dtype == np.int16:
        result = Labeling(result, view.volume.chosen(result).astype(np.float32))
    if isinstance(result, np.ndarray):
        disparity = result
        if view.mask is not None:
            is_excluded = view.mask.excluded(search.levels_of(disparity), search)
            disparity = np.where(is_excluded, np.float32(np.nan), disparity)
        return view.with_map(DisparityMap(disparity, status_of(disparity), search))

    labeling = _with_allowed_levels(result, view)
    volumes = replace(view.volumes, current=result.volume or view.volume)
    disparity = search.disparity_of(labeling.levels)
    disparity_map = DisparityMap(disparity, status_of(disparity), search, labeling=labeling)
    return replace(view, volumes=volumes).with_map(disparity_map)


def _with_allowed_levels(labeling: Labeling, view: View) -> Labeling:
    """Return a labeling without excluded levels, with the costs of filled levels.

    The energy of an estimate counts unassigned pixels too, so their costs are those of
    the level with which they are filled.
    """
    mask, search = view.mask, view.search
    levels = labeling.levels
    if mask is not None:
        is_excluded = mask.excluded(levels, search)
        if is_excluded.any():
            levels = np.where(is_excluded, np.int16(-1), levels)
    filled_levels = fill_levels(levels)
    costs = labeling.costs
    if filled_levels is not labeling.levels:
        costs = view.volume.chosen(filled_levels)
        if mask is not None:
            # The marker of an excluded cell is no cost, and an invalid pixel has none.
            costs[mask.excluded(filled_levels, search)] = view.volume.outside_cost
            costs[view.require_pair().invalid] = 0
    return replace(labeling, levels=levels, costs=costs, volume=None)


def wrong_return(stage: Stage, description: str) -> StereoFrameworkError:
    """Return the exception for a wrong result, with the file and line of the stage."""
    location = source_location(stage.function)
    return StereoFrameworkError(
        f"{location}: {stage.slot} stage {stage.name} returned {description}"
    )


def check_returned(
    stage: Stage, result: Any, image_shape: tuple[int, ...], search: SearchRange
) -> None:
    """Refuse a result that stages of the slot must not return.

    Parameters
    ----------
    stage : Stage
    result : object
        The result of the stage.
    image_shape : tuple of int
        Shape of the reference image, with its channels.
    search : SearchRange
        Search range that the stage received.

    Raises
    ------
    StereoFrameworkError
        The type, the shape, the dtype or a value of the result is wrong. The message
        names the file and the line of the stage.
    """
    arrays = _returned_arrays(stage, result)
    if arrays is None:
        size = f"of {image_shape[:2]} pixels and {search.levels} levels"
        message = f"{in_short(result)}; expected {SLOTS[stage.slot].returns}, {size}"
        raise wrong_return(stage, message)
    for name, array, kind in arrays:
        if array_fault := _fault_of_array(stage, array, kind, image_shape, search.levels):
            raise wrong_return(stage, f"{name}: {array_fault}")

    # A labeling may contain a cost volume.
    for part in (result, getattr(result, "volume", None)):
        if isinstance(part, CostVolume | Estimate):
            _check_search_range(stage, part, search)
        if isinstance(part, CostVolume):
            _check_outside_cost(stage, part)


def _check_search_range(stage: Stage, part: CostVolume | Estimate, search: SearchRange) -> None:
    """Refuse a result with another search range than the stage received."""
    if part.search != search:
        message = (
            f"the search range of the {type(part).__name__} is {part.search!r}; "
            f"expected {search!r}, the range that the stage received"
        )
        raise wrong_return(stage, message)


def _check_outside_cost(stage: Stage, volume: CostVolume) -> None:
    """Refuse an outside cost that is no number of the type of the costs."""
    if volume.costs.dtype == np.float32:
        largest = float(np.finfo(np.float32).max)
    else:
        largest = float(np.iinfo(volume.costs.dtype.name).max)
    is_number = isinstance(volume.outside_cost, int | float | np.floating | np.integer)
    if not is_number or not abs(volume.outside_cost) <= largest:
        message = (
            f"the outside cost {volume.outside_cost!r}; expected a finite one, up to {largest:g}"
        )
        raise wrong_return(stage, message)


def with_plain_companions(stage: Stage, result: Any) -> Any:
    """Return a result whose numbers and texts are objects of plain Python.

    Tables, files and charts show the trace, the lower bound, the energies and the
    warnings long after the stage has returned. They are checked here, so that an error
    names the stage.

    Raises
    ------
    StereoFrameworkError
        One of them is of another type, or a number is not finite. The message names the
        stage's file and line.
    """
    converters: Mapping[str, Callable[[Any], Any]] = {}
    if isinstance(result, Labeling):
        converters = _FIELDS_OF_LABELINGS
    elif isinstance(result, Estimate):
        converters = _FIELDS_OF_ESTIMATES
    plain = {}
    for name, convert in converters.items():
        try:
            plain[name] = convert(getattr(result, name))
        except ValueError as error:
            raise wrong_return(stage, f"{name}: {error}") from None
    return replace(result, **plain) if plain else result


def plain_report(stage: Stage, report: CallReport) -> CallReport:
    """Return the report of a call with plain numbers and texts.

    Raises
    ------
    StereoFrameworkError
        One of them is of another type, or a number is not finite.
    """
    try:
        return CallReport(
            seconds=_finite_or_none(report.seconds),
            memory=_finite_or_none(report.memory),
            messages=_text(report.messages),
            warning=one_line(_text(report.warning)),
        )
    except ValueError as error:
        location = source_location(stage.function)
        message = f"{location}: {stage.slot} stage {stage.name} reported {error}"
        raise StereoFrameworkError(message) from None


def _finite_or_none(value: Any) -> float | None:
    return None if value is None else as_finite_number(value)


def _bound_or_none(value: Any) -> float | None:
    """Return a lower bound; minus infinity, which is no bound, becomes None."""
    bound = None if value is None else as_lower_bound(value)
    return None if bound == -math.inf else bound


def _text(value: Any) -> str:
    """Return a text with escaped control characters, which a terminal would execute."""
    if not isinstance(value, str):
        raise ValueError(f"{in_short(value)}; expected a text")
    return escape_controls(value)


def _warning_lines(value: Any) -> tuple[str, ...]:
    """Return the warnings of an estimate as single lines."""
    if not isinstance(value, tuple | list):
        raise ValueError(f"{in_short(value)}; expected a tuple of texts")
    return tuple(one_line(_text(line)) for line in value)


def _named_maps(value: Any) -> dict[str, NDArray[np.float32]]:
    """Check the names of confidence maps, which become parts of file names."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{in_short(value)}; expected a mapping of names to maps")
    for name in value:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                f"the name {in_short(name)}; expected up to 60 letters, digits, '_' or '-'"
            )
    return dict(value)


_NAME = re.compile(r"[\w-]{1,60}")

_FIELDS_OF_LABELINGS: Mapping[str, Callable[[Any], Any]] = {
    "trace": as_trace,
    "lower_bound": _bound_or_none,
    "objective": _finite_or_none,
}
"""Converters of the fields of a `Labeling` that are no arrays."""

_FIELDS_OF_ESTIMATES: Mapping[str, Callable[[Any], Any]] = {
    **_FIELDS_OF_LABELINGS,
    "energy": _finite_or_none,
    "memory": _finite_or_none,
    "messages": _text,
    "warnings": _warning_lines,
    "confidence": _named_maps,
}
"""Converters of the fields of an `Estimate` that are no arrays."""


class ReturnedArray(NamedTuple):
    """An array of the result of a stage, before it is checked.

    Parameters
    ----------
    name : str
        Name of the array in messages.
    array : object
        A faulty stage may have returned any other object instead.
    kind : ArrayKind
    """

    name: str
    array: Any
    kind: ArrayKind


def _returned_arrays(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the arrays of a result; None if its type is not allowed in the slot."""
    match stage.slot, result:
        case "confidence", _:
            return [ReturnedArray("confidence", result, MAP)]
        case "preprocessing", _ if stage.data[0] == "image":
            return [ReturnedArray("image", result, IMAGE)]
        case "preprocessing", tuple((reference, match)):
            return [ReturnedArray("image", image, IMAGE) for image in (reference, match)]
        case "matching_cost" | "aggregation", CostVolume():
            return [ReturnedArray("costs", result.costs, COSTS)]
        case "smoothness", Smoothness():
            return [
                ReturnedArray("right", result.right, MAP),
                ReturnedArray("down", result.down, MAP),
                ReturnedArray("rho", result.rho, PENALTIES),
            ]
        case "optimization", Labeling(volume=CostVolume() | None) if "other" not in stage.data:
            return _arrays_of_labeling(result)
        case "optimization", np.ndarray() if result.dtype == np.int16 and "other" not in stage.data:
            return [ReturnedArray("levels", result, LEVELS)]
        case "scheme", Estimate():
            return _arrays_of_estimate(result)
    return _arrays_of_maps(stage, result)


def _arrays_of_labeling(labeling: Labeling) -> list[ReturnedArray]:
    """Return the arrays of a labeling and of its cost volume."""
    arrays = [
        ReturnedArray("levels", labeling.levels, LEVELS),
        ReturnedArray("costs", labeling.costs, MAP),
    ]
    if labeling.volume is not None:
        arrays.append(ReturnedArray("volume.costs", labeling.volume.costs, COSTS))
    return arrays


def _arrays_of_estimate(estimate: Estimate) -> list[ReturnedArray]:
    """Return all arrays of an estimate, because no later step checks it."""
    arrays = [
        ReturnedArray("disparity", estimate.disparity, DISPARITY),
        ReturnedArray("status", estimate.status, STATUS),
    ]
    if estimate.levels is not None:
        arrays.append(ReturnedArray("levels", estimate.levels, LEVELS))
    # A confidence that is no mapping is refused together with the numbers and texts.
    if isinstance(estimate.confidence, Mapping):
        for name, values in estimate.confidence.items():
            arrays.append(ReturnedArray(f"confidence {name}", values, MAP))
    return arrays


_MAP_COUNTS = {"matcher": 3, "refinement": 2, "optimization": 1}
"""Largest number of maps (disparity, status, confidence) that a slot allows."""


def _arrays_of_maps(stage: Stage, result: Any) -> list[ReturnedArray] | None:
    """Return the maps of a result; None if it has too many or too few."""
    maps = result if isinstance(result, tuple) else (result,)
    allowed_count = _MAP_COUNTS.get(stage.slot, 0)
    if not 1 <= len(maps) <= allowed_count or not isinstance(maps[0], np.ndarray):
        return None
    forms = (("disparity", DISPARITY), ("status", STATUS), ("confidence", MAP))
    return [
        ReturnedArray(name, array, kind) for (name, kind), array in zip(forms, maps, strict=False)
    ]


def _fault_of_array(
    stage: Stage, array: Any, kind: ArrayKind, image_shape: tuple[int, ...], levels: int
) -> str:
    """Describe the fault of an array that a stage returned; empty without a fault."""
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
    """Describe costs that are not in C order or not finite."""
    if not costs.flags.c_contiguous:
        return "not in C order; expected np.ascontiguousarray(costs)"
    # A search through a whole volume takes time. Tests show that the costs of built-in
    # stages are finite.
    if stage.is_built_in or costs.dtype != np.float32 or np.isfinite(costs).all():
        return ""
    return "not finite; expected finite costs"


def check_direction(
    stage: Stage, call: Callable[[Mapping[str, Any]], CostVolume], image: NDArray
) -> None:
    """Refuse a plug-in's matching cost that ignores the direction of the search range.

    Its disparity map of the other image of the pair would be wrong. A random texture
    that is moved by two pixels must be found at disparity 2 from either image. A cost
    that does not find it from the left image is not judged, because it may need larger
    images.

    Parameters
    ----------
    stage : Stage
    call : callable
        Function of the data of the stage that returns its cost volume.
    image : ndarray
        Image whose type and number of channels the texture gets.

    Raises
    ------
    StereoFrameworkError
        The texture is found from the left image and not from the right one.
    """
    if stage.is_built_in:
        return
    shape = (24, 48, 3)[: image.ndim]
    texture = np.random.default_rng(1).integers(0, 256, shape).astype(image.dtype)
    left = np.ascontiguousarray(texture[:, :40])
    right = np.ascontiguousarray(texture[:, 2:42])
    left_share = _share_at_two_pixels(stage, call, left, right, direction=1)
    right_share = _share_at_two_pixels(stage, call, right, left, direction=-1)
    if left_share is None or right_share is None:
        return
    # A sixth of the pixels finds it by chance.
    if left_share > 0.8 and right_share < 0.5:
        message = (
            "costs that do not obey search.direction: a texture moved by 2 pixels is found "
            f"at 2 by {left_share:.0%} of the pixels of the left image and by "
            f"{right_share:.0%} of those of the right one; "
            "a pixel meets x - search.direction * d"
        )
        raise wrong_return(stage, message)


def _share_at_two_pixels(
    stage: Stage,
    call: Callable[[Mapping[str, Any]], CostVolume],
    reference: NDArray,
    match: NDArray,
    *,
    direction: int,
) -> float | None:
    """Return the share of pixels with the lowest cost at 2; None if the call fails."""
    search = SearchRange(0, 5, direction=direction)
    data = dict.fromkeys(stage.data) | {"reference": reference, "match": match, "search": search}
    try:
        levels = call(data).costs[6:-6, 12:-12].argmin(axis=2)
    except Exception:
        # The images may be too small for the cost, or it needs data that are None here.
        return None
    return float(np.mean(levels == 2))
