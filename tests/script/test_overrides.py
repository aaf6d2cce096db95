"""``--set KEY=VALUE``: what else is set, and what comes of it, stands in ``right_scripts.yaml``."""

import pytest

from stereo_framework.script import load


@pytest.mark.parametrize("key", ["p1", "optimization.p1", "optimization.semi_global.p1"])
def test_a_parameter_has_one_rule_of_addresses(key):
    assert load("sgm", overrides=[f"{key}=7"]).pipeline == load("sgm").pipeline.having(p1=7)
    swept = {
        "include": "sgm",
        "sweep": {"grid": {key if "." in key else "optimization.p1": [1, 2]}},
    }
    assert [run.pipeline for run in load(swept, overrides=[f"{key}=7"]).settings] == [
        load("sgm").pipeline.having(p1=7)
    ]


@pytest.mark.parametrize(
    "key",
    [
        "tolerance",
        "refinement.tolerance",
        "refinement.left_right_check.tolerance",
        "left_right_check.tolerance",
    ],
)
def test_a_parameter_of_one_of_several_stages(key):
    method = load("sgm").pipeline
    expected = method.having(**{"refinement.left_right_check.tolerance": 2})
    assert method.having(**{key: 2}) == expected
    if not key.startswith("left"):
        assert load("sgm", overrides=[f"{key}=2"]).pipeline == expected
