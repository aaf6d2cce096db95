"""Maps and folders of maps from anywhere."""

import numpy as np
import pytest

from stereo_framework import run
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.datasets import load_scene
from stereo_framework.io import write_disparity, write_image
from stereo_framework.sweep.external_maps import measure_map
from stereo_framework.sweep.map_folders import find_maps

TRUTH = np.full((6, 8), 3, np.float32)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A data root with two tiny benchmark scenes of Middlebury 2003 and their v2 masks."""
    monkeypatch.delenv("STEREO_DATA", raising=False)
    for name in ("teddy", "cones"):
        folder = tmp_path / "root" / "middlebury2003" / name
        folder.mkdir(parents=True)
        masks = tmp_path / "root" / "middlebury-v2" / "masks" / name
        masks.mkdir(parents=True)
        for view in (2, 6):
            write_image(folder / f"im{view}.png", np.zeros((6, 8, 3), np.uint8))
            write_disparity(folder / f"disp{view}.png", TRUTH, disparity_scale=4)
        for mask in ("nonocc", "all", "disc"):
            write_image(masks / f"{mask}.png", np.full((6, 8), 255, np.uint8))
    return tmp_path / "root"


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "mine"
    found.mkdir()
    return found


def test_a_submission(root, folder):
    write_disparity(folder / "teddy.png", TRUTH + 2, disparity_scale=4)
    (folder / "notes.txt").write_text("no map")
    found = find_maps(folder, protocol="middlebury-v2", data=root)
    assert found.maps == {"middlebury-v2/teddy": folder / "teddy.png"}
    assert found.missing_scenes == ("middlebury-v2/cones",)
    assert found.unassigned_files == ()
    # The scale is the data set's.
    for changes, bad in ({}, 100), ({"thresholds": [2]}, 0):
        measured = measure_map(
            folder / "teddy.png", "middlebury-v2/teddy", data=root, changes=changes
        )
        assert measured.protocol.startswith("middlebury-v2")
        assert measured.statistics["bad_pixels_all"] == bad


@pytest.mark.parametrize(
    "path",
    ["cones.pfm", "cones_mine.pfm", "cones-v2.pfm", "cones/disp0MINE.pfm", "a/cones/b/c.pfm"],
)
def test_how_files_are_called(root, folder, path):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    write_disparity(folder / path, TRUTH)
    write_disparity(folder / "stones.pfm", TRUTH)
    found = find_maps(folder, scenes=["middlebury2003"], data=root)
    assert found.maps == {"middlebury2003/cones": folder / path}
    assert found.unassigned_files == (folder / "stones.pfm",)


def test_maps_of_synthetic_scenes_are_measured_where_those_are_named(root, folder):
    write_disparity(folder / "planes.pfm", load_scene("synthetic/planes").truth)
    found = find_maps(folder, scenes=["synthetic/planes"], data=root)
    assert dict(found.maps) == {"synthetic/planes": folder / "planes.pfm"}
    with pytest.raises(DataError, match=r"no disparity map of a known scene \(disparity maps: 1,"):
        find_maps(folder, data=root)


@pytest.mark.parametrize(
    ("maps", "place", "asked", "error", "said"),
    [
        (
            "",
            "",
            {"protocol": "middlebury-v2"},
            DataError,
            r"no disparity map of a known scene of middlebury-v2 \(disparity maps: 0, known "
            r"scenes: 2\); name each file",
        ),
        (
            "cones.pfm",
            "",
            {},
            DataError,
            "cones.pfm: the name of the file fits middlebury-v2/cones and middlebury2003/cones "
            "equally well; choose the data set with",
        ),
        (
            "cones.pfm",
            "",
            {"scenes": ["middlebury"]},
            DataError,
            "there is no scene or data set middlebury; 'stereo-framework scenes' lists all scenes",
        ),
        (
            "cones.pfm",
            "",
            {"protocol": "middleburyv2"},
            ParameterError,
            "did you mean 'middlebury-v2'",
        ),
        (
            "cones.pfm cones.png",
            "",
            {"protocol": {"base": "middlebury-v2", "threshold": 2}},
            DataError,
            "two maps for middlebury-v2/cones: cones.pfm and cones.png",
        ),
        ("", "none", {}, DataError, "there is no such folder"),
    ],
)
def test_what_cannot_be_told_is_asked(root, folder, maps, place, asked, error, said):
    for name in maps.split():
        write_disparity(
            folder / name, TRUTH, **({"disparity_scale": 4} if name.endswith("png") else {})
        )
    with pytest.raises(error, match=said):
        find_maps(folder / place, data=root, **asked)


@pytest.mark.parametrize("ending", ["pfm", "npy"])
def test_a_number_may_mean_no_estimate_in_maps_of_pixels(root, tmp_path, ending):
    holes = TRUTH.copy()
    holes[:, :2] = -1
    path = tmp_path / f"holes.{ending}"
    write_disparity(path, holes)
    read = measure_map(path, "middlebury2003/cones", data=root, unknown=-1).disparity
    np.testing.assert_array_equal(read, np.where(holes == -1, np.nan, holes))
    np.testing.assert_array_equal(
        measure_map(path, "middlebury2003/cones", data=root).disparity, holes
    )
    [found] = run(
        {"maps": {"path": str(path), "unknown": -1}}, load_scene("middlebury2003/cones", data=root)
    )
    np.testing.assert_array_equal(found.disparity, read)


def test_grey_zero_is_a_disparity_only_where_it_must_be(root, tmp_path):
    grey = np.full((6, 8), 12, np.uint8)
    grey[0, 0] = 0
    write_image(tmp_path / "grey.png", grey)
    write_disparity(tmp_path / "deep.png", np.where(grey, TRUTH, np.nan))

    def first(name, protocol=None, **options):
        return measure_map(
            tmp_path / name, "middlebury2003/cones", protocol, data=root, **options
        ).disparity[0, 0]

    # The maps of the 2002 paper have no holes; a scene of that paper with 8 bits takes 0 as it is.
    assert first("grey.png", "taxonomy2002") == 0
    assert np.isnan(
        [
            first("grey.png", "taxonomy2002", unknown=0),
            first("grey.png", "eth3d"),
            first("deep.png"),
        ]
    ).all()
