"""Random nested stereo methods, and the computation of their results on arrays.

A method is a mapping, as in a script. The function `solution` computes the results of a
method without steps, pipelines and scripts. If a built-in stage has no inner stage,
`solution` calls the function of the stage. This module repeats the formulas of all
stages that have an inner stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import naive
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from stereo_framework import Labeling, Pipeline, SearchRange, step
from stereo_framework.aggregation import (
    binomial,
    box,
    cross_based,
    diffusion,
    guided_filter,
    min_filter,
)
from stereo_framework.confidence import left_right_consistency, matching_score, winner_margin
from stereo_framework.core.pair import Pair
from stereo_framework.core.view import DisparityMap
from stereo_framework.core.volume import CostVolume, SearchMask, Smoothness, Status
from stereo_framework.matching_cost import absolute_difference, census
from stereo_framework.optimization import (
    dynamic_programming,
    scanline_optimization,
    semi_global,
    winner_take_all,
)
from stereo_framework.preprocessing import binomial_blur, mean_subtraction
from stereo_framework.refinement import (
    equiangular,
    fill_occlusions,
    left_right_check,
    left_right_check_fast,
    median,
    parabola,
)
from stereo_framework.smoothness import potts

PLUGIN = str(Path(__file__).with_name("nested_stages.py"))
"""Path of the plug-in that defines stages with inner stages."""

REFERENCE, MATCH = 0, 1
"""Indices of the two images of a pair."""

SMALL_CENSUS = {"use": "census", "width": 3, "height": 3}

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "inverted": {"inner": "binomial_blur"},
    "scaled_cost": {"inner": SMALL_CENSUS, "factor": 0.5},
    "repeated": {"inner": "box", "times": 2},
    "mixed": {"first": "box", "second": "box"},
    "smoothed_rows": {"inner": "box"},
    "raw_average": {"inner": "box"},
    "inverted_guide": {"inner": "box"},
    "continued": {"inner": "box", "iterations": 2},
    "cross_scale": {"inner": "guided_filter", "scales": 5, "scale_weight": 0.3},
    "doubled_smoothness": {"inner": "potts"},
    "filter_and_choose": {"smoothing": {"use": "box", "size": 3}, "choice": "winner_take_all"},
    "halved_confidence": {"inner": "matching_score"},
    "iterated": {"inner": "median", "max_iterations": 10},
    "check_and_fill": {"check": "left_right_check", "filling": "fill_occlusions"},
}
"""Default parameters of all stages with inner stages."""


# --- methods as scripts and as pipelines ----------------------------------------------


def name_and_parameters(entry):
    """Return the name of a stage and its parameters, from an entry of a script."""
    mapping = {"use": entry} if isinstance(entry, str) else dict(entry)
    name = mapping.pop("use")
    return name, {**DEFAULTS.get(name, {}), **mapping}


def entries_of(method, slot):
    """Return the entries of a slot as a list, even if the slot has only one entry."""
    entries = method.get(slot, [])
    return entries if isinstance(entries, list) else [entries]


def as_step(entry):
    """Return the step of an entry of a script."""
    if isinstance(entry, str):
        return step(entry)
    parameters = {}
    for name, value in entry.items():
        is_stage = isinstance(value, Mapping)
        parameters[name] = as_step(value) if is_stage else value
    return step(parameters.pop("use"), **parameters)


def as_pipeline(method):
    """Return the pipeline of a method."""
    steps = [as_step(entry) for slot in method for entry in entries_of(method, slot)]
    return Pipeline(steps)


# --- solutions on arrays --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Data:
    """The data that an aggregation or an optimizer receives."""

    pair: Pair
    """The pair before preprocessing, as in `CostOfPairs.pair`."""
    reference: NDArray
    match: NDArray
    mask: SearchMask | None
    raw: CostVolume
    cost: Callable[[Pair], CostVolume]


@dataclass(frozen=True, eq=False)
class Side:
    """The results for one image of a pair, before confidence and refinement."""

    data: Data
    volume: CostVolume
    """Cost volume that the optimizer received."""
    volume_after: CostVolume
    """Cost volume that the stages after the optimizer read."""
    levels: NDArray
    energy: float | None
    disparity: NDArray
    status: NDArray


@dataclass(frozen=True, eq=False)
class Other:
    """The results for the other image that a refinement receives."""

    disparity_map: DisparityMap
    volume: CostVolume


@dataclass(frozen=True, eq=False)
class Solution:
    """The results of a method for a pair."""

    disparity: NDArray
    status: NDArray
    levels: NDArray
    energy: float | None
    volume: CostVolume
    is_allowed: NDArray
    confidence: Mapping[str, NDArray]


def solution(method, pair):
    """Compute the results of a method for a pair, without the framework's engine."""
    sides = [side_of(method, pair), side_of(method, pair.exchanged())]
    allowed = [allowed_cells(side.data.pair) for side in sides]
    views = [DisparityMap(side.disparity, side.status, side.data.pair.search) for side in sides]

    confidence = {}
    for entry in entries_of(method, "confidence"):
        name, _ = name_and_parameters(entry)
        confidence[name] = confidence_map(entry, views, sides[REFERENCE])

    for entry in entries_of(method, "refinement"):
        new_views = []
        for index, view in enumerate(views):
            other = Other(views[1 - index], sides[1 - index].volume_after)
            disparity, status = refined(entry, view.disparity, view.status, sides[index], other)
            maps = without_invalid_pixels(disparity, status, allowed[index])
            new_views.append(DisparityMap(*maps, view.search))
        views = new_views

    reference_view = views[REFERENCE]
    is_unsure = np.isnan(reference_view.disparity) | (reference_view.status == Status.FILLED)
    for name, values in confidence.items():
        confidence[name] = np.where(is_unsure, values.min(), values)
    return Solution(
        reference_view.disparity,
        reference_view.status,
        sides[REFERENCE].levels,
        sides[REFERENCE].energy,
        sides[REFERENCE].volume_after,
        allowed[REFERENCE],
        confidence,
    )


