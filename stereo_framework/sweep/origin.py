"""Record the commands that wrote to a results folder, and the commits of their scripts.

The file `ORIGIN` has one line for each command. New lines are appended, so that a
result that was not computed again keeps the record of its command.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, warn
from stereo_framework.core.package_files import PACKAGE_FOLDER, package_folder
from stereo_framework.io import read_bytes, write_bytes
from stereo_framework.sweep.environment import current_time

ORIGIN = "origin.jsonl"
"""Name of the file with the records of commands, as JSON texts in separate lines."""

_MAX_RECORDS = 1000
"""Maximum number of records in the file. A new record replaces the oldest record."""

_PROGRAM = "stereo-framework"
"""Name of the command of this package."""

_GIT_SECONDS = 10
"""Maximum run time of a call of git, in seconds."""

_SAFE_SETTINGS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
"""Options that keep git from starting programs that a repository names."""

_COPIED_SETTINGS = (
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.repositoryformatversion",
    "core.symlinks",
    "extensions.objectformat",
)
"""Settings of a repository that decide whether git regards a file as changed."""


# --- the records of a folder ----------------------------------------------------------


def add_record(folder: Path, record: Mapping[str, Any], files: Iterable[Path]) -> None:
    """Append the record of a command to a results folder.

    If the last record differs from the new record only in its time, no record is added.
    If the file has too many records, the oldest records are removed.

    Parameters
    ----------
    folder : Path
        Results folder, which is a protected output folder.
    record : mapping
        Values of the record for JSON, such as the names of the scripts.
    files : iterable of Path
        Files of the user whose repositories the record names.

    Warns
    -----
    ResultWarning
        The present file cannot be read or is too large. It is not changed.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    path = folder / ORIGIN
    try:
        content = read_bytes(path, limits.TEXT, allow_empty=True) if path.is_file() else b""
    except DataError as error:
        warn([f"{error}; the command is not recorded; remove or rename this file"])
        return
    complete_record = {
        "time": current_time(),
        "command": _command_line(),
        **record,
        "repositories": repositories(files),
    }
    previous_record = (_records(content) or [{}])[-1]
    if previous_record | {"time": None} == complete_record | {"time": None}:
        return
    lines = [*content.splitlines(), json.dumps(complete_record).encode()]
    write_bytes(path, _last_lines(lines))


def _last_lines(lines: Sequence[bytes]) -> bytes:
    """Return the content of a file with as many of the last lines as are allowed."""
    last_lines = list(lines[-_MAX_RECORDS:])
    size = sum(len(line) + 1 for line in last_lines)
    while size > limits.TEXT and len(last_lines) > 1:
        size -= len(last_lines.pop(0)) + 1
    return b"".join(line + b"\n" for line in last_lines)


def last_record(folder: Path) -> dict[str, Any]:
    """Return the record of the last command that wrote to a results folder.

    The result is empty if the folder has no readable record. The folder may come from
    another author, so the values may have any type.
    """
    try:
        records = _records(read_bytes(folder / ORIGIN, limits.TEXT))
    except DataError:
        return {}
    return records[-1] if records else {}


def _records(content: bytes) -> list[dict[str, Any]]:
    """Return the readable records in the content of the file `ORIGIN`."""
    records = []
    for line in content.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def command_words() -> list[str] | None:
    """Return the command line of this program, or None if Python code calls it."""
    program = Path(sys.argv[0])
    is_module = program.name == "__main__.py" and program.parent == PACKAGE_FOLDER
    if program.stem != _PROGRAM and not is_module:
        return None
    return [_PROGRAM, *sys.argv[1:]]


def _command_line() -> str | None:
    """Return the text of the command line, or None if Python code calls the program."""
    words = command_words()
    return None if words is None else shlex.join(words)


# --- repositories ---------------------------------------------------------------------


class _Repository(NamedTuple):
    """Files and folders of a git repository below ``.git``."""

    settings: Path
    index_file: Path
    objects: Path
    exclude: Path


