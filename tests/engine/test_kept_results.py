"""Results that several pairs share: every part of their keys counts."""

from dataclasses import replace

import numpy as np
import pytest

from stereo_framework import Pipeline, SearchRange, step
from stereo_framework.aggregation import box
from stereo_framework.core.call_context import per_image, storing_results
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.core.volume import SearchMask
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import left_right_check
from stereo_framework.scheme import coarse

CHANCE = np.random.default_rng(4)
PLAIN = Pipeline([absolute_difference, step(box, size=3), winner_take_all])


def texture(rows=8, columns=20):
    """Return a random image."""
    return CHANCE.integers(0, 256, (rows, columns), np.uint8)


PAIR = Pair(texture(), texture(), SearchRange(0, 5))


def as_wide_rows(image):
    """Return an image of half the rows and twice the columns with the same bytes."""
    return image.reshape(image.shape[0] // 2, -1)


CHANGES = {
    "narrower range": {"search": SearchRange(0, 3)},
    "later range": {"search": SearchRange(1, 5)},
    "finer range": {"search": SearchRange(0, 5, 0.5)},
    "other side": {"search": SearchRange(0, 5, 1, -1)},
    "reference image": {"reference": texture()},
    "match image": {"match": texture()},
    "shape": {"reference": as_wide_rows(PAIR.reference), "match": as_wide_rows(PAIR.match)},
    "mask": {"mask": SearchMask(valid=CHANCE.random(PAIR.shape) < 0.7)},
    "range of each pixel": {"mask": SearchMask(low=np.full(PAIR.shape, 2, np.float32))},
}


@pytest.fixture
def solved_twice(registry):
    """Return a function that makes a scheme, which first solves another pair."""

    def make(change):
        @stage("scheme", source="a test")
        def solves_twice(solve, pair):
            if pair.search.direction > 0:
                other = replace(pair, **change)
                solutions.append((other, solve(other)))
            return solve(pair)

        solutions = []
        return solves_twice, solutions

    return make


@pytest.mark.parametrize("name", CHANGES)
def test_a_scheme_gets_the_match_of_each_pair_that_it_solves(solved_twice, name):
    scheme, solutions = solved_twice(CHANGES[name])
    [(_, sides)] = PipelineRunner([PLAIN.having(scheme=scheme)], PAIR, both=True)
    assert not isinstance(sides, Exception), sides
    for match, pair in zip(sides, (PAIR, PAIR.exchanged()), strict=True):
        np.testing.assert_array_equal(match.disparity, PLAIN.estimate(pair).disparity)
        assert match.search == pair.search
    [(other, match)] = solutions
    np.testing.assert_array_equal(match.disparity, PLAIN.estimate(other).disparity)
    assert match.search == other.search


def test_two_methods_under_one_scheme_get_their_own_matches():
    wide = PLAIN.having(aggregation=[step(box, size=7)])
    methods = [method.having(scheme=step(coarse, reduction=1)) for method in (PLAIN, wide)]
    for index, sides in PipelineRunner(methods, PAIR, both=True):
        for match, pair in zip(sides, (PAIR, PAIR.exchanged()), strict=True):
            expected = (PLAIN, wide)[index].estimate(pair)
            np.testing.assert_array_equal(match.disparity, expected.disparity)


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "shape"])
@pytest.mark.parametrize("both", [False, True])
def test_kept_views_of_auxiliary_methods_are_those_of_the_same_pair(registry, name, both):
    @stage("refinement", source="a test")
    def copy_auxiliary_map(disparity, auxiliary):
        return auxiliary["first"].disparity.copy()

    method = PLAIN.having(refinement=[copy_auxiliary_map], auxiliary={"first": PLAIN})
    if both:
        method = method.having(refinement=[copy_auxiliary_map, left_right_check])
    memo = {}
    for pair in (PAIR, replace(PAIR, **CHANGES[name]), PAIR):
        [(_, match)] = PipelineRunner([method], pair, cache=memo)
        np.testing.assert_array_equal(match.disparity, method.estimate(pair).disparity)


@pytest.mark.parametrize(
    ("arguments", "parameters", "is_kept"),
    [
        ((), {}, True),
        ((2,), {}, False),
        ((), {"factor": 3}, False),
        ((), {"offset": 3}, False),
    ],
)
def test_a_function_of_an_image_is_computed_once_for_each_of_its_parameters(
    arguments, parameters, is_kept
):
    calls = []

    @per_image
    def scaled(image, factor=1, *, offset=0):
        calls.append((factor, offset))
        return image * factor + offset

    image = texture()
    image.flags.writeable = False
    with storing_results({}):
        scaled(image)
        scaled(image, *arguments, **parameters)
        assert len(calls) == (1 if is_kept else 2)


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [
        (lambda image: image, True),
        (lambda image: image[:], True),
        (lambda image: image[:4], False),
        (lambda image: image[1:], False),
        (lambda image: image[:, ::2], False),
        (lambda image: image[::2], False),
        (lambda image: image.view(np.int8), False),
        (lambda image: image.T, False),
        (lambda image: image.copy(), False),
    ],
)
def test_a_function_of_an_image_is_computed_for_each_other_view_of_its_memory(change, is_kept):
    calls = []

    @per_image
    def total(image):
        calls.append(image.shape)
        return int(image.sum())

    @per_image
    def other_total(image):
        return -int(image.sum())

    image = texture(8, 8)
    image.flags.writeable = False
    changed = change(image)
    changed.flags.writeable = False
    with storing_results({}):
        assert total(image) == int(image.sum())
        assert total(changed) == int(changed.sum())
        assert other_total(image) == -int(image.sum())
    assert len(calls) == (1 if is_kept else 2)