def side_of(method, pair):
    """Compute the cost volume and the first disparity map of the reference image."""

    def cost(other_pair):
        return matching_cost(method, other_pair)

    reference, match = prepared_images(method, pair)
    raw = cost(pair)
    data = Data(pair, reference, match, pair.mask, raw, cost)

    volume = raw
    aggregations = entries_of(method, "aggregation")
    for entry in aggregations:
        volume = aggregated(entry, volume, data)
    if aggregations:
        costs = naive.restore_outside_cost(volume.costs, pair.search, volume.outside_cost)
        volume = replace(volume, costs=costs)

    smoothness = None
    for entry in entries_of(method, "smoothness"):
        smoothness = smoothness_term(entry, data)
    return optimized(method["optimization"], volume, data, smoothness)


def optimized(entry, volume, data, smoothness):
    """Choose levels, and compute the disparity map, the status map and the energy."""
    is_allowed = allowed_cells(data.pair)
    is_valid = is_allowed.any(axis=2, keepdims=True)
    # An excluded cell has a large cost. If all cells of a pixel are excluded, all cells
    # of this pixel have the cost 0.
    marks = np.where(is_valid, 1e6, 0)
    marked_costs = np.where(is_allowed, volume.costs, marks).astype(np.float32)
    marked_volume = replace(volume, costs=marked_costs)
    labeling = chosen(entry, marked_volume, data, smoothness)

    assigned_levels = np.maximum(labeling.levels, 0)[..., None]
    is_level_allowed = np.take_along_axis(is_allowed, assigned_levels, axis=2)[..., 0]
    levels = np.where(is_level_allowed, labeling.levels, np.int16(-1))
    disparity = np.where(levels < 0, np.float32(np.nan), volume.search.disparities[levels])
    status = np.where(levels < 0, Status.OCCLUDED, Status.MATCHED).astype(np.uint8)
    disparity, status = without_invalid_pixels(disparity, status, is_allowed)

    energy = energy_of(entry, labeling, marked_volume, data.pair, smoothness)
    volume_after = labeling.volume or marked_volume
    return Side(data, marked_volume, volume_after, levels, energy, disparity, status)


