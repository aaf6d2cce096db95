"""All pictures of one map of a scene."""

from dataclasses import replace

import numpy as np
import pytest

from stereo_framework import evaluate, load_scene
from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.prediction import EMPTY
from stereo_framework.figures.disparity_figures import write_pictures
from stereo_framework.io.images import read_image


def test_all_pictures_of_a_scene(tmp_path, small_scenes):
    scene = load_scene("synthetic/planes")
    sure = np.where(
        np.arange(scene.truth.shape[1]) < 24, np.float32(-3), np.float32(7)
    ) + np.zeros_like(scene.truth)
    write_pictures(
        tmp_path / "new" / "planes", scene.truth + np.float32(2), scene, confidence={"made": sure}
    )
    names = sorted(p.name for p in (tmp_path / "new").iterdir())
    views = [f"predicted_{place}" for place in ("far", "match", "middle", "near")]
    assert names == [
        f"planes_{what}.png"
        for what in (
            "bad",
            "confidence_made",
            "disparity",
            "error",
            "overview",
            *views,
            "prediction",
        )
    ]
    holes = (read_image(tmp_path / "new" / "planes_predicted_far.png") == EMPTY).all(axis=2)
    assert 0 < holes.mean() < 0.2
    assert set(np.unique(read_image(tmp_path / "new" / "planes_bad.png"))) == {0, 200}
    np.testing.assert_array_equal(read_image(tmp_path / "new" / "planes_error.png"), 160)
    # A quarter of the pixels is less sure than the others: shares of those below, of equal ones half.
    assert np.unique(read_image(tmp_path / "new" / "planes_confidence_made.png")).tolist() == [
        32,
        159,
    ]


@pytest.mark.parametrize(("wrong", "share"), [(1.0, 0.0), (4.0, 0.4)])
def test_bad_pixels_in_the_picture_are_those_that_are_counted(tmp_path, small_scenes, wrong, share):
    """Middlebury's thresholds are pixels of larger images; bad errors may have to exceed a share of the truth too, as KITTI's."""
    scene = replace(load_scene("synthetic/planes"), reduction=4)
    disparity = scene.truth + np.float32(wrong) * (np.arange(scene.truth.shape[1]) < 60)
    protocol = replace(resolve("middlebury-v3"), masks="computed", relative_threshold=share)
    write_pictures(tmp_path / "p", disparity, scene, protocol)
    bad = read_image(tmp_path / "p_bad.png") < 255
    assert 100 * bad.mean() == pytest.approx(evaluate(disparity, scene, protocol)["bad_pixels_all"])
