import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import STEPS, labellings, priors, searches, volumes

from stereo_framework import CostVolume, Energy, Search
from stereo_framework.core.volume import fill_levels, restore_outside, restore_outside_inplace


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
    restored = restore_outside(volume)
    np.testing.assert_array_equal(
        restored.costs, naive.restore_outside(volume.costs, volume.search, volume.outside)
    )
    np.testing.assert_array_equal(volume.costs, before)
    assert (restored.search, restored.outside) == (volume.search, volume.outside)
    restore_outside_inplace(volume)
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
        Energy(CostVolume(costs, Search(0, 1), 255.0)).of(np.zeros((1, 2), np.int16)) == 2**24 + 1
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
