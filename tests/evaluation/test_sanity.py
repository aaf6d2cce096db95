"""Maps in the wrong scale or with the wrong sign are noticed, good and merely bad ones are not."""

import re
from dataclasses import replace

import numpy as np
import pytest
from evaluation_inputs import make_scene

from stereo_framework import SearchRange
from stereo_framework.evaluation import find_reading_errors
from stereo_framework.evaluation.sanity import _of_other_view

SCALES = {"tsukuba": 16, "venus": 8}


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("method", ["patchmatch", "adcensus"])
def test_real_maps(real, submission, name, method):
    scale, scene = SCALES[name], real(name)
    grey = submission(method, name)
    disparity = grey / scale
    assert find_reading_errors(disparity, scene) == []
    changes = [(disparity * f, "wrong scale", f"when divided by {f}, ") for f in (2, 4, 8, 16, 256)]
    changes += [(disparity / 2.56, "wrong scale", "when multiplied by 2.5")]
    changes += [
        (disparity / f, "wrong scale", f"when multiplied by {f}, ") for f in (2, 4, 8, 16, 256)
    ]
    changes += [(-disparity, "wrong sign", "when negated, 0 % as they are")]
    changes += [(-grey, "wrong sign and scale", f"when negated and divided by {scale}, ")]
    for changed, wrong, when in changes:
        (line,) = find_reading_errors(changed, scene)
        assert re.search(rf"{wrong}: (9\d|100) % of", line)
        assert when in line


def test_a_bad_map_is_not_doubted(real):
    scene, random = real("tsukuba"), np.random.default_rng(0)
    shape = scene.truth.shape
    for disparity in (
        np.full(shape, 5),
        np.full(shape, 12),
        np.zeros(shape),
        random.uniform(0, 15, shape),
        random.uniform(0, 4000, shape),
    ):
        assert find_reading_errors(disparity.astype(np.float32), scene) == []


def test_nothing_to_compare_with():
    estimate = np.full((4, 5), 3, np.float32)
    for empty in (np.nan, np.inf):
        assert find_reading_errors(estimate * np.float32(empty), make_scene(estimate)) == [
            "made: the map holds no estimate at all"
        ]
    assert find_reading_errors(estimate, make_scene(image=np.zeros((4, 5), np.uint8))) == []
    # A map of another size is left to the protocol.
    assert find_reading_errors(estimate, make_scene(np.ones((8, 10), np.float32))) == []
    # Any estimate, scaled down far enough, is within a pixel of a small truth.
    assert find_reading_errors(estimate * 20, make_scene(estimate / 4)) == []


@pytest.mark.parametrize("name", ["sawtooth", "venus", "map"])
def test_a_map_of_the_other_view(real, name):
    scene = real(name)
    (line,) = find_reading_errors(scene.match_truth, scene)
    assert "may belong to the other view" in line
    assert find_reading_errors(scene.truth, scene) == []
    exchanged = scene.pair(scene.match_index, scene.reference_index)
    (line,) = find_reading_errors(scene.truth, exchanged)
    assert "may belong to the other view" in line


@pytest.mark.parametrize("marked", [-1, 0, -0.75, 16.75, 99])
def test_one_value_outside_the_range_at_several_percent_of_the_pixels(marked):
    truth = np.tile(np.arange(10, 14, 0.1, np.float32), (20, 1))
    scene = replace(make_scene(truth), search=SearchRange(1, 16))
    holes = truth.copy()
    holes[:, :2] = marked
    (line,) = find_reading_errors(holes, scene)
    # Values across zero or beyond the image of 40 columns cannot be disparities.
    is_marker = marked != 16.75
    assert ("40 of 800 pixels of the disparity map" in line) == is_marker
    assert ("5 % of the map hold 16.75, outside the search range 1..16" in line) == (
        marked == 16.75
    )
    assert re.search(rf"hold (exactly )?{marked:g}, ", line)
    assert (
        f"if this value means no estimate, set these pixels to NaN, or read the file with read_disparity(..., unknown={marked:g})"
        in line
    )
    assert not find_reading_errors(holes, scene, SearchRange(-1, 99))
    # Nothing is odd about a percent, about many different values, or about a value that a sub-pixel step may give.
    few = truth.copy()
    few[:8, 0] = marked
    many = holes.copy()
    many[:, :2] += np.random.default_rng(0).uniform(0, 0.2, (20, 2)).astype(np.float32)
    ends = np.where(holes == marked, np.float32(0.5), holes)
    for known in (truth, few, many, ends):
        assert find_reading_errors(known, scene) == []


SLOPE = np.tile(np.arange(10, 14, 0.1, np.float32), (20, 1))


@pytest.mark.parametrize(("step", "half"), [(1, 0.5), (2, 0.5), (1 / 2, 0.25), (1 / 4, 0.125)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_half_a_level_beyond_the_search_range_is_accepted(step, half, sign):
    search = SearchRange(2, 18, step)
    end = search.minimum if sign < 0 else search.maximum
    disparity = SLOPE.copy()
    disparity[:, :2] = end + sign * half
    assert find_reading_errors(disparity, make_scene(SLOPE), search) == []
    disparity[:, :2] += sign / 16
    [line] = find_reading_errors(disparity, make_scene(SLOPE), search)
    assert "5 % of the map hold" in line
    assert "outside the search range 2..18" in line


def test_exactly_three_percent_of_one_value_outside_the_range_are_reported():
    disparity = SLOPE.copy()
    disparity.flat[:24] = 17.5
    [line] = find_reading_errors(disparity, make_scene(SLOPE), SearchRange(2, 16))
    assert "3 % of the map hold 17.5" in line
    disparity.flat[0] = 12
    assert find_reading_errors(disparity, make_scene(SLOPE), SearchRange(2, 16)) == []


@pytest.mark.parametrize(
    ("direction", "values"), [(1, [5, 3, 5, 6, 9, 9, 9, 9]), (-1, [9, 9, 9, 9, 6, 5, 3, 5])]
)
def test_the_other_view_agrees_at_errors_of_exactly_one_pixel_up_to_its_border(direction, values):
    truth = np.full((1, 8), 4, np.float32)
    scene = make_scene(truth, positions=(0, 1) if direction > 0 else (1, 0))
    share = _of_other_view(np.float32([values]), scene, truth)
    # Four pixels of the target image show the truth; their errors are 1, -1, 1 and 2.
    assert share == 0.75
