"""Fetching archives: unpacked once, nothing outside the root, damaged ones fetched again."""

import io
import os
import shutil
import stat
import struct
import warnings
import zipfile
import zlib

import py7zr
import pytest
from deadline import deadline
from file_server import files, sha

from stereo_framework.core import limits
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
    assert (fetched.bytes, fetched.sha256, fetched.known, fetched.already_there) == (
        len(data),
        sha(data),
        False,
        False,
    )
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
        DataError,
        match=rf"{name}: the archive may be damaged, or another file \(.*\), and was deleted; the same command fetches it again",
    ):
        download.fetch("set")
    assert files(root) == set()


def test_an_archive_with_something_else(root, archive):
    archive(zipped(Other__im0="0"), strip="Top")
    with pytest.raises(
        DataError,
        match=r"a\.zip: the archive holds nothing in Top; the publisher's page is http://page\.example/$",
    ):
        download.fetch("set")
    assert not files(root)


def test_an_archive_whose_unpacking_was_interrupted_is_not_fetched_again(
    root, server, archive, monkeypatch
):
    archive(zipped(im0="0"))
    with monkeypatch.context() as patch:
        patch.setattr(download, "_unpack", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            download.fetch("set")
    download.fetch("set")
    assert len(server.requests) == 1
    assert files(root) == {"set/im0"}


# --- archives that are larger than they look --------------------------------------------------------------------------


def seven_zipped(contents):
    """Return the bytes of a 7z archive whose header is not compressed."""
    buffer = io.BytesIO()
    with py7zr.SevenZipFile(buffer, "w") as seven:
        seven.set_encoded_header_mode(False)
        for name, content in contents.items():
            seven.writestr(content, name)
    return buffer.getvalue()


def with_declared_size(archive, size, declared_size):
    """Return a 7z archive whose header gives another size of a member."""
    offset, length = struct.unpack_from("<QQ", archive, 12)
    start = 32 + offset
    header = archive[start : start + length]

    def encoded(number):
        # Sizes of 17 to 21 bits take three bytes.
        return bytes([0xC0 | number >> 16, number & 255, number >> 8 & 255])

    assert encoded(size) in header
    header = header.replace(encoded(size), encoded(declared_size))
    first = struct.pack("<QQI", offset, length, zlib.crc32(header))
    return archive[:8] + struct.pack("<I", zlib.crc32(first)) + first + archive[32:start] + header


@pytest.mark.parametrize("name", ["a.zip", "a.7z"])
@pytest.mark.parametrize("members", [1, 3])
def test_an_archive_of_more_than_200_times_its_size_is_refused(root, archive, name, members):
    contents = {f"m{i}": bytes(10_000_000) for i in range(members)}
    data = zipped(**contents) if name == "a.zip" else seven_zipped(contents)
    archive(data, name)
    size = members * 10_000_000
    message = rf"{name}: the archive of {len(data)} bytes would unpack to {size} bytes; at most {200 * len(data)} are unpacked"
    with pytest.raises(DataError, match=message):
        download.fetch("set")
    assert not list(root.rglob("m*"))
    assert not list(root.rglob("a.*"))


@pytest.mark.parametrize("name", ["a.zip", "a.7z"])
def test_an_archive_below_200_times_its_size_is_unpacked(root, archive, name):
    contents = {"zeros": bytes(1_000_000), "noise": os.urandom(10_000)}
    archive(zipped(**contents) if name == "a.zip" else seven_zipped(contents), name)
    download.fetch("set")
    assert files(root) == {"set/zeros", "set/noise"}


def test_an_archive_of_more_than_100_gigabytes_is_refused(root, archive, monkeypatch):
    assert limits.ARCHIVE_CONTENT == 100 * 2**30
    monkeypatch.setattr(limits, "ARCHIVE_CONTENT", 999)
    archive(zipped(im0=os.urandom(1000)))
    with pytest.raises(DataError, match=r"would unpack to 1000 bytes; at most 999 are unpacked"):
        download.fetch("set")
    assert not files(root)


@pytest.mark.parametrize(("limit", "value"), [("ARCHIVE_CONTENT", 1000), ("ARCHIVE_MEMBERS", 1)])
def test_an_archive_exactly_at_a_limit_is_unpacked(root, archive, monkeypatch, limit, value):
    monkeypatch.setattr(limits, limit, value)
    archive(zipped(im0=os.urandom(1000)))
    download.fetch("set")
    assert files(root) == {"set/im0"}


def test_an_archive_of_a_million_empty_files_is_refused(root, archive, monkeypatch):
    assert limits.ARCHIVE_MEMBERS == 1_000_000
    monkeypatch.setattr(limits, "ARCHIVE_MEMBERS", 3)
    archive(zipped(a="", b="", c="", d=""))
    with pytest.raises(DataError, match=r"the archive has 4 members; at most 3 are unpacked"):
        download.fetch("set")
    assert not files(root)


@pytest.mark.parametrize("with_right_checksum", [False, True])
def test_a_zip_member_is_unpacked_to_its_declared_size_at_most(root, archive, with_right_checksum):
    content, declared = bytes(5_000_000), 10
    data = bytearray(zipped(m=content))
    central = data.rindex(b"PK\1\2")
    for at in (14, central + 16):
        if with_right_checksum:
            struct.pack_into("<I", data, at, zlib.crc32(content[:declared]))
    for at in (22, central + 24):
        struct.pack_into("<I", data, at, declared)
    archive(bytes(data))
    if with_right_checksum:
        download.fetch("set")
        assert (root / "set/m").stat().st_size == declared
    else:
        with pytest.raises(
            DataError,
            match=r"the archive may be damaged, or another file \(BadZipFile\), and was deleted",
        ):
            download.fetch("set")


def test_a_seven_zip_member_is_unpacked_to_its_declared_size_at_most(root, archive, monkeypatch):
    size, declared = 100_000, 70_000
    data = with_declared_size(
        seven_zipped({"m": bytes(size - 500) + os.urandom(500)}), size, declared
    )
    archive(data, "a.7z")
    written = []
    monkeypatch.setattr(
        download.os, "replace", lambda source, target: written.append(os.path.getsize(source))
    )
    with pytest.raises(
        DataError,
        match=r"the archive may be damaged, or another file \(.*\), and was deleted|holds nothing",
    ):
        download.fetch("set")
    assert all(number <= declared for number in written)
    assert not list(root.rglob("m"))


def test_members_that_overlap_are_counted_each(root, archive):
    """A zip bomb whose members share the same compressed bytes."""
    data = zipped(m0=bytes(1_000_000))
    central = data.index(b"PK\1\2")
    entry, end = data[central : data.index(b"PK\5\6")], data[data.index(b"PK\5\6") :]
    entries = b"".join(entry.replace(b"m0", f"m{i}".encode()) for i in range(9))
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 9, 9, len(entries), central, 0)
    bomb = data[:central] + entries + end
    archive(bomb)
    with pytest.raises(DataError, match=r"would unpack to 9000000 bytes"):
        download.fetch("set")
    assert not files(root)


