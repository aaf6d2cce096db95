"""How pages store pictures: what a browser reads back is what was there."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from stereo_framework.core.scene import Scene
from stereo_framework.evaluation import resolve
from stereo_framework.page.stored_pictures import (
    SceneRow,
    Scenes,
    _levels,
    scene_row,
    stored_map,
    stored_picture,
    usual_limits,
)


def _read(one):
    """A stored map as the page's script reads it: its values and what comes with them."""
    third, high, low = np.moveaxis(
        cv2.imdecode(np.frombuffer(one.content, np.uint8), cv2.IMREAD_COLOR)[..., ::-1], -1, 0
    )
    level = high.astype(np.float64) * 256 + low
    return np.where(level > 0, one.about["base"] + (level - 1) * one.about["step"], np.nan), third


def _truth():
    """A background at 2 px and a square before it at 5 px, unknown in a corner."""
    truth = np.full((24, 32), 2, np.float32)
    truth[8:16, 12:20] = 5
    truth[:2, :2] = np.nan
    return truth


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0, 70, 1 / 256), (-3, 252, 1 / 256), (0, 300, 1 / 128), (-900, 900, 1 / 32)],
)
def test_a_map_comes_back_to_half_a_step(low, high, step):
    values = np.random.default_rng(1).uniform(low, high, (24, 32)).astype(np.float32)
    values[0, :2], values[3, 5], values[4, 5] = (low, high), np.nan, np.inf
    one = stored_map(values)
    found, third = _read(one)
    assert one.about["step"] == step
    assert one.about["ends"] == (low, high)
    assert one.size == (32, 24)
    # Half a step, and what float32 cannot tell apart at 900 px.
    np.testing.assert_allclose(
        found[np.isfinite(values)], values[np.isfinite(values)], rtol=0, atol=step / 2 + 1e-4
    )
    np.testing.assert_array_equal(np.isnan(found), ~np.isfinite(values))
    assert not third.any()


def test_fractions_that_methods_give_come_back_exactly():
    values = (np.arange(24 * 32).reshape(24, 32) / 16 - 7.5).astype(np.float32)
    np.testing.assert_array_equal(_read(stored_map(values))[0], values)
    for value in (3.0, np.nan):
        np.testing.assert_array_equal(
            _read(stored_map(np.full((2, 3), value, np.float32)))[0], np.full((2, 3), value)
        )


def test_confidence_comes_in_eight_bits_between_its_usual_ends():
    confidence = np.linspace(0, 1, 1001, dtype=np.float32).reshape(1, -1)
    confidence[0, 500] = np.nan
    one = stored_map(np.zeros_like(confidence), confidence)
    low, high = one.about["confidence"]
    third = _read(one)[1][0]
    assert (low, high) == (
        pytest.approx(0.02, abs=1e-3),
        pytest.approx(0.98, abs=1e-3),
    )  # a fiftieth at either end
    shown = low + third / 255 * (high - low)
    expected = np.clip(confidence[0], low, high)
    inner = np.isfinite(expected)
    np.testing.assert_allclose(shown[inner], expected[inner], atol=(high - low) / 255 / 2 + 1e-6)
    assert third[500] == 0  # what has none is least sure


def test_the_truth_tells_where_errors_are_counted():
    image = np.zeros((24, 32), np.uint8)
    scene = replace(Scene.from_images(image, image, (0, 8), truth=_truth()), border=1)
    row = scene_row(scene, {"m": stored_map(_truth())}, resolve("taxonomy2002"))
    assert list(row.pictures) == ["image", "truth", "m"]
    assert row.limits == (0, 8)
    assert row.threshold == 1
    values, third = _read(row.pictures["truth"])
    np.testing.assert_array_equal(values, _truth())
    inner = np.zeros((24, 32), bool)
    inner[1:-1, 1:-1] = True
    np.testing.assert_array_equal(third > 0, inner & np.isfinite(_truth()))
    # In the match frame the square covers the 5 - 2 columns of the background that lie at its left in the reference frame.
    occ = np.zeros((24, 32), bool)
    occ[8:16, 9:12] = True
    # Nor is seen what lies beyond the match image's left end: columns below 2.
    occ[:, :2] = True
    np.testing.assert_array_equal(third == 128, occ & inner & np.isfinite(_truth()))
    # Pixels of original images four times as large: the third version's 2 px are half a pixel here.
    assert (
        scene_row(
            replace(scene, reduction=4), {}, replace(resolve("middlebury-v3"), masks="computed")
        ).threshold
        == 0.5
    )


def test_without_a_search_range_colours_end_where_disparities_end():
    image = np.zeros((24, 32), np.uint8)
    row = scene_row(
        Scene.from_images(image, image), {"a": stored_map(_truth()), "b": stored_map(_truth() + 4)}
    )
    assert row.limits == (2, 9)
    assert usual_limits([stored_picture(image)]) == (0, 1)


def test_pictures_without_loss_and_the_columns_of_several_rows():
    picture = np.random.default_rng(2).integers(0, 256, (5, 7, 3), np.uint8)
    one = stored_picture(picture, "caption")
    np.testing.assert_array_equal(
        cv2.imdecode(np.frombuffer(one.content, np.uint8), cv2.IMREAD_COLOR)[..., ::-1], picture
    )
    rows = [
        SceneRow(name, dict.fromkeys(columns, one), (0, 1))
        for name, columns in (("x", "ab"), ("y", ["image", "c", "a"]))
    ]
    assert Scenes(rows).columns == ["image", "a", "b", "c"]


@pytest.mark.parametrize("values", [[0.3, 7.7], [-3.3, 0.2], [5.5, 5.5], [0, 900.3], [1.75, 2]])
def test_levels_begin_at_or_below_the_lowest_disparity(values):
    disparity = np.float32([[*values, np.nan]])
    stored = _levels(disparity, np.zeros(disparity.shape, np.uint8), {})
    base, step = stored.about["base"], stored.about["step"]
    assert base <= disparity[0, 0] < base + step + 1e-6
    assert stored.about["ends"] == (disparity[0, 0], disparity[0, 1])
    assert (disparity[0, 1] - base) / step + 1 <= 65535
