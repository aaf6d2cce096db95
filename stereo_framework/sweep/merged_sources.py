"""Copy the source files of scripts into the folder of a merge.

The subfolder `SOURCES` of a results folder contains copies of the plug-ins and Python
functions that the scripts of the folder name. Files that lay next to each other stay
next to each other. Other files are in numbered subfolders.
"""

import hashlib
import itertools
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from stereo_framework.core.errors import DataError, one_line
from stereo_framework.io import read_bytes, write_bytes
from stereo_framework.sweep.folder_sources import (
    LARGEST_COPY,
    SOURCES,
    entries_below,
    first_subfolder_number,
    subfolder_prefix,
    with_changed_paths,
)
from stereo_framework.sweep.merged_scripts import ResolvedScript

_PATH = re.compile(rf"{SOURCES}/(?:([0-9]+)/)?")
"""Pattern of the prefix of a path in a script that names a copied file."""


class SourceCopies:
    """Copies of the source files of several results folders in the folder of a merge.

    Attributes
    ----------
    problems : list of str
        Messages about files that were not copied.
    """

    def __init__(self, out: Path):
        self.problems: list[str] = []
        self._out = out

    def copy(self, folder: Path) -> dict[str, str]:
        """Copy the source files of a folder.

        Equal files are copied once. Files that differ from present files of the same
        name are copied to a numbered subfolder.

        Parameters
        ----------
        folder : Path
            Results folder.

        Returns
        -------
        dict of str to str
            New path prefix for each old subfolder number, such as
            ``{'': 'plugins/', '2': 'plugins/3/'}``. The number is an empty text for
            files that are in no numbered subfolder.

        Raises
        ------
        DataError
            A file cannot be written.
        """
        path_prefixes: dict[str, str] = {}
        for number in _numbers(folder / SOURCES):
            place = folder / SOURCES / number
            path_prefixes[number] = self._copy_files(_files_below(place, is_first=not number))
        return path_prefixes

    def _copy_files(self, files: Mapping[str, Path]) -> str:
        """Copy source files, and return the prefix of their paths in scripts.

        Parameters
        ----------
        files : mapping of str to Path
            The files, by their paths relative to the subfolder.
        """
        digests = self._digests(files)
        for number in itertools.count(first_subfolder_number(digests)):
            path_prefix = subfolder_prefix(number)
            place = self._out / path_prefix
            present_digests = self._digests(_files_below(place, is_first=number == 1))
            if not _fit_together(digests, present_digests):
                continue
            for name in digests:
                if name not in present_digests:
                    write_bytes(place / name, _content(files[name]))
            return path_prefix
        raise AssertionError("the loop over the numbers has no end")

    def _digests(self, files: Mapping[str, Path]) -> dict[str, bytes]:
        """Return the digests of the contents of files, without unreadable files."""
        digests: dict[str, bytes] = {}
        for name, path in files.items():
            try:
                digests[name] = hashlib.sha256(_content(path)).digest()
            except DataError as error:
                self.problems.append(one_line(f"{error}; the file is not copied"))
        return digests


def _content(path: Path) -> bytes:
    """Return the content of a source file.

    Raises
    ------
    DataError
        The file cannot be read, or is too large to be a source file.
    """
    return read_bytes(path, LARGEST_COPY, allow_empty=True)


def _fit_together(digests: Mapping[str, bytes], other_digests: Mapping[str, bytes]) -> bool:
    """Return whether one of two sets of files is a part of the other set.

    The common files must have equal contents. Other sets of files are not mixed,
    because a module could then import a file that did not lie next to it.
    """
    common_names = digests.keys() & other_digests.keys()
    if len(common_names) < min(len(digests), len(other_digests)):
        return False
    return all(digests[name] == other_digests[name] for name in common_names)


def _numbers(place: Path) -> list[str]:
    """Return the names of numbered subfolders, after an empty text for the folder."""
    if place.is_symlink() or not place.is_dir():
        return []
    names = [path.name for path in place.iterdir() if path.name.isdecimal() and path.is_dir()]
    return ["", *sorted(names, key=lambda name: (len(name), name))]


def _files_below(place: Path, *, is_first: bool) -> dict[str, Path]:
    """Return the regular files in a subfolder, by their relative paths.

    Parameters
    ----------
    place, is_first
        Parameters of `entries_below`.
    """
    if place.is_symlink():
        return {}
    entries = entries_below(place, is_first=is_first)
    return {name: path for name, path in entries.items() if stat.S_ISREG(path.lstat().st_mode)}


def with_other_sources(script: ResolvedScript, path_prefixes: Mapping[str, str]) -> ResolvedScript:
    """Return a script with other paths of its source files.

    Parameters
    ----------
    script : dict
        Resolved script.
    path_prefixes : mapping of str to str
        New prefixes of paths, which `SourceCopies.copy` returns.

    Examples
    --------
    >>> script = {"name": "a", "plugins": ["plugins/mine.py"]}
    >>> with_other_sources(script, {"": "plugins/2/"})
    {'name': 'a', 'plugins': ['plugins/2/mine.py']}
    """

    def with_new_prefix(text: str) -> str:
        """Return a text with another prefix if it is the path of a source file."""
        match = _PATH.match(text)
        if match is None or (match[1] or "") not in path_prefixes:
            return text
        return path_prefixes[match[1] or ""] + text[match.end() :]

    return with_changed_paths(script, with_new_prefix)
