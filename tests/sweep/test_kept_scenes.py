"""Copies of scenes that no name brings back."""

from dataclasses import replace

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Frame, Scene, Search
from stereo_framework.sweep.kept_scenes import keep_scene, scene_of


def _pair(kind, seed=0):
    random = np.random.default_rng(seed)
    images = [random.uniform(0, 255, (6, 8)).astype(kind) for _ in range(2)]
    if kind is np.float32:
        images[0][1, 2] = np.nan
    truth = random.uniform(0, 3, (6, 8)).astype(np.float32)
    truth[0, 0] = np.nan
    mask = random.uniform(size=(6, 8)) < 0.8
    scene = Scene.from_images(*images, (0, 3), name="my pair/a", truth=truth, right_mask=mask)
    return replace(scene, masks={"nonocc": lambda: mask}, border=1)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_a_copy_is_the_same_scene(kind, tmp_path):
    scene = _pair(kind)
    keep_scene(tmp_path, scene)
    copy = scene_of(tmp_path, "my pair/a")
    for index in range(2):
        np.testing.assert_array_equal(copy.image(index), scene.image(index), strict=True)
        np.testing.assert_array_equal(copy.valid(index), scene.valid(index))
    np.testing.assert_array_equal(copy.truth, scene.truth, strict=True)
    np.testing.assert_array_equal(copy.mask("nonocc"), scene.mask("nonocc"), strict=True)
    assert (copy.name, copy.search, copy.border, copy.match_truth) == (scene.name, scene.search, 1, None)
    for folder, name in ((tmp_path, "my pair"), (tmp_path / "nowhere", "my pair/a")):
        with pytest.raises(DataError, match="unknown scene"):
            scene_of(folder, name)


def test_scenes_of_one_name_are_told_apart_or_not_at_all(tmp_path):
    for seed in (0, 1, 1):
        keep_scene(tmp_path, _pair(np.uint8, seed))
    assert len(list((tmp_path / "scenes").iterdir())) == 2
    with pytest.raises(DataError, match="unknown scene"):
        scene_of(tmp_path, "my pair/a")


def test_what_a_name_brings_back_is_not_copied_unless_it_was_changed(tmp_path, monkeypatch):
    def forbidden():
        raise AssertionError("known scenes need not be read again")

    known = Scene("set/known", tuple(Frame(name, forbidden, i) for i, name in enumerate("lr")), search=Search(0, 4))
    monkeypatch.setattr("stereo_framework.sweep.kept_scenes.scene_names", lambda data: ("set/known",))
    monkeypatch.setattr("stereo_framework.sweep.kept_scenes.load_scene", lambda name, data=None: replace(known))
    keep_scene(tmp_path, known)
    assert not (tmp_path / "scenes").exists()
    keep_scene(tmp_path, replace(_pair(np.uint8), name="set/known"))
    monkeypatch.undo()
    assert scene_of(tmp_path, "set/known").border == 1


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "scenes").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        keep_scene(tmp_path, _pair(np.uint8))
