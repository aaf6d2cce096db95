"""Fetching data sets, from a server on this machine that cuts, lies and fails."""

import errno
import hashlib
import io
import json
import os
import zipfile
from pathlib import Path

import py7zr
import pytest
from file_server import serving

from stereo_framework.datasets import catalogue, download, scene_names
from stereo_framework.datasets.catalogue import PublicSet, RemoteFile
from stereo_framework.errors import DataError, MissingExtraError

CONTENT = os.urandom(600_000)

CHUNK = download._CHUNK


def sha(content):
    return hashlib.sha256(content).hexdigest()


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
    monkeypatch.setattr(download, "_PAUSE_SECONDS", 0)
    return tmp_path / "data"


@pytest.fixture
def offer(server, monkeypatch):
    """A catalogue of one set, ``set``, with the given files."""

    def offer(*files, register=None):
        one = PublicSet("set", "a set", "Nobody 2000", "http://page.example/", None, files, register)
        monkeypatch.setattr(catalogue, "public_sets", lambda: (one,))

    return offer


@pytest.fixture
def one(server, offer):
    """A catalogue of one file."""

    def one(**options):
        offer(RemoteFile(f"{server.url}/im0.png", "set/scene/im0.png", "set/scene", **options))

    return one


def files(root):
    """All files below the root but the records."""
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file() and p.suffix != ".json"}


def zipped(**contents):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name.replace("__", "/"), content)
    return buffer.getvalue()


# what arrives


@pytest.mark.parametrize(
    ("options", "checked"),
    [
        ({"sha256": sha(CONTENT)}, "publisher"),
        ({"copy_sha256": sha(CONTENT)}, "copy"),
        ({"copy_sha256": sha(b"other")}, "unlike copy"),
        ({}, "unknown"),
    ],
)
def test_a_file_is_fetched_checked_and_recorded(root, server, one, options, checked):
    one(**options)
    told = []
    [fetched] = download.fetch("set", progress=lambda *news: told.append(news))
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT
    assert files(root) == {"set/scene/im0.png"}
    assert (fetched.name, fetched.sha256, fetched.bytes) == ("im0.png", sha(CONTENT), len(CONTENT))
    assert (fetched.checked, fetched.already_there) == (checked, False)
    assert told[-1] == ("im0.png", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})
    record = json.loads((root / ".fetched/set/scene/im0.png.json").read_text())
    assert (record["url"], record["sha256"]) == (f"{server.url}/im0.png", sha(CONTENT))


def test_what_is_there_is_not_fetched_again(root, server, one):
    one(sha256=sha(CONTENT))
    download.fetch("set")
    [again] = download.fetch("set/scene")
    assert (again.already_there, again.checked, again.bytes) == (True, "publisher", len(CONTENT))
    assert len(server.requests) == 1
    (root / "set/scene/im0.png").write_bytes(CONTENT[:-1])
    [again] = download.fetch("scene")
    assert not again.already_there
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT


def test_files_put_there_by_hand_count(root, server, one):
    (root / "set/scene").mkdir(parents=True)
    (root / "set/scene/im0.png").write_bytes(CONTENT)
    one(copy_sha256=sha(CONTENT))
    [found] = download.fetch("set")
    assert (found.already_there, found.checked) == (True, "copy")
    assert not server.requests


def test_the_given_root_comes_first(root, tmp_path, one):
    one()
    download.fetch("set", data=tmp_path / "given")
    assert files(tmp_path / "given") == {"set/scene/im0.png"}
    assert not root.exists()


# broken connections


def test_a_cut_connection_is_continued(root, server, one):
    one(sha256=sha(CONTENT))
    server.cuts = 2
    download.fetch("set")
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT
    # half of it and half of the rest had arrived; what had not filled a chunk is lost
    assert server.requests == [("/im0.png", ""), ("/im0.png", f"bytes={4 * CHUNK}-"), ("/im0.png", f"bytes={6 * CHUNK}-")]


