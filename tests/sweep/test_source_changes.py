"""Changes of source code recompute exactly the runs that reach the changed files.

The catalogue ``source_changes.yaml`` lists the changes and the methods that each change
must compute again. A slow test copies the package, runs the methods, applies one
change, and runs the methods again in a new process. The stored run times then show
which methods were computed again.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import yaml

import stereo_framework
from stereo_framework.io import write_pfm

PACKAGE = Path(stereo_framework.__file__).parent
CATALOGUE = yaml.safe_load(Path(__file__).with_name("source_changes.yaml").read_text("utf-8"))
USER_FILES: Mapping[str, str] = CATALOGUE["files"]
SCRIPTS = ("sweep.yaml", "measured.yaml")
METHODS = [name for script in SCRIPTS for name in yaml.safe_load(USER_FILES[script])["methods"]]

MATCHED = "matched again"
MEASURED = "only measured again"
STORED = "taken from the store"

Record = dict[str, Any]
"""A result as `Result.record` returns it."""


# --- the catalogue --------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """A change of the catalogue. The head of the catalogue explains the fields."""

    name: str
    why: str
    file: str = ""
    old: str = ""
    new: str = ""
    append: str = ""
    array: list[float] = field(default_factory=list)
    version: str = ""
    matched: list[str] | str = field(default_factory=list)
    measured: list[str] | str = field(default_factory=list)

    def is_recomputing(self) -> bool:
        """Return whether the change must compute a method again."""
        return bool(self.matched or self.measured)

    def apply(self, folder: Path) -> None:
        """Apply the change to a folder with the package and the user's files."""
        path = folder / self.file
        if self.version:
            pretend_version(folder / "versions", self.version)
        elif self.array:
            np.save(path, np.array(self.array))
        elif self.append:
            path.write_text(path.read_text("utf-8") + self.append, "utf-8")
        else:
            path.write_text(path.read_text("utf-8").replace(self.old, self.new), "utf-8")

    def expected_actions(self) -> dict[str, str]:
        """Return the expected action for each method."""
        matched = METHODS if self.matched == "all" else self.matched
        measured = METHODS if self.measured == "others" else self.measured
        actions = dict.fromkeys(METHODS, STORED)
        actions.update(dict.fromkeys(measured, MEASURED))
        actions.update(dict.fromkeys(matched, MATCHED))
        return actions


CHANGES = [Change(**entry) for entry in CATALOGUE["changes"]]


def name_of(change: Change) -> str:
    return change.name


def text_of(file: str) -> str:
    """Return the text of a file of the package or of the user."""
    if file in USER_FILES:
        return USER_FILES[file]
    return (PACKAGE.parent / file).read_text("utf-8")


def test_the_catalogue_has_enough_changes_of_both_kinds():
    recomputing = [change for change in CHANGES if change.is_recomputing()]
    assert len(recomputing) >= 30
    assert len(CHANGES) - len(recomputing) >= 15
    assert len({change.name for change in CHANGES}) == len(CHANGES)


@pytest.mark.parametrize("change", CHANGES, ids=name_of)
def test_each_change_of_the_catalogue_can_be_applied(change):
    kinds = [change.old, change.append, change.array, change.version]
    assert len([kind for kind in kinds if kind]) == 1
    if change.old:
        assert text_of(change.file).count(change.old) == 1
        assert change.new != change.old
    if change.append:
        assert text_of(change.file)
    if change.version:
        assert version(change.version)


@pytest.mark.parametrize("change", CHANGES, ids=name_of)
def test_each_change_of_the_catalogue_names_methods(change):
    assert change.why
    assert change.matched == "all" or set(change.matched) <= set(METHODS)
    assert change.measured == "others" or set(change.measured) <= set(METHODS)


# --- files of the user ----------------------------------------------------------------

ROWS = 24
COLUMNS = 40


def write_user_files(folder: Path) -> None:
    """Write the scripts, the plug-ins, a scene, a network and a disparity map."""
    for name, text in USER_FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    np.save(folder / "plugins/cost/offsets.npy", np.array([1.0, 2.0]))
    truth = write_scene(folder / "scene")
    write_pfm(folder / "map.pfm", truth + np.float32(0.5))
    networks = pytest.importorskip("networks", reason="onnx is not installed")
    networks.write_network(folder / "network.onnx", channels=3)


