"""Check the result that a stage returns, and store it in the view of the image.

If the result is wrong, the error message names the file and the line of the stage.
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
from stereo_framework.core.slots import ResultKind
from stereo_framework.core.stage import Stage
from stereo_framework.core.step import Step
from stereo_framework.core.traces import as_finite_number, as_lower_bound, as_trace
from stereo_framework.core.view import DisparityMap, View, Volumes, kernel_array
from stereo_framework.core.volume import (
    ConfidenceMap,
    CostVolume,
    Labeling,
    Levels,
    Smoothness,
    Status,
    fill_levels,
    status_of,
)


def view_after(stage: Stage, result: Any, view: View) -> View:
    """Check the result of a stage, and return a view that contains this result.

    Raises
    ------
    StereoFrameworkError
        A stage of this slot must not return such a result. The docstring of
        `check_returned` lists the possible reasons.
    """
    result = _with_short_levels(stage, result)
    kind = check_returned(stage, result, view.reference.shape, view.search)
    result = with_plain_companions(stage, result)
    return _VIEWS_AFTER[kind](stage, result, view)


# --- the view after a result of each kind ---------------------------------------------


def _after_both_images(stage: Stage, images: Any, view: View) -> View:
    """Return a view with the images of a stage that corrects the pair as a whole."""
    reference, match = map(kernel_array, images)
    prepared = replace(view.require_images(), corrected=(reference, match))
    return replace(view, prepared=prepared)


def _after_volume(stage: Stage, volume: CostVolume, view: View) -> View:
    """Return a view with the cost volume of a matching cost or an aggregation."""
    if stage.rules.makes_raw_volume:
        return view_with_raw_volume(view, volume)
    # An aggregation gets a read-only volume. If it returns this volume, the array stays
    # read-only, and is copied before anything is written into it.
    return replace(view, volumes=replace(view.volumes, current=volume, is_shared=False))


def view_with_raw_volume(view: View, volume: CostVolume) -> View:
    """Return a view in which a new matching cost replaces all earlier cost volumes.

    Excluded cells get the outside cost, because an aggregation computes averages that
    contain the costs of these cells.
    """
    if view.mask is not None:
        if not volume.costs.flags.writeable:
            volume = replace(volume, costs=volume.costs.copy())
        view.mask.exclude(volume, volume.outside_cost)
    volumes = Volumes(current=volume, raw=volume, smoothness=view.smoothness)
    return replace(view, volumes=volumes)


def _after_smoothness(stage: Stage, smoothness: Smoothness, view: View) -> View:
    """Return a view with the smoothness term of the method."""
    return replace(view, volumes=replace(view.volumes, smoothness=smoothness))


def _after_confidence(stage: Stage, confidence_map: ConfidenceMap, view: View) -> View:
    """Return a view with one more confidence map."""
    disparity_map = view.require_map()
    confidence = {**disparity_map.confidence, stage.name: confidence_map}
    return replace(view, disparity_map=replace(disparity_map, confidence=confidence))


def _after_scheme(stage: Stage, estimate: Estimate, view: View) -> View:
    """Return a view with the complete result of a method."""
    return replace(view, estimate=estimate)


def _after_disparity(stage: Stage, disparity: NDArray, view: View) -> View:
    """Return a view with a disparity map whose status map is derived from it."""
    before = view.disparity_map
    if before is not None:
        return _after_maps(stage, (disparity, _status_after(before, disparity)), view)
    is_optimizer = ResultKind.LABELING in stage.rules.results
    if view.mask is not None and is_optimizer:
        is_excluded = view.mask.excluded(view.search.levels_of(disparity), view.search)
        disparity = np.where(is_excluded, np.float32(np.nan), disparity)
    return _after_maps(stage, (disparity, status_of(disparity)), view)


def _after_maps(stage: Stage, maps: tuple[NDArray, ...], view: View) -> View:
    """Return a view with a disparity map, a status map and perhaps a confidence map."""
    disparity, status, *confidence_maps = maps
    if view.disparity_map is None:
        disparity_map = DisparityMap(disparity, status, view.search)
    else:
        disparity_map = replace(view.disparity_map, disparity=disparity, status=status)
    for confidence_map in confidence_maps:
        confidence = {**disparity_map.confidence, stage.slot: confidence_map}
        disparity_map = replace(disparity_map, confidence=confidence)
    return view.with_map(disparity_map)


def _status_after(before: DisparityMap, disparity: NDArray) -> NDArray[np.uint8]:
    """Compute the status map for a refinement that returned only disparities.

    A pixel that had no disparity and now has one gets the status FILLED. A pixel whose
    disparity was removed gets the status MISMATCHED.
    """
    status = before.status.copy()
    had_disparity = ~np.isnan(before.disparity)
    has_disparity = ~np.isnan(disparity)
    status[~had_disparity & has_disparity] = Status.FILLED
    status[had_disparity & ~has_disparity] = Status.MISMATCHED
    return status


def _with_short_levels(stage: Stage, result: Any) -> Any:
    """Convert the levels of an optimizer to int16 if they fit into int16."""
    if ResultKind.LEVELS not in stage.rules.results:
        return result
    levels = result.levels if isinstance(result, Labeling) else result
    is_wide = isinstance(levels, np.ndarray) and levels.dtype in (np.int32, np.int64)
    if not is_wide or not levels.size or levels.min() < -1 or levels.max() > np.iinfo(np.int16).max:
        return result
    short_levels = levels.astype(np.int16)
    return replace(result, levels=short_levels) if isinstance(result, Labeling) else short_levels


def _after_levels(stage: Stage, levels: Levels, view: View) -> View:
    """Return a view with the disparity map of the levels of an optimizer."""
    costs = view.volume.chosen(levels).astype(np.float32)
    return _after_labeling(stage, Labeling(levels, costs), view)


def _after_labeling(stage: Stage, labeling: Labeling, view: View) -> View:
    """Return a view with the disparity map of a labeling."""
    volumes = replace(view.volumes, current=labeling.volume or view.volume)
    labeling = _with_allowed_levels(labeling, view)
    disparity = view.search.disparity_of(labeling.levels)
    status = status_of(disparity)
    disparity_map = DisparityMap(disparity, status, view.search, labeling=labeling)
    return replace(view, volumes=volumes).with_map(disparity_map)


def _with_allowed_levels(labeling: Labeling, view: View) -> Labeling:
    """Remove excluded levels from a labeling, and compute the costs of filled pixels.

    The energy of an estimate also contains the costs of pixels without a level. The
    cost of such a pixel is the cost of the level with which `fill_levels` fills it.
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
            # Excluded cells contain a large marker instead of a cost, so the outside
            # cost is used. Invalid pixels have only excluded cells, so their cost is 0.
            costs[mask.excluded(filled_levels, search)] = view.volume.outside_cost
            costs[view.require_pair().invalid] = 0
    return replace(labeling, levels=levels, costs=costs, volume=None)


