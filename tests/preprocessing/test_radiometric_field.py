"""The field against its slow version, and pairs of unlike light."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, image_pairs

from stereo_framework import SearchRange
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.view import DisparityMap
from stereo_framework.kernels.local_averages import average_locally
from stereo_framework.preprocessing import radiometric_field

hole = np.nan


def look(disparity, status=None):
    disparity = np.array(disparity, np.float32)
    return DisparityMap(
        disparity,
        np.zeros(disparity.shape, np.uint8) if status is None else status,
        SearchRange(0, 3),
    )


def naive_field(reference, match, direction, view, sigma):
    """The field, float64 (rows, columns, channels), or None without matches. Gaussians end at 4 standard deviations."""
    rows, columns = reference.shape[:2]
    left, right = (image.reshape(rows, columns, -1).astype(float) for image in (reference, match))
    differences = {}
    for y, x in np.ndindex(rows, columns):
        if not math.isnan(view.disparity[y, x]) and view.status[y, x] == 0:
            place = x - direction * round(float(view.disparity[y, x]))
            if 0 <= place < columns:
                differences[y, x] = left[y, x] - right[y, place]
    if not differences:
        return None
    middle = np.median(list(differences.values()), axis=0)
    limit = 4 * np.median([abs(e - middle).mean() for e in differences.values()]) + 4
    field = np.empty(left.shape)
    reach = math.ceil(4 * sigma)
    kernel = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * sigma**2))
    kernel /= kernel.sum()
    for y, x in np.ndindex(rows, columns):
        total, weight = 1e-3 * middle, 1e-3
        for (j, i), e in differences.items():
            if max(abs(j - y), abs(i - x)) <= reach:
                w = kernel[j - y + reach] * kernel[i - x + reach]
                total, weight = total + w * np.clip(e, middle - limit, middle + limit), weight + w
        field[y, x] = total / weight
    return field


@given(
    data=st.data(),
    images=image_pairs(),
    sigma=st.sampled_from([2.0, 0.7, 9.0]),
    direction=st.sampled_from([1, -1]),
)
def test_agrees_with_the_slow_version(data, images, sigma, direction):
    shape = images[0].shape[:2]
    disparity = data.draw(filled(shape, np.array([0, 1, 2.4, -1, hole, hole])))
    view = look(disparity, data.draw(filled(shape, np.array([0, 0, 1, 3]))).astype(np.uint8))
    reference, match = radiometric_field(
        *images, SearchRange(0, 3, direction=direction), {"first": view}, sigma=sigma
    )
    np.testing.assert_array_equal(match, images[1])
    field = naive_field(*images, direction, view, sigma)
    if field is None:
        np.testing.assert_array_equal(reference, images[0])
        return
    expected = np.clip(images[0].reshape(field.shape) - field, 0, 255).reshape(images[0].shape)
    assert reference.dtype == images[0].dtype
    # Where the Gaussian ends, OpenCV may keep or leave one more value of 3e-4 of the weight of differences up to 510; rounding adds a half.
    np.testing.assert_allclose(
        reference, expected, rtol=0, atol=0.3 + (0.5 if images[0].dtype == np.uint8 else 0)
    )


@pytest.mark.compiled
def test_large_fields_are_computed_of_blocks():
    rng = np.random.default_rng(3)
    shape = (13, 21)
    light = 20 * np.sin(np.arange(21) / 25) + np.arange(13)[:, None] / 4
    match = rng.uniform(60, 120, shape).astype(np.float32)
    reference = (match + light + rng.normal(0, 1, shape)).astype(np.float32)
    disparity = np.where(rng.random(shape) < 0.7, 0, hole)
    corrected, _ = radiometric_field(
        reference, match, SearchRange(0, 3), {"first": look(disparity)}, sigma=12.0
    )
    expected = reference - naive_field(reference, match, 1, look(disparity), 12.0)[..., 0]
    # Blocks of 2x2 pixels move the differences of this light, a grey level a pixel at most, by half a pixel.
    np.testing.assert_allclose(corrected, expected, atol=0.5)


def test_the_initial_map_is_that_of_the_named_auxiliary_method():
    image, search = np.full((2, 3), 9, np.uint8), SearchRange(0, 3)
    views = {"robust": look(np.zeros((2, 3))), "fine": look(np.full((2, 3), hole))}
    bright = image + np.uint8(7)
    assert (radiometric_field(bright, image, search, views, initial="robust")[0] == 9).all()
    assert (radiometric_field(bright, image, search, views, initial="fine")[0] == 16).all()
    with pytest.raises(
        ParameterError,
        match=r"^radiometric_field.initial: names no auxiliary method, and there are several; allowed: fine, robust$",
    ):
        radiometric_field(image, image, search, views)
    with pytest.raises(
        ParameterError,
        match=r"^radiometric_field.initial: no auxiliary method 'robst'; allowed .*did you mean 'robust'\?$",
    ):
        radiometric_field(image, image, search, views, initial="robst")
    with pytest.raises(ParameterError, match=r"^radiometric_field.sigma: 0.0 is not a number > 0"):
        radiometric_field(image, image, search, views, sigma=0.0, initial="fine")


@pytest.mark.parametrize("shape", [(41, 41), (41, 40), (40, 41)])
def test_averages_of_a_ramp_stay_in_their_place(shape):
    """Average blocks of 2x2 pixels, with an odd side filled up at its end."""

    def average(image):
        mask = np.ones(shape, bool)
        return average_locally(image[..., None], mask, 0.0, 12.0)[..., 0]

    for ramp in np.indices(shape, np.float32):
        upright = average(ramp)
        turned = np.flip(average(np.flip(ramp)))
        assert upright.shape == shape
        # Both begin at opposite corners, so that a displacement would differ in sign.
        # The pull toward 0 is a thousandth of the average.
        np.testing.assert_allclose(upright[20, 20], turned[20, 20], atol=0.05)