def test_members_of_other_compression_methods_are_refused(root, archive):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as content:
        content.writestr("m", os.urandom(1000))
    archive(buffer.getvalue())
    with pytest.raises(
        DataError,
        match=r"'m' is compressed by method 12; expected deflate; the archive was deleted",
    ):
        download.fetch("set")
    assert not files(root)


def test_an_archive_in_an_archive_stays_packed(root, archive):
    inner = zipped(m=bytes(10_000_000))
    archive(zipped(inner=inner))
    download.fetch("set")
    assert (root / "set/inner").read_bytes() == inner


# --- members that are no plain files of the archive's folder ----------------------------------------------------------

OUTSIDE = (
    "../evil",
    "a/../../evil",
    "/tmp/evil",
    "C:/evil",
    "C:evil",
    "..\\evil",
    "\\\\server\\share\\evil",
    "a/..",
)


@pytest.mark.parametrize("member", OUTSIDE)
@pytest.mark.parametrize("name", ["a.zip", "a.7z"])
def test_members_that_lead_out_are_passed_over(root, archive, name, member):
    contents = {member: "evil", "good": "g"}
    if name == "a.zip":
        data = zipped(**contents)
    else:
        # py7zr refuses to write such names.
        placeholder = "x" * len(member)
        data = seven_zipped({placeholder: "evil", "good": "g"})
        header = data[32 + struct.unpack_from("<Q", data, 12)[0] :]
        renamed = header.replace(placeholder.encode("utf-16-le"), member.encode("utf-16-le"))
        first = data[12:28] + struct.pack("<I", zlib.crc32(renamed))
        data = (
            data[:8]
            + struct.pack("<I", zlib.crc32(first))
            + first
            + data[32 : len(data) - len(header)]
            + renamed
        )
    archive(data, name)
    download.fetch("set")
    assert files(root) == {"set/good"}
    assert {path.name for path in root.parent.iterdir()} == {"data"}


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK]
)
def test_links_and_devices_in_a_zip_archive_are_passed_over(root, archive, kind):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as content:
        special = zipfile.ZipInfo("special")
        special.create_system = 3
        special.external_attr = (kind | 0o644) << 16
        content.writestr(special, "/etc")
        content.writestr("special/passwd", "evil")
        content.writestr("good", "g")
    archive(buffer.getvalue())
    download.fetch("set")
    assert files(root) == {"set/good", "set/special/passwd"}
    assert not (root / "set/special").is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_links_in_a_seven_zip_archive_are_passed_over(root, archive, tmp_path):
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed/good").write_text("g")
    (tmp_path / "packed/link").symlink_to("good")
    (tmp_path / "packed/folder").symlink_to("/etc")
    buffer = io.BytesIO()
    with py7zr.SevenZipFile(buffer, "w") as content:
        content.writeall(tmp_path / "packed", "top")
    shutil.rmtree(tmp_path / "packed")
    archive(buffer.getvalue(), "a.7z", strip="top")
    download.fetch("set")
    assert files(root) == {"set/good"}


def test_of_two_members_of_one_name_the_later_counts(root, archive):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as content, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        content.writestr("twice", "first")
        content.writestr("twice", "second")
    archive(buffer.getvalue())
    download.fetch("set")
    assert (root / "set/twice").read_text() == "second"


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("name", ["a.zip", "a.zip.files"])
def test_a_pipe_in_the_place_of_an_archive_is_refused(root, archive, server, name):
    archive(zipped(im0="0"))
    place = root / ".fetched/set" / name
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    with (
        deadline(),
        pytest.raises(
            DataError, match=rf"{name}: the path is not a regular file but a pipe or device"
        ),
    ):
        download.fetch("set")
    assert not server.requests
