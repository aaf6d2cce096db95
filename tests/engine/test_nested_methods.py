"""Random nested methods give the same results as their computation on arrays."""

import contextlib
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from nested_methods import (
    PLUGIN,
    as_pipeline,
    axes,
    images,
    made_pair,
    methods,
    methods_in_strips,
    solution,
)
from pipeline_parts import in_strips

import stereo_framework
from stereo_framework import Scene
from stereo_framework.core.pair import Pair
from stereo_framework.core.plugins import load_plugin
from stereo_framework.sweep.executors import Processes

few = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)


@pytest.fixture(autouse=True)
def plugin(registry):
    """Register the stages of the plug-in."""
    load_plugin(PLUGIN)


def assert_equals_solution(estimate, expected):
    """Compare the maps and the energy of an estimate with the computation on arrays."""
    np.testing.assert_array_equal(estimate.levels, expected.levels, err_msg="levels")
    np.testing.assert_array_equal(estimate.disparity, expected.disparity, err_msg="disparity")
    np.testing.assert_array_equal(estimate.status, expected.status, err_msg="status")
    if expected.energy is not None:
        assert estimate.energy == pytest.approx(expected.energy, rel=1e-9)
    assert estimate.confidence.keys() == expected.confidence.keys()
    for name, values in expected.confidence.items():
        np.testing.assert_array_equal(estimate.confidence[name], values, err_msg=name)


@few
@given(method=methods(), image=images())
def test_a_nested_method_alone(method, image):
    pair = made_pair(**image)
    expected = solution(method, pair)
    estimate = as_pipeline(method)(pair, keep_volume=True)
    assert_equals_solution(estimate, expected)
    costs = np.where(expected.is_allowed, estimate.volume.costs, 0)
    np.testing.assert_array_equal(costs, np.where(expected.is_allowed, expected.volume.costs, 0))


@few
@given(
    method=methods_in_strips(), image=images(shape=(40, 32)), height=st.sampled_from([3, 7, 16])
)
def test_a_nested_method_in_low_strips(method, image, height):
    pair = made_pair(**image)
    expected = solution(method, pair)
    assert_equals_solution(in_strips(height, as_pipeline(method), pair), expected)


@few
@given(method=methods_in_strips(), image=images(shape=(150, 32)))
def test_a_nested_method_of_more_than_128_rows(method, image):
    pair = made_pair(**image)
    expected = solution(method, pair)
    assert_equals_solution(as_pipeline(method)(pair), expected)


# --- sweeps ---------------------------------------------------------------------------


def script_of(method, address, values):
    """Return a script that sweeps the values of an address."""
    slots = {slot: entry for slot, entry in method.items() if entry}
    grid = {address: values}
    return {"name": "nested", "plugins": [PLUGIN], **slots, "sweep": {"grid": grid}}


def made_scene(**image):
    """Return a scene with the images, the search range and the masks of `made_pair`.

    The scene fills pixels without data. Its pair thus differs from the made pair.
    """
    pair = made_pair(**image)
    masks = {}
    if pair.mask is not None:
        masks = {"left_mask": pair.mask.valid, "right_mask": pair.mask.match_valid}
    truth = np.full(pair.shape, 2, np.float32)
    return Scene.from_images(
        pair.reference, pair.match, pair.search, name="made", truth=truth, **masks
    )


def assert_results_equal_solutions(results, methods_of_results, pair):
    """Compare the maps and the energies of results with the computation on arrays."""
    assert len(results) == len(methods_of_results)
    for result, method in zip(results, methods_of_results, strict=True):
        assert result.error is None, (result.error, method)
        expected = solution(method, pair)
        np.testing.assert_array_equal(result.disparity, expected.disparity, err_msg=str(method))
        if expected.energy is not None:
            assert result.energy == pytest.approx(expected.energy, rel=1e-9)


@few
@given(method_and_axis=axes(methods()), image=images(shape=(24, 32), directions=[1]))
def test_a_sweep_over_a_parameter_of_an_inner_stage(method_and_axis, image):
    method, axis = method_and_axis
    scene = made_scene(**image)
    script = script_of(method, axis.address, axis.values)
    results = stereo_framework.run(script, scenes=scene, workers=1)
    assert_results_equal_solutions(results, axis.methods, Pair.of(scene))


def remove_results(folder, indices):
    """Remove the stored results at some places of the list of results."""
    database = sqlite3.connect(folder / "results.sqlite")
    with contextlib.closing(database), database:
        for index in indices:
            database.execute("DELETE FROM results WHERE place = ?", (index,))
            assert database.total_changes > 0


@few
@given(
    method_and_axis=axes(methods()),
    image=images(shape=(24, 32), directions=[1]),
    removed=st.sampled_from([0, 1]),
)
def test_a_sweep_that_continues_after_some_results_were_removed(method_and_axis, image, removed):
    method, axis = method_and_axis
    scene = made_scene(**image)
    script = script_of(method, axis.address, axis.values)
    with tempfile.TemporaryDirectory() as folder:
        options = {"scenes": scene, "out": folder, "maps": True, "workers": 1}
        first_results = stereo_framework.run(script, **options)
        remove_results(Path(folder), [removed])
        results = stereo_framework.run(script, **options)
        assert [result.id for result in results] == [result.id for result in first_results]
        for index, (result, first_result) in enumerate(zip(results, first_results, strict=True)):
            is_stored = result.seconds == first_result.seconds
            assert is_stored == (index != removed)
        assert_results_equal_solutions(results, axis.methods, Pair.of(scene))


@few
@given(method_and_axis=axes(methods()), image=images(shape=(24, 32), directions=[1]))
def test_a_sweep_that_continues_a_run_of_one_setting(method_and_axis, image):
    method, axis = method_and_axis
    scene = made_scene(**image)
    with tempfile.TemporaryDirectory() as folder:
        options = {"scenes": scene, "out": folder, "maps": True, "workers": 1}
        single_script = script_of(method, axis.address, axis.values[1:2])
        [single_result] = stereo_framework.run(single_script, **options)
        script = script_of(method, axis.address, axis.values)
        results = stereo_framework.run(script, **options)
        assert results[1].id == single_result.id
        assert len({result.id for result in results}) == len(axis.values)
        assert_results_equal_solutions(results, axis.methods, Pair.of(scene))


@pytest.fixture(scope="module")
def process():
    """Start a process that computes the tasks of several sweeps."""
    with Processes(1) as executor:
        yield executor


@few
@given(method_and_axis=axes(methods()), image=images(shape=(24, 32), directions=[1]))
def test_a_sweep_in_another_process(process, method_and_axis, image):
    method, axis = method_and_axis
    scene = made_scene(**image)
    script = script_of(method, axis.address, axis.values)
    results = stereo_framework.run(script, scenes=scene, executor=process)
    assert_results_equal_solutions(results, axis.methods, Pair.of(scene))
