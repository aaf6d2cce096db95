"""Kernels and commands work even if the system refuses to start threads."""

import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import stereo_framework
from stereo_framework.cli._progress import COMPILING
from stereo_framework.kernels import threads as thread_module
from stereo_framework.kernels.threads import (
    LimitWarning,
    ThreadPool,
    environment_of_programs,
    over_rows,
    use_one_blas_thread,
)


def refuse_threads_after(monkeypatch, count):
    """Let the system start `count` more threads and refuse all others."""
    start = threading.Thread.start
    started = []

    def limited_start(thread):
        if len(started) >= count:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited_start)


@pytest.fixture
def no_pool():
    """Start a new pool of threads for kernels in the test, and another after it."""
    thread_module._pool.cache_clear()
    thread_module._warn_of_limit.cache_clear()
    yield
    thread_module._pool.cache_clear()
    thread_module._warn_of_limit.cache_clear()


@pytest.mark.usefixtures("no_pool")
def test_the_caller_computes_all_rows_and_warns_once_if_no_thread_starts(monkeypatch):
    visits = np.zeros(10, int)

    def visit(start, stop):
        visits[start:stop] += 1

    refuse_threads_after(monkeypatch, 0)
    with stereo_framework.threads(4):
        with pytest.warns(LimitWarning, match=r"the system starts no thread.*ulimit -u"):
            over_rows(visit, 10, 10**9)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            over_rows(visit, 10, 10**9)
    assert (visits == 2).all()


@pytest.mark.usefixtures("no_pool")
def test_all_rows_are_computed_once_if_only_some_threads_start(monkeypatch):
    visits = np.zeros(10, int)

    def visit(start, stop):
        visits[start:stop] += 1

    refuse_threads_after(monkeypatch, 1)
    with stereo_framework.threads(5), warnings.catch_warnings():
        warnings.simplefilter("error")
        over_rows(visit, 10, 10**9)
    assert (visits == 1).all()


def test_a_pool_raises_an_error_if_none_of_its_threads_starts(monkeypatch):
    refuse_threads_after(monkeypatch, 0)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        ThreadPool(3, "test")


def test_other_programs_get_the_setting_of_openblas_that_the_user_made(monkeypatch):
    # The test replaces the whole environment, so that all variables are restored.
    monkeypatch.setattr(os, "environ", {"PATH": "/bin"})
    use_one_blas_thread()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert environment_of_programs() == {"PATH": "/bin"}
    monkeypatch.setattr(os, "environ", {"OPENBLAS_NUM_THREADS": "3"})
    use_one_blas_thread()
    assert environment_of_programs() == {"OPENBLAS_NUM_THREADS": "3"}


# The command line, in a process whose threads the system refuses to start.
PROGRAM = """
import threading
def refuse(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
from stereo_framework.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "window", "--scene", "synthetic/planes"],
        pytest.param(["match", "--example", "--method", "fast"], marks=pytest.mark.slow),
    ],
)
def test_commands_succeed_if_no_thread_starts(arguments, tmp_path):
    command = [sys.executable, "-c", PROGRAM, *arguments, "--out", str(tmp_path / "out")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    lines = [line for line in process.stderr.splitlines() if line != COMPILING]
    warning = "warning: threads: the system starts no thread"
    assert all(line.startswith(warning) for line in lines), process.stderr


@pytest.mark.slow
def test_a_sweep_computes_all_runs_if_no_thread_starts(tmp_path):
    (tmp_path / "sweep.yaml").write_text(
        "scenes: [synthetic/planes]\n"
        "matching_cost: absolute_difference\n"
        "optimization: winner_take_all\n"
        "sweep: {grid: {matching_cost.truncation: [5, 10]}}\n"
    )
    command = [sys.executable, "-c", PROGRAM, "run", str(tmp_path / "sweep.yaml")]
    threads = subprocess.run(
        [*command, "--workers", "2"], capture_output=True, text=True, check=False
    )
    assert threads.returncode == 0, threads.stderr
    warning = (
        "warning: workers: the system starts no thread, "
        "so that runs are computed one after the other"
    )
    assert warning in threads.stderr
    assert threads.stdout.count("synthetic/planes") == 2

    processes = subprocess.run(
        [*command, "--executor", "process"], capture_output=True, text=True, check=False
    )
    assert processes.returncode == 2
    [line] = processes.stderr.splitlines()
    assert line.startswith(
        "error: --executor process: the system starts no worker process: "
        "can't start new thread; the limit"
    )
    assert "--workers 1" in line
