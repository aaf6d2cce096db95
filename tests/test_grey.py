"""Grey values of colour images."""

from fractions import Fraction

import cv2
import numpy as np
import pytest

from stereo_framework import load, run
from stereo_framework.core.grey import grey_values

COLOURS = np.random.default_rng(0).integers(0, 256, (50, 40, 3), dtype=np.uint8)


def test_luma_of_whole_channels_is_the_nearest_float_of_its_exact_value():
    greys = grey_values(COLOURS, "luma")
    exact = [
        Fraction(299 * int(red) + 587 * int(green) + 114 * int(blue), 1000)
        for red, green, blue in COLOURS.reshape(-1, 3)
    ]
    assert greys.dtype == np.float32
    assert greys.ravel().tolist() == [float(np.float32(float(value))) for value in exact]


def test_colours_of_equal_luma_have_equal_grey_values():
    # All of these colours have the same luma: 299 * 15 + 587 * -9 + 114 * 7 = 0.
    colours = np.array([[100, 100, 100]]) + np.outer(np.arange(-6, 7), [15, -9, 7])
    lumas = grey_values(colours.astype(np.uint8)[None], "luma")[0]
    assert set(lumas.tolist()) == {100.0}
    brighter = colours.astype(np.uint8)[None] + np.array([0, 0, 1], np.uint8)
    assert (grey_values(brighter, "luma") > 100).all()


def test_rounded_luma_is_the_nearest_whole_number_and_close_to_opencv():
    greys = grey_values(COLOURS, "rounded_luma")
    assert greys.dtype == np.uint8
    exact = np.dot(COLOURS.astype(float), (0.299, 0.587, 0.114))
    assert np.abs(greys - exact).max() <= 0.5 + 1e-9
    opencv_greys = cv2.cvtColor(COLOURS, cv2.COLOR_RGB2GRAY).astype(int)
    assert np.abs(greys - opencv_greys).max() <= 1
    assert (greys != opencv_greys).mean() < 0.01


@pytest.mark.parametrize("conversion", ["luma", "rounded_luma"])
def test_luma_of_float_images_is_not_rounded(conversion):
    greys = grey_values(COLOURS.astype(np.float32) + 0.25, conversion)
    exact = np.dot(COLOURS.astype(float) + 0.25, (0.299, 0.587, 0.114))
    np.testing.assert_allclose(greys, exact, rtol=1e-6)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_mean_is_the_mean_of_the_channels(kind):
    greys = grey_values(COLOURS.astype(kind), "mean")
    np.testing.assert_allclose(greys, COLOURS.mean(axis=2), rtol=1e-6)


@pytest.mark.parametrize("conversion", ["luma", "rounded_luma", "mean"])
def test_grey_images_are_returned_unchanged(conversion):
    np.testing.assert_array_equal(grey_values(COLOURS[..., 0], conversion), COLOURS[..., 0])


STAGES = {
    "census": {"matching_cost": "census"},
    "rank": {"matching_cost": "rank"},
    "ad_census": {"matching_cost": "ad_census"},
    "gradient_difference": {"matching_cost": "gradient_difference"},
    "semi_global": {
        "matching_cost": "absolute_difference",
        "optimization": {"use": "semi_global", "p1": 5, "p2": 200, "penalties": "gradient"},
    },
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", STAGES)
def test_stages_use_unrounded_luma_by_default(name):
    parameter = "optimization" if name == "semi_global" else "matching_cost"
    script = {"optimization": "winner_take_all", **STAGES[name]}

    def disparity(*overrides):
        [result] = run(
            load(script, overrides=list(overrides)), scenes="synthetic/planes", maps=True
        )
        return result.disparity

    maps = {
        conversion: disparity(f"{parameter}.grey_conversion={conversion}")
        for conversion in ("luma", "rounded_luma", "mean")
    }
    np.testing.assert_array_equal(disparity(), maps["luma"])
