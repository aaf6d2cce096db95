"""The public data sets that can be fetched, and fetching them into a data root, in the layout that their readers expect, by the optional library pooch.

What the sets hold, where their files come from and where they are stored is listed in ``catalogue.yaml`` beside this file; the comment at its top explains
the entries. Files that are already there are not fetched again; of an archive, a list of what it held, below ``.fetched`` in the data root, tells that all is there.
"""

import contextlib
import functools
import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError, MissingExtraError, install_command, nearest
from stereo_framework.core.package_files import package_yaml
from stereo_framework.datasets.registry import data_roots
from stereo_framework.io import PathLike, check_file, write_bytes
from stereo_framework.kernels.progress import iteration_callback

_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class RemoteFile:
    """A file to download.

    Parameters
    ----------
    url : str
    target : str
        Where it is stored below the data root; for an archive, the folder into which it is unpacked.
    scene : str
        The scene or set that it belongs to; with this name it can be fetched alone.
    archive : bool
        Whether it is unpacked.
    strip : str
        Folder inside the archive, of which only the content is wanted; ``""`` for the whole archive.
    sha256 : str or None
        The checksum that the file must have.
    copy_sha256 : str or None
        The checksum of a public copy of the file.
    """

    url: str
    target: str
    scene: str
    archive: bool = False
    strip: str = ""
    sha256: str | None = None
    copy_sha256: str | None = None

    @property
    def name(self) -> str:
        """The file's name at its publisher."""
        return PurePosixPath(self.url).name


@dataclass(frozen=True)
class PublicSet:
    """A data set that can be fetched by its name.

    Parameters
    ----------
    name, about, cite, page : str
        `cite`: the papers that the publisher asks to cite; `page`: the publisher's web page.
    megabytes : float or None
        Size of the download, if known.
    files : tuple of RemoteFile
    register : str or None
        If the publisher asks for a registration: what to download and where to put it.
    """

    name: str
    about: str
    cite: str
    page: str
    megabytes: float | None = None
    files: tuple[RemoteFile, ...] = ()
    register: str | None = None


@functools.cache
def public_sets() -> tuple[PublicSet, ...]:
    """All data sets that can be fetched, in the order of the list."""
    found = []
    for name, entry in package_yaml("datasets/catalogue.yaml").items():
        files = tuple(_files(name, entry.pop("files", {}), entry.pop("archives", ())))
        found.append(PublicSet(name, files=files, **entry))
    return tuple(found)


def _files(
    name: str, single: Mapping[str, Any], archives: Iterable[Mapping[str, Any]]
) -> Iterator[RemoteFile]:
    must, copies = single.get("sha256", {}), single.get("copies", {})
    for file in [*must, *copies]:
        url, target = (single[key].format(file=file) for key in ("url", "to"))
        scene = "/".join([name, *PurePosixPath(file).parts[:-1]])
        yield RemoteFile(url, target, scene, sha256=must.get(file), copy_sha256=copies.get(file))
    for archive in archives:
        for scene in archive.get("scenes", [None]):
            yield RemoteFile(
                archive["url"].format(scene=scene),
                archive["to"],
                f"{name}/{scene}" if scene else name,
                archive=True,
                strip=archive.get("strip", ""),
                sha256=archive.get("sha256"),
            )


def set_with_scene(scene: str, present_scenes: Iterable[str]) -> str | None:
    """Return the name of the data set to fetch for a scene that is missing, or None.

    Parameters
    ----------
    scene : str
        Name of the missing scene.
    present_scenes : iterable of str
        Full names of the scenes that can be loaded. If they contain scenes of a set
        whose scenes are not listed in the catalogue, the name of the scene is wrong.
    """
    with contextlib.suppress(DataError):
        return find(scene)[0].name
    enclosing_sets = [s.name for s in public_sets() if scene.startswith(f"{s.name}/")]
    name = max(enclosing_sets, key=len, default=None)
    if name is None or any(present.startswith(f"{name}/") for present in present_scenes):
        return None
    return name


def find(name: str) -> tuple[PublicSet, tuple[RemoteFile, ...]]:
    """The data set that `name` means, and those of its files that are wanted.

    Parameters
    ----------
    name : str
        A set (``middlebury2005/HalfSize``) or a scene of one (``middlebury2005/HalfSize/Art``); a short name (``Art``) means the
        first set of the list that has it.

    Raises
    ------
    DataError
        There is no such set or scene.
    """
    every = {s.name: (s, s.files) for s in public_sets()}
    if name in every:
        return every[name]
    scenes = {file.scene: s for s in public_sets() for file in s.files if file.scene != s.name}
    scene = next((scene for scene in scenes if scene == name or scene.endswith(f"/{name}")), None)
    if scene is None:
        raise DataError(
            f"nothing to fetch is called {name!r}; {nearest(name, every, kind='data sets')}"
        )
    return scenes[scene], tuple(file for file in scenes[scene].files if file.scene == scene)


