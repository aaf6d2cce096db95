"""Every benchmark protocol on a worked example of 3x3 pixels that shows each of its rules."""

import math

import numpy as np
import pytest
from evaluation_inputs import make_scene

from stereo_framework.core.scene import Calibration
from stereo_framework.evaluation import evaluate
from stereo_framework.evaluation.protocols import PRESETS, average

NAN, INF = math.nan, math.inf
ALL = np.ones((3, 3), bool)


def _map(*rows):
    return np.array(rows, np.float32)


def _masked(truth, masks=None, **fields):
    return make_scene(truth, masks={k: (lambda v=v: v) for k, v in (masks or {}).items()}, **fields)


def test_taxonomy2002():
    truth = _map([4, 4, 4], [4, 4, 4], [4, 4, NAN])
    # An error of exactly 1 is good, a little more is bad; missing is bad, but not in the RMS; unknown truth does not count.
    estimate = _map([4, 5, 5.001], [3, 2, NAN], [4, 4, 99])
    found = evaluate(estimate, make_scene(truth), {"base": "taxonomy2002", "prediction": "none"})
    assert found["bad_pixels_all"] == pytest.approx(100 * 3 / 8)
    # Seven estimates with errors 0, 1, 1.001, 1, 2, 0, 0; 5.001 is not exact in float32.
    assert found["rms_error_all"] == pytest.approx(math.sqrt((1 + 1.001**2 + 1 + 4) / 7), rel=1e-6)
    assert found["fraction_matched"] == 7 / 8
    # The scene's border leaves the middle pixel.
    inner = evaluate(estimate, make_scene(truth, border=1), "taxonomy2002")
    assert (inner["bad_pixels_all"], inner["rms_error_all"]) == (100, 2)


def test_middlebury_v2():
    truth = _map([2, 4, 6], [NAN, 4, 4], [4, 4, 4])
    known = np.isfinite(truth)
    nonocc = known & np.array([[0, 1, 1], [1, 1, 1], [1, 1, 1]], bool)
    disc = np.zeros((3, 3), bool)
    disc[0] = True
    # In grey levels of 1/4 pixel: 5.1 becomes 5 (error 1, good), 5.13 becomes 5.25 (bad); missing is 0, which is an error of 4.
    estimate = _map([3, 5.1, 5.13], [7, 5.13, NAN], [4, 4, 70])
    scene = _masked(
        truth, {"all": known, "nonocc": nonocc, "disc": disc & nonocc}, grey_levels=4.0, border=1
    )
    found = evaluate(estimate, scene, "middlebury-v2")
    # The scene's border of the 2002 paper does not count. Bad: 5.13 over 4, the missing one, 70 (255 / 4 at most).
    assert found == {
        "bad_pixels_nonocc": pytest.approx(100 * 3 / 7),
        "bad_pixels_all": pytest.approx(100 * 3 / 8),
        "bad_pixels_disc": 0,
        "fraction_matched": 7 / 8,
    }
    # A missing estimate where the truth is 0.5 is within a pixel of it: 0 is a disparity.
    near_zero = evaluate(
        _map([NAN, NAN, NAN]),
        _masked(_map([0.5, 1, 1.5]), {"all": ALL[:1], "nonocc": ALL[:1]}),
        "middlebury-v2",
    )
    assert near_zero["bad_pixels_all"] == pytest.approx(100 / 3)


