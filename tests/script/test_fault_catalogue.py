"""What is told of wrong scripts, word for word: a change of how scripts are read must not make a line vaguer unseen."""

import re
from pathlib import Path

import pytest
import yaml

from stereo_framework.core.errors import ScriptError
from stereo_framework.script import load

CASES = yaml.safe_load(Path(__file__).with_name("fault_catalogue.yaml").read_text(encoding="utf-8"))


def _without_lists_of_stages(fault):
    """A stage that is added to a slot changes its list in many lines, and none of them for the worse."""
    return re.sub(r"legal stages: [^;]*", "legal stages: ...", fault)


@pytest.mark.parametrize("case", CASES, ids=[case["of"] for case in CASES])
def test_lines_told_of_a_wrong_script(case, tmp_path, monkeypatch):
    for name, text in case.get("files", {}).items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScriptError) as caught:
        load(case["load"], **case.get("arguments", {}))
    assert [_without_lists_of_stages(fault) for fault in caught.value.faults] == case["told"]


def test_what_can_stand_together_is_not_refused():
    whole = {"matching_cost": "absolute_difference", "smoothness": "potts", "optimization": "graph_cut"}
    assert len(load(whole).settings) == 1
    assert len(load(whole | {"optimization": {"use": "semi_global", "p1": 8, "p2": 8}}).settings) == 1
