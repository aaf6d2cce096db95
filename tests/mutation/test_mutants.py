"""The command that tries changes and lists survivors."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import mutants
import pytest
from mutation import mutant_runs
from mutation.mutant_runs import affordable
from mutation.record import RecordedTest, Recorder
from mutation.results import Mutant, Outcome, Results, UsageError
from mutation.trees import Processes

ROOT = Path(mutants.__file__).parents[1]

MODULE = '''\
"""A module with one function that is tested well and one that is not."""

LIMIT = 10


def clipped(number):
    """Clip a number.

    >>> clipped(3)
    3
    """
    return min(number, LIMIT)


def is_small(number):
    while number > 100:
        number -= 1
    return number < 5


def unused(number):
    return not number
'''

TESTS = """\
import pytest
from stereo_framework.weak import clipped, is_small

@pytest.mark.parametrize("number", [9, 10, 11])
def test_clipped(number):
    assert clipped(number) == (10 if number > 10 else number)

def test_is_small():
    assert is_small(1) and not is_small(103)
"""

SETTINGS = """\
[tool.pytest.ini_options]
addopts = "--import-mode=importlib --doctest-modules -n 2 --dist worksteal"
"""


@pytest.fixture
def weak_project(tmp_path):
    """A project with one weak test."""
    root = tmp_path / "project"
    for name, text in {
        "stereo_framework/__init__.py": "",
        "stereo_framework/weak.py": MODULE,
        "tests/test_weak.py": TESTS,
        "pyproject.toml": SETTINGS,
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@pytest.fixture
def tried_changes(weak_project, tmp_path, monkeypatch):
    """A function that runs the command on the weak project."""
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(mutant_runs, "_START", 20)

    def try_changes(*options):
        arguments = ["weak.py", "--cache", str(tmp_path / "cache"), "--workers", "2", *options]
        return mutants.main(arguments, weak_project)

    return try_changes


def test_interpreted_tests_are_those_of_ci():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    step = script.partition("NUMBA_DISABLE_JIT=1")[2].partition("\nstep")[0]
    assert set(re.findall(r"tests/\S+", step)) == set(mutants.INTERPRETED_TESTS)


def test_package_is_a_folder_or_a_file():
    files = mutants.package_files(ROOT, "core")
    assert "stereo_framework/core/scene.py" in files
    assert all(file.startswith("stereo_framework/core/") for file in files)
    assert mutants.package_files(ROOT, "stereo_framework/core/") == files
    path = "stereo_framework/sweep/store.py"
    assert mutants.package_files(ROOT, path) == [path]


def test_unknown_package_is_refused():
    with pytest.raises(UsageError, match=r"^sweeps: .* has no Python file; name a .* sweep, "):
        mutants.package_files(ROOT, "sweeps")


def test_path_without_tests_is_refused():
    with pytest.raises(UsageError, match=r"^--tests tests/small_scenes.py: no file of tests"):
        mutants.tests_below(ROOT, ["tests/small_scenes.py"])


def test_tests_below_paths():
    files = mutants.tests_below(ROOT, ["tests/mutation", "stereo_framework/core"])
    assert "tests/mutation/test_mutants.py" in files
    with_examples = [file for file in files if file.startswith("stereo_framework/core/")]
    assert with_examples
    assert all(">>> " in (ROOT / file).read_text(encoding="utf-8") for file in with_examples)


def test_cheapest_case_of_each_function_comes_first():
    tests = [
        RecordedTest("a.py::test_many[1]", 0.1, {}),
        RecordedTest("a.py::test_many[2]", 0.2, {}),
        RecordedTest("a.py::test_many[3]", 0.3, {}),
        RecordedTest("a.py::test_single", 1.0, {}),
        RecordedTest("a.py::test_slow", 50.0, {}),
    ]
    names = [test.name.partition("::")[2] for test in affordable(tests, 1.4)]
    assert names == ["test_many[1]", "test_single", "test_many[2]"]
    assert affordable(tests[-1:], 1.0) == tests[-1:]


def test_test_executes_lines():
    test = RecordedTest("a.py::test", 0.1, {"x.py": 0b1000})
    assert test.executes(frozenset({("x.py", 3), ("x.py", 9)}))
    assert not test.executes(frozenset({("x.py", 2), ("y.py", 3)}))


FOUND = Mutant("a.py", 1, "sign", 3, "a + b", "a - b")
SURVIVOR = Mutant("a.py", 2, "not", 4, "not a", "a")


@pytest.fixture
def earlier_outcomes(tmp_path):
    """A file of outcomes."""
    path = tmp_path / "outcomes.jsonl"
    results = Results(path, {"sources": "s", "tests": "t"})
    results.add(FOUND, Outcome(True, "test_a", 1, 1, 0.5))
    results.add(SURVIVOR, Outcome(False, "", 1, 1, 0.5))
    return path


def test_outcomes_are_read_again(earlier_outcomes):
    results = Results(earlier_outcomes, {"sources": "s", "tests": "t"})
    results.read()
    assert set(results.outcomes) == {FOUND.key, SURVIVOR.key}


def test_survivors_are_tried_again_with_other_tests(earlier_outcomes):
    results = Results(earlier_outcomes, {"sources": "s", "tests": "u"})
    results.read()
    assert set(results.outcomes) == {FOUND.key}


def test_outcomes_of_other_sources_are_refused(earlier_outcomes):
    results = Results(earlier_outcomes, {"sources": "other", "tests": "t"})
    with pytest.raises(UsageError, match="belongs to another state of the source code"):
        results.read()


def test_unfinished_line_is_ignored(earlier_outcomes, capsys):
    text = earlier_outcomes.read_text(encoding="utf-8")
    earlier_outcomes.write_text(text[:-30], encoding="utf-8")
    results = Results(earlier_outcomes, {"sources": "s", "tests": "t"})
    results.read()
    assert set(results.outcomes) == {FOUND.key}
    assert "outcomes.jsonl:2: the line is no outcome" in capsys.readouterr().out
    results.add(SURVIVOR, Outcome(False, "", 1, 1, 0.5))
    again = Results(earlier_outcomes, {"sources": "s", "tests": "t"})
    again.read()
    assert set(again.outcomes) == {FOUND.key, SURVIVOR.key}


@pytest.mark.parametrize(("survivors", "expected"), [(1, True), (2, False)])
def test_a_tenth_may_survive(survivors, expected, capsys):
    drawn = [Mutant("a.py", i, "sign", i, "a + b", "a - b") for i in range(10)]
    results = Results(None, {})
    for mutant in drawn:
        results.add(mutant, Outcome(mutant.number >= survivors, "", 1, 1, 0.1))
    assert results.print_summary(drawn) == expected
    assert f"{survivors} of 10 changes survive" in capsys.readouterr().out


def test_record_depends_on_its_own_test_file_alone(weak_project, tmp_path):
    def paths():
        recorder = Recorder(weak_project, tmp_path, Processes(), 1, print)
        return [recorder._path(file, interpreted=False) for file in ("tests/test_weak.py", other)]

    other = "tests/test_other.py"
    (weak_project / other).write_text("def test_x(): pass\n", encoding="utf-8")
    before = paths()
    (weak_project / other).write_text("def test_y(): pass\n", encoding="utf-8")
    assert [a == b for a, b in zip(paths(), before, strict=True)] == [True, False]
    module = weak_project / "stereo_framework" / "weak.py"
    module.write_text(MODULE + "\n", encoding="utf-8")
    assert [a == b for a, b in zip(paths(), before, strict=True)] == [False, False]


@pytest.mark.slow
def test_survivors_of_a_weak_test(tried_changes, weak_project, tmp_path, capsys):
    path = tmp_path / "outcomes.jsonl"
    everything = ("--sample", "100", "--out", str(path))
    assert tried_changes(*everything) == 1
    output = capsys.readouterr().out
    met, _, unmet = output.partition("Survivors that no test executes:")

    # Neither 5 nor 100 is tested exactly, but min, the limit and its use are.
    survivors = met.partition("Survivors with which the tests pass:")[2]
    assert "- return number < 5\n  + return number <= 5" in survivors
    assert "- number > 100\n  + number >= 100" in survivors
    assert "LIMIT" not in survivors
    assert "- return not number\n  + return number" in unmet
    assert (weak_project / "stereo_framework/weak.py").read_text(encoding="utf-8") == MODULE

    # A loop without an end is found by the limit of time or by the test of its result.
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    outcomes = {entry["mutant"]["new"]: entry["outcome"] for entry in entries}
    assert outcomes["return max(number, LIMIT)"]["found"]
    assert outcomes["LIMIT = 11"]["found"]

    # A better test is recorded, and finds what survived before.
    tests = weak_project / "tests" / "test_weak.py"
    tests.write_text(TESTS + "    assert not is_small(5)\n", encoding="utf-8")
    assert tried_changes(*everything) == 1
    output = capsys.readouterr().out
    assert "changes have outcomes already" in output
    assert "recording which lines the tests of 1 files execute" in output
    assert "return number <= 5" not in output.partition("Survivors with")[2]


@pytest.mark.slow
def test_failing_tests_are_refused(tried_changes, weak_project, capsys):
    tests = weak_project / "tests" / "test_weak.py"
    tests.write_text(TESTS + "\ndef test_false(): assert 0\n", encoding="utf-8")
    assert tried_changes("--sample", "1") == 2
    error = capsys.readouterr().err
    assert "tests fail before any change of the source code" in error
    assert "test_false" in error


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM handlers")
def test_interrupt_leaves_nothing_but_outcomes(weak_project, tmp_path):
    program = (
        "import sys, pathlib, mutants;"
        f"sys.exit(mutants.main(sys.argv[1:], pathlib.Path({str(weak_project)!r})))"
    )
    out = tmp_path / "outcomes.jsonl"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    options = ["weak.py", "--sample", "30", "--workers", "1", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *options, "--cache", str(tmp_path / "cache")],
        env={**mutants.os.environ, "PYTHONPATH": str(ROOT / "scripts"), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
    )
    while not out.exists() and process.poll() is None:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; the same command continues the run" in output
    assert len(out.read_text(encoding="utf-8").splitlines()) >= 1
    assert list(temporary.iterdir()) == []