def test_middlebury_v3():
    # Half size: errors count double. 8 pixels are known, 6 of them non-occluded.
    truth = _map([2, 4, 6], [NAN, 4, 4], [4, 4, 4])
    nonocc = np.array([[0, 1, 1], [1, 1, 1], [1, 0, 1]], bool)
    scene = _masked(truth, {"nonocc": nonocc}, reduction=2, largest_disparity=7.0)
    # 90 is clipped to 7, an error of 1 and in the original images 2: not bad at 2. -3 becomes 0.
    estimate = _map([-3, INF, 90], [5, 5.5, 4.1], [NAN, 4, 4])
    found = evaluate(estimate, scene, "middlebury-v3")
    # Errors in original pixels: 4 | 2 | 3 | 0.2 | 0 (occluded) | 0; missing are two.
    assert found["bad_pixels_all"] == found["bad2_all"] == pytest.approx(100 * 2 / 8)
    assert found["bad4_all"] == 0
    assert found["bad0.5_all"] == pytest.approx(100 * 3 / 8)
    assert found["invalid_pixels_all"] == pytest.approx(100 * 2 / 8)
    assert found["total_bad_pixels_all"] == pytest.approx(100 * 4 / 8)
    assert found["total_bad4_all"] == pytest.approx(100 * 2 / 8)
    # Averages are of the valid estimates only; 4.1 is not exact in float32.
    assert found["avg_error_all"] == pytest.approx((4 + 2 + 3 + 0.2) / 6, rel=1e-6)
    assert found["rms_error_all"] == pytest.approx(math.sqrt((16 + 4 + 9 + 0.04) / 6), rel=1e-6)
    assert found["A50_all"] == 2  # the fourth of 0, 0, 0.2, 2, 3, 4
    assert found["A90_all"] == found["A99_all"] == 4
    assert found["bad_pixels_nonocc"] == pytest.approx(100 * 1 / 6)
    assert found["invalid_pixels_nonocc"] == pytest.approx(100 * 2 / 6)
    # A map of half size is repeated and doubled; whole truth rounds estimates.
    large = make_scene(np.full((4, 6), 4, np.float32), whole_truth=True)
    small = evaluate(_map([2, 2.5, 2], [2, 2, 2.2]), large, "middlebury-v3")
    assert small["avg_error_all"] == pytest.approx(1 / 6)  # 2.5 is 5, 2.2 is 4.4 and rounded 4
    # The weighted average of two scenes.
    assert average(
        [{"bad_pixels_all": 2.0}, {"bad_pixels_all": 5.0}], PRESETS["middlebury-v3"], [1, 0.5]
    ) == {"bad_pixels_all": 3.0}


def test_kitti2012():
    truth = _map([9, 9, 9], [9, NAN, 9], [9, 9, 9])
    nonocc = np.array([[1, 1, 1], [1, 1, 1], [0, 0, 1]], bool)
    # Row 1: the hole takes the smaller neighbour, 6. Row 2: 12.5 is copied to the row's end. Row 3: filled from above.
    estimate = _map([9, NAN, 6], [12.5, 1, NAN], [NAN, NAN, NAN])
    found = evaluate(estimate, _masked(truth, {"nonocc": nonocc}), "kitti2012")
    # Filled: 9 6 6 | 12.5 1 1 | 12.5 1 1, errors 0 3 3 | 3.5 - 8 | 3.5 8 8; 3 is not above 3.
    assert found["bad_pixels_all"] == found["bad3_all"] == pytest.approx(100 * 5 / 8)
    assert found["bad_pixels_nonocc"] == pytest.approx(100 * 3 / 6)
    assert found["bad2_all"] == pytest.approx(100 * 7 / 8)
    assert found["bad4_all"] == pytest.approx(100 * 3 / 8)
    assert found["avg_error_all"] == pytest.approx((0 + 3 + 3 + 3.5 + 8 + 3.5 + 8 + 8) / 8)
    # Density is that of the estimates before.
    assert found["density_all"] == pytest.approx(100 * 3 / 8)
    assert (
        evaluate(np.full((3, 3), NAN, np.float32), _masked(truth), "kitti2012")["bad_pixels_all"]
        == 100
    )


