"""Similarity of images: scikit-image where there are no holes, slow versions where there are."""

import math

import naive_measures
import numpy as np
import pytest
from skimage import metrics

from stereo_framework.evaluation.similarity import (
    mean_squared_difference,
    peak_signal_to_noise,
    r_ssim,
    structural_similarity,
)


def _pair(shape, dtype=np.uint8, noise=20.0, seed=0):
    """A smooth image and a noisy copy."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[0], : shape[1]]
    smooth = 128 + 60 * np.sin(x / 5 + y / 9)
    smooth = smooth[..., None] + [0, 20, -30] if len(shape) == 3 else smooth
    return tuple(
        np.clip(smooth + random.normal(0, n, shape), 0, 255).astype(dtype) for n in (2, noise)
    )


@pytest.mark.parametrize("shape", [(11, 11), (11, 30), (37, 41), (24, 31, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_equal_scikit_image(shape, dtype):
    image, other = _pair(shape, dtype)
    # In its float64; given float32 scikit-image computes in that.
    a, b = image.astype(np.float64), other.astype(np.float64)
    axis = 2 if len(shape) == 3 else None
    expected = metrics.structural_similarity(
        a,
        b,
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
        data_range=255,
        channel_axis=axis,
    )
    assert 0.1 < expected < 0.9
    everywhere = np.ones(shape[:2], bool)
    # Both are float64; variances are differences of numbers up to 255**2.
    assert structural_similarity(image, other) == pytest.approx(expected, abs=1e-11)
    assert structural_similarity(image, other, everywhere) == pytest.approx(expected, abs=1e-11)
    expected = metrics.peak_signal_noise_ratio(a, b, data_range=255)
    # Differences of fractions are rounded to float32.
    assert peak_signal_to_noise(image, other) == pytest.approx(expected, rel=1e-6)
    assert peak_signal_to_noise(image, other, everywhere) == pytest.approx(expected, rel=1e-6)
    assert mean_squared_difference(image, other) == pytest.approx(
        metrics.mean_squared_error(a, b), rel=1e-6
    )


@pytest.mark.parametrize("density", [0.9, 0.3, 0.02])
@pytest.mark.parametrize("noise", [3, 60])
def test_holes_agree_with_the_slow_version(density, noise):
    image, other = _pair((20, 23), noise=noise)
    valid = np.random.default_rng(1).random(image.shape) < density
    # What stands in holes does not count.
    spoilt = np.where(valid, other, np.float32(np.nan))
    expected = naive_measures.structural_similarity(image, other, valid, 255)
    assert structural_similarity(image, spoilt, valid) == pytest.approx(expected, abs=1e-11)
    squares = (image[valid].astype(float) - other[valid]) ** 2
    assert mean_squared_difference(image, spoilt, valid) == pytest.approx(squares.mean(), rel=1e-12)
    assert peak_signal_to_noise(image, spoilt, valid) == pytest.approx(
        10 * math.log10(255**2 / squares.mean()), rel=1e-12
    )


def test_what_has_no_window_is_nan():
    for shape in ((10, 40), (40, 10), (1, 1), (10, 12, 3)):
        image, other = _pair(shape)
        assert math.isnan(structural_similarity(image, other))
        assert not math.isnan(peak_signal_to_noise(image, other))
    image, other = _pair((15, 15))
    border = np.ones(image.shape, bool)
    border[5:-5, 5:-5] = False
    assert math.isnan(structural_similarity(image, other, border))
    for metric in (structural_similarity, peak_signal_to_noise, mean_squared_difference):
        assert math.isnan(metric(image, other, np.zeros(image.shape, bool)))


def _maps():
    random = np.random.default_rng(2)
    y, x = np.mgrid[:20, :26]
    truth = (5 + 0.2 * x + 0.1 * y + 6 * ((x > 12) & (y > 8))).astype(np.float32)
    disparity = truth + random.normal(0, 0.5, truth.shape).astype(np.float32)
    disparity[random.random(truth.shape) < 0.2] = np.nan
    truth[random.random(truth.shape) < 0.1] = np.nan
    return disparity, truth


@pytest.mark.parametrize(("largest", "half"), [(None, False), (64, False), (None, True)])
def test_range_maps_with_gaps_agree_with_the_slow_version(largest, half):
    disparity, truth = _maps()
    region = np.arange(26) < (13 if half else 26) + np.zeros((20, 1))
    valid = np.isfinite(disparity) & np.isfinite(truth) & region
    spread = largest or float(np.nanmax(truth) - np.nanmin(truth))
    expected = naive_measures.structural_similarity(disparity, truth, valid, spread)
    assert 0.1 < expected < 1
    # Variances are differences of numbers up to 20**2 and are compared with 0.1.
    assert r_ssim(disparity, truth, region if half else None, largest=largest) == pytest.approx(
        expected, abs=1e-11
    )


def test_range_maps_that_cannot_be_compared():
    disparity, truth = _maps()
    nothing, flat = np.full_like(truth, np.nan), np.full_like(truth, 4)
    for pair in (
        (nothing, truth),
        (disparity, nothing),
        (disparity, flat),
        (disparity[:10], truth[:10]),
    ):
        assert math.isnan(r_ssim(*pair))
