"""Numbers that mean "unknown" are reported, and disparities of scenes are not."""

import numpy as np
import pytest
from evaluation_inputs import make_scene

from stereo_framework import SearchRange, evaluate, load_scene
from stereo_framework.core.errors import ResultWarning
from stereo_framework.datasets import scene_names
from stereo_framework.evaluation import find_reading_errors
from stereo_framework.evaluation.markers import probable_markers

ROWS, COLUMNS = np.mgrid[:60, :100]
SLANTED = (20 + 0.1 * COLUMNS).astype(np.float32)
TENTH = COLUMNS % 10 == 5
QUARTERS = np.minimum(25.25 * (ROWS % 4) + 0.25 * COLUMNS, 100)
LARGEST = float(np.finfo(np.float32).max)


def values_of(disparity, **options):
    return [
        marker.value for marker in probable_markers(np.asarray(disparity, np.float32), **options)
    ]


@pytest.mark.parametrize(
    "marker", [0, -1, -10, -999, -9999, -32768, 9999, 65535, 1e9, LARGEST, -LARGEST]
)
@pytest.mark.parametrize("other_values", [SLANTED, np.rint(SLANTED), 4 * SLANTED % 60 + 4])
def test_a_marker_in_a_tenth_of_the_pixels_is_reported(marker, other_values):
    [reported] = probable_markers(np.where(TENTH, marker, other_values).astype(np.float32))
    assert (reported.value, reported.count) == (np.float32(marker), 600)
    assert (reported.lowest, reported.highest) == (
        other_values[~TENTH].min(),
        other_values[~TENTH].max(),
    )


@pytest.mark.parametrize("marker", [9999, -9999, LARGEST])
def test_a_marker_beyond_the_image_is_reported_in_a_scene_of_one_plane(marker):
    assert values_of(np.where(TENTH, marker, 5)) == [np.float32(marker)]


def test_several_markers_and_some_thousandths_of_the_pixels_are_reported():
    assert sorted(values_of(np.select([TENTH, COLUMNS % 10 == 6], [-1, LARGEST], SLANTED))) == [
        -1,
        np.float32(LARGEST),
    ]
    few = SLANTED.copy()
    few.ravel()[:24] = -1
    assert values_of(few) == [-1]


def test_markers_of_disparities_of_the_other_sign_and_of_a_scale():
    assert values_of(np.where(TENTH, 0, -SLANTED)) == [0]
    assert values_of(np.where(TENTH, -9999, -SLANTED)) == [-9999]
    # The largest grey level of 8 and 16 bits, at their scales.
    assert values_of(np.where(TENTH, 255 / 4, SLANTED), scale=4) == [63.75]
    assert values_of(np.where(TENTH, 65535 / 256, SLANTED), scale=256) == [np.float32(65535 / 256)]


@pytest.mark.parametrize(("shape", "count"), [((60, 100), 20), ((64, 125), 24)])
def test_a_marker_needs_twenty_pixels_and_three_thousandths_of_the_map(shape, count):
    disparity = np.tile(20 + 0.1 * np.arange(shape[1], dtype=np.float32), (shape[0], 1))
    disparity.flat[:count] = -1
    assert values_of(disparity) == [-1]
    disparity.flat[0] = 20
    assert values_of(disparity) == []


@pytest.mark.parametrize(("count", "expected"), [(12, [0]), (13, [])])
def test_stray_estimates_near_a_marker_are_at_most_two_percent_of_its_pixels(count, expected):
    disparity = np.where(TENTH, 0, SLANTED)
    disparity[:count, 50] = np.linspace(0.2, 0.5, count)
    assert values_of(disparity) == expected


@pytest.mark.parametrize(
    ("marker", "other_values", "is_reported"),
    [
        # A scene of one layer: the marker is as large as the width, and ten times the
        # layer.
        (100, np.full(SLANTED.shape, 10), True),
        (99, np.full(SLANTED.shape, 5), False),
        (100, np.full(SLANTED.shape, 10.5), False),
        # Other scenes: the marker is as large as the width, and twice the largest
        # disparity.
        (-100, 0.5 * COLUMNS + 0.5, True),
        (-99, 0.5 * COLUMNS - 25, False),
        (100, 0.5 * COLUMNS + 1, False),
    ],
)
def test_a_marker_may_be_exactly_as_large_as_the_image_is_wide(marker, other_values, is_reported):
    expected = [marker] if is_reported else []
    assert values_of(np.where(TENTH, marker, other_values)) == expected


