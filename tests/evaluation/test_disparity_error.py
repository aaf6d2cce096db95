"""Error statistics against plain numpy and by hand."""

import math

import numpy as np
import pytest
from evaluation_inputs import disparity_maps
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereo_framework.evaluation.disparity_error import bad_pixels, fraction_matched, rms_error

TRUTH = np.array([[4, 4, 4, 4], [10, 10, 10, 10]], np.float32)
MAP = np.array([[4, 5, 5.5, np.nan], [13, 10, np.inf, 10]], np.float32)
EVERYWHERE = np.ones((2, 4), bool)
TOP = np.array([[True] * 4, [False] * 4])
NOWHERE = np.zeros((2, 4), bool)


def test_bad_pixels_by_hand():
    # 5.5, NaN, 13 and inf are bad; an error of exactly the threshold is not.
    assert bad_pixels(MAP, TRUTH, EVERYWHERE) == 50
    assert bad_pixels(MAP, TRUTH, TOP, 0.5) == 75
    assert bad_pixels(MAP, TRUTH, TOP, 1.5) == 25
    assert bad_pixels(MAP, TRUTH, TOP, 0) == 75


def test_rms_by_hand():
    # Errors 0, 1, 1.5, 3, 0, 0 of six estimates.
    assert rms_error(MAP, TRUTH, EVERYWHERE) == pytest.approx(math.sqrt((1 + 2.25 + 9) / 6), rel=1e-12)
    assert rms_error(MAP, TRUTH, TOP) == pytest.approx(math.sqrt(3.25 / 3), rel=1e-12)


def test_fraction_by_hand():
    assert fraction_matched(MAP, EVERYWHERE) == 0.75
    assert fraction_matched(MAP, TOP) == 0.75
    assert fraction_matched(MAP, ~TOP & (TRUTH > 0)) == 0.75


def test_an_empty_region_gives_nan():
    assert math.isnan(bad_pixels(MAP, TRUTH, NOWHERE))
    assert math.isnan(rms_error(MAP, TRUTH, NOWHERE))
    assert math.isnan(fraction_matched(MAP, NOWHERE))


def test_a_region_without_estimates():
    nothing = np.full_like(TRUTH, np.nan)
    assert bad_pixels(nothing, TRUTH, EVERYWHERE) == 100
    assert math.isnan(rms_error(nothing, TRUTH, EVERYWHERE))
    assert fraction_matched(nothing, EVERYWHERE) == 0


def test_squares_are_summed_in_float64():
    # In float32 the sum would stay at 2**24.
    errors = np.ones((1, 1001), np.float32)
    errors[0, 0] = 2**12
    expected = math.sqrt((2**24 + 1000) / 1001)
    assert rms_error(errors, np.zeros_like(errors), np.ones(errors.shape, bool)) == pytest.approx(expected, rel=1e-12)


@given(st.data(), st.sampled_from([0.0, 0.125, 0.5, 1.0]))
def test_equal_plain_numpy(data, threshold):
    disparity = data.draw(disparity_maps())
    truth = data.draw(hnp.arrays(np.float32, disparity.shape, elements=st.integers(0, 32).map(lambda n: n / 8)))
    mask = data.draw(hnp.arrays(bool, disparity.shape))
    error = (disparity - truth)[mask]
    estimated = error[~np.isnan(error)]
    expected = 100 * np.mean(~(np.abs(error) <= threshold)) if error.size else math.nan
    assert bad_pixels(disparity, truth, mask, threshold) == pytest.approx(expected, nan_ok=True)
    expected = np.sqrt(np.mean(estimated.astype(float) ** 2)) if estimated.size else math.nan
    assert rms_error(disparity, truth, mask) == pytest.approx(expected, rel=1e-9, nan_ok=True)
    expected = estimated.size / error.size if error.size else math.nan
    assert fraction_matched(disparity, mask) == pytest.approx(expected, nan_ok=True)
