"""Search for the sources that a module reaches through its imports.

A stored result is outdated if one of these sources changes. A source is a Python file,
or a data file that a Python file names. Modules of this package are followed by name:
the import of ``stereo_framework.aggregation.box`` reaches this module, but no other
module that the ``__init__.py`` of ``stereo_framework.aggregation`` imports. For modules
of users, `source_files` finds the files.
"""

import functools
import hashlib
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

import yaml

from stereo_framework.core.contents import content_digest_of
from stereo_framework.core.loaded_code import loaded_content
from stereo_framework.core.module_sources import source_files
from stereo_framework.core.package_files import package_folder
from stereo_framework.core.plugins import content_when_loaded
from stereo_framework.core.source_summaries import ImportedName, SourceSummary, summarize_source

PACKAGE = "stereo_framework"
"""Name of this package."""

_PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
"""Folder of this package."""

_NUMERICAL_PACKAGES = {
    "numpy": ("numpy",),
    "numba": ("numba",),
    "scipy": ("scipy",),
    "cv2": ("opencv-python-headless", "opencv-python", "opencv-contrib-python"),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "maxflow": ("PyMaxflow",),
}
"""Names of the distributions of numerical packages, by the name of the module.

If a module of this package imports one of these packages, the version of the package
counts. The other packages that this package imports compute no disparities.
"""

_TABLE_OF_PROTOCOLS = Path("evaluation/presets.yaml")
"""Table of the built-in protocols, relative to the folder of this package.

It does not count as a source, because all fields of a protocol are part of the keys of
its results. A changed protocol therefore affects only the results of this protocol.
"""

_MAX_FILES_PER_PATTERN = 1000
"""Maximum number of files that a pattern such as ``*.npy`` may name."""

_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,7}$")
"""End of the name of a data file, such as ``.npy``.

Files without such an ending are not found. Their authors list them in ``files=``.
"""


@dataclass(frozen=True)
class ReachedSources:
    """The sources and the installed packages that a module reaches.

    Parameters
    ----------
    digests : frozenset of (str, bytes)
        Name and digest of each source. For a Python file, the digest is that of the
        syntax tree without comments and docstrings.
    packages : frozenset of str
        Names of the reached numerical packages, such as ``numpy``.
    modules : frozenset of str
        Names of the reached modules of this package.
    """

    digests: frozenset[tuple[str, bytes]] = frozenset()
    packages: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()

    def __or__(self, other: "ReachedSources") -> "ReachedSources":
        """Return the sources of both objects."""
        return ReachedSources(
            self.digests | other.digests,
            self.packages | other.packages,
            self.modules | other.modules,
        )


def sources_of_modules(names: Iterable[str]) -> ReachedSources:
    """Return the sources that objects of installed packages reach.

    Parameters
    ----------
    names : iterable of str
        Absolute dotted names of modules or their objects. For names outside this
        package, only the numerical package counts.
    """
    modules: set[str] = set()
    packages: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        first_part = name.partition(".")[0]
        if first_part != PACKAGE:
            if first_part in _NUMERICAL_PACKAGES:
                packages.add(first_part)
            continue
        module = _module_of_object(name)
        if module not in modules:
            modules.add(module)
            waiting += _names_in_module(module)

    digests: set[tuple[str, bytes]] = set()
    for module in modules:
        digests.update(_digests_of_module(module))
    return ReachedSources(frozenset(digests), frozenset(packages), frozenset(modules))


def sources_of_file(file: Path) -> ReachedSources:
    """Return the sources that a Python file of a user reaches.

    Files of the user count as they were when this process loaded them.

    Parameters
    ----------
    file : Path
        File of a plug-in.
    """
    digests: set[tuple[str, bytes]] = set()
    packages: set[str] = set()
    names: dict[str, None] = {}
    for path in source_files(file):
        if path.suffix != ".py":
            digests.add((path.name, content_digest_of(path)))
            continue
        summary = _summary_of_file(path)
        # The name of the file itself does not count, so that it can be renamed.
        digests.add(("" if path == file.resolve() else path.name, summary.digest))
        digests.update(_data_of_file(path, summary))
        for name in _absolute_names(summary):
            names[name] = None
            packages.add(name.partition(".")[0])

    reached = sources_of_modules(names)
    users_packages = frozenset(package for package in packages if _distributions(package))
    return reached | ReachedSources(frozenset(digests), users_packages)


