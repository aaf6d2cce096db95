"""Support that follows the images is worth more than none, or than a window, on a photograph."""

import pytest

from stereo_framework import Pipeline, load_scene, step
from stereo_framework.evaluation import evaluate
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all


@pytest.mark.parametrize(
    ("name", "truncation", "other", "share"),
    [
        pytest.param("cross_based", None, [], 1 / 4, marks=pytest.mark.slow),
        ("guided_filter", None, [], 1 / 4),
        ("minimum_spanning_tree", 40, [step("box", size=9)], 1),
        # No paper has a figure for maps that nothing refines.
        pytest.param("support_weights", 40, [step("box", size=9)], 1, marks=pytest.mark.slow),
    ],
)
def test_better_than(data, name, truncation, other, share):
    scene = load_scene("tsukuba", data=data)
    cost = step(absolute_difference, truncation=truncation)
    plain, supported = (
        evaluate(Pipeline([cost, *stages, winner_take_all])(scene).disparity, scene)["bad_pixels_nonocc"]
        for stages in (other, [step(name)])
    )
    assert supported < share * plain
