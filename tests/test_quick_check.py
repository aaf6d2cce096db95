"""Tests of scripts/check.sh and of the selection of tests that it runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import changed_tests
import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
TOOL = """
import os, sys, time
name = os.path.basename(__file__)[:-3]
time.sleep(float(os.environ.get("SLEEP_OF_" + name, "0")))
sys.exit(int(os.environ.get("STATUS_OF_" + name, "0")))
"""
"""A linter or type checker of a scratch repository."""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the check is a script for bash")


def write(root: Path, file: str, text: str = "") -> None:
    """Write a file and its folders."""
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def git(root: Path, *arguments: str) -> None:
    """Run git in a folder."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path):
    """Return a folder with modules and tests."""
    for file in ("engine/memory.py", "engine/_walk.py", "core/errors.py", "__init__.py"):
        write(tmp_path, f"stereo_framework/{file}")
    for file in ("test_walk.py", "test_memory.py", "test_pipeline.py", "conftest.py"):
        write(tmp_path, f"tests/engine/{file}")
    write(tmp_path, "tests/test_errors.py", "from stereo_framework.core.errors import warn\n")
    write(tmp_path, "tests/test_both.py", "import stereo_framework.engine\nimport naive\n")
    write(tmp_path, "tests/test_counts.py", "from page_tables import page\n")
    write(tmp_path, "tests/naive.py")
    return tmp_path


ENGINE_TESTS = [f"tests/engine/test_{name}.py" for name in ("memory", "pipeline", "walk")]


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        (
            "stereo_framework/engine/memory.py",
            ["stereo_framework/engine/memory.py", *ENGINE_TESTS, "tests/test_both.py"],
        ),
        (
            "stereo_framework/engine/_walk.py",
            [
                "stereo_framework/engine/_walk.py",
                "tests/engine/test_walk.py",
                *ENGINE_TESTS[:2],
                "tests/test_both.py",
            ],
        ),
        ("stereo_framework/engine/table.yaml", [*ENGINE_TESTS, "tests/test_both.py"]),
        ("stereo_framework/engine/removed.py", [*ENGINE_TESTS, "tests/test_both.py"]),
        (
            "stereo_framework/core/errors.py",
            ["stereo_framework/core/errors.py", "tests/test_errors.py"],
        ),
        ("tests/engine/test_walk.py", ["tests/engine/test_walk.py"]),
        ("tests/engine/test_removed.py", []),
        ("tests/engine/conftest.py", ENGINE_TESTS),
        ("tests/naive.py", ["tests/test_both.py"]),
        ("scripts/page_tables.py", ["tests/test_counts.py"]),
        ("README.md", []),
    ],
)
def test_tests_of_a_changed_file(tree, file, tests):
    assert changed_tests.select([file], tree).paths == tests


def test_changed_tests_come_before_the_other_tests_of_a_changed_package(tree):
    files = ["stereo_framework/engine/memory.py", "tests/engine/test_walk.py"]
    paths = changed_tests.select(files, tree).paths
    assert paths.index("tests/engine/test_walk.py") < paths.index("tests/engine/test_pipeline.py")
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize(
    ("file", "remark"),
    [
        ("docs/start.md", "pages, scripts and examples: pytest -m docs tests"),
        ("tests/conftest.py", "tests/conftest.py, which all tests use: pytest"),
        ("tests/faults/a.patch", "tests/faults: .ci/full"),
        ("stereo_framework/engine/memory.py", "packages that import engine: pytest"),
    ],
)
def test_remarks_name_what_is_left_out(tree, file, remark):
    assert changed_tests.select([file, file], tree).remarks == [remark]


@pytest.fixture
def repository(tmp_path):
    """Return a scratch repository with the check and with tools that do nothing."""
    root = tmp_path / "a folder"
    for file in ("check.sh", "changed_tests.py", "time_limit.py"):
        (root / "scripts").mkdir(parents=True, exist_ok=True)
        shutil.copy(SCRIPTS / file, root / "scripts")
    write(root, "ruff.py", TOOL)
    write(root, "mypy.py", TOOL)
    write(root, "pytest.ini", "[pytest]\naddopts = -p no:cacheprovider\n")
    write(root, ".gitignore", "__pycache__\n")
    write(root, "tests/test_source.py", "def test_rule(): pass\n")
    write(root, "tests/engine/test_memory.py", "def test_memory(): pass\n")
    write(root, "stereo_framework/engine/memory.py")
    (root / ".venv" / "bin").mkdir(parents=True)
    program = f'#!/bin/sh\nexport PYTHONPATH="$PYTHONPATH:{root}"\nexec {sys.executable} "$@"\n'
    write(root, ".venv/bin/python", program)
    (root / ".venv" / "bin" / "python").chmod(0o755)
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "--message", "the beginning")
    return root


