"""Values of axes and the order of runs."""

import numpy as np
import pytest
import yaml

from stereo_framework.core.errors import ScriptError
from stereo_framework.io.places import Faults, from_python
from stereo_framework.script import load
from stereo_framework.script.axes import values

WINDOW = {
    "matching_cost": "absolute_difference",
    "aggregation": [{"use": "box", "size": 9}],
    "optimization": "winner_take_all",
}


def _values(axis):
    faults = Faults()
    found = [node.data() for node in values(from_python(axis, faults, "axis"), faults)]
    faults.raise_if_any()
    return found


def _axes(sweep, **more):
    return [run.axes for run in load({**WINDOW, "sweep": sweep, **more}).settings]


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ({"range": [0.1, 0.5, 0.1]}, [0.1, 0.2, 0.3, 0.4, 0.5]),
        ({"range": [1, 10, 4]}, [1, 5, 9]),
        ({"range": [3, 1, -1]}, [3, 2, 1]),
        ({"range": [0.5, 2, 0.5]}, [0.5, 1.0, 1.5, 2.0]),
        ({"range": [5, 5, 1]}, [5]),
        ({"linspace": [1, 9, 5]}, [1, 3, 5, 7, 9]),
        ({"linspace": [0, 1, 11]}, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        ({"geomspace": [1, 1000, 4]}, [1, 10, 100, 1000]),
        ({"geomspace": [0.001, 10, 5]}, [0.001, 0.01, 0.1, 1.0, 10.0]),
        ({"geomspace": [-1, -8, 4]}, [-1, -2, -4, -8]),
        ([1, None, True, "a"], [1, None, True, "a"]),
        (np.arange(3), [0, 1, 2]),
    ],
)
def test_generated_values_are_the_decimals_one_would_write(axis, expected):
    found = _values(axis)
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


def test_irrational_geometric_values():
    assert _values({"geomspace": [1, 100, 5]}) == pytest.approx([1, 10**0.5, 10, 10**1.5, 100], rel=1e-15)


def test_a_grid_is_a_product_whose_last_axis_is_fastest():
    sweep = {"grid": {"aggregation.box.size": [3, 5], "matching_cost.truncation": [10, None]}}
    expected = [(3, 10), (3, None), (5, 10), (5, None)]
    assert [tuple(axes.values()) for axes in _axes(sweep)] == expected
    assert list(_axes(sweep)[0]) == ["aggregation.box.size", "matching_cost.truncation"]


def test_zipped_axes_move_together_inside_the_grid():
    sweep = {
        "zip": {"matching_cost.truncation": [10, 20], "matching_cost.interval": [False, True]},
        "grid": {"aggregation.box.size": [3, 5]},
    }
    expected = [(3, 10, False), (3, 20, True), (5, 10, False), (5, 20, True)]
    assert [tuple(axes.values()) for axes in _axes(sweep)] == expected


def test_what_is_repeated_counts_once():
    repeated = {"matching_cost.truncation": [5, 5.0, 9], "aggregation": [["box"], [{"use": "box", "size": 9}]]}
    assert [len(load(WINDOW | {"sweep": {"grid": {name: values}}}).settings) for name, values in repeated.items()] == [2, 1]
    rows = {"matching_cost.truncation": [5, 9, 5, 5], "search.step": [1, 1, 1, 2]}
    assert len(load(WINDOW | {"sweep": {"zip": rows}}).settings) == 3


def test_slots_are_swept_first_wherever_their_axis_stands():
    costs = ["absolute_difference", {"use": "squared_difference", "truncation": 7}]
    for grid in (
        {"matching_cost": costs, "matching_cost.truncation": [1, 2]},
        {"matching_cost.truncation": [1, 2], "matching_cost": costs},
    ):
        runs = load({**WINDOW, "sweep": {"grid": grid}}).settings
        found = [(run.parameters["matching_cost.use"], run.parameters["matching_cost.truncation"]) for run in runs]
        assert sorted(found) == [(name, t) for name in ("absolute_difference", "squared_difference") for t in (1, 2)]


def test_how_axes_over_stages_are_shown():
    costs = [
        "absolute_difference",
        {"use": "absolute_difference", "truncation": 20, "interval": True},
        # What equals the default is not shown.
        {"use": "squared_difference", "interval": False},
    ]
    shown = [axes["matching_cost"] for axes in _axes({"grid": {"matching_cost": costs}})]
    assert shown == ["absolute_difference", "absolute_difference(truncation=20, interval=true)", "squared_difference"]
    chains = [[], "min_filter", [{"use": "box", "size": 21}, {"use": "min_filter", "size": 21}]]
    shown = [axes["aggregation"] for axes in _axes({"grid": {"aggregation": chains}})]
    assert shown == ["none", "min_filter", "box(size=21) > min_filter(size=21)"]


def test_stages_that_occur_twice_are_swept_by_index():
    script = {**WINDOW, "aggregation": ["box", "box"], "sweep": {"grid": {"aggregation.1.size": [3, 5]}}}
    sizes = [(run.parameters["aggregation.0.size"], run.parameters["aggregation.1.size"]) for run in load(script).settings]
    assert sizes == [(9, 3), (9, 5)]


def test_many_settings_are_expanded_quickly_and_share_their_stages():
    sweep = {"matching_cost.truncation": {"range": [1, 100, 1]}, "aggregation.box.size": {"range": [1, 199, 2]}}
    runs = load(yaml.safe_load(yaml.safe_dump({**WINDOW, "sweep": {"grid": sweep}}))).settings
    assert len(runs) == 10_000
    assert len({id(run.pipeline.in_slot("matching_cost")[0]) for run in runs}) == 100
    assert len({id(run.pipeline.in_slot("aggregation")[0]) for run in runs}) == 100


def test_a_script_that_is_tuned_may_have_any_number_of_settings():
    sweep = {"grid": {"aggregation.box.size": {"range": [1, 1001, 1]}, "matching_cost.truncation": {"range": [1, 1000, 1]}}}
    with pytest.raises(ScriptError, match="1001000 runs"):
        load({**WINDOW, "sweep": sweep})
    [settings] = load({**WINDOW, "sweep": sweep}, tuning=True).methods
    assert settings.run([1000, 999]).axes == {"aggregation.box.size": 1001, "matching_cost.truncation": 1000}