@pytest.mark.parametrize(
    ("other_values", "is_reported"),
    [
        # The gap is exactly one pixel, three spacings, or a fiftieth of the range of
        # the values.
        (1 + 0.125 * COLUMNS, True),
        (0.875 + 0.125 * COLUMNS, False),
        (9 + 3 * (COLUMNS // 10), True),
        (8 + 3 * (COLUMNS // 10), False),
        (2 + QUARTERS, True),
        (1.75 + QUARTERS, False),
    ],
)
def test_a_marker_across_zero_is_at_least_the_gap_from_all_other_values(other_values, is_reported):
    assert values_of(np.where(TENTH, 0, other_values)) == ([0] if is_reported else [])


@pytest.mark.parametrize(("layers", "expected"), [(5, []), (6, [0])])
def test_a_scene_of_six_distinct_disparities_is_no_scene_of_a_few_layers(layers, expected):
    assert values_of(np.where(TENTH, 0, 5 + COLUMNS % layers)) == expected


def test_a_few_estimates_near_a_marker_do_not_hide_it():
    noisy = np.where(TENTH, 0, SLANTED)
    noisy[:10, 50] = np.linspace(0.2, 15, 10)
    assert values_of(noisy) == [0]


RANDOM = np.random.default_rng(0)
CLIPPED = np.clip(RANDOM.normal(12, 8, SLANTED.shape), 0, 24)
CARD = (ROWS > 20) & (ROWS < 40) & (COLUMNS > 30) & (COLUMNS < 70)
NO_MARKERS = {
    "a constant map": np.full(SLANTED.shape, 5),
    "a map of zeros": np.zeros(SLANTED.shape),
    "two planes": np.where(CARD, 10, 5),
    "two planes, one at infinity": np.where(CARD, 4, 0),
    "two planes on both sides of the screen": np.where(CARD, 3, -2),
    "a far and a near plane": np.where(CARD, 30, 1),
    "a fronto-parallel background behind a slanted card": np.where(CARD, SLANTED, 5),
    "a fronto-parallel card in front of a slanted wall": np.where(CARD, 90, SLANTED / 4),
    "whole disparities": np.rint(SLANTED),
    "whole disparities from 0": RANDOM.integers(0, 24, SLANTED.shape),
    "whole disparities from -1": RANDOM.integers(-1, 24, SLANTED.shape),
    "disparities on both sides of 0": SLANTED - 25,
    "a map that is cut off at both ends": CLIPPED,
    "a map that is cut off and rounded": np.rint(CLIPPED),
    "a map without estimates": np.full(SLANTED.shape, np.nan),
    "a few wrong estimates": np.where((ROWS == 3) & (COLUMNS < 15), -1, SLANTED),
    "grey levels": np.clip(10 * CLIPPED, 0, 255),
    "random numbers": RANDOM.uniform(-50, 4000, SLANTED.shape),
}


@pytest.mark.parametrize("name", NO_MARKERS)
def test_disparities_are_no_markers(name):
    assert values_of(NO_MARKERS[name]) == []


def test_no_truth_of_a_data_set_holds_a_probable_marker(data):
    names = scene_names(data)
    assert len(names) > 10
    for name in names:
        scene = load_scene(name, data=data)
        for truth in (scene.truth, scene.match_truth):
            assert truth is None or probable_markers(truth, scale=scene.grey_levels or 1) == [], (
                name
            )


def test_a_map_of_another_size_is_examined_for_markers():
    [line] = find_reading_errors(np.where(TENTH, -1, SLANTED), make_scene(np.tile(SLANTED, (2, 2))))
    assert "600 of 6000 pixels of the disparity map hold exactly -1" in line


def test_a_method_of_this_package_writes_no_markers_in_its_search_range():
    scene = make_scene(SLANTED)
    ties = np.where(TENTH, 0, SLANTED)
    assert find_reading_errors(ties, scene, SearchRange(0, 40), is_external=False) == []
    assert len(find_reading_errors(ties, scene, SearchRange(0, 40), is_external=True)) == 1
    assert len(find_reading_errors(ties, scene, SearchRange(5, 40), is_external=False)) == 1


def test_evaluate_reports_markers_of_a_map_and_of_a_truth_without_a_search_range():
    marked = np.where(TENTH, -1, SLANTED)
    scene = make_scene(np.where(ROWS < 15, 0, SLANTED).astype(np.float32))
    assert scene.search is None
    truth_line, map_line = find_reading_errors(marked, scene)
    assert (
        "made: 1500 of 6000 pixels of the ground truth hold exactly 0, apart from all other values (20 to 29.9)"
        in truth_line
    )
    assert (
        "read_disparity(..., unknown=0), or write 'unknown: 0' below truth in scene.yaml"
        in truth_line
    )
    assert (
        "made: 600 of 6000 pixels of the disparity map hold exactly -1, apart from all other values (20 to 29.9)"
        in map_line
    )
    with pytest.warns(
        ResultWarning, match="600 of 6000 pixels of the disparity map hold exactly -1"
    ):
        evaluate(marked, SLANTED)
    with pytest.warns(
        ResultWarning, match="1500 of 6000 pixels of the ground truth hold exactly 0"
    ):
        evaluate(SLANTED, scene.truth)
