import naive_refinement
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, searches, shapes

from stereo_framework import Search
from stereo_framework.core.volume import Status
from stereo_framework.refinement import region_voting

hole = np.nan
matched, occluded, mismatched, full, invalid = map(int, Status)


def run(disparity, status=None, image=None, search=Search(0, 9), **parameters):  # noqa: B008
    disparity = np.array(disparity, np.float32)
    status = np.where(np.isnan(disparity), occluded, matched) if status is None else np.array(status)
    image = np.zeros(disparity.shape, np.uint8) if image is None else image
    return region_voting(disparity, image, search, status.astype(np.uint8), **parameters)


@given(
    data=st.data(),
    shape=shapes | st.just((6, 9)),
    search=searches(),
    minimum_count=st.sampled_from([2, 0, 5, 20]),
    minimum_share=st.sampled_from([0.4, 0.5, 0, 1]),
    iterations=st.integers(1, 3),
    limits=st.sampled_from([(34, 20.0, 17, 6.0), (3, 20.0, 1, 6.0), (9, 300.0, 2, 30.0), (1, 20.0, 1, 6.0)]),
    kind=st.sampled_from([np.uint8, np.float32]),
    colour=st.booleans(),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(data, shape, search, minimum_count, minimum_share, iterations, limits, kind, colour, threads):
    # Levels, what lies a third of a level beside them, and what lies beyond the ends.
    levels = np.arange(-1, search.levels + 1)
    values = np.concatenate(
        [[hole] * search.levels, search.minimum + levels * search.step, search.minimum + (levels + 1 / 3) * search.step]
    )
    disparity = data.draw(filled(shape, values)).astype(np.float32)
    status = data.draw(filled(shape, np.array([occluded, matched, mismatched, full, invalid]))).astype(np.uint8)
    image = data.draw(filled(shape + (3,) * colour, np.array([50, 55, 60, 90, 255]))).astype(kind)
    before = disparity.copy(), image.copy(), status.copy()
    names = dict(zip(("length", "threshold", "far", "far_threshold"), limits, strict=True))
    parameters = {"minimum_count": minimum_count, "minimum_share": minimum_share, "iterations": iterations}
    with in_threads(threads):
        found = region_voting(disparity, image, search, status, **parameters, **names)
    expected = naive_refinement.region_voting(disparity, image, search, status, *parameters.values(), limits)
    for array, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(array, wanted, strict=True)
    for array, copy in zip((disparity, image, status), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_count_and_share_must_be_exceeded():
    row = [[4, 4, 6, 7, 5, hole]]
    assert run(row, minimum_count=4, minimum_share=0.3)[0][0, 5] == 4
    assert np.isnan(run(row, minimum_count=5, minimum_share=0.3)[0][0, 5])
    # 2 of 5 estimates.
    assert np.isnan(run(row, minimum_count=4, minimum_share=0.4)[0][0, 5])
