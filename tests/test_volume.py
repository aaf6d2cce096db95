import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import STEPS, labellings, priors, searches, volumes

from stereo_framework import CostVolume, Energy, SearchRange, Smoothness
from stereo_framework.core.errors import DataError
from stereo_framework.core.volume import (
    as_volume,
    fill_levels,
    restore_outside_cost,
    restore_outside_cost_inplace,
)


@given(volume=volumes())
def test_inside_agrees_with_twin(volume):
    expected = naive.inside(volume.costs.shape[1], volume.search)
    np.testing.assert_array_equal(volume.search.in_view(volume.costs.shape[1]), expected)
    np.testing.assert_array_equal(volume.inside, expected)


@pytest.mark.parametrize("step", STEPS)
@given(data=st.data())
def test_restore_outside_agrees_with_twin(step, data):
    volume = data.draw(volumes(searches([step])))
    before = volume.costs.copy()
    restored = restore_outside_cost(volume)
    np.testing.assert_array_equal(
        restored.costs, naive.restore_outside_cost(volume.costs, volume.search, volume.outside_cost)
    )
    np.testing.assert_array_equal(volume.costs, before)
    assert (restored.search, restored.outside_cost) == (volume.search, volume.outside_cost)
    restore_outside_cost_inplace(volume)
    np.testing.assert_array_equal(volume.costs, restored.costs)


@given(data=st.data(), volume=volumes(), smooth=st.booleans())
def test_energy_agrees_with_twin(data, volume, smooth):
    rows, columns, levels = volume.costs.shape
    labels = data.draw(labellings(rows, columns, levels, lowest=-1))
    smoothness = data.draw(priors(rows, columns, levels)) if smooth else None
    assert Energy(volume, smoothness).of(labels) == pytest.approx(
        naive.energy_of(volume.costs, smoothness, labels), rel=1e-12
    )


def test_energy_adds_in_double_precision():
    # In float32, 2^24 + 1 is 2^24.
    costs = np.full((1, 2, 2), 1, np.float32)
    costs[0, 0] = 2**24
    assert (
        Energy(CostVolume(costs, SearchRange(0, 1), 255.0)).of(np.zeros((1, 2), np.int16))
        == 2**24 + 1
    )


@given(
    labels=st.tuples(st.integers(1, 3), st.integers(1, 9)).flatmap(
        lambda shape: labellings(*shape, 4, lowest=-1)
    )
)
def test_fill_levels_agrees_with_twin(labels):
    before = labels.copy()
    filled = fill_levels(labels)
    np.testing.assert_array_equal(filled, naive.fill_levels(labels))
    np.testing.assert_array_equal(labels, before)
    assert filled.dtype == np.int16


def test_fill_levels_returns_what_is_full():
    labels = np.zeros((2, 3), np.int16)
    assert fill_levels(labels) is labels


@pytest.mark.parametrize(
    ("level", "is_allowed"), [(-2, False), (-1, True), (0, True), (2, True), (3, False)]
)
def test_levels_beyond_the_last_one_or_below_none_are_refused(level, is_allowed):
    volume = CostVolume(np.ones((2, 4, 3), np.float32), SearchRange(0, 2), 255.0)
    edges = np.zeros((2, 4), np.float32)
    smoothness = Smoothness(edges, edges, np.array([0, 1, 2], np.float32))
    levels = np.zeros((2, 4), np.int16)
    levels[1, 2] = level
    calls = {
        "CostVolume.chosen": volume.chosen,
        "Smoothness.of": smoothness.of,
        "Energy.of": Energy(volume, smoothness).of,
    }
    for name, call in calls.items():
        if is_allowed:
            call(levels)
            continue
        lowest, highest = min(level, 0), max(level, 0)
        message = f"^{name}: levels from {lowest} to {highest}; expected 0 to 2, -1 = unassigned$"
        with pytest.raises(DataError, match=message):
            call(levels)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_chosen_costs_are_those_of_the_levels_and_0_without_one(dtype):
    costs = np.arange(24).reshape(2, 4, 3).astype(dtype)
    chosen_costs = CostVolume(costs, SearchRange(0, 2), 255.0).chosen(
        np.array([[0, 1, 2, -1], [2, 0, -1, 1]], np.int16)
    )
    assert chosen_costs.dtype == dtype
    assert chosen_costs.tolist() == [[0, 4, 8, 0], [14, 15, 0, 22]]


@pytest.mark.parametrize(
    ("dtype", "hole", "outside_cost"),
    [(np.float32, False, 23.0), (np.float32, True, 22.0), (np.uint8, False, 23.0)],
)
def test_an_array_of_costs_has_the_largest_one_out_of_view(dtype, hole, outside_cost):
    costs = np.arange(24).reshape(2, 4, 3).astype(dtype)
    if hole:
        costs[1, 3, 2] = np.nan
    volume = as_volume(costs, SearchRange(0, 2))
    assert (volume.outside_cost, volume.costs.dtype) == (outside_cost, dtype)
    assert volume.costs[1, 3, 2] == outside_cost
    assert volume.costs is not costs
