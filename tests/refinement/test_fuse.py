import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, shapes

from stereo_framework import Search
from stereo_framework.errors import ParameterError
from stereo_framework.refinement import fuse
from stereo_framework.view import View

hole = np.nan


def naive(maps, weights):
    """The least of the estimates that has, with those below it, half of the weight."""
    fused = np.full(maps[0].shape, hole, np.float32)
    for p in np.ndindex(fused.shape):
        pairs = sorted((float(m[p]), float(w[p])) for m, w in zip(maps, weights, strict=True) if not np.isnan(m[p]))
        upto, whole = 0.0, sum(w for _, w in pairs)
        for value, weight in pairs:
            upto += weight
            if 2 * upto >= whole:
                fused[p] = value
                break
    return fused


@given(data=st.data(), shape=shapes, count=st.sampled_from([2, 3, 1, 4]), rule=st.sampled_from(["confidence", "median"]))
def test_agrees_with_twin(data, shape, count, rule):
    maps = [data.draw(filled(shape, np.array([hole, 1, 2, 2.5, 7]))).astype(np.float32) for _ in range(count)]
    sure = [data.draw(filled(shape, np.arange(-3.0, 9))).astype(np.float32) for _ in range(count)]
    status = [data.draw(filled(shape, np.array([0, 3]))).astype(np.uint8) for _ in range(count)]
    views = [View(m, s, Search(0, 9), {"margin": c, "other": -c}) for m, s, c in zip(maps, status, sure, strict=True)]
    others = {str(i): view for i, view in enumerate(views[1:])}
    found = fuse(maps[0], others, status[0], views[0].confidence, rule=rule, measure="margin")
    weights = [np.ones(shape)] * count
    if rule == "confidence":
        weights = []
        for c, s in zip(sure, status, strict=True):
            lowered = [float(c.min()) if told == 3 else float(v) for v, told in zip(c.flat, s.flat, strict=True)]
            weights.append(np.array([sum(w <= v for w in lowered) for v in lowered]).reshape(shape))
    np.testing.assert_array_equal(found, naive(maps, weights), strict=True)


def test_of_two_maps_the_surer_wins():
    status = np.zeros((1, 3), np.uint8)
    other = View(np.float32([[5, 5, hole]]), status, Search(0, 9), {"margin": np.float32([[9, 1, 5]])})
    # The scales of both are unlike.
    own = {"margin": np.float32([[100, 300, 200]])}
    assert fuse(np.float32([[2, 2, 2]]), {"a": other}, status, own, rule="confidence").tolist() == [[5, 2, 2]]


@pytest.mark.parametrize(
    ("own", "measure", "message"),
    [
        ({}, None, "the method has several measures of confidence, or none; legal: none"),
        ({"a": 0, "b": 0}, None, "the method has several measures of confidence, or none; legal: a, b"),
        ({"a": 0}, "b", "the method has no confidence 'b'; legal: a"),
        ({"a": 0}, "a", "far has no confidence 'a'; legal: none"),
    ],
)
def test_refuses_what_has_no_such_confidence(own, measure, message):
    status, disparity = np.zeros((1, 2), np.uint8), np.zeros((1, 2), np.float32)
    far = View(disparity, status, Search(0, 9))
    with pytest.raises(ParameterError, match=f"^fuse.measure: {message}$"):
        fuse(disparity, {"far": far}, status, dict.fromkeys(own, disparity), rule="confidence", measure=measure)
    with pytest.raises(ParameterError, match=r"^fuse.rule: 'mean' is not one of median, confidence"):
        fuse(disparity, {"far": far}, status, {}, rule="mean")
