"""The verb ``scenes``: listing, describing and fetching."""

import hashlib
import re

import pytest
from cli_parts import invoke
from file_server import serving

from stereo_framework.core.progress import Progress
from stereo_framework.datasets import catalogue
from stereo_framework.datasets.catalogue import PublicSet, RemoteFile

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""pooch leaves connections that failed to the garbage collector."""

CONTENT = b"P5 2 1 255\n\x07\x08"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("STEREO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return tmp_path / "data"


@pytest.fixture
def server(monkeypatch):
    """A server with the map scene, and a catalogue that points to it."""
    with serving() as server:
        names = ("im0.pgm", "im1.pgm")
        for name in names:
            server.files[f"/{name}"] = CONTENT
        files = tuple(RemoteFile(f"{server.url}/{n}", f"middlebury2001/map/{n}", "middlebury2001/map") for n in names)
        one = PublicSet("middlebury2001", "old scenes", "Nobody 2000", "http://page.example/", 0.1, files, None)
        closed = PublicSet("closed", "a closed set", "Nobody 2001", "http://closed.example/", None, (), "all.zip, unpacked")
        monkeypatch.setattr(catalogue, "public_sets", lambda: (one, closed))
        monkeypatch.setattr("stereo_framework.datasets.public_sets", lambda: (one, closed))
        yield server


def scenes(*arguments):
    return invoke("scenes", *map(str, arguments))


def one_line(result):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    return line


def test_what_can_be_fetched(root):
    text = scenes("--fetch").stdout
    lines = {line.split()[0]: line for line in text.splitlines() if line.split()}
    for name in ("middlebury2001", "middlebury2006/FullSize", "middlebury-v3/trainingQ", "eth3d", "kitti2015"):
        assert name in lines
    assert lines["kitti2015"].rstrip().endswith("after registration")
    assert re.search(r"11\.6$", lines["middlebury2001"].rstrip())


def test_fetch(root, server):
    result = scenes("--fetch", "middlebury2001")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        f"middlebury2001: 2 files fetched (0.0 MB), 0 already there, in {root}",
        *(
            f"  {n}: its checksum is not known beforehand: sha256 {hashlib.sha256(CONTENT).hexdigest()}"
            for n in ("im0.pgm", "im1.pgm")
        ),
        "  please cite Nobody 2000; see http://page.example/",
    ]
    assert result.stderr == ""
    assert "middlebury2001/map" in scenes().stdout.split()
    again = scenes("--fetch", "middlebury2001/map")
    assert again.stdout.splitlines()[0] == f"middlebury2001/map: 0 files fetched (0.0 MB), 2 already there, in {root}"
    assert len(server.requests) == 2


def test_fetch_into_a_given_folder(root, server, tmp_path):
    scenes("--fetch", "map", "--data", tmp_path / "given")
    assert (tmp_path / "given/middlebury2001/map/im1.pgm").read_bytes() == CONTENT
    assert not root.exists()


def test_a_file_is_a_loop_of_megabytes(root, server, monkeypatch):
    """Which is all that the bar, and the lines where there is no terminal, are told."""
    heard = []
    monkeypatch.setattr(Progress, "_loop", lambda self, thread, *of: heard.append(of))
    server.files["/im0.pgm"] = bytes(3_000_000)
    assert "2 files fetched (3.0 MB)" in scenes("--fetch", "map").stdout
    assert list(dict.fromkeys(heard)) == [*((n, 3, "im0.pgm, MB") for n in range(4)), (0, 0, "im1.pgm, MB")]


def test_faults(root, server):
    assert "closed: its publisher asks for a registration" in one_line(scenes("--fetch", "closed"))
    assert one_line(scenes("--fetch", "middelbury2001")).endswith("did you mean 'middlebury2001'?")
    server.status = 404
    assert "refused by the server: 404 Client Error: Not Found for url:" in one_line(scenes("--fetch", "map"))
    # all names are checked first
    server.requests.clear()
    one_line(scenes("--fetch", "map", "nothing"))
    assert not server.requests


def test_describing_a_scene():
    text = scenes("--describe", "synthetic/planes").stdout
    assert "320x240 colour" in text
    assert "weight       1 in its benchmark's averages" in text
