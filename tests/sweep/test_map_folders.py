"""Which file of a folder is the disparity map of which scene."""

import dataclasses

import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.sweep import map_folders
from stereo_framework.sweep.map_folders import FolderMaps, find_maps

DATA_SET_PROTOCOLS = {"first": "kitti2015", "second": "eth3d", "synthetic": "taxonomy2002"}
SCENE_NAMES = ("first/part/a", "first/part/b", "first/rest/c", "second/a", "synthetic/planes")


class DummyScene:
    """A scene of which only the protocol exists."""

    def __init__(self, name):
        self.protocol = DATA_SET_PROTOCOLS[name.partition("/")[0]]


@pytest.fixture
def loaded_scenes(monkeypatch):
    """Replace the data sets by a list of names; return the names of loaded scenes."""
    names = []

    def load_dummy_scene(name, data):
        names.append(name)
        return DummyScene(name)

    def find_dummy_scenes(name, data):
        matches = tuple(scene for scene in SCENE_NAMES if scene.startswith(f"{name}/"))
        return matches or (name,)

    monkeypatch.setattr(map_folders, "scene_names", lambda data: SCENE_NAMES)
    monkeypatch.setattr(map_folders, "load_scene", load_dummy_scene)
    monkeypatch.setattr(map_folders, "find_scenes", find_dummy_scenes)
    return names


@pytest.fixture
def write_files(tmp_path):
    """Return a function that writes empty files and returns their folder."""

    def write(*paths):
        for path in paths:
            file = tmp_path / "maps" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        return tmp_path / "maps"

    return write


@pytest.mark.usefixtures("loaded_scenes")
def test_maps_have_the_order_of_the_scenes_and_not_of_the_files(write_files):
    folder = write_files("1/b.pfm", "2/first/a.pfm", "other.pfm", "readme.txt")
    result = find_maps(folder)
    assert dict(result.maps) == {
        "first/part/a": folder / "2/first/a.pfm",
        "first/part/b": folder / "1/b.pfm",
    }
    assert list(result.maps) == ["first/part/a", "first/part/b"]
    assert result.unassigned_files == (folder / "other.pfm",)


@pytest.mark.usefixtures("loaded_scenes")
def test_a_scene_is_missing_only_if_the_folder_of_its_data_set_has_a_map(write_files):
    assert find_maps(write_files("b.pfm")).missing_scenes == ("first/part/a",)


def test_without_a_protocol_no_scene_is_loaded(write_files, loaded_scenes):
    find_maps(write_files("b.pfm"))
    assert loaded_scenes == []


@pytest.mark.parametrize("protocol", ["kitti2015", {"base": "kitti2015", "threshold": 2}])
def test_a_protocol_restricts_the_data_sets(write_files, loaded_scenes, protocol):
    folder = write_files("a.pfm")
    result = find_maps(folder, protocol=protocol)
    assert list(result.maps) == ["first/part/a"]
    assert result.missing_scenes == ("first/part/b",)
    # One scene of each data set is loaded.
    assert [name.partition("/")[0] for name in loaded_scenes] == ["first", "second"]


def test_named_scenes_count_under_each_protocol(write_files, loaded_scenes):
    folder = write_files("a.pfm")
    result = find_maps(folder, scenes=["second"], protocol="kitti2015")
    assert list(result.maps) == ["second/a"]
    assert loaded_scenes == []


@pytest.mark.usefixtures("loaded_scenes")
def test_the_end_of_a_scene_name_is_enough(write_files):
    result = find_maps(write_files("a.pfm"), scenes=["part/a"])
    assert list(result.maps) == ["first/part/a"]


@pytest.mark.usefixtures("loaded_scenes")
def test_synthetic_scenes_are_considered_only_if_they_are_named(write_files):
    folder = write_files("planes.pfm")
    message = r"no disparity map of a known scene \(disparity maps: 1, known scenes: 4\); name"
    with pytest.raises(DataError, match=message):
        find_maps(folder)
    assert list(find_maps(folder, scenes=["synthetic/planes"]).maps) == ["synthetic/planes"]


@pytest.mark.usefixtures("loaded_scenes")
@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["a.pfm"], "fits first/part/a and second/other/a equally well; choose the data set"),
        (["b.pfm", "b.png"], "there are two maps for first/part/b: b.pfm and b.png; remove one"),
    ],
)
def test_a_file_has_one_scene_and_a_scene_has_one_file(write_files, monkeypatch, paths, message):
    names = ("first/part/b", "first/part/a", "second/other/a")
    monkeypatch.setattr(map_folders, "scene_names", lambda data: names)
    with pytest.raises(DataError, match=message):
        find_maps(write_files(*paths))


@pytest.mark.usefixtures("loaded_scenes")
def test_unknown_scenes_and_missing_folders_are_refused(write_files, tmp_path):
    with pytest.raises(DataError, match="^there is no scene or data set x or y; '"):
        find_maps(write_files("a.pfm"), scenes=["x", "y"])
    with pytest.raises(DataError, match="none: there is no such folder$"):
        find_maps(tmp_path / "none")


def test_the_maps_of_a_folder_cannot_be_replaced():
    folder_maps = FolderMaps({}, (), ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        folder_maps.maps = {}
