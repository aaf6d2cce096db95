"""Measures that are made of images, of both maps and of other measures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, image_pairs, in_threads, searches, shapes
from scipy.stats import rankdata

from stereo_framework import SearchRange
from stereo_framework.confidence import distinctiveness, learned, left_right_consistency
from stereo_framework.confidence.learned import MEASURES, _add_ranks, coefficients
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.view import DisparityMap


def naive_distinctiveness(image, widest, window):
    image = np.round(image.reshape(*image.shape[:2], -1).astype(float) * 4096) / 4096
    rows, columns, _ = image.shape
    padded = np.pad(image, (((window - 1) // 2, window // 2),) * 2 + ((0, 0),), mode="edge")
    windows = {
        (y, x): padded[y : y + window, x : x + window] for y in range(rows) for x in range(columns)
    }
    found = np.zeros((rows, columns), np.float32)
    for y, x in windows:
        others = [i for i in range(columns) if 0 < abs(i - x) <= widest]
        if others:
            found[y, x] = min(
                np.abs(windows[y, x] - windows[y, i]).sum() / window**2 for i in others
            )
    return found


@given(
    pair=image_pairs(),
    window=st.sampled_from([3, 2, 1, 5]),
    width=st.sampled_from([3, 1, 2, 9, 1.5]),
    threads=st.integers(1, 3),
)
def test_distinctiveness_agrees_with_twin(pair, window, width, threads):
    image = pair[0]
    disparity = np.zeros(image.shape[:2], np.float32)
    disparity[0, 0] = np.nan
    with in_threads(threads):
        found = distinctiveness(disparity, image, SearchRange(-1, width - 1, 0.5), size=window)
    expected = naive_distinctiveness(image, int(np.ceil(width)), window)
    expected[0, 0] = expected.min()
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize(
    ("width", "expected"),
    [(1, [10, 10, 70, 78]), (1.5, [10, 8, 70, 8]), (2, [10, 8, 70, 8]), (2.5, [2, 8, 70, 2])],
)
def test_windows_are_compared_up_to_the_rounded_up_width_of_the_range(width, expected):
    row = np.array([[10, 20, 90, 12]], np.uint8)
    search = SearchRange(-1, width - 1, 0.5)
    measured = distinctiveness(np.zeros((1, 4), np.float32), row, search, size=1)
    assert measured.tolist() == [expected]


def naive_consistency(disparity, other, search):
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
def test_consistency_agrees_with_twin(data, shape, search, threads):
    # All values are exact in float32, so that both subtract without rounding.
    values = np.array([np.nan, *search.disparities.tolist(), 0.5, -0.5, 1.5, 2.25])
    disparity, other = (data.draw(filled(shape, values)).astype(np.float32) for _ in range(2))
    with in_threads(threads):
        found = left_right_consistency(
            disparity, DisparityMap(other, np.zeros(shape, np.uint8), search), search
        )
    np.testing.assert_array_equal(found, naive_consistency(disparity, other, search), strict=True)


def test_is_the_logistic_function_of_weighted_ranks():
    rng = np.random.default_rng(4)
    disparity = rng.integers(0, 9, (3, 4)).astype(np.float32)
    disparity[1, 2] = np.nan
    sure = {name: rng.integers(0, 5, (3, 4)).astype(np.float32) for name in (*MEASURES, "another")}
    found = learned(disparity, sure)
    table = coefficients()
    pixels = [p for p in np.ndindex(3, 4) if p != (1, 2)]
    for pixel in pixels:
        score = table["intercept"]
        for name in MEASURES:
            values = [sure[name][p] for p in pixels]
            below = sum(v < sure[name][pixel] for v in values) + 0.5 * sum(
                v == sure[name][pixel] for v in values
            )
            score += table["weights"][name] * below / len(pixels)
        # Ranks are float32.
        assert found[pixel] == pytest.approx(1 / (1 + np.exp(-score)), abs=1e-6)
    assert found[1, 2] == 0


def test_ranks_by_counting_are_near_those_by_sorting():
    rng = np.random.default_rng(0)
    # With those nearer to 0 there are 270 powers of 2: a step is the 240th part of one, and holds 1 in 9600 of the values.
    values = np.float32(np.exp2(rng.uniform(-10, 10, 20000)) * rng.choice([-1, 1], 20000))
    scores = np.zeros(20000, np.float32)
    _add_ranks(values, 1.0, scores)
    np.testing.assert_allclose(scores, (rankdata(values) - 0.5) / 20000, atol=1 / 1500)


def test_refuses_a_method_that_lacks_a_measure():
    message = "^learned: needs the measures ambiguity, .*peak_ratio.* before it under confidence:"
    with pytest.raises(ParameterError, match=message):
        learned(np.zeros((2, 2), np.float32), {"curvature": np.zeros((2, 2), np.float32)})