@dataclass(frozen=True)
class Fetched:
    """The result of one download.

    Parameters
    ----------
    name, url : str
    sha256 : str
        Of the file that was downloaded, which may be an archive; empty for an archive that was unpacked before.
    bytes : int
        Its size.
    known : bool
        Whether this checksum is known, from the publisher or from a public copy.
    already_there : bool
        Whether nothing had to be fetched.
    """

    name: str
    url: str
    sha256: str
    bytes: int
    known: bool
    already_there: bool = False


@checked()
def fetch(name: str, *, data: PathLike | None = None) -> tuple[Fetched, ...]:
    """Fetch a public data set, or one scene of it, into the first data root.

    Parameters
    ----------
    name : str
        As in `find`; `public_sets` lists them.
    data : path-like, optional
        As in `data_roots`.

    Returns
    -------
    tuple of Fetched
        One for each file downloaded.

    Raises
    ------
    DataError
        There is no such set, its publisher asks for a registration, the transfer failed, the checksum is wrong, or the disk is full.
        Whole files that have arrived are kept.
    MissingExtraError
        pooch is not installed, or py7zr for sets that come as 7z archives.
    """
    public_set, files = find(name)
    root = data_roots(data)[0]
    if public_set.register:
        raise DataError(
            f"{public_set.name}: its publisher asks for a registration, so nothing is fetched: get {public_set.register} in {root}; "
            f"the publisher's page is {public_set.page}"
        )
    needed = ["pooch", *(["py7zr"] if any(file.name.endswith(".7z") for file in files) else [])]
    if missing := [module for module in needed if find_spec(module) is None]:
        raise MissingExtraError(
            f"fetching this data set needs {' and '.join(missing)}: {install_command('data')}"
        )
    try:
        return tuple(_fetched(file, public_set, root) for file in files)
    except OSError as error:
        raise DataError(
            f"{error.filename or root}: cannot be read or written: {error.strerror}"
        ) from None


def _fetched(file: RemoteFile, public_set: PublicSet, root: Path) -> Fetched:
    """Fetch a file to its place, or the content of an archive, unless it is there."""
    import pooch

    place = root / ".fetched" / file.target / file.name if file.archive else root / file.target
    record = place.with_name(f"{file.name}.files")
    for path in (place, record):
        # Opening a pipe would wait without end for a program that writes to it.
        if os.path.lexists(path):
            check_file(path)
    if (
        file.archive
        and record.is_file()
        and all((root / path).is_file() for path in record.read_text("utf-8").splitlines())
    ):
        return Fetched(file.name, file.url, "", 0, known=True, already_there=True)

    already_there = place.is_file() and file.sha256 in (None, pooch.file_hash(place))
    if not already_there:
        _retrieve(file, public_set, place)
    sha256, size = pooch.file_hash(place), place.stat().st_size

    if file.archive:
        paths = _unpack(place, root, file)
        place.unlink()
        if not paths:
            message = f"{file.url}: the archive holds nothing in {file.strip or 'it'}; the publisher's page is {public_set.page}"
            raise DataError(message)
        write_bytes(record, "\n".join(paths).encode())
    known = sha256 in (file.sha256, file.copy_sha256)
    return Fetched(file.name, file.url, sha256, size, known, already_there)


def _retrieve(file: RemoteFile, public_set: PublicSet, place: Path) -> None:
    """Download a file and check it."""
    import pooch
    import requests

    place.parent.mkdir(parents=True, exist_ok=True)
    names, urls = {place.name: file.sha256 and f"sha256:{file.sha256}"}, {place.name: file.url}
    one = pooch.create(place.parent, base_url="", registry=names, urls=urls, retry_if_failed=2)
    pooch.get_logger().setLevel("WARNING")
    try:
        one.fetch(
            place.name,
            downloader=pooch.HTTPDownloader(_Megabytes(file.name), timeout=_TIMEOUT_SECONDS),
        )
    except requests.HTTPError as error:
        raise DataError(
            f"refused by the server: {error}; the publisher's page is {public_set.page}"
        ) from None
    except requests.RequestException as error:
        raise DataError(
            f"{file.url}: no connection, or it broke off ({type(error).__name__}); try again"
        ) from None
    except ValueError:  # pooch's word for a wrong checksum; it has deleted the file
        raise DataError(
            f"{file.url}: the file that arrived has another checksum than {file.sha256}; it may have been damaged on its way, or its publisher may have changed it; "
            f"try again, or see {public_set.page}; nothing was kept"
        ) from None