def energy_of(entry, labeling, marked_volume, pair, smoothness):
    """Return the energy of a labeling, or None if the documentation does not define it.

    If an optimizer has an inner aggregation, the energy contains filtered costs. The
    documentation does not define the filtered costs of excluded cells and of pixels
    without a level.
    """
    is_nested = name_and_parameters(entry)[0] == "filter_and_choose"
    if is_nested and (pair.mask is not None or labeling.levels.min() < 0):
        return None
    smoothness_costs = 0.0
    if smoothness is not None:
        smoothness_costs = naive.smoothness_of(smoothness, naive.fill_levels(labeling.levels))
    if is_nested:
        return float(labeling.costs.sum(dtype=np.float64)) + smoothness_costs

    is_allowed = allowed_cells(pair)
    is_valid = is_allowed.any(axis=2, keepdims=True)
    # In the energy, an excluded cell of a valid pixel has the outside cost.
    costs = np.where(~is_allowed & is_valid, marked_volume.outside_cost, marked_volume.costs)
    assigned_levels = np.maximum(labeling.levels, 0)[..., None]
    is_level_allowed = np.take_along_axis(is_allowed, assigned_levels, axis=2)[..., 0]
    levels = np.where(is_level_allowed, labeling.levels, np.int16(-1))
    return naive.energy_of(costs, smoothness, levels)


def allowed_cells(pair):
    """Return the cells of a pair that its mask does not exclude."""
    rows, columns = pair.shape
    search = pair.search
    is_allowed = np.ones((rows, columns, search.levels), bool)
    mask = pair.mask
    if mask is None:
        return is_allowed
    for level in range(search.levels):
        disparity = search.minimum + level * search.step
        positions = np.arange(columns) - search.direction * disparity
        is_inside = (positions >= 0) & (positions <= columns - 1)
        for neighbours in (np.floor(positions), np.ceil(positions)):
            # The mask cannot exclude a position outside the image.
            pixels = np.clip(neighbours, 0, columns - 1).astype(int)
            if mask.match_valid is not None:
                is_allowed[..., level] &= mask.match_valid[:, pixels] | ~is_inside
        if mask.valid is not None:
            is_allowed[..., level] &= mask.valid
        if mask.low is not None:
            is_allowed[..., level] &= ~(mask.low > disparity + 1e-3)
        if mask.high is not None:
            is_allowed[..., level] &= ~(mask.high < disparity - 1e-3)
    return is_allowed


def without_invalid_pixels(disparity, status, is_allowed):
    """Remove the estimates of pixels without an allowed cell."""
    is_valid = is_allowed.any(axis=2)
    disparity = np.where(is_valid, disparity, np.float32(np.nan))
    status = np.where(is_valid, status, Status.INVALID).astype(np.uint8)
    return disparity, status


# --- images and matching costs --------------------------------------------------------


def prepared_images(method, pair):
    """Apply the preprocessing of a method to both images."""
    images = []
    for image in (pair.reference, pair.match):
        for entry in entries_of(method, "preprocessing"):
            image = prepared(entry, image)
        images.append(image)
    return images


def prepared(entry, image):
    """Apply one preprocessing stage to an image."""
    name, parameters = name_and_parameters(entry)
    if name == "inverted":
        return prepared(parameters["inner"], 255 - image)
    functions = {"binomial_blur": binomial_blur, "mean_subtraction": mean_subtraction}
    return functions[name](image, **parameters)


def matching_cost(method, pair):
    """Compute the matching cost of a pair, with the outside cost at excluded cells."""
    reference, match = prepared_images(method, pair)
    volumes = []
    for entry in entries_of(method, "matching_cost"):
        volume = single_cost(entry, reference, match, pair.search)
        volumes.append(volume)
    costs = sum(volume.costs for volume in volumes)
    outside_cost = sum(volume.outside_cost for volume in volumes)
    costs = np.where(allowed_cells(pair), costs, np.float32(outside_cost))
    return CostVolume(costs.astype(np.float32), pair.search, outside_cost)


def single_cost(entry, reference, match, search):
    """Compute one matching cost as float32, and multiply it by its weight in a sum."""
    name, parameters = name_and_parameters(entry)
    weight = parameters.pop("weight", 1.0)
    if name == "scaled_cost":
        volume = single_cost(parameters["inner"], reference, match, search)
        weight = weight * parameters["factor"]
    else:
        functions = {"absolute_difference": absolute_difference, "census": census}
        volume = functions[name](reference, match, search, **parameters)
    # All weights are powers of 2, so the products are exact.
    costs = volume.costs.astype(np.float32) * np.float32(weight)
    return CostVolume(costs, search, weight * volume.outside_cost)


# --- aggregations ---------------------------------------------------------------------

