"""The guided filter beside its twin, and what follows from its definition."""

from dataclasses import replace

import naive_support
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, image_pairs, in_threads, searches
from pipeline_parts import in_strips, make_scene

from stereo_framework import CostVolume, Pipeline, Search, evaluate, load_scene, step
from stereo_framework.aggregation import guided_filter
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.per_image import keeping
from stereo_framework.matching_cost import absolute_difference, ad_census
from stereo_framework.optimization import winner_take_all


@given(
    data=st.data(),
    images=image_pairs(),
    search=searches(),
    radius=st.sampled_from([1, 2, 9]),
    epsilon=st.sampled_from([1e-4, 1e-2, 1e-6, 1.0]),
    threads=st.integers(1, 2),
)
def test_agrees_with_twin(data, images, search, radius, epsilon, threads):
    image = images[0]
    shape = (*image.shape[:2], search.levels)
    costs = data.draw(filled(shape, np.append(np.arange(256) / 16, [1020] * 30))).astype(np.float32)
    before = costs.copy()
    with in_threads(threads):
        result = guided_filter(CostVolume(costs, search, 1020.0), image, radius=radius, epsilon=epsilon)
    expected = naive_support.guided_filter(costs, image, radius=radius, epsilon=epsilon)
    # Costs are rounded by up to 2^-25 of 1024 (float images; a flat window's fit leaves them alone, steep ones enlarge that by the
    # intensities' 255 over twice epsilon's root), results to float32.
    np.testing.assert_allclose(result.costs, expected, rtol=2e-7, atol=1e-4 / min(1, 100 * epsilon**0.5))
    np.testing.assert_array_equal(costs, before)
    assert (result.search, result.outside, result.costs.dtype) == (search, 1020.0, np.float32)


@pytest.mark.parametrize("levels", [31, 32, 33, 70])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_levels_and_rows_beyond_those_that_are_filtered_at_a_time(levels, channels):
    rng = np.random.default_rng(levels)
    image = rng.integers(0, 256, (30, 11, *channels), dtype=np.uint8)
    costs = rng.random((30, 11, levels)).astype(np.float32)
    expected = naive_support.guided_filter(costs, image, radius=3, epsilon=1e-4)
    result = guided_filter(CostVolume(costs, Search(0, levels - 1), 1.0), image, radius=3).costs
    # Results of the size of the costs, rounded to float32; costs to 2^-35.
    np.testing.assert_allclose(result, expected, rtol=0, atol=1.5e-7)


def test_a_linear_function_of_the_colours_stays():
    image = np.random.default_rng(1).integers(0, 256, (12, 15, 3), dtype=np.uint8)
    costs = (image @ [0.5, 0.25, 1.0])[..., None].repeat(2, axis=2).astype(np.float32)
    result = guided_filter(CostVolume(costs, Search(0, 1), 512.0), image, radius=2, epsilon=1e-12).costs
    # Epsilon draws fits to the mean by its share in the variance, 1e-7 grey levels squared in some hundreds.
    np.testing.assert_allclose(result, costs, atol=1e-3)


def test_a_flat_guide_gives_the_mean_of_means():
    costs = np.array([[8, 0, 0, 0]], np.float32)[..., None].repeat(2, axis=2)
    result = guided_filter(CostVolume(costs, Search(0, 1), 8.0), np.full((1, 4), 70, np.uint8), radius=1).costs[0, :, 0]
    # Means over clipped windows: 4, 8/3, 0, 0; and of them again.
    np.testing.assert_allclose(result, [10 / 3, 20 / 9, 8 / 9, 0], rtol=2e-7)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.compiled
def test_strips_and_threads_change_nothing(dtype):
    left, right = (np.random.default_rng(3).integers(0, 256, (2, 45, 14, 3)) / (1 if dtype == np.uint8 else 1.7)).astype(dtype)
    bound = step(guided_filter, radius=3)
    # AD-census costs have all digits of a float32.
    method = Pipeline([ad_census, bound, winner_take_all])
    scene = make_scene(left, right, Search(0, 4))
    expected = in_strips(1000, method, scene, keep_volume=True)
    assert bound.halo == 6
    with in_threads(2):
        for height in (5, 25):
            found = in_strips(height, method, scene, keep_volume=True)
            np.testing.assert_array_equal(found.volume.costs, expected.volume.costs)


def test_sums_are_exact_whatever_comes_before():
    # Running sums in float64 that began at other rows would end in other digits: costs of very different sizes.
    rng = np.random.default_rng(4)
    image = (rng.random((150, 9, 3)) * 255).astype(np.float32)
    costs = (rng.random((150, 9, 3)) ** 20).astype(np.float32)
    volume = CostVolume(costs, Search(0, 2), 1.0)
    whole = guided_filter(volume, image, radius=2).costs
    for top in range(80, 100, 4):
        part = guided_filter(replace(volume, costs=costs[top:]), image[top:], radius=2).costs
        np.testing.assert_array_equal(part[4:], whole[top + 4 :])


def test_settings_share_what_is_computed_of_the_guide():
    image = np.random.default_rng(6).integers(0, 256, (5, 8, 3), dtype=np.uint8)
    image.flags.writeable = False
    volume = CostVolume(np.zeros((5, 8, 3), np.float32), Search(0, 2), 1.0)
    kept: dict = {}
    with keeping(kept):
        guided_filter(volume, image)
        guided_filter(replace(volume, outside=2.0), image)
        assert len(kept) == 1
        guided_filter(volume, image, radius=2)
    assert len(kept) == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"radius": 0}, "guided_filter.radius: 0 is not a whole number >= 1"),
        ({"epsilon": 0}, "guided_filter.epsilon: 0 is not a number > 0"),
    ],
)
def test_illegal_parameters(parameters, message):
    with pytest.raises(ParameterError, match=message):
        guided_filter(CostVolume(np.zeros((2, 3, 2), np.float32), Search(0, 1), 1.0), np.zeros((2, 3), np.uint8), **parameters)


def test_an_image_that_does_not_fit_is_refused():
    volume = CostVolume(np.zeros((2, 3, 2), np.float32), Search(0, 1), 1.0)
    with pytest.raises(DataError, match=r"reference has shape \(3, 3\); \(2, 3\) fits the volume"):
        guided_filter(volume, np.zeros((3, 3), np.uint8))


def test_better_than_no_support_on_real_scenes(data):
    scene = load_scene("tsukuba", data=data)
    [plain, guided] = (
        evaluate(Pipeline([absolute_difference, stages, winner_take_all])(scene).disparity, scene)["bad_pixels_nonocc"]
        for stages in ([], [step(guided_filter)])
    )
    assert guided < plain / 4
