"""The way of an axis from its line in a script to the parameter of a stage."""

import re

import pytest
from cli_parts import call, error_lines, invoke

from stereo_framework.core.errors import ParameterError
from stereo_framework.script import load
from stereo_framework.script.explain import explain_axis

SCRIPT = """\
include: window
methods:
  plain: {}
  blurred: {preprocessing: binomial_blur}
sweep:
  grid:
    matching_cost: [absolute_difference, census]
    search.maximum: [12, 15]
  zip:
    seed: [1, 2]
    aggregation.box.size: [3, 5]
"""


def test_the_command_explains_an_axis(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "include: window\nsweep: {grid: {aggregation.box.size: [3, 5]}}\n"
    )
    result = call("check", "mine.yaml", "--explain", "aggregation.box.size")
    assert result.stdout.splitlines()[1:] == [
        "Axis: mine.yaml:2:16: sweep.grid.aggregation.box.size has 2 values: 3, 5",
        "Method: 'mine' has aggregation: {use: box, size: 9}",
        "Setting: the first of 2 settings has the value 3",
        "Pipeline: absolute_difference > box(size=3) > winner_take_all",
        "Step: aggregation.box: box(size=3)",
        "Stage: box has the parameter size: a whole number >= 1; default: 9",
    ]
    refused = invoke("check", "mine.yaml", "--explain", "aggregation.size")
    assert error_lines(refused) == [
        "error: mine: there is no axis 'aggregation.size'; allowed axes: aggregation.box.size; "
        "did you mean 'aggregation.box.size'?"
    ]
    refused = invoke("check", "mine.yaml", "--explain", "seed", "--no-plugins")
    assert "--explain needs the stages of the script" in refused.stderr


@pytest.mark.parametrize(
    ("axis", "lines"),
    [
        (
            "matching_cost",
            [
                "Axis: .*: absolute_difference, census",
                "Method: 'plain' has matching_"
                "cost: absolute_difference or census; other methods with this axis: 'blurred'",
            ],
        ),
        (
            "search.maximum",
            [
                "Method: 'plain' has no search.maximum, so that the scene decides it",
                "Setting: its search range has maximum 12",
            ],
        ),
    ],
)
def test_axes_of_stages_and_of_the_search_range(write, tmp_path, axis, lines):
    write(mine=SCRIPT.replace("    seed: [1, 2]\n", ""))
    text = explain_axis(load(tmp_path / "mine.yaml"), axis)
    for line in lines:
        assert re.search(line, text)


def test_the_last_line_names_the_inner_stage_that_has_the_parameter():
    script = {
        "include": "window",
        "aggregation": [{"use": "cross_scale", "inner": {"use": "box", "size": 7}}],
        "sweep": {"zip": {"aggregation.cross_scale.inner.size": [3, 5], "search.maximum": [9, 12]}},
    }
    text = explain_axis(load(script), "aggregation.cross_scale.inner.size")
    assert "has 2 values: 3, 5; they move together with the other axes of the zip" in text
    assert text.splitlines()[-1].startswith("Stage: box has the parameter size")


def test_an_axis_of_an_auxiliary_method_leads_to_its_stage():
    script = {
        "matching_cost": {"use": "ad_census", "residual": 5},
        "optimization": "winner_take_all",
        "auxiliary": {"robust": {"include": "window"}},
        "sweep": {"grid": {"auxiliary.robust.aggregation.box.size": [3, 5], "seed": [1]}},
    }
    script["optimization"] = {"use": "graph_cut", "order": "random"}
    script["smoothness"] = "potts"
    loaded = load(script)
    lines = explain_axis(loaded, "auxiliary.robust.aggregation.box.size").splitlines()
    assert "Method: 'script' has auxiliary.robust.aggregation: {use: box, size: 9}" in lines
    assert "Step: auxiliary.robust.aggregation.box: box(size=3)" in lines
    last_line = explain_axis(loaded, "seed").splitlines()[-1]
    assert last_line == "Setting: 1 is the seed of all stages without a seed of their own"


def test_an_unknown_axis_is_refused():
    with pytest.raises(ParameterError, match="there is no axis 'seed'; allowed axes: none"):
        explain_axis(load({"include": "window"}), "seed")
