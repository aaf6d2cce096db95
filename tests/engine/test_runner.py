"""Random pipelines, compared with a naive twin of the engine.

The stages of these pipelines blend all their data into their result. Therefore, a wrong
input of a stage changes the estimate. The twin computes each step for the whole image,
and no two pipelines share a result.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import naive
import numpy as np
import pytest
from numpy.typing import NDArray
from pipeline_parts import local, not_local

from stereo_framework import Labeling, Pipeline, SearchRange, step
from stereo_framework.aggregation import box
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import Positive, PositiveInt
from stereo_framework.core.registration import stage
from stereo_framework.core.view import BothSides, DisparityMap, View, Volumes
from stereo_framework.core.volume import CostVolume, SearchMask, Smoothness, Status
from stereo_framework.engine import strips
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.smoothness import potts

SHAPE = 9, 14
"""Numbers of rows and columns of all images."""

REFERENCE, MATCH = 0, 1
"""Sides of a pair."""

OTHER_SIDE = {REFERENCE: MATCH, MATCH: REFERENCE}

COLUMN_WITHOUT_ESTIMATES = 3
"""Column in which neither matchers nor optimizers assign a disparity."""


# --- data of stages -------------------------------------------------------------------


def blend(*data):
    """Return a map of small numbers that depend on all the data of a stage."""
    total = np.float32(0)
    for item in data:
        numbers = np.float32(as_numbers(item))
        total = total + np.nan_to_num(numbers, posinf=9, neginf=-9) / 64
    return np.float32(total)


def as_numbers(item):
    """Return a number or a map that depends on the contents of an object."""
    if item is None:
        return 0
    if isinstance(item, CostVolume):
        return item.costs.mean(axis=2, dtype=np.float32)
    if isinstance(item, View):
        return blend(item.disparity, item.status, item.confidence, item.volumes.by_name())
    if isinstance(item, DisparityMap):
        return blend(item.disparity, item.status, item.confidence)
    if isinstance(item, SearchMask):
        return blend(item.valid, item.low)
    if isinstance(item, dict):
        return blend(*[item[name] for name in sorted(item)])
    if isinstance(item, SearchRange):
        return item.direction
    return item


def with_costs(volume, costs):
    """Return a copy of a cost volume with new costs."""
    return replace(volume, costs=np.float32(costs))


# --- stages ---------------------------------------------------------------------------


@pytest.fixture
def stages(registry):
    """Register the stages of the random pipelines, and return them by name."""
    return SimpleNamespace(
        **register_preprocessing(),
        **register_matchers(),
        **register_matching_cost(),
        **register_aggregations(),
        **register_optimizer(),
        **register_confidence_measures(),
        **register_refinements(),
    )


def register_preprocessing():
    """Register a stage that changes single images, and a stage that changes pairs."""

    @stage("preprocessing", **not_local)
    def darken_image(image, search):
        return image // 2 + np.uint8(search.direction > 0)

    @stage("preprocessing", **not_local)
    def darken_pair(reference, match, search):
        return reference // 2, match // 2 + 9

    return {"darken_image": darken_image, "darken_pair": darken_pair}


def register_matchers():
    """Register a matcher of the reference image, and a matcher of both images."""

    @stage("matcher", **not_local)
    def match_reference(reference, match, search, mask, scene):
        disparity = select_winners(reference, match, search)
        status = np.full(SHAPE, Status.MISMATCHED, np.uint8)
        direction = None if scene is None else scene.direction
        return disparity, status, blend(reference, match, search, mask, direction)

    @stage("matcher", **not_local)
    def match_both(reference, match, search):
        exchanged_search = replace(search, direction=-search.direction)
        disparity = select_winners(reference, match, search)
        disparity_of_match = select_winners(match, reference, exchanged_search)
        status_of_match = np.full(SHAPE, Status.FILLED, np.uint8)
        return BothSides(disparity, (disparity_of_match, status_of_match))

    return {"match_reference": match_reference, "match_both": match_both}


def select_winners(reference, match, search):
    """Return the disparities of lowest cost, and NaN in one column."""
    costs = absolute_difference(reference, match, search).costs
    disparity = search.disparities[costs.argmin(axis=2)]
    disparity[:, COLUMN_WITHOUT_ESTIMATES] = np.nan
    return disparity


def register_matching_cost():
    """Register a matching cost that also reads the maps of auxiliary methods."""

    @stage("matching_cost", **local)
    def difference(reference, match, search, mask, auxiliary=None, *, truncation: Positive = 99.0):
        volume = absolute_difference(reference, match, search, truncation=truncation)
        return with_costs(volume, volume.costs + blend(mask, auxiliary)[..., None])

    return {"difference": difference}


def register_aggregations():
    """Register aggregations that differ in the rows that they need."""

    @stage("aggregation", source="a test", halo=lambda size: size // 2)
    def average_window(volume, raw, reference, match, search, mask, *, size: PositiveInt = 3):
        average = box(volume, size=size).costs
        inputs = blend(reference, match, search, mask)[..., None]
        return with_costs(volume, average + raw.costs / 4 + inputs)

    @stage("aggregation", **not_local)
    def subtract_minimum(volume):
        return with_costs(volume, volume.costs - volume.costs.min(axis=(0, 1)))

    @stage("aggregation", **local)
    def increase_cheap_rows(volume, *, threshold: int = 9):
        is_cheap = (volume.costs.min(axis=(1, 2)) < threshold)[:, None, None]
        # For a strip without cheap rows, the stage returns the volume that it received.
        return with_costs(volume, volume.costs + is_cheap) if is_cheap.any() else volume

    @stage("aggregation", resume="iterations", **local)
    def add_iterations(volume, partial=None, *, iterations: PositiveInt = 1):
        start = volume if partial is None else partial
        return with_costs(volume, start.costs + np.float32(iterations))

    return {
        "average_window": average_window,
        "subtract_minimum": subtract_minimum,
        "increase_cheap_rows": increase_cheap_rows,
        "add_iterations": add_iterations,
    }


def register_optimizer():
    """Register an optimizer that may return a new cost volume."""

    @stage("optimization", **local)
    def choose_levels(
        volume,
        raw,
        reference,
        match,
        search,
        mask,
        smoothness=None,
        *,
        returns_volume: bool = False,
    ):
        levels = (volume.costs + raw.costs / 4).argmin(axis=2).astype(np.int16)
        levels[:, COLUMN_WITHOUT_ESTIMATES] = -1
        # A fixed level may be excluded at some pixels.
        levels[:, 7] = 2
        new_volume = None
        if returns_volume:
            weights = None if smoothness is None else smoothness.right
            inputs = blend(reference, match, search, mask, weights)[..., None]
            new_volume = with_costs(volume, 2 * volume.costs + inputs)
        return Labeling(levels, volume.chosen(levels), new_volume)

    return {"choose_levels": choose_levels}


def register_confidence_measures():
    """Register a measure of cost volumes, and a measure of the other view."""

    @stage("confidence", **local)
    def cost_confidence(disparity, volume, raw, search, reference, match, status):
        confidence = blend(disparity, volume, raw, search, reference, match, status)
        return confidence + np.zeros(disparity.shape, np.float32)

    @stage("confidence", other_needs={"raw"}, **not_local)
    def agreement(disparity, other, confidence):
        return blend(disparity, other, confidence)

    return {"cost_confidence": cost_confidence, "agreement": agreement}


def register_refinements():
    """Register refinements that differ in the data that they read."""

    @stage("refinement", **local)
    def blend_volumes(
        disparity,
        reference,
        match,
        corrected,
        search,
        volume,
        raw,
        status,
        mask,
        confidence,
        auxiliary=None,
    ):
        images = (reference, match, *corrected)
        inputs = blend(*images, search, volume, raw, status, mask, confidence, auxiliary)
        is_removed = inputs % 1 < 0.2
        is_filled = np.isnan(disparity) & (inputs % 1 > 0.6)
        refined = np.where(is_removed, np.float32(np.nan), disparity + inputs)
        return np.where(is_filled, np.float32(1), refined)

    @stage("refinement", other_needs={"volume", "raw"}, **local)
    def blend_other_volumes(disparity, other, search):
        return disparity + blend(other, search)

    @stage("refinement", **local)
    def blend_images(disparity, other, reference, match, corrected, mask, status):
        return disparity + blend(other, reference, match, *corrected, mask, status)

    @stage("refinement", source="a test", halo=lambda: 1)
    def shift_down(disparity, status):
        shifted = np.concatenate([disparity[:1], disparity[:-1]])
        return shifted, np.minimum(status, np.uint8(Status.MISMATCHED))

    return {
        "blend_volumes": blend_volumes,
        "blend_other_volumes": blend_other_volumes,
        "blend_images": blend_images,
        "shift_down": shift_down,
    }


# --- the twin -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TwinView:
    """The data of one image of a pair after some steps.

    A stage receives the attributes that its arguments name.
    """

    side: int
    pair: Pair
    """The pair with the image of this view as the reference image."""
    reference: NDArray
    match: NDArray
    corrected: tuple[NDArray, NDArray]
    auxiliary: Mapping[str, DisparityMap]
    volume: CostVolume | None = None
    raw: CostVolume | None = None
    smoothness: Smoothness | None = None
    levels: NDArray | None = None
    energy: float | None = None
    disparity: NDArray | None = None
    status: NDArray | None = None
    confidence: Mapping[str, NDArray] = field(default_factory=dict)

    @property
    def search(self):
        """The search range for the image of this view."""
        return self.pair.search

    @property
    def mask(self):
        """The mask for the image of this view."""
        return self.pair.mask

    @property
    def scene(self):
        """The scene of the pair."""
        return self.pair.scene

    @property
    def is_allowed(self):
        """The allowed cells of the cost volume, bool with its shape."""
        return allowed_cells(self.pair)

    @property
    def disparity_map(self):
        """The disparity map with its status and its confidence maps."""
        return DisparityMap(self.disparity, self.status, self.search, self.confidence)


@functools.cache
def view_after(method, pair, count, side):
    """Return the view of one side of a pair after the first `count` steps of a method.

    The function follows the equation of the engine, for each step k and both sides:

        view(k, side) = step_k(view(k - 1, side), other = view(k - 1, other side))
    """
    if count == 0:
        return view_before_steps(method, pair, side)
    view = view_after(method, pair, count - 1, side)
    other = view_after(method, pair, count - 1, OTHER_SIDE[side])
    view = run_step(method.steps[count - 1], view, other=other)
    if is_last_aggregation(method, count):
        view = restore_outside_cost(view)
    return view


def view_before_steps(method, pair, side):
    """Return view(0, side), with the images and the maps of auxiliary methods."""
    pair_of_side = pair_from_side(pair, side)
    auxiliary = {}
    for name, auxiliary_method in method.auxiliary:
        auxiliary[name] = estimate_by_twin(auxiliary_method, pair, side).disparity_map
    return TwinView(
        side=side,
        pair=pair_of_side,
        reference=pair_of_side.reference,
        match=pair_of_side.match,
        corrected=(pair_of_side.reference, pair_of_side.match),
        auxiliary=auxiliary,
    )


@functools.cache
def pair_from_side(pair, side):
    """Return the pair with the image of a side as its reference image."""
    return pair if side == REFERENCE else pair.exchanged()


@functools.cache
def allowed_cells(pair):
    """Return the cells of a pair that its mask does not exclude."""
    if pair.mask is None:
        return np.ones((*SHAPE, pair.search.levels), bool)
    return naive.open_cells(pair.mask, pair.search, SHAPE)


def run_step(step, view, other):
    """Return step_k(view, other), the view of the same side after one more step."""
    reference_view = view if view.side == REFERENCE else other
    if step.stage.slot == "preprocessing":
        # A preprocessing stage runs once for the pair, not once for each side.
        return with_images_of(view, preprocess(step, reference_view))
    if step.stage.slot == "optimization":
        view = mark_excluded_cells(view)
    result = call_stage(step, view, other)
    if isinstance(result, BothSides):
        # A matcher of both images runs once, with the data of the reference image.
        results = call_stage(step, reference_view, other=None)
        result = results.reference if view.side == REFERENCE else results.match
    return view_with_result(view, step.stage, result)


def call_stage(step, view, other):
    """Call a stage with the data that its arguments name."""
    stage = step.stage
    # The twin computes all iterations, so it passes no result of fewer iterations.
    names = set(stage.data) - {"other", "partial"}
    data: dict[str, Any] = {name: getattr(view, name) for name in names}
    if stage.slot in ("matcher", "matching_cost"):
        data["reference"], data["match"] = view.corrected
    if "other" in stage.data:
        volumes = Volumes(other.volume, other.raw).keeping(stage.other_needs)
        data["other"] = View(disparity_map=other.disparity_map, volumes=volumes)
    return stage.function(**data, **step.parameters)


def preprocess(step, view):
    """Return the view of the reference image with preprocessed images."""
    function = step.stage.function
    if "image" not in step.stage.data:
        return replace(view, corrected=function(*view.corrected, view.search))
    first, second = view.corrected
    return replace(
        view,
        reference=function(view.reference, view.search),
        match=function(view.match, view.search),
        corrected=(function(first, view.search), function(second, view.search)),
    )


def with_images_of(view, reference_view):
    """Return a view with the images of the view of the reference image."""
    reference, match = reference_view.reference, reference_view.match
    corrected = reference_view.corrected
    if view.side == REFERENCE:
        return replace(view, reference=reference, match=match, corrected=corrected)
    return replace(view, reference=match, match=reference, corrected=corrected[::-1])


def is_last_aggregation(method, count):
    """Return whether the first `count` steps end with the last aggregation."""
    slots = [step.stage.slot for step in method.steps]
    return slots[count - 1] == "aggregation" and "aggregation" not in slots[count:]


def restore_outside_cost(view):
    """Reset the costs of matches outside the image."""
    volume = view.volume
    costs = naive.restore_outside_cost(volume.costs, view.search, volume.outside_cost)
    return replace(view, volume=with_costs(volume, costs))


def mark_excluded_cells(view):
    """Mark excluded cells by a large cost, and the cells of invalid pixels by 0."""
    is_valid = view.is_allowed.any(axis=2, keepdims=True)
    marks = np.where(is_valid, 1e6, 0)
    costs = np.where(view.is_allowed, view.volume.costs, marks)
    return replace(view, volume=with_costs(view.volume, costs))


def view_with_result(view, stage, result):
    """Return a view that contains the result of a stage."""
    if stage.slot == "matching_cost":
        return after_matching_cost(view, result)
    if stage.slot == "aggregation":
        return replace(view, volume=result)
    if stage.slot == "smoothness":
        return replace(view, smoothness=result)
    if stage.slot == "optimization":
        return after_optimizer(view, result)
    if stage.slot == "confidence":
        return replace(view, confidence={**view.confidence, stage.name: result})
    if stage.slot == "matcher":
        return after_matcher(view, result)
    return after_refinement(view, result)


def after_matching_cost(view, volume):
    """Store a new cost volume, in which excluded cells have the outside cost."""
    costs = np.where(view.is_allowed, volume.costs, volume.outside_cost)
    volume = with_costs(volume, costs)
    return replace(view, volume=volume, raw=volume)


def after_optimizer(view, labeling):
    """Store the allowed levels of a labeling, their disparities and their energy."""
    assigned_levels = np.maximum(labeling.levels, 0)[..., None]
    has_allowed_level = np.take_along_axis(view.is_allowed, assigned_levels, axis=2)[..., 0]
    levels = np.where(has_allowed_level, labeling.levels, np.int16(-1))
    disparity = np.where(levels < 0, np.float32(np.nan), view.search.disparities[levels])
    status = np.where(levels < 0, Status.OCCLUDED, Status.MATCHED)

    # The energy counts the outside cost where the level of a filled pixel is excluded.
    # Invalid pixels cost nothing, because the optimizer received zeros there.
    is_marked = ~view.is_allowed & view.is_allowed.any(axis=2, keepdims=True)
    costs = np.where(is_marked, view.volume.outside_cost, view.volume.costs)
    energy = naive.energy_of(costs, view.smoothness, levels)

    volume = labeling.volume or view.volume
    view = replace(view, levels=levels, energy=energy, volume=volume)
    return with_map(view, disparity, status)


def after_matcher(view, result):
    """Store the map of a matcher, with its status and its confidence if it has them."""
    if isinstance(result, tuple):
        disparity, status, *confidence_maps = result
    else:
        disparity = result
        status = np.where(np.isnan(disparity), Status.OCCLUDED, Status.MATCHED)
        confidence_maps = []
    for confidence in confidence_maps:
        view = replace(view, confidence={**view.confidence, "matcher": confidence})
    return with_map(view, disparity, status)


def after_refinement(view, result):
    """Store a refined map; filled and removed disparities change the status."""
    if isinstance(result, tuple):
        return with_map(view, *result)
    had_estimate = ~np.isnan(view.disparity)
    has_estimate = ~np.isnan(result)
    status = np.where(had_estimate & ~has_estimate, Status.MISMATCHED, view.status)
    status = np.where(~had_estimate & has_estimate, Status.FILLED, status)
    return with_map(view, result, status)


def with_map(view, disparity, status):
    """Store a disparity map, without estimates at invalid pixels."""
    is_valid = view.is_allowed.any(axis=2)
    disparity = np.where(is_valid, disparity, np.float32(np.nan))
    status = np.where(is_valid, status, Status.INVALID).astype(np.uint8)
    return replace(view, disparity=disparity, status=status)


def estimate_by_twin(method, pair, side):
    """Return the view after all steps, with the lowest confidence at unsure pixels."""
    view = view_after(method, pair, len(method.steps), side)
    is_unsure = np.isnan(view.disparity) | (view.status == Status.FILLED)
    confidence = {}
    for name, values in view.confidence.items():
        confidence[name] = np.where(is_unsure, values.min(), values)
    return replace(view, confidence=confidence)


# --- random problems ------------------------------------------------------------------


def draw_pair(rng):
    """Draw a pair with or without a mask; its images are parts of wider arrays."""
    rows, columns = SHAPE
    left, right = rng.integers(0, 60, (2, rows, columns + 4), dtype=np.uint8)
    minimum = int(rng.integers(-2, 2))
    search_step = float(rng.choice([1, 0.5]))
    direction = int(rng.choice([1, -1]))
    search = SearchRange(minimum, 4, search_step, direction)

    valid = rng.random(SHAPE) < 0.8
    match_valid = rng.random(SHAPE) < 0.9
    low = rng.integers(-2, 4, SHAPE).astype(np.float32)
    mask = SearchMask(valid=valid, match_valid=match_valid)
    mask_with_limits = replace(mask, low=low, high=low + 2)
    masks = [None, mask, mask_with_limits]
    return Pair(left[:, 2:-2], right[:, 1:-3], search, masks[rng.integers(3)])


def draw_pipelines(rng, stages):
    """Draw two pipelines, and add pipelines that begin with the same steps."""
    first = draw_pipeline(rng, stages, auxiliary={})
    second = draw_pipeline(rng, stages, auxiliary={"first": first})
    refinement = [second.in_slot("refinement"), stages.blend_images]
    pipelines = [first, second, second.having(refinement=refinement)]

    aggregation = first.in_slot("aggregation")
    if aggregation:
        pipelines.append(first.having(aggregation=[aggregation, stages.average_window]))
    else:
        pipelines.append(first)

    names = [step.stage.name for step in first.steps]
    if names.count("add_iterations") == 1:
        pipelines.append(first.having(iterations=7))
    return pipelines


def draw_pipeline(rng, stages, auxiliary):
    """Draw a pipeline with a matcher or an optimizer."""
    preprocessing = draw_steps(rng, 2, [stages.darken_image, stages.darken_pair])
    if rng.random() < 0.3:
        refinements = draw_steps(rng, 3, [stages.blend_images, stages.shift_down])
        matcher = rng.choice([stages.match_reference, stages.match_both])
        return Pipeline([preprocessing, matcher, refinements], auxiliary)

    cost = step(stages.difference, truncation=float(rng.choice([20, 99])))
    aggregation = draw_aggregation(rng, stages)
    prior = step(potts, gradient_threshold=20.0, gradient_penalty=3.0)
    smoothness = draw_steps(rng, 1, [prior])
    optimizer = step(stages.choose_levels, returns_volume=bool(rng.integers(2)))
    confidence = draw_steps(rng, 2, [stages.cost_confidence, stages.agreement])
    refinements = draw_steps(
        rng, 3, [stages.blend_volumes, stages.blend_other_volumes, stages.shift_down]
    )
    return Pipeline(
        [preprocessing, cost, aggregation, smoothness, optimizer, confidence, refinements],
        auxiliary,
    )


def draw_aggregation(rng, stages):
    """Draw up to three aggregations."""
    threshold = int(rng.integers(0, 30))
    windows = [step(stages.average_window, size=size) for size in (1, 2, 3)]
    iterated = [step(stages.add_iterations, iterations=count) for count in (1, 2, 4)]
    increase = step(stages.increase_cheap_rows, threshold=threshold)
    return draw_steps(rng, 3, [*windows, *iterated, stages.subtract_minimum, increase])


def draw_steps(rng, largest_count, choices):
    """Draw up to `largest_count` steps; a step may be drawn several times."""
    count = rng.integers(0, largest_count + 1)
    return [choices[index] for index in rng.integers(0, len(choices), count)]


# --- the comparison -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_estimates_of_random_pipelines_agree_with_the_naive_twin(stages, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    pair = draw_pair(rng)
    both = bool(rng.integers(2))
    pipelines = draw_pipelines(rng, stages)
    monkeypatch.setattr(strips, "STRIP_ROWS", int(rng.integers(1, 6)))
    for index, outcome in PipelineRunner(pipelines, pair, both=both):
        assert not isinstance(outcome, Exception), outcome
        estimates = outcome if both else [outcome]
        for side, estimate in enumerate(estimates):
            expected = estimate_by_twin(pipelines[index], pair, side)
            assert_estimate_agrees(estimate, expected, pipelines[index])


def assert_estimate_agrees(estimate, expected, pipeline):
    """Compare the maps and the energy of an estimate with the view of the twin."""
    for name in ("disparity", "status", "levels"):
        computed_map = getattr(estimate, name)
        expected_map = getattr(expected, name)
        np.testing.assert_array_equal(computed_map, expected_map, err_msg=f"{name} of {pipeline}")

    if expected.energy is None:
        assert estimate.energy is None
    else:
        assert estimate.energy == pytest.approx(expected.energy, rel=1e-12, abs=0)

    assert estimate.confidence.keys() == expected.confidence.keys()
    for name, values in expected.confidence.items():
        np.testing.assert_array_equal(estimate.confidence[name], values, err_msg=name)
