"""The command ``scenes``: scenes to download, messages of a download, a scene described."""

import pytest
from cli_parts import call, invoke, one_line

from stereo_framework.datasets.download import Fetched


def test_what_can_be_fetched():
    lines = {
        line.split()[0]: line.rstrip() for line in call("scenes", "--fetch").stdout.splitlines()
    }
    for name in (
        "middlebury2001",
        "middlebury2006/FullSize",
        "middlebury-v3/trainingQ",
        "eth3d",
        "kitti2015",
    ):
        assert name in lines
    assert lines["kitti2015"].endswith("\tafter registration\tMenze & Geiger 2015")
    assert lines["middlebury2001"].endswith(
        "\t11.6\tScharstein & Szeliski 2002; tsukuba Nakamura et al. 1996"
    )


@pytest.fixture
def asked(monkeypatch):
    """The names that are fetched, of each one new file and one that was there."""
    names = []

    def fetch(name):
        names.append(name)
        new = Fetched("im0.pgm", "", "0123", 3_000_000, known=False)
        return new, Fetched("im1.pgm", "", "4567", 8, known=True, already_there=True)

    monkeypatch.setattr("stereo_framework.datasets.fetch", fetch)
    return names


def test_fetch(asked, tmp_path):
    assert call("scenes", "--fetch", "map", "--data", tmp_path).stdout.splitlines() == [
        f"map: 1 files fetched (3.0 MB), 1 already there, in {tmp_path}",
        "  im0.pgm: its checksum is not known beforehand: sha256 0123",
        "  please cite Scharstein & Szeliski 2002; tsukuba Nakamura et al. 1996; see https://vision.middlebury.edu/stereo/data/scenes2001/",
    ]
    # All names are checked first.
    one_line(invoke("scenes", "--fetch", "map", "middelbury2001"), "did you mean 'middlebury2001'?")
    assert asked == ["map"]


def test_describing_a_scene():
    text = call("scenes", "--describe", "synthetic/planes").stdout
    assert "320x240 colour" in text
    assert "weight       1 in its benchmark's averages" in text