def versions_of_packages(packages: Iterable[str]) -> list[str]:
    """Return the names and versions of installed packages, such as ``numpy 2.1.0``.

    Parameters
    ----------
    packages : iterable of str
        Names of modules, such as ``cv2``.
    """
    versions = []
    for package in sorted(packages):
        for distribution in _distributions(package):
            try:
                versions.append(f"{distribution} {version(distribution)}")
            except PackageNotFoundError:
                continue
    return versions


@functools.cache
def _distributions(module: str) -> tuple[str, ...]:
    """Return the names of the distributions that contain a module.

    The tuple is empty for modules of Python, of the user and of this package.
    """
    if module in _NUMERICAL_PACKAGES:
        return _NUMERICAL_PACKAGES[module]
    if module == PACKAGE or module in sys.stdlib_module_names:
        return ()
    return tuple(sorted(packages_distributions().get(module, ())))


# --- modules of this package --------------------------------------------------------


@functools.cache
def _module_of_object(name: str) -> str:
    """Return the module of this package that defines an object.

    Parameters
    ----------
    name : str
        Dotted name of a module or an object, such as
        ``stereo_framework.aggregation.box``. Names that an ``__init__.py`` imports from
        another module are followed to that module.

    Returns
    -------
    str
        Name of the module. The name of a package stands for its ``__init__.py``.
    """
    module = PACKAGE
    parts = name.split(".")[1:]
    while parts and _file_of_module(f"{module}.{parts[0]}") is not None:
        module = f"{module}.{parts[0]}"
        parts = parts[1:]
    if not parts or not _is_package(module):
        return module
    export = _summary_of_module(module).exports.get(parts[0])
    if export is None or export.name.partition(".")[0] != PACKAGE:
        return module
    target = ".".join([export.name, *parts[1:]])
    return module if target == name else _module_of_object(target)


def _names_in_module(module: str) -> Iterator[str]:
    """Yield the names of the modules and objects that a module of this package uses."""
    yield from _absolute_names(_summary_of_module(module))


def _absolute_names(summary: SourceSummary) -> Iterator[str]:
    """Yield the absolute names of the modules and objects that a source uses.

    A source may import a package and use only some of its attributes. The name of the
    package is then left out. For example, a source that imports ``aggregation`` and
    calls ``aggregation.box`` uses the name ``stereo_framework.aggregation.box``.
    """
    for imported in summary.imports:
        if imported.level == 0 and not _is_package(imported.name):
            yield _without_star(imported)
    yield from summary.attributes
    yield from summary.whole_modules


def _without_star(imported: ImportedName) -> str:
    """Return the name of the module if all its objects are imported with a star."""
    return imported.name.removesuffix(".*")


@functools.cache
def _file_of_module(module: str) -> Path | None:
    """Return the file of a module of this package, or None without such a module."""
    folder = _PACKAGE_FOLDER.joinpath(*module.split(".")[1:])
    for file in (folder.with_suffix(".py"), folder / "__init__.py"):
        if file.is_file():
            return file
    return None


def _is_package(module: str) -> bool:
    """Return whether a name is that of this package or of a package in it."""
    if module.partition(".")[0] != PACKAGE:
        return False
    file = _file_of_module(module)
    return file is not None and file.name == "__init__.py"


def _summary_of_module(module: str) -> SourceSummary:
    """Return the summary of a module of this package."""
    file = _file_of_module(module)
    assert file is not None, "the name was found as that of a module"
    return _summary_of_file(file)


def _summary_of_file(file: Path) -> SourceSummary:
    """Return the summary of a Python file as it was when it was loaded."""
    return summarize_source(content_when_loaded(file))


