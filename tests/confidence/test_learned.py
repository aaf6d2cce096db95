import numpy as np
import pytest
from scipy.stats import rankdata

from stereo_framework.confidence import learned
from stereo_framework.confidence.learned import MEASURES, _weighted_ranks, coefficients
from stereo_framework.core.errors import ParameterError


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
            below = sum(v < sure[name][pixel] for v in values) + 0.5 * sum(v == sure[name][pixel] for v in values)
            score += table["weights"][name] * below / len(pixels)
        # Ranks are float32.
        assert found[pixel] == pytest.approx(1 / (1 + np.exp(-score)), abs=1e-6)
    assert found[1, 2] == 0


def test_ranks_by_counting_are_near_those_by_sorting():
    rng = np.random.default_rng(0)
    # With those nearer to 0 there are 270 powers of 2: a step is the 240th part of one, and holds 1 in 9600 of the values.
    values = np.float32(np.exp2(rng.uniform(-10, 10, 20000)) * rng.choice([-1, 1], 20000))
    np.testing.assert_allclose(_weighted_ranks(values, 1.0), (rankdata(values) - 0.5) / 20000, atol=1 / 1500)


def test_refuses_a_method_that_lacks_a_measure():
    message = "^learned: needs the measures ambiguity, .*peak_ratio.* before it under confidence:"
    with pytest.raises(ParameterError, match=message):
        learned(np.zeros((2, 2), np.float32), {"curvature": np.zeros((2, 2), np.float32)})
