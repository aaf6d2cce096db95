"""Tests of sweeps that are killed or interrupted, and then continued.

Every result is stored exactly once, and only one process writes to a folder.
"""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from sweep_parts import numbers, stored

import stereo_framework
from stereo_framework.core.errors import DataError
from stereo_framework.sweep import Store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

COMMAND = [sys.executable, "-c", "from stereo_framework.cli.main import main; main()", "run"]

SWEEP = {
    "scenes": ["synthetic/planes"],
    "matching_cost": "absolute_difference",
    "aggregation": ["diffusion"],
    "optimization": "winner_take_all",
    "sweep": {
        "grid": {
            "matching_cost.truncation": {"range": [5, 40, 5]},
            "aggregation.diffusion.iterations": [4, 8, 16],
            "refinement": [[], ["parabola"]],
        }
    },
}
"""A sweep of 48 runs that takes long enough to be interrupted."""

LONG_AXES = {
    "matching_cost.truncation": {"range": [1, 60, 1]},
    "aggregation.diffusion.iterations": [80, 160, 320],
}
LONG_SWEEP = SWEEP | {"sweep": {"grid": SWEEP["sweep"]["grid"] | LONG_AXES}}
"""A sweep that takes so long that some runs are left after twenty kills."""

RUNS_OF_LONG_SWEEP = 360

# Dask warns about its own use of other libraries.
ignore_warnings_of_dask = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def uninterrupted():
    """Return the numbers of the short sweep without an interruption."""
    return numbers(stereo_framework.run(SWEEP, workers=2))


@pytest.fixture(scope="module")
def uninterrupted_long():
    """Return the numbers of the long sweep without an interruption."""
    return numbers(stereo_framework.run(LONG_SWEEP, workers=2))


def write_script(folder, sweep):
    """Write a sweep to a file, and return the path."""
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump(sweep | {"name": "script"}, sort_keys=False))
    return path


@pytest.fixture
def script(tmp_path):
    """Return the path of the short sweep."""
    return write_script(tmp_path, SWEEP)


@pytest.fixture
def long_script(tmp_path):
    """Return the path of the long sweep."""
    return write_script(tmp_path, LONG_SWEEP)