_VIEWS_AFTER: Mapping[ResultKind, Callable[[Stage, Any, View], View]] = {
    ResultKind.BOTH_IMAGES: _after_both_images,
    ResultKind.COST_VOLUME: _after_volume,
    ResultKind.SMOOTHNESS: _after_smoothness,
    ResultKind.LABELING: _after_labeling,
    ResultKind.LEVELS: _after_levels,
    ResultKind.DISPARITY: _after_disparity,
    ResultKind.DISPARITY_AND_STATUS: _after_maps,
    ResultKind.DISPARITY_STATUS_AND_CONFIDENCE: _after_maps,
    ResultKind.CONFIDENCE: _after_confidence,
    ResultKind.ESTIMATE: _after_scheme,
}
"""Function that returns the view after a result of each kind.

The function takes the stage, the result and the view before the stage. A stage for
single images is missing, because the runner calls it for each image of a view.
"""


# --- checks ---------------------------------------------------------------------------


def wrong_return(stage: Stage, description: str) -> StereoFrameworkError:
    """Create the error that a stage returned a wrong result, with file and line."""
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


def with_plain_companions(stage: Stage, result: Any) -> Any:
    """Convert the numbers and texts in the result of a stage to Python types.

    Examples are energies, lower bounds, traces and warnings, which later code writes to
    tables and files. They are checked directly after the stage has returned, so that an
    error message can name the stage.

    Raises
    ------
    StereoFrameworkError
        A number or a text has a wrong type, or a number is not finite. The message
        names the file and the line of the stage.
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
    """Convert the numbers and texts that a stage has reported to Python types.

    Raises
    ------
    StereoFrameworkError
        A number or a text in the report has a wrong type, or a number is not finite.
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
    """Convert a lower bound to a float, and -inf (no bound is known) to None."""
    bound = None if value is None else as_lower_bound(value)
    return None if bound == -math.inf else bound


