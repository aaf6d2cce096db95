"""Lists of matching costs, which are added: how they are written, addressed, merged and shown."""

import pytest

from stereo_framework import Pipeline, step
from stereo_framework.core.stage import find
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.script import load
from stereo_framework.script.result_names import key_fault
from stereo_framework.tables.words import unit

pytestmark = pytest.mark.usefixtures("tiny")

TWO = [{"use": "absolute_difference", "weight": 2, "truncation": 9}, {"use": "tenfold", "scale": 30}]
SUM = {"matching_cost": TWO, "optimization": "winner_take_all"}


def test_a_list_is_a_sum():
    [run] = load(SUM).settings
    first = step(absolute_difference, truncation=9, weight=2)
    assert run.pipeline == Pipeline([first, step(find("matching_cost", "tenfold").function, scale=30), winner_take_all])
    assert run.parameters == {
        "matching_cost.use": "absolute_difference + tenfold",
        "matching_cost.absolute_difference.truncation": 9.0,
        "matching_cost.absolute_difference.interval": False,
        "matching_cost.absolute_difference.interpolation": "cubic",
        "matching_cost.absolute_difference.weight": 2.0,
        "matching_cost.absolute_difference.scale": None,
        "matching_cost.tenfold.window": 3,
        "matching_cost.tenfold.factor": 10.0,
        "matching_cost.tenfold.weight": 1.0,
        "matching_cost.tenfold.scale": 30.0,
        "optimization.use": "winner_take_all",
    }
    # Whole and decimal numbers are the same weight.
    [other] = load({**SUM, "matching_cost": [TWO[0] | {"weight": 2.0}, TWO[1]]}).settings
    assert repr(other.parameters) == repr(run.parameters)


def test_a_list_of_one_is_a_list_and_a_mapping_is_none():
    [run] = load({**SUM, "matching_cost": ["tenfold"]}).settings
    assert {"matching_cost.tenfold.window", "matching_cost.tenfold.weight"} <= run.parameters.keys()
    assert run.mapping["matching_cost"] == [{"use": "tenfold", "window": 3, "factor": 10.0, "weight": 1.0, "scale": None}]
    [run] = load({**SUM, "matching_cost": "tenfold"}).settings
    assert {"matching_cost.window", "matching_cost.factor"} <= run.parameters.keys()


def test_a_name_that_occurs_twice_goes_by_its_index():
    sweep = {"grid": {"matching_cost.1.weight": [1, 3]}}
    one, two = load({**SUM, "matching_cost": ["tenfold", "tenfold"], "sweep": sweep}).settings
    assert one.parameters["matching_cost.use"] == "tenfold + tenfold"
    assert (two.parameters["matching_cost.0.weight"], two.parameters["matching_cost.1.weight"]) == (1.0, 3.0)


def test_axes_and_overrides():
    sweep = {"grid": {"matching_cost.absolute_difference.weight": [0.5, 1], "matching_cost.tenfold.scale": [None, 7]}}
    runs = load({**SUM, "sweep": sweep}, overrides=["matching_cost.tenfold.window=5"]).settings
    assert [tuple(run.axes.values()) for run in runs] == [(0.5, None), (0.5, 7.0), (1.0, None), (1.0, 7.0)]
    assert {run.parameters["matching_cost.tenfold.window"] for run in runs} == {5}
    assert len({run.pipeline.in_slot("matching_cost") for run in runs}) == 4
    assert load({**SUM, "sweep": sweep}, overrides=["matching_cost.tenfold.scale=2"]).settings[1].axes == {
        "matching_cost.absolute_difference.weight": 1.0
    }
    settings = load({**SUM, "sweep": {"grid": {"matching_cost.tenfold.weight": {"linspace": [1, 9, 17]}}}}, tuning=True).methods[
        0
    ]
    assert settings.run([3]).parameters["matching_cost.tenfold.weight"] == 2.5


def test_how_lists_are_shown_as_values_of_an_axis():
    costs = ["tenfold", ["tenfold"], TWO, ["tenfold", {"use": "absolute_difference", "weight": 1.0}]]
    assert [run.axes["matching_cost"] for run in load({**SUM, "sweep": {"grid": {"matching_cost": costs}}}).settings] == [
        "tenfold",
        "[tenfold]",
        "absolute_difference(truncation=9, weight=2) + tenfold(scale=30)",
        "tenfold + absolute_difference",
    ]


@pytest.mark.parametrize(
    ("base", "over", "use", "truncation"),
    [
        (TWO, {"use": "absolute_difference", "interval": True}, "absolute_difference", {"matching_cost.truncation": None}),
        (
            {"use": "absolute_difference", "truncation": 9},
            ["absolute_difference", "tenfold"],
            "absolute_difference + tenfold",
            {"matching_cost.absolute_difference.truncation": None},
        ),
        (TWO, ["absolute_difference"], "absolute_difference", {"matching_cost.absolute_difference.truncation": None}),
    ],
)
def test_a_list_replaces_and_is_replaced_whole(base, over, use, truncation):
    [run] = load({**SUM, "matching_cost": base, "methods": {"a": {"matching_cost": over}}}).settings
    assert run.parameters["matching_cost.use"] == use
    assert truncation.items() <= run.parameters.items()


def test_names_of_results():
    for name in ("matching_cost.tenfold.window", "matching_cost.tenfold.weight", "matching_cost.0.scale", "matching_cost.window"):
        assert key_fault(name) is None
        assert key_fault(f"alternatives.a.alternatives.b.{name}") is None
    assert key_fault("matching_cost.tenfold.weigth").endswith("did you mean 'matching_cost.tenfold.weight'?")
    assert key_fault("alternatives.a.matching_cost.tenfold.weigth").endswith(
        "did you mean 'alternatives.a.matching_cost.tenfold.weight'?"
    )
    assert "no such key 'alternatives.a.scene'; legal words after alternatives.a.: aggregation, alternatives, " in key_fault(
        "alternatives.a.scene"
    )
    assert unit("matching_cost.absolute_difference.truncation") == unit("matching_cost.truncation") == "grey levels"
    assert unit("alternatives.a.aggregation.box.size") == "pixels"
