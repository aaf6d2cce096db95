"""Tests of benchmarks/guard.py, which compares the resources of two commits."""

from __future__ import annotations

import importlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

if not sys.platform.startswith("linux"):
    pytest.skip("the benchmark needs Linux", allow_module_level=True)

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

# The folder is on the path only here, because its other files have very general names.
sys.path.insert(0, str(BENCHMARKS))
guard = importlib.import_module("guard")
guard_workload = importlib.import_module("guard_workload")
sys.path.remove(str(BENCHMARKS))

Failure = guard.Failure
Measurements = guard.Measurements

FAKE_WORKLOAD = """
import json, os, sys, time
METHODS, SCENE, WORKLOADS = ("ssd",), "cones", {"ssd": 0, "plan": 0, "import": 0}
if __name__ == "__main__":
    print("a line of another program")
    BODY
"""
"""A workload of a scratch repository; the commits differ in the body."""

FIGURES = 'print(json.dumps({"processor": SECONDS, "memory": 5e6}))'


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    process = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return process.stdout.strip()


def commit_workload(folder: Path, body: str) -> str:
    """Commit a workload with this body and return the commit."""
    file = folder / "benchmarks" / "guard_workload.py"
    file.write_text(FAKE_WORKLOAD.replace("BODY", body), encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "a workload")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    """Return a scratch repository with guard.py and no commit."""
    folder = tmp_path / "repository"
    (folder / "benchmarks").mkdir(parents=True)
    shutil.copy(BENCHMARKS / "guard.py", folder / "benchmarks")
    git(folder, "init", "--quiet")
    return folder