def write_scene(folder: Path) -> np.ndarray:
    """Write the images of a random texture with two planes; return the disparities."""
    random = np.random.default_rng(0)
    match = random.integers(0, 256, (ROWS, COLUMNS), dtype=np.uint8)
    truth = np.full((ROWS, COLUMNS), 2, np.float32)
    truth[6:18, 14:28] = 5

    rows, columns = np.indices(truth.shape)
    reference = match[rows, (columns - truth.astype(int)) % COLUMNS]
    is_nonocc = np.where(columns < 8, 0, 255).astype(np.uint8)

    cv2.imwrite(str(folder / "left.png"), reference)
    np.savetxt(folder / "right.grid", match, fmt="%d")
    cv2.imwrite(str(folder / "nonocc.png"), is_nonocc)
    write_pfm(folder / "truth.pfm", truth)
    return truth


# --- other versions of packages -------------------------------------------------------

MODULES_OF_DISTRIBUTIONS = {"opencv-python-headless": "cv2"}
"""Names of the modules that differ from the names of their distributions."""

VERSION_SETTER = '''
"""Set the version of a module after its import."""

import importlib.abc
import importlib.machinery
import sys


class Finder(importlib.abc.MetaPathFinder):
    """Find a module as usual, and change its version after its execution."""

    def find_spec(self, name, path=None, target=None):
        if name != {module!r}:
            return None
        # The native part of OpenCV is a module of the same name. It stays unchanged.
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_set_version(module):
            execute(module)
            module.__version__ = {version!r}

        spec.loader.exec_module = execute_and_set_version
        return spec


sys.meta_path.insert(0, Finder())
'''
"""Text of a module ``sitecustomize``, which Python imports when it starts."""


def pretend_version(folder: Path, distribution: str) -> None:
    """Write files by which Python reports another version of a distribution.

    Parameters
    ----------
    folder : Path
        Folder that the runs have at the beginning of PYTHONPATH.
    distribution : str
        Name of an installed distribution, such as ``numpy``.
    """
    other_version = f"{version(distribution)}.post1"
    stem = f"{distribution.replace('-', '_')}-{other_version}"
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {other_version}\n"
    info = folder / f"{stem}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(metadata, "utf-8")

    module = MODULES_OF_DISTRIBUTIONS.get(distribution, distribution)
    setter = VERSION_SETTER.format(module=module, version=other_version)
    (folder / "sitecustomize.py").write_text(setter, "utf-8")


# --- runs -----------------------------------------------------------------------------

SWEEP = """
import json
from pathlib import Path
import stereo_framework

records = []
for script in {scripts}:
    results = stereo_framework.run(script, out="out", maps=True, workers=1)
    records += [result.record() for result in results]
Path("records.json").write_text(json.dumps(records))
"""
"""Program that runs scripts in the current folder and writes the results as JSON."""

UNWANTED_VARIABLES = ("PYTHONDONTWRITEBYTECODE", "STEREO_NO_PLUGINS", "NUMBA_CACHE_DIR")
"""Variables of the environment that would change the runs or make them slow."""


def run_program(folder: Path, text: str) -> dict[str, Record]:
    """Run a program that writes ``records.json``; return the results by method."""
    environment = {
        name: value for name, value in os.environ.items() if name not in UNWANTED_VARIABLES
    }
    environment["PYTHONPATH"] = os.pathsep.join([str(folder / "versions"), str(folder)])
    records_file = folder / "records.json"
    records_file.unlink(missing_ok=True)
    process = subprocess.run(
        [sys.executable, "-c", text],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    records = json.loads(records_file.read_text("utf-8"))
    assert [record["error"] for record in records] == [None] * len(records)
    return {record["method"]: record for record in records}


def run_sweep(folder: Path) -> dict[str, Record]:
    """Run the scripts of the catalogue; return the results by method."""
    return run_program(folder, SWEEP.format(scripts=SCRIPTS))


def action(before: Record, after: Record) -> str:
    """Return how the second run obtained a result, judged by its identity and times.

    A method that was computed again has other run times than before, because they are
    measured in nanoseconds. The method that reads its map from a file has no time of
    matching. Therefore, its identity decides.
    """
    seconds_before = dict(before["seconds"])
    seconds_after = dict(after["seconds"])
    was_evaluated = seconds_before.pop("evaluation") != seconds_after.pop("evaluation")
    if before["id"] != after["id"] or seconds_before != seconds_after:
        return MATCHED
    return MEASURED if was_evaluated else STORED


def actions(before: Mapping[str, Record], after: Mapping[str, Record]) -> dict[str, str]:
    """Return how the second run obtained the result of each method."""
    return {method: action(record, after[method]) for method, record in before.items()}


@dataclass(frozen=True)
class Workplace:
    """A folder for runs, which `restore` brings back to its state after the first run.

    Numba and Python recognize compiled code by the path, the time and the size of the
    source file. Therefore all runs use the same folder, and copies keep the times.
    """

    folder: Path
    copy: Path
    first_records: Mapping[str, Record]

    def restore(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.copy, self.folder)


@pytest.fixture(scope="module")
def shared_workplace(tmp_path_factory) -> Workplace:
    """Copy the package, and run all methods once."""
    parent = tmp_path_factory.mktemp("source_changes")
    folder = parent / "work"
    # Kernels that are already compiled are copied as well. This saves a minute. Other
    # test processes may be writing compiled code, and remove their temporary files.
    temporary_files = shutil.ignore_patterns("*.tmp.*", "*.pyc.*")
    shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=temporary_files)
    shutil.copytree(PACKAGE.parent / "configs", folder / "configs")
    write_user_files(folder)
    first_records = run_sweep(folder)
    shutil.copytree(folder, parent / "copy")
    return Workplace(folder, parent / "copy", first_records)