def start_check(root: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Start the check from another folder."""
    scratch = root.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    return subprocess.Popen(
        [str(root / "scripts" / "check.sh"), *arguments],
        cwd=root.parent,
        env=environment | {"TMPDIR": str(scratch)} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_check(root: Path, *arguments: str, **variables: str) -> tuple[int, str]:
    """Run the check from another folder; return its status and output."""
    process = start_check(root, *arguments, **variables)
    output, _ = process.communicate()
    return process.returncode, output


def test_unchanged_checkout_passes_without_tests_of_changes(repository):
    status, output = run_check(repository)
    assert status == 0, output
    for step in ("lint", "format", "rules of the source", "types"):
        assert f"== {step}: passed, " in output
    assert "tests of the changes: no changed file has tests of its own" in output
    assert "all steps passed after " in output


def test_tests_of_uncommitted_committed_and_new_files_run(repository):
    git(repository, "checkout", "--quiet", "-b", "branch")
    write(repository, "stereo_framework/engine/memory.py", "SIZE = 1\n")
    git(repository, "commit", "--quiet", "--all", "--message", "a change")
    write(repository, "tests/engine/test_new.py", "def test_new(): assert False\n")
    status, output = run_check(repository)
    assert status == 1
    assert "FAILED tests/engine/test_new.py::test_new" in output
    assert "1 failed, 1 passed" in output
    assert output.rstrip().splitlines()[-1].endswith(": tests of the changes")


def test_failed_steps_are_listed_and_the_others_still_run(repository):
    status, output = run_check(repository, STATUS_OF_ruff="1", STATUS_OF_mypy="1")
    assert status == 1
    assert "== rules of the source: passed, " in output
    last_line = output.rstrip().splitlines()[-1]
    assert last_line.startswith("failed after ")
    assert last_line.endswith(": lint; format; types")


def test_tests_without_time_are_listed_as_left_out(repository):
    body = "import time\ndef test_first(): time.sleep(1.5)\ndef test_second(): assert False\n"
    write(repository, "tests/engine/test_memory.py", body)
    limit = repository / "scripts" / "time_limit.py"
    shorter = limit.read_text().replace("SHORTEST = 15.0", "SHORTEST = 1.0")
    limit.write_text(shorter)
    status, output = run_check(repository, "--seconds", "0")
    assert status == 0, output
    assert "tests/engine/test_memory.py: 1 test\n" in output
    assert (
        "left to .ci/run: the tests listed above, for which no time was left (number: 1)" in output
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--quick"], "check.sh: --quick: there is no such option; scripts/check.sh --help lists"),
        (["--seconds"], "check.sh: --seconds: a number must follow, such as --seconds 120"),
        (["--seconds", "1.5"], "check.sh: --seconds 1.5: the number of seconds must be a whole"),
        (["--base"], "check.sh: --base: a commit must follow, such as --base HEAD~1"),
        (
            ["--base", "nowhere"],
            "changed_tests: --base nowhere: the repository has no such commit;",
        ),
    ],
)
def test_wrong_options_are_refused(repository, arguments, message):
    status, output = run_check(repository, *arguments)
    assert status == 2
    assert output.startswith(message)


def test_folder_without_a_repository_is_refused(repository):
    shutil.rmtree(repository / ".git")
    status, output = run_check(repository)
    assert status == 2
    assert output.startswith(f"changed_tests: {repository}: git cannot list the changed files (")
    assert "start the check in a clone of the repository" in output


def test_missing_tools_are_named_with_the_command_that_installs_them(repository):
    program = f'#!/bin/sh\nexec {sys.executable} -S "$@"\n'
    write(repository, ".venv/bin/python", program)
    status, output = run_check(repository)
    assert status == 2
    assert "check.sh: .venv/bin/python lacks " in output
    assert "pytest, pytest-xdist; install the tools with: " in output
    assert ".venv/bin/python -m pip install -e '.[dev]'" in output


def test_interrupted_check_leaves_no_process_and_no_file(repository):
    process = start_check(repository, SLEEP_OF_mypy="30", SLEEP_OF_ruff="1")
    time.sleep(0.8)
    start = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 143
    assert time.monotonic() - start < 15
    assert list((repository.parent / "scratch").iterdir()) == []
