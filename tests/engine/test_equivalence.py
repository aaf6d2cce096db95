"""Estimates of built-in methods: equal to the last bit if computed in another way.

Most tests compare with the estimate of a single run. Such a run computes only one
method, and its strips have more rows than the images, so that there is only one strip.
"""

import functools
import gc
import itertools
import weakref
from dataclasses import replace

import numpy as np
import pytest

from stereo_framework import SearchRange, load_scene, step
from stereo_framework.core.package_files import package_folder
from stereo_framework.core.pair import Pair
from stereo_framework.core.volume import SearchMask
from stereo_framework.engine import runner, strips
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.kernels.progress import reporting_steps_to
from stereo_framework.script import load

METHODS = sorted(path.stem for path in (package_folder() / "methods").glob("*.yaml"))
SLOW_METHODS = ("bayesian", "bp", "gc", "gco", "patch_match", "sa", "support_weights")
QUICK_METHODS = [name for name in METHODS if name not in SLOW_METHODS]
RANDOM_METHODS = ("patch_match", "sa")

PLAIN = "plain"
MASKS = "masks"
RANGES = "masks and ranges"
PAIRS = (PLAIN, MASKS, RANGES)


@functools.cache
def built_in_method(name):
    return load(name).pipeline


@functools.cache
def pairs():
    """Return a small part of a scene without masks, with masks, and also with ranges.

    The masks have random holes and a hole of 4x20 pixels in the reference image. The
    ranges give each pixel of the reference image its own minimum and maximum.
    """
    scene = load_scene("synthetic/planes")
    reference, match = (
        np.ascontiguousarray(image[60:108, 100:164]) for image in (scene.reference, scene.match)
    )
    rng = np.random.default_rng(7)
    valid = rng.random((48, 64)) > 0.15
    match_valid = rng.random((48, 64)) > 0.15
    valid[10:14, 20:40] = False
    low = rng.integers(0, 6, (48, 64)).astype(np.float32)
    high = low + rng.integers(3, 9, (48, 64)).astype(np.float32)
    low[rng.random((48, 64)) < 0.1] = np.nan

    plain_pair = Pair(reference, match, SearchRange(0, 20))
    return {
        PLAIN: plain_pair,
        MASKS: replace(plain_pair, mask=SearchMask(valid, match_valid)),
        RANGES: replace(plain_pair, mask=SearchMask(valid, match_valid, low, high)),
    }


def estimates_of_one_run(methods, pair_name, **options):
    """Return the estimates of methods that are computed in one run, in their order."""
    estimates = dict(PipelineRunner(methods, pairs()[pair_name], **options))
    assert sorted(estimates) == list(range(len(methods)))
    return [estimates[i] for i in range(len(methods))]


@functools.cache
def single_estimate(method, pair_name):
    """Return the estimate of a method that is computed without other methods."""
    [estimate] = estimates_of_one_run([method], pair_name)
    return estimate


def single_estimates(methods, pair_name):
    """Return the estimates of methods that are computed in separate runs."""
    return [single_estimate(method, pair_name) for method in methods]


def exchanged_estimate(method, pair_name):
    """Return the estimate of a method for a pair with exchanged images."""
    [(_, estimate)] = PipelineRunner([method], pairs()[pair_name].exchanged())
    return estimate


def assert_same(estimate, expected):
    """Check that two estimates differ at most in their run times and in rounding."""
    for result in (estimate, expected):
        assert not isinstance(result, Exception), result
    assert_same_maps(estimate, expected)
    assert_same_numbers(estimate, expected)
    assert list(estimate.seconds) == list(expected.seconds)
    assert estimate.warnings == expected.warnings


def assert_same_maps(estimate, expected):
    """Check that two estimates have equal maps of disparity, status and confidence."""
    for name in ("disparity", "status", "levels"):
        np.testing.assert_array_equal(
            getattr(estimate, name), getattr(expected, name), err_msg=name, strict=True
        )
    assert estimate.confidence.keys() == expected.confidence.keys()
    for name, confidence in expected.confidence.items():
        np.testing.assert_array_equal(
            estimate.confidence[name], confidence, err_msg=name, strict=True
        )