def test_what_arrived_is_kept_for_the_next_call(root, server, one):
    one(sha256=sha(CONTENT))
    server.cuts = 3
    with pytest.raises(DataError) as error:
        download.fetch("set")
    assert str(error.value).startswith(f"{server.url}/im0.png: no connection, or it broke off (")
    assert str(error.value).endswith(f"; {7 * CHUNK} bytes are kept, the same command continues there")
    assert files(root) == {".fetched/set/scene/im0.png.part"}
    download.fetch("set")
    assert server.requests[-1] == ("/im0.png", f"bytes={7 * CHUNK}-")
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT
    assert files(root) == {"set/scene/im0.png"}


def test_a_server_without_ranges_starts_over(root, server, one):
    one(sha256=sha(CONTENT))
    server.ranges, server.cuts = False, 1
    download.fetch("set")
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT
    assert server.requests == [("/im0.png", ""), ("/im0.png", f"bytes={4 * CHUNK}-")]


def begun(root, content):
    (root / ".fetched/set/scene").mkdir(parents=True)
    (root / ".fetched/set/scene/im0.png.part").write_bytes(content)


def test_all_had_arrived_before(root, server, one):
    one(sha256=sha(CONTENT))
    begun(root, CONTENT)
    download.fetch("set")
    assert server.requests == [("/im0.png", "bytes=600000-")]
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT


def test_more_had_arrived_than_there_is(root, server, one):
    one()
    begun(root, CONTENT + b"more")
    download.fetch("set")
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT


def test_an_interrupted_call_leaves_its_part(root, server, one):
    one(sha256=sha(CONTENT))

    def stop(name, done, total):
        if done >= 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download.fetch("set", progress=stop)
    [part] = files(root)
    kept = (root / part).stat().st_size
    assert kept >= 100_000
    download.fetch("set")
    assert server.requests[-1] == ("/im0.png", f"bytes={kept}-")
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT


# refusals


def test_wrong_bytes(root, server, one):
    one(sha256=sha(CONTENT))
    server.files["/im0.png"] = CONTENT[:-1] + b"x"
    with pytest.raises(
        DataError, match=f"im0.png: the file that arrived has another checksum than {sha(CONTENT)}: .*; nothing was kept$"
    ):
        download.fetch("set")
    assert files(root) == set()
    server.files["/im0.png"] = CONTENT
    download.fetch("set")


def test_a_part_of_something_else(root, server, one):
    one(sha256=sha(CONTENT))
    begun(root, b"x" * 1000)
    with pytest.raises(DataError, match="has another checksum"):
        download.fetch("set")
    download.fetch("set")
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT


def test_the_recorded_checksum_counts_later(root, server, one):
    one()
    download.fetch("set")
    (root / "set/scene/im0.png").unlink()
    server.files["/im0.png"] = CONTENT[::-1]
    with pytest.raises(
        DataError, match=f"another checksum than {sha(CONTENT)}: .*nothing was kept; .* delete .*im0.png.json to accept"
    ):
        download.fetch("set")
    (root / ".fetched/set/scene/im0.png.json").unlink()
    download.fetch("set")
    assert (root / "set/scene/im0.png").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize(
    ("status", "words"), [(404, "404 Client Error: Not Found"), (503, "503 Server Error: Service Unavailable")]
)
def test_refused_by_the_server(root, server, one, status, words):
    one()
    server.status = status
    with pytest.raises(DataError) as error:
        download.fetch("set")
    assert str(error.value) == (
        f"refused by the server: {words} for url: {server.url}/im0.png; the publisher's page is http://page.example/"
    )
    assert len(server.requests) == 1


def test_no_server(root, offer):
    offer(RemoteFile("http://127.0.0.1:9/im0.png", "set/im0.png", "set"))
    with pytest.raises(DataError, match=r"im0\.png: no connection, or it broke off \(ConnectionError\)$"):
        download.fetch("set")


def test_a_full_disk_is_seen_before(root, server, one, monkeypatch):
    one()
    monkeypatch.setattr("shutil.disk_usage", lambda path: os.terminal_size((0, 0)) and type("Usage", (), {"free": 1000}))
    with pytest.raises(
        DataError, match=r"cannot be read or written: 600000 bytes are needed, 1000 are free; the disk of .*data is full$"
    ):
        download.fetch("set")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_disk_that_fills_up(root, server, one):
    one()
    begun(root, b"")
    (root / ".fetched/set/scene/im0.png.part").unlink()
    (root / ".fetched/set/scene/im0.png.part").symlink_to("/dev/full")
    with pytest.raises(DataError, match=f"cannot be read or written: {os.strerror(errno.ENOSPC)}; the disk of .*data is full$"):
        download.fetch("set")


