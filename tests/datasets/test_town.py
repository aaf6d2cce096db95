import numpy as np
import pytest

from stereo_framework import SearchRange, load_scene
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.datasets import find_scenes, scene_names
from stereo_framework.datasets.built_in_scenes import town


def test_ground_roofs_and_what_they_hide():
    scene = town(rows=240, columns=300, levels=64)
    truth, occluded = scene.truth, scene.mask("occluded")
    assert scene.reference.shape == (240, 300, 3)
    assert scene.search == SearchRange(0, 63)
    assert 0 < truth.min() < truth.max() <= 63
    # The ground rises from 6 % of the range to 36 % of it, and by 2 % along each row.
    assert truth[0, 0] == pytest.approx(0.06 * 63, abs=1e-4)
    assert truth[239, 0] == pytest.approx((0.06 + 0.3 * 239 / 240) * 63, abs=1e-4)
    assert truth[0, 299] == pytest.approx((0.06 + 0.02 * 299 / 300) * 63, abs=1e-4)
    ground = (
        truth[0, 0] + 0.3 * 63 / 240 * np.arange(240)[:, None] + 0.02 * 63 / 300 * np.arange(300)
    )
    high = truth > ground + 0.1 * 63
    assert 0.1 < high.mean() < 0.5
    # Gabled roofs slope by row, flat ones do not.
    slope = np.diff(truth, axis=0)[high[1:] & high[:-1]]
    assert (slope == 0).any()
    assert (slope > 0.1).any()
    assert (slope < -0.1).any()
    assert 0.05 < occluded.mean() < 0.3


def test_the_same_seed_gives_the_same_town():
    one, two, other = (town(rows=60, columns=80, levels=16, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.reference, two.reference)
    assert (one.reference != other.reference).any()


def test_the_built_in_scene_comes_in_any_size():
    assert "synthetic/large" in scene_names()
    # Whoever names them all does not mean it.
    small = tuple(n for n in scene_names() if n.startswith("synthetic/"))[:-1]
    assert find_scenes("synthetic") == find_scenes("synthetic/*") == small
    assert find_scenes("synthetic/large") == ("synthetic/large",)
    scene = load_scene("synthetic/large-80x60x20")
    assert (scene.name, scene.reference.shape, scene.search) == (
        "synthetic/large-80x60x20",
        (60, 80, 3),
        SearchRange(0, 19),
    )
    with pytest.raises(
        ParameterError,
        match=r"^a town of 59x60 pixels and 20 levels; allowed: 60x60 and larger, 16 levels and more$",
    ):
        load_scene("synthetic/large-59x60x20")
    with pytest.raises(DataError, match="unknown scene 'synthetic/large-80x60'"):
        load_scene("synthetic/large-80x60")
