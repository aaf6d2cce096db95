"""Tests of the checks that a method has the data that its inner stages need."""

from types import SimpleNamespace
from typing import Annotated

import numpy as np
import pytest
from inner_stage_plugins import forwarding

from stereo_framework import Pair, Pipeline, SearchRange, load_scene, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import ParameterError
from stereo_framework.matching_cost import absolute_difference, census
from stereo_framework.refinement import iterated, parabola
from stereo_framework.stages import InSlot, Step, stage

InnerCost = Annotated[Step, InSlot("matching_cost")]
InnerAggregation = Annotated[Step, InSlot("aggregation")]
InnerRefinement = Annotated[Step, InSlot("refinement")]


@pytest.fixture(scope="module")
def small_pair():
    scene = load_scene("synthetic/planes")
    return Pair(scene.reference[:40, :64], scene.match[:40, :64], SearchRange(0, 15))


def faults_of(steps, auxiliary=None):
    """Return the lines of the message about a method that is refused."""
    with pytest.raises(ParameterError) as error:
        Pipeline(steps, auxiliary)
    return str(error.value).splitlines()


# --- data that the outer stage gives --------------------------------------------------


def filtered_volume(inner, volume):
    return inner(volume=volume)


@pytest.fixture
def plugins(registry):
    @stage("refinement", source="Author 2000")
    def with_new_volume(
        disparity,
        reference,
        match,
        search,
        *,
        cost: InnerCost = step(census),
        smoothing: InnerAggregation = step(box),
        last: InnerRefinement = step(parabola),
    ):
        """Compute a new cost volume, and give it to an inner refinement."""
        volume = filtered_volume(smoothing, cost())
        return last(disparity=disparity, volume=volume)

    @stage("refinement", source="Author 2000")
    def with_named_data(disparity, *, inner: InnerRefinement = step(with_new_volume)):
        """Give the data as a mapping."""
        data = {"disparity": disparity}
        return inner(data)


def test_a_refinement_that_gives_its_own_volume_follows_a_matcher(plugins, small_pair):
    matched = Pipeline(["opencv_sgbm"]).estimate(small_pair)
    expected_volume = box(census(small_pair.reference, small_pair.match, small_pair.search))
    expected = parabola(matched.disparity, expected_volume)
    for refinement in ("with_new_volume", "with_named_data"):
        estimate = Pipeline(["opencv_sgbm", refinement]).estimate(small_pair)
        np.testing.assert_allclose(estimate.disparity, expected, atol=1e-5)
    # The inner stage that gets its data from the pipeline still needs a volume.
    [fault] = faults_of(["opencv_sgbm", step("with_named_data", inner="parabola")])
    assert "parabola (inside with_named_data) needs the volume" in fault


def test_a_refinement_with_a_default_instead_of_a_volume_follows_a_matcher(registry, small_pair):
    volumes = []

    @stage("refinement", source="Author 2000")
    def optional(disparity, volume=None):
        volumes.append(volume)
        return disparity

    outer = forwarding("refinement", step(optional), name="outer")
    for refinement in (optional, outer):
        Pipeline(["opencv_sgbm", refinement]).estimate(small_pair)
    assert volumes == [None, None]
    Pipeline(["census", "winner_take_all", optional]).estimate(small_pair)
    assert volumes[-1].shape == small_pair.shape


def test_auxiliary_maps_that_the_outer_stage_gives_are_not_required(registry, small_pair):
    @stage("refinement", source="Author 2000")
    def average(disparity, auxiliary):
        return (disparity + auxiliary["first"].disparity) / np.float32(2)

    @stage("refinement", source="Author 2000")
    def giving(disparity, *, inner: InnerRefinement = step(average)):
        return inner(disparity=disparity, auxiliary={"first": SimpleNamespace(disparity=disparity)})

    method = Pipeline(["census", "winner_take_all", giving])
    expected = Pipeline(["census", "winner_take_all"]).estimate(small_pair)
    np.testing.assert_array_equal(method.estimate(small_pair).disparity, expected.disparity)
    outer = forwarding("refinement", step(average), name="outer")
    [fault] = faults_of(["census", "winner_take_all", outer])
    assert "average (inside outer) needs the disparity maps of auxiliary methods" in fault