PRIMITIVE_AGGREGATIONS: Mapping[str, Callable[..., CostVolume]] = {
    "box": lambda volume, data, **parameters: box(volume, **parameters),
    "min_filter": lambda volume, data, **parameters: min_filter(volume, **parameters),
    "binomial": lambda volume, data, **parameters: binomial(volume, **parameters),
    "diffusion": lambda volume, data, **parameters: diffusion(volume, **parameters),
    "guided_filter": lambda volume, data, **parameters: guided_filter(
        volume, data.reference, **parameters
    ),
    "cross_based": lambda volume, data, **parameters: cross_based(
        volume, data.reference, data.match, data.mask, **parameters
    ),
}


def aggregated(entry, volume, data):
    """Apply an aggregation with all its inner aggregations."""
    name, parameters = name_and_parameters(entry)
    if name in PRIMITIVE_AGGREGATIONS:
        return PRIMITIVE_AGGREGATIONS[name](volume, data, **parameters)
    return COMPOSITE_AGGREGATIONS[name](volume, data, **parameters)


def repeated(volume, data, inner, times):
    for _ in range(times):
        volume = aggregated(inner, volume, data)
    return volume


def mixed(volume, data, first, second):
    one = aggregated(first, volume, data)
    two = aggregated(second, volume, data)
    costs = (one.costs + two.costs) / np.float32(2)
    return CostVolume(costs, volume.search, (one.outside_cost + two.outside_cost) / 2)


def smoothed_rows(volume, data, inner):
    volume = aggregated(inner, volume, data)
    above = volume.costs[[0, *range(len(volume.costs) - 1)]]
    below = volume.costs[[*range(1, len(volume.costs)), -1]]
    costs = volume.costs / np.float32(2) + (above + below) / np.float32(4)
    return replace(volume, costs=costs)


def raw_average(volume, data, inner):
    volume = aggregated(inner, volume, data)
    return replace(volume, costs=(volume.costs + data.raw.costs) / np.float32(2))


def inverted_guide(volume, data, inner):
    return aggregated(inner, volume, replace(data, reference=255 - data.reference))


def cross_scale(volume, data, inner, scales, scale_weight):
    """Combine filtered costs of several image sizes by the equations of the paper.

    The documentation does not define the order of the additions. This function adds the
    costs of the image sizes in float32, beginning with the full size. A test compares
    the combined costs with a computation in float64.
    """
    weights = weights_of_scales(scales, scale_weight)
    search = volume.search
    filtered = aggregated(inner, volume, data)
    total = np.float32(weights[0]) * filtered.costs
    outside_cost = weights[0] * filtered.outside_cost
    for scale in range(1, scales):
        data = reduced_data(data, search)
        search = data.raw.search
        filtered = aggregated(inner, data.raw, data)
        total = total + enlarged(filtered, volume.search, volume.shape, 2**scale, weights[scale])
        outside_cost += weights[scale] * filtered.outside_cost
    return CostVolume(total, volume.search, outside_cost)


def reduced_data(data, search):
    """Return the data of an aggregation at half the image size."""
    images = half_size(Pair(data.reference, data.match, search, data.mask))
    pair = half_size(data.pair)
    raw = data.cost(pair)
    return Data(pair, images.reference, images.match, images.mask, raw, data.cost)


def half_size(pair):
    """Return a pair of half the size, with images that OpenCV has smoothed."""
    smaller = pair.reduced(2)
    halved_images = {
        "reference": cv2.pyrDown(pair.reference),
        "match": cv2.pyrDown(pair.match),
    }
    return replace(smaller, **halved_images)


def weights_of_scales(scales, scale_weight):
    """Return the weights of all image sizes in the combined costs at full size.

    The combined costs with these weights minimize the energy of the paper.
    """
    matrix = np.zeros((scales, scales))
    for scale in range(scales):
        unit = np.zeros(scales)
        unit[scale] = 1
        differences = np.diff(unit)
        matrix[:, scale] = unit
        matrix[1:, scale] += scale_weight * differences
        matrix[:-1, scale] -= scale_weight * differences
    return np.linalg.solve(matrix.T, np.eye(scales)[0])


def enlarged(smaller, search, shape, factor, weight):
    """Return the weighted costs of a smaller image size, enlarged to full size."""
    rows, columns = np.indices(shape) // factor
    enlarged_costs = np.empty((*shape, search.levels), np.float32)
    for level, disparity in enumerate(search.disparities):
        position = (disparity / factor - smaller.search.minimum) / smaller.search.step
        position = min(max(position, 0), smaller.search.levels - 1)
        lower = min(int(position), smaller.search.levels - 2)
        upper_share = position - lower
        lower_weight = np.float32(weight * (1 - upper_share))
        upper_weight = np.float32(weight * upper_share)
        costs = smaller.costs[rows, columns]
        enlarged_costs[..., level] = (
            lower_weight * costs[..., lower] + upper_weight * costs[..., lower + 1]
        )
    return enlarged_costs


