"""Sweeps that are killed or interrupted at any moment, and continued: nothing twice, nothing lost. One writer at a time."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from sweep_parts import numbers, stored

import stereo_framework
from stereo_framework.core.errors import DataError
from stereo_framework.sweep import Store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

COMMAND = [sys.executable, "-c", "from stereo_framework.cli.main import main; main()", "run"]
# Slow enough to be killed in the middle.
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


@pytest.fixture(scope="module")
def uninterrupted():
    return numbers(stereo_framework.run(SWEEP, workers=2))


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(yaml.safe_dump(SWEEP | {"name": "script"}, sort_keys=False))
    return path


def start(script, *options):
    return subprocess.Popen(
        [*COMMAND, str(script), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


# More runs, that take longer: there must be some left to be killed.
MORE = {
    "matching_cost.truncation": {"range": [1, 60, 1]},
    "aggregation.diffusion.iterations": [80, 160, 320],
}
LONG = SWEEP | {"sweep": {"grid": SWEEP["sweep"]["grid"] | MORE}}


@pytest.fixture(scope="module")
def whole():
    return numbers(stereo_framework.run(LONG, workers=2))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask's own
@pytest.mark.parametrize("who", ["thread", "process", "dask"])
def test_killed_at_twenty_moments(who, tmp_path, whole, request):
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(LONG | {"name": "script"}, sort_keys=False))
    options = (
        ("--dask", request.getfixturevalue("cluster")) if who == "dask" else ("--executor", who)
    )
    out, chance = tmp_path / "out", random.Random()
    survived = amid = 0
    for number in range(20):
        child = start(tmp_path / "sweep.yaml", "--out", str(out), "--workers", "2", *options)
        # Five are killed while they start, the others when there is something new, or a little later.
        deadline = time.monotonic() + (chance.uniform(0.2, 2.5) if number % 4 == 3 else 300)
        while time.monotonic() < deadline and count(out) == survived:
            assert child.poll() is None, child.communicate()
            time.sleep(0.01)
        time.sleep(chance.choice((0, 0, 0.05)))
        amid += child.poll() is None and count(out) > 0
        child.send_signal(signal.SIGKILL)
        child.communicate()
        kept = stored(out)
        assert len(kept) >= survived, "results were lost"
        assert len({r.id for r in kept}) == len(kept), "results are there twice"
        survived = len(kept)
    assert amid >= 15
    assert survived < 360
    assert (
        numbers(stereo_framework.run(tmp_path / "sweep.yaml", out=out))
        == numbers(stored(out))
        == whole
    )
    with contextlib.closing(sqlite3.connect(out / "results.sqlite")) as db:
        assert db.execute("SELECT count(*), count(row) FROM results").fetchone() == (360, 360)


def count(out):
    """How many results are stored, without reading them."""
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{out / 'results.sqlite'}?mode=ro", uri=True)
        ) as db:
            return db.execute("SELECT count(row) FROM results").fetchone()[0]
    except sqlite3.Error:
        return 0  # not there yet


@pytest.fixture
def dask_processes(tmp_path):
    """Address of a Dask scheduler, its process, a list of its workers' processes, and what starts one more."""
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    program = [sys.executable, "-W", "ignore", "-m"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    told = tmp_path / "scheduler.json"
    options = (
        "--port",
        "0",
        "--host",
        "127.0.0.1",
        "--scheduler-file",
        str(told),
        "--no-dashboard",
    )
    scheduler = subprocess.Popen([*program, "distributed.cli.dask_scheduler", *options], **quiet)
    workers = []

    def one_more():
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "10")
        workers.append(
            subprocess.Popen([*program, "distributed.cli.dask_worker", address, *options], **quiet)
        )

    try:
        wait(lambda: told.is_file() and told.stat().st_size)
        address = json.loads(told.read_text())["address"]
        one_more()
        one_more()
        time.sleep(5)
        yield address, scheduler, workers, one_more
    finally:
        for one in (scheduler, *workers):
            one.kill()
            one.wait()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask's own
@pytest.mark.parametrize("victims", ["scheduler", "workers"])
def test_a_cluster_that_dies_fails_no_run(victims, tmp_path, whole, dask_processes):
    address, scheduler, workers, one_more = dask_processes
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(LONG | {"name": "script"}, sort_keys=False))
    out = tmp_path / "out"
    child = start(tmp_path / "sweep.yaml", "--out", str(out), "--dask", address)
    wait(lambda: count(out) > 0)
    for one in [scheduler] if victims == "scheduler" else list(workers):
        one.kill()
    if victims == "workers":
        one_more()  # the scheduler hands it what was with the others
    _, errors = child.communicate(timeout=300)
    *progress, line = errors.splitlines()
    if victims == "scheduler":
        assert child.returncode == 2, errors
        assert (
            line
            == "error: --dask: the scheduler is gone; results so far are kept, and the same command continues"
        )
        assert all("done" in said or "compiling" in said for said in progress), errors
    else:
        assert (child.returncode, len(stored(out))) == (0, 360), errors
    kept = stored(out)
    assert kept
    assert not any(r.error for r in kept)
    assert numbers(stereo_framework.run(tmp_path / "sweep.yaml", out=out)) == whole


def wait(for_what, seconds=300):
    deadline = time.monotonic() + seconds
    while not for_what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("executor", ["thread", "process"])
def test_control_c(script, tmp_path, uninterrupted, executor, number, status):
    child = start(script, "--out", str(tmp_path / "out"), "--executor", executor, "--workers", "2")
    wait(lambda: count(tmp_path / "out") or child.poll() is not None)
    child.send_signal(number)
    _, errors = child.communicate(timeout=300)
    assert child.returncode == status, errors
    # Progress may have been told before.
    line = errors.splitlines()[-1]
    assert "Traceback" not in errors
    kept = len(stored(tmp_path / "out"))
    assert f"of 48 results; the same command continues from {tmp_path / 'out'}" in line
    assert 0 < kept < 48
    results = stereo_framework.run(script, out=tmp_path / "out")
    assert numbers(results) == uninterrupted


@pytest.mark.slow
def test_worker_processes_end_with_their_parent(script, tmp_path):
    child = start(script, "--out", str(tmp_path / "out"), "--executor", "process", "--workers", "2")
    if not os.path.exists(f"/proc/{child.pid}/task/{child.pid}/children"):
        child.kill()
        pytest.skip("the system does not tell children")
    wait(lambda: count(tmp_path / "out"))
    # Any thread may have started them.
    workers = " ".join(
        path.read_text() for path in Path(f"/proc/{child.pid}/task").glob("*/children")
    ).split()
    assert len(workers) >= 2
    child.kill()
    child.communicate()
    wait(lambda: not any(map(alive, workers)), 10)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
def test_two_sweeps_do_not_write_to_one_folder(script, tmp_path):
    with Store(tmp_path / "out", create=True):
        child = start(script, "--out", str(tmp_path / "out"))
        _, errors = child.communicate(timeout=300)
        assert child.returncode == 2
        assert errors == (
            f"error: {tmp_path / 'out'}: another process holds the lock writer.lock; this may be a command that is writing there, or "
            "a process that was stopped and not ended; wait for it or end it, or choose another folder\n"
        )
        # Neither does this process; reading is no matter.
        with pytest.raises(DataError, match="another process holds the lock"):
            stereo_framework.run(SWEEP, out=tmp_path / "out")
        with Store(tmp_path / "out") as store:
            assert store.results() == []
