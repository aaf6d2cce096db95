"""Where the system starts no thread, kernels compute in the threads that there are."""

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
    """Let the system start only so many more threads."""
    start, started = threading.Thread.start, []

    def limited_start(thread):
        if len(started) >= count:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited_start)


@pytest.fixture
def no_pool():
    """The pool of kernels is started anew within the test, and after it."""
    thread_module._pool.cache_clear()
    thread_module._warn_of_limit.cache_clear()
    yield
    thread_module._pool.cache_clear()
    thread_module._warn_of_limit.cache_clear()


@pytest.mark.usefixtures("no_pool")
def test_without_threads_the_caller_computes_all_rows_and_warns_once(monkeypatch):
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
def test_the_threads_that_start_compute_all_rows_once(monkeypatch):
    visits = np.zeros(10, int)

    def visit(start, stop):
        visits[start:stop] += 1

    refuse_threads_after(monkeypatch, 1)
    with stereo_framework.threads(5), warnings.catch_warnings():
        warnings.simplefilter("error")
        over_rows(visit, 10, 10**9)
    assert (visits == 1).all()


def test_a_pool_without_threads_is_refused(monkeypatch):
    refuse_threads_after(monkeypatch, 0)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        ThreadPool(3, "test")


def test_programs_use_blas_as_the_user_has_set_it(monkeypatch):
    # What the functions set is undone with the rest of the environment.
    monkeypatch.setattr(os, "environ", {"PATH": "/bin"})
    use_one_blas_thread()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert environment_of_programs() == {"PATH": "/bin"}
    monkeypatch.setattr(os, "environ", {"OPENBLAS_NUM_THREADS": "3"})
    use_one_blas_thread()
    assert environment_of_programs() == {"OPENBLAS_NUM_THREADS": "3"}


PROGRAM = """
import threading
def refuse(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
from stereo_framework.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "words",
    [
        ["run", "window", "--scene", "synthetic/planes"],
        pytest.param(["match", "--example", "--method", "fast"], marks=pytest.mark.slow),
    ],
)
def test_commands_need_no_thread(words, tmp_path):
    command = [sys.executable, "-c", PROGRAM, *words, "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line != COMPILING]
    assert all(
        line.startswith("warning: threads: the system starts no thread") for line in lines
    ), done.stderr


@pytest.mark.slow
def test_a_sweep_without_threads_computes_all_runs(tmp_path):
    (tmp_path / "sweep.yaml").write_text(
        "scenes: [synthetic/planes]\nmatching_cost: absolute_difference\noptimization: winner_take_all\n"
        "sweep: {grid: {matching_cost.truncation: [5, 10]}}\n"
    )
    command = [sys.executable, "-c", PROGRAM, "run", str(tmp_path / "sweep.yaml")]
    threads = subprocess.run(
        [*command, "--workers", "2"], capture_output=True, text=True, check=False
    )
    assert threads.returncode == 0, threads.stderr
    assert (
        "warning: workers: the system starts no thread, so that runs are computed one after the other"
        in threads.stderr
    )
    assert threads.stdout.count("synthetic/planes") == 2

    processes = subprocess.run(
        [*command, "--executor", "process"], capture_output=True, text=True, check=False
    )
    assert processes.returncode == 2
    [line] = processes.stderr.splitlines()
    assert line.startswith(
        "error: --executor process: the system starts no worker process: can't start new thread; the limit"
    )
    assert "--workers 1" in line
