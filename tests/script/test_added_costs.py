"""Lists of matching costs, which are added; how they are addressed, merged and shown stands in ``right_scripts.yaml``."""

import pytest

from stereo_framework import Pipeline, step
from stereo_framework.core.registration import find
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.script import load
from stereo_framework.script.report import key_fault
from stereo_framework.tables.words import unit

pytestmark = pytest.mark.usefixtures("tiny")

TWO = [
    {"use": "absolute_difference", "weight": 2, "truncation": 9},
    {"use": "tenfold", "saturation": 30},
]
SUM = {"matching_cost": TWO, "optimization": "winner_take_all"}


def test_a_list_is_a_sum():
    [run] = load(SUM).settings
    first = step(absolute_difference, truncation=9, weight=2)
    assert run.pipeline == Pipeline(
        [first, step(find("matching_cost", "tenfold").function, saturation=30), winner_take_all]
    )
    # Whole and decimal numbers are the same weight.
    [other] = load({**SUM, "matching_cost": [TWO[0] | {"weight": 2.0}, TWO[1]]}).settings
    assert repr(other.parameters) == repr(run.parameters)


def test_the_factor_of_a_cost_is_tuned():
    sweep = {"grid": {"matching_cost.tenfold.weight": {"linspace": [1, 9, 17]}}}
    [method] = load({**SUM, "sweep": sweep}, tuning=True).expansions
    assert method.setting([3]).parameters["matching_cost.tenfold.weight"] == 2.5


def test_names_of_results():
    for name in (
        "matching_cost.tenfold.window",
        "matching_cost.tenfold.weight",
        "matching_cost.0.saturation",
        "matching_cost.window",
    ):
        assert key_fault(name) is None
        assert key_fault(f"auxiliary.a.auxiliary.b.{name}") is None
    assert key_fault("matching_cost.tenfold.weigth").endswith(
        "did you mean 'matching_cost.tenfold.weight'?"
    )
    assert key_fault("auxiliary.a.matching_cost.tenfold.weigth").endswith(
        "did you mean 'auxiliary.a.matching_cost.tenfold.weight'?"
    )
    assert (
        "there is no key 'auxiliary.a.scene'; allowed words after auxiliary.a.: aggregation, auxiliary, "
        in key_fault("auxiliary.a.scene")
    )
    assert (
        unit("matching_cost.absolute_difference.truncation")
        == unit("matching_cost.truncation")
        == "grey levels"
    )
    assert unit("auxiliary.a.aggregation.box.size") == "pixels"
