"""Places outside the code that name packages agree with the packages that exist."""

from __future__ import annotations

import fnmatch
import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import site_pages
import yaml

import stereo_framework
from stereo_framework.core import reached_sources
from stereo_framework.core.slots import SLOTS
from stereo_framework.sweep import code_identity, pseudo_truth

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PACKAGE = "stereo_framework"
SOURCE_FOLDERS = (PACKAGE, "configs", "examples", "tests", "scripts", "benchmarks")
FOLDERS = (*SOURCE_FOLDERS, "docs", "paper", ".ci", ".github")
"""Folders whose paths may be named."""

TEST_FOLDERS = {"attack", "faults", "fuzz", "golden", "mutation"}
"""Folders of tests that belong to no package."""

Names = Iterable[str]


@dataclass(frozen=True)
class Place:
    """A place that names packages or paths.

    `read` returns the paths that the place names, relative to the repository. They may
    lack the ending ``.py`` and may be glob patterns. `required` returns the packages
    that the place must name.
    """

    title: str
    read: Callable[[], Names]
    required: Callable[[], Names] = tuple


def text_of(file: str) -> str:
    """Return the text of a file of the repository."""
    return (ROOT / file).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    """Return the content of pyproject.toml."""
    return tomllib.loads(text_of("pyproject.toml"))


