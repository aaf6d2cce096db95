"""Keep the scripts of a run and their source files in the results folder.

A results folder can be moved to another place, or to another machine, and run again
there. Therefore the folder contains the resolved scripts with paths that start at the
folder, and copies of the plug-ins and Python functions that the scripts name. Models
and disparity maps are not copied, because they may be large.
"""

import itertools
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.core.module_sources import is_users_file
from stereo_framework.core.parameters import path_rule
from stereo_framework.core.plugins import content_when_loaded
from stereo_framework.core.reached_sources import files_of_code
from stereo_framework.core.step import Step
from stereo_framework.io import has_content, is_replaceable, read_bytes, resolve_inside, write_bytes
from stereo_framework.script import Script
from stereo_framework.script.include import RESOLVED

SOURCES = "plugins"
"""Name of the subfolder of a results folder with copies of source files."""

LARGEST_COPY = 50 * 2**20
"""Maximum size of a file that is copied, in bytes."""

_REFERENCE = re.compile(rf"{SOURCES}/(?:(\d{{1,9}})/)?".encode())
"""Pattern of the part of a resolved script that names a copied file.

The number has few digits, because Python refuses to convert thousands of digits.
"""

_KEYS_WITHOUT_PATHS = ("name", "scenes", "seed", "search", "evaluation", "report")
"""Keys of a resolved script whose values are not paths of files of a stage."""


@dataclass(frozen=True)
class WrittenScripts:
    """Result of writing the scripts of a run to a results folder.

    Parameters
    ----------
    names : tuple of str
        Names of the files of the resolved scripts, in the order of the scripts.
    files : tuple of Path
        Original paths of the scripts, and of the plug-ins and functions that they name.
    left_out : tuple of str
        Files that the run needs but that are not in the folder, each with the reason.
    """

    names: tuple[str, ...]
    files: tuple[Path, ...]
    left_out: tuple[str, ...]


def write_scripts(folder: Path, scripts: Sequence[Script]) -> WrittenScripts:
    """Write resolved scripts and copies of their source files to a results folder.

    Two different scripts of the same name are written to two files. Only the second
    file name has a number. The key `name` in the script is unchanged.

    Parameters
    ----------
    folder : Path
        Results folder, which is a protected output folder.
    scripts : sequence of Script
        Scripts of a run.

    Returns
    -------
    WrittenScripts
        The names of the written scripts, and the files that are not in the folder.

    Raises
    ------
    DataError
        A file cannot be written, or the folder contains a file of the user with the
        same name.
    """
    needed = [_needed_files(script) for script in scripts]
    sources: dict[Path, _CodeFile] = {}
    data_files: dict[Path, None] = {}
    for files in needed:
        sources |= files.code
        data_files |= files.data
    copies = _Copies(folder, _numbers_in_use(folder, scripts, sources))
    copies.add(sources.values(), data_files)

    texts: dict[str, str] = {}
    names = []
    for script, files in zip(scripts, needed, strict=True):
        resolved = _with_paths_in_folder(script, files, copies.path_in_folder)
        text = yaml.safe_dump(resolved, sort_keys=False)
        name = _name_of_file(script.name, text, texts)
        names.append(name)
        texts[name] = text
    for name, text in texts.items():
        write_bytes(folder / name, text.encode())
    script_files = [script.path for script in scripts if script.path is not None]
    return WrittenScripts(tuple(names), (*script_files, *sources), copies.left_out)


def resolved_scripts(folder: Path) -> list[Path]:
    """Return the sorted paths of the resolved scripts in a results folder."""
    return sorted(path for path in folder.glob(f"*{RESOLVED}") if path.is_file())


def numbered_file_name(script: str, number: int) -> str:
    """Return the file name of one of several resolved scripts of the same name.

    Parameters
    ----------
    script : str
        Name of the scripts.
    number : int
        Number of the script. The name of the first file has no number.
    """
    ending = "" if number == 1 else f"-{number}"
    return f"{script}{ending}{RESOLVED}"


def _name_of_file(script: str, text: str, texts: Mapping[str, str]) -> str:
    """Return the name of the file of a resolved script.

    Parameters
    ----------
    script : str
        Name of the script.
    text : str
        Text of the resolved script.
    texts : mapping of str to str
        Texts of the scripts so far, by the names of their files.
    """
    names_so_far = {name.casefold(): name for name in texts}
    for number in itertools.count(1):
        name = numbered_file_name(script, number)
        other_name = names_so_far.get(name.casefold())
        if other_name is None:
            return name
        if texts[other_name] == text:
            return other_name
    raise AssertionError("the loop over the numbers has no end")


