"""Fetching public data sets into a data root, in the layout that their readers expect.

Downloads, by the optional library pooch, are checked, unpacked and recorded: below ``.fetched`` in the data root, one small JSON file for each download says
where it came from, its checksum, and which files it gave. Files that are already there are not fetched again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, MissingExtraError, brings
from stereo_framework.datasets.catalogue import PublicSet, RemoteFile, find
from stereo_framework.datasets.registry import data_roots
from stereo_framework.io import PathLike, write_bytes

Progress = Callable[[str, int, int | None], None]
"""Called with a file's name, the number of bytes that have arrived, and the whole size if known."""

_RECORDS = ".fetched"
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Fetched:
    """The result of one download.

    Parameters
    ----------
    name, url : str
    sha256 : str
    bytes : int
        Size of the file that was downloaded, which may be an archive.
    files : dict of str to str
        Checksums of the files that it consists of, by their paths below the data root.
    checked : str
        ``"publisher"``: the checksum is the one known from the publisher; ``"copy"``: it is that of a public copy; ``"unlike copy"``: it differs from
        that; ``"unknown"``: there was none to compare with. In the last two cases it is recorded and must not change later.
    already_there : bool
        Whether nothing had to be fetched.
    """

    name: str
    url: str
    sha256: str
    bytes: int
    files: dict[str, str]
    checked: str
    already_there: bool = False


