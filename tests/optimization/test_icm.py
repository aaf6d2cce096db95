import naive_trees
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import energy_of, filled, priors

from stereo_framework.optimization import icm

# Without the JIT these take minutes; their twins are plain Python in any case.
pytestmark = pytest.mark.compiled


@st.composite
def energies(draw):
    """Whole numbers; many ties."""
    rows, columns = draw(st.sampled_from([(4, 5), (3, 3), (1, 7), (6, 1), (1, 1)]))
    levels = draw(st.sampled_from([4, 3, 2]))
    costs = draw(filled((rows, columns, levels), np.arange(60)))
    return energy_of(costs, draw(priors(rows, columns, levels)))


@given(energy=energies(), sweeps=st.integers(1, 3))
def test_agrees_with_twin(energy, sweeps):
    found = icm(energy.volume, energy.smoothness, iterations=sweeps)
    expected = naive_trees.icm(energy.volume.costs, energy.smoothness, sweeps)
    np.testing.assert_array_equal(found.levels, expected[-1])
    assert [now for _, now in found.trace] == [energy.of(labels) for labels in expected[: len(found.trace)]]
