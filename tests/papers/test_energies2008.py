"""The energies of the study: what is compared, and the levels of the truth."""

import numpy as np
import pytest

from stereo_framework import Scene
from stereo_framework.papers import find_paper
from stereo_framework.papers.comparison import compared
from stereo_framework.papers.energies2008 import items
from stereo_framework.papers.published import published_table
from stereo_framework.papers.reproduce import reproduce
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
    assert max(bound for *_, bound in kept.trace) == pytest.approx(kept.statistics["lower_bound"], rel=1e-6)
    [without] = run({**script, "optimization": "winner_take_all"}, [scene])
    assert without.trace == ()


@pytest.mark.parametrize(
    ("row", "factor", "outside"),
    [
        ("lower bound", 1.00011, True),
        ("lower bound", 0.99989, True),
        ("lower bound", 1.00009, False),
        ("trw_s", 1.00051, True),
        ("trw_s", 1.00049, False),
        ("trw_s", 0.9, False),
        ("expansion", 1.0031, True),
        ("swap", 1.0029, False),
        ("bp_sequential", 1.031, True),
        ("bp_accelerated", 1.029, False),
        ("icm", 9.0, False),
        ("wta", 1.000001, True),
        ("truth", 0.999999, True),
    ],
)
def test_limits_of_the_energies(row, factor, outside):
    published = published_table("energies2008", "energies")
    ours = {row: {"venus": factor * published.rows[row]["venus"]}}
    [cell] = compared(published, ours, rows=[row], columns=["venus"])
    assert cell.outside is outside


def test_without_data(tmp_path, monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    done = reproduce(find_paper("energies2008"), tmp_path / "out")
    assert len(done.comparisons) == 26
    assert all(c.ours is None for c in done.comparisons)
    assert [s.holds for s in done.statements] == [None] * 5
    assert done.status == 0
