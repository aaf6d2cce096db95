"""Fetching archives: unpacked once, nothing outside the root, damaged ones fetched again."""

import io
import zipfile

import py7zr
import pytest
from file_server import files, sha

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.datasets import download
from stereo_framework.datasets.catalogue import RemoteFile


def zipped(**contents):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name.replace("__", "/"), content)
    return buffer.getvalue()


def test_zip(root, server, offer):
    server.files["/a.zip"] = zipped(Top__README="r", Top__train__im0="0", Top__train__im1="1", Other__x="x")
    offer(RemoteFile(f"{server.url}/a.zip", "set", "set", archive=True, strip="Top"))
    [fetched] = download.fetch("set")
    assert files(root) == {"set/README", "set/train/im0", "set/train/im1"}
    assert fetched.files == {"set/README": sha(b"r"), "set/train/im0": sha(b"0"), "set/train/im1": sha(b"1")}
    assert (fetched.bytes, fetched.checked) == (len(server.files["/a.zip"]), "unknown")
    assert download.fetch("set")[0].already_there
    assert len(server.requests) == 1
    # one damaged file, and the archive is fetched again
    (root / "set/train/im1").write_text("damaged")
    assert not download.fetch("set")[0].already_there
    assert (root / "set/train/im1").read_text() == "1"


def test_seven_zip(root, server, offer):
    buffer = io.BytesIO()
    with py7zr.SevenZipFile(buffer, "w") as archive:
        archive.writestr("image", "scene_1l/im0.png")
    server.files["/a.7z"] = buffer.getvalue()
    offer(RemoteFile(f"{server.url}/a.7z", "set/training", "set", archive=True, sha256=sha(buffer.getvalue())))
    [fetched] = download.fetch("set")
    assert (root / "set/training/scene_1l/im0.png").read_text() == "image"
    assert (files(root), fetched.checked) == ({"set/training/scene_1l/im0.png"}, "publisher")


def test_archives_cannot_leave_the_root(root, server, offer):
    server.files["/a.zip"] = zipped(**{"..__..__..__..__evil": "e", "__tmp__evil": "e", "good": "g"})
    offer(RemoteFile(f"{server.url}/a.zip", "set", "set", archive=True))
    download.fetch("set")
    assert files(root) == {"set/good", "set/evil", "set/tmp/evil"}
    assert {p.name for p in root.parent.iterdir()} == {"data"}


@pytest.mark.parametrize("ending", ["zip", "7z"])
def test_an_archive_that_inflates_is_not_unpacked(root, server, offer, monkeypatch, ending):
    monkeypatch.setattr(limits, "SMALL", 1000)
    buffer = io.BytesIO()
    if ending == "7z":
        with py7zr.SevenZipFile(buffer, "w") as archive:
            archive.writestr(bytes(2**20), "im0.png")
    server.files[f"/a.{ending}"] = buffer.getvalue() or zipped(im0=bytes(2**20))
    offer(RemoteFile(f"{server.url}/a.{ending}", "set", "set", archive=True))
    with pytest.raises(
        DataError, match=rf"a.{ending}: the archive would unpack to 1048576 bytes, at most \d+ are unpacked; it was deleted$"
    ):
        download.fetch("set")
    assert files(root) == set()


def test_an_archive_writes_no_records(root, server, offer):
    server.files["/a.zip"] = zipped(**{".fetched__other.json": "{}", "im0": "0"})
    offer(RemoteFile(f"{server.url}/a.zip", ".", "set", archive=True))
    download.fetch("set")
    assert files(root) == {"im0"}
    assert not (root / ".fetched/other.json").exists()


@pytest.mark.parametrize("name", ["a.zip", "a.7z"])
def test_damaged_archives(root, server, offer, name):
    server.files[f"/{name}"] = b"<html>not an archive</html>"
    offer(RemoteFile(f"{server.url}/{name}", "set", "set", archive=True))
    with pytest.raises(
        DataError, match=rf"{name}: the archive is damaged \(.*\) and was deleted; the same command fetches it again$"
    ):
        download.fetch("set")
    assert files(root) == set()


def test_an_archive_with_something_else(root, server, offer):
    server.files["/a.zip"] = zipped(Other__im0="0")
    offer(RemoteFile(f"{server.url}/a.zip", "set", "set", archive=True, strip="Top"))
    with pytest.raises(
        DataError, match=r"a\.zip: the archive holds nothing in Top; the publisher's page is http://page\.example/$"
    ):
        download.fetch("set")
    assert not files(root)


def test_an_archive_whose_unpacking_was_interrupted_is_not_fetched_again(root, server, offer, monkeypatch):
    server.files["/a.zip"] = zipped(im0="0")
    offer(RemoteFile(f"{server.url}/a.zip", "set", "set", archive=True))
    with monkeypatch.context() as patch:
        patch.setattr(download, "_extract", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            download.fetch("set")
    download.fetch("set")
    assert len(server.requests) == 1
    assert files(root) == {"set/im0"}