COMPOSITE_AGGREGATIONS: Mapping[str, Callable[..., CostVolume]] = {
    "repeated": repeated,
    "continued": lambda volume, data, inner, iterations: repeated(volume, data, inner, iterations),
    "mixed": mixed,
    "smoothed_rows": smoothed_rows,
    "raw_average": raw_average,
    "inverted_guide": inverted_guide,
    "cross_scale": cross_scale,
}


# --- optimizers, confidence measures and refinements ----------------------------------


def smoothness_term(entry, data):
    """Compute a smoothness term."""
    name, parameters = name_and_parameters(entry)
    if name == "potts":
        return potts(data.reference, data.pair.search, **parameters)
    term = smoothness_term(parameters["inner"], data)
    return Smoothness(2 * term.right, 2 * term.down, term.rho)


def chosen(entry, volume, data, smoothness):
    """Return the labeling of an optimizer."""
    name, parameters = name_and_parameters(entry)
    if name == "filter_and_choose":
        smoothed = aggregated(parameters["smoothing"], volume, data)
        return chosen(parameters["choice"], smoothed, data, smoothness)
    if name == "scanline_optimization":
        return scanline_optimization(volume, smoothness, **parameters)
    if name == "dynamic_programming":
        return dynamic_programming(volume, smoothness, **parameters)
    if name == "semi_global":
        return semi_global(volume, data.reference, data.match, **parameters)
    labeling: Labeling = winner_take_all(volume, **parameters)
    return labeling


def confidence_map(entry, views, side):
    """Compute a confidence map of the reference image."""
    name, parameters = name_and_parameters(entry)
    view = views[REFERENCE]
    if name == "halved_confidence":
        return confidence_map(parameters["inner"], views, side) / np.float32(2)
    if name == "left_right_consistency":
        return left_right_consistency(view.disparity, views[MATCH], view.search)
    functions = {"matching_score": matching_score, "winner_margin": winner_margin}
    return functions[name](view.disparity, side.volume_after, side.data.mask)


def refined(entry, disparity, status, side, other):
    """Return the disparity map and the status after a refinement."""
    name, parameters = name_and_parameters(entry)
    if name == "iterated":
        return iterated(disparity, status, side, other, **parameters)
    if name == "check_and_fill":
        disparity, status = refined(parameters["check"], disparity, status, side, other)
        return refined(parameters["filling"], disparity, status, side, other)
    if name == "left_right_check":
        search = side.data.pair.search
        return left_right_check(disparity, other.disparity_map, search, status, **parameters)
    if name == "left_right_check_fast":
        return left_right_check_fast(disparity, side.volume_after, status, **parameters)

    if name in ("parabola", "equiangular"):
        function = {"parabola": parabola, "equiangular": equiangular}[name]
        refined_map = function(disparity, side.volume_after, side.data.mask, **parameters)
    elif name == "raw_winners":
        winners = side.data.pair.search.disparities[side.data.raw.costs.argmin(axis=2)]
        refined_map = np.where(np.isnan(disparity), disparity, winners)
    elif name == "parity_of_other":
        is_odd = other.volume.costs.argmin(axis=2) % 2 == 1
        refined_map = np.where(is_odd, disparity + np.float32(0.5), disparity)
    else:
        function = {"median": median, "fill_occlusions": fill_occlusions}[name]
        refined_map = function(disparity, **parameters)
    had_estimate = ~np.isnan(disparity)
    has_estimate = ~np.isnan(refined_map)
    status = np.where(had_estimate & ~has_estimate, Status.MISMATCHED, status)
    status = np.where(~had_estimate & has_estimate, Status.FILLED, status)
    return refined_map, status.astype(np.uint8)


def iterated(disparity, status, side, other, inner, max_iterations):
    """Repeat a refinement until neither the disparity map nor the status changes."""
    for _ in range(max_iterations):
        new_disparity, new_status = refined(inner, disparity, status, side, other)
        has_changed = not np.array_equal(new_disparity, disparity, equal_nan=True)
        has_changed = has_changed or not np.array_equal(new_status, status)
        disparity, status = new_disparity, new_status
        if not has_changed:
            break
    return disparity, status