def assert_same_numbers(estimate, expected):
    """Check that two estimates have equal energies, bounds, objectives and ranges."""
    for name in ("energy", "lower_bound", "search"):
        assert getattr(estimate, name) == getattr(expected, name), name
    assert [point[1:] for point in estimate.trace] == [point[1:] for point in expected.trace]
    if expected.objective is None:
        assert estimate.objective is None
    else:
        # Strips add the terms of the objective in another order.
        assert estimate.objective == pytest.approx(expected.objective, rel=1e-12)


def assert_all_same(estimates, all_expected):
    """Check that each estimate of a list is equal to the expected estimate."""
    for estimate, expected in zip(estimates, all_expected, strict=True):
        assert_same(estimate, expected)


# --- sweeps and strips ----------------------------------------------------------------


@pytest.mark.parametrize("pair_name", PAIRS)
def test_a_sweep_over_all_methods_has_the_estimates_of_single_runs(pair_name):
    methods = [built_in_method(name) for name in QUICK_METHODS]
    expected = single_estimates(methods, pair_name)
    assert_all_same(estimates_of_one_run(methods, pair_name), expected)


@pytest.mark.parametrize("name", QUICK_METHODS)
@pytest.mark.parametrize("height", [5, pytest.param(16, marks=pytest.mark.slow)])
def test_the_height_of_strips_changes_no_estimate(name, height, monkeypatch):
    methods = [built_in_method(name)]
    # Single runs must come first, because the images are one strip in them.
    expected = {pair_name: single_estimates(methods, pair_name) for pair_name in PAIRS}
    monkeypatch.setattr(strips, "STRIP_ROWS", height)
    for pair_name in PAIRS:
        assert_all_same(estimates_of_one_run(methods, pair_name), expected[pair_name])


def with_other_refinements(method):
    """Return methods that begin as a method but end with other refinements.

    They have none, some or all of its refinements. Some have another left-right
    consistency check, so that the second check needs the result of the first.
    """
    refinements = method.in_slot("refinement")
    check = "left_right_check"
    strict_check = step("left_right_check", tolerance=0)
    beginnings = [refinements[:count] for count in range(len(refinements) + 1)]
    return [
        *(method.having(refinement=[beginning, "median"]) for beginning in beginnings),
        method.having(refinement=[refinements, check, "median"]),
        method.having(refinement=[refinements, check, "border_fill"]),
        method.having(refinement=[check, "median", strict_check]),
    ]


def with_other_volume_steps(method):
    """Return methods with the matching cost of a method but with other later steps."""
    aggregation = method.in_slot("aggregation")
    return [
        method.having(aggregation=[aggregation, "box"]),
        method.having(aggregation=[aggregation, "min_filter"]),
        method.having(optimization="winner_take_all", refinement=()),
        method.having(optimization="winner_take_all", refinement="parabola"),
        method.having(confidence="winner_margin", refinement=["left_right_check", "parabola"]),
        method.having(confidence="left_right_consistency", refinement="parabola"),
    ]


@pytest.mark.parametrize("name", QUICK_METHODS)
def test_methods_that_share_their_first_steps_have_the_estimates_of_single_runs(name, monkeypatch):
    method = built_in_method(name)
    methods = [method, *with_other_refinements(method)]
    if not method.in_slot("matcher"):
        methods += with_other_volume_steps(method)
    expected = {pair_name: single_estimates(methods, pair_name) for pair_name in (PLAIN, RANGES)}
    monkeypatch.setattr(strips, "STRIP_ROWS", 16)
    assert_all_same(estimates_of_one_run(methods, PLAIN), expected[PLAIN])
    # The order of the methods must not matter.
    assert_all_same(estimates_of_one_run(methods[::-1], RANGES), expected[RANGES][::-1])


@pytest.mark.parametrize(
    "stage", ["binomial", "diffusion", "membrane_diffusion", "bayesian_diffusion"]
)
@pytest.mark.parametrize("refinement", [(), ("left_right_check", "median")])
def test_iterations_that_continue_those_of_another_method_change_no_estimate(
    stage, refinement, monkeypatch
):
    window = built_in_method("window")
    methods = []
    for count, first, last in itertools.product((5, 1, 9), ((), "box"), ((), "binomial")):
        aggregation = [first, step(stage, iterations=count), last]
        methods.append(window.having(aggregation=aggregation, refinement=refinement))
    # This method has the most iterations. Even if no other method matches the target
    # image, this method does.
    methods.append(methods[-1].having(refinement="left_right_check"))

    expected = {pair_name: single_estimates(methods, pair_name) for pair_name in (PLAIN, RANGES)}
    monkeypatch.setattr(strips, "STRIP_ROWS", 16)
    for pair_name in (PLAIN, RANGES):
        assert_all_same(estimates_of_one_run(methods, pair_name), expected[pair_name])


