"""Random nested methods give the same results as simple computations on arrays.

A nested method contains stages with inner stages. The tests run such methods in a
pipeline, in strips, in a sweep, in another process, and in a sweep that continues an
earlier run. All maps must be equal to the maps of the array computation to the last
bit.
"""

import contextlib
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nested_methods import (
    PLUGIN,
    SMALL_CENSUS,
    Data,
    as_pipeline,
    axes,
    cross_scale,
    half_size,
    images,
    made_pair,
    matching_cost,
    methods,
    methods_in_strips,
    solution,
)
from pipeline_parts import in_strips

import stereo_framework
from stereo_framework import Pipeline, Scene, step
from stereo_framework.aggregation import box
from stereo_framework.core.pair import Pair
from stereo_framework.core.plugins import load_plugin
from stereo_framework.core.registration import stage
from stereo_framework.optimization import winner_take_all
from stereo_framework.sweep.processes import Processes

EXAMPLES = settings.default.max_examples
many = settings(max_examples=2 * EXAMPLES)
some = settings(max_examples=max(1, EXAMPLES // 2))
few = settings(max_examples=max(1, EXAMPLES // 3))


@pytest.fixture(autouse=True)
def plugin(registry):
    """Register the stages of the plug-in `nested_stages`."""
    load_plugin(PLUGIN)


# --- single methods -------------------------------------------------------------------


def assert_equals_solution(estimate, expected):
    """Check that the maps and energy of an estimate equal those computed on arrays."""
    for name in ("levels", "disparity", "status"):
        computed_map = getattr(estimate, name)
        np.testing.assert_array_equal(computed_map, getattr(expected, name), err_msg=name)
    if expected.energy is not None:
        assert estimate.energy == pytest.approx(expected.energy, rel=1e-9)
    assert estimate.confidence.keys() == expected.confidence.keys()
    for name, values in expected.confidence.items():
        np.testing.assert_array_equal(estimate.confidence[name], values, err_msg=name)


@many
@given(method=methods(), image=images())
def test_a_nested_method_in_a_pipeline(method, image):
    pair = made_pair(**image)
    expected = solution(method, pair)
    estimate = as_pipeline(method)(pair, keep_volume=True)
    assert_equals_solution(estimate, expected)
    # The costs of excluded cells are not defined, so they are not compared.
    costs = np.where(expected.is_allowed, estimate.volume.costs, 0)
    expected_costs = np.where(expected.is_allowed, expected.volume.costs, 0)
    np.testing.assert_array_equal(costs, expected_costs)


@some
@given(method=methods_in_strips(), image=images((40, 32)), height=st.sampled_from([3, 7, 16]))
def test_a_nested_method_in_low_strips(method, image, height):
    pair = made_pair(**image)
    expected = solution(method, pair)
    assert_equals_solution(in_strips(height, as_pipeline(method), pair), expected)


@few
@given(method=methods_in_strips(), image=images((150, 32)))
def test_a_nested_method_with_more_rows_than_a_strip(method, image):
    pair = made_pair(**image)
    pipeline = as_pipeline(method)
    halos = [planned.halo for planned in pipeline.plan if planned.touches_volume]
    assert None not in halos
    assert_equals_solution(pipeline(pair), solution(method, pair))


# --- sweeps ---------------------------------------------------------------------------


def script_of(method, axis):
    """Return a script that sweeps the values of an axis."""
    slots = {slot: entry for slot, entry in method.items() if entry}
    grid = {axis.address: axis.values}
    return {"name": "nested", "plugins": [PLUGIN], **slots, "sweep": {"grid": grid}}


def made_scene(image):
    """Return a scene with the images, the search range and the mask of `made_pair`.

    The scene fills pixels without data. The pair of the scene therefore differs from
    the pair that `made_pair` returns.
    """
    pair = made_pair(**image)
    masks = {}
    if pair.mask is not None:
        masks = {
            "left_mask": pair.mask.valid,
            "right_mask": pair.mask.match_valid,
            "low": pair.mask.low,
            "high": pair.mask.high,
        }
    truth = np.full(pair.shape, 2, np.float32)
    return Scene.from_images(
        pair.reference, pair.match, pair.search, name="made", truth=truth, **masks
    )


def assert_results_equal_solutions(results, axis, scene):
    """Check that the maps and energies of results equal those computed on arrays."""
    for result, method in zip(results, axis.methods, strict=True):
        assert result.error is None, method
        expected = solution(method, Pair.of(scene))
        np.testing.assert_array_equal(result.disparity, expected.disparity, err_msg=str(method))
        if expected.energy is not None:
            assert result.energy == pytest.approx(expected.energy, rel=1e-9)


small_images = images((24, 32), directions=[1])


@some
@given(method_and_axis=axes(methods()), image=small_images)
def test_a_sweep_over_inner_stages_and_their_parameters(method_and_axis, image):
    method, axis = method_and_axis
    scene = made_scene(image)
    results = stereo_framework.run(script_of(method, axis), scenes=scene, workers=1)
    assert_results_equal_solutions(results, axis, scene)


@pytest.fixture(scope="module")
def process():
    """Start a process that computes the tasks of several sweeps."""
    with Processes(1) as executor:
        yield executor


@few
@given(method_and_axis=axes(methods()), image=small_images)
def test_a_sweep_in_another_process(process, method_and_axis, image):
    method, axis = method_and_axis
    scene = made_scene(image)
    results = stereo_framework.run(script_of(method, axis), scenes=scene, executor=process)
    assert_results_equal_solutions(results, axis, scene)


def remove_result(folder, index):
    """Remove one stored result, which is selected by its index in the results."""
    database = sqlite3.connect(Path(folder, "results.sqlite"))
    with contextlib.closing(database), database:
        cursor = database.execute("DELETE FROM results WHERE place = ?", (index,))
        assert cursor.rowcount == 1


@few
@given(method_and_axis=axes(methods()), image=small_images, removed_index=st.sampled_from([0, 1]))
def test_a_sweep_that_continues_after_a_result_was_removed(method_and_axis, image, removed_index):
    method, axis = method_and_axis
    scene = made_scene(image)
    script = script_of(method, axis)
    with tempfile.TemporaryDirectory() as folder:
        options = {"scenes": scene, "out": folder, "maps": True, "workers": 1}
        first_results = stereo_framework.run(script, **options)
        remove_result(folder, removed_index)
        results = stereo_framework.run(script, **options)
        for index, (result, first_result) in enumerate(zip(results, first_results, strict=True)):
            assert result.id == first_result.id
            # If the run times are equal, the result was loaded and not computed again.
            is_stored = result.seconds == first_result.seconds
            assert is_stored == (index != removed_index)
        assert_results_equal_solutions(results, axis, scene)


@few
@given(method_and_axis=axes(methods()), image=small_images)
def test_a_sweep_that_continues_a_run_of_one_setting(method_and_axis, image):
    method, axis = method_and_axis
    scene = made_scene(image)
    with tempfile.TemporaryDirectory() as folder:
        options = {"scenes": scene, "out": folder, "maps": True, "workers": 1}
        single_axis = replace(axis, values=axis.values[1:2])
        [single_result] = stereo_framework.run(script_of(method, single_axis), **options)
        results = stereo_framework.run(script_of(method, axis), **options)
        assert results[1].id == single_result.id
        assert results[1].seconds == single_result.seconds
        assert len({result.id for result in results}) == len(axis.values)
        assert_results_equal_solutions(results, axis, scene)


# --- marks of excluded cells ----------------------------------------------------------


def test_a_float_volume_marks_excluded_cells_as_documented():
    volumes = []

    @stage("optimization", source="a test")
    def choose_from_floats(volume):
        volumes.append(volume)
        return winner_take_all(volume)

    pair = made_pair((24, 32), seed=0, mask_kind="valid")
    Pipeline([step("census", width=3, height=3), choose_from_floats])(pair)
    [volume] = volumes
    assert volume.costs.dtype == np.float32
    assert volume.costs.max() == volume.excluded_cost


def test_a_single_iteration_equals_the_inner_stage_if_a_mask_excludes_integer_costs():
    pair = made_pair((24, 32), seed=0, mask_kind="valid")
    single = {
        "matching_cost": SMALL_CENSUS,
        "optimization": "winner_take_all",
        "refinement": ["left_right_check_fast"],
    }
    iterated = {"use": "iterated", "inner": "left_right_check_fast", "max_iterations": 1}
    expected = as_pipeline(single)(pair)
    estimate = as_pipeline({**single, "refinement": [iterated]})(pair)
    np.testing.assert_array_equal(estimate.disparity, expected.disparity)
    np.testing.assert_array_equal(estimate.status, expected.status)


# --- the computation on arrays --------------------------------------------------------


def test_combined_sizes_on_arrays_minimize_the_energy_of_the_paper():
    """Compare costs of the float32 array computation with minima in float64."""
    pair = made_pair((20, 28), seed=4)
    method = {"matching_cost": "absolute_difference"}
    raw = matching_cost(method, pair)
    data = Data(
        pair, pair.reference, pair.match, None, raw, lambda other: matching_cost(method, other)
    )
    scale_weight = 0.5
    combined = cross_scale(raw, data, {"use": "box", "size": 3}, 3, scale_weight)

    pairs_of_sizes = [pair, half_size(pair), half_size(half_size(pair))]
    volumes = [box(matching_cost(method, smaller), size=3) for smaller in pairs_of_sizes]
    for y, x, disparity in [(0, 0, 0), (19, 27, 7), (7, 12, 3), (12, 5, 6)]:
        filtered = []
        for scale, volume in enumerate(volumes):
            costs = volume.costs[y >> scale, x >> scale].astype(np.float64)
            disparities = volume.search.disparities.astype(np.float64)
            filtered.append(np.interp(disparity / 2**scale, disparities, costs))
        # The energy is the squared length of the residuals of these linear equations.
        root = np.sqrt(scale_weight)
        differences = [[-root, root, 0], [0, -root, root]]
        equations = np.vstack([np.eye(3), differences])
        solution_of_sizes = np.linalg.lstsq(equations, [*filtered, 0, 0], rcond=None)[0]
        cost = combined.costs[y, x, disparity]
        assert cost == pytest.approx(solution_of_sizes[0], rel=1e-5)
