"""Names of scenes, data roots, and what the user reads when there is no such scene."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.datasets import (
    data_roots,
    dataset,
    load_scene,
    load_scenes,
    registry,
    scene_names,
)
from stereo_framework.io import write_image

SYNTHETIC = (
    "synthetic/planes",
    "synthetic/slanted",
    "synthetic/occlusions",
    "synthetic/stripes",
    "synthetic/slits",
    "synthetic/large",
)


@pytest.fixture
def nothing(tmp_path, monkeypatch):
    """No data anywhere, and an empty current folder."""
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def folders(root, *names):
    for name in names:
        (root / name).mkdir(parents=True)
    return root


def test_roots_in_order(nothing, monkeypatch):
    cache = nothing / "cache" / "stereo_framework"
    assert data_roots() == (cache,)
    monkeypatch.setenv("STEREO_DATA", "/environment")
    assert data_roots() == (Path("/environment"), cache)
    assert data_roots("given") == (Path.cwd() / "given", Path("/environment"), cache)
    assert data_roots("/environment") == (Path("/environment"), cache)
    assert data_roots("~/x")[0] == Path.home() / "x"


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "HOME/.cache"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg"),
        ("darwin", {}, "HOME/Library/Caches"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local"),
        ("win32", {}, "HOME/AppData/Local"),
    ],
)
def test_user_cache_of_each_system(monkeypatch, platform, environment, expected):
    for name in ("STEREO_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert data_roots() == (Path(expected.replace("HOME", str(Path.home()))) / "stereo_framework",)


def test_only_what_exists_is_listed(nothing):
    assert scene_names() == SYNTHETIC
    root = folders(
        nothing / "data",
        "middlebury2001/venus",
        "middlebury2003/cones",
        "middlebury2003/other",
        "middlebury-v2/masks/venus",
    )
    assert scene_names(root) == (
        *SYNTHETIC,
        "middlebury-v2/venus",
        "middlebury2001/venus",
        "middlebury2003/cones",
    )


def test_of_several_roots_the_first_wins(nothing, monkeypatch):
    for grey, root in ((50, "a"), (90, "b")):
        folders(nothing / root, "middlebury2001/map")
        write_image(nothing / root / "middlebury2001/map/im0.pgm", np.full((2, 2), grey, np.uint8))
    folders(nothing / "b", "middlebury2001/venus")
    monkeypatch.setenv("STEREO_DATA", str(nothing / "a"))
    assert scene_names(nothing / "b") == (*SYNTHETIC, "middlebury2001/map", "middlebury2001/venus")
    assert load_scene("map").reference[0, 0] == 50
    assert load_scene("map", data=nothing / "b").reference[0, 0] == 90


def test_short_names(nothing):
    root = folders(
        nothing / "data", "middlebury2001/tsukuba", "middlebury2001/venus", "middlebury2003/teddy"
    )
    folders(root, *(f"middlebury-v2/masks/{n}" for n in ("tsukuba", "venus", "teddy")))
    full = {
        "tsukuba": "middlebury2001/tsukuba",
        "venus": "middlebury2001/venus",
        "teddy": "middlebury2003/teddy",
    }
    full |= {"middlebury-v2/teddy": "middlebury-v2/teddy", "planes": "synthetic/planes"}
    assert {name: load_scene(name, data=root).name for name in full} == full


def test_ambiguous_short_names(nothing):
    dataset("other", names=lambda folder: ("venus", "deep/planes"))(lambda folder, name: None)
    root = folders(nothing / "data", "middlebury2001/venus", "other")
    with pytest.raises(
        DataError, match="scene 'venus' is ambiguous; say which: middlebury2001/venus, other/venus$"
    ):
        load_scene("venus", data=root)
    with pytest.raises(
        DataError,
        match="scene 'planes' is ambiguous; say which: synthetic/planes, other/deep/planes$",
    ):
        load_scene("planes", data=root)


def test_unknown_scene(nothing):
    root = folders(nothing / "data", "middlebury2001/venus", "middlebury2003/teddy")
    with pytest.raises(DataError) as error:
        load_scene("tedy", data=root)
    cache = nothing / "cache" / "stereo_framework"
    assert str(error.value) == (
        f"unknown scene 'tedy'; did you mean 'teddy' or 'slanted'?; data are looked for in {root}, "
        f"{cache} (no such folder); --data and STEREO_DATA name another folder; without data: {', '.join(SYNTHETIC)}"
    )
    with pytest.raises(
        DataError, match="unknown scene 'middlebury2001/Venus'; did you mean 'middlebury2001/venus'"
    ):
        load_scene("middlebury2001/Venus", data=root)
    with pytest.raises(DataError, match="unknown scene 'Venus'; did you mean 'venus'"):
        load_scene("Venus", data=root)


def test_without_any_data(nothing):
    with pytest.raises(DataError) as error:
        load_scene("middlebury2001/tsukuba", data="/nowhere")
    told = (
        "unknown scene 'middlebury2001/tsukuba'; data are looked for in /nowhere (no such folder), "
    )
    assert str(error.value).startswith(told)
    assert load_scene("synthetic/planes", data="/nowhere").name == "synthetic/planes"


def test_names_and_folders(nothing):
    with pytest.raises(DataError, match="the name of the scene is empty"):
        load_scene("")
    folders(nothing / "here", "mine", "planes")
    with pytest.raises(DataError, match="scene 'mine': this folder holds no scene.yaml"):
        load_scene("mine")
    for folder in ("mine", "planes"):
        for file in ("a.png", "b.png"):
            write_image(Path(folder, file), np.zeros((2, 3), np.uint8))
        Path(folder, "scene.yaml").write_text("frames: [a.png, b.png]")
    assert (
        load_scene("mine").name
        == load_scene(Path("mine")).name
        == load_scene("mine/scene.yaml").name
        == "mine"
    )
    # a name wins over a folder; a path is always a folder
    assert load_scene("planes").reference.shape == (240, 320, 3)
    assert (
        load_scene("./planes").reference.shape
        == load_scene(Path("planes")).reference.shape
        == (2, 3)
    )
    shutil.move("mine/scene.yaml", "mine/low.yml")
    assert load_scene("mine/low.yml").name == "mine/low"


def test_files_are_loaded_and_scenes_taken_without_a_look_at_the_data(nothing, monkeypatch):
    """A root of data that cannot be read stops nobody who needs none."""
    load_scene("synthetic/planes")
    write_image("left.png", np.zeros((2, 3), np.uint8))
    Path("scene.yaml").write_text("frames: [left.png, left.png]")

    def refused(data):
        raise DataError("nobody may look here")

    monkeypatch.setattr(registry, "_listed", refused)
    mine = load_scene("scene.yaml")
    assert load_scene(Path()).reference.shape == mine.reference.shape == (2, 3)
    assert load_scenes([mine]) == [mine]
    with pytest.raises(DataError, match="nobody may look here"):
        load_scene("teddy")


def test_many_scenes_are_looked_for_once(nothing, monkeypatch):
    looked, usual = [], registry._listed
    monkeypatch.setattr(registry, "_listed", lambda data: looked.append(data) or usual(data))
    mine = load_scene("synthetic/planes")
    looked.clear()
    found = load_scenes(["synthetic/slits", mine, "synthetic/*", "synthetic/slits"])
    # Each once, in the order of the names; a pattern does not mean the large one. A scene is another one than that of its name.
    assert [scene.name for scene in found] == [
        "synthetic/slits",
        "synthetic/planes",
        *SYNTHETIC[:4],
    ]
    assert found[1] is mine
    assert len(looked) == 1
