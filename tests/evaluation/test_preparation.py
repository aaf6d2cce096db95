"""Maps as protocols measure them."""

import numpy as np
import pytest
from evaluation_inputs import disparity_maps, make_scene
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation import evaluate, resolve
from stereo_framework.evaluation.preparation import interpolated, prepare
from stereo_framework.evaluation.protocols import average


def _filled(line):
    """Each hole of a row or column takes the smaller of its nearest known neighbours."""
    known, filled = np.flatnonzero(~np.isnan(line)), line.copy()
    for i in range(len(line)):
        neighbours = [*known[known <= i][-1:], *known[known >= i][:1]]
        filled[i] = min(line[neighbours], default=np.nan)
    return filled


@given(disparity_maps())
def test_interpolation(disparity):
    before = disparity.copy()
    expected = np.apply_along_axis(_filled, 1, disparity)
    known_rows = np.flatnonzero(np.isfinite(expected[:, 0]))
    if known_rows.size:
        # KITTI's rule: columns are continued to the top and to the bottom only.
        expected[: known_rows[0]] = expected[known_rows[0]]
        expected[known_rows[-1] :] = expected[known_rows[-1]]
    np.testing.assert_array_equal(interpolated(disparity), expected)
    np.testing.assert_array_equal(disparity, before)


def test_a_map_that_needs_nothing_is_not_copied():
    disparity = np.ones((3, 4), np.float32)
    prepared, given = prepare(disparity, make_scene(disparity), resolve("taxonomy2002"))
    assert np.shares_memory(prepared, disparity)
    assert given is prepared


@pytest.mark.parametrize(
    ("shape", "protocol", "message"),
    [
        (
            (4, 6),
            "taxonomy2002",
            "the map is 6x4, the scene's images are 12x8: where it is of reduced images, enlarge it",
        ),
        ((2, 3), "taxonomy2002", "enlarge it and multiply its disparities by as much"),
        ((16, 24), "middlebury-v3", "the map is 24x16, the scene's images are 12x8"),
        ((8, 11), "middlebury-v3", "the map is 11x8, the scene's images are 12x8"),
        ((0, 0), "middlebury-v3", "the map is 0x0"),
    ],
)
def test_other_sizes(shape, protocol, message):
    with pytest.raises(DataError, match=message):
        prepare(
            np.ones(shape, np.float32), make_scene(np.ones((8, 12), np.float32)), resolve(protocol)
        )


def test_enlarging():
    small = np.array([[1, np.nan], [2.5, 3]], np.float32)
    whole = prepare(small, make_scene(np.ones((4, 4), np.float32)), resolve("middlebury-v3"))[0]
    expected = [[2, 2, np.nan, np.nan], [2, 2, np.nan, np.nan], [5, 5, 6, 6], [5, 5, 6, 6]]
    np.testing.assert_array_equal(whole, expected)


ROWS = np.array(
    [[np.nan] * 3, [8, np.nan, 6], [np.nan] * 3, [np.nan] * 3, [9, 9, 9], [np.nan] * 3], np.float32
)


@pytest.mark.parametrize("protocol", ["kitti2012", "kitti2015"])
def test_rows_without_any_estimate_between_others_stay_invalid_in_kitti(protocol):
    prepared, estimated = prepare(ROWS, make_scene(np.ones((6, 3))), resolve(protocol))
    # The kits compute errors with their value for invalid pixels, -1.
    np.testing.assert_array_equal(
        prepared, [[8, 6, 6], [8, 6, 6], [-1] * 3, [-1] * 3, [9] * 3, [9] * 3]
    )
    np.testing.assert_array_equal(estimated, ROWS)


def kit_statistics(disparity, truth):
    """Count outliers and sum errors as the program of KITTI 2012 does, pixel by pixel."""
    filled = np.where(np.isfinite(disparity) & (disparity >= 0), disparity, -1)
    rows, columns = filled.shape
    for y in range(rows):
        hole = []
        for x in range(columns):
            if filled[y, x] < 0:
                hole.append(x)
                continue
            if hole and hole[0] > 0:
                filled[y, hole] = min(filled[y, hole[0] - 1], filled[y, x])
            hole = []
        valid = np.flatnonzero(filled[y] >= 0)
        if valid.size:
            filled[y, : valid[0]] = filled[y, valid[0]]
            filled[y, valid[-1] :] = filled[y, valid[-1]]
    for x in range(columns):
        valid = np.flatnonzero(filled[:, x] >= 0)
        if valid.size:
            filled[: valid[0], x] = filled[valid[0], x]
            filled[valid[-1] :, x] = filled[valid[-1], x]
    errors = np.abs(truth - filled)[np.isfinite(truth)]
    return 100 * np.mean(errors > 3), np.mean(errors)


