"""Choosing without ground truth: ranked, or a reason why not."""

import dataclasses

import numpy as np
import pytest

from stereo_framework import load_scene, run
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.scene import Scene
from stereo_framework.own_pair import choosing
from stereo_framework.own_pair.choosing import choose, is_kin, judge
from stereo_framework.own_pair.search_range import looked_at
from stereo_framework.script import load
from stereo_framework.sweep.reference import reference


@pytest.fixture(scope="module")
def scene():
    return dataclasses.replace(load_scene("synthetic/planes"), truths={})


@pytest.fixture(scope="module")
def chosen(scene):
    return choose(scene, ["window", "sgbm"])


def test_the_reference_keeps_what_both_views_agree_about(scene):
    found = reference(scene)
    assert found is reference(scene)
    assert not found.smoothed
    truth = load_scene("synthetic/planes").truth
    known = np.isfinite(found.disparity)
    assert found.consistent == 100 * known.mean()
    assert np.mean(np.abs(found.disparity - truth)[known] > 1) < 0.02
    assert 0 < found.floor < 10


def test_noisy_pairs_are_smoothed(scene):
    chance = np.random.default_rng(1)
    noisy = [np.clip(i + chance.normal(0, 40, i.shape), 0, 255).astype(np.float32) for i in (scene.reference, scene.match)]
    assert reference(Scene.from_images(*noisy, (0, 31))).smoothed


def test_choose(chosen):
    assert chosen.name == chosen.judged.best == "sgbm"
    assert chosen.judged.answer.startswith("sgbm is better: ")
    assert load(chosen.script).settings[0].pipeline == chosen.runs["sgbm"].pipeline
    assert chosen.seconds.keys() == {"sgbm", "window"}
    assert not chosen.judged.kin


def test_time_is_kept(scene, monkeypatch):
    looked = []
    monkeypatch.setattr(choosing, "looked_at", lambda *given: looked.append(given) or looked_at(*given))
    found = choose(scene, ["window", "sgbm", "ssd"], seconds=0)
    assert found.left_out == ("ssd",)
    assert len(looked) == 1


def test_a_choice_needs_two(scene):
    with pytest.raises(ParameterError, match="window: one method; a choice needs two or more"):
        choose(scene, ["window"])
    with pytest.raises(ParameterError, match="1 map given"):
        judge(scene, {"a": scene.reference[..., 0].astype(np.float32)})


def test_kin():
    kin = {name: is_kin(load(name).settings[0].parameters) for name in ("sgm", "fine", "fast", "sgbm", "census", "so")}
    assert kin == {"sgm": True, "fine": True, "fast": True, "sgbm": False, "census": False, "so": False}


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda s: Scene.from_images(s.match, s.reference, (0, 31)), "exchanged"),
        (lambda s: Scene.from_images(s.reference, s.match, (0, 5)), "too narrow"),
        (lambda s: Scene.from_images(s.reference, np.roll(s.match, 4, axis=0), (0, 31)), "not rectified"),
        (lambda s: Scene.from_images(s.reference, np.ascontiguousarray(s.match[::-1]), (0, 31)), ""),
    ],
)
def test_no_ranking_of_a_doubtful_pair(scene, chosen, spoil, told):
    found = judge(spoil(scene), chosen.maps)
    assert found.best is None
    assert found.answer.startswith("cannot tell: ")
    assert told in found.answer


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda s: Scene.from_images(s.match, s.reference, (0, 31)), "exchanged"),
        (lambda s: Scene.from_images(s.match, s.reference), "exchanged"),
        (lambda s: Scene.from_images(s.reference, s.match, (0, 5)), "too narrow"),
        (lambda s: Scene.from_images(s.reference, np.full_like(s.match, 9), (0, 31)), "little in common"),
    ],
)
def test_what_is_doubtful_is_told_before_anything_is_matched(scene, spoil, told):
    begun = []
    found = choose(spoil(scene), ["window", "sgbm"], watch=begun.append)
    assert found.judged.answer.startswith("cannot tell: ")
    assert told in found.judged.answer
    assert (found.maps, found.judged.best, found.judged.standings) == ({}, None, ())
    assert not {"window", "sgbm"} & set(begun)


def test_kin_are_not_called_better(scene, chosen):
    found = judge(scene, chosen.maps, kin=["sgbm"])
    assert found.best is None
    assert found.answer.startswith("cannot tell sgbm and window apart: sgbm is made as the reference is")
    assert judge(scene, chosen.maps, kin=["sgbm", "window"]).best == "sgbm"


def test_where_nothing_is_decided_the_default_is_chosen_if_it_is_not_worse(chosen):
    judged = chosen.judged

    def name(**undecided):
        standings = tuple(dataclasses.replace(judged.standings[0], name=n, undecided=u) for n, u in undecided.items())
        return dataclasses.replace(chosen, judged=dataclasses.replace(judged, standings=standings)).name

    assert name(sgbm=True, window=True, fine=True) == "fine"
    assert name(sgbm=True, window=True, fine=False) == "sgbm"
    assert name(sgbm=True, window=False, fine=False) == "sgbm"


def test_ones_own_reference(scene, chosen):
    # One pixel of 25 is known, as of a laser: that is no sign of a doubtful pair, and nobody is its kin.
    sparse = np.full_like(chosen.maps["window"], np.nan)
    sparse[::5, ::5] = chosen.maps["window"][::5, ::5]
    found = judge(dataclasses.replace(scene, stand_in=lambda: sparse), chosen.maps, kin=["window"])
    assert (found.best, found.kin, found.reference.floor) == ("window", set(), 0)
    assert found.standings[0].distance == 0
    assert found.reference.consistent == pytest.approx(4)
    for wrong, told in (
        (sparse[1:], "the reference map is 320x239, its images are 320x240"),
        (np.full_like(sparse, np.nan), "no known disparity"),
    ):
        with pytest.raises(DataError, match=told):
            judge(dataclasses.replace(scene, stand_in=lambda wrong=wrong: wrong), chosen.maps)


def test_a_scene_without_truth_gets_distances_by_itself(scene):
    [result] = run("window", scenes=scene)
    assert result.protocol == "truthfree-1"
    assert result.statistics["reference_distance"] > 0
    assert "bad_pixels_nonocc" not in result.statistics
    [with_truth] = run("window", scenes="synthetic/planes")
    assert "reference_distance" not in with_truth.statistics
