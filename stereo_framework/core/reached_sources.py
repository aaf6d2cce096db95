"""Find all source files that a module imports, directly or through other modules.

A source is a Python file, or a data file whose name a Python file contains. If a source
of a stage changes, the stored results of the stage are outdated.

A module of this package is found by its name. For example, an import of
``stereo_framework.aggregation.box`` leads to the module ``box``, but not to the other
modules that the ``__init__.py`` of ``stereo_framework.aggregation`` imports. The
function `source_files` finds the source files of a module of the user.
"""

import functools
import hashlib
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

import yaml

from stereo_framework.core.contents import content_digest_of
from stereo_framework.core.loaded_code import loaded_content
from stereo_framework.core.module_sources import source_files
from stereo_framework.core.package_files import PACKAGE, PACKAGE_FOLDER, package_folder
from stereo_framework.core.plugins import content_when_loaded
from stereo_framework.core.source_summaries import SourceSummary, summarize_source

_NUMERICAL_PACKAGES = {
    "numpy": ("numpy",),
    "numba": ("numba",),
    "scipy": ("scipy",),
    "cv2": ("opencv-python-headless", "opencv-python", "opencv-contrib-python"),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "maxflow": ("PyMaxflow",),
}
"""Names under which pip may have installed a numerical package, by its import name.

If a module imports a numerical package, a stored result depends on the version of the
numerical package. Other packages that this package imports have no influence on
disparities, so stored results do not depend on their versions.
"""

_TABLE_OF_PROTOCOLS = Path("evaluation/presets.yaml")
"""Path of the table of built-in protocols, relative to the folder of this package.

The table does not count as a source. Instead, the values of a protocol are a part of
the keys of its results. If a protocol in the table changes, the results of other
protocols stay valid.
"""

_MAX_FILES_PER_PATTERN = 1000
"""Maximum number of files that are read for a pattern such as ``*.npy``.

Further files that fit the pattern are ignored.
"""

_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,7}$")
"""Regular expression for the extension of a data file, such as ``.npy``.

The search does not find a data file without an extension. The author of a stage must
list such a file in the argument ``files=`` of the stage.
"""

_STEP_UPWARDS = re.compile(rb"\b(\w+) *= *\1\.parent\b")
"""Regular expression for a statement such as ``folder = folder.parent`` in a loop."""


@dataclass(frozen=True)
class ReachedSources:
    """Source files and packages that a module imports directly or indirectly.

    Parameters
    ----------
    digests : frozenset of (str, bytes)
        Name and digest of each source. The digest of a Python file depends only on its
        syntax tree, without comments and docstrings.
    packages : frozenset of str
        Names of imported packages, such as ``numpy``. Stored results depend on the
        versions of these packages.
    modules : frozenset of str
        Names of the imported modules of this package.
    """

    digests: frozenset[tuple[str, bytes]] = frozenset()
    packages: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()

    def __or__(self, other: "ReachedSources") -> "ReachedSources":
        """Return the union of the sources, packages and modules of two objects."""
        return ReachedSources(
            self.digests | other.digests,
            self.packages | other.packages,
            self.modules | other.modules,
        )