# --- estimates of the target image ----------------------------------------------------

SLOW_SYMMETRIC_METHODS = [
    pytest.param(name, marks=pytest.mark.slow)
    for name in SLOW_METHODS
    if name not in RANDOM_METHODS
]
"""Slow methods without random numbers, which would differ between the two images."""


@pytest.mark.parametrize("name", [*QUICK_METHODS, *SLOW_SYMMETRIC_METHODS])
@pytest.mark.parametrize("pair_name", [pytest.param(PLAIN, marks=pytest.mark.slow), RANGES])
def test_the_estimate_of_the_target_image_is_that_of_the_exchanged_pair(name, pair_name):
    # The methods `fast` and `fine` correct one of the images, but these images already
    # have equal rows and equal exposure.
    method = built_in_method(name)
    [(estimate, target_estimate)] = estimates_of_one_run([method], pair_name, both=True)
    assert_same(estimate, single_estimate(method, pair_name))
    assert_same(target_estimate, exchanged_estimate(method, pair_name))


@pytest.mark.parametrize(
    "scheme",
    [step("tiles", overlap=8), step("pyramid", octaves=2), step("coarse")],
    ids=lambda scheme: scheme.stage.name,
)
@pytest.mark.parametrize("name", ["ssd", "sgm", "dp", "sgbm", "census"])
def test_the_estimate_of_the_target_image_under_a_scheme_is_that_of_the_exchanged_pair(
    scheme, name
):
    method = built_in_method(name).having(scheme=scheme)
    for pair_name in (PLAIN, RANGES):
        [(estimate, target_estimate)] = estimates_of_one_run([method], pair_name, both=True)
        assert_same(estimate, single_estimate(method, pair_name))
        assert_same(target_estimate, exchanged_estimate(method, pair_name))


# --- schemes and kept volumes ---------------------------------------------------------


def test_a_scheme_of_one_tile_only_removes_the_levels():
    for name, pair_name in itertools.product(("ssd", "sgm", "fine"), PAIRS):
        method = built_in_method(name)
        expected = single_estimate(method, pair_name)
        tiled_method = method.having(scheme=step("tiles", reduction=1))
        estimate = single_estimate(tiled_method, pair_name)
        np.testing.assert_array_equal(estimate.disparity, expected.disparity)
        np.testing.assert_array_equal(estimate.status, expected.status)
        assert estimate.levels is None


def test_a_kept_volume_changes_no_estimate_and_has_its_lowest_costs_at_the_levels():
    for name, pair_name in itertools.product(("ssd", "sgm", "census", "stratified"), PAIRS):
        method = built_in_method(name)
        [estimate] = estimates_of_one_run([method], pair_name, keep_volume=True)
        assert_same(estimate, single_estimate(method, pair_name))

        costs = estimate.volume.costs
        levels = np.maximum(estimate.levels, 0).astype(int)
        costs_of_levels = np.take_along_axis(costs, levels[..., None], axis=2)[..., 0]
        has_lowest_cost = costs_of_levels == costs.min(axis=2)
        # The method `stratified` does not choose the lowest cost at every pixel.
        assert has_lowest_cost[estimate.levels >= 0].mean() > 0.5


def test_no_cycle_of_references_keeps_a_volume_until_the_next_garbage_collection():
    volumes = []
    volume_counts = []
    view_after = runner.view_after

    def view_after_with_reference(stage, result, view):
        if stage.slot == "aggregation":
            volumes.append(weakref.ref(result.costs))
        return view_after(stage, result, view)

    def count_volumes(step_name):
        volume_counts.append(sum(volume() is not None for volume in volumes))

    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(strips, "STRIP_ROWS", 16)
            patch.setattr(runner, "view_after", view_after_with_reference)
            with reporting_steps_to(count_volumes):
                [_] = list(PipelineRunner([built_in_method("ssd")], pairs()[MASKS]))
        # There are two aggregations in each of three strips.
        assert len(volumes) == 2 * 3
        assert max(volume_counts) <= 2
        assert all(volume() is None for volume in volumes)
    finally:
        gc.enable()