@pytest.fixture
def workplace(shared_workplace) -> Workplace:
    shared_workplace.restore()
    return shared_workplace


@pytest.mark.slow
def test_an_unchanged_package_recomputes_nothing(workplace):
    assert list(workplace.first_records) == METHODS
    records = run_sweep(workplace.folder)
    assert actions(workplace.first_records, records) == dict.fromkeys(METHODS, STORED)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES, ids=name_of)
def test_a_change_recomputes_exactly_the_methods_that_reach_it(workplace, change):
    change.apply(workplace.folder)
    records = run_sweep(workplace.folder)
    assert actions(workplace.first_records, records) == change.expected_actions()


# --- stages that are typed ------------------------------------------------------------

CELLS = [
    """\
import json
from pathlib import Path
import stereo_framework
from stereo_framework.stages import stage
""",
    """\
OFFSET = 0.25
""",
    '''\
def offset_of(factor):
    """Return an offset."""
    return factor * OFFSET
''',
    '''\
@stage("refinement", source="a test")
def typed(disparity):
    """Add a constant to all disparities."""
    # The constant is small.
    return disparity + disparity.dtype.type(offset_of(2))
''',
    '''\
@stage("refinement", source="a test")
def also_typed(disparity):
    """Subtract a constant from all disparities."""
    return disparity - disparity.dtype.type(0.5)
''',
    """\
records = []
for name in ("typed", "also_typed"):
    script = {
        "name": name,
        "plugins": ["plugins/reading/reading.py"],
        "matching_cost": "absolute_difference",
        "optimization": "winner_take_all",
        "refinement": [name],
    }
    results = stereo_framework.run(script, scenes="scene", out="typed", maps=True, workers=1)
    records += [result.record() for result in results]
Path("records.json").write_text(json.dumps(records))
""",
]
"""Cells of a notebook that defines two stages and runs a method with each of them."""

NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in {cells!r}:
    shell.run_cell(cell, store_history=True).raise_error()
"""
"""Program that executes the cells of a notebook."""

TYPED_CHANGES = {
    "a constant in a stage": ("offset_of(2)", "offset_of(3)", ["typed"]),
    "a function that a stage calls": ("factor * OFFSET", "factor + OFFSET", ["typed"]),
    "a variable that a function reads": ("OFFSET = 0.25", "OFFSET = 0.5", ["typed"]),
    "another stage": ("type(0.5)", "type(0.75)", ["also_typed"]),
    "a comment": ("# The constant is small.", "# The constant has no unit.", []),
    "the docstring of a stage": ("Add a constant to", "Add a number to", []),
    "the docstring of a function": ("Return an offset.", "Return a number.", []),
    "a line break": ("offset_of(2))", "\n        offset_of(2)\n    )", []),
}
"""Changes of typed code: the old text, the new text, and the methods to be matched."""


def as_notebook(cells: list[str]) -> str:
    return NOTEBOOK.format(cells=cells)


def as_program(cells: list[str]) -> str:
    return "\n".join(cells)


@pytest.mark.slow
@pytest.mark.parametrize("change", TYPED_CHANGES)
@pytest.mark.parametrize("form", [as_notebook, as_program])
def test_a_change_of_typed_code_recomputes_the_methods_that_use_it(workplace, form, change):
    if form is as_notebook and importlib.util.find_spec("IPython") is None:
        pytest.skip("IPython is not installed")
    old, new, matched = TYPED_CHANGES[change]
    assert "".join(CELLS).count(old) == 1
    changed_cells = [cell.replace(old, new) for cell in CELLS]

    before = run_program(workplace.folder, form(CELLS))
    after = run_program(workplace.folder, form(changed_cells))
    expected_actions = {name: MATCHED if name in matched else STORED for name in before}
    assert actions(before, after) == expected_actions
