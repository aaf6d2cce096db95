"""Fetching single files, from a server on this machine that cuts, lies and fails."""

import errno
import os
import shutil

import pytest
from deadline import deadline
from file_server import CONTENT, files, sha

from stereo_framework.core.errors import DataError, MissingExtraError
from stereo_framework.datasets import download
from stereo_framework.datasets.download import RemoteFile
from stereo_framework.kernels.progress import reporting_iterations_to

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""pooch leaves connections that failed to the garbage collector."""

# what arrives


@pytest.mark.parametrize(
    ("options", "known"),
    [
        ({"sha256": sha(CONTENT)}, True),
        ({"copy_sha256": sha(CONTENT)}, True),
        ({"copy_sha256": sha(b"x")}, False),
        ({}, False),
    ],
)
def test_a_file_is_fetched_and_checked(root, server, one, options, known):
    one(**options)
    [fetched] = download.fetch("set")
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT
    assert files(root) == {"set/scene/im0.png"}
    assert (fetched.name, fetched.sha256, fetched.bytes) == ("im0.png", sha(CONTENT), len(CONTENT))
    assert (fetched.known, fetched.already_there) == (known, False)
    # What is there is not fetched again.
    [again] = download.fetch("set/scene")
    assert (again.already_there, again.known, again.bytes) == (True, known, len(CONTENT))
    assert len(server.requests) == 1
    if "sha256" in options:
        (root / "set/scene/im0.png").write_bytes(CONTENT[:-1])
        [again] = download.fetch("scene")
        assert not again.already_there
        assert (root / "set/scene/im0.png").read_bytes() == CONTENT


def test_a_cut_connection_is_tried_again(root, server, one):
    one(sha256=sha(CONTENT))
    server.cuts = 2
    download.fetch("set")
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT
    server.cuts = 3
    (root / "set/scene/im0.png").unlink()
    with pytest.raises(
        DataError, match=r"im0\.png: no connection, or it broke off \(\w+\); try again$"
    ):
        download.fetch("set")
    assert files(root) == set()


def test_a_file_is_a_loop_of_megabytes(root, server, one):
    """Which is all that the bar, and the lines where there is no terminal, are told."""
    one()
    server.files["/im0.png"] = bytes(3_000_000)
    heard = []
    with reporting_iterations_to(lambda thread, *of: heard.append(of)):
        download.fetch("set")
    assert list(dict.fromkeys(heard)) == [(done, 3, "im0.png, MB") for done in range(4)]


# refusals


def test_wrong_bytes(root, server, one):
    one(sha256=sha(CONTENT))
    server.files["/im0.png"] = CONTENT[:-1] + b"x"
    with pytest.raises(
        DataError,
        match=f"im0.png: the file that arrived has another checksum than {sha(CONTENT)}; it may have been damaged on its way.*; nothing was kept$",
    ):
        download.fetch("set")
    assert files(root) == set()
    server.files["/im0.png"] = CONTENT
    download.fetch("set")


def test_refused_by_the_server(root, server, one):
    one()
    server.status = 404
    with pytest.raises(DataError) as error:
        download.fetch("set")
    assert str(error.value) == (
        f"refused by the server: 404 Client Error: Not Found for url: {server.url}/im0.png; the publisher's page is http://page.example/"
    )


def test_what_cannot_be_written(root, server, one, monkeypatch):
    one()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "im0.png")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.move", full)
        with pytest.raises(
            DataError, match=f"cannot be read or written: {os.strerror(errno.ENOSPC)}$"
        ):
            download.fetch("set")
    shutil.rmtree(root)
    root.write_text("a file")
    with pytest.raises(DataError, match="cannot be read or written: Not a directory$"):
        download.fetch("set")


def test_registration(root, server, offer):
    offer(register="a.zip, unpacked so that there is set/training")
    with pytest.raises(DataError) as error:
        download.fetch("set")
    assert str(error.value) == (
        "set: its publisher asks for a registration, so nothing is fetched: get a.zip, unpacked so that there is set/training "
        f"in {root}; the publisher's page is http://page.example/"
    )


def test_without_the_extra(root, server, one, offer, monkeypatch):
    one()
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(
        MissingExtraError, match=r"needs pooch: pip install '\.\[data\]' in the folder"
    ):
        download.fetch("set")
    offer(RemoteFile(f"{server.url}/a.7z", "set", "set", archive=True))
    monkeypatch.setitem(__import__("sys").modules, "py7zr", None)
    with pytest.raises(MissingExtraError, match="needs pooch and py7zr: "):
        download.fetch("set")
    assert not server.requests


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("sha256", [None, "0" * 64])
def test_a_pipe_in_the_place_of_a_file_is_refused(root, server, one, sha256):
    one(sha256=sha256)
    place = root / "set/scene/im0.png"
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    with (
        deadline(),
        pytest.raises(
            DataError, match=r"im0\.png: the path is not a regular file but a pipe or device"
        ),
    ):
        download.fetch("set")
    assert not server.requests


def test_a_folder_or_a_dangling_link_in_the_place_of_a_file_is_refused(root, server, one):
    one()
    place = root / "set/scene/im0.png"
    place.mkdir(parents=True)
    with pytest.raises(DataError, match=r"im0\.png: the path is a folder; expected a file"):
        download.fetch("set")
    place.rmdir()
    place.symlink_to(root / "elsewhere")
    with pytest.raises(DataError, match=r"im0\.png: no such file"):
        download.fetch("set")
    assert not (root / "elsewhere").exists()
    assert not server.requests
