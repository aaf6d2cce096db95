"""Imports by calls: modules with a constant name are part of the identity of a run.

Calls that compute the name of the module give a warning.
"""

import importlib
import json
import sys
import warnings

import pytest
from cli_parts import call

from stereo_framework.core.dynamic_imports import dynamic_imports
from stereo_framework.core.errors import ResultWarning
from stereo_framework.core.loaded_code import loaded_content
from stereo_framework.core.module_sources import source_files

FUNCTION = """
import importlib
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

def match(left, right, minimum, maximum):
    return np.full(left.shape[:2], {value}, np.float32)
"""


@pytest.fixture
def work_folder(tmp_path, monkeypatch):
    """Write a module with a disparity, and return its folder.

    The search path of Python is restored after the test.
    """
    monkeypatch.chdir(tmp_path)
    # The imported functions insert a folder into the search path.
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    sys.modules.pop("disparity_module", None)
    importlib.invalidate_caches()
    (tmp_path / "disparity_module.py").write_text("V = 5\n")
    return tmp_path


def write_script(work_folder, value, more_keys=""):
    """Write a function that returns a constant disparity, and a script that runs it."""
    (work_folder / "mine.py").write_text(FUNCTION.format(value=value))
    matcher = f"{{use: python, function: 'mine.py:match'{more_keys}}}"
    (work_folder / "mine.yaml").write_text(f"scenes: [synthetic/planes]\nmatcher: {matcher}\n")


def run_script():
    """Run the script; return the percentage of bad pixels and the printed warnings."""
    result = call("run", "mine.yaml", "--out", "out", "--json")
    return json.loads(result.stdout)[0]["statistics"]["bad_pixels_all"], result.stderr


@pytest.mark.parametrize(
    ("value", "more_keys"),
    [
        ('importlib.import_module("disparity_module").V', ""),
        ('__import__("disparity_module").V', ""),
        ('importlib.import_module("disparity_" + "module").V', ", files: [disparity_module.py]"),
    ],
)
def test_a_run_is_computed_again_if_a_module_that_a_call_imports_changes(
    work_folder, value, more_keys
):
    write_script(work_folder, value, more_keys)
    earlier, _ = run_script()
    (work_folder / "disparity_module.py").write_text("V = 500\n")
    # The next process has not imported the module.
    sys.modules.pop("disparity_module", None)
    changed, _ = run_script()
    assert earlier < 100
    assert changed == 100


def test_a_computed_module_name_gives_a_warning_with_its_line_and_two_remedies(work_folder):
    write_script(work_folder, 'importlib.import_module("disparity_" + "module").V')
    _, printed = run_script()
    event = "computed while the program runs"
    [line] = [line for line in printed.splitlines() if event in line]
    assert "mine.py:11: " in line
    assert "stored results are not computed again if that file changes" in line
    remedy = (
        "list its file under 'files' of the matcher, or import the module by an import statement"
    )
    assert remedy in line


def test_a_constant_module_name_gives_no_warning(work_folder):
    write_script(work_folder, 'importlib.import_module("disparity_module").V')
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResultWarning)
        _, printed = run_script()
    assert "computed while the program runs" not in printed


@pytest.mark.parametrize(
    ("source", "names", "lines"),
    [
        ('importlib.import_module("a.b")', (("a.b", 0),), ()),
        ('from importlib import import_module as load\nload("a")', (("a", 0),), ()),
        ('importlib.import_module(name="a")', (("a", 0),), ()),
        ('importlib.import_module(".a", __package__)', (("a", 1),), ()),
        ('importlib.import_module(".a", "p")', (("p.a", 0),), ()),
        ('__import__("a")', (("a", 0),), ()),
        ('runpy.run_module("a")', (("a", 0),), ()),
        ("importlib.import_module(name)", (), (1,)),
        ('importlib.import_module(f"a{i}")', (), (1,)),
        ("__import__(name)", (), (1,)),
        ('\nexec(open("a.py").read())', (), (2,)),
        ('runpy.run_path("a.py")', (), (1,)),
        ('importlib.util.spec_from_file_location("a", "a.py")', (), (1,)),
        ('exec("x = 1")', (), ()),
        ("model.eval()\ncursor.exec(query)", (), ()),
        ("import a", (), ()),
        ("this is no Python", (), ()),
    ],
)
def test_calls_that_import_modules_are_recognized(source, names, lines):
    imports = dynamic_imports(source.encode())
    assert (imports.names, imports.computed_lines) == (names, lines)


def test_a_module_that_a_call_imports_is_among_the_sources_of_a_file(work_folder):
    path = work_folder / "mine.py"
    path.write_text('import importlib\ndef f():\n    importlib.import_module("disparity_module")\n')
    assert source_files(path) == [path.resolve(), (work_folder / "disparity_module.py").resolve()]


def test_a_module_that_a_call_imports_is_part_of_the_content_of_a_loaded_function(work_folder):
    names = {"__name__": "__main__"}
    exec(
        'import importlib\ndef f():\n    return importlib.import_module("disparity_module").V\n',
        names,
    )
    before = loaded_content(names["f"])
    (work_folder / "disparity_module.py").write_text("V = 500\n")
    assert loaded_content(names["f"]) != before
