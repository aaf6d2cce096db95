"""Modules that a function imports by a call: those with a constant name count, and a warning names all others."""

import importlib
import json
import sys
import warnings

import pytest
from cli_parts import call

from stereo_framework.core.dynamic_imports import dynamic_imports
from stereo_framework.core.errors import ResultWarning
from stereo_framework.core.loaded_code import loaded_content
from stereo_framework.core.plugins import sources

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
def desk(tmp_path, monkeypatch):
    """Write a module of a constant disparity, and restore the search path of Python."""
    monkeypatch.chdir(tmp_path)
    # The functions change the list.
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    sys.modules.pop("dyn_of_a_test", None)
    importlib.invalidate_caches()
    (tmp_path / "dyn_of_a_test.py").write_text("V = 5\n")
    return tmp_path


def script(desk, value, more=""):
    """Write a function that returns a value, and a script that runs it."""
    (desk / "mine.py").write_text(FUNCTION.format(value=value))
    (desk / "mine.yaml").write_text(
        f"scenes: [synthetic/planes]\nmatcher: {{use: python, function: 'mine.py:match'{more}}}\n"
    )


def bad_pixels():
    """Run the script into its folder of results; return the percentage of bad pixels and the error stream."""
    result = call("run", "mine.yaml", "--out", "out", "--json")
    return json.loads(result.stdout)[0]["statistics"]["bad_pixels_all"], result.stderr


@pytest.mark.parametrize(
    ("value", "more"),
    [
        ('importlib.import_module("dyn_of_a_test").V', ""),
        ('__import__("dyn_of_a_test").V', ""),
        ('importlib.import_module("dyn_of_" + "a_test").V', ", files: [dyn_of_a_test.py]"),
    ],
)
def test_a_change_of_a_module_that_a_call_imports_computes_the_run_again(desk, value, more):
    script(desk, value, more)
    earlier, _ = bad_pixels()
    (desk / "dyn_of_a_test.py").write_text("V = 500\n")
    # The next process has not imported the module.
    sys.modules.pop("dyn_of_a_test", None)
    changed, _ = bad_pixels()
    assert earlier < 100
    assert changed == 100


def test_an_import_under_a_computed_name_gives_a_warning_with_its_line_and_two_remedies(desk):
    script(desk, 'importlib.import_module("dyn_of_" + "a_test").V')
    _, printed = bad_pixels()
    [line] = [line for line in printed.splitlines() if "computed while the program runs" in line]
    assert "mine.py:11: " in line
    assert "a change of it may go unnoticed" in line
    assert (
        "list its file under 'files' of the matcher, or import the module by an import statement"
        in line
    )


def test_an_import_under_a_constant_name_gives_no_warning(desk):
    script(desk, 'importlib.import_module("dyn_of_a_test").V')
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResultWarning)
        _, printed = bad_pixels()
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
def test_calls_that_import_are_recognized(source, names, lines):
    imports = dynamic_imports(source.encode())
    assert (imports.names, imports.computed_lines) == (names, lines)


def test_a_module_of_a_call_is_among_the_sources_of_a_file(desk):
    path = desk / "mine.py"
    path.write_text('import importlib\ndef f():\n    importlib.import_module("dyn_of_a_test")\n')
    assert sources(path) == [path.resolve(), (desk / "dyn_of_a_test.py").resolve()]


def test_a_module_of_a_call_is_part_of_the_content_of_a_function_in_memory(desk):
    names = {"__name__": "__main__"}
    exec(
        'import importlib\ndef f():\n    return importlib.import_module("dyn_of_a_test").V\n', names
    )
    before = loaded_content(names["f"])
    (desk / "dyn_of_a_test.py").write_text("V = 500\n")
    assert loaded_content(names["f"]) != before
