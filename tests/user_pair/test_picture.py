"""What the picture of a match shows, and that it does without matplotlib."""

import sys

import cv2
import numpy as np
import pytest

from stereo_framework import load_scene, match
from stereo_framework.user_pair.match_result import picture

LOWEST, HIGHEST = (68, 1, 84), (253, 231, 37)
"""The ends of viridis, as van der Walt & Smith published it."""


def test_image_and_map_stand_side_by_side():
    image = np.random.default_rng(0).integers(0, 256, (10, 30, 3)).astype(np.uint8)
    disparity = np.tile(np.linspace(3, 7, 30, dtype=np.float32), (10, 1))
    disparity[0, :3] = -50, 90, np.nan
    found = picture(image, disparity, (3, 7))[15:300:30, 15::30]
    np.testing.assert_array_equal(found[:, :30], image)
    mapped = found[:, 30:]
    assert [tuple(mapped[0, i]) for i in (0, 1, 2)] == [LOWEST, HIGHEST, (178, 178, 178)]
    assert (tuple(mapped[5, 0]), tuple(mapped[5, -1])) == (LOWEST, HIGHEST)
    # Nearer is brighter.
    assert (np.diff(cv2.cvtColor(mapped[5:6], cv2.COLOR_RGB2LAB)[0, :, 0].astype(int)) >= 0).all()


@pytest.mark.parametrize("shape", [(5, 4), (3, 2000, 3), (1, 1)])
def test_all_sizes_are_drawn(shape):
    image = np.full(shape, 300 if len(shape) == 3 else 7, np.float32)
    assert picture(image, np.full(shape[:2], np.nan, np.float32), (0, 1)).shape[1] == 1800


def test_a_match_is_saved_without_matplotlib(tmp_path, monkeypatch):
    # What stands for None here cannot be imported.
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    scene = load_scene("synthetic/planes")
    assert "picture.png" in match(scene.reference, scene.match, (0, 30), method="sgbm").save(
        tmp_path
    )
