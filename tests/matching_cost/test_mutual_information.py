"""Mutual information against a plain version of the paper's equations, and what it is for: images of unlike exposure."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from stereo_framework import SearchRange
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.view import DisparityMap
from stereo_framework.core.volume import Status
from stereo_framework.matching_cost import mutual_information
from stereo_framework.matching_cost.mutual_information import _moved


def _naive(left, right, truth, sigma):
    """Equations 5 to 9, pair by pair; costs up to scale and offset."""
    joint = np.zeros((256, 256))
    for y, x in np.ndindex(left.shape):
        if np.isfinite(truth[y, x]) and 0 <= x - round(truth[y, x]) < left.shape[1]:
            joint[left[y, x], right[y, x - round(truth[y, x])]] += 1
    count = joint.sum()
    joint /= count

    def information(shares):
        def smooth(values):
            return gaussian_filter(values, sigma, mode="constant", truncate=3.0)

        return smooth(-np.log(np.maximum(smooth(shares), 1e-3 / (count * 256))) / count)

    return (
        information(joint)
        - information(joint.sum(axis=1))[:, None]
        - information(joint.sum(axis=0))[None]
    )


def test_costs_are_those_of_the_equations():
    rng = np.random.default_rng(0)
    left = rng.integers(0, 256, (30, 40), dtype=np.uint8)
    right = (255 - np.roll(left, -2, axis=1)).astype(np.uint8)
    disparity = np.full(left.shape, 2, np.float32)
    disparity[3:9, 5:20] = np.nan
    status = np.isnan(disparity).astype(np.uint8)
    search = SearchRange(0, 4)
    costs = mutual_information(
        left, right, search, {"a": DisparityMap(disparity, status, search)}, sigma=1.5
    ).costs
    table = _naive(left, right, disparity, 1.5)
    table = (table - table.min()) * 255 / (table.max() - table.min())
    for level in range(5):
        found, expected = costs[:, level:, level], table[left[:, level:], right[:, : 40 - level]]
        # float32 of 0..255, and OpenCV's taps beside scipy's.
        np.testing.assert_allclose(found, expected, atol=0.02)
        assert (costs[:, :level, level] == 127.5).all()


@pytest.mark.parametrize("step_", [0.5, 0.25])
def test_between_pixels(step_):
    left = np.tile(np.arange(0, 200, 10, dtype=np.uint8), (4, 1))
    view = DisparityMap(
        np.zeros(left.shape, np.float32), np.zeros(left.shape, np.uint8), SearchRange(0, 1)
    )
    fine = mutual_information(left, left, SearchRange(0, 2, step_), {"a": view}).costs
    whole = mutual_information(left, left, SearchRange(0, 2), {"a": view}).costs
    np.testing.assert_array_equal(fine[..., :: int(1 / step_)], whole)


@pytest.mark.parametrize("status", [Status.FILLED, Status.OCCLUDED, Status.MISMATCHED])
def test_only_matched_pixels_count_in_the_histogram(status):
    rng = np.random.default_rng(0)
    left = rng.integers(0, 256, (12, 20), dtype=np.uint8)
    right = (255 - np.roll(left, -2, axis=1)).astype(np.uint8)
    search = SearchRange(0, 4)
    matched = np.full(left.shape, 2, np.float32)
    matched[6:] = np.nan
    statuses = np.where(np.isnan(matched), status, Status.MATCHED).astype(np.uint8)
    # The disparities of the lower half are wrong, and their status says so.
    wrong = np.where(np.isnan(matched), np.float32(0), matched)
    costs, expected = (
        mutual_information(
            left, right, search, {"initial": DisparityMap(disparity, statuses, search)}
        )
        for disparity in (wrong, matched)
    )
    np.testing.assert_array_equal(costs.costs, expected.costs)


@pytest.mark.parametrize("direction", [1, -1])
def test_estimates_at_the_ends_of_the_target_image_count_and_no_others(direction):
    """A disparity of exactly half a pixel is read at the even column."""
    left = np.array([[10, 60, 110, 160]], np.uint8)[:, ::direction].copy()
    right = np.array([[20, 70, 120, 170]], np.uint8)[:, ::direction].copy()
    search = SearchRange(-4, 4, direction=direction)
    status = np.zeros(left.shape, np.uint8)

    def costs(*disparities):
        disparity = np.float32([disparities])[:, ::direction]
        view = DisparityMap(disparity, status, search)
        return mutual_information(left, right, search, {"initial": view}).costs

    # Columns 0 and 3 meet the first and the last column of the target image.
    np.testing.assert_array_equal(costs(0, np.nan, np.nan, 0), costs(0, 2, -2, 0))
    assert not np.array_equal(costs(0, np.nan, np.nan, 0), costs(0, np.nan, np.nan, 1))


@pytest.mark.parametrize(
    ("shift", "sampled", "inside"),
    [
        # A shift of half a pixel gives 15.5 and 26, which are rounded to 16 and 26.
        (0.5, [16, 26], [False, True, True]),
        (-0.5, [16, 26], [True, True, False]),
        # A shift of a quarter gives 18.25 and 28.5, or 12.75 and 23.5.
        (0.25, [18, 28], [False, True, True]),
        (-0.25, [13, 24], [True, True, False]),
        (2, [10], [False, False, True]),
        (0, [10, 21, 31], [True, True, True]),
    ],
)
def test_intensities_between_pixels_are_rounded_to_whole_grey_levels(shift, sampled, inside):
    values, known = _moved(np.float32([[10, 21, 31]]), shift)
    assert known.tolist() == inside
    assert values[:, known].tolist() == [sampled]


def _random_pair():
    rng = np.random.default_rng(3)
    left = rng.integers(20, 220, (12, 20), dtype=np.uint8)
    right = (255 - np.roll(left, -2, axis=1)).astype(np.uint8)
    disparity = np.where(rng.random(left.shape) < 0.7, 2, np.nan).astype(np.float32)
    return left, right, disparity


def _costs_of(left, right, disparity, direction=1, **parameters):
    search = SearchRange(0, 4, direction=direction)
    status = np.isnan(disparity).astype(np.uint8)
    view = DisparityMap(disparity, status, search)
    return mutual_information(left, right, search, {"initial": view}, **parameters).costs


def test_a_mirrored_pair_has_mirrored_costs():
    left, right, disparity = _random_pair()
    mirrored = (np.ascontiguousarray(array[:, ::-1]) for array in (left, right, disparity))
    np.testing.assert_array_equal(
        _costs_of(*mirrored, direction=-1)[:, ::-1], _costs_of(left, right, disparity)
    )


@pytest.mark.parametrize("grey_conversion", ["luma", "rounded_luma", "mean"])
def test_grey_values_of_colours_are_rounded_to_the_nearest_level(grey_conversion):
    left, right, disparity = _random_pair()
    expected = _costs_of(left, right, disparity)
    changes = np.random.default_rng(1).integers(-6, 7, (2, *left.shape))
    colours = []
    for image, change in zip((left, right), changes, strict=True):
        if grey_conversion == "mean":
            red, blue = image + change, image - change
        else:
            # 0.299 R + 0.114 B stays the same to less than half a grey level.
            red, blue = image + change, np.rint(image - change * 299 / 114)
        colour = np.stack([red, image, blue], axis=2)
        assert colour.min() >= 0
        assert colour.max() <= 255
        colours.append(colour.astype(np.uint8))
    costs = _costs_of(*colours, disparity, grey_conversion=grey_conversion)
    np.testing.assert_array_equal(costs, expected)


def test_grey_values_are_rounded_to_the_nearest_level():
    left, right, disparity = _random_pair()
    expected = _costs_of(left, right, disparity)
    floats = np.float32([left, right])
    fractions = np.float32([-0.375, 0, 0.375])
    each_pixel = np.random.default_rng(2).choice(fractions, floats.shape)
    for change in (-0.375, 0.375, each_pixel):
        np.testing.assert_array_equal(_costs_of(*(floats + change), disparity), expected)


def test_mistakes():
    image = np.zeros((4, 6), np.uint8)
    search = SearchRange(0, 2)
    nothing = DisparityMap(
        np.full(image.shape, np.nan, np.float32), np.ones(image.shape, np.uint8), search
    )
    with pytest.raises(DataError, match="matches no pixel"):
        mutual_information(image, image, search, {"a": nothing})
    with pytest.raises(ParameterError, match="initial"):
        mutual_information(image, image, search, {"a": nothing, "b": nothing})