def test_a_root_that_cannot_be_written(root, server, one):
    root.write_text("a file")
    one()
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
    with pytest.raises(MissingExtraError, match=r"needs pooch: pip install 'stereo-framework\[data\]'$"):
        download.fetch("set")
    offer(RemoteFile(f"{server.url}/a.7z", "set", "set", archive=True))
    monkeypatch.setitem(__import__("sys").modules, "py7zr", None)
    with pytest.raises(MissingExtraError, match="needs pooch and py7zr: "):
        download.fetch("set")
    assert not server.requests


# archives


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


def test_two_archives_in_one_folder(root, server, offer):
    server.files |= {"/data.zip": zipped(a__im0="0"), "/truth.zip": zipped(a__disp0="d")}
    offer(*(RemoteFile(f"{server.url}/{n}.zip", "set", "set", archive=True) for n in ("data", "truth")))
    assert len(download.fetch("set")) == 2
    assert files(root) == {"set/a/im0", "set/a/disp0"}
    assert all(f.already_there for f in download.fetch("set"))


def test_archives_cannot_leave_the_root(root, server, offer):
    server.files["/a.zip"] = zipped(**{"..__..__..__..__evil": "e", "__tmp__evil": "e", "good": "g"})
    offer(RemoteFile(f"{server.url}/a.zip", "set", "set", archive=True))
    download.fetch("set")
    assert files(root) == {"set/good", "set/evil", "set/tmp/evil"}
    assert {p.name for p in root.parent.iterdir()} == {"data"}


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


# the list of public sets


def test_names():
    found, of_set = catalogue.find("middlebury2005")
    assert (found.name, len(of_set)) == ("middlebury2005", 6)
    _, [art] = catalogue.find("middlebury2005/HalfSize/Art")
    assert art.url == "https://vision.middlebury.edu/stereo/data/scenes2005/HalfSize/zip-2views/Art-2views.zip"
    _, tsukuba = catalogue.find("middlebury2001/tsukuba")
    assert [f.name for f in tsukuba] == [*(f"scene1.row3.col{i}.ppm" for i in range(1, 6)), "truedisp.row3.col3.pgm"]
    assert catalogue.find("sawtooth")[0].name == "middlebury2001"
    # the first set that has it: the smallest size, images rather than masks
    assert [catalogue.find(name)[0].name for name in ("Aloe", "teddy")] == ["middlebury2006", "middlebury2003"]
    with pytest.raises(
        DataError, match="nothing to fetch is called 'middlebury2004'; legal data sets: eth3d, .*; did you mean 'middlebury200"
    ):
        catalogue.find("middlebury2004")


def test_the_list_is_consistent():
    every = catalogue.public_sets()
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
    for s in catalogue.public_sets():
        for file in s.files:
            # what others found in the archives
            inside = {
                "-2views.zip": ("view1.png", "view5.png"),
                ".7z": ("scene_1l/im0.png",),
                ".zip": ("trainingQ/Pipes/im0.png",),
            }
            names = next(names for ending, names in inside.items() if file.url.endswith(ending)) if file.archive else ("",)
            folder = root / file.target / (file.scene.rpartition("/")[2] if "-2views" in file.url else "")
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).touch()
    found = set(scene_names())
    scenes = {f.scene for s in catalogue.public_sets() for f in s.files if f.scene != s.name}
    assert scenes - found == set()
    others = {"eth3d/two_view_training/scene_1l", "eth3d/two_view_test/scene_1l", "motorcycle/motorcycle"}
    assert found >= others | {"middlebury-v3/trainingQ/Pipes"}


def test_checksums_are_those_of_the_real_files(data):
    present = [f for s in catalogue.public_sets() for f in s.files if not f.archive and (data / f.target).is_file()]
    assert len(present) > 40
    for file in present:
        assert sha((data / file.target).read_bytes()) == (file.sha256 or file.copy_sha256)
