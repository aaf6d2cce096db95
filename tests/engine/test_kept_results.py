"""Stored results, which are reused only for the same pair, image and parameters."""

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

RANDOM = np.random.default_rng(4)
PLAIN = Pipeline([absolute_difference, step(box, size=3), winner_take_all])


def random_image(rows=8, columns=20):
    """Return a random grey image."""
    return RANDOM.integers(0, 256, (rows, columns), np.uint8)


PAIR = Pair(random_image(), random_image(), SearchRange(0, 5))


def with_half_the_rows(image):
    """Return an image with half the rows, twice the columns and the same bytes."""
    return image.reshape(image.shape[0] // 2, -1)


CHANGED_SEARCH_RANGES = {
    "smaller maximum": {"search": SearchRange(0, 3)},
    "larger minimum": {"search": SearchRange(1, 5)},
    "smaller step": {"search": SearchRange(0, 5, 0.5)},
    "other direction": {"search": SearchRange(0, 5, 1, -1)},
}
CHANGED_IMAGES = {
    "reference image": {"reference": random_image()},
    "match image": {"match": random_image()},
    "shape": {
        "reference": with_half_the_rows(PAIR.reference),
        "match": with_half_the_rows(PAIR.match),
    },
}
CHANGED_MASKS = {
    "valid pixels": {"mask": SearchMask(valid=RANDOM.random(PAIR.shape) < 0.7)},
    "limits of disparities": {"mask": SearchMask(low=np.full(PAIR.shape, 2, np.float32))},
}
CHANGES = CHANGED_SEARCH_RANGES | CHANGED_IMAGES | CHANGED_MASKS
"""Fields of a pair that differs from `PAIR`, by a description of the difference."""


def assert_is_estimate_of(estimate, method, pair):
    """Assert that an estimate equals the estimate of a separate run on a pair."""
    np.testing.assert_array_equal(estimate.disparity, method.estimate(pair).disparity)
    assert estimate.search == pair.search


# --- schemes --------------------------------------------------------------------------


def scheme_with_changed_pair(change):
    """Register a scheme that first solves a changed pair, and then its pair.

    Parameters
    ----------
    change : dict of str to object
        Fields of the changed pair that differ from the fields of the pair.

    Returns
    -------
    scheme : callable
    solutions : list of (Pair, Estimate)
        Each changed pair with its estimate. The scheme appends to this list.
    """
    solutions = []

    @stage("scheme", source="a test")
    def solve_two_pairs(solve, pair):
        # The scheme runs for both images, but solves the changed pair only once.
        is_left_image = pair.search.direction > 0
        if is_left_image:
            changed_pair = replace(pair, **change)
            solutions.append((changed_pair, solve(changed_pair)))
        return solve(pair)

    return solve_two_pairs, solutions


@pytest.mark.parametrize("name", CHANGES)
def test_a_scheme_gets_the_match_of_each_pair_that_it_solves(registry, name):
    scheme, solutions = scheme_with_changed_pair(CHANGES[name])
    [(_, estimates)] = PipelineRunner([PLAIN.having(scheme=scheme)], PAIR, both=True)
    assert not isinstance(estimates, Exception), estimates
    for estimate, pair in zip(estimates, (PAIR, PAIR.exchanged()), strict=True):
        assert_is_estimate_of(estimate, PLAIN, pair)

    [(changed_pair, changed_estimate)] = solutions
    assert_is_estimate_of(changed_estimate, PLAIN, changed_pair)


def test_each_method_under_a_scheme_gets_the_estimates_of_this_method():
    methods = (PLAIN, PLAIN.having(aggregation=[step(box, size=7)]))
    # The reduction 1 does not change the pair, so the scheme changes no disparity.
    with_scheme = [method.having(scheme=step(coarse, reduction=1)) for method in methods]
    for index, estimates in PipelineRunner(with_scheme, PAIR, both=True):
        for estimate, pair in zip(estimates, (PAIR, PAIR.exchanged()), strict=True):
            assert_is_estimate_of(estimate, methods[index], pair)


# --- auxiliary methods ----------------------------------------------------------------


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("matches_both_images", [False, True])
def test_stored_maps_of_auxiliary_methods_are_reused_only_for_the_same_pair(
    registry, name, matches_both_images
):
    @stage("refinement", source="a test")
    def copy_auxiliary_map(disparity, auxiliary):
        return auxiliary["first"].disparity.copy()

    refinements = [copy_auxiliary_map]
    if matches_both_images:
        refinements.append(left_right_check)
    method = PLAIN.having(refinement=refinements, auxiliary={"first": PLAIN})

    stored_results = {}
    for pair in (PAIR, replace(PAIR, **CHANGES[name]), PAIR):
        [(_, estimate)] = PipelineRunner([method], pair, cache=stored_results)
        assert_is_estimate_of(estimate, method, pair)
    # The last run finds the maps of the first run.
    assert len(stored_results) == 2


# --- functions of an image ------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "parameters", "number_of_calls"),
    [
        ((), {}, 1),
        ((2,), {}, 2),
        ((), {"factor": 3}, 2),
        ((), {"offset": 3}, 2),
    ],
)
def test_a_per_image_function_runs_again_only_with_other_parameters(
    arguments, parameters, number_of_calls
):
    calls = []

    @per_image
    def scaled(image, factor=1, *, offset=0):
        calls.append((factor, offset))
        return image * factor + offset

    image = random_image()
    image.flags.writeable = False
    with storing_results({}):
        scaled(image)
        scaled(image, *arguments, **parameters)
    assert len(calls) == number_of_calls


def assert_calls_for_image_and_array(make_array, number_of_calls):
    """Assert how often a per-image function runs for an image and then for an array.

    Parameters
    ----------
    make_array : callable
        Function that makes the array from the image.
    number_of_calls : int
        Expected number of calls: 1 if the second result is the stored one, else 2.
    """
    shapes = []

    @per_image
    def total(image):
        shapes.append(image.shape)
        return int(image.sum())

    @per_image
    def negative_total(image):
        return -int(image.sum())

    image = random_image(8, 8)
    array = make_array(image)
    # Results are stored only for read-only arrays.
    image.flags.writeable = False
    array.flags.writeable = False

    with storing_results({}):
        assert total(image) == int(image.sum())
        assert total(array) == int(array.sum())
        # Another function does not get the stored result of the first one.
        assert negative_total(image) == -int(image.sum())
    assert len(shapes) == number_of_calls


EQUAL_ARRAYS = {
    "same array": lambda image: image,
    "slice of all rows": lambda image: image[:],
}
OTHER_ARRAYS = {
    "first rows": lambda image: image[:4],
    "last rows": lambda image: image[1:],
    "every second column": lambda image: image[:, ::2],
    "every second row": lambda image: image[::2],
    "other type": lambda image: image.view(np.int8),
    "exchanged axes": lambda image: image.T,
    "copy": lambda image: image.copy(),
}


@pytest.mark.parametrize("name", EQUAL_ARRAYS)
def test_a_per_image_function_runs_once_for_arrays_with_the_same_address_shape_strides_and_type(
    name,
):
    assert_calls_for_image_and_array(EQUAL_ARRAYS[name], number_of_calls=1)


@pytest.mark.parametrize("name", OTHER_ARRAYS)
def test_a_per_image_function_runs_again_for_an_array_with_another_address_shape_strides_or_type(
    name,
):
    assert_calls_for_image_and_array(OTHER_ARRAYS[name], number_of_calls=2)
