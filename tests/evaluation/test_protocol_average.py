"""Averages over scenes."""

import math

import pytest

from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.protocols import average

PIXELS = {
    "base": "kitti2015",
    "metrics": ["bad_pixels", "rms_error", "A50", "pixels"],
    "regions": ["nonocc", "background_nonocc"],
}


def scene(pixels, bad, rms, pixels_behind, bad_behind):
    """Statistics of a scene; a quantile, which has no average over pixels, among them."""
    nonocc = {
        "pixels_nonocc": pixels,
        "bad_pixels_nonocc": bad,
        "rms_error_nonocc": rms,
        "A50_nonocc": 1.0,
    }
    return nonocc | {
        "pixels_background_nonocc": pixels_behind,
        "bad_pixels_background_nonocc": bad_behind,
    }


RMS, TWO = [{"rms_error_all": 1.0}, {"rms_error_all": 4.0}], [2.0, 1.0]
COLUMNS = [
    {"bad_pixels_all": 1.0, "bad_pixels_disc": 3.0, "bad2_all": 9.0},
    {"bad_pixels_all": 2.0, "bad_pixels_disc": 6.0, "bad2_all": 9.0},
]


@pytest.mark.parametrize(
    ("scenes", "protocol", "weights", "expected"),
    [
        ([], "eth3d", None, {}),
        # What one scene lacks is absent, what it leaves undefined is NaN.
        ([{"a": 1.0, "b": 2.0}, {"a": math.nan}], "eth3d", None, {"a": math.nan}),
        # Weights count in weighted averages only.
        (RMS, "middlebury-v3", TWO, {"rms_error_all": 2.0}),
        (RMS, "middlebury-v3", None, {"rms_error_all": 2.5}),
        (RMS, "eth3d", TWO, {"rms_error_all": 2.5}),
        (
            COLUMNS,
            "middlebury-v2",
            None,
            {"bad_pixels_all": 1.5, "bad_pixels_disc": 4.5, "bad2_all": 9.0, "bad_pixels": 3.0},
        ),
        # Pixels pool squares as squares and leave quantiles out.
        (
            [scene(10.0, 10.0, 3.0, 1.0, 100.0), scene(30.0, 50.0, 1.0, 4.0, 0.0)],
            PIXELS,
            None,
            {
                "pixels_nonocc": 40.0,
                "bad_pixels_nonocc": 40.0,
                "rms_error_nonocc": math.sqrt((90 + 30) / 40),
                "pixels_background_nonocc": 5.0,
                "bad_pixels_background_nonocc": 20.0,
            },
        ),
    ],
)
def test_by_hand(scenes, protocol, weights, expected):
    assert average(scenes, resolve(protocol), weights) == pytest.approx(expected, nan_ok=True)


def test_scenes_without_a_pixel_below_the_truth_limit_are_left_out():
    protocol = resolve({"base": "eth3d", "truth_limit": 192})
    counted = {"fraction_matched": 1.0, "bad_pixels_all": 4.0}
    empty = {"fraction_matched": math.nan, "bad_pixels_all": math.nan}
    assert average([counted, empty], protocol)["bad_pixels_all"] == 4
    assert average([empty, counted, counted], protocol, [5, 1, 1])["bad_pixels_all"] == 4
    assert math.isnan(average([counted, empty], resolve("eth3d"))["bad_pixels_all"])
