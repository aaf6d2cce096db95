"""Tests of stages that contain other stages."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from inner_stage_plugins import INNER_STAGES, forwarding
from pipeline_parts import assert_same_match, in_strips

from stereo_framework import Pair, Pipeline, SearchRange, load_scene, step
from stereo_framework.aggregation import box, cross_scale, guided_filter
from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.step import describe_stage_error
from stereo_framework.core.volume import SearchMask
from stereo_framework.engine import memory
from stereo_framework.engine.memory import peak_memory
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.matching_cost import absolute_difference, census
from stereo_framework.refinement import iterated, median
from stereo_framework.stages import CostOfPairs, CostVolume, InSlot, Step, stage


@pytest.fixture(scope="module")
def small_pair():
    """Return a textured pair with 40 rows and 64 columns that shows two surfaces."""
    scene = load_scene("synthetic/planes")
    return Pair(scene.reference[:40, :64], scene.match[:40, :64], SearchRange(0, 15))


def method_with(step_of_slot):
    """Return a complete method that contains the given step in its slot."""
    slot = step_of_slot.stage.slot
    steps = {
        "matching_cost": step("absolute_difference"),
        "optimization": step("winner_take_all"),
    }
    if slot == "matcher":
        steps = {}
    if slot == "smoothness":
        steps["optimization"] = step("icm", iterations=2)
    steps[slot] = step_of_slot
    return Pipeline(list(steps.values()))


# --- every slot -----------------------------------------------------------------------


@pytest.mark.parametrize("slot", SLOTS)
def test_outer_stage_that_only_calls_its_inner_stage_gives_the_same_result(slot, small_pair):
    inner = INNER_STAGES[slot]
    outer = step(forwarding(slot, inner))
    expected = method_with(inner).estimate(small_pair)
    estimate = method_with(outer).estimate(small_pair)
    np.testing.assert_array_equal(estimate.disparity, expected.disparity)
    np.testing.assert_array_equal(estimate.status, expected.status)
    for name, confidence_map in expected.confidence.items():
        other_name = name if slot == "matcher" else "forwarding"
        np.testing.assert_array_equal(estimate.confidence[other_name], confidence_map)


@pytest.mark.parametrize("slot", SLOTS)
def test_stages_are_nested_two_levels_deep_in_every_slot(slot, small_pair):
    inner = INNER_STAGES[slot]
    middle = step(forwarding(slot, inner, name="middle"))
    outer = step(forwarding(slot, middle, name="outermost"))
    expected = method_with(inner).estimate(small_pair)
    estimate = method_with(outer).estimate(small_pair)
    np.testing.assert_array_equal(estimate.disparity, expected.disparity)


def test_inner_stage_of_another_slot_gets_the_cost_volume(small_pair):
    @stage("confidence", source="Author 2000")
    def difference(disparity, search, *, inner: Annotated[Step, InSlot("aggregation")] = step(box)):
        filtered = inner()
        return -np.abs(search.disparity_of(filtered.costs.argmin(axis=2)) - disparity)

    method = Pipeline(["absolute_difference", "winner_take_all", difference])
    estimate = method.estimate(small_pair)
    costs = absolute_difference(small_pair.reference, small_pair.match, small_pair.search)
    levels = box(costs).costs.argmin(axis=2)
    winners = costs.costs.argmin(axis=2)
    np.testing.assert_array_equal(estimate.confidence["difference"], -np.abs(levels - winners))


# --- addresses and parameters ---------------------------------------------------------


def test_parameters_of_inner_stages_have_addresses():
    method = Pipeline(["census", step(cross_scale, inner=step(box, size=5)), "winner_take_all"])
    assert dict(method.stages())["aggregation.cross_scale.inner"] == step(box, size=5)
    changed = method.having(**{"aggregation.cross_scale.inner.size": 7})
    assert changed.in_slot("aggregation") == (step(cross_scale, inner=step(box, size=7)),)
    assert method.having(size=7) == changed
    deeper = step(iterated, inner=step(iterated, inner=step(median, size=5)))
    method = Pipeline(["census", "winner_take_all", deeper])
    changed = method.having(**{"refinement.iterated.inner.inner.size": 7})
    assert changed.steps[-1].value_at("inner.inner.size") == 7
    assert changed.steps[-1].value_at("inner.max_iterations") == 10


@pytest.mark.parametrize(
    "address",
    [
        "size",
        "box.size",
        "inner.size",
        "cross_scale.inner.size",
        "aggregation.cross_scale.inner.size",
    ],
)
def test_short_addresses_mean_parameters_of_inner_stages(address):
    outer = step(cross_scale, inner=step(box, size=5))
    method = Pipeline(["census", outer, "winner_take_all"])
    [changed] = method.having(**{address: 7}).in_slot("aggregation")
    assert changed == step(cross_scale, inner=step(box, size=7))


def test_short_addresses_begin_with_any_stage_around_the_inner_stage():
    middle = step(cross_scale, inner=step(box, size=5))
    outer = forwarding("aggregation", middle, name="outer")
    method = Pipeline(["census", outer, "winner_take_all"])
    for address in ("cross_scale.inner.size", "outer.inner.inner.size", "inner.inner.size"):
        [changed] = method.having(**{address: 7}).in_slot("aggregation")
        assert changed.value_at("inner.inner.size") == 7
    for address in ("outer.inner.scales", "cross_scale.scales"):
        [changed] = method.having(**{address: 2}).in_slot("aggregation")
        assert changed.value_at("inner.scales") == 2


def test_a_complete_address_means_the_stage_of_the_method_and_not_an_inner_stage():
    outer = step(cross_scale, inner=step(box, size=5))
    method = Pipeline(["census", step(box, size=3), outer, "winner_take_all"])
    changed = method.having(**{"aggregation.box.size": 9})
    assert changed.in_slot("aggregation") == (step(box, size=9), outer)
    changed = method.having(**{"cross_scale.inner.size": 9})
    new_outer = step(cross_scale, inner=step(box, size=9))
    assert changed.in_slot("aggregation") == (step(box, size=3), new_outer)
    message = (
        "^box.size: the stages aggregation.box and aggregation.cross_scale.inner have this "
        r"parameter; name one stage, as in \*\*{'aggregation.box.size': ...}"
    )
    with pytest.raises(ParameterError, match=message):
        method.having(**{"box.size": 9})

    # An address that is complete but lacks the parameter means no deeper stage.
    nested = step(iterated, inner=step(iterated, inner=median))
    method = Pipeline(["census", "winner_take_all", nested])
    with pytest.raises(ParameterError, match="no stage has this parameter"):
        method.having(**{"refinement.iterated.inner.size": 5})


CHANGES_OF_A_NEW_STAGE = [
    {"aggregation.cross_scale.inner": step(guided_filter), "aggregation.cross_scale.inner.size": 9},
    {"aggregation.cross_scale.inner": "guided_filter", "cross_scale.inner.size": 9},
    {"inner": guided_filter, "size": 9},
    {"aggregation": step(cross_scale, inner=guided_filter), "size": 9},
    {"aggregation": cross_scale, "inner": "guided_filter", "inner.size": 9},
]


@pytest.mark.parametrize("changes", CHANGES_OF_A_NEW_STAGE, ids=range(5))
def test_values_belong_to_the_new_stage_in_any_order(changes):
    method = Pipeline(["census", step(cross_scale, inner="box"), "winner_take_all"])
    expected = step(cross_scale, inner=step(guided_filter, size=9))
    for ordered_changes in (changes, dict(reversed(changes.items()))):
        assert method.having(**ordered_changes).in_slot("aggregation") == (expected,)


def test_inner_stages_of_auxiliary_methods_are_replaced_before_their_parameters():
    first = Pipeline(["census", step(cross_scale, inner="box"), "winner_take_all"])
    method = Pipeline(["rank", "winner_take_all"], {"first": first})
    address = "auxiliary.first.aggregation.cross_scale.inner"
    changed = method.having(**{f"{address}.size": 9, address: "guided_filter"})
    [aggregation] = dict(changed.auxiliary)["first"].in_slot("aggregation")
    assert aggregation == step(cross_scale, inner=step(guided_filter, size=9))
    changed = method.having(size=9)
    [aggregation] = dict(changed.auxiliary)["first"].in_slot("aggregation")
    assert aggregation == step(cross_scale, inner=step(box, size=9))
    second = Pipeline(["census", "box", "winner_take_all"])
    address = "auxiliary.second.aggregation.box.size"
    changed = method.having(**{address: 9, "auxiliary": {"second": second}})
    assert dict(changed.auxiliary) == {"second": second.having(size=9)}


def test_values_of_removed_stages_are_refused():
    method = Pipeline(["census", "box", "winner_take_all"])
    with pytest.raises(ParameterError, match="aggregation.box.size: no stage has this parameter"):
        method.having(aggregation=None, **{"aggregation.box.size": 9})
    with pytest.raises(ParameterError, match="optimization: the slot takes one stage, not 2"):
        method.having(optimization=["winner_take_all", "semi_global"])


def test_a_name_or_a_function_stands_for_an_inner_stage():
    assert step(cross_scale, inner="box") == step(cross_scale, inner=box)
    assert step(cross_scale, inner="box") == step(cross_scale, inner=step("box"))
    assert step(cross_scale) == step(cross_scale, inner=guided_filter)
    assert step(step(cross_scale), inner="box") == step(cross_scale, inner="box")
    method = Pipeline(["census", "cross_scale", "winner_take_all"])
    changed = method.having(**{"aggregation.cross_scale.inner": "box"})
    assert changed.in_slot("aggregation") == (step(cross_scale, inner="box"),)
    assert repr(step(cross_scale, inner=step(box, size=5))) == "cross_scale(inner=box(size=5))"


def test_steps_with_different_inner_steps_are_different():
    steps = {
        step(cross_scale, inner=step(box, size=5)),
        step(cross_scale, inner=step(box, size=7)),
        step(cross_scale, inner=step(box, size=5, iterations=2)),
        step(cross_scale, inner="binomial"),
        step(cross_scale),
    }
    assert len(steps) == 5


def test_a_stage_of_another_slot_is_refused():
    message = "cross_scale.inner: census, a stage of matching_cost, is not a stage of aggregation"
    with pytest.raises(ParameterError, match=message):
        step(cross_scale, inner=census)
    with pytest.raises(
        ParameterError, match="aggregation: there is no stage 'boxx'.*did you mean 'box'"
    ):
        step(cross_scale, inner="boxx")
    with pytest.raises(ParameterError, match="cross_scale.inner: 5 is not a stage of aggregation"):
        step(cross_scale, inner=5)
    with pytest.raises(ParameterError, match="cross_scale.inner: a mapping; expected a step"):
        step(cross_scale, inner={"use": "box"})


def test_parameters_of_inner_stages_are_checked():
    with pytest.raises(ParameterError, match="box.size: 0 is not a whole number >= 1"):
        Pipeline(["census", "cross_scale", "winner_take_all"]).having(
            **{"aggregation.cross_scale.inner": step(box, size=5)}
        ).having(**{"aggregation.cross_scale.inner.size": 0})


def changed_by_having(outer, changes):
    return outer.having(**changes)


def changed_by_step(outer, changes):
    return step(outer, **changes)


@pytest.mark.parametrize("change", [changed_by_having, changed_by_step])
def test_messages_about_inner_stages_name_the_outer_stage(change):
    outer = step(cross_scale, inner="box")
    message = "^cross_scale.inner: box.sise: no such parameter of box; .* did you mean 'size'?"
    with pytest.raises(ParameterError, match=message):
        change(outer, {"inner.sise": 3})
    with pytest.raises(ParameterError) as error:
        change(outer, {"inner.size": 0, "inner.sise": 3})
    lines = str(error.value).splitlines()
    assert lines[0] == "cross_scale.inner: box.size: 0 is not a whole number >= 1"
    assert lines[1].startswith("cross_scale.inner: box.sise: no such parameter of box")
    deeper = step(iterated, inner=step(iterated, inner=median))
    message = "^iterated.inner: iterated.inner: median.size: 0 is not "
    with pytest.raises(ParameterError, match=message):
        change(deeper, {"inner.inner.size": 0})
    with pytest.raises(ParameterError, match="^cross_scale.innr.size: no such parameter"):
        change(outer, {"innr.size": 3})


def test_messages_about_an_inner_stage_that_does_not_exist_name_the_outer_stage():
    with pytest.raises(
        ParameterError, match="^cross_scale.inner: aggregation: there is no stage 'boxx'"
    ):
        step(cross_scale, inner="boxx")
    with pytest.raises(ParameterError, match="^cross_scale.inner: len: not a stage"):
        step(cross_scale, inner=len)
    outer = step(iterated, inner="iterated")
    message = "^iterated.inner: iterated.inner: refinement: there is no stage 'medain'"
    with pytest.raises(ParameterError, match=message):
        step(outer, **{"inner.inner": "medain"})


@pytest.mark.parametrize("change", [changed_by_having, changed_by_step])
def test_a_new_inner_stage_gets_its_parameters_in_any_order(change):
    outer = step(cross_scale, inner=step(box, size=5))
    changes = {"inner": step(guided_filter), "inner.size": 9}
    expected = step(cross_scale, inner=step(guided_filter, size=9))
    assert change(outer, changes) == expected
    assert change(outer, dict(reversed(changes.items()))) == expected


def test_names_of_inner_stages_are_converted_at_every_depth():
    outer = step(iterated, inner="parabola")
    changes = {"inner.inner.size": 7, "inner.inner": "median", "inner": "iterated"}
    expected = step(iterated, inner=step(iterated, inner=step(median, size=7)))
    assert step(outer, **changes) == expected


# --- properties of outer steps --------------------------------------------------------


def test_halo_of_an_inner_stage_is_added():
    outer = forwarding("aggregation", step(box, size=9), halo=lambda: 2)
    assert step(outer).halo == 2 + 4
    assert step(outer, inner=step(box, size=5)).halo == 2 + 2
    # A spanning tree connects all pixels.
    assert step(outer, inner="minimum_spanning_tree").halo is None


def test_halo_function_that_takes_the_inner_stage_counts_its_rows():
    outer = forwarding("aggregation", step(box, size=9), halo=lambda inner: 3 * inner.halo)
    assert step(outer).halo == 12


def test_a_stage_with_a_halo_runs_in_strips_with_its_inner_stage(small_pair):
    outer = forwarding("aggregation", step(box, size=9), halo=lambda: 0)
    method = Pipeline(["absolute_difference", outer, "winner_take_all"])
    whole = Pipeline(["absolute_difference", step(box, size=9), "winner_take_all"])
    assert_same_match(in_strips(16, method, small_pair), replace(whole(small_pair), seconds={}))


def test_cost_volumes_of_inner_stages_count_in_the_memory():
    def peak(aggregation):
        method = Pipeline(["census", aggregation, "winner_take_all"])
        return peak_memory([method], (100, 100), SearchRange(0, 15)).size

    outer = forwarding("aggregation", step("minimum_spanning_tree"), name="outer")
    twice = forwarding("aggregation", step(outer), name="twice")
    volume_bytes = memory._BYTES_OF_CELL * 100 * 100 * 16
    # The memory contains one volume of the matching cost, four volumes of each outer
    # stage and one volume of the spanning tree.
    assert peak(step(outer)) == (1 + 4 + 1) * volume_bytes
    assert peak(step(twice)) == (1 + 4 + 4 + 1) * volume_bytes


def test_a_message_about_too_little_memory_names_the_inner_stage_that_needs_most():
    @stage("aggregation", source="Author 2000", memory=2)
    def small(volume, *, inner: Annotated[Step, InSlot("aggregation")] = step(box)):
        return inner(volume=volume)

    def stage_of_peak(aggregation):
        method = Pipeline(["census", aggregation, "winner_take_all"])
        return peak_memory([method], (100, 100), SearchRange(0, 15)).stage

    outermost = forwarding("aggregation", step(small), name="outermost")
    diffusion = step(small, inner="bayesian_diffusion")
    assert stage_of_peak(diffusion) == "bayesian_diffusion (inside small)"
    assert stage_of_peak(step(small, inner="minimum_spanning_tree")) == "small"
    # Both stages need four cost volumes, so the outer stage is named.
    assert stage_of_peak(step(outermost, inner=diffusion)) == "outermost"
    nested = step(small, inner=diffusion)
    assert stage_of_peak(nested) == "bayesian_diffusion (inside small) (inside small)"


def test_integer_costs_are_converted_for_an_inner_stage_that_needs_floats(small_pair):
    dtypes = []

    @stage("aggregation", source="Author 2000", integer=True)
    def noting(volume, *, inner: Annotated[Step, InSlot("aggregation")] = step(box)):
        dtypes.append(volume.costs.dtype)
        return inner(volume=volume)

    @stage("aggregation", source="Author 2000", integer=True)
    def unchanged(volume):
        return volume

    assert step(noting, inner=unchanged).accepts_integers
    assert not step(noting).accepts_integers
    for inner in (unchanged, box):
        Pipeline(["census", step(noting, inner=inner), "winner_take_all"]).estimate(small_pair)
    assert dtypes == [np.uint8, np.float32]


def test_files_of_inner_stages_count(tmp_path):
    model = tmp_path / "model.bin"
    model.write_bytes(b"1")

    @stage("refinement", source="Author 2000", files=lambda: [model])
    def with_file(disparity):
        return disparity

    method = Pipeline(["census", "winner_take_all", step(iterated, inner=with_file)])
    assert method.files() == {"refinement.iterated.inner": (model,)}


def stages_with_files(path):
    """Register a stage that reads a file, and a stage with this inner stage."""

    @stage("aggregation", source="Author 2000", files=lambda model: [model])
    def trained(volume, *, model: str = str(path)):
        weight = np.float32(len(Path(model).read_bytes()))
        return replace(volume, costs=volume.costs * weight)

    return trained, forwarding("aggregation", step(trained), name="outer")


def test_direct_calls_and_pipelines_report_missing_files(tmp_path, small_pair):
    path = tmp_path / "model.bin"
    trained, outer = stages_with_files(path)
    costs = absolute_difference(small_pair.reference, small_pair.match, small_pair.search)
    message = f"trained.model: no file {path}; expected the path of an existing file"
    for aggregation, expected in ((trained, message), (outer, f"outer.inner: {message}")):
        method = Pipeline(["census", aggregation, "winner_take_all"])
        for call in (lambda f=aggregation: f(costs), lambda m=method: m(small_pair)):
            with pytest.raises(ParameterError) as error:
                call()
            assert str(error.value) == expected

    path.write_bytes(b"12")
    for aggregation in (trained, outer):
        np.testing.assert_array_equal(aggregation(costs).costs, 2 * costs.costs)


def test_whole_steps_of_an_inner_stage_are_needed():
    outer = forwarding("optimization", step("stable_matching"), name="outer")
    method = Pipeline(["census", outer])
    with pytest.raises(
        ParameterError, match="outer .optimization. contains stable_matching, which"
    ):
        method.check_step(0.5)


def test_misfit_of_an_inner_stage_is_reported():
    outer = forwarding("optimization", step("semi_global"), name="outer")
    with pytest.raises(ParameterError, match="p2 is 5, below p1, 8"):
        Pipeline(["census", step(outer, inner=step("semi_global", p1=8, p2=5))])(
            load_scene("synthetic/planes")
        )


def test_data_of_an_inner_stage_that_the_method_lacks_are_reported():
    outer = forwarding("refinement", step("parabola"), name="outer")
    message = r"parabola \(inside outer\) needs the volume, but the matcher opencv_sgbm makes"
    with pytest.raises(ParameterError, match=message):
        Pipeline(["opencv_sgbm", outer])


def test_settings_that_differ_only_in_an_inner_stage_share_their_first_steps(small_pair):
    calls = []

    @stage("matching_cost", source="Author 2000", halo=lambda: 0)
    def counted(reference, match, search):
        calls.append(1)
        return absolute_difference(reference, match, search)

    methods = [
        Pipeline([counted, step(cross_scale, scales=1, inner=step(box, size=size)), "semi_global"])
        for size in (5, 9)
    ]
    estimates = dict(PipelineRunner(methods, small_pair))
    shared = len(calls)
    expected = [method.estimate(small_pair) for method in methods]
    assert len(calls) - shared == 2 * shared
    for index, estimate in enumerate(expected):
        np.testing.assert_array_equal(estimates[index].disparity, estimate.disparity)


# --- masks and both images ------------------------------------------------------------


def test_inner_stages_get_the_view_of_the_other_image(small_pair):
    check = step("left_right_check")
    outer = forwarding("refinement", check, name="outer")
    method = Pipeline(["census", "winner_take_all", check])
    nested = Pipeline(["census", "winner_take_all", outer])
    expected = method.estimate(small_pair)
    assert (expected.status != nested.estimate(small_pair).status).sum() == 0
    assert np.isnan(expected.disparity).any()


def test_an_inner_optimizer_of_both_images_needs_an_outer_one():
    outer = forwarding("optimization", step("winner_take_all"), name="outer")

    @stage("optimization", source="Author 2000")
    def joint(volume, other):
        raise AssertionError("the method is refused before")

    message = "outer contains joint, which computes the disparity maps of both images"
    with pytest.raises(ParameterError, match=message):
        Pipeline(["census", step(outer, inner=joint)])


# --- errors ---------------------------------------------------------------------------


def message_of(method, pair):
    """Return the message about the exception that a method raises."""
    return describe_stage_error(error_of(method, pair))


def error_of(method, pair):
    [(_, outcome)] = PipelineRunner([method], pair)
    assert isinstance(outcome, Exception)
    return outcome


def test_errors_of_an_inner_stage_name_both_stages(small_pair):
    @stage("aggregation", source="Author 2000")
    def failing(volume):
        raise ValueError("no costs")

    @stage("aggregation", source="Author 2000")
    def refusing(volume):
        raise StereoFrameworkError("the costs are refused")

    for inner, text in (
        (failing, "aggregation stage failing inside middle inside outer: ValueError: no costs"),
        (refusing, "refusing: the costs are refused (inside middle) (inside outer)"),
    ):
        middle = forwarding("aggregation", step(inner), name="middle")
        outer = forwarding("aggregation", step(middle), name="outer")
        method = Pipeline(["census", outer, "winner_take_all"])
        message = message_of(method, small_pair)
        assert text in message
    method = Pipeline(["census", step(outer, inner=failing), "winner_take_all"])
    assert "test_inner_stages.py:" in message_of(method, small_pair)


def test_wrong_result_of_an_inner_stage_is_reported_with_its_file(small_pair):
    @stage("aggregation", source="Author 2000")
    def halved(volume):
        return volume.costs[::2]

    outer = forwarding("aggregation", step(halved), name="outer")
    message = message_of(Pipeline(["census", outer, "winner_take_all"]), small_pair)
    assert "test_inner_stages.py:" in message
    assert "aggregation stage halved returned" in message
    assert message.endswith("(inside outer)")


def test_an_inner_stage_at_another_size_needs_all_its_data(small_pair):
    @stage("aggregation", source="Author 2000")
    def at_half_size(volume, *, inner: Annotated[Step, InSlot("aggregation")] = step(box)):
        inner(volume=replace(volume, costs=volume.costs[::2, ::2].copy()))
        return volume

    # The stage `box` reads only the volume, but `guided_filter` also reads an image.
    Pipeline(["census", at_half_size, "winner_take_all"]).estimate(small_pair)
    method = Pipeline(["census", step(at_half_size, inner="guided_filter"), "winner_take_all"])
    message = message_of(method, small_pair)
    assert "needs the data reference; at_half_size must give the data" in message
    assert "(inside at_half_size)" in message


def test_data_without_a_name_are_refused(small_pair):
    @stage("aggregation", source="Author 2000")
    def unnamed(volume, *, inner: Annotated[Step, InSlot("aggregation")] = step(box)):
        return inner(volume)

    message = message_of(Pipeline(["census", unnamed, "winner_take_all"]), small_pair)
    assert "unnamed gives box an unnamed value; give data by name" in message


def test_data_of_different_sizes_are_refused(small_pair):
    @stage("aggregation", source="Author 2000")
    def halved(volume, reference, *, inner: Annotated[Step, InSlot("aggregation")] = step(box)):
        smaller = replace(volume, costs=volume.costs[::2, ::2].copy())
        return inner(volume=smaller, reference=reference)

    method = Pipeline(["census", step(halved, inner="guided_filter"), "winner_take_all"])
    message = message_of(method, small_pair)
    assert "halved gives guided_filter data of different sizes" in message
    assert "volume has (20, 32), reference has (40, 64)" in message


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"volume": np.zeros((4, 5, 6), np.float32)}, "expected a CostVolume"),
        ({"search": (0, 9)}, "expected a SearchRange"),
    ],
)
def test_data_of_a_wrong_class_are_refused(data, expected, small_pair):
    @stage("aggregation", source="Author 2000")
    def wrong(volume, *, inner: Annotated[Step, InSlot("aggregation")] = step(box)):
        return inner(**data)

    message = message_of(Pipeline(["census", wrong, "winner_take_all"]), small_pair)
    assert f"wrong gives box the data {next(iter(data))}: " in message
    assert expected in message


def test_a_slot_that_does_not_exist_is_reported_with_its_place():
    @stage("aggregation", source="Author 2000")
    def misspelled(volume, *, inner: Annotated[Step, InSlot("agregation")] = step(box)):
        return inner(volume=volume)

    message = "test_inner_stages.py:.*misspelled.inner: InSlot.'agregation'.: no such slot"
    with pytest.raises(ParameterError, match=message):
        step(misspelled)


def test_data_that_the_outer_slot_does_not_get_must_be_given(small_pair):
    @stage("optimization", source="Author 2000")
    def filtering(volume, *, inner: Annotated[Step, InSlot("aggregation")] = step(cross_scale)):
        return inner(volume=volume).costs.argmin(axis=2)

    message = message_of(Pipeline(["census", filtering]), small_pair)
    assert "cross_scale needs the data cost; filtering must give the data, because" in message


def test_unknown_data_are_reported(small_pair):
    @stage("aggregation", source="Author 2000")
    def misspelled(volume, *, inner: Annotated[Step, InSlot("aggregation")] = step(box)):
        return inner(volum=volume)

    message = message_of(Pipeline(["census", misspelled, "winner_take_all"]), small_pair)
    assert "misspelled gives box the data 'volum', which do not exist" in message
    assert "did you mean 'volume'?" in message


# --- direct calls ---------------------------------------------------------------------


def test_a_direct_call_takes_the_data_of_its_inner_stage(small_pair):
    costs = absolute_difference(small_pair.reference, small_pair.match, small_pair.search)
    disparity = costs.costs.argmin(axis=2).astype(np.float32)
    refined, _ = iterated(disparity, inner="parabola", max_iterations=1, volume=costs)
    method = Pipeline(["absolute_difference", "winner_take_all", "parabola"])
    np.testing.assert_array_equal(refined, method.estimate(small_pair).disparity)
    with pytest.raises(ParameterError, match=r"parabola needs the data .*\(inside iterated\)"):
        iterated(disparity, inner="parabola")


# --- the matching cost of other pairs -------------------------------------------------


def compared_costs(steps, pair):
    """Run a method whose aggregation computes the matching cost of the pair again.

    The result is a list with an entry for each image of the pair. An entry contains the
    matched pair, the costs that the aggregation received, and the costs that the
    aggregation computed again.
    """
    comparisons = []

    @stage("aggregation", source="Author 2000")
    def keeping(volume, cost):
        computed_again = cost(cost.pair)
        comparisons.append((cost.pair, np.array(volume.costs), np.array(computed_again.costs)))
        assert computed_again.outside_cost == volume.outside_cost
        return volume

    auxiliary = {}
    if "row_alignment" in steps:
        auxiliary["first"] = Pipeline(["census", "semi_global"])
    Pipeline([*steps, keeping], auxiliary).estimate(pair)
    return comparisons


@pytest.mark.parametrize(
    "steps",
    [
        ["census", "winner_take_all"],
        ["mean_subtraction", "absolute_difference", "winner_take_all"],
        ["row_alignment", "binomial_blur", "absolute_difference", "winner_take_all"],
        [step("census", weight=2), step("rank", weight=1), "winner_take_all"],
        ["census", "winner_take_all", "left_right_check"],
        ["row_alignment", "absolute_difference", "winner_take_all", "left_right_check"],
    ],
    ids=str,
)
@pytest.mark.parametrize("with_mask", [False, True])
def test_cost_of_the_compared_pair_is_the_volume_before_aggregation(steps, with_mask, small_pair):
    pair = small_pair
    if with_mask:
        valid = np.ones(pair.shape, bool)
        valid[5:9, 10:30] = False
        pair = replace(pair, mask=SearchMask(valid=valid))
    comparisons = compared_costs(steps, pair)
    directions = [compared_pair.search.direction for compared_pair, _, _ in comparisons]
    assert directions == ([1, -1] if "left_right_check" in steps else [1])
    for _, volume, costs in comparisons:
        np.testing.assert_array_equal(costs, volume)


def test_cost_of_a_smaller_pair_is_the_volume_of_a_method_that_matches_it(small_pair):
    smaller = small_pair.reduced(2)
    method = Pipeline(["binomial_blur", "census", "winner_take_all"])
    expected = []

    @stage("aggregation", source="Author 2000")
    def store_volume(volume):
        expected.append(np.array(volume.costs))
        return volume

    cost = method.cost_of_pairs(small_pair)
    Pipeline([*method.steps, store_volume]).estimate(smaller)
    np.testing.assert_array_equal(cost(smaller).costs, expected[0])


def test_cost_takes_only_pairs(small_pair):
    cost = Pipeline(["census", "winner_take_all"]).cost_of_pairs(small_pair)
    with pytest.raises(ParameterError, match="cost: the argument is .*; expected a Pair"):
        cost(small_pair.reference)


def test_methods_without_a_matching_cost_have_no_cost_of_pairs(small_pair):
    with pytest.raises(ParameterError, match="no matching cost"):
        Pipeline(["opencv_sgbm"]).cost_of_pairs(small_pair)


def test_cross_scale_of_nested_scales_runs(small_pair):
    inner = step(cross_scale, scales=2, inner=step(box, size=5))
    method = Pipeline(["census", step(cross_scale, scales=2, inner=inner), "winner_take_all"])
    assert method.estimate(small_pair).disparity.shape == small_pair.shape


def test_direct_call_of_cross_scale_equals_the_pipeline(small_pair):
    method = Pipeline(["absolute_difference", "cross_scale", "winner_take_all"])
    expected = method.estimate(small_pair, keep_volume=True)
    reference, match, search = small_pair.reference, small_pair.match, small_pair.search
    cost = CostOfPairs(
        small_pair, lambda pair: absolute_difference(pair.reference, pair.match, pair.search)
    )
    volume = cross_scale(absolute_difference(reference, match, search), reference, match, cost)
    assert isinstance(volume, CostVolume)
    inside = expected.volume.costs != expected.volume.outside_cost
    np.testing.assert_array_equal(volume.costs[inside], expected.volume.costs[inside])


# --- schemes --------------------------------------------------------------------------


def test_a_scheme_may_keep_the_cost_volume(small_pair):
    volumes = []

    @stage("scheme", source="Author 2000")
    def keeping(solve, pair):
        assert solve(pair).volume is None
        estimate = solve(pair, keep="volume")
        volumes.append(estimate.volume)
        return estimate

    method = Pipeline(["census", "box", "winner_take_all"])
    expected = method.estimate(small_pair, keep_volume=True)
    Pipeline([*method.steps, keeping]).estimate(small_pair)
    np.testing.assert_array_equal(volumes[0].costs, expected.volume.costs)
    checked = Pipeline([*method.steps, "left_right_check", keeping])
    checked.estimate(small_pair)
    np.testing.assert_array_equal(volumes[1].costs, expected.volume.costs)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            ["census", "winner_take_all"],
            "the scheme coarse follows .*; remove coarse, or list keeping",
        ),
        (
            ["opencv_sgbm"],
            "the matcher opencv_sgbm computes only a disparity map; replace opencv_sgbm",
        ),
    ],
    ids=["scheme", "matcher"],
)
def test_a_scheme_cannot_keep_the_cost_volume_of_a_method_without_one(steps, reason, small_pair):
    estimates = []

    @stage("scheme", source="Author 2000")
    def keeping(solve, pair):
        estimates.append(solve(pair))
        return solve(pair, keep="volume")

    further_schemes = [] if steps == ["opencv_sgbm"] else ["coarse"]
    method = Pipeline([*steps, keeping, *further_schemes])
    error = error_of(method, small_pair)
    assert isinstance(error, ParameterError)
    assert re.match(rf"keeping: solve\(pair, keep='volume'\) .* because {reason}", str(error))
    assert estimates[0].volume is None
    if further_schemes:
        estimate = Pipeline([*steps, *further_schemes, keeping]).estimate(small_pair)
        assert estimate.disparity.shape == small_pair.shape


def test_an_inner_scheme_that_cannot_keep_the_cost_volume_names_the_outer_scheme(small_pair):
    @stage("scheme", source="Author 2000")
    def keeping(solve, pair):
        return solve(pair, keep="volume")

    outer = forwarding("scheme", step(keeping), name="outer")
    message = str(error_of(Pipeline(["opencv_sgbm", outer]), small_pair))
    assert "keeping: outer: solve(pair, keep='volume')" in message
    assert message.endswith("(inside outer)")


def test_a_scheme_cannot_keep_anything_else(small_pair):
    @stage("scheme", source="Author 2000")
    def keeping(solve, pair):
        return solve(pair, keep="everything")

    method = Pipeline(["census", "winner_take_all", keeping])
    assert "keep is 'everything'; expected 'volume' or None" in str(error_of(method, small_pair))
