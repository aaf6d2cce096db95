"""The public data sets that can be fetched: what they hold, where their files come from, where they go.

The list itself is ``catalogue.yaml`` beside this file; its head explains the entries.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from stereo_framework.errors import DataError, nearest
from stereo_framework.shipped import shipped_yaml


@dataclass(frozen=True)
class RemoteFile:
    """A file to download.

    Parameters
    ----------
    url : str
    target : str
        Where it goes, below the data root; of an archive the folder into which it is unpacked.
    scene : str
        The scene or set that it belongs to, by which it can be fetched alone.
    archive : bool
        Whether it is unpacked.
    strip : str
        Folder inside an archive whose content alone is wanted, ``""`` for all of it.
    sha256 : str or None
        What it must be.
    copy_sha256 : str or None
        What a public copy of it is.
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
        """File name at its publisher."""
        return PurePosixPath(self.url).name


@dataclass(frozen=True)
class PublicSet:
    """A data set that can be fetched by its name.

    Parameters
    ----------
    name, about, cite, page : str
        Cite: the papers that the publisher asks to cite; page: the publisher's own.
    megabytes : float or None
        Size of the download, where it is known.
    files : tuple of RemoteFile
    register : str or None
        What to get and where to put it, if the publisher asks for a registration first.
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
    """All of them, in the order of the list."""
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
    """The set that `name` means and the files of it that are wanted.

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
