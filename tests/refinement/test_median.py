import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_inputs import in_threads, shapes

from stereo_framework.refinement import median


@given(data=st.data(), shape=shapes, size=st.integers(1, 6), holes=st.booleans(), threads=st.integers(1, 3))
def test_agrees_with_twin(data, shape, size, holes, threads):
    values = st.sampled_from([np.nan] * holes + [3, -2, 0.5, 7, 7.25, 9, 11]).map(np.float32)
    disparity = data.draw(hnp.arrays(np.float32, shape, elements=values))
    with in_threads(threads):
        filtered = median(disparity, size=size)
    np.testing.assert_array_equal(filtered, naive.median(disparity, size), strict=True)


@pytest.mark.parametrize("order", [np.sort, lambda a: np.sort(a)[::-1], np.random.default_rng(1).permutation])
def test_large_windows_in_any_order(order):
    # 21x21 pixels hold 441 values; the one in the middle has 220 below it.
    disparity = order(np.arange(441, dtype=np.float32)).reshape(21, 21)
    assert median(disparity, size=21)[10, 10] == 220
