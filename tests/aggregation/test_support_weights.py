"""Adaptive support weights beside their twin, and what follows from their definition."""

import naive
import naive_support
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import STEPS, guided_volumes, in_threads, search_masks

from stereo_framework import CostVolume, Search
from stereo_framework.aggregation import box, support_weights
from stereo_framework.aggregation.support_weights import _lab
from stereo_framework.core.volume import SearchMask

PARAMETERS = st.fixed_dictionaries(
    {
        "size": st.sampled_from([5, 3, 19]),
        "colour_scale": st.sampled_from([5.0, 40.0, 1e6, 0.5]),
        "space_scale": st.sampled_from([17.5, 1.0, 1e6]),
        "views": st.sampled_from(["both", "reference"]),
    }
)


@pytest.mark.parametrize("step", STEPS)
@given(data=st.data(), parameters=PARAMETERS, threads=st.integers(1, 2))
def test_agrees_with_twin(step, data, parameters, threads):
    volume, images = data.draw(guided_volumes(step, 8))
    mask = data.draw(search_masks(images[0].shape[:2]))
    with in_threads(threads):
        result = support_weights(volume, *images, mask, **parameters)
    is_open = naive.open_cells(mask or SearchMask(), volume.search, volume.costs.shape[:2])
    expected = naive_support.support_weights(volume.costs, volume.search, 1020, *images, is_open, **parameters)
    # Colours of up to 100 are rounded to float32, by 4e-6, which a scale of 0.5 makes 2e-5 of a weight; it is less than a share of all costs.
    np.testing.assert_allclose(result.costs, expected, rtol=1e-4, atol=1e-4)
    assert (result.search, result.outside, result.costs.dtype) == (volume.search, volume.outside, np.float32)


def test_colours_are_those_of_scikit_image():
    from skimage.color import rgb2lab

    image = np.random.default_rng(1).integers(0, 256, (9, 11, 3), dtype=np.uint8)
    # Its matrix has six digits, and its white is rounded.
    np.testing.assert_allclose(_lab(image).transpose(1, 2, 0), rgb2lab(image), atol=0.02)
    grey = np.arange(0, 256, 5, np.uint8)[None]
    np.testing.assert_allclose(_lab(grey)[1:], 0, atol=1e-4)
    np.testing.assert_allclose(_lab(grey), _lab(grey[..., None].repeat(3, axis=2)))
    assert _lab(np.array([[0, 255]], np.uint8))[0].tolist() == [[0, 100]]


def test_without_falls_it_is_the_mean_of_the_window():
    rng = np.random.default_rng(2)
    images = rng.integers(0, 256, (2, 12, 15, 3), dtype=np.uint8)
    volume = CostVolume(rng.random((12, 15, 4), np.float32), Search(0, 3), 1.0)
    result = support_weights(volume, *images, size=5, colour_scale=1e9, space_scale=1e9).costs
    # Two pixels inside, and where all of the window is in view.
    np.testing.assert_allclose(result[2:-2, 5:-2], box(volume, size=5).costs[2:-2, 5:-2], rtol=1e-5)


def test_cells_out_of_view_and_closed_ones_neither_count_nor_change():
    rng = np.random.default_rng(5)
    image = np.full((6, 9), 80, np.uint8)
    search, valid = Search(0, 4), rng.random((6, 9)) < 0.7
    costs = np.ones((6, 9, 5), np.float32)
    costs[:, ~search.in_view(9)] = 1000
    costs[~valid] = 1000
    for views in ("both", "reference"):
        result = support_weights(CostVolume(costs, search, 1000.0), image, image, SearchMask(valid), views=views, size=7)
        np.testing.assert_allclose(result.costs, costs, rtol=1e-6)