# --- random methods -------------------------------------------------------------------


def used(name, **parameters):
    """Return a strategy for entries of a stage with random parameters."""
    return st.fixed_dictionaries({"use": st.just(name), **parameters})


SIZES = st.sampled_from([2, 3, 5])
SMALL_COUNTS = st.sampled_from([1, 2])

leaf_aggregations = st.one_of(
    used("box", size=SIZES),
    used("guided_filter", size=SIZES),
    used("min_filter", size=SIZES),
    used("binomial", iterations=SMALL_COUNTS),
    used("diffusion", iterations=SMALL_COUNTS),
    used("cross_based", max_arm=st.sampled_from([3, 5]), iterations=SMALL_COUNTS),
)
leaf_aggregations_in_strips = st.one_of(
    used("box", size=SIZES),
    used("guided_filter", size=SIZES),
    used("min_filter", size=SIZES),
    used("binomial", iterations=SMALL_COUNTS),
)


def composites_in_strips(inner):
    """Return a strategy for outer aggregations that can run in strips.

    An outer aggregation can run in strips only if its inner aggregations can.
    """
    return st.one_of(
        used("repeated", inner=inner, times=SMALL_COUNTS),
        used("mixed", first=inner, second=inner),
        used("smoothed_rows", inner=inner),
        used("inverted_guide", inner=inner),
    )


def composites(inner):
    """Return a strategy for aggregations with inner aggregations."""
    return st.one_of(
        composites_in_strips(inner),
        used("raw_average", inner=inner),
        used("continued", inner=inner, iterations=SMALL_COUNTS),
        used("cross_scale", inner=inner, scales=st.just(2), scale_weight=st.just(0.3)),
        used("cross_scale", inner=inner, scales=st.just(3), scale_weight=st.just(1.0)),
    )


def nested(leaves, make_composites):
    """Return a strategy for stages with one or two levels of inner stages."""
    composite = make_composites(leaves)
    return st.one_of(composite, make_composites(st.one_of(leaves, composite)))


aggregations = nested(leaf_aggregations, composites)
aggregations_in_strips = nested(leaf_aggregations_in_strips, composites_in_strips)

preprocessing_lists = st.sampled_from(
    [
        [],
        ["binomial_blur"],
        ["mean_subtraction", "inverted"],
        [{"use": "inverted", "inner": {"use": "inverted", "inner": "mean_subtraction"}}],
    ]
)
leaf_costs = st.sampled_from(["absolute_difference", SMALL_CENSUS])
nested_costs = st.one_of(
    used("scaled_cost", inner=leaf_costs),
    used("scaled_cost", inner=used("scaled_cost", inner=leaf_costs)),
)


@st.composite
def sums_of_costs(draw):
    """Draw a sum of a nested cost and a cost without inner stages."""
    first = draw(nested_costs)
    second, _ = name_and_parameters(draw(leaf_costs))
    parameters = name_and_parameters(SMALL_CENSUS)[1] if second == "census" else {}
    weights = [draw(st.sampled_from([0.5, 2.0])) for _ in range(2)]
    return [{**first, "weight": weights[0]}, {"use": second, **parameters, "weight": weights[1]}]


matching_costs = st.one_of(leaf_costs, nested_costs, sums_of_costs())
small_penalties = used("semi_global", p1=st.just(4.0), p2=st.just(16.0))
occlusions = used("dynamic_programming", occlusion_cost=st.just(8.0))
leaf_optimizers = st.one_of(st.just("winner_take_all"), small_penalties, occlusions)
optimizer_aggregations = st.one_of(leaf_aggregations, aggregations_in_strips)
refinement_leaves = st.sampled_from(
    ["median", "parabola", "equiangular", "fill_occlusions", "raw_winners", "parity_of_other"]
)
check_and_fill = used(
    "check_and_fill",
    check=st.sampled_from(["left_right_check", "left_right_check_fast", "raw_winners"]),
    filling=refinement_leaves,
)
refinements = st.one_of(
    refinement_leaves,
    used("iterated", inner=refinement_leaves, max_iterations=st.sampled_from([1, 3])),
    check_and_fill,
    used("iterated", inner=check_and_fill, max_iterations=st.just(2)),
    used("check_and_fill", check=check_and_fill, filling=refinement_leaves),
)
confidence_lists = st.sampled_from(
    [
        [],
        ["halved_confidence"],
        [{"use": "halved_confidence", "inner": "left_right_consistency"}],
        [
            {
                "use": "halved_confidence",
                "inner": {"use": "halved_confidence", "inner": "winner_margin"},
            }
        ],
    ]
)


