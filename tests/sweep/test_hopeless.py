"""Sweeps whose first runs fail alike."""

import contextlib

import pytest
from sweep_parts import dots, fails, lacking, stored

import stereo_framework
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.sweep.executors import Processes


def errors(script, **options):
    return [r.error and r.error.rpartition(": ")[2] for r in stereo_framework.run(script, scenes=dots(), **options)]


@pytest.mark.parametrize("workers", [1, 2, "processes"])
def test_the_first_three_end_it(registry, tmp_path, workers):
    said = "^17 of 20 runs are left out: the first 3 failed alike: "
    said += r".*plugin_without_luck.py:8: refinement stage fails: ValueError: no luck$"
    with contextlib.ExitStack() as stack:
        options = {"executor": stack.enter_context(Processes(2))} if workers == "processes" else {"workers": workers}
        stack.enter_context(pytest.raises(StereoFrameworkError, match=said))
        stereo_framework.run(fails(tmp_path, range(20)), scenes=dots(), out=tmp_path / "out", **options)
    assert len(stored(tmp_path / "out")) == 3
    assert lacking(tmp_path / "out").startswith("17 results are still missing")


def test_with_something_that_works_nobody_gives_up(registry, tmp_path):
    assert errors(fails(tmp_path, [-2, -1]), out=tmp_path) == [None, None]
    assert errors(fails(tmp_path, [-2, -1, 0, 1, 2, 3]), out=tmp_path) == [None, None, *4 * ["no luck"]]
    assert sum(r.error is None for r in stored(tmp_path)) == 2
    assert errors(fails(tmp_path, [0, 1, -1, 3, 4, 5]), workers=1) == ["no luck", "no luck", None, *3 * ["no luck"]]


def test_other_words_are_another_failure_and_three_runs_no_more_than_three(registry, tmp_path):
    assert errors(fails(tmp_path, range(5), words=True), workers=1) == [f"no luck with {size}" for size in range(5)]
    assert errors(fails(tmp_path, [0, 1, 2]), workers=1) == 3 * ["no luck"]


def test_methods_without_the_stage_are_run(registry, tmp_path):
    script = fails(tmp_path, [0, 1, 2, 3])
    own = {name: script.pop(name) for name in ("refinement", "sweep")}
    script["methods"] = {"broken": own, "plain": {}}
    assert errors(script, workers=1) == [*4 * ["no luck"], None]


@pytest.mark.parametrize("optimization", [["graph_cut", "winner_take_all"], ["graph_cut"]])
def test_a_lack_of_memory_ends_nothing(optimization):
    script = {
        "matching_cost": "absolute_difference",
        "smoothness": "potts",
        "sweep": {"grid": {"optimization": optimization, "smoothness.weight": [1, 2, 3, 4]}},
    }
    # Graph cuts hold three volumes, winners are taken strip by strip.
    found = stereo_framework.run(script, scenes=dots(rows=200), workers=1, memory=int(2.5 * 4 * 200 * 32 * 8))
    assert [r.error is None for r in found] == ([False] * 4 + [True] * 4)[: len(found)]
    assert "graph_cut needs about" in found[0].error
