import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework import Pipeline, load_scene, step
from stereo_framework.confidence import left_right_consistency, peak_ratio
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.volume import Status
from stereo_framework.matching_cost import census
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import confidence_filter

MATCHED = np.zeros((1, 5), np.uint8)


@given(
    sure=st.lists(st.integers(0, 4), min_size=6, max_size=6),
    missing=st.lists(st.booleans(), min_size=6, max_size=6),
    share=st.sampled_from([0.3, 0.5, 0, 1, 0.9]),
)
def test_a_share_of_the_estimates_goes_equals_together(sure, missing, share):
    disparity = np.where(missing, np.nan, 7).astype(np.float32)[None]
    known = [value for value, gone in zip(sure, missing, strict=True) if not gone]
    # The most values, from below, that are no more than the share of all; the surest stay.
    count = max((sum(v < t for v in known) for t in {*known} if sum(v < t for v in known) <= share * len(known)), default=0)
    found = confidence_filter(disparity, np.zeros((1, 6), np.uint8), {"m": np.float32([sure])}, fraction=share)
    gone = np.isnan(found) & ~np.isnan(disparity)
    assert gone.sum() == count
    if gone.any():
        assert np.float32([sure])[gone].max() < np.float32([sure])[~np.isnan(found)].min()


def test_a_value_decides_instead():
    disparity, sure = (
        np.float32([[1, 2, 3, 4, np.nan]]),
        {"m": np.float32([[-2, -1, 0, -1.5, 0]]), "n": np.zeros((1, 5), np.float32)},
    )
    found = confidence_filter(disparity, MATCHED, sure, measure="m", threshold=-1.0)
    np.testing.assert_array_equal(found, np.float32([[np.nan, 2, 3, np.nan, np.nan]]))


def test_the_last_measure_decides_where_none_is_named():
    sure = {"b": np.float32([[1, 2, 3, 4, 5]]), "a": np.float32([[5, 4, 3, 2, 1]])}
    found = confidence_filter(np.ones((1, 5), np.float32), MATCHED, sure, fraction=0.2)
    assert np.isnan(found[0]).tolist() == [False, False, False, False, True]


def test_what_was_filled_is_least_sure():
    status = np.uint8([[0, Status.FILLED, 0, 0, 0]])
    found = confidence_filter(np.ones((1, 5), np.float32), status, {"m": np.float32([[1, 9, 3, 4, 5]])}, threshold=1.5)
    assert np.isnan(found[0]).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("names", "measure", "message"),
    [
        ([], None, "the method measures no confidence; name a measure under confidence:"),
        (["peak_ratio"], "peak_ratoi", "no confidence 'peak_ratoi'; legal measures: peak_ratio; did you mean 'peak_ratio'"),
    ],
)
def test_refuses_a_measure_that_is_not_there(names, measure, message):
    sure = dict.fromkeys(names, np.zeros((1, 5), np.float32))
    with pytest.raises(ParameterError, match=f"^confidence_filter.measure: {message}"):
        confidence_filter(np.ones((1, 5), np.float32), MATCHED, sure, measure=measure)


@pytest.mark.compiled
def test_in_a_method_errors_go_first():
    scene = load_scene("synthetic/slanted")
    pipeline = Pipeline(
        [
            census,
            winner_take_all,
            peak_ratio,
            left_right_consistency,
            step(confidence_filter, measure="left_right_consistency", threshold=-1.0),
        ]
    )
    plain, found = Pipeline([census, winner_take_all])(scene).disparity, pipeline(scene)
    kept, bad = ~np.isnan(found.disparity), np.abs(plain - scene.truth) > 1
    assert (found.disparity[kept] == plain[kept]).all()
    # Of wrong pixels far more go than of right ones.
    assert kept[bad].mean() < 0.5 * kept[~bad].mean()
    assert (found.status[~kept] == Status.MISMATCHED).all()
