import naive_refinement
import numpy as np
import pytest

from stereo_framework.errors import DataError, ParameterError
from stereo_framework.refinement import snap

hole = np.nan


@pytest.mark.parametrize(("distance", "slope"), [(0.1, 0.05), (0.3, 0.2)])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_twin(seed, distance, slope):
    rng = np.random.default_rng(seed)
    shape = (14, 17)
    right, down = rng.uniform(-0.1, 0.1, 2)
    disparity = 3 + right * np.arange(17) + down * np.arange(14)[:, None] + rng.uniform(-0.15, 0.15, shape)
    disparity = np.where(rng.random(shape) < 0.1, hole, disparity).astype(np.float32)
    image = rng.integers(0, 60, (*shape, 3), dtype=np.uint8)
    found = snap(disparity, image, distance=distance, slope=slope)
    for y, x in np.ndindex(shape):
        value = float(disparity[y, x])
        if np.isnan(value):
            assert np.isnan(found[y, x])
            continue
        *slopes, _ = naive_refinement.local_plane(disparity, image, y, x, (5, 12), 0.8, 15.0, 0.05)
        if abs(np.hypot(*slopes) - slope) > 1e-5:
            near = abs(value - round(value)) < distance and np.hypot(*slopes) < slope
            assert found[y, x] == (round(value) if near else disparity[y, x])


@pytest.mark.compiled
def test_slanted_surfaces_stay():
    ramp = (np.arange(40) / 10).astype(np.float32)[None].repeat(30, axis=0)
    np.testing.assert_array_equal(snap(ramp, np.zeros(ramp.shape, np.uint8)), ramp)
    level = np.full((30, 40), 3.06, np.float32)
    assert (snap(level, np.zeros(level.shape, np.uint8)) == 3).all()


def test_refuses():
    level = np.zeros((2, 2), np.float32)
    for name in ("distance", "slope"):
        with pytest.raises(ParameterError, match=f"^snap.{name}: 0.0 is not a number > 0"):
            snap(level, np.zeros((2, 2), np.uint8), **{name: 0.0})
    with pytest.raises(DataError, match="^snap: reference has shape"):
        snap(level, np.zeros((3, 2), np.uint8))
