"""``--set KEY=VALUE``."""

import pytest

from stereo_framework.script import load

SWEPT = {
    "include": "window",
    "sweep": {
        "grid": {"matching_cost": ["absolute_difference", "squared_difference"], "matching_cost.truncation": [1, 2]},
        "zip": {"aggregation.box.size": [3, 5], "search.step": [1, 2]},
    },
}
METHODS = {
    "include": "window",
    "sweep": {"grid": {"matching_cost.truncation": [1, 2]}},
    "methods": {
        "plain": {},
        "v1.5": {"matching_cost": "squared_difference", "seed": 4, "sweep": {"grid": {"aggregation.box.size": [3, 5]}}},
    },
}


def _one(*overrides, script="ssd"):
    [run] = load(script, overrides=overrides).settings
    return run


def test_parameters_and_stages():
    run = _one("aggregation.box.size=9", "matching_cost = absolute_difference", "matching_cost.truncation=1e1")
    assert run.parameters["aggregation.box.size"] == 9
    assert run.parameters["aggregation.min_filter.size"] == 21
    assert run.parameters["matching_cost.use"] == "absolute_difference"
    assert run.parameters["matching_cost.truncation"] == 10


def test_whole_slots():
    run = _one("aggregation=[{use: box, size: 5}]", "refinement=parabola")
    assert (run.parameters["aggregation.use"], run.parameters["aggregation.box.size"]) == ("box", 5)
    assert run.parameters["refinement.use"] == "parabola"
    assert "aggregation.use" not in _one("aggregation=[]").parameters


def test_the_rest_of_a_script():
    run = _one(
        "name=mine", "seed=3", "search.step=0.5", "search.maximum=16", "evaluation.protocol={base: taxonomy2002, border: 3}"
    )
    assert (run.method, run.seed, run.search) == ("mine", 3, {"step": 0.5, "maximum": 16})
    assert run.protocols[0].border == 3
    assert load("ssd", overrides=["scenes=[venus, map]", "scenes=tsukuba"]).scenes == ("tsukuba",)


def test_a_value_replaces_the_axis():
    runs = load(SWEPT, overrides=["matching_cost.truncation=20", "search.step=1"]).settings
    assert [tuple(run.axes.items()) for run in runs] == [
        (("matching_cost", f"{cost}(truncation=20)"), ("aggregation.box.size", size))
        for cost in ("absolute_difference", "squared_difference")
        for size in (3, 5)
    ]
    assert {run.parameters["matching_cost.truncation"] for run in runs} == {20}
    assert {run.search["step"] for run in runs} == {1}


def test_a_stage_replaces_the_axis_over_stages():
    runs = load(SWEPT, overrides=["matching_cost=squared_difference"]).settings
    assert {run.parameters["matching_cost.use"] for run in runs} == {"squared_difference"}
    assert list(runs[0].axes) == ["matching_cost.truncation", "aggregation.box.size", "search.step"]


def test_axes_can_be_set():
    runs = load("ssd", overrides=["sweep.grid.aggregation.box.size={range: [3, 7, 2]}"]).settings
    assert [run.axes for run in runs] == [{"aggregation.box.size": size} for size in (3, 5, 7)]
    runs = load(METHODS, overrides=["sweep.grid.aggregation.box.size=[7]"]).settings
    assert {run.parameters["aggregation.box.size"] for run in runs} == {7}


def test_overrides_win_over_every_method():
    runs = load(METHODS, overrides=["matching_cost=absolute_difference", "matching_cost.interval=true", "seed=9"]).settings
    assert {run.method for run in runs} == {"plain", "v1.5"}
    for run in runs:
        assert run.parameters["matching_cost.use"] == "absolute_difference"
        assert run.parameters["matching_cost.interval"] is True
        assert run.seed == 9


def test_one_method_alone():
    overrides = ["methods.v1.5.aggregation.box.size=11", "methods.v1.5.matching_cost.interval=true", "methods.plain.seed=2"]
    runs = load(METHODS, overrides=overrides).settings
    plain, other = ([run for run in runs if run.method == name] for name in ("plain", "v1.5"))
    assert {run.parameters["aggregation.box.size"] for run in plain} == {9}
    assert [run.parameters["aggregation.box.size"] for run in other] == [11, 11]
    assert [run.axes for run in other] == [{"matching_cost.truncation": 1}, {"matching_cost.truncation": 2}]
    assert {run.parameters["matching_cost.interval"] for run in plain} == {False}
    assert {run.parameters["matching_cost.interval"] for run in other} == {True}
    assert (plain[0].seed, other[0].seed) == (2, 4)


@pytest.mark.parametrize("key", ["p1", "optimization.p1", "optimization.semi_global.p1"])
def test_a_parameter_has_one_rule_of_addresses(key):
    assert load("sgm", overrides=[f"{key}=7"]).pipeline == load("sgm").pipeline.having(p1=7)
    swept = {"include": "sgm", "sweep": {"grid": {key if "." in key else "optimization.p1": [1, 2]}}}
    assert [run.pipeline for run in load(swept, overrides=[f"{key}=7"]).settings] == [load("sgm").pipeline.having(p1=7)]


@pytest.mark.parametrize(
    "key", ["tolerance", "refinement.tolerance", "refinement.left_right_check.tolerance", "left_right_check.tolerance"]
)
def test_a_parameter_of_one_of_several_stages(key):
    method = load("sgm").pipeline
    expected = method.having(**{"refinement.left_right_check.tolerance": 2})
    assert method.having(**{key: 2}) == expected
    if not key.startswith("left"):
        assert load("sgm", overrides=[f"{key}=2"]).pipeline == expected