@functools.cache
def _digests_of_module(module: str) -> tuple[tuple[str, bytes], ...]:
    """Return the names and digests of a module and of the data files that it names.

    Data files are named relative to the folder of the module, of this package or of the
    built-in scripts.
    """
    file = _file_of_module(module)
    assert file is not None, "the name was found as that of a module"
    summary = _summary_of_file(file)
    digests = [(module, summary.digest)]
    folders = [file.parent, _PACKAGE_FOLDER, package_folder()]
    for data_file in _named_files(folders, summary):
        is_table_of_protocols = data_file == _PACKAGE_FOLDER / _TABLE_OF_PROTOCOLS
        # Python files count if they are imported.
        if data_file.suffix != ".py" and not is_table_of_protocols:
            digests.append((data_file.name, digest_of_data(data_file)))
    return tuple(digests)


# --- data files ---------------------------------------------------------------------


def _data_of_file(file: Path, summary: SourceSummary) -> Iterator[tuple[str, bytes]]:
    """Yield the names and digests of the data files that a plug-in names.

    Names of data files start at the folder of the file. They may lead through folders
    that the source names too, as in ``Path(__file__).parent / "data" / "x.npy"``.
    """
    folders = [file.parent]
    if b"parent" in content_when_loaded(file):
        folders += file.parents[1:3]
    names = [pattern for pattern in summary.file_patterns if "*" not in pattern]
    subfolders = [folder / name for folder in folders for name in names if (folder / name).is_dir()]
    for data_file in _named_files([*folders, *subfolders], summary):
        yield data_file.name, digest_of_data(data_file)


def _named_files(folders: Sequence[Path], summary: SourceSummary) -> list[Path]:
    """Return the files that a source names by constant texts, sorted.

    Parameters
    ----------
    folders : sequence of Path
        Folders from which relative names start.
    summary : SourceSummary
        Summary of the source.
    """
    files: set[Path] = set()
    patterns = [pattern for pattern in summary.file_patterns if _SUFFIX.search(pattern)]
    for folder in folders:
        for pattern in patterns:
            files.update(_files_of_pattern(folder, pattern))
    return sorted(files)


def _files_of_pattern(folder: Path, pattern: str) -> list[Path]:
    """Return the existing files with a name or a pattern such as ``table_*.npy``."""
    if "*" not in pattern:
        path = folder / pattern
        return [path.resolve()] if path.is_file() else []
    if "**" in pattern or pattern.startswith("/"):
        return []
    try:
        paths = itertools.islice(folder.glob(pattern), _MAX_FILES_PER_PATTERN)
        return [path.resolve() for path in paths if path.is_file()]
    except (OSError, ValueError, NotImplementedError):
        # The text is no valid pattern.
        return []


def digest_of_data(file: Path) -> bytes:
    """Return the digest of a file, without the comments of a Python or YAML file.

    Parameters
    ----------
    file : Path
        File of any format. A YAML file counts with its values.
    """
    if file.suffix == ".py":
        return _summary_of_file(file).digest
    if file.suffix in (".yaml", ".yml"):
        digest = _digest_of_yaml(content_when_loaded(file))
        if digest is not None:
            return digest
    return content_digest_of(file)


@functools.cache
def _digest_of_yaml(content: bytes) -> bytes | None:
    """Return the digest of the values in a YAML file, or None if it cannot be read."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        values = yaml.load(content, loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()


# --- code in memory -----------------------------------------------------------------


def sources_of_loaded_code(values: Any) -> ReachedSources:
    """Return the content of functions that a program or a notebook defines.

    Such functions count as they are in memory, because a notebook defines functions
    again and a program may reload modules.

    Parameters
    ----------
    values : object
        Functions and classes, for example in a list.
    """
    content = loaded_content(values)
    names = [name for name in content.installed_names if not _is_package(name)]
    packages = {name.partition(".")[0] for name in content.installed_names}
    users_packages = frozenset(package for package in packages if _distributions(package))
    own_code = ReachedSources(frozenset({("code in memory", content.digest)}), users_packages)
    return own_code | sources_of_modules(names)