# --- subfolders with copies -----------------------------------------------------------


def subfolder_prefix(number: int) -> str:
    """Return the path prefix that the files in a subfolder have in scripts.

    The number 1 means the folder `SOURCES` itself.
    """
    return f"{SOURCES}/" if number == 1 else f"{SOURCES}/{number}/"


def first_subfolder_number(names: Iterable[str]) -> int:
    """Return the number of the first subfolder that may contain files.

    Parameters
    ----------
    names : iterable of str
        Paths of the files relative to the subfolder.
    """
    # In the subfolder with number 1, a folder such as `2` would be taken for a numbered
    # subfolder.
    has_number = any(name.partition("/")[0].isdecimal() for name in names)
    return 2 if has_number else 1


def entries_below(place: Path, *, is_first: bool) -> dict[str, Path]:
    """Return all files, links and devices in a subfolder, by their relative paths.

    Parameters
    ----------
    place : Path
        Subfolder of a results folder. It may be missing.
    is_first : bool
        Whether the subfolder contains the numbered subfolders, which are left out.
    """
    entries: dict[str, Path] = {}
    for parent, folders, files in os.walk(place):
        folders.sort()
        if is_first and Path(parent) == place:
            folders[:] = [name for name in folders if not name.isdecimal()]
        # The function `os.walk` does not enter a folder that is a link.
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for name in (*links, *sorted(files)):
            path = Path(parent, name)
            entries[path.relative_to(place).as_posix()] = path
    return entries


