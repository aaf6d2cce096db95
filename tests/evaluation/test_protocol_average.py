"""Averages over scenes."""

import math

import pytest

from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.protocol_average import average

MEAN, COLUMNS, WEIGHTED = resolve("eth3d"), resolve("middlebury-v2"), resolve("middlebury-v3")
PIXELS = resolve(
    {"base": "kitti2015", "measures": ["bad_pixels", "rms_error", "A50", "pixels"], "regions": ["nonocc", "background_nonocc"]}
)


def test_no_scene_has_no_average():
    assert average([], MEAN) == {}


def test_what_one_scene_lacks_or_leaves_undefined():
    found = average([{"a": 1.0, "b": 2.0}, {"a": math.nan}], MEAN)
    assert list(found) == ["a"]
    assert math.isnan(found["a"])


def test_weights_count_in_weighted_averages_only():
    scenes = [{"rms_error_all": 1.0}, {"rms_error_all": 4.0}]
    assert average(scenes, WEIGHTED, [2, 1]) == {"rms_error_all": 2.0}
    assert average(scenes, MEAN, [2, 1]) == {"rms_error_all": 2.5}
    assert average(scenes, WEIGHTED) == {"rms_error_all": 2.5}


def test_columns():
    scenes = [
        {"bad_pixels_all": 1.0, "bad_pixels_disc": 3.0, "bad2_all": 9.0},
        {"bad_pixels_all": 2.0, "bad_pixels_disc": 6.0, "bad2_all": 9.0},
    ]
    assert average(scenes, COLUMNS)["bad_pixels"] == 3.0


def test_pixels_pool_squares_as_squares_and_leave_quantiles_out():
    scenes = [
        {
            "pixels_nonocc": 10.0,
            "bad_pixels_nonocc": 10.0,
            "rms_error_nonocc": 3.0,
            "A50_nonocc": 1.0,
            "pixels_background_nonocc": 1.0,
            "bad_pixels_background_nonocc": 100.0,
        },
        {
            "pixels_nonocc": 30.0,
            "bad_pixels_nonocc": 50.0,
            "rms_error_nonocc": 1.0,
            "A50_nonocc": 1.0,
            "pixels_background_nonocc": 3.0,
            "bad_pixels_background_nonocc": 0.0,
        },
    ]
    assert average(scenes, PIXELS) == {
        "pixels_nonocc": 40.0,
        "bad_pixels_nonocc": 40.0,
        "rms_error_nonocc": pytest.approx(math.sqrt((90 + 30) / 40)),
        "pixels_background_nonocc": 4.0,
        "bad_pixels_background_nonocc": 25.0,
    }
