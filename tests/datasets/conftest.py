"""Fixtures of the tests that fetch data sets."""

import pytest
from file_server import CONTENT, serving

from stereo_framework.datasets import download
from stereo_framework.datasets.download import PublicSet, RemoteFile


@pytest.fixture
def server():
    with serving() as server:
        server.files["/im0.png"] = CONTENT
        yield server


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The first data root, which does not exist yet."""
    monkeypatch.setenv("STEREO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return tmp_path / "data"


@pytest.fixture
def offer(server, monkeypatch):
    """A catalogue of one set, ``set``, with the given files."""

    def offer(*files, register=None):
        one = PublicSet(
            "set", "a set", "Nobody 2000", "http://page.example/", None, files, register
        )
        monkeypatch.setattr(download, "public_sets", lambda: (one,))

    return offer


@pytest.fixture
def one(server, offer):
    """A catalogue of one file."""

    def one(**options):
        offer(RemoteFile(f"{server.url}/im0.png", "set/scene/im0.png", "set/scene", **options))

    return one
