"""Cross-based aggregation and adaptive support weights beside their twins, and what regions keep to."""

from dataclasses import replace

import naive
import naive_support
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import KINDS_OF_STEPS, guided_volumes, in_threads, search_masks

from stereo_framework import CostVolume, SearchRange
from stereo_framework.aggregation import cross_based, support_weights
from stereo_framework.core.volume import SearchMask
from stereo_framework.kernels.arms import measure_arms

CASES = {
    cross_based: (
        {
            "max_arm": [4, 34, 2, 3, 1],
            "tau": [60.0, 20.0, 300.0, 1.0],
            "far_arm": [1, 2, 17],
            "tau_far": [30.0, 6.0, 100.0],
            "views": ["both", "reference"],
            "iterations": [2, 1, 3],
        },
        4,
        # Sums of the volumes' sixteenths are exact; means are rounded to float32 after each pass, sums of means once more.
        lambda iterations, **_: (2 * iterations * np.finfo(np.float32).eps, 0),
    ),
    support_weights: (
        {
            "size": [5, 3, 19],
            "gamma_c": [5.0, 40.0, 1e6, 0.5],
            "gamma_p": [17.5, 1.0, 1e6],
            "views": ["both", "reference"],
        },
        8,
        # Colours of up to 100 are rounded by 4e-6, which a gamma_c of 0.5 makes 2e-5 of a weight; it is less than a share of all costs.
        lambda **_: (1e-4, 1e-4),
    ),
}


@pytest.mark.parametrize("steps", KINDS_OF_STEPS)
@pytest.mark.parametrize("stage", CASES)
@given(data=st.data(), threads=st.integers(1, 2))
def test_agrees_with_twin(stage, steps, data, threads):
    choices, coarser, tolerance = CASES[stage]
    parameters = {name: data.draw(st.sampled_from(several)) for name, several in choices.items()}
    volume, images = data.draw(guided_volumes(steps, coarser))
    mask = data.draw(search_masks(images[0].shape[:2]))
    with in_threads(threads):
        result = stage(volume, *images, mask, **parameters)
    is_open = naive.open_cells(mask or SearchMask(), volume.search, volume.costs.shape[:2])
    expected = getattr(naive_support, stage.__name__)(
        volume.costs, volume.search, 1020, *images, is_open, **parameters
    )
    rtol, atol = tolerance(**parameters)
    np.testing.assert_allclose(result.costs, expected, rtol=rtol, atol=atol)
    assert (result.search, result.outside_cost, result.costs.dtype) == (
        volume.search,
        volume.outside_cost,
        np.float32,
    )


@pytest.mark.compiled
def test_more_rows_and_cells_than_are_summed_up_at_a_time():
    rng = np.random.default_rng(2)
    images = rng.integers(0, 40, (2, 140, 6), dtype=np.uint8)
    volume = CostVolume(
        rng.integers(0, 256, (140, 6, 200)).astype(np.float32), SearchRange(0, 199), 255.0
    )
    parameters = {
        "max_arm": 9,
        "tau": 30.0,
        "far_arm": 4,
        "tau_far": 20.0,
        "views": "both",
        "iterations": 1,
    }
    is_open = np.ones(volume.costs.shape, bool)
    # Only the levels in view are of interest; the twin is slow.
    few = replace(
        volume, costs=np.ascontiguousarray(volume.costs[..., :6]), search=SearchRange(0, 5)
    )
    expected = naive_support.cross_based(few.costs, few.search, 255, *images, is_open, **parameters)
    result = cross_based(volume, *images, **parameters).costs
    np.testing.assert_allclose(result[..., :6], expected, rtol=3e-7)
    assert (result[..., 6:] == 255).all()


@pytest.mark.compiled
def test_sums_are_exact_whatever_comes_before():
    # Running sums in float64 that began at other rows would end in other digits: costs of very different sizes.
    rng = np.random.default_rng(4)
    image = np.zeros((200, 6), np.uint8)
    costs = (rng.random((200, 6, 3)) ** 20).astype(np.float32)
    volume = CostVolume(costs, SearchRange(0, 2), 1.0)
    whole = cross_based(volume, image, image, max_arm=5, iterations=1).costs
    for top in range(100, 120, 4):
        part = cross_based(
            replace(volume, costs=costs[top:]), image[top:], image[top:], max_arm=5, iterations=1
        ).costs
        np.testing.assert_array_equal(part[4:], whole[top + 4 :])


def test_a_threshold_that_float32_does_not_hold_is_not_rounded():
    # As float32 12.7 is a little less.
    image = np.array([[0, np.float32(12.7)]], np.float32)
    assert measure_arms(image, 5, 12.7, 1, 12.7)[1].tolist() == [[1, 0]]
    assert measure_arms(image, 5, float(np.float32(12.7)), 1, 12.7)[1].tolist() == [[0, 0]]
