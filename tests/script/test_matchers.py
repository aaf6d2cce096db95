"""Scripts with whole matchers, confidence and schemes: what stands instead of what, which axes stay, what does not go together."""

import pytest

from stereo_framework import Pipeline, step
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.stage import find
from stereo_framework.script import load

pytestmark = pytest.mark.usefixtures("tiny")


def _stages(run):
    return {key.removesuffix(".use"): value for key, value in run.parameters.items() if key.endswith(".use")}


def test_the_new_slots():
    script = {"matcher": {"use": "flat", "height": 3}, "confidence": ["sure", {"use": "sure", "level": 2}], "scheme": "whole"}
    [run] = load(script).settings
    assert run.parameters == {
        "matcher.use": "flat",
        "matcher.height": 3.0,
        "matcher.radius": 1,
        "confidence.use": "sure > sure",
        "confidence.0.level": 1.0,
        "confidence.1.level": 2.0,
        "scheme.use": "whole",
        "scheme.whole.times": 1,
    }
    assert [address for address, _ in run.pipeline.stages()] == ["matcher", "confidence.0", "confidence.1", "scheme.whole"]


MATCHER = "matcher: {use: flat, height: 1}\n"
VOLUME = "matching_cost: {use: absolute_difference, truncation: 20}\noptimization: winner_take_all\naggregation: [box]\n"


@pytest.mark.parametrize(
    ("base", "mine", "left"),
    [
        (VOLUME, MATCHER, {"matcher": "flat"}),
        (VOLUME + "smoothness: potts\n", "sweep: {grid: {matcher: [flat]}}\n", {"matcher": "flat"}),
        (MATCHER, VOLUME, {"matching_cost": "absolute_difference", "aggregation": "box", "optimization": "winner_take_all"}),
        # What is empty removes nothing.
        (MATCHER, "aggregation: []\nrefinement: []\n", {"matcher": "flat"}),
        (VOLUME, "matcher:\naggregation:\n", {"matching_cost": "absolute_difference", "optimization": "winner_take_all"}),
    ],
)
def test_the_later_removes_the_other(write, base, mine, left):
    write(base=base, mine="include: base.yaml\n" + mine, method=f"include: base.yaml\nmethods:\n  a: {{{_flow(mine)}}}\n")
    write(included="methods:\n  a: {include: [base.yaml, over.yaml]}\n", over=mine)
    for name in ("mine", "method", "included"):
        [run] = load(f"{name}.yaml").settings
        assert _stages(run) == left


def _flow(text):
    return ", ".join(line if not line.endswith(":") else f"{line} null" for line in text.splitlines())


def test_the_same_matcher_merges_and_overrides_win(write):
    write(base=MATCHER + "seed: 1\n", mine="include: base.yaml\nmatcher: {use: flat, radius: 3}\n")
    [run] = load("mine.yaml", overrides=["confidence=sure"]).settings
    assert (run.parameters["matcher.height"], run.parameters["matcher.radius"], run.parameters["confidence.use"]) == (
        1.0,
        3,
        "sure",
    )
    [run] = load("window", overrides=["matcher=flat", "matcher.height=4"]).settings
    assert _stages(run) == {"matcher": "flat"}
    assert run.parameters["matcher.height"] == 4.0


MIXED = {
    "include": "window",
    "sweep": {
        "grid": {"matching_cost": ["absolute_difference", "squared_difference"], "aggregation.box.size": [3, 5]},
        "zip": {"matching_cost.truncation": [1, 2, 3], "search.maximum": [8, 8, 9]},
    },
    "methods": {
        "plain": {"sweep": {"grid": {"aggregation.box.size": [7]}}},
        "whole": {"matcher": "flat", "sweep": {"grid": {"matcher.radius": [1, 2]}}},
    },
}


def test_axes_of_what_a_matcher_stands_instead_of_are_not_the_matchers():
    runs = load(MIXED).settings
    assert sum(run.method == "plain" for run in runs) == 2 * 3
    # The two equal settings that are left of the axes that moved together are one.
    assert [run.axes for run in runs if run.method == "whole"] == [
        {"search.maximum": maximum, "matcher.radius": radius} for maximum in (8, 9) for radius in (1, 2)
    ]
    top = {"matcher": "flat", "sweep": {"grid": {"matcher.radius": [1, 2, 3], "matching_cost.truncation": [4, 5]}}}
    runs = load({**top, "methods": {"a": {}, "b": {"include": "window"}}}).settings
    assert [(run.method, run.axes) for run in runs] == [
        *[("a", {"matcher.radius": radius}) for radius in (1, 2, 3)],
        *[("b", {"matching_cost.truncation": truncation}) for truncation in (4.0, 5.0)],
    ]


def test_axes_that_came_with_what_was_removed_go_with_it(write):
    write(base=f"{VOLUME}sweep: {{grid: {{matching_cost.truncation: [1, 2], aggregation: [[box], []], seed: [1, 2]}}}}\n")
    write(mine="include: base.yaml\nmatcher: dice\n")
    assert [run.axes for run in load("mine.yaml").settings] == [{"seed": 1}, {"seed": 2}]
    write(base=f"{VOLUME}sweep: {{zip: {{matching_cost.truncation: [1, 2, 3], search.maximum: [8, 8, 9]}}}}\n")
    assert [run.axes for run in load("mine.yaml").settings] == [{"search.maximum": 8}, {"search.maximum": 9}]


def test_overrides_of_what_some_methods_do_not_have():
    script = {"methods": {"a": {"matcher": "flat"}, "b": {"include": "window"}}}
    a, b = load(script, overrides=["matching_cost.truncation=3"]).settings
    assert (_stages(a), b.parameters["matching_cost.truncation"]) == ({"matcher": "flat"}, 3.0)
    a, b = load(script, overrides=["matcher.radius=3"]).settings
    assert (a.parameters["matcher.radius"], _stages(b)["optimization"]) == (3, "winner_take_all")


def test_pipelines_by_hand_refuse_the_same():
    scenic, flat = (step(find("matcher", name).function) for name in ("scenic", "flat"))
    with pytest.raises(
        ParameterError, match=r"^alternatives\.x\.matcher: scenic needs the scene, and whole makes pairs without one$"
    ):
        Pipeline([flat, find("scheme", "whole").function], {"x": Pipeline([scenic])})
    with pytest.raises(ParameterError, match=r"^refinement\.across: across needs the volume, and the matcher flat makes none$"):
        Pipeline([flat, find("refinement", "across").function])
