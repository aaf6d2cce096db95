"""All pictures of one map of a scene."""

import numpy as np

from stereo_framework import load_scene
from stereo_framework.io.images import read_image
from stereo_framework.report.result_pictures import write_pictures


def test_all_pictures_of_a_scene(tmp_path):
    scene = load_scene("synthetic/planes")
    write_pictures(tmp_path / "new" / "planes", scene.truth + np.float32(2), scene)
    names = sorted(p.name for p in (tmp_path / "new").iterdir())
    assert names == [f"planes_{what}.png" for what in ("bad", "disparity", "error", "overview", "prediction")]
    assert set(np.unique(read_image(tmp_path / "new" / "planes_bad.png"))) == {0, 200}
    np.testing.assert_array_equal(read_image(tmp_path / "new" / "planes_error.png"), 160)
