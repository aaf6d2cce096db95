"""The filters of single images, and changes of one image's light, against plain numpy and scipy."""

import naive_diffusion
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import convolve, uniform_filter

from stereo_framework.preprocessing import (
    bilateral_subtraction,
    binomial_blur,
    laplacian_of_gaussian,
    mean_subtraction,
    radiometric_change,
)
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
    np.testing.assert_allclose(
        mean_subtraction(_image(shape, np.float32), size=size), expected, atol=1e-4
    )


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        # Even windows reach one pixel further to the right: means of 15, 30 and 40.
        (2, [[123, 118, 128]]),
        # Windows of four columns hold one pixel to the left and two to the right.
        (4, [[118, 120.5, 133]]),
    ],
)
def test_even_windows_reach_further_to_the_right_and_down(size, expected):
    row = np.float32([[10, 20, 40]])
    assert mean_subtraction(row, size=size).tolist() == expected
    column = np.ascontiguousarray(row.T)
    assert mean_subtraction(column, size=size).T.tolist() == expected


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
    np.testing.assert_allclose(
        laplacian_of_gaussian(image.astype(np.float32), sigma=sigma), expected, atol=1e-4
    )


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
            weights = np.exp(-(i * i + j * j) / (2 * 1.5**2)) * np.exp(
                -((window - centre) ** 2) / (2 * 20.0**2)
            )
            expected[y, x, channel] = centre - (weights * window).sum() / weights.sum() + 128
    found = bilateral_subtraction(image.astype(np.float32), size=5, sigma_space=1.5)
    # Of whole grey levels the table holds the weights themselves.
    np.testing.assert_allclose(found, np.clip(expected, 0, 255).reshape(shape), atol=1e-4)


def test_bilateral_reads_nothing_beyond_its_table():
    """Intensities that no image should hold are no neighbours of the others, which have what they have among themselves."""
    row = [10, 12, 9000, 14, np.nan, 10, 12, -800, 9]
    # A direct call refuses NaN; this is the function that pipelines call.
    found = bilateral_subtraction.__wrapped__(np.float32([row]), size=3)[0]
    assert (np.isnan(found) == np.isnan(row)).all()
    for x in (0, 1, 3, 5, 6, 8):
        around = [(i, row[min(max(x + i, 0), 8)]) for i in (-1, 0, 1)]
        near = [
            (np.exp(-(i * i) / 18 - (v - row[x]) ** 2 / 800), v)
            for i, v in around
            if abs(v - row[x]) < 255
        ]
        mean = sum(weight * v for weight, v in near) / sum(weight for weight, _ in near)
        assert found[x] == pytest.approx(row[x] - mean + 128, abs=1e-4)


shapes = st.sampled_from([(1, 1), (1, 5), (4, 1), (3, 4), (5, 6, 3)])


@given(
    image=shapes.flatmap(lambda shape: hnp.arrays(np.uint8, shape)), iterations=st.integers(1, 3)
)
def test_both_types_agree_with_the_slow_version(image, iterations):
    expected = naive_diffusion.filtered(image, np.array([1, 2, 1]) / 4, iterations)
    # Sums of 64ths and their powers up to 255: exact in float32.
    np.testing.assert_array_equal(
        binomial_blur(image.astype(np.float32), iterations=iterations), expected
    )
    result = binomial_blur(image, iterations=iterations)
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, np.rint(expected))


@pytest.mark.parametrize("shape", [(5, 8), (5, 8, 3), (1, 1)])
def test_each_pixel(shape):
    left, right = np.random.default_rng(0).integers(0, 256, (2, *shape)).astype(np.uint8)
    same, changed = radiometric_change(left, right, exposure=1.3, vignetting=0.6, gamma=1.5)
    rows, columns = shape[:2]
    np.testing.assert_array_equal(same, left)
    for place in np.ndindex(shape):
        y, x = (
            -1 + 2 * i / (n - 1) if n > 1 else -1
            for i, n in zip(place, (rows, columns), strict=False)
        )
        seen = min(right[place] * 1.3 * (1 - 0.6 * (x * x + y * y) / 2) / 255, 1)
        # Where a value lies at the middle of two grey levels, rounding errors decide.
        assert abs(changed[place] - 255 * seen**1.5) <= 0.5 + 1e-9


def test_noise_is_that_of_its_seed():
    grey = np.full((200, 300), 128, np.uint8)
    first, again, other = (
        radiometric_change(grey, grey, noise=6, seed=seed)[1] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    # 60000 draws: the standard error of their deviation is 0.02, that of their mean 0.03; rounding adds 1/12 to the variance.
    assert first.std() == pytest.approx((36 + 1 / 12) ** 0.5, abs=0.08)
    assert first.mean() == pytest.approx(128, abs=0.1)
