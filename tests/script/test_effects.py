"""Axes and keys without effect: what a stage does not read changes no result."""

import numpy as np
import pytest
from sweep_parts import WINDOW, dots, numbers, stored

import stereo_framework
from stereo_framework import Pair, Pipeline, SearchRange, step
from stereo_framework.script import load
from stereo_framework.script.effects import SWITCHES

CENSUS = {"matching_cost": "census", "smoothness": "potts"}
GRADIENTS = ({"gradient_threshold": None}, {"gradient_threshold": 200.0}, (1.0, 4.0))
ORDERS = ({"order": "fixed"}, {"order": "random"}, (0, 1))

EXAMPLES = {
    "matcher.opencv_bm.pre_filter_size": (
        {"pre_filter_type": "sobel"},
        {"pre_filter_type": "normalized"},
        (5, 21),
    ),
    "matching_cost.ad_census.initial": (
        {"residual": None},
        {"residual": 20.0},
        ("smooth", "rough"),
    ),
    "smoothness.linear.gradient_penalty": GRADIENTS,
    "smoothness.potts.gradient_penalty": GRADIENTS,
    "smoothness.truncated_linear.gradient_penalty": GRADIENTS,
    "smoothness.truncated_quadratic.gradient_penalty": GRADIENTS,
    "optimization.graph_cut.seed": ORDERS,
    "optimization.graph_cut_occlusion.seed": (
        {"order": "fixed", "occlusion_cost": 90.0, "iterations": 1},
        {"order": "random", "occlusion_cost": 90.0, "iterations": 1},
        (0, 1),
    ),
    "optimization.graph_cut_occlusion.gradient_penalty": GRADIENTS,
    "optimization.semi_global.edge_threshold": (
        {"penalties": "gradient"},
        {"penalties": "edges"},
        (1.0, 200.0),
    ),
    "refinement.confidence_filter.fraction": (
        {"min_confidence": 1.5},
        {"min_confidence": None},
        (0.1, 0.6),
    ),
}
"""Of each parameter: the stage's parameters that switch it off and on, and two values of it."""


def noisy_pair():
    generator = np.random.default_rng(0)
    left = generator.integers(0, 256, (40, 64), dtype=np.uint8)
    noise = generator.integers(0, 120, left.shape)
    right = np.clip(np.roll(left, -3, axis=1).astype(int) + noise, 0, 255).astype(np.uint8)
    return Pair(left, right, SearchRange(0, 7))


def disparity_with(slot, name, parameters):
    """Match the noisy pair by a method that contains the stage."""
    steps = {
        "matching_cost": step("absolute_difference"),
        "smoothness": step("potts"),
        "optimization": step("icm"),
    }
    steps |= {"confidence": step("peak_ratio"), slot: step(f"{slot}.{name}", **parameters)}
    if slot == "matcher":
        steps = {"matcher": steps["matcher"]}
    methods = {}
    if name == "ad_census":
        steps |= {"smoothness": None, "optimization": step("winner_take_all")}
        window = Pipeline(["absolute_difference", "box", "winner_take_all"])
        methods = {"smooth": window, "rough": window.having(aggregation=None)}
    return Pipeline(list(steps.values()), methods)(noisy_pair()).disparity


def test_every_switch_has_an_example():
    assert EXAMPLES.keys() == SWITCHES.keys()


@pytest.mark.parametrize("address", EXAMPLES)
def test_a_parameter_has_an_effect_exactly_if_its_switch_is_on(address):
    slot, name, parameter = address.split(".")
    off, on, values = EXAMPLES[address]
    unread, read = (
        [disparity_with(slot, name, {**mode, parameter: value}) for value in values]
        for mode in (off, on)
    )
    np.testing.assert_array_equal(*unread)
    assert not np.array_equal(*read, equal_nan=True)


def test_equal_settings_become_one_with_an_empty_value():
    sweep = {"grid": {"optimization": ["icm", "semi_global"], "smoothness.weight": [5, 10, 20]}}
    script = load({**CENSUS, "sweep": sweep})
    assert [setting.axes["smoothness.weight"] for setting in script.settings] == [5, 10, 20, ""]
    assert script.settings[3].parameters["smoothness.weight"] == 5
    assert len(script.remarks) == 1


