"""The list of public sets."""

from pathlib import Path

import pytest
from file_server import sha

from stereo_framework.core.errors import DataError
from stereo_framework.datasets import download, scene_names


def test_names():
    found, of_set = download.find("middlebury2005")
    assert (found.name, len(of_set)) == ("middlebury2005", 6)
    _, [art] = download.find("middlebury2005/HalfSize/Art")
    assert (
        art.url
        == "https://vision.middlebury.edu/stereo/data/scenes2005/HalfSize/zip-2views/Art-2views.zip"
    )
    _, tsukuba = download.find("middlebury2001/tsukuba")
    assert [f.name for f in tsukuba] == [
        *(f"scene1.row3.col{i}.ppm" for i in range(1, 6)),
        "truedisp.row3.col3.pgm",
    ]
    assert download.find("sawtooth")[0].name == "middlebury2001"
    # the first set that has it: the smallest size, images rather than masks
    assert [download.find(name)[0].name for name in ("Aloe", "teddy")] == [
        "middlebury2006",
        "middlebury2003",
    ]
    with pytest.raises(
        DataError,
        match="nothing to fetch is called 'middlebury2004'; allowed data sets: eth3d, .*; did you mean 'middlebury200",
    ):
        download.find("middlebury2004")


def test_the_list_is_consistent():
    every = download.public_sets()
    files = [file for s in every for file in s.files]
    assert len({s.name for s in every}) == len(every)
    assert len({(f.url, f.target) for f in files}) == len(files)
    for s in every:
        assert bool(s.files) != bool(s.register)
        assert s.page.startswith("https://")
        assert s.cite
    for file in files:
        assert file.url.startswith("https://")
        assert "{" not in file.url + file.target
        assert not Path(file.target).is_absolute()
        assert ".." not in Path(file.target).parts
        for checksum in (file.sha256, file.copy_sha256):
            assert checksum is None or (len(checksum) == 64 and int(checksum, 16))
        assert file.archive or file.sha256 or file.copy_sha256


def test_single_files_make_scenes(root):
    """Where files go is where the readers look for them."""
    for s in download.public_sets():
        for file in s.files:
            # what others found in the archives
            inside = {
                "-2views.zip": ("view1.png", "view5.png"),
                ".7z": ("scene_1l/im0.png",),
                ".zip": ("trainingQ/Pipes/im0.png",),
            }
            names = (
                next(names for ending, names in inside.items() if file.url.endswith(ending))
                if file.archive
                else ("",)
            )
            folder = (
                root
                / file.target
                / (file.scene.rpartition("/")[2] if "-2views" in file.url else "")
            )
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).touch()
    found = set(scene_names())
    scenes = {f.scene for s in download.public_sets() for f in s.files if f.scene != s.name}
    assert scenes - found == set()
    others = {
        "eth3d/two_view_training/scene_1l",
        "eth3d/two_view_test/scene_1l",
        "motorcycle/motorcycle",
    }
    assert found >= others | {"middlebury-v3/trainingQ/Pipes"}


def test_checksums_are_those_of_the_real_files(data):
    present = [
        f
        for s in download.public_sets()
        for f in s.files
        if not f.archive and (data / f.target).is_file()
    ]
    assert len(present) > 40
    for file in present:
        assert sha((data / file.target).read_bytes()) == (file.sha256 or file.copy_sha256)