def test_data_that_the_outer_slot_does_not_get_are_not_required_of_the_method(registry, small_pair):
    @stage("matching_cost", source="Author 2000")
    def guided_cost(reference, match, search, auxiliary):
        assert auxiliary == {}
        return absolute_difference(reference, match, search)

    @stage("aggregation", source="Author 2000")
    def replaced(volume, *, inner: InnerCost = step(guided_cost)):
        return inner(auxiliary={})

    Pipeline(["census", replaced, "winner_take_all"]).estimate(small_pair)


def test_an_inner_stage_that_may_read_frames_excludes_an_alignment_of_rows(registry):
    @stage("aggregation", source="Author 2000")
    def with_frames(volume, frames=()):
        raise AssertionError("the method is refused before")

    # The code of `cross_scale` names the frames, but the inner stage does not get them
    # from `cross_scale`.
    outer = step("cross_scale", inner=with_frames)
    auxiliary = {"first": Pipeline(["census", "winner_take_all"])}
    [fault] = faults_of(["row_alignment", "census", outer, "winner_take_all"], auxiliary)
    assert "with_frames (inside cross_scale) reads the other frames of the scene" in fault


@pytest.mark.parametrize("slot", ["matcher", "optimization"])
def test_a_smoothness_term_that_the_outer_stage_gives_is_not_required(slot, registry, small_pair):
    inner_optimizer = Annotated[Step, InSlot("optimization")]
    icm = step("icm", iterations=2)

    def labels(volume, reference, inner):
        term = step("potts")(reference=reference, search=volume.search)
        return inner(volume=volume, smoothness=term)

    @stage("matcher", source="Author 2000")
    def matching(reference, match, search, *, inner: inner_optimizer = icm):
        volume = absolute_difference(reference, match, search)
        return search.disparity_of(labels(volume, reference, inner).levels)

    @stage("optimization", source="Author 2000")
    def optimizing(volume, reference, *, inner: inner_optimizer = icm):
        return labels(volume, reference, inner)

    steps = [matching] if slot == "matcher" else ["absolute_difference", optimizing]
    expected = Pipeline(["absolute_difference", "potts", icm]).estimate(small_pair)
    estimate = Pipeline(steps).estimate(small_pair)
    np.testing.assert_array_equal(estimate.disparity, expected.disparity)


def test_a_name_in_the_code_that_is_no_keyword_is_not_given(registry):
    # The code of `multi_baseline` contains the text 'auxiliary', but no call with it.
    [fault] = faults_of([step("multi_baseline", inner="mutual_information"), "winner_take_all"])
    assert "mutual_information (inside multi_baseline) needs the disparity maps" in fault


# --- one message for each fault -------------------------------------------------------


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_fault_of_an_inner_stage_is_reported_once(depth):
    refinement = step(parabola)
    for _ in range(depth):
        refinement = step(iterated, inner=refinement)
    address = "refinement.iterated" if depth else "refinement.parabola"
    name = "parabola" + depth * " (inside iterated)"
    message = f"{name} needs the volume, but the matcher opencv_sgbm makes no cost volume"
    assert faults_of(["opencv_sgbm", refinement]) == [f"{address}: {message}"]


def test_an_inner_optimizer_that_does_not_fit_is_reported_once():
    outer = forwarding("optimization", step("icm"), name="outer")
    outermost = forwarding("optimization", step(outer), name="outermost")
    [fault] = faults_of(["census", outermost])
    assert fault.startswith("optimization: icm: ")
    assert fault.endswith("(inside outer) (inside outermost)")


def test_an_inner_optimizer_of_both_images_is_reported_once(registry):
    @stage("optimization", source="Author 2000")
    def joint(volume, other):
        raise AssertionError("the method is refused before")

    middle = forwarding("optimization", step("winner_take_all"), name="middle")
    outer = forwarding("optimization", step(middle), name="outer")
    [fault] = faults_of(["census", step(outer, inner=step(middle, inner=joint))])
    assert fault.startswith("optimization: middle contains joint, which computes")


def test_withheld_data_of_an_inner_stage_are_reported_once(registry):
    @stage("matcher", source="Author 2000")
    def of_scene(reference, match, search, scene):
        raise AssertionError("the method is refused before")

    outer = forwarding("matcher", step(of_scene), name="outer")
    [fault] = faults_of([outer, "tiles"])
    message = "of_scene (inside outer) needs the scene, but the scheme tiles makes pairs without"
    assert message in fault
    auxiliary = {"first": Pipeline([outer])}
    [fault] = faults_of(["census", "winner_take_all", "tiles"], auxiliary)
    assert fault.startswith("auxiliary.first.matcher: ")