@given(disparity_maps(), st.integers(1, 40))
def test_statistics_of_kitti_are_those_of_its_program(disparity, level):
    truth = np.full(disparity.shape, level, np.float32)
    statistics = evaluate(disparity, truth, "kitti2012")
    outliers, average_error = kit_statistics(disparity, truth)
    assert statistics["bad_pixels"] == pytest.approx(outliers)
    assert statistics["avg_error"] == pytest.approx(average_error, rel=1e-6)


@pytest.mark.parametrize(
    ("value", "share", "bad"),
    # Of the kit: minus infinity is clipped to 0; NaN, infinity and values far above the largest disparity are invalid.
    [
        (-np.inf, 1, 25),
        (-1e9, 1, 25),
        (np.inf, 0.75, 0),
        (np.nan, 0.75, 0),
        (3.4e38, 0.75, 0),
        (5e4, 0.75, 0),
        (4e4, 1, 25),
    ],
)
def test_estimates_that_middlebury_counts(value, share, bad):
    disparity = np.array([[value, 20, 20, 20]], np.float32)
    scene = make_scene(np.full((1, 4), 20), largest_disparity=40)
    statistics = evaluate(disparity, scene, {"base": "middlebury-v3", "regions": ["all"]})
    assert (statistics["fraction_matched"], statistics["bad_pixels_all"]) == (share, bad)


@pytest.mark.parametrize("largest", [None, 40])
def test_minus_infinity_is_the_disparity_zero_in_middlebury(largest):
    disparity = np.array([[-np.inf, 20]], np.float32)
    prepared, _ = prepare(
        disparity,
        make_scene(np.full((1, 2), 20), largest_disparity=largest),
        resolve("middlebury-v3"),
    )
    np.testing.assert_array_equal(prepared, [[0, 20]])


@pytest.mark.parametrize("beyond", [192, 250, -192, 1e6])
def test_sceneflow_counts_pixels_with_truth_below_192_only(beyond):
    truth = np.array([[beyond, 191.5, 20, 0]], np.float32)
    disparity = np.array([[100, 192, 20.5, 0.5]], np.float32)
    statistics = evaluate(disparity, make_scene(truth), "sceneflow")
    assert statistics == {
        "avg_error_all": 0.5,
        "bad_pixels_all": 0,
        "bad1_all": 0,
        "bad3_all": 0,
        "fraction_matched": 1,
    }
    assert evaluate(disparity, truth, "sceneflow")["avg_error"] == 0.5
    assert "only pixels with truth below 192 px" in str(resolve("sceneflow"))


def test_a_frame_beyond_the_limit_is_left_out_of_averages():
    near, far = (make_scene(np.full((2, 3), level), name=str(level)) for level in (20, 250))
    every = {"base": "sceneflow", "metrics": ["avg_error", "bad_pixels", "roc", "hci"]}
    protocol = resolve("sceneflow")
    statistics = [
        evaluate(np.full((2, 3), 21, np.float32), scene, protocol) for scene in (near, far)
    ]
    assert np.isnan(statistics[1]["avg_error_all"])
    assert average(statistics, protocol)["avg_error_all"] == 1
    assert average(statistics[:1], protocol) == average(statistics, protocol)
    assert np.isnan(average(statistics[1:], protocol)["avg_error_all"])
    assert np.isnan(evaluate(np.full((2, 3), 21, np.float32), far, every)["avg_error_all"])


def test_the_limit_of_the_truth_applies_to_all_statistics():
    rng = np.random.default_rng(2)
    truth = np.round(rng.uniform(0, 6, (12, 20))).astype(np.float32)
    disparity = (truth + rng.normal(0, 1, truth.shape)).astype(np.float32)
    protocol = {
        "base": "taxonomy2002",
        "metrics": ["rms_error", "bad_pixels", "hci", "error_rate", "false_positives"],
    }
    limited = evaluate(disparity, make_scene(truth), {**protocol, "truth_limit": 4})
    masked = evaluate(disparity, make_scene(truth), protocol, mask=truth < 4)
    assert limited == pytest.approx(masked, nan_ok=True)
    whole = evaluate(disparity, make_scene(truth), protocol)
    assert all(limited[name] != whole[name] for name in ("rms_error_all", "error_rate"))
