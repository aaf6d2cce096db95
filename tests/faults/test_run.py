"""The command that plants faults and runs the tests, in a small project."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import run
from fault import ROOT, Fault

CODE = "def double(number):\n    return 2 * number\n"

TESTS = """\
import pathlib
import pytest
from code_of_project import double

@pytest.mark.parametrize("number", [3], ids=["a number - 3"])
def test_double(number):
    assert double(number) == 6

def test_zero():
    assert double(0) == 0

def test_environment():
    assert not pathlib.Path("broken").exists()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    """Return the folder of a small project, which takes the place of the repository."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "code_of_project.py").write_text(CODE)
    (folder / "test_project.py").write_text(TESTS)
    monkeypatch.setattr(run, "ROOT", folder)
    monkeypatch.setattr(run, "copy_tree", lambda target: shutil.copytree(folder, target))
    monkeypatch.setattr(run, "PYTEST_OPTIONS", ("-q", "-x", "-p", "no:cacheprovider"))
    # The plug-ins of pytest take most of the time of such small tests.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return folder


def make_fault(*, old: str = "2 * number", new: str = "3 * number", test: str = "") -> Fault:
    """Return a fault of the small project."""
    return Fault(
        name="fault",
        store="stored.yaml",
        description="The number is tripled.",
        file="code_of_project.py",
        function="double",
        old=old,
        new=new,
        tests=["test_project.py" + test],
    )


def outcome_of(fault: Fault) -> str:
    """Return the outcome of a fault in the small project."""
    outcome, _ = run.try_fault(fault, run.TestProcesses(), whole=False)
    return outcome


def test_fault_is_found_by_the_test_that_fails(project):
    assert outcome_of(make_fault()) == "found by test_project.py::test_double[a number - 3]"


def test_fault_is_not_found_if_all_its_tests_pass(project):
    assert outcome_of(make_fault(test="::test_zero")) == "NOT FOUND: all tests pass"


def test_fault_is_not_found_by_a_test_that_always_fails(project):
    (project / "broken").touch()
    outcome = outcome_of(make_fault(test="::test_environment"))
    assert "test_environment fails without the fault too" in outcome


def test_fault_with_which_no_test_can_run_is_not_found(project):
    outcome = outcome_of(make_fault(old="return 2 * number", new="return = number"))
    assert outcome.startswith("NO LONGER APPLIES: stored.yaml: fault: 'new' is no valid Python")
    outcome = outcome_of(make_fault(test="::test_missing"))
    assert outcome.startswith("TESTS DID NOT RUN: pytest ended with 4")


def test_tests_that_hang_are_stopped(project, monkeypatch):
    monkeypatch.setattr(run, "LIMIT_SECONDS", 0.2)
    outcome = outcome_of(make_fault(new="__import__('time').sleep(60)"))
    assert outcome == "HANGS: the tests did not end within 0.2 s"


def test_check_reports_faults_that_do_not_apply(project, capsys):
    assert run.check_faults([make_fault()]) == 0
    assert run.check_faults([make_fault(), make_fault(old="number + number")]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("stored.yaml: fault: no longer applies, because double of ")
    assert printed.out.splitlines() == [
        "1 of 1 faults apply to the present code",
        "1 of 2 faults apply to the present code",
    ]


def test_exit_status_is_1_if_a_fault_is_not_found(project, capsys):
    faults = [make_fault(), make_fault(old="number + number")]
    assert run.try_faults(faults[:1], workers=1, whole=False) == 0
    assert run.try_faults(faults, workers=2, whole=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "1 of 1 faults found"
    assert lines[-1] == "1 of 2 faults found"


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with the stored faults."""
    command = [sys.executable, "tests/faults/run.py", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_unknown_fault_is_refused_with_similar_names():
    ended = run_command("--check", "kernel_parabola")
    assert ended.returncode == 2
    assert "kernel_parabola: none of tests/faults/cli.yaml, " in ended.stderr
    assert "similar names are: kernel_parabola_sign" in ended.stderr


def test_named_fault_is_checked():
    ended = run_command("--check", "kernel_parabola_sign")
    assert ended.returncode == 0
    assert ended.stdout == "1 of 1 faults apply to the present code\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to catch")
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout can be copied")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_command_removes_its_copies(tmp_path, number):
    command = [sys.executable, "tests/faults/run.py", "--workers", "2"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("*/tree/tests")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(number)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(rb"interrupted after 0 of \d+ faults\n", message)
    assert list(tmp_path.iterdir()) == []
