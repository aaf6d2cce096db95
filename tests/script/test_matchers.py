"""Scripts with whole matchers: what stands instead of what, and what does not go together."""

import pytest

from stereo_framework import Pipeline, step
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.registration import find
from stereo_framework.script import load

pytestmark = pytest.mark.usefixtures("tiny")


def _stages(run):
    return {
        key.removesuffix(".use"): value
        for key, value in run.parameters.items()
        if key.endswith(".use")
    }


MATCHER = "matcher: {use: flat, height: 1}\n"
VOLUME = "matching_cost: {use: absolute_difference, truncation: 20}\noptimization: winner_take_all\naggregation: [box]\n"


@pytest.mark.parametrize(
    ("base", "mine", "left"),
    [
        (VOLUME, MATCHER, {"matcher": "flat"}),
        (VOLUME + "smoothness: potts\n", "sweep: {grid: {matcher: [flat]}}\n", {"matcher": "flat"}),
        (
            MATCHER,
            VOLUME,
            {
                "matching_cost": "absolute_difference",
                "aggregation": "box",
                "optimization": "winner_take_all",
            },
        ),
        # What is empty removes nothing.
        (MATCHER, "aggregation: []\nrefinement: []\n", {"matcher": "flat"}),
        (
            VOLUME,
            "matcher:\naggregation:\n",
            {"matching_cost": "absolute_difference", "optimization": "winner_take_all"},
        ),
    ],
)
def test_the_later_removes_the_other(write, base, mine, left):
    write(
        base=base,
        mine="include: base.yaml\n" + mine,
        method=f"include: base.yaml\nmethods:\n  a: {{{_flow(mine)}}}\n",
    )
    write(included="methods:\n  a: {include: [base.yaml, over.yaml]}\n", over=mine)
    for name in ("mine", "method", "included"):
        [run] = load(f"{name}.yaml").settings
        assert _stages(run) == left


def _flow(text):
    return ", ".join(
        line if not line.endswith(":") else f"{line} null" for line in text.splitlines()
    )


def test_pipelines_by_hand_refuse_the_same():
    scenic, flat = (step(find("matcher", name).function) for name in ("scenic", "flat"))
    message = r"scenic needs the scene, but the scheme whole makes pairs without the scene"
    with pytest.raises(ParameterError, match=rf"^auxiliary\.x\.matcher: {message}$"):
        Pipeline([flat, find("scheme", "whole").function], {"x": Pipeline([scenic])})
    message = r"across needs the volume, but the matcher flat makes no cost volume"
    with pytest.raises(ParameterError, match=rf"^refinement\.across: {message}$"):
        Pipeline([flat, find("refinement", "across").function])