@st.composite
def methods(draw):
    """Draw a method with nested stages in any slot."""
    method = {
        "preprocessing": draw(preprocessing_lists),
        "matching_cost": draw(matching_costs),
        "aggregation": draw(st.lists(aggregations, max_size=2)),
        "optimization": draw(
            st.one_of(
                leaf_optimizers,
                used("filter_and_choose", smoothing=optimizer_aggregations, choice=leaf_optimizers),
            )
        ),
        "confidence": draw(confidence_lists),
        "refinement": draw(st.lists(refinements, max_size=2)),
    }
    if draw(st.booleans()) and isinstance(method["optimization"], str):
        smoothness = st.sampled_from(
            [
                {"use": "potts", "weight": 4},
                {"use": "doubled_smoothness", "inner": {"use": "potts", "weight": 4}},
            ]
        )
        method["smoothness"] = draw(smoothness)
        method["optimization"] = draw(
            st.sampled_from(
                [
                    "scanline_optimization",
                    {
                        "use": "filter_and_choose",
                        "smoothing": "box",
                        "choice": "scanline_optimization",
                    },
                ]
            )
        )
    return method


@st.composite
def methods_in_strips(draw):
    """Draw a method whose costs, aggregations and optimizer have halos."""
    optimizers = used(
        "filter_and_choose", smoothing=aggregations_in_strips, choice=st.just("winner_take_all")
    )
    local_refinements = st.one_of(
        st.sampled_from(["parabola", "median"]),
        used(
            "iterated",
            inner=st.sampled_from(["median", "parabola", "raw_winners"]),
            max_iterations=st.sampled_from([1, 3]),
        ),
        used(
            "check_and_fill",
            check=st.sampled_from(["left_right_check_fast", "median"]),
            filling=st.sampled_from(["fill_occlusions", "median"]),
        ),
    )
    return {
        "preprocessing": draw(preprocessing_lists),
        "matching_cost": draw(matching_costs),
        "aggregation": draw(st.lists(aggregations_in_strips, min_size=1, max_size=2)),
        "optimization": draw(st.one_of(st.just("winner_take_all"), optimizers)),
        "refinement": draw(st.lists(local_refinements, max_size=2)),
    }


def has_integer_costs(method):
    """Return whether the optimizer of a method receives integer costs."""
    return method["matching_cost"] == SMALL_CENSUS and not method["aggregation"]


# --- sweeps over parameters of inner stages -------------------------------------------


@dataclass(frozen=True)
class Axis:
    """An axis of a sweep over one parameter.

    The attributes are the address of the parameter, the values of the parameter, and
    the method for each value.
    """

    address: str
    values: list[Any]
    methods: list[dict[str, Any]]


VALUES: Mapping[str, list[Any]] = {
    "size": [2, 3, 4],
    "times": [1, 2],
    "iterations": [1, 2, 3],
    "max_arm": [3, 5],
    "scales": [1, 2],
    "scale_weight": [0.0, 0.5],
    "factor": [0.25, 0.5],
    "max_iterations": [1, 2],
    "width": [3, 5],
    "weight": [2, 4],
    "p1": [2.0, 4.0],
    "occlusion_cost": [4.0, 8.0],
}
"""Values in sweeps, by the name of the parameter."""

STAGES: Mapping[str, list[Any]] = {
    "preprocessing": ["binomial_blur", "inverted"],
    "matching_cost": ["absolute_difference", SMALL_CENSUS],
    "aggregation": [
        {"use": "box", "size": 3},
        {"use": "repeated", "inner": {"use": "guided_filter", "size": 3}},
    ],
    "smoothness": [{"use": "potts", "weight": 2}, "doubled_smoothness"],
    "optimization": ["winner_take_all", {"use": "semi_global", "p1": 2.0, "p2": 8.0}],
    "confidence": ["matching_score", "winner_margin"],
    "refinement": ["median", {"use": "check_and_fill", "filling": "median"}],
}
"""Inner stages in sweeps, by slot."""

SLOTS_OF_PARAMETERS = {"smoothing": "aggregation", "choice": "optimization"}
"""Slots of inner stages, by the name of the parameter that selects the inner stage.

All other inner stages have the slot of their outer stage.
"""


