"""Sweeps over matchers, sums of costs, schemes and auxiliary methods."""

import itertools

import numpy as np
import pytest
from sweep_parts import dots, numbers

import stereo_framework
from stereo_framework.script import load
from stereo_framework.sweep.processes import Processes
from stereo_framework.sweep.tasks import tasks_of_script

SCRIPT = {
    "matching_cost": ["absolute_difference", {"use": "tenfold", "saturation": 30}],
    "optimization": "winner_take_all",
    "refinement": "blend",
    "auxiliary": {"a": {"include": "window"}, "b": {"matcher": "flat"}},
    "sweep": {
        "grid": {"auxiliary.a.aggregation.box.size": [1, 3], "refinement.blend.weight": [1, 2]}
    },
    "methods": {
        "sum": {"sweep": {"grid": {"matching_cost.tenfold.weight": [1, 2]}}},
        "whole": {"matcher": "dice", "sweep": {"grid": {"seed": [1, 2]}}},
        "schemed": {"scheme": "whole"},
    },
}


@pytest.mark.usefixtures("tiny")
def test_the_results_are_those_of_the_pipelines_with_workers_and_with_a_store(tmp_path):
    scene = dots()
    results = stereo_framework.run(SCRIPT, scenes=scene)
    assert len(results) == 2 * 2 * (2 + 2 + 1)
    assert {result.error for result in results} == {None}
    for result, setting in zip(results, load(SCRIPT).settings, strict=True):
        np.testing.assert_array_equal(result.disparity, setting.pipeline(scene).disparity)
    energies = {result.energy for result in results if result.method == "whole"}
    assert energies == {None}
    assert numbers(stereo_framework.run(SCRIPT, scenes=scene, workers=3)) == numbers(results)

    stored_results = stereo_framework.run(SCRIPT, scenes=scene, out=tmp_path)
    assert numbers(stored_results) == numbers(results)
    # The second run computes nothing, so its run times are those of the first run.
    second_results = stereo_framework.run(SCRIPT, scenes=scene, out=tmp_path)
    assert [r.seconds for r in second_results] == [r.seconds for r in stored_results]


def identity(*overrides, **changes):
    """Return the identity of the run of a changed script without its sweep."""
    script = {key: value for key, value in SCRIPT.items() if key not in ("sweep", "methods")}
    [task] = tasks_of_script(load(script | changes, overrides=overrides), [dots()])
    return task.id


@pytest.mark.usefixtures("tiny")
def test_each_value_that_changes_the_disparity_map_changes_the_identity():
    costs = SCRIPT["matching_cost"]
    identities = [
        identity(),
        identity("matching_cost.tenfold.weight=2"),
        identity("matching_cost.tenfold.saturation=20"),
        identity("matching_cost.tenfold.saturation=null"),
        identity(matching_cost=costs[::-1]),
        identity(matching_cost=costs[:1]),
        identity(matching_cost=costs[0]),
        identity("auxiliary.a.aggregation.box.size=3"),
        identity("auxiliary.b.matcher.height=3"),
        identity("auxiliary.b={auxiliary: {c: {matcher: flat}}}"),
        # Stages receive the auxiliary disparity maps in their order.
        identity(auxiliary=dict(reversed(SCRIPT["auxiliary"].items()))),
        identity("scheme=whole"),
        identity("confidence=sure"),
    ]
    for first, second in itertools.combinations(identities, 2):
        assert first != second


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("weight", ["1", "1.0"])
def test_a_default_value_does_not_change_the_identity(weight):
    assert identity(f"matching_cost.tenfold.weight={weight}") == identity()


def test_worker_processes_compute_the_same_results(small_scenes):
    script = {
        "auxiliary": {"a": {"include": "window"}},
        "preprocessing": {"use": "radiometric_field", "initial": "a"},
        "matching_cost": ["absolute_difference", {"use": "census", "weight": 2}],
        "optimization": "winner_take_all",
        "search": {"maximum": 8},
        "methods": {"sum": {}, "schemed": {"scheme": "pyramid"}, "whole": {"matcher": "opencv_bm"}},
    }
    results_of_threads = stereo_framework.run(script, scenes="synthetic/planes")
    with Processes(1) as pool:
        results_of_processes = stereo_framework.run(
            script, scenes="synthetic/planes", executor=pool
        )
    assert {result.error for result in results_of_threads} == {None}
    assert numbers(results_of_processes) == numbers(results_of_threads)
