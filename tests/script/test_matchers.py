"""Scripts with whole matchers, confidence and schemes: what stands instead of what, which axes stay, what does not go together."""

import pytest

from stereo_framework import Pipeline, step
from stereo_framework.core.errors import ParameterError, ScriptError
from stereo_framework.core.stage import find
from stereo_framework.script import load

pytestmark = pytest.mark.usefixtures("tiny")


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text)

    return write


def _faults(source, **options):
    with pytest.raises(ScriptError) as caught:
        load(source, **options)
    return list(caught.value.faults)


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


def test_both_in_one_mapping_is_one_fault_with_all_places(write):
    write(mine=f"{MATCHER}matching_cost: absolute_difference\naggregation: []\nsmoothness:\noptimization: winner_take_all\n")
    assert _faults("mine.yaml") == [
        "mine.yaml:1:10: matcher: a matcher stands instead of matching_cost (mine.yaml:2:16), optimization (mine.yaml:5:15); "
        "keep one or the other"
    ]
    write(mine="include: window\nmethods: {a: {matcher: flat, aggregation: box}}\nsweep: {grid: {aggregation.box.size: [3]}}\n")
    [fault] = _faults("mine.yaml")
    assert fault.startswith("mine.yaml:2:24: methods.a.matcher: a matcher stands instead of aggregation (mine.yaml:2:43); ")
    # An axis over a slot fills it as well.
    write(mine=f"{MATCHER}sweep: {{grid: {{matching_cost: [absolute_difference]}}}}\n")
    [fault] = _faults("mine.yaml")
    assert "stands instead of matching_cost (mine.yaml:2:16)" in fault
    [fault] = _faults({"matcher": "flat", "optimization": "winner_take_all"})
    assert fault == "matcher: a matcher stands instead of optimization; keep one or the other"


def test_an_empty_slot_is_none(write):
    write(mine=f"{VOLUME}matcher:\n")
    assert _stages(load("mine.yaml").settings[0])["optimization"] == "winner_take_all"


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


def test_an_axis_that_no_method_can_use_is_a_fault(write):
    sweep = "sweep: {grid: {matching_cost.truncation: [1, 2], seed: [1, 2]}}\n"
    write(mine=f"{sweep}methods: {{a: {{matcher: dice}}, b: {{matcher: dice}}}}\n")
    assert _faults("mine.yaml") == [
        "mine.yaml:1:16: sweep.grid.matching_cost.truncation: addresses nothing: none of the methods has this slot"
    ]
    write(mine=f"{sweep}matcher: dice\n")
    [fault] = _faults("mine.yaml")
    assert fault.startswith(
        "mine.yaml:1:16: sweep.grid.matching_cost.truncation: addresses nothing: there is no matching_cost stage"
    )
    write(mine="methods: {a: {matcher: dice, sweep: {grid: {matching_cost.truncation: [1]}}}}\n")
    assert len(_faults("mine.yaml")) == 1


def test_overrides_of_what_some_methods_do_not_have():
    script = {"methods": {"a": {"matcher": "flat"}, "b": {"include": "window"}}}
    a, b = load(script, overrides=["matching_cost.truncation=3"]).settings
    assert (_stages(a), b.parameters["matching_cost.truncation"]) == ({"matcher": "flat"}, 3.0)
    a, b = load(script, overrides=["matcher.radius=3"]).settings
    assert (a.parameters["matcher.radius"], _stages(b)["optimization"]) == (3, "winner_take_all")
    assert len(_faults({"matcher": "flat"}, overrides=["matching_cost.truncation=3"])) == 1


def test_what_a_matcher_makes_no_volume_for_is_told_with_both_places(write):
    write(
        mine="confidence: [sure, margin]\nrefinement: [across]\n"
        "methods:\n  fine: {include: window}\n  wrong:\n    matcher: flat\n    refinement: [across, parabola]\n"
    )
    assert _faults("mine.yaml") == [
        "mine.yaml:1:20: confidence[1]: margin needs the volume, and the matcher flat (mine.yaml:6:14) makes none (method 'wrong')",
        "mine.yaml:7:18: methods.wrong.refinement[0]: across needs the volume, and the matcher flat (mine.yaml:6:14) makes none "
        "(method 'wrong')",
        "mine.yaml:7:26: methods.wrong.refinement[1]: parabola needs the volume, and the matcher flat (mine.yaml:6:14) makes none "
        "(method 'wrong')",
    ]
    write(mine="matcher: flat\nsweep: {grid: {refinement: [[], [parabola]]}}\n")
    [fault] = _faults("mine.yaml")
    assert fault.startswith(
        "mine.yaml:2:34: sweep.grid.refinement[1][0]: parabola needs the volume, and the matcher flat (mine.yaml:1:10)"
    )


def test_the_scene_is_not_to_be_had_under_a_scheme(write):
    write(mine="scheme: [{use: whole, times: 2}]\nmethods: {a: {matcher: scenic}, b: {matcher: flat}}\n")
    assert _faults("mine.yaml") == [
        "mine.yaml:2:24: methods.a.matcher: scenic needs the scene, and whole (mine.yaml:1:10) makes pairs without one (method 'a')"
    ]
    assert len(load({"matcher": "scenic"}).settings) == 1
    # Settings that never meet are not at odds.
    never = {"zip": {"scheme": [[], ["whole"]], "matcher": ["scenic", "flat"]}}
    assert len(load({"sweep": never}).settings) == 2
    assert len(_faults({"sweep": {"grid": never["zip"]}})) == 1
    # Alternatives run on the pairs of the scheme too.
    [fault] = _faults({"matcher": "flat", "scheme": "whole", "refinement": "blend", "alternatives": {"x": {"matcher": "scenic"}}})
    assert fault.startswith("alternatives.x.matcher: scenic needs the scene, and whole makes pairs without one")


def test_a_typing_error_in_a_matcher_is_one_fault():
    [fault] = _faults({**MIXED, "methods": {"plain": {}, "whole": {"matcher": "flatt"}}})
    assert fault.endswith(
        "no stage 'flatt'; legal stages: command, dice, flat, maps, onnx, opencv_bm, opencv_sgbm, patch_match, python, scenic; did you mean 'flat'?"
    )
    [fault] = _faults({"matcher": {"use": "flat", "hight": 3}})
    assert "did you mean 'height'" in fault


def test_seeds_of_matchers():
    script = {"matcher": "dice", "seed": 4, "sweep": {"grid": {"matcher": ["dice", {"use": "dice", "seed": 9}]}}}
    filled, given = load(script).settings
    assert (filled.parameters["matcher.seed"], filled.parameters["seed"]) == (4, 4)
    assert given.parameters["matcher.seed"] == 9
    assert "seed" not in given.parameters


def test_pipelines_by_hand_refuse_the_same():
    scenic, flat = (step(find("matcher", name).function) for name in ("scenic", "flat"))
    with pytest.raises(
        ParameterError, match=r"^alternatives\.x\.matcher: scenic needs the scene, and whole makes pairs without one$"
    ):
        Pipeline([flat, find("scheme", "whole").function], {"x": Pipeline([scenic])})
    with pytest.raises(ParameterError, match=r"^refinement\.across: across needs the volume, and the matcher flat makes none$"):
        Pipeline([flat, find("refinement", "across").function])
