"""All pictures of one map of a scene."""

import numpy as np
import pytest

from stereo_framework import load_scene
from stereo_framework.evaluation.prediction import EMPTY
from stereo_framework.figures.picture_files import write_disagreement, write_pictures
from stereo_framework.io.images import read_image


def test_all_pictures_of_a_scene(tmp_path):
    scene = load_scene("synthetic/planes")
    sure = np.where(np.arange(scene.truth.shape[1]) < 80, np.float32(-3), np.float32(7)) + np.zeros_like(scene.truth)
    write_pictures(tmp_path / "new" / "planes", scene.truth + np.float32(2), scene, confidence={"made": sure})
    names = sorted(p.name for p in (tmp_path / "new").iterdir())
    views = [f"predicted_{place}" for place in ("far", "match", "middle", "near")]
    assert names == [
        f"planes_{what}.png" for what in ("bad", "confidence_made", "disparity", "error", "overview", *views, "prediction")
    ]
    holes = (read_image(tmp_path / "new" / "planes_predicted_far.png") == EMPTY).all(axis=2)
    assert 0 < holes.mean() < 0.2
    assert set(np.unique(read_image(tmp_path / "new" / "planes_bad.png"))) == {0, 200}
    np.testing.assert_array_equal(read_image(tmp_path / "new" / "planes_error.png"), 160)
    # A quarter of the pixels is less sure than the others: shares of those below, of equal ones half.
    assert np.unique(read_image(tmp_path / "new" / "planes_confidence_made.png")).tolist() == [32, 159]


@pytest.mark.parametrize("channels", [(), (3,)])
def test_two_maps_disagree_where_they_differ_by_more_than_a_pixel_or_one_is_empty(tmp_path, channels):
    nan = np.nan
    first, second = np.float32([[4, 4, 4, nan, nan]]), np.float32([[4, 5, 5.5, 4, nan]])
    image = np.full((1, 5, *channels), 90, np.uint8)
    write_disagreement(tmp_path / "apart.png", first, second, image)
    red, grey = [220, 50, 32], [90, 90, 90]
    assert read_image(tmp_path / "apart.png").tolist() == [[grey, grey, red, red, grey]]
