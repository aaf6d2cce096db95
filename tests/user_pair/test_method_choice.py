"""Choosing without truth: maps against the first one, and the default until another method is better."""

import dataclasses

import numpy as np
import pytest

from stereo_framework import run
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.package_files import package_yaml
from stereo_framework.core.scene import Scene
from stereo_framework.kernels.progress import reporting_iterations_to
from stereo_framework.script import load
from stereo_framework.sweep.pseudo_truth import pseudo_truth_of
from stereo_framework.user_pair import method_choice
from stereo_framework.user_pair.method_choice import (
    MapComparison,
    choose,
    compare_without_ground_truth,
    judge,
)
from stereo_framework.user_pair.search_range import looked_at

RULES = package_yaml("user_pair/method_choice.yaml")


@pytest.fixture(scope="module")
def scene(known):
    return dataclasses.replace(known, truths={})


@pytest.fixture(scope="module")
def chosen(scene):
    return choose(scene, ["window", "sgbm"])


def test_the_reference_keeps_what_both_views_agree_about(known, scene):
    found = pseudo_truth_of(scene)
    assert found is pseudo_truth_of(scene)
    reliable = np.isfinite(found)
    assert 0.5 < reliable.mean() < 1
    assert np.mean(np.abs(found - known.truth)[reliable] > 1) < 0.02


def test_noisy_pairs_are_smoothed(scene):
    chance = np.random.default_rng(1)
    noisy = [
        np.clip(i + chance.normal(0, 40, i.shape), 0, 255).astype(np.float32)
        for i in (scene.reference, scene.match)
    ]
    spoilt = Scene.from_images(*noisy, (0, 31))
    plain = load("truth_free/pseudo_truth").only.pipeline.estimate(spoilt, spoilt.search).disparity
    assert np.isfinite(pseudo_truth_of(spoilt)).mean() > np.isfinite(plain).mean() + 0.03


def _off(truth, columns, by=3.0):
    """A map that is off in so many of 100 columns."""
    return np.where(np.arange(truth.shape[1]) < columns, truth + np.float32(by), truth)


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [(2, "cannot tell"), (-2, "cannot tell"), (2.0625, "worse"), (-2.0625, "better")],
)
def test_an_interval_that_ends_at_zero_gives_no_verdict(difference, verdict):
    assert MapComparison("a", difference, half_width=2).verdict == verdict


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Maps differ above one pixel, and where only one of them has an estimate.
        ([5, 5, 5, 5], [6, 4, 5, 5], 0),
        ([5, 5, 5, 5], [6.0625, 3.9375, 5, 5], 50),
        ([np.nan, 5, np.nan, 5], [5, np.nan, np.nan, 5], 50),
    ],
)
def test_maps_differ_above_one_pixel_or_where_one_has_no_estimate(first, second, expected):
    assert method_choice._apart(np.float32([first]), np.float32([second])) == expected


def test_both_views_agree_about_three_tenths_of_the_pixels():
    pseudo_truth = np.full((10, 10), 5, np.float32)
    pseudo_truth.flat[30:] = np.nan
    maps = {"first": pseudo_truth + 1, "second": pseudo_truth}
    assert len(compare_without_ground_truth(maps, pseudo_truth)) == 1
    pseudo_truth.flat[29] = np.nan
    with pytest.raises(DataError, match="both views agree about 29 % of the pixels only"):
        compare_without_ground_truth(maps, pseudo_truth)


def test_differences_and_intervals_by_hand():
    truth = np.full((20, 100), 7, np.float32)
    pseudo_truth = truth.copy()
    pseudo_truth[:10] = (
        np.nan
    )  # rows that the pseudo ground truth does not know, where maps may be anything
    better, worse, same, hole = (
        _off(truth, 0),
        _off(truth, 40),
        _off(truth, 10, by=3.5),
        _off(truth, 10),
    )
    better[:10], hole[:, :20] = 99, np.nan
    maps = {"first": _off(truth, 10), "worse": worse, "better": better, "same": same, "hole": hole}
    for disparity in maps.values():
        disparity[15:, 99] = (
            np.nan
        )  # no estimate in any map: off the reference in all, and nowhere apart
    found = {s.name: s for s in compare_without_ground_truth(maps, pseudo_truth)}
    own = RULES["own"]
    # Off the reference: the first 10 %, the others 40, 0, 10 and 20; apart from the first, of all that it knows: 30, 10, 0 and 20, as a missing estimate counts.
    for name, more, apart in (
        ("worse", 30, 30),
        ("better", -10, 10),
        ("same", 0, 0),
        ("hole", 10, 20),
    ):
        assert found[name].difference == pytest.approx(own["slope"] * more), name
        assert found[name].half_width == pytest.approx(own["quantile"] * apart ** own["power"]), (
            name
        )
    assert list(found) == ["better", "same", "hole", "worse"]
    known = RULES["known"]
    [by_both] = [
        s
        for s in compare_without_ground_truth(maps, pseudo_truth, {"worse": 0.5})
        if s.name == "worse"
    ]
    assert by_both.difference == pytest.approx(known["slope"] * 30 + known["prior"] * 0.5 * 30)
    assert by_both.half_width == pytest.approx(known["quantile"] * 30 ** known["power"])


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [(-2.1, "better"), (-2.0, "cannot tell"), (2.0, "cannot tell"), (2.1, "worse")],
)
def test_verdicts(difference, verdict):
    assert MapComparison("a", difference, 2.0).verdict == verdict