def _text(value: Any) -> str:
    """Escape control characters in a text, because a terminal would execute them."""
    if not isinstance(value, str):
        raise ValueError(f"{in_short(value)}; expected a text")
    return escape_controls(value)


def _warning_lines(value: Any) -> tuple[str, ...]:
    """Check the warnings of an estimate, and convert each warning to a single line."""
    if not isinstance(value, tuple | list):
        raise ValueError(f"{in_short(value)}; expected a tuple of texts")
    return tuple(one_line(_text(line)) for line in value)


def _named_maps(value: Any) -> dict[str, NDArray[np.float32]]:
    """Check the names of confidence maps, because they become parts of file names."""
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
"""Function that converts each field of a `Labeling` that is not an array."""

_FIELDS_OF_ESTIMATES: Mapping[str, Callable[[Any], Any]] = {
    **_FIELDS_OF_LABELINGS,
    "energy": _finite_or_none,
    "memory": _finite_or_none,
    "messages": _text,
    "warnings": _warning_lines,
    "confidence": _named_maps,
}
"""Function that converts each field of an `Estimate` that is not an array."""


class ReturnedArray(NamedTuple):
    """An array in the result of a stage, with the properties that it must have.

    Parameters
    ----------
    name : str
        Name of the array in error messages, such as ``costs``.
    array : object
        The array. If the stage has a mistake, this may be any other object.
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


def check_direction(step: Step, image: NDArray) -> None:
    """Raise an error if a plug-in's matching cost ignores the search direction.

    If a matching cost ignores `SearchRange.direction`, the disparity map of the right
    image is wrong. This test matches a random texture and a copy that is shifted by two
    pixels. The lowest costs must be at disparity 2 if the left image is the reference
    image, and also if the right image is the reference image. If most pixels of the
    left image have their lowest cost at another disparity, there is no error, because
    the matching cost may need larger images.

    Parameters
    ----------
    step : Step
        The matching cost with its parameters.
    image : ndarray
        Image that defines the type and the number of channels of the random texture.

    Raises
    ------
    StereoFrameworkError
        The lowest costs are at disparity 2 in the left image, but not in the right
        image.
    """
    if step.stage.is_built_in:
        return
    shape = (24, 48, 3)[: image.ndim]
    texture = np.random.default_rng(1).integers(0, 256, shape).astype(image.dtype)
    left = np.ascontiguousarray(texture[:, :40])
    right = np.ascontiguousarray(texture[:, 2:42])
    left_share = _share_of_correct_pixels(step, left, right, direction=1)
    right_share = _share_of_correct_pixels(step, right, left, direction=-1)
    if left_share is None or right_share is None:
        return
    # The search range has six levels, so a sixth of the pixels has the lowest cost at
    # disparity 2 by chance.
    if left_share > 0.8 and right_share < 0.5:
        message = (
            "costs that do not obey search.direction: for a texture moved by 2 pixels, "
            f"{left_share:.0%} of the pixels of the left image have the lowest cost at "
            f"disparity 2, but only {right_share:.0%} of the pixels of the right image; "
            "the pixel x matches the pixel x - search.direction * disparity"
        )
        raise wrong_return(step.stage, message)


def _share_of_correct_pixels(
    step: Step, reference: NDArray, match: NDArray, *, direction: int
) -> float | None:
    """Return the share of pixels with the lowest cost at disparity 2, or None."""
    search = SearchRange(0, 5, direction=direction)
    data = dict.fromkeys(step.stage.data) | {
        "reference": reference,
        "match": match,
        "search": search,
    }
    try:
        levels = step(data).costs[6:-6, 12:-12].argmin(axis=2)
    except Exception:
        # The call may fail because the images are too small for the matching cost, or
        # because it needs data that are None in this test.
        return None
    return float(np.mean(levels == 2))
