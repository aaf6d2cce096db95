"""The filters that take brightness away, against plain numpy and scipy."""

import numpy as np
import pytest
from scipy.ndimage import convolve, uniform_filter

from stereo_framework.preprocessing import bilateral_subtraction, laplacian_of_gaussian, mean_subtraction
from stereo_framework.preprocessing.laplacian_of_gaussian import kernel_of

SHAPES = [(1, 1), (1, 9), (7, 1), (12, 17), (12, 17, 3)]


def _image(shape, dtype=np.uint8):
    image = np.random.default_rng(0).integers(60, 190, shape)
    return image.astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 3, 7])
def test_means_are_those_of_scipy(shape, size):
    image = _image(shape).astype(float)
    sizes = (size, size, 1)[: image.ndim]
    expected = np.clip(image - uniform_filter(image, sizes, mode="nearest") + 128, 0, 255)
    # Sums of float64, rounded to float32.
    np.testing.assert_allclose(mean_subtraction(_image(shape, np.float32), size=size), expected, atol=1e-4)


@pytest.mark.parametrize("sigma", [0.7, 1.0, 1.6])
def test_laplacian_is_that_of_a_gaussian(sigma):
    """Minus the second differences of a finely sampled Gaussian, without their mean, those above 0 scaled to the sum 1."""
    weights = kernel_of(sigma)
    reach, h = len(weights) // 2, 1e-3

    def gaussian(y, x):
        return np.exp(-(x * x + y * y) / (2 * sigma * sigma))

    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(float)
    around = gaussian(y, x - h) + gaussian(y, x + h) + gaussian(y - h, x) + gaussian(y + h, x)
    expected = 4 * gaussian(y, x) - around
    expected -= expected.mean()
    expected /= expected[expected > 0].sum()
    # Differences over h are off by about h squared, and by rounding over h squared, 1e-10 here.
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    assert weights.sum() == pytest.approx(0, abs=1e-12)
    assert weights[weights > 0].sum() == pytest.approx(1)
    assert len(kernel_of(1.0)) == 5  # as in the source
    image = _image((12, 17)).astype(float)
    expected = np.clip(convolve(image, weights, mode="nearest") + 128, 0, 255)
    np.testing.assert_allclose(laplacian_of_gaussian(image.astype(np.float32), sigma=sigma), expected, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_bilateral_is_that_of_the_equation(shape):
    image = _image(shape)
    planes = image.reshape(*shape[:2], -1).astype(float)
    expected = np.empty_like(planes)
    reach = 2
    for channel in range(planes.shape[2]):
        padded = np.pad(planes[..., channel], reach, mode="edge")
        for y, x in np.ndindex(shape[:2]):
            window, centre = padded[y : y + 5, x : x + 5], planes[y, x, channel]
            j, i = np.mgrid[-2:3, -2:3]
            weights = np.exp(-(i * i + j * j) / (2 * 1.5**2)) * np.exp(-((window - centre) ** 2) / (2 * 20.0**2))
            expected[y, x, channel] = centre - (weights * window).sum() / weights.sum() + 128
    found = bilateral_subtraction(image.astype(np.float32), size=5, sigma_space=1.5)
    # Of whole grey levels the table holds the weights themselves.
    np.testing.assert_allclose(found, np.clip(expected, 0, 255).reshape(shape), atol=1e-4)
