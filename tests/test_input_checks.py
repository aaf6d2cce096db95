"""Direct calls of stages: accepted forms of data, and errors about other data."""

import pickle

import numpy as np
import pytest

import stereo_framework as sf
from stereo_framework import Pipeline, SearchRange, load_scene, stage
from stereo_framework.aggregation import box
from stereo_framework.confidence import peak_ratio
from stereo_framework.core.errors import DataError, ParameterError, ResultWarning
from stereo_framework.matching_cost import absolute_difference, census
from stereo_framework.optimization import semi_global, winner_take_all
from stereo_framework.refinement import parabola

SCENE = load_scene("synthetic/planes")
LEFT, RIGHT = SCENE.reference, SCENE.match


def test_a_stage_returns_an_array_if_it_gets_an_array_of_costs():
    costs = np.random.default_rng(0).integers(0, 50, (12, 14, 5)).astype(np.float64)
    mean = box(costs, size=3)
    assert isinstance(mean, np.ndarray)
    expected = box(sf.CostVolume(costs.astype(np.float32), SearchRange(0, 4), 50.0), size=3).costs
    np.testing.assert_array_equal(mean, expected)
    np.testing.assert_array_equal(winner_take_all(costs).levels, costs.argmin(axis=2))
    np.testing.assert_array_equal(winner_take_all(costs).disparity, costs.argmin(axis=2))


def test_search_ranges_have_several_forms():
    expected = census(LEFT, RIGHT, SearchRange(0, 9)).search
    for form in ((0, 9), [0.0, 9.0], np.array([0, 9]), (np.uint8(0), np.int16(9)), (0, 9, 1)):
        assert census(LEFT, RIGHT, form).search == expected
    # Numbers of 8 bits would wrap in sums.
    assert SearchRange(np.int8(-100), np.int8(100)).levels == 201


def test_confidence_measures_need_no_mask():
    volume = census(LEFT, RIGHT, (0, 9))
    disparity = winner_take_all(volume).disparity
    np.testing.assert_array_equal(
        peak_ratio(disparity, volume), peak_ratio(disparity, volume, None)
    )


def test_sixteen_bit_images_and_cropped_images_give_the_same_costs():
    grey = LEFT[..., 1], RIGHT[..., 1]
    wide = [image.astype(np.uint16) * 257 for image in grey]
    floats = [image.astype(np.float32) for image in grey]
    np.testing.assert_array_equal(
        absolute_difference(*wide, (0, 9)).costs, absolute_difference(*floats, (0, 9)).costs
    )
    cropped = absolute_difference(*(image[::-1, 7:90] for image in grey), (0, 9))
    np.testing.assert_array_equal(
        cropped.costs,
        absolute_difference(*(image[::-1, 7:90].copy() for image in grey), (0, 9)).costs,
    )


def costs_of(rows, columns, levels):
    return np.zeros((rows, columns, levels))


WRONG_CALLS = [
    (
        lambda: box(np.zeros((3, 4)), size=3),
        ParameterError,
        r"box: volume is float64 \(3, 4\); expected a CostVolume",
    ),
    (
        lambda: box(costs_of(3, 4, 5), sise=3),
        ParameterError,
        "box.sise: no such parameter of box; .*did you mean 'size'",
    ),
    (
        lambda: box(costs_of(3, 4, 5), size=0),
        ParameterError,
        "box.size: 0 is not a whole number >= 1",
    ),
    (
        lambda: box(costs_of(3, 4, 5), 3),
        TypeError,
        r"box\(\) takes 1 data, 2 were given; parameters are given by name",
    ),
    (
        lambda: census(LEFT, RIGHT, 31),
        ParameterError,
        r"census: search is 31; expected a SearchRange, such as SearchRange\(0, 63\), "
        "or its two ends",
    ),
    (
        lambda: census(LEFT > 9, RIGHT > 9, (0, 9)),
        DataError,
        r"census: reference is bool \(240, 320, 3\); expected uint8 or float32",
    ),
    (
        lambda: census(LEFT, RIGHT[:, 1:], (0, 9)),
        DataError,
        "census: match has shape .* the size of the reference image",
    ),
    (
        lambda: parabola(np.zeros((3, 4), np.int32), costs_of(3, 4, 5)),
        DataError,
        r"parabola: disparity is int32 \(3, 4\); expected float32 \(rows, columns\)",
    ),
    (
        lambda: semi_global(costs_of(3, 4, 5), penalties="edges"),
        ParameterError,
        "semi_global.penalties: 'edges' needs both images",
    ),
    (
        lambda: semi_global(costs_of(3, 4, 5), p1=5, p2=4),
        ParameterError,
        "semi_global: p2 is 4, below p1, 5",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG_CALLS)
def test_wrong_data_and_parameters_are_refused_in_one_line(call, error, message):
    with pytest.raises(error, match=rf"^{message}"):
        call()


def test_intensities_from_0_to_1_give_a_warning():
    with pytest.warns(
        ResultWarning,
        match="census: reference image: intensities up to 1, where 0 to 255 are expected",
    ):
        census(LEFT / LEFT.max(), RIGHT / LEFT.max(), (0, 9))


def test_a_matching_cost_may_return_an_array(registry):
    @stage("matching_cost", source="a test")
    def product(reference, match, search):
        costs = np.full((*reference.shape[:2], search.levels), np.nan)
        for level, (here, there) in enumerate(search.columns(reference.shape[1])):
            costs[:, here, level] = np.abs(reference[:, here].astype(float) - match[:, there]).sum(
                axis=2
            )
        return costs

    expected = absolute_difference(LEFT, RIGHT, (0, 31))
    found = product(LEFT, RIGHT, (0, 31))
    inside = np.broadcast_to(found.inside, found.costs.shape)
    np.testing.assert_array_equal(found.costs[inside], expected.costs[inside])
    assert (found.costs[~inside] == found.outside_cost).all()
    assert found.outside_cost == found.costs.max()
    # The same from the right image, in a pipeline.
    for scene in (SCENE, SCENE.pair(SCENE.match_index, SCENE.reference_index)):
        maps = [
            Pipeline([cost, "box", "winner_take_all"])(scene).disparity
            for cost in (product, "absolute_difference")
        ]
        assert (maps[0] == maps[1])[:, 32:-32].mean() > 0.99


def test_columns_of_a_search_range_meet_at_each_level():
    for direction in (1, -1):
        for search in (
            SearchRange(-2, 3, direction=direction),
            SearchRange(4, 9, direction=direction),
        ):
            for d, (here, there) in zip(search.disparities, search.columns(5), strict=True):
                x = np.arange(5)
                met = x - direction * int(d)
                inside = (met >= 0) & (met < 5)
                np.testing.assert_array_equal(x[here], x[inside])
                np.testing.assert_array_equal(x[there], met[inside])
    with pytest.raises(
        ParameterError, match=r"search.columns: the step is 0.5 pixels; whole steps are needed"
    ):
        next(SearchRange(0, 3, 0.5).columns(5))


def test_scenes_and_estimates_can_be_pickled():
    method = Pipeline(["absolute_difference", "box", "winner_take_all"])
    match = method(SCENE)
    again = pickle.loads(pickle.dumps(match))
    np.testing.assert_array_equal(again.disparity, match.disparity)
    scene = sf.Scene.from_images(LEFT, RIGHT, (0, 31), truth=SCENE.truth)
    for one in (scene, SCENE):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).reference, LEFT)