class _Megabytes:
    """The bar of pooch, which tells whoever shows progress how far a file is, as a loop tells its rounds."""

    total = 0

    def __init__(self, name: str):
        self.what, self.done = f"{name}, MB", 0

    def update(self, count: int) -> None:
        self.done += count
        # In the end pooch adds the whole size again.
        if self.done <= self.total:
            iteration_callback()(self.done // 10**6, self.total // 10**6, self.what)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass


def _unpack(archive: Path, root: Path, file: RemoteFile) -> list[str]:
    """Unpack the files of an archive to their places; return their paths below `root`."""
    extract = _extract_seven_zip if archive.suffix == ".7z" else _extract_zip
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        try:
            extract(archive, Path(folder))
        except DataError as error:
            archive.unlink()
            message = f"{file.url}: {error}; the archive was deleted"
            raise DataError(message) from None
        except Exception as error:
            # The two libraries raise errors of many kinds on bytes that are no archive.
            if getattr(error, "errno", None):
                raise
            archive.unlink()
            damage = f"the archive may be damaged, or another file ({type(error).__name__}), and was deleted"
            message = f"{file.url}: {damage}; the same command fetches it again; if that does not help, download it with a browser"
            raise DataError(message) from None

        top = Path(folder, file.strip)
        paths = []
        for path in sorted(
            path for path in top.rglob("*") if path.is_file() and not path.is_symlink()
        ):
            target = Path(file.target, path.relative_to(top))
            (root / target).parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, root / target)
            paths.append(target.as_posix())
    return paths


def _extract_zip(archive: Path, folder: Path) -> None:
    """Extract the files of a zip archive into a folder.

    `zipfile` returns at most as many bytes of a member as its header gives, so that the
    check of the sizes also holds for headers that are wrong.
    """
    with zipfile.ZipFile(archive) as content:
        members = content.infolist()
        _check_unpacked_size([member.file_size for member in members], archive)
        files = [member for member in members if _is_plain_member(member)]
        for member in files:
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                # The decompressors of the other methods return all bytes at once.
                message = f"{member.filename!r} is compressed by method {member.compress_type}; expected deflate"
                raise DataError(message)
            target = folder / member.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            with content.open(member) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)


def _is_plain_member(member: zipfile.ZipInfo) -> bool:
    """Return whether a member of a zip archive is a regular file that lies in the archive's folder."""
    # The upper half holds the file mode of Unix; other systems write 0.
    kind = stat.S_IFMT(member.external_attr >> 16)
    return not member.is_dir() and kind in (0, stat.S_IFREG) and _stays_inside(member.filename)


def _extract_seven_zip(archive: Path, folder: Path) -> None:
    """Extract the files of a 7z archive into a folder.

    `py7zr` writes at most as many bytes of a member as its header gives.
    """
    import py7zr

    with py7zr.SevenZipFile(archive) as content:
        _check_unpacked_size([member.uncompressed or 0 for member in content.files], archive)
        files = [
            member.filename
            for member in content.files
            if member.is_file and _stays_inside(member.filename)
        ]
        content.extract(folder, files)


def _stays_inside(name: str) -> bool:
    """Return whether the name of a member leads to a place in the archive's folder on every system."""
    path = PureWindowsPath(name)
    return bool(path.parts) and not path.anchor and ".." not in path.parts


def _check_unpacked_size(sizes: Collection[int], archive: Path) -> None:
    """Refuse an archive whose content is larger than that of any data set.

    Parameters
    ----------
    sizes : collection of int
        Bytes of each member.
    archive : Path

    Raises
    ------
    DataError
        The members have together more bytes than allowed, or the archive has too many.
    """
    if len(sizes) > limits.ARCHIVE_MEMBERS:
        message = (
            f"the archive has {len(sizes)} members; at most {limits.ARCHIVE_MEMBERS} are unpacked"
        )
        raise DataError(message)
    allowed_size = min(limits.ARCHIVE_CONTENT, limits.ARCHIVE_RATIO * archive.stat().st_size)
    unpacked_size = sum(sizes)
    if unpacked_size > allowed_size:
        message = (
            f"the archive of {archive.stat().st_size} bytes would unpack to {unpacked_size} bytes; "
            f"at most {allowed_size} are unpacked ({limits.ARCHIVE_RATIO} times the size of the "
            f"archive, and {limits.ARCHIVE_CONTENT} bytes)"
        )
        raise DataError(message)