def with_changed_paths(script: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return a resolved script with other texts in all keys that may contain paths."""
    changed_script = dict(script)
    for key, value in script.items():
        if key not in _KEYS_WITHOUT_PATHS:
            changed_script[key] = _with_changed_texts(value, change)
    return changed_script


def _with_changed_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return plain data with other texts."""
    if isinstance(value, dict):
        return {key: _with_changed_texts(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_changed_texts(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


# --- files that a script needs ------------------------------------------------------


@dataclass(frozen=True)
class _CodeFile:
    """Python file that a script names, and the function that returns its content.

    A process imports a plug-in only once. Therefore the content of a plug-in is its
    content at the time of the import.
    """

    path: Path
    read: Callable[[Path], bytes]


@dataclass
class _NeededFiles:
    """Files that a script names.

    Parameters
    ----------
    code : dict of Path to _CodeFile
        Python files, by path.
    data : dict of Path to None
        Data files of Python functions and of the stages of plug-ins.
    values : list of (Located, object)
        Rule and value of each parameter that contains paths.
    """

    code: dict[Path, _CodeFile] = field(default_factory=dict)
    data: dict[Path, None] = field(default_factory=dict)
    values: list[tuple[Any, Any]] = field(default_factory=list)


def _needed_files(script: Script) -> _NeededFiles:
    """Return the files that a script names."""
    needed = _NeededFiles()
    for plugin in script.resolved.get("plugins", ()):
        if plugin.endswith(".py"):
            path = Path(os.path.realpath(plugin))
            needed.code[path] = _CodeFile(path, content_when_loaded)
    examined_steps: set[Step] = set()
    for expansion in script.expansions:
        for outer_step in expansion.method.steps_of_all_values():
            for _, step in outer_step.walk(""):
                if step not in examined_steps:
                    examined_steps.add(step)
                    _add_files_of_step(step, needed)
    return needed


def _add_files_of_step(step: Step, needed: _NeededFiles) -> None:
    """Add the files that a stage names to the files of its script."""
    is_function = step.stage.is_built_in and step.stage.name == "python"
    for name, parameter in step.stage.parameters.items():
        rule = path_rule(parameter.annotation)
        value = step.parameters.get(name)
        if rule is None or not value:
            continue
        needed.values.append((rule, value))
        if is_function and name == "function" and ".py:" in value:
            path = Path(os.path.realpath(value.rpartition(":")[0]))
            needed.code.setdefault(path, _CodeFile(path, Path.read_bytes))
    if is_function or not step.stage.is_built_in:
        # A function of a plug-in may raise any exception, which the run reports.
        with suppress(Exception):
            needed.data |= dict.fromkeys(_plain_files(step.files()))


def _plain_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the resolved paths of files, and of all files in folders."""
    for path in paths:
        real_path = Path(os.path.realpath(path))
        if real_path.is_dir():
            yield from sorted(file for file in real_path.rglob("*") if file.is_file())
        else:
            yield real_path


# --- copies -------------------------------------------------------------------------


class _Copies:
    """Copies of source files in a results folder.

    All files from the same folder keep their places relative to each other. Files from
    another folder are copied to a numbered subfolder, so that a module does not import
    a file that did not lie next to it.

    Parameters
    ----------
    folder : Path
        Results folder.
    numbers_in_use : set of int
        Numbers of the subfolders that must not be changed. The number 1 means the
        folder `SOURCES` itself.
    """

    def __init__(self, folder: Path, numbers_in_use: set[int]):
        self._reasons: dict[Path, str] = {}
        self._folder = folder
        self._real_folder = Path(os.path.realpath(folder))
        self._numbers_in_use = numbers_in_use
        self._copies: dict[Path, str] = {}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Paths of needed files that are not in the folder, each with the reason."""
        return tuple(f"{file}: {reason}" for file, reason in self._reasons.items())

    def path_in_folder(self, path: str) -> str:
        """Return the path of a file relative to the results folder.

        A file outside the folder that was not copied keeps its absolute path.
        """
        real_path = Path(os.path.realpath(path))
        if real_path in self._copies:
            return self._copies[real_path]
        if real_path.is_relative_to(self._real_folder):
            return real_path.relative_to(self._real_folder).as_posix()
        self._leave_out(real_path, "models, maps and programs are not copied")
        return path

    def add(self, sources: Iterable[_CodeFile], data_files: Iterable[Path]) -> None:
        """Copy source files, the modules that they import, and their data files."""
        outside = [
            source for source in sources if not source.path.is_relative_to(self._real_folder)
        ]
        roots = _outermost_folders(source.path.parent for source in outside)
        contents: dict[Path, dict[Path, Callable[[Path], bytes]]] = {root: {} for root in roots}
        for source in outside:
            [root] = [root for root in roots if source.path.is_relative_to(root)]
            for file in files_of_code(source.path, source.read):
                self._assign(file, contents, [root], source.read)
        for file in data_files:
            self._assign(file, contents, roots, Path.read_bytes)
        for root, readers in contents.items():
            self._copy(root, readers)

    def _assign(
        self,
        file: Path,
        contents: Mapping[Path, dict[Path, Callable[[Path], bytes]]],
        roots: Iterable[Path],
        read: Callable[[Path], bytes],
    ) -> None:
        """Assign a file to the root folder that contains it.

        For other files, the method records why they are not copied.
        """
        if file.is_relative_to(self._real_folder) or not is_users_file(file):
            return
        enclosing_roots = [root for root in roots if file.is_relative_to(root)]
        if not enclosing_roots:
            self._leave_out(file, "it lies outside the folder of the plug-in")
        elif file.is_file() and file.stat().st_size > LARGEST_COPY:
            self._leave_out(file, f"it is larger than {LARGEST_COPY >> 20} MiB")
        else:
            file_reader = read if file.suffix == ".py" else Path.read_bytes
            contents[enclosing_roots[0]].setdefault(file, file_reader)

    def _leave_out(self, file: Path, reason: str) -> None:
        """Record the reason why a file is not copied. An earlier reason is kept."""
        self._reasons.setdefault(file, reason)

    def _copy(self, root: Path, readers: Mapping[Path, Callable[[Path], bytes]]) -> None:
        """Copy files from a folder to a subfolder of the results folder.

        Earlier copies in the subfolder that are not among these files are deleted.
        """
        contents: dict[str, bytes] = {}
        for file, read in readers.items():
            try:
                contents[file.relative_to(root).as_posix()] = read(file)
            except OSError as error:
                self._leave_out(file, f"it cannot be read: {error.strerror}")
        place = self._place(contents)
        for name in _files_below(place, is_first=place.name == SOURCES) or ():
            if name not in contents:
                os.unlink(resolve_inside(self._folder, place / name))
        for name, content in contents.items():
            if not has_content(place / name, content):
                write_bytes(place / name, content)
            copy = (place / name).relative_to(self._folder).as_posix()
            self._copies[root / name] = copy

    def _place(self, contents: Mapping[str, bytes]) -> Path:
        """Return the subfolder to which files are copied.

        Parameters
        ----------
        contents : mapping of str to bytes
            Contents of the files, by their paths relative to the subfolder.
        """
        if os.path.islink(self._folder / SOURCES):
            message = (
                f"{self._folder / SOURCES}: the folder is a link, so no file is written there; "
                "remove the link, or choose another results folder"
            )
            raise DataError(message)
        for number in itertools.count(first_subfolder_number(contents)):
            place = self._folder / subfolder_prefix(number)
            # This call refuses a link that leads out of the results folder.
            resolve_inside(self._folder, place / "file")
            present_files = _files_below(place, is_first=number == 1)
            if present_files is None:
                # The subfolder contains a link or a device, which is not overwritten.
                continue
            # A subfolder is chosen if it contains these files already, or if no script
            # needs its files and the user has not changed them.
            is_same = present_files == contents.keys() and all(
                has_content(place / name, contents[name]) for name in present_files
            )
            is_free = number not in self._numbers_in_use and all(
                is_replaceable(place / name) for name in present_files
            )
            if is_same or is_free:
                self._numbers_in_use.add(number)
                return place
        raise AssertionError("the loop over the numbers has no end")


def _outermost_folders(folders: Iterable[Path]) -> list[Path]:
    """Return the folders that lie in no other folder, without repetitions."""
    distinct = list(dict.fromkeys(folders))
    return [
        folder
        for folder in distinct
        if not any(folder != other and folder.is_relative_to(other) for other in distinct)
    ]


def _files_below(place: Path, *, is_first: bool) -> set[str] | None:
    """Return the paths of the files in a subfolder, relative to the subfolder.

    Parameters
    ----------
    place, is_first
        Parameters of `entries_below`.

    Returns
    -------
    set of str, or None
        None means that the subfolder contains a link or a device.
    """
    entries = entries_below(place, is_first=is_first)
    if all(stat.S_ISREG(path.lstat().st_mode) for path in entries.values()):
        return set(entries)
    return None


def _numbers_in_use(folder: Path, scripts: Iterable[Script], sources: Iterable[Path]) -> set[int]:
    """Return the numbers of the subfolders with copies that must not be changed.

    A copy is in use if another script in the folder names it, or if a new script uses
    the copy itself as its source.
    """
    real_folder = Path(os.path.realpath(folder))
    references = [
        path.relative_to(real_folder).as_posix().encode()
        for path in sources
        if path.is_relative_to(real_folder)
    ]
    replaced_names = _possible_file_names(scripts)
    for path in resolved_scripts(folder):
        if path.name.casefold() not in replaced_names:
            with suppress(DataError):
                references.append(read_bytes(path, limits.RESOLVED_SCRIPT))
    numbers: set[int] = set()
    for reference in references:
        numbers.update(int(match[1] or 1) for match in _REFERENCE.finditer(reference))
    return numbers


def _possible_file_names(scripts: Iterable[Script]) -> set[str]:
    """Return the names that the files of scripts may have, in lower case."""
    count_of_name: dict[str, int] = {}
    file_names: set[str] = set()
    for script in scripts:
        name = script.name.casefold()
        number = count_of_name.get(name, 0) + 1
        count_of_name[name] = number
        file_names.add(numbered_file_name(name, number))
    return file_names


# --- paths in a script --------------------------------------------------------------


def _with_paths_in_folder(
    script: Script, needed: _NeededFiles, change: Callable[[str], str]
) -> dict[str, Any]:
    """Return a resolved script with other paths of its files.

    The paths of copied files start at the results folder.

    Parameters
    ----------
    script : Script
        Script with absolute paths.
    needed : _NeededFiles
        Files that the script names.
    change : callable
        Function that takes an absolute path and returns the path to write.
    """
    changed_texts: dict[str, str] = {}
    for rule, value in needed.values:
        if isinstance(value, str):
            changed_texts[value] = rule.replace(value, change)
        elif isinstance(value, list | tuple):
            changed_texts |= dict(zip(value, rule.replace(value, change), strict=True))
    plugins = script.resolved.get("plugins", [])
    changed_texts |= {name: change(name) for name in plugins if name.endswith(".py")}
    return with_changed_paths(script.resolved, lambda text: changed_texts.get(text, text))
