"""Left-right consistency against the slow version and on scenes of known geometry."""

import naive_measures
import numpy as np
import pytest
from evaluation_inputs import disparity_maps
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import in_threads

from stereo_framework import load_scene
from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation.disparity_error import map_difference
from stereo_framework.evaluation.regions import left_right_difference, occluded


@given(st.data(), st.sampled_from([1, -1]))
def test_equals_the_slow_version(data, direction):
    disparity = data.draw(disparity_maps())
    disparity[disparity == 3] = np.inf
    match_disparity = data.draw(disparity_maps(disparity.shape))
    expected = naive_measures.left_right(disparity, match_disparity, direction)
    for threads in (1, 2):
        with in_threads(threads):
            np.testing.assert_array_equal(
                left_right_difference(disparity, match_disparity, direction), expected
            )


@pytest.mark.parametrize("name", ["synthetic/planes", "synthetic/slanted"])
def test_true_maps_agree_where_both_frames_see_a_pixel(name):
    scene = load_scene(name)
    for one in (scene, scene.pair(scene.match_index, scene.reference_index)):
        confirmed = left_right_difference(one.truth, one.match_truth, one.direction) <= 1
        # Found by rendering there and back. At jumps the nearest pixel may lie on the other surface.
        occ = occluded(one.truth, one.direction)
        assert confirmed[~occ].mean() > 0.99
        assert confirmed[occ].mean() < 0.05
        # The wrong direction is noticed.
        wrong = left_right_difference(one.truth, one.match_truth, -one.direction) <= 1
        assert (~wrong).mean() > 3 * occ.mean()


def test_true_maps_of_a_real_scene_agree_where_its_mask_says_nonoccluded(data):
    scene = load_scene("middlebury-v2/cones", data=data)
    evaluated, nonocc = scene.mask("all"), scene.mask("nonocc")
    agree = (
        left_right_difference(scene.truth, scene.match_truth, scene.direction) <= 1
    ) & evaluated
    # The benchmark made its mask by such a check within one pixel, from truth of a higher resolution.
    assert np.count_nonzero(agree & nonocc) / np.count_nonzero(agree | nonocc) > 0.98


def test_a_direction_is_a_sign():
    one = np.ones((2, 3), np.float32)
    with pytest.raises(ParameterError, match="^direction: 0 is neither 1 nor -1$"):
        left_right_difference(one, one, 0)


def test_two_maps_differ_where_both_have_an_estimate():
    """Of three such pixels two differ by more than the threshold: by 1.5 and 4 pixels, the third by nothing."""
    a, b = np.float32([[1, 2.5, 3, np.nan, 9]]), np.float32([[1, 1, 7, 4, np.nan]])
    found = map_difference(a, b, 1.0)
    assert found == pytest.approx({"differing_pixels": 200 / 3, "mean_difference": 5.5 / 3})
    assert map_difference(a, b, 1.5)["differing_pixels"] == pytest.approx(100 / 3)
    assert np.isnan(list(map_difference(a, b, mask=np.zeros((1, 5), bool)).values())).all()