def test_a_method_without_an_effect_of_a_shared_axis_runs_once():
    methods = {"wta": {"optimization": "winner_take_all"}, "cut": {"optimization": "icm"}}
    script = load({**CENSUS, "sweep": {"grid": {"smoothness.weight": [5, 10]}}, "methods": methods})
    shown = [(setting.method, setting.axes["smoothness.weight"]) for setting in script.settings]
    assert shown == [("wta", ""), ("cut", 5), ("cut", 10)]


def test_settings_without_an_equal_keep_the_values_of_axes_without_effect():
    sweep = {"zip": {"optimization": ["icm", "semi_global"], "smoothness.weight": [5, 10]}}
    script = load({**CENSUS, "sweep": sweep})
    assert [setting.axes["smoothness.weight"] for setting in script.settings] == [5, 10]
    assert script.remarks == ()


def test_axes_of_a_switch_and_of_what_it_switches_are_merged_where_it_is_off():
    sweep = {
        "grid": {
            "optimization.penalties": ["constant", "edges"],
            "optimization.edge_threshold": [5, 10],
        }
    }
    script = load({"matching_cost": "census", "optimization": "semi_global", "sweep": sweep})
    assert [setting.axes["optimization.edge_threshold"] for setting in script.settings] == [
        "",
        5,
        10,
    ]


def test_numbers_that_make_a_term_vanish_are_values_like_others():
    sweep = {
        "grid": {"smoothness.gradient_threshold": [0, 8], "smoothness.gradient_penalty": [1, 2]}
    }
    assert len(load({**CENSUS, "optimization": "icm", "sweep": sweep}).settings) == 4


def test_a_resolved_script_has_the_same_settings():
    sweep = {"grid": {"optimization": ["icm", "semi_global"], "smoothness.weight": [5, 10, 20]}}
    script = load({**CENSUS, "sweep": sweep})
    again = load(script.resolved)
    assert [setting.axes for setting in again.settings] == [
        setting.axes for setting in script.settings
    ]


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({"optimization": "winner_take_all"}, "smoothness: has no effect on any disparity map"),
        (
            {"optimization": {"use": "semi_global", "edge_threshold": 3}, "smoothness": None},
            "optimization.edge_threshold: has no effect on any disparity map, because semi_global reads",
        ),
        (
            {"optimization": "icm", "auxiliary": {"robust": {"include": "window"}}},
            "auxiliary.robust: has no effect on any disparity map, because no stage reads the map",
        ),
    ],
)
def test_keys_without_effect_are_reported(changes, remark):
    [line] = load({**CENSUS, **changes}).remarks
    assert remark in line


def test_a_smoothness_term_that_one_of_several_methods_reads_is_not_reported():
    methods = {"wta": {"optimization": "winner_take_all"}, "cut": {"optimization": "icm"}}
    assert load({**CENSUS, "methods": methods}).remarks == ()


def test_a_folder_with_a_result_for_each_value_is_continued_without_a_new_match(tmp_path):
    script = WINDOW | {"name": "s", "smoothness": {"use": "potts", "weight": 5}}
    for weight in (5, 10):
        alone = script | {"smoothness": {"use": "potts", "weight": weight}}
        stereo_framework.run(alone, scenes=dots(), out=tmp_path)
    earlier = stored(tmp_path, every=True)

    sweep = {"grid": {"optimization": ["icm", "winner_take_all"], "smoothness.weight": [5, 10]}}
    results = stereo_framework.run(script | {"sweep": sweep}, scenes=dots(), out=tmp_path)
    assert [result.axes["smoothness.weight"] for result in results] == [5, 10, ""]
    assert results.frame["smoothness.weight"].isna().tolist() == [False, False, True]
    assert results[2].id == earlier[0].id
    assert results[2].seconds == earlier[0].seconds
    assert numbers(stored(tmp_path)) == numbers(results)
