"""The modules that plug-ins import are part of the identity of a run."""

import runpy
import sys
from pathlib import Path

import pytest

from stereo_framework import load_scene
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.module_sources import source_files, unload_modules
from stereo_framework.core.plugins import load_plugin
from stereo_framework.script import load
from stereo_framework.sweep import identity
from stereo_framework.sweep.identity import code_digest
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


def sources_and_digest(folder, changed_files=()):
    """Load the plug-in again; return its source files and the digest of the code."""
    plugin = write_files(
        folder / "mine",
        FILES | {name: f"{FILES[name]}limit = 2\n" for name in changed_files},
    )
    unload_modules(
        [
            Path(path).resolve()
            for module in list(sys.modules.values())
            if "_of_a_test" in (path := getattr(module, "__file__", None) or "")
        ]
    )
    load_plugin(str(plugin))
    return source_files(plugin), code_digest((str(plugin),))


def _file(name):
    """Return the file of an imported module."""
    return Path(sys.modules[name].__file__).resolve()


def test_each_module_of_the_user_that_a_plugin_imports_is_part_of_the_identity(tmp_path):
    files, digest = sources_and_digest(tmp_path / "first")
    names = {path.relative_to(tmp_path.resolve() / "first").as_posix() for path in files}
    assert names == {("mine/" + name).replace("mine/../", "") for name in FILES} - {
        "mine/unrelated.py"
    }
    assert sources_and_digest(tmp_path / "same")[1] == digest
    counted = [name for name in FILES if name != "unrelated.py"]
    digests = {
        sources_and_digest(tmp_path / str(i), changed_files=[name])[1]
        for i, name in enumerate(counted)
    }
    assert len(digests - {digest}) == len(counted)
    assert sources_and_digest(tmp_path / "unrelated", changed_files=["unrelated.py"])[1] == digest


def test_modules_of_installed_packages_and_of_this_package_are_no_sources():
    assert source_files(_file("numpy.linalg"))[0] == _file("numpy.linalg")
    assert all(
        path.is_relative_to(_file("numpy.linalg").parent)
        for path in source_files(_file("numpy.linalg"))
    )
    assert source_files(_file("stereo_framework.core.stage")) == [
        _file("stereo_framework.core.stage")
    ]


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
    before = code_digest((load_plugin(str(plugin)),))
    with plugin.open("a") as file:
        file.write("LIMIT = 2\n")
    identity._code_digest.cache_clear()
    assert code_digest((load_plugin(str(plugin)),)) == before


def test_a_worker_that_reads_another_version_of_a_plugin_fails(registry, tmp_path):
    plugin = write_files(tmp_path, {"edited.py": COST + "LIMIT = 1\n"})
    (task,) = tasks_of_script(
        load({**SCRIPT, "plugins": [str(plugin)]}), [load_scene("synthetic/planes")]
    )
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
