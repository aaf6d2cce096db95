"""Methods within methods: auxiliary methods and schemes."""

import dataclasses

import numpy as np
import pytest
from pipeline_parts import MIRRORED, local, not_local, textured

from stereo_framework import Pipeline, SearchRange, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.registration import stage
from stereo_framework.engine.memory import peak_memory
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.matching_cost import absolute_difference, squared_difference
from stereo_framework.optimization import graph_cut, winner_take_all
from stereo_framework.refinement import left_right_check, median
from stereo_framework.scheme import coarse, pyramid
from stereo_framework.smoothness import potts

PLAIN = Pipeline([absolute_difference, winner_take_all])
ROBUST = Pipeline([squared_difference, step(box, size=3), winner_take_all, left_right_check])


@pytest.fixture
def seen(registry):
    """Return a counting matching cost, and a refinement that reads an auxiliary map."""
    calls = []

    @stage("matching_cost", **local)
    def counted(reference, match, search):
        if reference.shape[:2] != MIRRORED:
            calls.append(search.direction)
        return absolute_difference(reference, match, search)

    @stage("refinement", **not_local)
    def merge(disparity, auxiliary, *, threshold: float = 1.0):
        return np.where(np.isnan(auxiliary["robust"].disparity), np.float32(threshold), disparity)

    return calls, counted, merge


def test_auxiliary_methods_are_matched_once_for_many_settings(seen):
    calls, counted, merge = seen
    robust = PLAIN.having(matching_cost=counted)
    method = Pipeline([squared_difference, winner_take_all], {"robust": robust})
    # What looks across wants both views of them.
    some = [
        method.having(refinement=[step(merge, threshold=t), left_right_check])
        for t in (0.0, 1.0, 2.0, 3.0)
    ]
    found = dict(PipelineRunner(some, textured()))
    assert sorted(calls) == [-1, 1]
    assert not any(isinstance(outcome, Exception) for outcome in found.values())
    # Another auxiliary method makes another method, though the stages are the same.
    other = some[0].having(auxiliary={"robust": robust.having(refinement=[median])})
    assert other != some[0]
    calls.clear()
    dict(PipelineRunner([some[0], other], textured()))
    assert sorted(calls) == [-1, -1, 1, 1]


def test_an_auxiliary_method_of_an_auxiliary_method_is_matched_once(seen):
    calls, counted, merge = seen
    first = PLAIN.having(matching_cost=counted)
    inner = PLAIN.having(refinement=[merge, left_right_check], auxiliary={"robust": first})
    outer = inner.having(auxiliary={"robust": first, "inner": inner})
    scene = textured()
    outer(scene)
    assert sorted(calls) == [-1, 1]
    # Other images are matched again, and so are they with another range.
    calls.clear()
    outer(scene, scene.search)
    outer(scene.pair(1, 0))
    assert sorted(calls) == [-1, -1, 1, 1]


def test_a_matcher_receives_the_auxiliary_maps_of_each_side(registry):
    @stage("matcher", **not_local)
    def same(reference, match, search, auxiliary):
        return auxiliary["first"].disparity.copy()

    scene = textured()
    expected = PLAIN.having(refinement=[left_right_check])(scene)
    found = Pipeline([same, left_right_check], {"first": PLAIN})(scene)
    np.testing.assert_array_equal(found.disparity, expected.disparity)
    assert np.isnan(found.disparity).any()


def test_stages_of_nested_auxiliary_methods_have_addresses(seen):
    *_, merge = seen
    inner = PLAIN.having(refinement=[merge], auxiliary={"robust": ROBUST})
    method = Pipeline([absolute_difference, winner_take_all, merge], {"robust": inner})
    assert [address for address, _ in method.stages()][:3] == [
        "auxiliary.robust.auxiliary.robust.matching_cost",
        "auxiliary.robust.auxiliary.robust.aggregation.box",
        "auxiliary.robust.auxiliary.robust.optimization",
    ]
    scene = textured()
    match = method(scene)
    assert match.seconds["auxiliary"] > 0
    with pytest.raises(
        ParameterError,
        match=r"^refinement.merge: merge needs auxiliary methods, but the method has none$",
    ):
        Pipeline([absolute_difference, winner_take_all, merge])


def test_auxiliary_methods_count_in_memory(seen):
    *_, merge = seen
    shape, search = (1000, 1000), SearchRange(0, 99)
    cut = Pipeline([absolute_difference, potts, graph_cut])
    method = PLAIN.having(refinement=[merge], auxiliary={"robust": cut})
    plain = peak_memory([PLAIN], shape, search)
    assert peak_memory([cut], shape, search) == 3 * 4 * 1000 * 1000 * 100
    assert (
        peak_memory([method], shape, search) == peak_memory([cut], shape, search, both=True) > plain
    )


@pytest.fixture
def halves(registry):
    """A scheme that runs the upper and the lower half of the rows by themselves."""
    shapes = []

    @stage("scheme", source="a test")
    def halves(solve, pair):
        shapes.append((pair.shape, pair.search.direction))
        middle = pair.shape[0] // 2
        parts = [solve(pair.rows(0, middle)), solve(pair.rows(middle, pair.shape[0]))]
        joined = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("disparity", "status", "levels")
        }
        return dataclasses.replace(parts[0], **joined)

    return halves, shapes


def test_schemes_nest_the_first_outermost(halves):
    halves, shapes = halves
    scene = textured(rows=16)
    match = PLAIN.having(scheme=[halves, halves])(scene)
    # Once on the whole, then on each half.
    assert [shape for shape, _ in shapes] == [(16, 20), (8, 20), (8, 20)]
    # Rows do not reach across each other: the same as without.
    np.testing.assert_array_equal(match.disparity, PLAIN(scene).disparity)
    assert len(match.seconds) == 1
    assert match.seconds.popitem()[1] > 0
    shapes.clear()
    PLAIN.having(scheme=[pyramid, halves])(scene)
    assert [shape for shape, _ in shapes] == [(4, 5), (8, 10), (16, 20)]
    shapes.clear()
    PLAIN.having(scheme=[halves, pyramid])(scene)
    assert [shape for shape, _ in shapes] == [(16, 20)]


def test_both_views_of_a_method_under_a_scheme(halves, registry):
    halves, shapes = halves
    scene = textured(rows=16)
    method = PLAIN.having(scheme=[halves])
    [(_, both)] = PipelineRunner([method], scene, both=True)
    assert [direction for _, direction in shapes] == [1, -1]
    for match, one in zip(both, (scene, scene.pair(1, 0)), strict=True):
        np.testing.assert_array_equal(match.disparity, PLAIN(one).disparity)
        assert match.search == PLAIN(one).search


def test_both_views_of_several_methods_under_a_scheme_are_not_mixed_up():
    some = [method.having(scheme=coarse) for method in (PLAIN, ROBUST)]
    found = dict(PipelineRunner(some, textured(rows=16), both=True))
    for i, method in enumerate(some):
        [(_, alone)] = PipelineRunner([method], textured(rows=16), both=True)
        for side in (0, 1):
            np.testing.assert_array_equal(found[i][side].disparity, alone[side].disparity)


def test_a_scene_is_refused_under_a_scheme(registry):
    @stage("matcher", source="a test")
    def needs_scene(reference, match, search, scene):
        return np.zeros(reference.shape, np.float32)

    with pytest.raises(
        ParameterError,
        match=r"^matcher: needs_scene needs the scene, but the scheme pyramid makes pairs without",
    ):
        Pipeline([needs_scene, pyramid])
