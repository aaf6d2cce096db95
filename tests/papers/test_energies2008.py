"""The energies of the study: what is compared, and the levels of the truth."""

import numpy as np
import pytest

from stereo_framework import Scene
from stereo_framework.papers.energies2008 import items
from stereo_framework.sweep import run


@pytest.fixture
def scene(rng_image):
    left, right = rng_image
    truth = np.full(left.shape, 1.5, np.float32)
    truth[:, :4] = np.nan
    return Scene.from_images(left, right, truth=truth, disparities=(0, 3))


@pytest.fixture
def rng_image():
    image = np.random.default_rng(0).integers(0, 256, (9, 20)).astype(np.uint8)
    return image[:, :16].copy(), image[:, 2:18].copy()


def test_levels_of_the_truth(scene):
    # 1.5 is rounded to the even level; unknown pixels are 0, or those of another map.
    zero, other = items._truth(scene, None), items._truth(scene, np.full((9, 16), 3, np.float32))
    assert (np.unique(zero[:, :4]), np.unique(other[:, :4]), np.unique(zero[:, 4:])) == (0, 3, 2)


def test_a_result_keeps_its_trace(scene, tmp_path):
    script = {
        "matching_cost": "absolute_difference",
        "smoothness": {"use": "potts"},
        "optimization": {"use": "trw_s", "iterations": 5},
    }
    [kept] = run(script, [scene], out=tmp_path)
    [again] = run(script, [scene], out=tmp_path)
    assert len(kept.trace) == 5
    assert again.trace == kept.trace
    assert min(energy for _, energy, _ in kept.trace) == kept.energy
    assert max(bound for *_, bound in kept.trace) == pytest.approx(
        kept.statistics["lower_bound"], rel=1e-6
    )
    [without] = run({**script, "optimization": "winner_take_all"}, [scene])
    assert without.trace == ()
