"""Update of the data of an image (`View`) with the result of a stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.estimate import Estimate
from stereo_framework.core.slots import ResultKind
from stereo_framework.core.stage import Stage
from stereo_framework.core.view import DisparityMap, View, Volumes, kernel_array
from stereo_framework.core.volume import (
    ConfidenceMap,
    CostVolume,
    Labeling,
    Levels,
    Smoothness,
    fill_levels,
    status_after_refinement,
    status_of,
)
from stereo_framework.engine.return_checks import check_returned
from stereo_framework.engine.returned_numbers import with_plain_companions


def view_after(stage: Stage, result: Any, view: View) -> View:
    """Check the result of a stage, and add the result to the view of an image.

    Raises
    ------
    StereoFrameworkError
        If the result is wrong, for example because an array has a wrong shape.
    """
    result = with_short_levels(stage, result)
    kind = check_returned(stage, result, view.reference.shape, view.search)
    result = with_plain_companions(stage, result)
    return _VIEWS_AFTER[kind](stage, result, view)


def _after_both_images(stage: Stage, images: Any, view: View) -> View:
    """Return a view with both images of a pair that a stage has corrected together."""
    reference, match = map(kernel_array, images)
    prepared = replace(view.require_images(), corrected=(reference, match))
    return replace(view, prepared=prepared)


def _after_volume(stage: Stage, volume: CostVolume, view: View) -> View:
    """Return a view with the cost volume of a matching cost or an aggregation."""
    if stage.rules.makes_raw_volume:
        return view_with_raw_volume(view, volume)
    # An aggregation may return its input, a read-only cost volume. Later steps copy a
    # read-only cost volume before they change any costs.
    return replace(view, volumes=replace(view.volumes, current=volume, is_shared=False))


def view_with_raw_volume(view: View, volume: CostVolume) -> View:
    """Return a view in which a new cost volume replaces all earlier cost volumes.

    Cells that must not be chosen get the outside cost, because aggregation filters
    average all cells.
    """
    if view.mask is not None:
        if not volume.costs.flags.writeable:
            volume = replace(volume, costs=volume.costs.copy())
        view.mask.exclude(volume, volume.outside_cost)
    volumes = Volumes(current=volume, raw=volume, smoothness=view.smoothness)
    return replace(view, volumes=volumes)


def _after_smoothness(stage: Stage, smoothness: Smoothness, view: View) -> View:
    """Return a view with the smoothness term that a stage has computed."""
    return replace(view, volumes=replace(view.volumes, smoothness=smoothness))


def _after_confidence(stage: Stage, confidence_map: ConfidenceMap, view: View) -> View:
    """Return a view with an additional confidence map."""
    disparity_map = view.require_map()
    confidence = {**disparity_map.confidence, stage.name: confidence_map}
    return replace(view, disparity_map=replace(disparity_map, confidence=confidence))


def _after_scheme(stage: Stage, estimate: Estimate, view: View) -> View:
    """Return a view with the estimate of a scheme."""
    return replace(view, estimate=estimate)


def _after_disparity(stage: Stage, result: Any, view: View) -> View:
    """Return a view with a new disparity map, and compute the status of each pixel."""
    [disparity] = result if isinstance(result, tuple) else (result,)
    before = view.disparity_map
    if before is not None:
        status = status_after_refinement(before.disparity, before.status, disparity)
        return _after_maps(stage, (disparity, status), view)
    # A matcher with the data argument ``mask`` excludes disparities itself.
    if view.mask is not None and stage.rules.chooses_from_costs:
        is_excluded = view.mask.excluded(view.search.levels_of(disparity), view.search)
        disparity = np.where(is_excluded, np.float32(np.nan), disparity)
    return _after_maps(stage, (disparity, status_of(disparity)), view)


def _after_maps(stage: Stage, maps: tuple[NDArray, ...], view: View) -> View:
    """Return a view with a disparity map, a status map and maybe a confidence map."""
    disparity, status, *confidence_maps = maps
    if view.disparity_map is None:
        disparity_map = DisparityMap(disparity, status, view.search)
    else:
        disparity_map = replace(view.disparity_map, disparity=disparity, status=status)
    for confidence_map in confidence_maps:
        confidence = {**disparity_map.confidence, stage.slot: confidence_map}
        disparity_map = replace(disparity_map, confidence=confidence)
    return view.with_map(disparity_map)


def with_short_levels(stage: Stage, result: Any) -> Any:
    """Convert the levels of an optimizer to int16 if int16 can represent all levels."""
    if ResultKind.LEVELS not in stage.rules.results:
        return result
    levels = result.levels if isinstance(result, Labeling) else result
    is_wide = isinstance(levels, np.ndarray) and levels.dtype in (np.int32, np.int64)
    if not is_wide or not levels.size or levels.min() < -1 or levels.max() > np.iinfo(np.int16).max:
        return result
    short_levels = levels.astype(np.int16)
    return replace(result, levels=short_levels) if isinstance(result, Labeling) else short_levels


def _after_levels(stage: Stage, levels: Levels, view: View) -> View:
    """Return a view with the disparity map for the levels that an optimizer chose."""
    costs = view.volume.chosen(levels).astype(np.float32)
    return _after_labeling(stage, Labeling(levels, costs), view)


def _after_labeling(stage: Stage, labeling: Labeling, view: View) -> View:
    """Return a view with the disparity map that is computed from a labeling."""
    volumes = replace(view.volumes, current=labeling.volume or view.volume)
    labeling = _with_allowed_levels(labeling, view)
    disparity = view.search.disparity_of(labeling.levels)
    status = status_of(disparity)
    disparity_map = DisparityMap(disparity, status, view.search, labeling=labeling)
    return replace(view, volumes=volumes).with_map(disparity_map)


def _with_allowed_levels(labeling: Labeling, view: View) -> Labeling:
    """Remove excluded levels from a labeling, and compute the costs of filled pixels.

    The energy of an estimate includes a cost for each pixel without a level. A pixel
    without a level gets the cost of the level that `fill_levels` fills in.
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
            # Excluded cells of a cost volume contain a large marker instead of a cost.
            # The marker is replaced by the outside cost, or by 0 at invalid pixels.
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
"""Functions that add a result to a view, with one function per kind of result.

Each function takes the stage, the result and the view before the stage. The table has
no entry for single images, because the runner itself adds these images.
"""
