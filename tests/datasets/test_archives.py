"""Fetching archives: unpacked once, nothing outside the root, damaged ones fetched again."""

import io
import zipfile

import py7zr
import pytest
from file_server import files, sha

from stereo_framework.core.errors import DataError
from stereo_framework.datasets import download
from stereo_framework.datasets.download import RemoteFile


def zipped(**contents):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name.replace("__", "/"), content)
    return buffer.getvalue()


@pytest.fixture
def archive(server, offer):
    """Offer the bytes of an archive as the public set ``set``."""

    def offered(data, name="a.zip", target="set", **options):
        server.files[f"/{name}"] = data
        offer(RemoteFile(f"{server.url}/{name}", target, "set", archive=True, **options))

    return offered


def test_zip(root, server, archive):
    data = zipped(Top__README="r", Top__train__im0="0", Top__train__im1="1", Other__x="x")
    archive(data, strip="Top")
    [fetched] = download.fetch("set")
    assert files(root) == {"set/README", "set/train/im0", "set/train/im1"}
    assert (fetched.bytes, fetched.sha256, fetched.known, fetched.already_there) == (len(data), sha(data), False, False)
    assert download.fetch("set")[0].already_there
    assert len(server.requests) == 1
    # One file is gone, and the archive is fetched again.
    (root / "set/train/im1").unlink()
    assert not download.fetch("set")[0].already_there
    assert (root / "set/train/im1").read_text() == "1"


def test_seven_zip(root, archive):
    buffer = io.BytesIO()
    with py7zr.SevenZipFile(buffer, "w") as seven:
        seven.writestr("image", "scene_1l/im0.png")
    archive(buffer.getvalue(), "a.7z", "set/training", sha256=sha(buffer.getvalue()))
    [fetched] = download.fetch("set")
    assert (root / "set/training/scene_1l/im0.png").read_text() == "image"
    assert (files(root), fetched.known) == ({"set/training/scene_1l/im0.png"}, True)


def test_archives_cannot_leave_the_root(root, archive):
    archive(zipped(**{"..__..__..__..__evil": "e", "__tmp__evil": "e", "good": "g"}))
    download.fetch("set")
    assert files(root) == {"set/good"}
    assert {p.name for p in root.parent.iterdir()} == {"data"}


@pytest.mark.parametrize("name", ["a.zip", "a.7z"])
def test_damaged_archives(root, archive, name):
    archive(b"<html>not an archive</html>", name)
    with pytest.raises(
        DataError, match=rf"{name}: the archive is damaged \(.*\) and was deleted; the same command fetches it again$"
    ):
        download.fetch("set")
    assert files(root) == set()


def test_an_archive_with_something_else(root, archive):
    archive(zipped(Other__im0="0"), strip="Top")
    with pytest.raises(
        DataError, match=r"a\.zip: the archive holds nothing in Top; the publisher's page is http://page\.example/$"
    ):
        download.fetch("set")
    assert not files(root)


def test_an_archive_whose_unpacking_was_interrupted_is_not_fetched_again(root, server, archive, monkeypatch):
    archive(zipped(im0="0"))
    with monkeypatch.context() as patch:
        patch.setattr(download, "_unpack", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            download.fetch("set")
    download.fetch("set")
    assert len(server.requests) == 1
    assert files(root) == {"set/im0"}