def repositories(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the commits of the git repositories in which files lie.

    Built-in scripts and files outside any repository are left out. The result is empty
    if git is not installed.

    Parameters
    ----------
    files : iterable of Path
        Scripts and source files of a run.

    Returns
    -------
    list of dict
        For each repository, ``commit`` is the current commit, ``files`` are the paths
        of the files in the repository. ``changed`` is True if a tracked file of the
        working tree differs from the commit, or if one of the files is not tracked. It
        is None if git could not determine this.
    """
    files_of_folder: dict[Path, list[Path]] = {}
    for file in files:
        path = file.resolve()
        folder = _folder_with_git(path)
        if folder is not None and not path.is_relative_to(package_folder()):
            files_of_folder.setdefault(folder, []).append(path)
    records = []
    for folder, paths in files_of_folder.items():
        commit = _git(["rev-parse", "--verify", "HEAD"], folder)
        if commit is not None:
            relative_paths = sorted({path.relative_to(folder).as_posix() for path in paths})
            changed = _is_changed(folder, commit, relative_paths)
            records.append({"commit": commit, "changed": changed, "files": relative_paths})
    return records


def _folder_with_git(path: Path) -> Path | None:
    """Return the nearest folder above a file that contains ``.git``, or None."""
    for folder in path.parents:
        if (folder / ".git").exists():
            return folder
    return None


def _is_changed(folder: Path, commit: str, relative_paths: Sequence[str]) -> bool | None:
    """Return whether a working tree differs from a commit, or None if it is unknown.

    The settings of a repository may name programs, for example filters, which git would
    start to compare files. A repository may come from another author. Therefore git
    uses a temporary repository folder that contains only safe settings and a copy of
    the index.

    Parameters
    ----------
    folder : Path
        Top folder of the working tree.
    commit : str
        Hexadecimal name of the commit.
    relative_paths : sequence of str
        Paths of files relative to the folder. If one of them is not tracked, the
        working tree counts as changed.
    """
    repository = _repository(folder)
    if repository is None:
        return None
    with tempfile.TemporaryDirectory(prefix="stereo_framework-") as name:
        git_folder = Path(name)
        (git_folder / "refs").mkdir()
        (git_folder / "info").mkdir()
        (git_folder / "HEAD").write_text(f"{commit}\n", encoding="utf-8")
        (git_folder / "config").write_text(_settings_text(repository.settings), encoding="utf-8")
        try:
            # Git compares the time of the index with the times of the files, so the
            # copy keeps the time.
            shutil.copy2(repository.index_file, git_folder / "index")
            if repository.exclude.is_file():
                shutil.copy2(repository.exclude, git_folder / "info" / "exclude")
        except OSError:
            return None
        variables = {
            "GIT_DIR": name,
            "GIT_WORK_TREE": str(folder),
            "GIT_INDEX_FILE": str(git_folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(repository.objects),
        }
        status_options = ["--porcelain", "--untracked-files=no", "--ignore-submodules=all"]
        status = _git(["status", *status_options], folder, variables)
        if status is None:
            return None
        listing = _git(["ls-files", "-z", "--", *relative_paths], folder, variables) or ""
        return bool(status) or not set(relative_paths) <= set(listing.split("\0"))


def _repository(folder: Path) -> _Repository | None:
    """Return the folders of a repository, or None if git cannot find them."""
    options = ["--path-format=absolute"]
    for part in ("config", "index", "objects", "info/exclude"):
        options += ["--git-path", part]
    lines = (_git(["rev-parse", *options], folder) or "").splitlines()
    return _Repository(*map(Path, lines)) if len(lines) == 4 else None


def _settings_text(settings: Path) -> str:
    """Return the settings of a repository that decide whether a file is changed."""
    lines = []
    for name in _COPIED_SETTINGS:
        # With --file, git does not read the files that the settings include.
        value = _git(["config", "--file", str(settings), "--get", name], settings.parent)
        if value is not None and value.isalnum():
            section, _, key = name.partition(".")
            lines.append(f"[{section}]\n{key} = {value}\n")
    return "".join(lines)


def _git(
    git_arguments: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None
) -> str | None:
    """Run git, and return its output, or None if git fails or is not installed.

    Parameters
    ----------
    git_arguments : sequence of str
        Command of git with its options.
    folder : Path
        Current folder of git.
    variables : mapping of str to str, optional
        Further variables of the environment.
    """
    program = shutil.which("git")
    if program is None:
        return None
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        # A repository may name a program that fetches its missing objects.
        "GIT_ALLOW_PROTOCOL": "none",
        "LC_ALL": "C",
        **(variables or {}),
    }
    try:
        process = subprocess.run(
            [program, *_SAFE_SETTINGS, *git_arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(process.stdout).strip("\n") if process.returncode == 0 else None
