import naive_refinement
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, shapes

from stereo_framework.core.volume import Status
from stereo_framework.refinement import interpolate

hole = np.nan
matched, occluded, mismatched, full, invalid = map(int, Status)


def flat(disparity):
    return np.zeros(np.shape(disparity), np.uint8)


def run(disparity, status, image=None, **parameters):
    disparity = np.array(disparity, np.float32)
    image = flat(disparity) if image is None else image
    return interpolate(disparity, image, np.array(status, np.uint8), **parameters)


@given(
    data=st.data(),
    shape=shapes | st.just((9, 9)),
    rule=st.sampled_from(["hirschmueller", "mei"]),
    kind=st.sampled_from([np.uint8, np.float32]),
    colour=st.booleans(),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(data, shape, rule, kind, colour, threads):
    disparity = data.draw(filled(shape, np.array([hole, hole, hole, hole, 3, 4.5, -1, 7]))).astype(np.float32)
    # Any status at any pixel: what has an estimate keeps both.
    status = data.draw(filled(shape, np.array([matched, occluded, mismatched, full, invalid]))).astype(np.uint8)
    image = data.draw(filled(shape + (3,) * colour, np.array([0, 9, 90, 99, 255]))).astype(kind)
    with in_threads(threads):
        found = interpolate(disparity, image, status, rule=rule)
    for array, expected in zip(found, naive_refinement.interpolate(disparity, image, status, rule), strict=True):
        np.testing.assert_array_equal(array, expected, strict=True)


RING = [
    [1, 0, 6, 0, 2],
    [0, 0, 0, 0, 0],
    [8, 0, 0, 0, 3],
    [0, 0, 0, 0, 0],
    [5, 0, 7, 0, 4],
]


@pytest.mark.parametrize(
    ("rule", "why", "expected"),
    [
        # Of 1 to 8 the second lowest; the lower of 4 and 5.
        ("hirschmueller", occluded, 2),
        ("hirschmueller", mismatched, 4),
        ("mei", occluded, 1),
        # The pixel like itself in colour is that of disparity 7.
        ("mei", mismatched, 7),
    ],
)
def test_one_hole_with_eight_estimates_around(rule, why, expected):
    disparity = np.where(np.array(RING) > 0, RING, hole).astype(np.float32)
    status = np.where(np.isnan(disparity), why, matched).astype(np.uint8)
    image = np.full((5, 5, 3), 200, np.uint8)
    image[2, 2], image[4, 2] = (9, 9, 9), (9, 12, 9)
    # Nearer in the mean of the channels, further in one.
    image[0, 0] = (9, 13, 9)
    found, told = run(disparity, status, image, rule=rule)
    assert (found[2, 2], told[2, 2]) == (expected, full)