def start(script, *options):
    """Start the command that runs a script."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*COMMAND, str(script), *options], text=True, **pipes)


def count_stored(out):
    """Return the number of stored results, without reading the results."""
    uri = f"file:{out / 'results.sqlite'}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            return connection.execute("SELECT count(row) FROM results").fetchone()[0]
    except sqlite3.Error:
        # The store is not complete yet.
        return 0


def wait(condition, seconds=300):
    """Wait until a condition is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for_new_result(child, out, stored_before, seconds):
    """Wait for a result of a running command, but not longer than some seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and count_stored(out) == stored_before:
        assert child.poll() is None, child.communicate()
        time.sleep(0.01)


@pytest.mark.slow
@ignore_warnings_of_dask
@pytest.mark.parametrize("executor", ["thread", "process", "dask"])
def test_sweep_continues_after_twenty_kills(
    executor, tmp_path, long_script, uninterrupted_long, request
):
    """Lose no result, and store no result twice."""
    options = ["--executor", executor]
    if executor == "dask":
        options = ["--dask", request.getfixturevalue("cluster")]
    out = tmp_path / "out"
    draw = random.Random()
    stored_before = 0
    kills_during_work = 0
    for number in range(20):
        child = start(long_script, "--out", str(out), "--workers", "2", *options)
        # Every fourth command is killed while it starts. The others are killed after a
        # new result, or a little later.
        seconds = draw.uniform(0.2, 2.5) if number % 4 == 3 else 300
        wait_for_new_result(child, out, stored_before, seconds)
        time.sleep(draw.choice((0, 0, 0.05)))
        if child.poll() is None and count_stored(out) > 0:
            kills_during_work += 1
        child.send_signal(signal.SIGKILL)
        child.communicate()
        results = stored(out)
        assert len(results) >= stored_before, "results were lost"
        assert len({r.id for r in results}) == len(results), "a result is stored twice"
        stored_before = len(results)
    assert kills_during_work >= 15
    assert stored_before < RUNS_OF_LONG_SWEEP

    results = stereo_framework.run(long_script, out=out)
    assert numbers(results) == numbers(stored(out)) == uninterrupted_long
    with contextlib.closing(sqlite3.connect(out / "results.sqlite")) as connection:
        counts = connection.execute("SELECT count(*), count(row) FROM results").fetchone()
    assert counts == (RUNS_OF_LONG_SWEEP, RUNS_OF_LONG_SWEEP)


# --- clusters -------------------------------------------------------------------------


@dataclass
class DaskProcesses:
    """The processes of a Dask cluster.

    Parameters
    ----------
    scheduler : Popen
        The process of the scheduler.
    address : str
        The address of the scheduler.
    workers : list of Popen
        The processes of the workers.
    """

    scheduler: subprocess.Popen
    address: str = ""
    workers: list[subprocess.Popen] = field(default_factory=list)

    def start_worker(self):
        """Start one more worker."""
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "10"]
        self.workers.append(start_module("distributed.cli.dask_worker", self.address, *options))

    def kill(self):
        """End all processes of the cluster."""
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


def start_module(name, *options):
    """Start a Python module as a program that prints nothing."""
    command = [sys.executable, "-W", "ignore", "-m", name, *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def dask_processes(tmp_path):
    """Return a Dask cluster with two workers, each in a process of its own."""
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    file = tmp_path / "scheduler.json"
    options = ["--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(file)]
    scheduler = start_module("distributed.cli.dask_scheduler", "--no-dashboard", *options)
    processes = DaskProcesses(scheduler)
    try:
        wait(lambda: file.is_file() and file.stat().st_size)
        processes.address = json.loads(file.read_text())["address"]
        processes.start_worker()
        processes.start_worker()
        time.sleep(5)
        yield processes
    finally:
        processes.kill()


def start_on_cluster(script, out, processes):
    """Start a sweep on a cluster, and wait for its first result."""
    child = start(script, "--out", str(out), "--dask", processes.address)
    wait(lambda: count_stored(out) > 0)
    return child


def assert_continues(script, out, expected_numbers):
    """Check that some results are stored, and that a second command computes the rest."""
    results = stored(out)
    assert results
    assert not any(r.error for r in results)
    assert numbers(stereo_framework.run(script, out=out)) == expected_numbers


@pytest.mark.slow
@ignore_warnings_of_dask
def test_lost_scheduler_ends_the_command(tmp_path, long_script, uninterrupted_long, dask_processes):
    """The message differs from the message about a wrong address. No run fails."""
    out = tmp_path / "out"
    child = start_on_cluster(long_script, out, dask_processes)
    dask_processes.scheduler.kill()
    _, errors = child.communicate(timeout=300)
    *progress_lines, line = errors.splitlines()
    assert child.returncode == 2, errors
    assert line == (
        f"error: --dask {dask_processes.address}: the connection to the Dask scheduler was lost "
        "during the run; the scheduler must run until all results are computed; stored results are "
        "kept; start the scheduler again, and run the same command to continue"
    )
    assert all("done" in text or "compiling" in text for text in progress_lines), errors
    assert_continues(long_script, out, uninterrupted_long)


@pytest.mark.slow
@ignore_warnings_of_dask
def test_new_dask_worker_continues_the_work_of_dead_workers(
    tmp_path, long_script, uninterrupted_long, dask_processes
):
    """The scheduler gives the batches of dead workers to another worker."""
    out = tmp_path / "out"
    child = start_on_cluster(long_script, out, dask_processes)
    for worker in dask_processes.workers:
        worker.kill()
    dask_processes.start_worker()
    _, errors = child.communicate(timeout=300)
    assert child.returncode == 0, errors
    assert len(stored(out)) == RUNS_OF_LONG_SWEEP, errors
    assert_continues(long_script, out, uninterrupted_long)


# --- interrupts -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("executor", ["thread", "process"])
def test_interrupted_command_reports_how_to_continue(
    script, tmp_path, uninterrupted, executor, number, status
):
    """The exit status is 128 plus the number of the signal."""
    out = tmp_path / "out"
    child = start(script, "--out", str(out), "--executor", executor, "--workers", "2")
    wait(lambda: count_stored(out) or child.poll() is not None)
    child.send_signal(number)
    _, errors = child.communicate(timeout=300)
    assert child.returncode == status, errors
    # Lines of progress may come before the last line.
    line = errors.splitlines()[-1]
    assert "Traceback" not in errors
    assert f"of 48 results; the same command continues from {out}" in line
    assert 0 < len(stored(out)) < 48
    assert numbers(stereo_framework.run(script, out=out)) == uninterrupted


@pytest.mark.slow
def test_worker_processes_end_with_their_parent(script, tmp_path):
    """Watch the parent process, which cannot end its workers if it is killed."""
    out = tmp_path / "out"
    child = start(script, "--out", str(out), "--executor", "process", "--workers", "2")
    if not os.path.exists(f"/proc/{child.pid}/task/{child.pid}/children"):
        child.kill()
        pytest.skip("the system does not list the children of a process")
    wait(lambda: count_stored(out))
    # Any thread of the parent may have started a worker.
    files = Path(f"/proc/{child.pid}/task").glob("*/children")
    workers = " ".join(file.read_text() for file in files).split()
    assert len(workers) >= 2
    child.kill()
    child.communicate()
    wait(lambda: not any(is_running(worker) for worker in workers), 10)


def is_running(process_id):
    """Return whether a process exists and has not ended."""
    try:
        status = Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    state = status.rpartition(")")[2].split()[0]
    return state != "Z"


@pytest.mark.slow
def test_two_sweeps_do_not_write_to_one_folder(script, tmp_path):
    """Refuse to open the store a second time, in this or another process."""
    out = tmp_path / "out"
    with Store(out, create=True):
        child = start(script, "--out", str(out))
        _, errors = child.communicate(timeout=300)
        assert child.returncode == 2
        assert errors == (
            f"error: {out}: another process holds the lock writer.lock; only one process may write "
            "to a results folder; this may be a command that is writing there, or a process that "
            "was stopped and not ended; wait for it or end it, or choose another folder\n"
        )
        with pytest.raises(DataError, match="another process holds the lock"):
            stereo_framework.run(SWEEP, out=out)
        # Readers need no lock.
        with Store(out) as store:
            assert store.results() == []