def sources_of_modules(names: Iterable[str]) -> ReachedSources:
    """Return the sources that modules of this package import directly or indirectly.

    Parameters
    ----------
    names : iterable of str
        Absolute dotted names of modules, or of objects in modules. If a name belongs to
        a numerical package, the result contains the name of this package. Names in
        other packages are ignored.
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
            waiting += _absolute_names(_summary_of_module(module))

    digests: set[tuple[str, bytes]] = set()
    for module in modules:
        digests.update(_digests_of_module(module))
    return ReachedSources(frozenset(digests), frozenset(packages), frozenset(modules))


def sources_of_file(file: Path) -> ReachedSources:
    """Return the sources that a Python file of the user imports directly or indirectly.

    If a file of the user was edited after this process loaded the file, the function
    uses the loaded content.

    Parameters
    ----------
    file : Path
        File of a plug-in.
    """
    digests: set[tuple[str, bytes]] = set()
    names: set[str] = set()
    for path in source_files(file):
        if path.suffix != ".py":
            digests.add((path.name, content_digest_of(path)))
            continue
        summary = _summary_of_file(path)
        # The name of the plug-in file is replaced by an empty string, so that results
        # stay valid if the user renames the file.
        digests.add(("" if path == file.resolve() else path.name, summary.digest))
        for data_file in _data_files(path, content_when_loaded(path), summary):
            digests.add((data_file.name, digest_of_data(data_file)))
        names.update(_absolute_names(summary))
    sources_of_user = ReachedSources(frozenset(digests), _installed_packages(names))
    return sources_of_user | sources_of_modules(names)


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


def _installed_packages(names: Iterable[str]) -> frozenset[str]:
    """Return the packages among the first parts of dotted names, without this package.

    Modules of the standard library and modules of the user are left out.
    """
    first_parts = {name.partition(".")[0] for name in names}
    return frozenset(package for package in first_parts if _distributions(package))


@functools.cache
def _distributions(module: str) -> tuple[str, ...]:
    """Return the names of the distributions that contain a module.

    The tuple is empty for modules of the standard library, for modules of the user and
    for modules of this package.
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
        ``stereo_framework.aggregation.box``. If an ``__init__.py`` imports the object
        from another module, the function returns the name of this other module.

    Returns
    -------
    str
        Name of the module, or name of a package if the ``__init__.py`` of the package
        defines the object.
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


def _absolute_names(summary: SourceSummary) -> Iterator[str]:
    """Yield the absolute names of the modules and objects that a source uses.

    If a source imports a package and uses only some attributes of the package, the
    function yields the names of the attributes instead of the name of the package. For
    example, if a source imports ``aggregation`` and calls ``aggregation.box``, the
    function yields ``stereo_framework.aggregation.box``.
    """
    for imported in summary.imports:
        if imported.level == 0 and not _is_package(imported.name):
            # `from module import *` uses the whole module.
            yield imported.name.removesuffix(".*")
    yield from summary.attributes
    yield from summary.whole_modules


@functools.cache
def _file_of_module(module: str) -> Path | None:
    """Return the file of a module, or None if this package has no such module."""
    folder = PACKAGE_FOLDER.joinpath(*module.split(".")[1:])
    for file in (folder.with_suffix(".py"), folder / "__init__.py"):
        if file.is_file():
            return file
    return None


def _is_package(module: str) -> bool:
    """Return whether a name is that of this package or of a subpackage."""
    if module.partition(".")[0] != PACKAGE:
        return False
    file = _file_of_module(module)
    return file is not None and file.name == "__init__.py"


def _summary_of_module(module: str) -> SourceSummary:
    """Return the summary of the source of an existing module of this package."""
    return _summary_of_file(_file_of_existing_module(module))


def _file_of_existing_module(module: str) -> Path:
    """Return the file of a module that `_module_of_object` has returned."""
    file = _file_of_module(module)
    assert file is not None, "the function `_module_of_object` has found the module"
    return file


def _summary_of_file(file: Path) -> SourceSummary:
    """Return the summary of the content that a Python file had when it was loaded."""
    return summarize_source(content_when_loaded(file))


@functools.cache
def _digests_of_module(module: str) -> tuple[tuple[str, bytes], ...]:
    """Return the names and digests of a module and of the data files of the module.

    A string in the source of the module contains the name of a data file. The name is
    relative to the folder of the module, to the folder of this package, or to the
    folder that contains the built-in scripts.
    """
    file = _file_of_existing_module(module)
    summary = _summary_of_file(file)
    digests = [(module, summary.digest)]
    folder_of_scripts = package_folder()
    folders = [file.parent, PACKAGE_FOLDER, folder_of_scripts]
    for data_file in _named_files(folders, summary):
        is_table_of_protocols = data_file == PACKAGE_FOLDER / _TABLE_OF_PROTOCOLS
        # A Python file counts as a source only if a module imports the file.
        if data_file.suffix != ".py" and not is_table_of_protocols:
            digests.append((data_file.name, digest_of_data(data_file)))
    return tuple(digests)


# --- data files ---------------------------------------------------------------------


