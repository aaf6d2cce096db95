"""What is told of wrong scripts, word for word: a change of how scripts are read must not make a line vaguer unseen."""

import re

import pytest
from yaml_cases import cases_in

from stereo_framework import step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import ScriptError
from stereo_framework.script import load

CASES = cases_in("fault_catalogue.yaml", __file__)


def _without_long_lists(fault):
    """Shorten the lists of stages and of keys, which every added stage or parameter changes."""
    without_stages = re.sub(r"allowed stages: [^;]*", "allowed stages: ...", fault)
    return re.sub(
        r"allowed keys: aggregation, aggregation\.[^;]*",
        "allowed keys: <keys of aggregation>",
        without_stages,
    )


def _with_parameters(fault):
    """Fill in the parameters that the stage `box` has now."""
    return fault.replace("<parameters of box>", ", ".join(sorted(step(box).stage.parameters)))


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("case", CASES, ids=[case["of"] for case in CASES])
def test_lines_told_of_a_wrong_script(case, tmp_path, monkeypatch):
    for name, text in case.get("files", {}).items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScriptError) as caught:
        load(case["load"], **case.get("arguments", {}))
    faults = [_without_long_lists(fault) for fault in caught.value.faults]
    assert faults == [_with_parameters(fault) for fault in case["told"]]


def test_what_can_stand_together_is_not_refused():
    whole = {
        "matching_cost": "absolute_difference",
        "smoothness": "potts",
        "optimization": "graph_cut",
    }
    assert len(load(whole).settings) == 1
    assert (
        len(load(whole | {"optimization": {"use": "semi_global", "p1": 8, "p2": 8}}).settings) == 1
    )


def test_places_of_a_mapping_are_its_keys():
    script = {
        "matching_cost": {"use": "absolute_difference", "truncation": "abc"},
        "aggregation": [{"use": "box", "sise": 9}],
        "agregation": [],
        "sweep": {"grid": {"matching_cost.truncation": [3, -3]}},
        "report": {"plots": {1, 2}, 3: 4},
    }
    with pytest.raises(ScriptError) as caught:
        load(script)
    starts = [
        "report.plots: a script cannot contain {1, 2}",
        "report: the key 3 is not a text",
        "matching_cost.truncation: 'abc' is not a number > 0 or null",
        "aggregation.box: box has no parameter 'sise'",
        "script: there is no key 'agregation'",
        "optimization: the method has no stage",
        "sweep.grid.matching_cost.truncation[1]: -3 is not",
    ]
    assert len(caught.value.faults) == len(starts)
    for start in starts:
        assert any(fault.startswith(start) for fault in caught.value.faults)
