import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_inputs import in_threads, searches, shapes

from stereo_framework.confidence import left_right_consistency
from stereo_framework.core.view import View


def twin(disparity, other, search):
    found = np.full(disparity.shape, search.minimum - search.maximum, np.float32)
    for y, x in np.ndindex(disparity.shape):
        d = float(disparity[y, x])
        if math.isnan(d):
            continue
        target = x - search.direction * int(math.copysign(math.floor(abs(d) + 0.5), d))
        if 0 <= target < disparity.shape[1] and not math.isnan(other[y, target]):
            found[y, x] = max(found[y, x], -abs(d - other[y, target]))
    return found


@given(data=st.data(), shape=shapes, search=searches([1, 1 / 2, 2]), threads=st.integers(1, 3))
def test_agrees_with_twin(data, shape, search, threads):
    # All values are exact in float32, so that both subtract without rounding.
    values = st.sampled_from([np.nan, *search.disparities.tolist(), 0.5, -0.5, 1.5, 2.25, 0]).map(np.float32)
    disparity, other = (data.draw(hnp.arrays(np.float32, shape, elements=values)) for _ in range(2))
    with in_threads(threads):
        found = left_right_consistency(disparity, View(other, np.zeros(shape, np.uint8), search), search)
    np.testing.assert_array_equal(found, twin(disparity, other, search), strict=True)