def files_of_code(
    file: Path, read: Callable[[Path], bytes] = content_when_loaded
) -> dict[Path, None]:
    """Return the files that a Python file of the user needs.

    Files of installed packages are left out.

    Parameters
    ----------
    file : Path
        File of a plug-in, or of a function that a script names.
    read : callable
        Function that returns the content of a Python file.

    Returns
    -------
    dict of Path to None
        The file, the files of the modules that it imports directly or indirectly, and
        the data files that these modules name.
    """
    files: dict[Path, None] = {}
    for path in source_files(file):
        files[path] = None
        if path.suffix == ".py":
            content = read(path)
            files |= dict.fromkeys(_data_files(path, content, summarize_source(content)))
    return files


def _data_files(file: Path, content: bytes, summary: SourceSummary) -> list[Path]:
    """Return the paths of the data files that a Python file of the user names.

    The name of a data file is relative to the folder of the Python file, or to a
    subfolder whose name the Python file also contains. For example, the Python file may
    contain the expression ``Path(__file__).parent / "data" / "x.npy"``.

    Parameters
    ----------
    file : Path
        The Python file.
    content : bytes
        Content of the Python file.
    summary : SourceSummary
        Summary of this content.
    """
    folders = [file.parent]
    if _searches_above(content):
        folders += file.parents[1:3]
    names = [pattern for pattern in summary.file_patterns if "*" not in pattern]
    subfolders = [folder / name for folder in folders for name in names if (folder / name).is_dir()]
    return _named_files([*folders, *subfolders], summary)


def _searches_above(content: bytes) -> bool:
    """Return whether a Python file may search data files above its own folder.

    An expression such as ``Path(__file__).parents[1] / "x.npy"`` leads to the folder
    above. A single ``.parent`` leads to the folder of the file itself, unless a loop
    repeats it. Files above this folder must not change the identity of a run without
    need, because the user may move the folder.
    """
    if b"parents" in content or _STEP_UPWARDS.search(content):
        return True
    return b"parent" in content and content.count(b"parent") + content.count(b"dirname") > 1


def _named_files(folders: Sequence[Path], summary: SourceSummary) -> list[Path]:
    """Return the sorted paths of existing files whose names are strings in a source.

    Parameters
    ----------
    folders : sequence of Path
        Folders in which the files are searched.
    summary : SourceSummary
        Summary of the source, which contains the names of files.
    """
    files: set[Path] = set()
    patterns = [pattern for pattern in summary.file_patterns if _SUFFIX.search(pattern)]
    for folder in folders:
        for pattern in patterns:
            files.update(_files_of_pattern(folder, pattern))
    return sorted(files)


def _files_of_pattern(folder: Path, pattern: str) -> list[Path]:
    """Return the files that fit a name or a pattern such as ``table_*.npy``."""
    if "*" not in pattern:
        path = folder / pattern
        return [path.resolve()] if path.is_file() else []
    if "**" in pattern or pattern.startswith("/"):
        return []
    try:
        paths = itertools.islice(folder.glob(pattern), _MAX_FILES_PER_PATTERN)
        return [path.resolve() for path in paths if path.is_file()]
    except (OSError, ValueError, NotImplementedError):
        # The string in the source is not a valid pattern for `Path.glob`.
        return []


def digest_of_data(file: Path) -> bytes:
    """Return the digest of a file, which ignores comments in Python and YAML files.

    Parameters
    ----------
    file : Path
        File of any format. The digest of a YAML file depends only on its values.
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
    """Return the digest of the values in a YAML file, or None for an invalid file."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        values = yaml.load(content, loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()


# --- code in memory -----------------------------------------------------------------


def sources_of_loaded_code(values: Any) -> ReachedSources:
    """Return the sources of functions that a program or a notebook defines.

    The digest covers the functions in memory instead of their files. The reason is that
    a notebook may define functions again, and that a program may reload modules.

    Parameters
    ----------
    values : object
        A function or class, or a list of functions and classes.
    """
    content = loaded_content(values)
    packages = _installed_packages(content.installed_names)
    code_in_memory = ReachedSources(frozenset({("code in memory", content.digest)}), packages)
    # The name `stereo_framework.aggregation.box` also occurs as `stereo_framework` and
    # as `stereo_framework.aggregation`. These two names are left out, because the
    # `__init__.py` of a package imports many modules that the code does not use.
    names = [name for name in content.installed_names if not _is_package(name)]
    return code_in_memory | sources_of_modules(names)
