"""The public data sets that can be fetched: what they hold, where their files come from and where they are stored.

The list itself is ``catalogue.yaml`` beside this file; the comment at its top explains the entries.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from stereo_framework.core.errors import DataError, nearest
from stereo_framework.core.shipped import shipped_yaml


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
    megabytes: float | None
    files: tuple[RemoteFile, ...]
    register: str | None


@functools.cache
def public_sets() -> tuple[PublicSet, ...]:
    """All data sets that can be fetched, in the order of the list."""
    found = []
    for name, entry in shipped_yaml("datasets/catalogue.yaml").items():
        files = tuple(_files(name, entry.pop("files", {}), entry.pop("archives", ())))
        found.append(PublicSet(name, files=files, **{"megabytes": None, "register": None} | entry))
    return tuple(found)


def _files(name: str, single: Mapping[str, Any], archives: Iterable[Mapping[str, Any]]) -> Iterator[RemoteFile]:
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
        raise DataError(f"nothing to fetch is called {name!r}; {nearest(name, every, kind='data sets')}")
    return scenes[scene], tuple(file for file in scenes[scene].files if file.scene == scene)