def test_refused(scene):
    flat = np.zeros((32, 64), np.float32)
    with pytest.raises(ParameterError, match="1 map given; comparing needs two or more"):
        compare_without_ground_truth({"a": flat}, flat)
    with pytest.raises(DataError, match="small: 32x16 pixels; the pair is 64x32"):
        compare_without_ground_truth({"a": flat, "small": flat[:16, :32]}, flat)
    with pytest.raises(
        DataError, match="both views agree about 0 % of the pixels only, 30 % are needed"
    ):
        compare_without_ground_truth({"a": flat, "b": flat}, np.full_like(flat, np.nan))
    with pytest.raises(
        ParameterError, match="fine is what others are compared with; name another method"
    ):
        choose(scene, ["fine"])


def test_choose(chosen):
    assert list(chosen.maps) == ["fine", "window", "sgbm"]
    assert chosen.seconds.keys() == chosen.maps.keys()
    assert {s.name: s.verdict for s in chosen.comparisons}["window"] == "worse"
    assert chosen.name == "fine"
    assert load(chosen.settings["fine"].mapping).only.pipeline == chosen.settings["fine"].pipeline


@pytest.mark.parametrize(
    ("found", "name"),
    [([("sgbm", -5.0), ("window", -3.0)], "sgbm"), ([("sgbm", -1.0), ("window", 3.0)], "fine")],
)
def test_the_default_is_left_for_the_best_of_the_better_ones_only(chosen, found, name):
    assert (
        dataclasses.replace(
            chosen, comparisons=tuple(MapComparison(n, d, 2.0) for n, d in found)
        ).name
        == name
    )


def test_what_is_known_of_a_shipped_method_is_not_said_of_a_users_file(
    scene, tmp_path, monkeypatch
):
    (tmp_path / "window.yaml").write_text("include: sgbm\n")
    told = []
    monkeypatch.setattr(
        method_choice,
        "compare_without_ground_truth",
        lambda maps, pseudo_truth, before: (
            told.append(before) or compare_without_ground_truth(maps, pseudo_truth, before)
        ),
    )
    choose(scene, [str(tmp_path / "window.yaml")])
    choose(scene, ["window"])
    assert told == [{}, {"window": RULES["ratios"]["window"]}]


def test_time_is_kept(scene, monkeypatch):
    looked = []
    monkeypatch.setattr(
        method_choice, "looked_at", lambda *given: looked.append(given) or looked_at(*given)
    )
    found = choose(scene, ["window", "sgbm", "ssd"], seconds=0)
    assert found.left_out == ("sgbm", "ssd")
    assert len(looked) == 1


def test_every_candidate_is_known_from_scenes_with_truth():
    assert {run.method for run in load("truth_free/candidates").settings} == RULES["ratios"].keys()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda s: Scene.from_images(s.match, s.reference, (0, 31)), "exchanged"),
        (lambda s: Scene.from_images(s.match, s.reference), "exchanged"),
        (lambda s: Scene.from_images(s.reference, s.match, (0, 5)), "too narrow"),
        (
            lambda s: Scene.from_images(s.reference, np.roll(s.match, 4, axis=0), (0, 31)),
            "may not be rectified",
        ),
        (
            lambda s: Scene.from_images(s.reference, np.full_like(s.match, 9), (0, 31)),
            "different scenes, or too little texture",
        ),
        (
            lambda s: Scene.from_images(s.reference, np.ascontiguousarray(s.match[::-1]), (0, 31)),
            "",
        ),
    ],
)
def test_no_answer_about_a_doubtful_pair(scene, chosen, spoil, told):
    begun = []
    listening = reporting_iterations_to(lambda thread, done, count, what: begun.append(what))
    with listening, pytest.raises(DataError, match=f"cannot tell: .*{told}"):
        choose(spoil(scene), ["window", "sgbm"])
    if told:  # before anything is matched
        assert "method" not in begun
    with pytest.raises(DataError, match=f"cannot tell: .*{told}"):
        judge(spoil(scene), chosen.maps)


def test_a_scene_without_truth_gets_distances_by_itself(known, scene):
    [result] = run("window", scenes=scene)
    assert result.protocol == "truthfree-1"
    assert result.statistics["pseudo_truth_distance"] > 0
    assert "bad_pixels_nonocc" not in result.statistics
    [with_truth] = run("window", scenes=known)
    assert "pseudo_truth_distance" not in with_truth.statistics
