"""Values of axes, and what many settings share; their order stands in ``right_scripts.yaml``."""

import numpy as np
import pytest
import yaml

from stereo_framework.core.errors import ScriptError
from stereo_framework.io.document import document_of
from stereo_framework.io.locations import Faults
from stereo_framework.script import load
from stereo_framework.script.axes import axis_values

WINDOW = {
    "matching_cost": "absolute_difference",
    "aggregation": [{"use": "box", "size": 9}],
    "optimization": "winner_take_all",
}


def _values(axis):
    faults = Faults()
    found = [value.data for value in axis_values(document_of(axis, faults, "axis"), faults)]
    faults.raise_if_any()
    return found


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
    assert _values({"geomspace": [1, 100, 5]}) == pytest.approx(
        [1, 10**0.5, 10, 10**1.5, 100], rel=1e-15
    )


def test_many_settings_are_expanded_quickly_and_share_their_stages():
    sweep = {
        "matching_cost.truncation": {"range": [1, 100, 1]},
        "aggregation.box.size": {"range": [1, 199, 2]},
    }
    runs = load(yaml.safe_load(yaml.safe_dump({**WINDOW, "sweep": {"grid": sweep}}))).settings
    assert len(runs) == 10_000
    assert len({id(run.pipeline.in_slot("matching_cost")[0]) for run in runs}) == 100
    assert len({id(run.pipeline.in_slot("aggregation")[0]) for run in runs}) == 100


@pytest.mark.usefixtures("tiny")
def test_settings_share_the_auxiliary_methods_in_which_they_do_not_differ():
    auxiliary = {
        "a": {
            "include": "window",
            "refinement": "blend",
            "auxiliary": {"b": {"matcher": "flat"}},
        }
    }
    sweep = {
        "grid": {
            "auxiliary.a.aggregation.box.size": [3, 5],
            "auxiliary.a.auxiliary.b.matcher": ["flat", "dice"],
        }
    }
    runs = load(
        {"include": "window", "refinement": "blend", "auxiliary": auxiliary, "sweep": sweep}
    ).settings
    outer = [run.pipeline.auxiliary[0][1] for run in runs]
    assert (len(set(map(id, outer))), len({id(one.auxiliary[0][1]) for one in outer})) == (4, 2)


def test_a_script_that_is_tuned_may_have_any_number_of_settings():
    sweep = {
        "grid": {
            "aggregation.box.size": {"range": [1, 1001, 1]},
            "matching_cost.truncation": {"range": [1, 1000, 1]},
        }
    }
    with pytest.raises(ScriptError, match="1001000 runs"):
        load({**WINDOW, "sweep": sweep})
    [settings] = load({**WINDOW, "sweep": sweep}, tuning=True).expansions
    assert settings.setting([1000, 999]).axes == {
        "aggregation.box.size": 1001,
        "matching_cost.truncation": 1000,
    }
