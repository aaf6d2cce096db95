"""Both views: matched once however many stages and settings look across, and by optimizers that decide both at once."""

import dataclasses

import numpy as np
import pytest
from pipeline_parts import not_local, textured

from stereo_framework import Pipeline, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.core.view import BothSides, DisparityMap
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import fill_occlusions, left_right_check, median

PAIR = Pair.of(textured(rows=20, columns=40))


@pytest.fixture
def counted(registry):
    """An aggregation that notes each call."""
    calls = []

    @stage("aggregation", source="a test")
    def counted_box(volume, *, size: int = 7):
        calls.append(volume.search.direction)
        return box(volume, size=size)

    return calls, counted_box


def test_each_view_is_matched_once(counted):
    calls, counted_box = counted
    method = Pipeline([absolute_difference, counted_box, winner_take_all])
    refinements = [
        [step(left_right_check, tolerance=t), fill_occlusions, left_right_check]
        for t in (0.0, 1.0, 4.0)
    ]
    found = dict(
        PipelineRunner([method.having(refinement=some) for some in (*refinements, [median])], PAIR)
    )
    assert sorted(calls) == [-1, 1]
    # The seconds are those of what each needs of both views, as if it had been alone.
    for index, last in ((0, "refinement.2"), (3, "refinement.median")):
        begins = [
            "matching_cost",
            "aggregation.counted_box",
            "restore_outside_cost",
            "optimization",
        ]
        assert list(found[index].seconds)[:4] == begins
        assert list(found[index].seconds)[-1] == last
    assert found[0].seconds["optimization"] > found[3].seconds["optimization"]


@pytest.mark.parametrize("narrow", [False, True])
def test_an_optimizer_that_names_other_decides_both_sides_at_once(counted, narrow):
    calls, counted_box = counted
    seen = []

    @stage("optimization", source="a test", other_needs={"volume"})
    def both_at_once(volume, reference, match, search, other, mask=None):
        seen.append((search.direction, other.search.direction, other.disparity_map is None))
        np.testing.assert_array_equal(reference, PAIR.reference)
        return BothSides(
            *(
                one.search.disparities[one.costs.argmin(axis=2)] + np.float32(0.25)
                for one in (volume, other.volume)
            )
        )

    low = np.full(PAIR.shape, PAIR.search.minimum + 2, np.float32)
    problem = dataclasses.replace(PAIR, mask=SearchMask(low=low) if narrow else None)
    method = Pipeline([absolute_difference, counted_box, both_at_once])
    # Alone, and for stages that look across once and twice more: it runs once, and each side's costs are made once.
    found = dict(
        PipelineRunner(
            [method.having(refinement=n * [left_right_check]) for n in range(3)], problem
        )
    )
    assert seen == [(1, -1, True)]
    assert sorted(calls) == [-1, 1]
    [(_, sides)] = PipelineRunner([method], problem, both=True)
    assert seen == 2 * [(1, -1, True)]
    for match, one in zip(sides, (problem, problem.exchanged()), strict=True):
        expected = Pipeline([absolute_difference, counted_box, winner_take_all])(one)
        known = np.isfinite(expected.disparity)
        np.testing.assert_array_equal(
            match.disparity[known], expected.disparity[known] + np.float32(0.25)
        )
        assert (match.levels, match.energy) == (None, None)
        # A closed level is no estimate, and a pixel without an open cell is invalid.
        assert known.all() != narrow or one is problem
        np.testing.assert_array_equal(
            match.status == Status.INVALID, expected.status == Status.INVALID
        )
    np.testing.assert_array_equal(found[0].disparity, sides[0].disparity)
    own, other = (DisparityMap(match.disparity, match.status, match.search) for match in sides)
    checked, _ = left_right_check(own.disparity, other, own.search, own.status)
    np.testing.assert_array_equal(found[1].disparity, checked)


def test_one_side_of_both_is_refused(registry):
    @stage("optimization", source="a test")
    def one_alone(volume, other):
        return winner_take_all(volume)

    said = r"returned Labeling\(.*; expected BothSides of both disparity maps, since it names other"
    with pytest.raises(StereoFrameworkError, match=said):
        Pipeline([absolute_difference, one_alone])(PAIR)


def test_a_volume_that_nobody_declared_is_told(registry):
    @stage("refinement", **not_local, other_needs=())
    def looks(disparity, other):
        return disparity + other.volume.costs[..., 0]

    @stage("refinement", **not_local)
    def helper_looks(disparity, other):
        return disparity + raw_of(other)

    scene = textured()
    for refinement, name in ((looks, "volume"), (helper_looks, "raw")):
        with pytest.raises(
            StereoFrameworkError,
            match=rf"^the cost volume '{name}' of the other image was not kept; declare that the stage reads it: @stage\(..., other_needs={{'{name}'}}\)$",
        ):
            Pipeline([absolute_difference, winner_take_all, refinement])(scene)


def raw_of(view):
    return view.raw.costs[..., 0]
