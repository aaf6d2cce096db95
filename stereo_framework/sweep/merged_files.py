"""Copy disparity maps, confidence maps and pictures into the folder of a merge."""

import glob
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from stereo_framework.core.errors import DataError, one_line
from stereo_framework.io import (
    file_stem,
    has_content,
    is_replaceable,
    output_folder,
    read_bytes,
    write_bytes,
)
from stereo_framework.io.output_folders import MAPS, RECORD
from stereo_framework.sweep.result import CONFIDENCE, Result, confidence_files
from stereo_framework.sweep.store import map_stem

PICTURES = "pictures"
"""Name of the subfolder for pictures of disparity maps in a results folder."""

_END_OF_OTHER_MAP = re.compile(r"_[0-9a-f]{8}_.*")
"""Pattern of the end of a picture's file name if it shows another map of the run."""

_MAX_IDENTITY_LENGTH = 40
"""Maximum length of the identity of a run in a message."""

_DIGEST_LENGTH = 8
"""Number of hexadecimal digits that distinguish two maps of one run."""


class MapCopies:
    """Copies of the maps and pictures of stored results in a results folder.

    A file is copied only if it still has the content that this program wrote. Otherwise
    the copy of a changed map would look like the map that belongs to the statistics.

    Parameters
    ----------
    out : Path
        Absolute path of the folder of the merge, which must be open for writing.

    Attributes
    ----------
    problems : list of str
        Messages about files that were not copied.
    """

    def __init__(self, out: Path):
        self.problems: list[str] = []
        self._out = out
        self._target_of_map: dict[Path, Path | None] = {}

    def copy(self, result: Result, folder: Path) -> Path | None:
        """Copy the maps and pictures of a result, and return the path of the new map.

        Results of one run share a map, which is copied once.

        Parameters
        ----------
        result : Result
            Result that is stored in `folder`.
        folder : Path
            Absolute path of a results folder.

        Returns
        -------
        Path or None
            Path of the disparity map in the folder of the merge. The path is None if
            the result has no map, or if the map was changed or cannot be read.

        Raises
        ------
        DataError
            A file cannot be written, or the folder of the merge contains a file of the
            user with the same name.
        """
        source = result.map
        if source is None or not os.path.lexists(source):
            return None
        if source not in self._target_of_map:
            self._target_of_map[source] = self._copy_files(result, source, folder)
        return self._target_of_map[source]

    def _copy_files(self, result: Result, source: Path, folder: Path) -> Path | None:
        """Copy the maps and pictures of a run, and return the path of the new map."""
        contents = self._contents_of_maps(source, folder)
        if contents is None:
            return None
        # The identity comes from a file of another author and could contain `../`.
        if file_stem(result.id) != result.id:
            identity = one_line(result.id, _MAX_IDENTITY_LENGTH)
            reason = f"the identity {identity!r} of its run cannot be part of a file name"
            self.problems.append(f"{source}: the map is not copied, because {reason}")
            return None

        stem = map_stem(result)
        if self._has_other_content(stem, contents):
            stem = f"{stem}_{_digest(contents)}"
        for end, content in contents.items():
            self._write(self._out / MAPS / f"{stem}{end}.pfm", content)
        for end, content in self._contents_of_pictures(source, folder).items():
            self._write(self._out / PICTURES / f"{stem}{end}", content)
        return self._out / MAPS / f"{stem}.pfm"

    def _contents_of_maps(self, source: Path, folder: Path) -> dict[str, bytes] | None:
        """Return the contents of a disparity map and of its confidence maps.

        Returns
        -------
        dict of str to bytes, or None
            The contents by the ends of the names of the files. None means that a file
            was changed or cannot be read.
        """
        files = {"": source}
        for measure, path in confidence_files(source).items():
            files[f"{CONFIDENCE}{measure}"] = path
        contents: dict[str, bytes] = {}
        for end, path in files.items():
            content = self._unchanged_content(path, folder)
            if content is None:
                return None
            contents[end] = content
        return contents

    def _contents_of_pictures(self, source: Path, folder: Path) -> dict[str, bytes]:
        """Return the contents of the pictures of a map, by the ends of their names."""
        contents: dict[str, bytes] = {}
        for path in sorted((folder / PICTURES).glob(f"{glob.escape(source.stem)}_*.png")):
            end = path.name.removeprefix(source.stem)
            if _END_OF_OTHER_MAP.fullmatch(end):
                continue
            content = self._unchanged_content(path, folder)
            if content is not None:
                contents[end] = content
        return contents

    def _unchanged_content(self, path: Path, folder: Path) -> bytes | None:
        """Return the content of a file that has not changed since it was written.

        For other files, the method returns None and adds a message to `problems`.
        """
        try:
            content = read_bytes(path)
            with output_folder(folder):
                is_unchanged = is_replaceable(path)
        except (DataError, OSError) as error:
            self.problems.append(one_line(f"{error}; the file is not copied"))
            return None
        if is_unchanged:
            return content
        message = (
            f"{path}: the file is not copied, because it is not as this program wrote it: it was "
            f"changed or replaced, or its folder was copied without the file {RECORD}"
        )
        self.problems.append(one_line(message))
        return None

    def _has_other_content(self, stem: str, contents: Mapping[str, bytes]) -> bool:
        """Return whether a file of the same name with other content exists."""
        for end, content in contents.items():
            path = self._out / MAPS / f"{stem}{end}.pfm"
            if os.path.lexists(path) and not has_content(path, content):
                return True
        return False

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file, unless a killed merge has already written it."""
        if not has_content(path, content):
            write_bytes(path, content)


def _digest(contents: Mapping[str, bytes]) -> str:
    """Return a short digest of the contents of several files."""
    digest = hashlib.sha256()
    for end, content in sorted(contents.items()):
        digest.update(hashlib.sha256(end.encode()).digest())
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:_DIGEST_LENGTH]
