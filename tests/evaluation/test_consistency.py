"""Left-right consistency against the slow version, by hand and on scenes of known geometry."""

import naive_measures
import numpy as np
import pytest
from evaluation_inputs import disparity_maps
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import in_threads

from stereo_framework import load_scene
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.evaluation.consistency import left_right_difference, map_difference
from stereo_framework.evaluation.regions import occluded

NAN = np.nan


@given(st.data(), st.sampled_from([1, -1]))
def test_equals_the_slow_version(data, direction):
    disparity = data.draw(disparity_maps())
    match_disparity = data.draw(disparity_maps(disparity.shape))
    expected = naive_measures.left_right(disparity, match_disparity, direction)
    for threads in (1, 2):
        with in_threads(threads):
            np.testing.assert_array_equal(left_right_difference(disparity, match_disparity, direction), expected)


def test_by_hand():
    disparity = np.array([[0, 1, 0.5, 1.5, NAN, 2, 9, np.inf]], np.float32)
    match_disparity = np.array([[3, 1.5, 7, NAN, 7, 7, 7, 7]], np.float32)
    # 0 -> 0, 1 -> 0, 2 - 0.5 -> 1 (halves away from zero), 3 - 1.5 -> 1, none, 5 - 2 -> 3 without an estimate, out of the image, none.
    expected = np.array([[3, 2, 1, 0, NAN, NAN, NAN, NAN]], np.float32)
    np.testing.assert_array_equal(left_right_difference(disparity, match_disparity, 1), expected)
    mirrored = left_right_difference(disparity[:, ::-1], match_disparity[:, ::-1], -1)
    np.testing.assert_array_equal(mirrored, expected[:, ::-1])


@pytest.mark.parametrize("name", ["synthetic/planes", "synthetic/slanted"])
def test_true_maps_agree_where_both_frames_see_a_pixel(name):
    scene = load_scene(name)
    for one in (scene, scene.pair(scene.match_index, scene.reference_index)):
        confirmed = left_right_difference(one.truth, one.match_truth, one.direction) <= 1
        # Found by rendering there and back. At jumps the nearest pixel may lie on the other surface.
        hidden = occluded(one.truth, one.direction)
        assert confirmed[~hidden].mean() > 0.99
        assert confirmed[hidden].mean() < 0.05
        # The wrong direction is noticed.
        wrong = left_right_difference(one.truth, one.match_truth, -one.direction) <= 1
        assert (~wrong).mean() > 3 * hidden.mean()


def test_true_maps_of_a_real_scene_agree_where_its_mask_says_visible(data):
    scene = load_scene("middlebury-v2/cones", data=data)
    evaluated, visible = scene.mask("all"), scene.mask("nonocc")
    agree = (left_right_difference(scene.truth, scene.match_truth, scene.direction) <= 1) & evaluated
    # The benchmark made its mask by such a check within one pixel, from truth of a higher resolution.
    assert np.count_nonzero(agree & visible) / np.count_nonzero(agree | visible) > 0.98


def test_mistakes_are_one_line():
    small, large = np.ones((2, 3), np.float32), np.ones((2, 4), np.float32)
    with pytest.raises(
        DataError, match=r"^left_right_difference: match_disparity has shape \(2, 4\); \(2, 3\) fits the disparity$"
    ):
        left_right_difference(small, large, 1)
    with pytest.raises(ParameterError, match="^direction: 0 is neither 1 nor -1$"):
        left_right_difference(small, small, 0)


def test_two_maps_differ_where_both_have_an_estimate():
    """Of three such pixels two differ by more than the threshold: by 1.5 and 4 pixels, the third by nothing."""
    a, b = np.float32([[1, 2.5, 3, np.nan, 9]]), np.float32([[1, 1, 7, 4, np.nan]])
    found = map_difference(a, b, 1.0)
    assert found == pytest.approx({"differing_pixels": 200 / 3, "mean_difference": 5.5 / 3})
    assert map_difference(a, b, 1.5)["differing_pixels"] == pytest.approx(100 / 3)
    assert np.isnan(list(map_difference(a, b, mask=np.zeros((1, 5), bool)).values())).all()