def start_guard(folder: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Start guard.py of a scratch repository, whose temporary folders lie beside it."""
    scratch = folder.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    environment = {key: value for key, value in os.environ.items() if key != "STEREO_DATA"}
    return subprocess.Popen(
        [sys.executable, str(folder / "benchmarks" / "guard.py"), *arguments],
        env=environment | {"TMPDIR": str(scratch)} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_guard(folder: Path, *arguments: str, **variables: str) -> tuple[int, str, str]:
    """Run guard.py of a scratch repository; return its status, output and messages."""
    process = start_guard(folder, *arguments, **variables)
    output, messages = process.communicate()
    return process.returncode, output, messages


def assert_nothing_is_left(folder: Path) -> None:
    """Assert that no checkout of a commit is left."""
    assert list((folder.parent / "scratch").iterdir()) == []
    assert len(git(folder, "worktree", "list").splitlines()) == 1


def as_text(measurements, failures=(), limit=1.05) -> str:
    """Return the printed table."""
    stream = io.StringIO()
    Console(width=200, file=stream).print(guard.result_table(measurements, failures, limit))
    return stream.getvalue()


def test_ratio_is_new_to_old_median():
    row = Measurements("ssd", "processor", old=[2.0, 9.0, 1.0], new=[3.0, 2.5, 30.0])
    assert row.ratio == 1.5


def test_ratio_to_zero_is_infinite_unless_both_are_zero():
    assert Measurements("ssd", "compile", old=[0.0], new=[0.0]).ratio == 1
    assert Measurements("ssd", "compile", old=[0.0], new=[0.1]).ratio == float("inf")


@pytest.mark.parametrize(("new", "status"), [(1.05, 0), (1.0501, 1), (0.2, 0)])
def test_status_is_one_only_above_the_limit(new, status):
    row = Measurements("ssd", "processor", old=[1.0], new=[new])
    assert guard.exit_status([row], [], limit=1.05) == status


def test_one_ratio_above_the_limit_suffices():
    slower = Measurements("sgm", "memory", old=[1.0], new=[2.0])
    faster = Measurements("ssd", "memory", old=[1.0], new=[0.5])
    assert guard.exit_status([faster, slower, faster], [], limit=1.05) == 1
    assert guard.exit_status([faster, slower, faster], [], limit=2.0) == 0


def test_failed_workload_gives_status_one_and_is_in_the_table():
    failure = Failure("gc", "new", "ImportError: no module maxflow")
    assert guard.exit_status([], [failure], limit=1.05) == 1
    [line] = [line for line in as_text([], [failure]).splitlines() if "gc" in line]
    cells = [cell.strip() for cell in line.split("│")[1:-1]]
    assert cells == ["gc", "", "failed", "-", "ImportError: no module maxflow"]


def test_table_shows_medians_ranges_and_units():
    memory = Measurements("ssd", "memory", old=[5e6, 6e6, 9e6], new=[3e6, 3e6, 4e6])
    seconds = Measurements("ssd", "processor", old=[1.0, 1.0, 1.5], new=[1.25, 2.0, 2.0])
    text = as_text([memory, seconds])
    assert "6 MB (5 to 9)" in text
    assert "3 MB (3 to 4)" in text
    assert "1 s (1 to 1.5)" in text
    assert "2 s (1.25 to 2)" in text
    assert "0.500" in text
    assert "2.000" in text


@pytest.mark.parametrize(
    ("new", "remark"),
    [
        ([1.0, 1.0, 1.0], ""),
        ([1.2, 1.3, 1.4], "above the limit; the ranges overlap"),
        ([1.21, 1.3, 1.4], "above the limit"),
    ],
)
def test_remark_reports_overlapping_ranges(new, remark):
    assert Measurements("ssd", "processor", old=[0.9, 1.0, 1.2], new=new).remark(1.05) == remark


def test_workloads_are_those_of_the_issue():
    methods = ["ssd", "sgm", "fast", "fine", "gc", "bp", "patch_match"]
    assert list(guard_workload.WORKLOADS) == [*methods, "sweep", "plan", "help", "import"]


@pytest.mark.parametrize(("axes", "count"), [("SWEEP", 200), ("PLAN", 10_000)])
def test_axes_have_the_promised_number_of_settings(axes, count):
    lengths = [
        len(range(first, last + 1, step))
        for first, last, step in getattr(guard_workload, axes).values()
    ]
    assert lengths[0] * lengths[1] == count


def test_processor_time_includes_children_and_leaves_out_waiting():
    program = "sum(range(3_000_000))"
    busy = guard_workload.processor_time_of(
        lambda: subprocess.run([sys.executable, "-c", program], check=True)
    )
    waiting = guard_workload.processor_time_of(lambda: time.sleep(0.3))
    assert busy > 0.02
    assert waiting < 0.1


def test_memory_is_the_added_part_at_its_peak():
    figures = guard_workload.measure(lambda: len(b"x" * 60_000_000))
    assert 55e6 < figures["memory"] < 80e6


def test_commits_run_their_own_workloads_in_turn(repository):
    old = commit_workload(repository, FIGURES.replace("SECONDS", "2.0"))
    commit_workload(repository, FIGURES.replace("SECONDS", "3.0"))
    status, output, messages = run_guard(repository, old, "--only", "plan", "--repeats", "3")
    assert status == 1
    [row] = [line for line in output.splitlines() if "plan, processor" in line]
    assert "2 s (2 to 2)" in row
    assert "3 s (3 to 3)" in row
    assert "1.500" in row
    lines = [line for line in messages.splitlines() if line.startswith("plan, repeat")]
    sides = [line.split(":")[0].split(", ")[-1] for line in lines]
    assert sides == ["old", "new", "new", "old", "old", "new"]
    assert_nothing_is_left(repository)


def test_limit_decides_the_status(repository):
    old = commit_workload(repository, FIGURES.replace("SECONDS", "2.0"))
    commit_workload(repository, FIGURES.replace("SECONDS", "3.0"))
    options = ("--only", "plan", "--repeats", "1")
    assert run_guard(repository, old, *options, "--limit", "1.5")[0] == 0
    assert run_guard(repository, "HEAD", old, *options)[0] == 0


def test_workload_that_fails_in_one_commit_is_shown(repository):
    old = commit_workload(repository, FIGURES.replace("SECONDS", "2.0"))
    commit_workload(repository, 'raise SystemExit("the name is unknown")')
    status, output, _ = run_guard(repository, old, "--only", "plan", "--repeats", "1")
    assert status == 1
    assert "failed" in output
    assert "the name is unknown" in output
    assert_nothing_is_left(repository)


def test_output_without_figures_is_a_failure(repository):
    commit_workload(repository, 'print("no figures")')
    status, output, _ = run_guard(repository, "HEAD", "--only", "plan", "--repeats", "1")
    assert status == 1
    assert "failed" in output


def test_commit_without_a_workload_runs_the_present_one(repository):
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "no workload")
    commit_workload(repository, FIGURES.replace("SECONDS", "2.0"))
    status, _, messages = run_guard(repository, "HEAD~1", "--only", "plan", "--repeats", "1")
    assert status == 0
    assert "old: the commit has no benchmarks/guard_workload.py; the file of" in messages


def test_identical_commits_are_compared_and_reported(repository):
    commit_workload(repository, FIGURES.replace("SECONDS", "2.0"))
    status, output, messages = run_guard(repository, "HEAD", "--only", "plan", "--repeats", "1")
    assert status == 0
    assert "1.000" in output
    assert "both commits are the same, so ratios other than 1 show the noise" in messages


def test_changes_that_are_not_committed_are_reported(repository):
    commit_workload(repository, FIGURES.replace("SECONDS", "2.0"))
    (repository / "new.txt").write_text("", encoding="utf-8")
    messages = run_guard(repository, "HEAD", "--only", "plan", "--repeats", "1")[2]
    assert "the checkout has changes that are not committed; they are not measured" in messages


def test_unknown_commit_is_refused_with_a_remedy(repository):
    commit_workload(repository, "pass")
    status, _, messages = run_guard(repository, "nowhere", "--only", "plan")
    assert status == 2
    assert messages.startswith("guard: nowhere: the repository has no such commit; give a hash,")


def test_folder_without_a_repository_is_refused(repository):
    commit_workload(repository, "pass")
    shutil.rmtree(repository / ".git")
    status, _, messages = run_guard(repository, "HEAD", "--only", "plan")
    assert status == 2
    assert "the folder is not a git repository" in messages
    assert "clone the repository" in messages


@pytest.mark.parametrize(
    ("variables", "fault"),
    [
        ({}, "guard: STEREO_DATA is not set, but ssd needs real scenes; set STEREO_DATA or"),
        ({"STEREO_DATA": "/nowhere"}, "guard: /nowhere: the folder holds no scene cones; set "),
    ],
)
def test_missing_scenes_are_refused_before_any_work(repository, variables, fault):
    commit_workload(repository, "pass")
    status, _, messages = run_guard(repository, "HEAD", **variables)
    assert status == 2
    assert messages.startswith(fault)
    assert "--only sweep plan help import" in messages
    assert not list((repository.parent / "scratch").iterdir())


@pytest.mark.parametrize(
    ("option", "fault"),
    [
        (("--repeats", "0"), "--repeats 0: at least one repeat is needed"),
        (("--limit", "0"), "--limit 0: the limit must be above 0, such as 1.05"),
        (("--limit", "nan"), "--limit nan: the limit must be above 0, such as 1.05"),
        (("--only", "ssb"), "invalid choice: 'ssb'"),
    ],
)
def test_wrong_options_are_refused(repository, option, fault):
    commit_workload(repository, "pass")
    status, _, messages = run_guard(repository, "HEAD", *option)
    assert status == 2
    assert fault in messages


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_leaves_no_checkout_and_no_process(repository, tmp_path, number):
    marker = tmp_path / "started"
    body = f'open({str(marker)!r}, "w").write(str(os.getpid())); time.sleep(60)'
    commit_workload(repository, body)
    process = start_guard(repository, "HEAD", "--only", "plan")
    deadline = time.monotonic() + 30
    while not (marker.is_file() and marker.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child = int(marker.read_text())

    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert_nothing_is_left(repository)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_checkouts_of_a_killed_run_are_removed_by_the_next(repository, tmp_path):
    marker = tmp_path / "started"
    body = f'open({str(marker)!r}, "w").write("yes"); time.sleep(2); print("{{}}")'
    commit_workload(repository, body)
    process = start_guard(repository, "HEAD", "--only", "plan")
    deadline = time.monotonic() + 30
    while not marker.is_file():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert len(git(repository, "worktree", "list").splitlines()) == 3

    commit_workload(repository, FIGURES.replace("SECONDS", "2.0"))
    assert run_guard(repository, "HEAD", "--only", "plan", "--repeats", "1")[0] == 0
    assert_nothing_is_left(repository)


@pytest.mark.slow
def test_head_compared_with_head():
    command = [sys.executable, str(BENCHMARKS / "guard.py"), "HEAD", "HEAD"]
    options = ["--only", "help", "import", "--repeats", "2", "--limit", "3"]
    process = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False, timeout=500
    )
    assert process.returncode == 0, process.stderr
    for figure in ("help, processor", "help, memory", "import, processor", "import, memory"):
        assert figure in process.stdout