@functools.cache
def repository_paths() -> set[str]:
    """Return the paths of all files and folders that places may name."""
    paths = {path.name for path in ROOT.iterdir()}
    for folder in FOLDERS:
        paths |= {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*")}
    return {path for path in paths if "__pycache__" not in path}


def packages_among(paths: Names) -> set[str]:
    """Return the names of the packages directly inside the package."""
    pattern = re.compile(rf"{PACKAGE}/(\w+)/__init__\.py")
    return {match[1] for path in paths if (match := pattern.fullmatch(path))}


def packages() -> set[str]:
    """Return the names of the packages directly inside the package."""
    return packages_among(repository_paths())


def of_package(dotted_name: str) -> str:
    """Return the path of a package or module by its name within the package."""
    return f"{PACKAGE}/{dotted_name.replace('.', '/')}"


def has_path(name: str, paths: set[str]) -> bool:
    """Return whether a path exists, or a Python file or a match of a pattern."""
    if name in paths or f"{name}.py" in paths:
        return True
    return "*" in name and any(fnmatch.fnmatch(path, name) for path in paths)


def with_braces_expanded(pattern: str) -> Iterator[str]:
    """Yield the patterns that a pattern with braces stands for."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if match is None:
        yield pattern
        return
    for choice in match[1].split(","):
        yield from with_braces_expanded(pattern[: match.start()] + choice + pattern[match.end() :])


def identities() -> Names:
    """Return the modules and files that the identities of runs name."""
    modules = (*code_identity._ENGINE, *code_identity._EVALUATOR)
    for module in (*modules, code_identity._REGISTERED_READERS):
        yield module.replace(".", "/")
    yield f"{PACKAGE}/{reached_sources._TABLE_OF_PROTOCOLS}"
    yield f"configs/{pseudo_truth.SCRIPT}.yaml"


def layers() -> Names:
    """Return the modules in the layers of the import contracts."""
    for contract in project()["tool"]["importlinter"]["contracts"]:
        for layer in contract.get("layers", ()):
            yield from (name.strip().replace(".", "/") for name in layer.split("|"))


def lazy_names() -> Names:
    """Return the modules from which names of the package load."""
    return map(of_package, stereo_framework._NAMES)


def lazy_packages() -> Names:
    """Return the packages that load when they are first used."""
    return map(of_package, stereo_framework._ROOMS)


def built_files() -> Names:
    """Return the paths that the wheel and the source distribution include."""
    hatch = project()["tool"]["hatch"]
    targets = hatch["build"]["targets"]
    yield hatch["version"]["path"]
    yield from targets["wheel"]["packages"]
    yield from targets["wheel"]["force-include"]
    yield from targets["sdist"]["include"]


def checked_files() -> Names:
    """Return the paths in the settings of ruff, mypy and pytest."""
    tool = project()["tool"]
    for pattern in tool["ruff"]["lint"]["per-file-ignores"]:
        yield from with_braces_expanded(pattern.removeprefix("./"))
    for override in tool["mypy"]["overrides"]:
        names = override["module"]
        modules = [names] if isinstance(names, str) else names
        yield from (name.replace(".", "/") for name in modules if name.startswith(PACKAGE))
    yield from tool["mypy"]["files"]
    yield from tool["pytest"]["ini_options"]["testpaths"]
    yield from tool["pytest"]["ini_options"]["pythonpath"]


def site_stages() -> Names:
    """Return the packages whose stages have a page in the site's navigation."""
    return map(of_package, re.findall(r"reference/stages/(\w+)\.md", text_of("mkdocs.yml")))


def site_hooks() -> Names:
    """Return the programs that the site runs."""
    without_tags = re.sub(r"!!\S+", "", text_of("mkdocs.yml"))
    return yaml.safe_load(without_tags)["hooks"]


def site_modules() -> Names:
    """Return the modules whose names the site documents."""
    return [of_package(name) for names in site_pages.ROOMS.values() for name in names]


def slots() -> Names:
    """Return the packages of the slots, which a pipeline imports by their names."""
    return map(of_package, SLOTS)


def template_paths() -> Names:
    """Return the paths in the templates and workflows on GitHub."""
    for file in sorted((ROOT / ".github").rglob("*")):
        if file.is_file():
            yield from paths_in(file.read_text(encoding="utf-8"))


def script_paths() -> Names:
    """Return the paths in the shell scripts of the checks."""
    for file in (*(ROOT / ".ci").iterdir(), *(ROOT / "scripts").glob("*.sh")):
        yield from paths_in(file.read_text(encoding="utf-8"))


def paths_in(text: str) -> Iterator[str]:
    """Yield the paths in a text that begin with a folder of the repository."""
    folders = "|".join(map(re.escape, FOLDERS))
    # A name that continues with a variable or with braces is no whole path.
    for path in re.findall(rf"(?<![\w./$])(?:{folders})/[\w.*/]++(?![{{$])", text):
        yield path.rstrip("./")


def folders_without_compiler() -> Names:
    """Return the packages whose tests .ci/run repeats without Numba's compiler."""
    command = re.search(r"NUMBA_DISABLE_JIT=1(?:\\\n|.)*", text_of(".ci/run"))
    assert command, ".ci/run: no command with NUMBA_DISABLE_JIT=1; adapt this reader to the script"
    return [of_package(name) for name in re.findall(r"tests/(\w+)", command[0])]


def families_with_kernels() -> Names:
    """Return the stage families that have a kernel of their own."""
    for name in SLOTS:
        files = (ROOT / PACKAGE / name).glob("*.py")
        if any("@kernel" in file.read_text(encoding="utf-8") for file in files):
            yield name


def picture_of_layers() -> Names:
    """Return the packages in the picture of the layers in CONTRIBUTING."""
    text = text_of("CONTRIBUTING.md")
    picture = text[text.index("```text\n") : text.index("\n```\n")]
    for line in picture.splitlines()[1:]:
        if line.startswith("preprocessing"):
            yield from map(of_package, line.split())
        elif line[:1].isalpha():
            # A wide gap separates two packages with their descriptions on one line.
            parts = re.split(r"\s{5,}(?=\w+  )", line)
            yield from (of_package(part.split()[0]) for part in parts)


def folders_of_tests() -> Names:
    """Return the packages that have a folder of tests."""
    for folder in sorted((ROOT / "tests").iterdir()):
        if folder.is_dir() and folder.name[0].isalpha() and folder.name not in TEST_FOLDERS:
            yield of_package(folder.name)


def packages_with_tests() -> Names:
    """Return the packages whose tests have a folder; those of core lie beside them."""
    return packages() - {"core"}


def paths_in_pages() -> Names:
    """Return the folders of the Python files that the pages name."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for folder in re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)*)/\w+\.py`", text):
            is_in_repository = folder.split("/")[0] in FOLDERS
            yield folder if is_in_repository else f"{PACKAGE}/{folder}"


def dotted_names() -> Names:
    """Return the packages that follow ``stereo_framework.`` or ``/`` in texts."""
    exported = {*stereo_framework.__all__, "plugins"}
    programs = [*(ROOT / "scripts").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    sources = [*(ROOT / PACKAGE).rglob("*.py"), *(ROOT / "examples").rglob("*.py")]
    for file in (*PAGES, *programs, *sources):
        names = re.findall(rf"\b{PACKAGE}[./]([a-z_]+)\b", file.read_text(encoding="utf-8"))
        yield from (of_package(name) for name in names if name not in exported)


PLACES = (
    Place("sweep/code_identity.py, parts of identities", identities),
    Place("pyproject.toml, layers of imports", layers, packages),
    Place("pyproject.toml, files of the wheel", built_files),
    Place("pyproject.toml, files that are checked", checked_files),
    Place("__init__.py, _NAMES", lazy_names),
    Place("__init__.py, _ROOMS", lazy_packages, lambda: SLOTS),
    Place("core/slots.py, SLOTS", slots),
    Place("mkdocs.yml, pages of stages", site_stages, lambda: SLOTS),
    Place("mkdocs.yml, hooks", site_hooks),
    Place("scripts/site_pages.py, ROOMS", site_modules, lambda: SLOTS),
    Place(".github, templates and workflows", template_paths),
    Place(".ci and scripts/*.sh, paths", script_paths),
    Place(".ci/run, tests without the compiler", folders_without_compiler, families_with_kernels),
    Place("CONTRIBUTING.md, picture of the layers", picture_of_layers, packages),
    Place("README, CONTRIBUTING and docs, paths of files", paths_in_pages),
    Place("programs and pages, dotted names", dotted_names),
    Place("tests, folders", folders_of_tests, packages_with_tests),
)
"""Each place outside the imports that names packages or paths."""


@functools.cache
def names_of(place: Place) -> frozenset[str]:
    """Return the paths that a place names."""
    return frozenset(place.read())


def wrong_names(place: Place, paths: set[str]) -> list[str]:
    """Return the paths that a place names although the repository lacks them."""
    return sorted(name for name in names_of(place) if not has_path(name, paths))


def missing_packages(place: Place, required: Names) -> list[str]:
    """Return the packages that a place must name and does not name."""
    names = {name.split("/")[1] for name in names_of(place) if name.startswith(f"{PACKAGE}/")}
    return sorted(set(required) - names)


titles = [place.title for place in PLACES]


@pytest.mark.parametrize("place", PLACES, ids=titles)
def test_places_name_only_packages_and_paths_that_exist(place):
    wrong = wrong_names(place, repository_paths())
    assert not wrong, f"{place.title}: {wrong} do not exist; correct or remove these names"


@pytest.mark.parametrize("place", PLACES, ids=titles)
def test_places_name_every_package_that_they_must(place):
    missing = missing_packages(place, place.required())
    assert not missing, f"{place.title}: the packages {missing} are missing; add them"


@pytest.mark.parametrize("place", PLACES, ids=titles)
def test_every_place_names_something(place):
    assert names_of(place), f"{place.title}: the reader finds no name; adapt it to the file"


@pytest.mark.parametrize("package", sorted(packages()))
def test_a_renamed_package_is_noticed(package):
    renamed = re.compile(rf"{PACKAGE}/{package}(?=/|$)")
    paths = {renamed.sub(f"{PACKAGE}/renamed", path) for path in repository_paths()}
    assert packages_among(paths) == packages() - {package} | {"renamed"}

    wrong_places = {place.title for place in PLACES if wrong_names(place, paths)}
    complete_places = [place for place in PLACES if place.required is packages]
    assert len(complete_places) == 2
    assert {place.title for place in complete_places} <= wrong_places
    for place in complete_places:
        assert "renamed" in missing_packages(place, packages_among(paths))
    if package in SLOTS:
        assert {"__init__.py, _ROOMS", "mkdocs.yml, pages of stages"} <= wrong_places
    if package in ("engine", "evaluation", "io"):
        assert "sweep/code_identity.py, parts of identities" in wrong_places