def axes_of(method):
    """Return all axes that sweep an inner stage or a parameter of a method."""
    axes = []
    for slot in method:
        entries = entries_of(method, slot)
        names = [name_and_parameters(entry)[0] for entry in entries]
        is_list = isinstance(method[slot], list)
        for index, entry in enumerate(entries):
            if names.count(names[index]) > 1:
                continue
            address = f"{slot}.{names[index]}" if is_list else slot

            def with_entry(new_entry, slot=slot, index=index, is_list=is_list):
                if not is_list:
                    return {**method, slot: new_entry}
                new_entries = list(entries_of(method, slot))
                new_entries[index] = new_entry
                return {**method, slot: new_entries}

            axes.extend(_axes_of_parameters(entry, address, with_entry))
            axes.extend(_axes_of_inner_stages(slot, entry, address, with_entry))
    return axes


def _axes_of_parameters(entry, address, with_entry):
    """Yield the axes of all numeric parameters of an entry.

    Parameters
    ----------
    entry : str or mapping
    address : str
    with_entry : callable
        Function that takes a new entry and returns the method with this entry.
    """
    parameters = {} if isinstance(entry, str) else entry
    for name, values in VALUES.items():
        if name in parameters:
            new_methods = [with_entry({**parameters, name: value}) for value in values]
            yield Axis(f"{address}.{name}", values, new_methods)


def _axes_of_inner_stages(slot, entry, address, with_entry):
    """Yield the axes of the inner stages of an entry, and of their parameters.

    Parameters
    ----------
    slot, address : str
    entry : str or mapping
    with_entry : callable
        Function that takes a new entry and returns the method with this entry.
    """
    if isinstance(entry, str):
        return
    for name, value in entry.items():
        if name == "use" or (name not in SLOTS_OF_PARAMETERS and name not in INNER_PARAMETERS):
            continue

        def with_inner(new_value, name=name):
            return with_entry({**entry, name: new_value})

        inner_slot = SLOTS_OF_PARAMETERS.get(name, slot)
        inner_address = f"{address}.{name}"
        stages = STAGES[inner_slot]
        yield Axis(inner_address, stages, [with_inner(new_value) for new_value in stages])

        yield from _axes_of_parameters(value, inner_address, with_inner)
        yield from _axes_of_inner_stages(inner_slot, value, inner_address, with_inner)


INNER_PARAMETERS = ("inner", "first", "second", "check", "filling")
"""Parameters that select an inner stage in the slot of the outer stage."""


@st.composite
def axes(draw, strategy):
    """Draw a method, and an axis that sweeps a part of this method."""
    method = draw(strategy.filter(axes_of))
    return method, draw(st.sampled_from(axes_of(method)))


# --- pairs ----------------------------------------------------------------------------


def images(shape=(40, 48), directions=(1, -1)):
    """Return a strategy for the arguments of `made_pair`."""
    return st.fixed_dictionaries(
        {
            "shape": st.just(shape),
            "seed": st.integers(0, 99),
            "is_colour": st.booleans(),
            "mask_kind": st.sampled_from(["none", "valid", "limits"]),
            "direction": st.sampled_from(directions),
            "search_step": st.sampled_from([1, 0.5]),
        }
    )


def made_pair(shape, seed, is_colour=False, mask_kind="none", direction=1, search_step=1):
    """Return a pair of noisy random images that show two surfaces."""
    rng = np.random.default_rng(seed)
    rows, columns = shape
    size = (rows, columns, 3) if is_colour else shape
    texture = rng.integers(0, 240, size).astype(np.uint8)
    reference = texture // 2 + np.roll(texture, 1, axis=0) // 2
    match = np.roll(reference, -2 * direction, axis=1)
    upper_half = slice(0, rows // 2)
    match[upper_half] = np.roll(reference[upper_half], -5 * direction, axis=1)
    match += rng.integers(0, 9, size).astype(np.uint8)

    mask = None
    if mask_kind != "none":
        valid = rng.random(shape) > 0.15
        match_valid = rng.random(shape) > 0.15
        valid[4:8, 10:30] = False
        mask = SearchMask(valid, match_valid)
    if mask_kind == "limits":
        low = rng.integers(0, 4, shape).astype(np.float32)
        mask = replace(mask, low=low, high=low + np.float32(3))
    maximum = 7 if search_step == 1 else 5
    search = SearchRange(0, maximum, search_step, direction)
    return Pair(reference, match, search, mask)
