import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.volume import Status
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
    count = max(
        (
            sum(v < t for v in known)
            for t in {*known}
            if sum(v < t for v in known) <= share * len(known)
        ),
        default=0,
    )
    found = confidence_filter(
        disparity, np.zeros((1, 6), np.uint8), {"m": np.float32([sure])}, fraction=share
    )
    gone = np.isnan(found) & ~np.isnan(disparity)
    assert gone.sum() == count
    if gone.any():
        assert np.float32([sure])[gone].max() < np.float32([sure])[~np.isnan(found)].min()


@pytest.mark.parametrize(
    ("parameters", "gone"),
    [
        ({"measure": "m", "min_confidence": 1.5}, [0, 1]),  # what was filled is least sure
        ({"measure": "m", "min_confidence": 3.0}, [0, 1]),
        ({"fraction": 0.2}, [4]),  # the last measure decides where none is named
    ],
)
def test_a_value_or_the_last_measure_decides(parameters, gone):
    status = np.uint8([[0, Status.FILLED, 0, 0, 0]])
    sure = {"m": np.float32([[1, 9, 3, 4, 5]]), "n": np.float32([[5, 9, 3, 2, 1]])}
    if "measure" not in parameters:
        status[:] = 0
    found = confidence_filter(np.ones((1, 5), np.float32), status, sure, **parameters)
    assert np.flatnonzero(np.isnan(found[0])).tolist() == gone


@pytest.mark.parametrize(
    ("names", "measure", "message"),
    [
        ([], None, "the method measures no confidence; name a measure under confidence:"),
        (
            ["peak_ratio"],
            "peak_ratoi",
            "no confidence 'peak_ratoi'; allowed measures: peak_ratio; did you mean 'peak_ratio'",
        ),
    ],
)
def test_refuses_a_measure_that_is_not_there(names, measure, message):
    sure = dict.fromkeys(names, np.zeros((1, 5), np.float32))
    with pytest.raises(ParameterError, match=f"^confidence_filter.measure: {message}"):
        confidence_filter(np.ones((1, 5), np.float32), MATCHED, sure, measure=measure)


@pytest.mark.parametrize(
    ("count", "fraction", "removed"), [(3, 0.5, 1), (5, 0.5, 2), (4, 0.5, 2), (7, 0.1, 0)]
)
def test_at_most_the_fraction_of_the_estimates_is_removed(count, fraction, removed):
    confidence = np.arange(count, dtype=np.float32)[None]
    disparity, status = np.ones((1, count), np.float32), np.zeros((1, count), np.uint8)
    kept = confidence_filter(disparity, status, {"any": confidence}, fraction=fraction)
    assert np.isnan(kept).sum() == removed