def fetch(name: str, *, data: PathLike | None = None, progress: Progress | None = None) -> tuple[Fetched, ...]:
    """Fetch a public data set, or one scene of it, into the first data root.

    Parameters
    ----------
    name : str
        As in `find`; `public_sets` lists them.
    data : path-like, optional
        As in `data_roots`.
    progress : callable, optional
        Called for every piece that arrives.

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
    _require("pooch", *(["py7zr"] if any(file.name.endswith(".7z") for file in files) else []))
    return tuple(_fetch(file, public_set, root, progress or (lambda *_: None)) for file in files)


def _require(*modules: str) -> None:
    from importlib.util import find_spec

    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise MissingExtraError(f"fetching this data set needs {' and '.join(missing)}: {brings('data')}")


def _fetch(file: RemoteFile, public_set: PublicSet, root: Path, progress: Progress) -> Fetched:
    download = root / _RECORDS / file.target / file.name if file.archive else root / _RECORDS / file.target
    record = download.with_name(f"{download.name}.json")
    try:
        there = _there(file, root, record)
        if there:
            return there
        download.parent.mkdir(parents=True, exist_ok=True)
        sha256 = _retrieve(file, public_set, download, record, progress)
        size = download.stat().st_size
        if file.archive:
            made = dict(_unpack(download, root, file))
            download.unlink()
            if not made:
                raise DataError(
                    f"{file.url}: the archive holds nothing{f' in {file.strip}' if file.strip else ''}; the publisher's page is {public_set.page}"
                )
        else:
            made = {file.target: sha256}
            _place(download, root / file.target)
        fetched = Fetched(file.name, file.url, sha256, size, made, _checked(file, sha256))
        write_bytes(record, json.dumps(asdict(fetched), indent=1).encode())
    except OSError as error:
        hint = f"; the disk of {root} is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise DataError(f"{error.filename or download}: cannot be read or written: {error.strerror}{hint}") from None
    return fetched


def _checked(file: RemoteFile, sha256: str) -> str:
    if file.sha256 == sha256:
        return "publisher"
    if file.copy_sha256 == sha256:
        return "copy"
    return "unlike copy" if file.copy_sha256 else "unknown"


def _there(file: RemoteFile, root: Path, record: Path) -> Fetched | None:
    """The record of a download whose files are all present and intact; without a record, the checksum can show that too."""
    known = _recorded(record)
    if known is None and not file.archive and (root / file.target).is_file():
        sha256 = _sha256(root / file.target)
        if sha256 in (file.sha256, file.copy_sha256):
            size = (root / file.target).stat().st_size
            return Fetched(file.name, file.url, sha256, size, {file.target: sha256}, _checked(file, sha256), already_there=True)
    if known is None or known.url != file.url:
        return None
    whole = all((root / path).is_file() and _sha256(root / path) == sha256 for path, sha256 in known.files.items())
    return known if whole else None


def _recorded(record: Path) -> Fetched | None:
    try:
        return Fetched(**json.loads(record.read_text("utf-8")) | {"already_there": True})
    except (OSError, ValueError, TypeError):
        return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _retrieve(file: RemoteFile, public_set: PublicSet, download: Path, record: Path, progress: Progress) -> str:
    """Download `file` to `download` and return its checksum."""
    import pooch
    import requests

    known = _recorded(record)
    sha256 = file.sha256 or (known.sha256 if known else None)
    names, urls = {download.name: f"sha256:{sha256}" if sha256 else None}, {download.name: file.url}
    one = pooch.create(download.parent, base_url="", registry=names, urls=urls, retry_if_failed=2)
    pooch.get_logger().setLevel("WARNING")
    try:
        one.fetch(download.name, downloader=pooch.HTTPDownloader(_Bar(file.name, progress), timeout=_TIMEOUT_SECONDS))
    except requests.HTTPError as error:
        raise DataError(f"refused by the server: {error}; the publisher's page is {public_set.page}") from None
    except requests.RequestException as error:
        raise DataError(f"{file.url}: no connection, or it broke off ({type(error).__name__}); try again") from None
    except ValueError:  # pooch's word for a wrong checksum; it has deleted the file
        accept = "" if file.sha256 else f"; it was recorded when the file was first fetched: delete {record} to accept another"
        raise DataError(
            f"{file.url}: the file that arrived has another checksum than {sha256}: damaged on its way, or changed by its publisher; "
            f"nothing was kept{accept}"
        ) from None
    return _sha256(download)


class _Bar:
    """What pooch tells a progress bar, passed on."""

    total = 0

    def __init__(self, name: str, tell: Progress):
        self.name, self.tell, self.done = name, tell, 0

    def update(self, count: int) -> None:
        self.done += count
        if self.done <= self.total or not self.total:
            self.tell(self.name, self.done, self.total or None)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass


def _unpack(archive: Path, root: Path, file: RemoteFile) -> Iterator[tuple[str, str]]:
    """Unpack the wanted files to their places; returns their paths below `root` and their checksums."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        try:
            _extract(archive, folder, file.url)
        except (OSError, DataError):
            raise
        except Exception as error:  # whatever the two libraries raise on bytes that are no archive
            archive.unlink()
            raise DataError(
                f"{file.url}: the archive is damaged ({type(error).__name__}) and was deleted; the same command fetches it again"
            ) from None
        wanted = Path(folder, file.strip)
        for path in sorted(wanted.rglob("*")):
            target = Path(file.target, path.relative_to(wanted))
            # No archive may write into the records of downloads.
            if path.is_file() and not path.is_symlink() and _RECORDS not in target.parts:
                sha256 = _sha256(path)
                _place(path, root / target)
                yield target.as_posix(), sha256


def _extract(archive: Path, folder: str, url: str) -> None:
    if archive.suffix == ".7z":
        import py7zr

        with py7zr.SevenZipFile(archive) as seven:
            _check_unpacked(sum(one.uncompressed for one in seven.list()), archive, url)
            seven.extractall(folder)
    else:
        with zipfile.ZipFile(archive) as zipped:
            # zipfile unpacks no more of a file than is stated here.
            _check_unpacked(sum(one.file_size for one in zipped.infolist()), archive, url)
            zipped.extractall(folder)


def _check_unpacked(total: int, archive: Path, url: str) -> None:
    """Refuse an archive whose content, of `total` bytes, is too large for any data set."""
    most = min(limits.UNPACKED, max(limits.SMALL, limits.RATIO * archive.stat().st_size))
    if total > most:
        archive.unlink()
        raise DataError(f"{url}: the archive would unpack to {total} bytes, at most {most} are unpacked; it was deleted")


def _place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(source, target)
