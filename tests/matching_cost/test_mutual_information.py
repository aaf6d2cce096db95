"""Mutual information against a plain version of the paper's equations, and what it is for: images of unlike exposure."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from stereo_framework import Search
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.view import View
from stereo_framework.matching_cost import mutual_information


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
    search = Search(0, 4)
    costs = mutual_information(
        left, right, search, {"a": View(disparity, status, search)}, sigma=1.5
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
    view = View(np.zeros(left.shape, np.float32), np.zeros(left.shape, np.uint8), Search(0, 1))
    fine = mutual_information(left, left, Search(0, 2, step_), {"a": view}).costs
    whole = mutual_information(left, left, Search(0, 2), {"a": view}).costs
    np.testing.assert_array_equal(fine[..., :: int(1 / step_)], whole)


def test_mistakes():
    image = np.zeros((4, 6), np.uint8)
    search = Search(0, 2)
    nothing = View(np.full(image.shape, np.nan, np.float32), np.ones(image.shape, np.uint8), search)
    with pytest.raises(DataError, match="matches no pixel"):
        mutual_information(image, image, search, {"a": nothing})
    with pytest.raises(ParameterError, match="initial"):
        mutual_information(image, image, search, {"a": nothing, "b": nothing})
