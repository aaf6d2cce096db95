"""The modules that plug-ins import are part of the identity of a run."""

import runpy
import sys
from pathlib import Path

import pytest

from stereo_framework import load_scene
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.module_sources import source_files, unload_modules
from stereo_framework.core.plugins import load_plugin
from stereo_framework.core.reached_sources import sources_of_file
from stereo_framework.script import load
from stereo_framework.sweep.packed_tasks import pack_tasks, run_packed_tasks
from stereo_framework.sweep.processes import Processes
from stereo_framework.sweep.tasks import tasks_of_script

FILES = {
    "plugin.py": "import importlib, json, sys\n"
    "from pathlib import Path\n"
    "import numpy\n"
    "import stereo_framework\n"
    "sys.path.insert(0, str(Path(__file__).parent))\n"
    "sys.path.insert(0, str(Path(__file__).parents[1] / 'lib'))\n"
    "import early_of_a_test\n"
    "importlib.import_module('dynamic_of_a_test')\n"
    "del sys.path[:2]\n"
    "def stage():\n    import late_of_a_test\n    from package_of_a_test.inner import limit\n",
    "early_of_a_test.py": "from deeper_of_a_test import limit\n",
    "deeper_of_a_test.py": "limit = 1\n",
    "late_of_a_test.py": "limit = 1\n",
    "package_of_a_test/__init__.py": "",
    "package_of_a_test/inner.py": "from . import sibling\nlimit = 1\n",
    "package_of_a_test/sibling.py": "limit = 1\n",
    "../lib/dynamic_of_a_test.py": "limit = 1\n",
    "unrelated.py": "limit = 1\n",
}


def write_files(folder, files):
    """Write files into a folder, and return the path of the first one."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / next(iter(files))


def unload_test_modules():
    """Unload the modules that earlier plug-ins have imported."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    unload_modules([Path(file).resolve() for file in files if file and "_of_a_test" in file])


def load_test_plugin(folder, changed_file=None):
    """Write the files into a folder, load the plug-in and return its path.

    Parameters
    ----------
    folder : Path
        A folder that does not exist yet.
    changed_file : str, optional
        Name of a file that gets an additional line.
    """
    files = dict(FILES)
    if changed_file is not None:
        files[changed_file] += "limit = 2\n"
    plugin = write_files(folder / "mine", files)
    unload_test_modules()
    load_plugin(str(plugin))
    return plugin


def digest_of_test_plugin(folder, changed_file=None):
    """Load the plug-in from a new folder, and return the digest of its code."""
    plugin = load_test_plugin(folder, changed_file)
    return sources_of_file(plugin).digests


def file_of_module(name):
    """Return the file of an imported module."""
    return Path(sys.modules[name].__file__).resolve()


IMPORTED_FILES = [name for name in FILES if name != "unrelated.py"]


def test_the_sources_of_a_plugin_are_all_modules_of_the_user_that_it_imports(tmp_path):
    plugin = load_test_plugin(tmp_path)
    expected = {(tmp_path / "mine" / name).resolve() for name in IMPORTED_FILES}
    assert set(source_files(plugin)) == expected


def test_each_module_of_the_user_that_a_plugin_imports_is_part_of_the_identity(tmp_path):
    digest = digest_of_test_plugin(tmp_path / "first")
    assert digest_of_test_plugin(tmp_path / "same") == digest
    assert digest_of_test_plugin(tmp_path / "unrelated", "unrelated.py") == digest
    digests = set()
    for number, name in enumerate(IMPORTED_FILES):
        digests.add(digest_of_test_plugin(tmp_path / str(number), name))
    assert len(digests - {digest}) == len(IMPORTED_FILES)


def test_an_installed_package_has_only_its_files_as_sources():
    linalg_file = file_of_module("numpy.linalg")
    files = source_files(linalg_file)
    assert files[0] == linalg_file
    assert all(path.is_relative_to(linalg_file.parent) for path in files)


def test_a_module_of_this_package_has_no_further_sources():
    stage_file = file_of_module("stereo_framework.core.stage")
    assert source_files(stage_file) == [stage_file]


COST = """
import numpy as np
from stereo_framework import stage
@stage("matching_cost", source="a test")
def flat(reference, match, search):
    return np.full((*reference.shape[:2], search.levels), LIMIT, np.float32)
"""
SCRIPT = {
    "matching_cost": "flat",
    "optimization": "winner_take_all",
    "scenes": ["synthetic/planes"],
}


def test_the_identity_contains_a_plugin_as_it_was_when_it_was_imported(registry, tmp_path):
    plugin = write_files(tmp_path, {"edited.py": COST + "LIMIT = 1\n"})
    before = sources_of_file(Path(load_plugin(str(plugin)))).digests
    with plugin.open("a") as file:
        file.write("LIMIT = 2\n")
    assert sources_of_file(Path(load_plugin(str(plugin)))).digests == before


def test_a_worker_that_reads_another_version_of_a_plugin_fails(registry, tmp_path):
    plugin = write_files(tmp_path, {"edited.py": COST + "LIMIT = 1\n"})
    script = load({**SCRIPT, "plugins": [str(plugin)]})
    [task] = tasks_of_script(script, [load_scene("synthetic/planes")])
    packed = pack_tasks([task], keep_maps=False)
    with plugin.open("a") as file:
        file.write("LIMIT = 2\n")
    with Processes(1) as pool, pytest.raises(ParameterError, match="a worker has read other code"):
        pool.submit(run_packed_tasks, *packed).result()


@pytest.mark.usefixtures("registry", "small_scenes")
def test_the_other_code_of_a_program_with_a_stage_is_part_of_the_identity(tmp_path):
    identities = []
    for number, limit in enumerate((1, 2, 1)):
        text = (
            f"{COST}LIMIT = {limit}\n"
            "import stereo_framework as sf\n"
            f"identity = sf.run({SCRIPT!r})[0].id\n"
        )
        program = write_files(tmp_path / str(number), {"program.py": text})
        identities.append(runpy.run_path(str(program), run_name="__main__")["identity"])
    assert identities[0] == identities[2] != identities[1]
