import naive_scanlines
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_inputs import in_threads, shapes

from stereo_framework import CostVolume, Pipeline, Scene, Search, step
from stereo_framework.core.scene import Frame
from stereo_framework.core.stage import stage
from stereo_framework.core.volume import Status
from stereo_framework.optimization import dynamic_programming
from stereo_framework.refinement import fill_occlusions


@given(data=st.data(), shape=shapes, rule=st.sampled_from(["background", "left"]), threads=st.integers(1, 3))
def test_agrees_with_twin(data, shape, rule, threads):
    values = st.sampled_from([np.nan, 3, -2, 0.5, np.nan, 7]).map(np.float32)
    disparity = data.draw(hnp.arrays(np.float32, shape, elements=values))
    with in_threads(threads):
        filled = fill_occlusions(disparity, rule=rule)
    assert filled.dtype == np.float32
    np.testing.assert_array_equal(filled, naive_scanlines.fill_occlusions(disparity, rule))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("background", [5, 5, 5, 5, 9, 2, 2, 2, 2]), ("left", [5, 5, 5, 5, 9, 9, 9, 2, 2])],
)
def test_rules(rule, expected):
    hole = np.nan
    row = np.array([[hole, 5, hole, hole, 9, hole, hole, 2, hole]], np.float32)
    assert fill_occlusions(row, rule=rule).tolist() == [expected]


def test_status_tells_what_was_filled(registry):
    @stage("matching_cost", source="Test 2000")
    def two_surfaces(reference, match, search):
        # Pixels 0, 1 match at level 0, pixels 3, 4 at level 1; pixel 2 is seen by the reference alone.
        costs = np.array([[[0, 9], [0, 9], [9, 9], [9, 0], [9, 0]]], np.float32)
        return CostVolume(costs, search, 9.0)

    frames = tuple(Frame(name, lambda: np.zeros((1, 5), np.uint8), i) for i, name in enumerate("lr"))
    method = Pipeline([two_surfaces, step(dynamic_programming, occlusion_cost=2), fill_occlusions])
    match = method(Scene("made", frames, search=Search(0, 1)))
    assert match.levels.tolist() == [[0, 0, -1, 1, 1]]
    assert match.disparity.tolist() == [[0, 0, 0, 1, 1]]
    assert match.status.tolist() == [[Status.MATCHED, Status.MATCHED, Status.FILLED, Status.MATCHED, Status.MATCHED]]
