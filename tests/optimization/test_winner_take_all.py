import naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_inputs import in_threads, volumes

from stereo_framework import CostVolume, SearchRange
from stereo_framework.optimization import winner_take_all


@given(volume=volumes(), threads=st.integers(1, 3))
def test_agrees_with_twin(volume, threads):
    with in_threads(threads):
        result = winner_take_all(volume)
    labels, lowest = naive.winner_take_all(volume.costs)
    np.testing.assert_array_equal(result.levels, labels)
    np.testing.assert_array_equal(result.costs, lowest)


@given(
    costs=hnp.arrays(
        np.float32,
        (1, 4, 3),
        elements=st.floats(width=32, allow_nan=False)
        | st.sampled_from([0.0, -0.0, float("inf"), float("-inf"), 1e-45, -1e-45]),
    )
)
@example(
    costs=np.array([[[0.0, -0.0, 1], [-0.0, 0.0, 1], [1, 0.0, -0.0], [-1, -2, -2]]], np.float32)
)
def test_any_costs_are_ordered(costs):
    # A call from outside refuses infinite costs, but volumes of the engine may hold them.
    result = winner_take_all.__wrapped__(CostVolume(costs, SearchRange(0, 2), 255.0))
    labels, lowest = naive.winner_take_all(costs)
    np.testing.assert_array_equal(result.levels, labels)
    np.testing.assert_array_equal(result.costs, lowest)


@pytest.mark.parametrize("kind", [np.float32, np.uint16, np.uint8])
@pytest.mark.parametrize("levels", [2, 3, 15, 16, 17, 33, 300])
def test_lowest_level_wins_ties(levels, kind):
    volume = CostVolume(np.full((2, 3, levels), 5, kind), SearchRange(0, levels - 1), 255.0)
    assert (winner_take_all(volume).levels == 0).all()
    volume.costs[..., levels - 2 :] = 4
    result = winner_take_all(volume)
    assert (result.levels == levels - 2).all()
    assert (result.costs == 4).all()
