"""Error statistics: published numbers, plain Python and by hand."""

import math

import numpy as np
import pytest
from evaluation_inputs import disparity_maps
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereo_framework import load_scene
from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation.disparity_error import (
    bad_pixels,
    density,
    error_quantile,
    fraction_matched,
    invalid_pixels,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    rms_error,
)

TRUTH = np.array([[4, 4, 4, 4], [10, 10, 10, 10]], np.float32)
MAP = np.array([[4, 5, 5.5, np.nan], [13, 10, np.inf, 10]], np.float32)
MIXED = np.array([[4, 5, 5.5, np.nan], [13, 10, np.inf, 9]], np.float32)
EVERYWHERE = np.ones((2, 4), bool)
TOP = np.array([[True] * 4, [False] * 4])


def test_bad_pixels_by_hand():
    # 5.5, NaN, 13 and inf are bad; an error of exactly the threshold is not.
    assert bad_pixels(MAP, TRUTH, EVERYWHERE) == 50
    assert bad_pixels(MAP, TRUTH, TOP, 0.5) == 75
    assert bad_pixels(MAP, TRUTH, TOP, 1.5) == 25
    assert bad_pixels(MAP, TRUTH, TOP, 0) == 75


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


@pytest.mark.parametrize(("name", "published"), [("tsukuba", 16.474), ("venus", 14.316), ("teddy", 4.117), ("cones", 3.380)])
def test_published_errors_of_the_truth_minus_one(data, name, published):
    # Cabezas et al. 2011, Table 1: BMP 0, MSE 1 and MAPE over "all". Half of the last printed digit.
    scene = load_scene(f"middlebury-v2/{name}", data=data)
    disparity, mask = scene.truth - np.float32(1), scene.mask("all")
    assert mean_absolute_percentage_error(disparity, scene.truth, mask) == pytest.approx(published, abs=5e-4)
    assert mean_squared_error(disparity, scene.truth, mask) == 1
    assert mean_absolute_error(disparity, scene.truth, mask) == 1
    assert bad_pixels(disparity, scene.truth, mask) == 0


def test_averages_quantiles_and_density_by_hand():
    # Errors 0, 1, 1.5, 3, 0, 1 of six estimates; the truth is 4 for the first three.
    assert mean_absolute_error(MIXED, TRUTH, EVERYWHERE) == pytest.approx(6.5 / 6)
    assert mean_squared_error(MIXED, TRUTH, EVERYWHERE) == pytest.approx((1 + 2.25 + 9 + 1) / 6)
    assert mean_absolute_percentage_error(MIXED, TRUTH, EVERYWHERE) == pytest.approx(
        (100 / 4 + 150 / 4 + 300 / 10 + 100 / 10) / 6
    )
    # 0 0 1 1 1.5 3: index floor(6 q).
    quantiles = [error_quantile(MIXED, TRUTH, EVERYWHERE, q) for q in (0, 0.33, 0.34, 0.5, 0.67, 0.83, 0.84, 1)]
    assert quantiles == [0, 0, 1, 1, 1.5, 1.5, 3, 3]
    assert density(MIXED, EVERYWHERE) == 75
    assert invalid_pixels(MIXED, EVERYWHERE) == 25


def test_outliers_by_hand():
    truth = np.array([[10, 10, 100, 100, 100, 10, 10, 80]], np.float32)
    disparity = np.array([[13, 13.5, 104, 94, 105, np.nan, np.inf, 84]], np.float32)
    everywhere = truth > 0
    # 13.5 and 94 exceed both limits; 13, 105 and 84 lie exactly at one of them; missing estimates count.
    assert bad_pixels(disparity, truth, everywhere, 3, relative=0.05) == pytest.approx(100 * 4 / 8)
    assert bad_pixels(disparity, truth, everywhere, 2, relative=0.05) == pytest.approx(100 * 5 / 8)
    assert bad_pixels(disparity, truth, everywhere, 3, relative=0.03) == pytest.approx(100 * 7 / 8)


def test_pixels_without_a_positive_truth_have_no_percentage():
    truth = np.array([[0, -2, 5]], np.float32)
    assert mean_absolute_percentage_error(truth + np.float32(1), truth, np.ones((1, 3), bool)) == pytest.approx(20)
    assert math.isnan(mean_absolute_percentage_error(truth, truth, truth <= 0))


def test_errors_are_summed_in_float64():
    # In float32 the sum would stay at 2**24.
    errors = np.ones((1, 1001), np.float32)
    errors[0, 0] = 2**24
    assert mean_absolute_error(errors, np.zeros_like(errors), errors > 0) == (2**24 + 1000) / 1001


@pytest.mark.parametrize("quantile", [-0.1, 90, math.nan])
def test_a_quantile_is_a_fraction(quantile):
    with pytest.raises(ParameterError, match=r"^quantile: .* is not within 0\.\.1$"):
        error_quantile(MIXED, TRUTH, EVERYWHERE, quantile)


@given(st.data(), st.sampled_from([0, 0.25, 0.5, 0.9, 0.99, 1]))
def test_averages_and_shares_equal_plain_python(data, quantile):
    disparity = data.draw(disparity_maps())
    # Eighths: all errors and their sums are exact.
    truth = data.draw(hnp.arrays(np.float32, disparity.shape, elements=st.integers(1, 400).map(lambda n: n / 8)))
    mask = data.draw(hnp.arrays(bool, disparity.shape))
    pairs = [(float(d), float(t)) for d, t in zip(disparity[mask], truth[mask], strict=True)]
    errors = sorted((abs(np.float32(d - t)), t) for d, t in pairs if math.isfinite(d))

    def mean(values):
        return sum(values) / len(values) if values else math.nan

    def same(value):
        # Differences are rounded to float32, and so are the quotients.
        return pytest.approx(value, rel=1e-6, abs=1e-9, nan_ok=True)

    assert mean_absolute_error(disparity, truth, mask) == same(mean([e for e, _ in errors]))
    assert mean_squared_error(disparity, truth, mask) == same(mean([float(e) ** 2 for e, _ in errors]))
    assert mean_absolute_percentage_error(disparity, truth, mask) == same(mean([100 * e / t for e, t in errors]))
    expected = errors[min(math.floor(len(errors) * quantile), len(errors) - 1)][0] if errors else math.nan
    assert error_quantile(disparity, truth, mask, quantile) == same(expected)
    wrong = [not math.isfinite(d) or (abs(d - t) > 3 and abs(d - t) > 0.05 * t) for d, t in pairs]
    assert bad_pixels(disparity, truth, mask, 3, relative=0.05) == same(100 * mean(wrong))
    assert density(disparity, mask) == same(100 * mean([math.isfinite(d) for d, _ in pairs]))