def test_kitti2015():
    truth = _map([100, 100, 100], [20, 20, 20], [NAN, 20, 20])
    foreground = np.array([[1, 1, 1], [0, 0, 0], [0, 0, 0]], bool)
    # An outlier is wrong by more than 3 pixels and by more than 5 %: exactly 5 of 100 is none, 5.5 is; exactly 3 of 20 is none.
    estimate = _map([105, 105.5, 96], [23, 24, 20], [99, 20, NAN])
    masks = {
        "foreground": foreground,
        "background": ~foreground & np.isfinite(truth),
        "nonocc": np.isfinite(truth),
    }
    found = evaluate(estimate, _masked(truth, masks), "kitti2015")
    assert found["bad_pixels_foreground"] == pytest.approx(100 / 3)
    assert found["bad_pixels_background"] == pytest.approx(100 / 5)
    assert found["bad_pixels_all"] == pytest.approx(100 * 2 / 8)
    assert found["pixels_background"] == 5
    assert "bad_pixels_background_nonocc" not in found
    # All errors of all images over all their pixels; an image without foreground adds nothing.
    other = {
        "bad_pixels_foreground": NAN,
        "pixels_foreground": 0.0,
        "bad_pixels_all": 10.0,
        "pixels_all": 92.0,
    }
    mean = average([found, other], PRESETS["kitti2015"])
    assert mean["bad_pixels_foreground"] == pytest.approx(100 / 3)
    assert mean["bad_pixels_all"] == pytest.approx(100 * (2 + 9.2) / 100)
    assert mean["pixels_all"] == 100


def test_eth3d():
    truth = _map([2, 2, 2], [2, 2, NAN], [2, 2, 2])
    nonocc = np.array([[1, 1, 1], [0, 0, 1], [1, 1, 1]], bool)
    # An estimate of more than the width, 3 pixels, counts as missing, one of exactly 3 does not.
    estimate = _map([3, 3.01, 0.5], [NAN, 2, 2], [2, 2.75, INF])
    found = evaluate(estimate, _masked(truth, {"nonocc": nonocc}), "eth3d")
    # All but the coverage is of the five estimates 3, 0.5, 2, 2, 2.75: errors 1, 1.5, 0, 0, 0.75.
    assert found["density_all"] == pytest.approx(100 * 5 / 8)
    assert found["bad_pixels_all"] == found["bad1_all"] == pytest.approx(100 / 5)
    assert found["bad0.5_all"] == pytest.approx(100 * 3 / 5)
    assert found["avg_error_all"] == pytest.approx(3.25 / 5)
    assert found["A50_all"] == 0.75
    assert found["A90_all"] == 1.5
    assert found["bad_pixels_nonocc"] == pytest.approx(100 / 4)
    # Nothing estimated: everything wrong by any amount.
    none = evaluate(np.full((3, 3), NAN, np.float32), _masked(truth), "eth3d")
    assert (none["density_all"], none["bad_pixels_all"], none["bad4_all"]) == (0, 100, 100)
    assert none["avg_error_all"] == none["rms_error_all"] == none["A99_all"] == INF


def test_depth_errors_know_the_camera():
    truth, estimate = _map([2, 4, 5]), _map([4, 4, NAN])
    scene = make_scene(truth, calibration=Calibration(100.0, 2.0, 5.0), reduction=4)
    metrics = {"metrics": ["sigma_z_error", "mean_sigma_z_error"], "regions": ["all"]}
    # 1/2 - 1/4, 0 and, for the missing estimate, 1/5.
    plain = evaluate(estimate, scene, {"base": "taxonomy2002", **metrics})
    errors = {
        "sigma_z_error_all": pytest.approx(0.45),
        "mean_sigma_z_error_all": pytest.approx(0.15),
    }
    assert plain == errors | {"fraction_matched": pytest.approx(2 / 3)}
    # With focal length, baseline and doffs, whatever size pixels are counted in: 200/7 - 200/9, 0, 200/10.
    for base in ("taxonomy2002", "middlebury-v3"):
        spec = {"base": base, **metrics, "depth_scale": "calibration"}
        assert evaluate(estimate, scene, spec)["sigma_z_error_all"] == pytest.approx(
            200 / 7 - 200 / 9 + 20
        )
    skipped = {"base": "taxonomy2002", **metrics, "depth_missing": "skip"}
    assert evaluate(estimate, scene, skipped)["sigma_z_error_all"] == pytest.approx(0.25)
