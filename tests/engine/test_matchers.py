"""Whole matchers in a method: how often they run, what is doubted, and what does not go with them."""

import numpy as np
import pytest
from pipeline_parts import local, textured

from stereo_framework import Pipeline
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.registration import stage
from stereo_framework.core.view import BothSides
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.refinement import fill_occlusions, left_right_check, median, parabola


@pytest.mark.parametrize("views", [1, 2])
def test_what_looks_across_makes_it_run_on_the_exchanged_pair_unless_it_gives_both(registry, views):
    calls = []

    @stage("matcher", source="a test")
    def flat(reference, match, search):
        calls.append(search.direction)
        disparity = np.full(reference.shape, 2, np.float32)
        return BothSides(disparity, disparity) if views == 2 else disparity

    for scene in (textured(), textured().pair(1, 0)):
        Pipeline([flat])(scene)
        assert calls == [scene.direction]
        calls.clear()
        Pipeline([flat, left_right_check, fill_occlusions, left_right_check, median])(scene)
        assert calls == [scene.direction, -scene.direction][: 3 - views]
        calls.clear()


def test_warnings_come_from_disparities(registry):
    @stage("matcher", source="a test")
    def at_the_end(reference, match, search):
        return np.full(reference.shape, search.maximum, np.float32)

    found = Pipeline([at_the_end])(textured())
    [warning] = found.warnings
    assert warning.startswith("100 % of the pixels chose the upper end of the search range, 4:")
    assert (found.levels, found.energy, found.objective, found.trace) == (None, None, None, ())


def test_what_does_not_go_together(registry):
    @stage("matcher", source="a test")
    def one_view(reference, match, search):
        raise AssertionError("never called")

    @stage("confidence", **local)
    def needs_costs(disparity, volume):
        return disparity

    with pytest.raises(ParameterError) as caught:
        Pipeline([one_view, absolute_difference, needs_costs, parabola])
    assert str(caught.value).splitlines() == [
        "matching_cost: the matcher one_view replaces this slot; remove one of both",
        "confidence.needs_costs: needs_costs needs the volume, but the matcher one_view makes no cost volume",
        "refinement.parabola: parabola needs the volume, but the matcher one_view makes no cost volume",
    ]
