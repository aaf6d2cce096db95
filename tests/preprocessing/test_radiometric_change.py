"""Changes of one image's light, against the equations written for single pixels."""

import numpy as np
import pytest

from stereo_framework.preprocessing import radiometric_change


@pytest.mark.parametrize("shape", [(5, 8), (5, 8, 3), (1, 1)])
def test_each_pixel(shape):
    left, right = np.random.default_rng(0).integers(0, 256, (2, *shape)).astype(np.uint8)
    same, changed = radiometric_change(left, right, exposure=1.3, vignetting=0.6, gamma=1.5)
    rows, columns = shape[:2]
    np.testing.assert_array_equal(same, left)
    for place in np.ndindex(shape):
        y, x = (-1 + 2 * i / (n - 1) if n > 1 else -1 for i, n in zip(place, (rows, columns), strict=False))
        seen = min(right[place] * 1.3 * (1 - 0.6 * (x * x + y * y) / 2) / 255, 1)
        # Where a value lies at the middle of two grey levels, rounding errors decide.
        assert abs(changed[place] - 255 * seen**1.5) <= 0.5 + 1e-9


def test_noise_is_that_of_its_seed():
    grey = np.full((200, 300), 128, np.uint8)
    first, again, other = (radiometric_change(grey, grey, noise=6, seed=seed)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    # 60000 draws: the standard error of their deviation is 0.02, that of their mean 0.03; rounding adds 1/12 to the variance.
    assert first.std() == pytest.approx((36 + 1 / 12) ** 0.5, abs=0.08)
    assert first.mean() == pytest.approx(128, abs=0.1)
