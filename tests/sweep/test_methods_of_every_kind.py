"""Matchers, sums of costs, schemes and auxiliary methods in a sweep: identity, sharing, workers, stored results."""

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
def test_runs_are_those_of_their_pipelines_however_they_are_shared(tmp_path):
    scene = dots()
    found = stereo_framework.run(SCRIPT, scenes=scene)
    assert len(found) == 2 * 2 * (2 + 2 + 1)
    assert {r.error for r in found} == {None}
    for result, one in zip(found, load(SCRIPT).settings, strict=True):
        np.testing.assert_array_equal(result.disparity, one.pipeline(scene).disparity)
    assert {r.energy is None for r in found if r.method == "whole"} == {True}
    assert numbers(stereo_framework.run(SCRIPT, scenes=scene, workers=3)) == numbers(found)
    stored = stereo_framework.run(SCRIPT, scenes=scene, out=tmp_path)
    assert numbers(stored) == numbers(found)
    # The second time nothing is computed: the seconds are those of the first.
    assert [r.seconds for r in stereo_framework.run(SCRIPT, scenes=scene, out=tmp_path)] == [
        r.seconds for r in stored
    ]


@pytest.mark.usefixtures("tiny")
def test_everything_that_decides_a_map_is_part_of_its_identity():
    def identity(*overrides, **changes):
        script = {key: value for key, value in SCRIPT.items() if key not in ("sweep", "methods")}
        [task] = tasks_of_script(load({**script, **changes}, overrides=overrides), [dots()])
        return task.id

    costs = SCRIPT["matching_cost"]
    ids = [
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
        # Stages receive auxiliary maps in their order.
        identity(auxiliary=dict(reversed(SCRIPT["auxiliary"].items()))),
        identity("scheme=whole"),
        identity("confidence=sure"),
    ]
    for one, other in itertools.combinations(ids, 2):
        assert one != other
    assert (
        identity("matching_cost.tenfold.weight=1")
        == identity("matching_cost.tenfold.weight=1.0")
        == ids[0]
    )


def test_processes_get_them(small_scenes):
    script = {
        "auxiliary": {"a": {"include": "window"}},
        "preprocessing": {"use": "radiometric_field", "initial": "a"},
        "matching_cost": ["absolute_difference", {"use": "census", "weight": 2}],
        "optimization": "winner_take_all",
        "search": {"maximum": 8},
        "methods": {"sum": {}, "schemed": {"scheme": "pyramid"}, "whole": {"matcher": "opencv_bm"}},
    }
    here = stereo_framework.run(script, scenes="synthetic/planes")
    with Processes(1) as pool:
        there = stereo_framework.run(script, scenes="synthetic/planes", executor=pool)
    assert {r.error for r in here} == {None}
    assert numbers(there) == numbers(here)
