"""Tests that cross-scale aggregation minimizes the energy of the paper."""

import functools
from dataclasses import replace

import cv2
import numpy as np
import pytest

from stereo_framework import Pair, Pipeline, SearchRange, step
from stereo_framework.aggregation import box, cross_scale, guided_filter
from stereo_framework.aggregation.cross_scale import half_size, scale_weights
from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.volume import SearchMask
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.preprocessing import binomial_blur
from stereo_framework.stages import CostOfPairs, OtherFrame, stage


def random_pair(rows, columns, search=None, *, channels=3):
    """Return a pair of random images with a disparity of four pixels."""
    texture = np.random.default_rng(4).integers(0, 256, (rows, columns + 4, channels))
    texture = texture.astype(np.uint8)
    return Pair(texture[:, :-4].copy(), texture[:, 4:].copy(), search or SearchRange(0, 7))


def costs_of(pair):
    return absolute_difference(pair.reference, pair.match, pair.search)


def aggregated(pair, inner, **parameters):
    """Call the stage `cross_scale` directly with absolute differences as costs."""
    cost = CostOfPairs(pair, costs_of)
    return cross_scale(costs_of(pair), pair.reference, pair.match, cost, inner=inner, **parameters)


def minimum_of_energy(pair, filtered_costs, scales, scale_weight):
    """Minimize the energy at each pixel and level by linear equations.

    Parameters
    ----------
    pair : Pair
    filtered_costs : callable
        Function that returns the filtered costs of a pair.
    scales : int
    scale_weight : float
    """
    volumes = [filtered_costs(pair)]
    for _ in range(scales - 1):
        pair = half_size(pair)
        volumes.append(filtered_costs(pair))

    rows, columns, levels = volumes[0].costs.shape
    # The derivative of the energy is 0 if the following equation holds for each size s:
    # (1 + n * scale_weight) * z[s] - scale_weight * neighbours = filtered[s].
    # Here, n is the number of neighbouring sizes, and `neighbours` is the sum of their
    # combined costs.
    matrix = np.zeros((scales, scales))
    for scale in range(scales):
        neighbours = [other for other in (scale - 1, scale + 1) if 0 <= other < scales]
        matrix[scale, scale] = 1 + scale_weight * len(neighbours)
        matrix[scale, neighbours] = -scale_weight

    result = np.empty((rows, columns, levels))
    for y, x, level in np.ndindex(rows, columns, levels):
        disparity = volumes[0].search.minimum + level * volumes[0].search.step
        costs = []
        for scale, volume in enumerate(volumes):
            position = (disparity / 2**scale - volume.search.minimum) / volume.search.step
            numbers = np.arange(volume.search.levels)
            row = volume.costs[y // 2**scale, x // 2**scale]
            costs.append(np.interp(position, numbers, row))
        result[y, x, level] = np.linalg.solve(matrix, costs)[0]
    return result


@pytest.mark.parametrize("scales", [1, 2, 3, 5])
@pytest.mark.parametrize("search", [SearchRange(0, 7), SearchRange(-3, 6), SearchRange(1, 4, 0.5)])
def test_combined_costs_minimize_the_energy(scales, search):
    pair = random_pair(9, 14, search)

    def filtered_costs(pair):
        return box(costs_of(pair), size=3)

    volume = aggregated(pair, step(box, size=3), scales=scales, scale_weight=0.7)
    expected = minimum_of_energy(pair, filtered_costs, scales, 0.7)
    np.testing.assert_allclose(volume.costs, expected, rtol=1e-5, atol=1e-3)


def test_the_inner_stage_reads_the_smaller_images():
    pair = random_pair(10, 16)

    def filtered_costs(pair):
        return guided_filter(costs_of(pair), pair.reference, size=5)

    volume = aggregated(pair, step(guided_filter, size=5), scales=3)
    expected = minimum_of_energy(pair, filtered_costs, 3, 0.3)
    np.testing.assert_allclose(volume.costs, expected, rtol=1e-5, atol=1e-3)


def test_weights_are_positive_and_add_up_to_one():
    for scales in range(1, 8):
        weights = scale_weights(scales, 0.3)
        assert weights.sum() == pytest.approx(1)
        assert (weights > 0).all()
        assert (np.diff(weights) < 0).all()
    assert scale_weights(4, 0.0).tolist() == [1, 0, 0, 0]


def test_equal_costs_at_all_sizes_stay_as_they_are():
    image = np.full((12, 20), 90, np.uint8)
    darker = np.full((12, 20), 60, np.uint8)
    pair = Pair(image, darker, SearchRange(-8, -1))
    volume = aggregated(pair, step(box, size=3), scales=2)
    # In these columns, the windows lie inside the image at both image sizes. Therefore,
    # all costs are 30.
    np.testing.assert_allclose(volume.costs[:, 2:8], 30, rtol=1e-6)


def test_one_scale_is_the_inner_aggregation():
    pair = random_pair(9, 14)
    volume = aggregated(pair, step(box, size=3), scales=1)
    expected = box(costs_of(pair), size=3)
    np.testing.assert_array_equal(volume.costs, expected.costs)
    assert volume.outside_cost == expected.outside_cost


def test_the_outside_cost_is_weighted_like_the_costs():
    pair = random_pair(16, 16)
    assert aggregated(pair, step(box)).outside_cost == pytest.approx(costs_of(pair).outside_cost)


def test_smaller_images_are_smoothed_and_keep_every_second_pixel():
    pair = random_pair(9, 14)
    smaller = half_size(pair)
    # The Gaussian filter is separable. At the border, OpenCV mirrors the image.
    kernel = np.array([1, 4, 6, 4, 1]) / 16
    padded = np.pad(pair.reference.astype(float), [(2, 2), (2, 2), (0, 0)], mode="reflect")
    for y, x in np.ndindex(smaller.shape):
        window = padded[2 * y : 2 * y + 5, 2 * x : 2 * x + 5]
        expected = np.einsum("i,j,ijc->c", kernel, kernel, window)
        np.testing.assert_allclose(smaller.reference[y, x], expected, atol=0.501)
    assert smaller.search == pair.reduced(2).search


def test_a_shift_by_even_pixels_stays_a_shift_at_half_size():
    # Both images show the same texture, so the costs are 0 at the correct disparity.
    pair = random_pair(32, 64)
    volume = aggregated(pair, step(box, size=1), scales=3)
    assert (volume.costs[8:-8, 16:-16].argmin(axis=2) == 4).all()
    assert volume.costs[8:-8, 16:-16, 4].max() == pytest.approx(0, abs=1e-4)


def test_masks_hold_at_all_sizes():
    pair = random_pair(12, 24)
    valid = np.ones(pair.shape, bool)
    valid[:, 8:16] = False
    masked = replace(pair, mask=SearchMask(valid=valid))
    method = Pipeline(["absolute_difference", step(cross_scale, scales=3), "winner_take_all"])
    disparity = method.estimate(masked).disparity
    np.testing.assert_array_equal(np.isnan(disparity), ~valid)


def test_preprocessing_is_applied_once_at_each_size():
    pair = random_pair(16, 24)
    seen = []
    method = Pipeline(["binomial_blur", "absolute_difference", "winner_take_all"])
    cost = method.cost_of_pairs(pair)

    def counting(pair):
        seen.append(pair.shape)
        return cost(pair)

    blurred = Pipeline(
        ["binomial_blur", "absolute_difference", step(cross_scale, scales=3), "winner_take_all"]
    )
    expected = blurred.estimate(pair, keep_volume=True).volume
    from stereo_framework.preprocessing import binomial_blur

    blur = functools.partial(binomial_blur)
    volume = cross_scale(
        cost(pair), blur(pair.reference), blur(pair.match), CostOfPairs(pair, counting), scales=3
    )
    assert seen == [(8, 12), (4, 6)]
    inside = expected.costs != expected.outside_cost
    np.testing.assert_array_equal(volume.costs[inside], expected.costs[inside])


def test_wrong_parameters_are_refused():
    with pytest.raises(ParameterError, match="cross_scale.scales: 0 is not a whole number >= 1"):
        step(cross_scale, scales=0)
    with pytest.raises(ParameterError, match="cross_scale.scale_weight: -1 is not a number >= 0"):
        step(cross_scale, scale_weight=-1)


# --- inner stages that read other frames ----------------------------------------------


@pytest.fixture
def add_frame(registry):
    """Register an aggregation that adds the intensities of a frame to the costs."""

    @stage("aggregation", source="a test")
    def add_frame(volume, frames):
        return replace(volume, costs=volume.costs + frames[0].image[..., None])

    return add_frame


def grey_pair_with_frame():
    pair = random_pair(10, 16, channels=1)
    pair = replace(pair, reference=pair.reference[..., 0], match=pair.match[..., 0])
    image = np.random.default_rng(9).integers(0, 256, pair.shape).astype(np.uint8)
    return replace(pair, frames=(OtherFrame(lambda: image, 0.5),))


def costs_with_frame(pair):
    volume = costs_of(pair)
    return replace(volume, costs=volume.costs + pair.frames[0].image[..., None])


def test_the_inner_stage_reads_the_smaller_images_of_other_frames(add_frame):
    pair = grey_pair_with_frame()
    method = Pipeline(
        ["absolute_difference", step(cross_scale, inner=add_frame, scales=3), "winner_take_all"]
    )
    volume = method.estimate(pair, keep_volume=True).volume
    expected = minimum_of_energy(pair, costs_with_frame, 3, 0.3)
    is_in_view = pair.search.in_view(pair.shape[1])
    # A pipeline resets the costs of cells outside the match image after aggregation.
    np.testing.assert_allclose(
        volume.costs[:, is_in_view], expected[:, is_in_view], rtol=1e-5, atol=1e-3
    )
    direct = aggregated(pair, step(add_frame), scales=3, frames=pair.frames)
    np.testing.assert_allclose(direct.costs, expected, rtol=1e-5, atol=1e-3)


def test_smaller_images_of_other_frames_are_preprocessed_before_they_are_reduced(registry):
    collected = []

    @stage("aggregation", source="a test")
    def collect_frames(volume, frames):
        collected.append(frames[0].image)
        return volume

    pair = grey_pair_with_frame()
    steps = ["binomial_blur", "absolute_difference"]
    Pipeline([*steps, step(cross_scale, inner=collect_frames, scales=2), "winner_take_all"])(pair)
    blurred = binomial_blur(pair.frames[0].image)
    np.testing.assert_array_equal(collected[0], blurred)
    np.testing.assert_array_equal(collected[1], cv2.pyrDown(blurred))


def test_frames_count_only_if_the_inner_stage_reads_them(add_frame):
    def fail():
        raise AssertionError("the frame is loaded")

    pair = replace(grey_pair_with_frame(), frames=(OtherFrame(fail, 0.5),))
    method = ["row_alignment", "census", step(cross_scale, inner=box), "winner_take_all"]
    auxiliary = {"first": Pipeline(["census", "winner_take_all"])}
    assert Pipeline(method, auxiliary)(pair).disparity.shape == pair.shape
    method[2] = step(cross_scale, inner=add_frame)
    with pytest.raises(ParameterError, match=r"add_frame \(inside cross_scale\) reads the other"):
        Pipeline(method, auxiliary)


def test_data_for_inner_stages_need_default_values(registry):
    with pytest.raises(StereoFrameworkError, match="data_for_inner= contains 'frames'"):

        @stage("aggregation", source="a test", data_for_inner={"frames"})
        def without_default(volume, frames):
            return volume
