"""Error statistics: published numbers, plain Python and by hand."""

import math

import numpy as np
import pytest
from evaluation_inputs import disparity_maps
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereo_framework import load_scene
from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation.disparity_error import (
    bad_pixels,
    density,
    error_quantile,
    fraction_matched,
    invalid_pixels,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    rms_error,
)


@pytest.mark.parametrize(
    ("metric", "largest", "expected"),
    [
        (rms_error, 2**12, math.sqrt((2**24 + 1000) / 1001)),
        (mean_absolute_error, 2**24, (2**24 + 1000) / 1001),
    ],
)
def test_sums_are_float64(metric, largest, expected):
    # In float32 they would stay at 2**24.
    errors = np.ones((1, 1001), np.float32)
    errors[0, 0] = largest
    assert metric(errors, np.zeros_like(errors), errors > 0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "published"),
    [("tsukuba", 16.474), ("venus", 14.316), ("teddy", 4.117), ("cones", 3.380)],
)
def test_published_errors_of_the_truth_minus_one(data, name, published):
    # Cabezas et al. 2011, Table 1: BMP 0, MSE 1 and MAPE over "all". Half of the last printed digit.
    scene = load_scene(f"middlebury-v2/{name}", data=data)
    disparity, mask = scene.truth - np.float32(1), scene.mask("all")
    assert mean_absolute_percentage_error(disparity, scene.truth, mask) == pytest.approx(
        published, abs=5e-4
    )
    assert mean_squared_error(disparity, scene.truth, mask) == 1
    assert bad_pixels(disparity, scene.truth, mask) == 0


def mean(values):
    return sum(values) / len(values) if values else math.nan


@given(
    st.data(),
    st.sampled_from([1.0, 0.0, 0.125, 0.5]),
    st.sampled_from([0.0, 0.25, 0.05]),
)
def test_equal_plain_python(data, threshold, relative):
    disparity = data.draw(disparity_maps())
    disparity[disparity == 3] = np.inf
    # Eighths: all errors and their sums are exact, and some errors lie exactly at a threshold.
    truth = data.draw(
        hnp.arrays(np.float32, disparity.shape, elements=st.integers(-4, 32).map(lambda n: n / 8))
    )
    mask = data.draw(hnp.arrays(bool, disparity.shape))
    maps = disparity, truth, mask
    pairs = [(float(d), float(t)) for d, t in zip(disparity[mask], truth[mask], strict=True)]
    errors = [(float(np.float32(abs(d - t))), t) for d, t in pairs if math.isfinite(d)]
    wrong = [e > threshold and e > relative * abs(t) for e, t in errors]
    missing = [True] * (len(pairs) - len(errors))
    estimated = len(errors) / len(pairs) if pairs else math.nan
    ascending = sorted(e for e, _ in errors)

    def same(value):
        # Quotients are rounded to float32.
        return pytest.approx(value, rel=1e-6, abs=1e-9, nan_ok=True)

    assert bad_pixels(*maps, threshold, relative=relative) == same(100 * mean([*wrong, *missing]))
    of_all = 100 * sum(wrong) / len(pairs) if pairs else math.nan
    assert bad_pixels(*maps, threshold, relative=relative, count_missing=False) == same(of_all)
    assert mean_absolute_error(*maps) == same(mean(ascending))
    assert mean_squared_error(*maps) == same(mean([e**2 for e in ascending]))
    assert rms_error(*maps) == pytest.approx(
        math.sqrt(mean([e**2 for e in ascending])), rel=1e-9, nan_ok=True
    )
    assert mean_absolute_percentage_error(*maps) == same(
        mean([100 * e / t for e, t in errors if t > 0])
    )
    # Of n errors that at index floor(n * quantile); nothing is interpolated.
    for quantile in (0, 0.25, 0.5, 0.9, 0.99, 1):
        index = min(math.floor(len(ascending) * quantile), len(ascending) - 1)
        assert error_quantile(*maps, quantile) == same(ascending[index] if ascending else math.nan)
    assert fraction_matched(disparity, mask) == same(estimated)
    assert density(disparity, mask) == same(100 * estimated)
    assert invalid_pixels(disparity, mask) == same(100 - 100 * estimated)


@pytest.mark.parametrize("quantile", [-0.1, 90, math.nan])
def test_a_quantile_is_a_fraction(quantile):
    one = np.ones((1, 1), np.float32)
    with pytest.raises(ParameterError, match=r"^quantile: .* is not within 0\.\.1$"):
        error_quantile(one, one, one > 0, quantile)
