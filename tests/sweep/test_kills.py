"""Tests of sweeps that a signal ends: the same command continues to equal results.

Each signal is sent at an exact place of the program, not after some time. The first, a
middle and the last occurrence of each place are tested.
"""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import kill_plan
import pytest
import yaml
from kill_plan import Kill
from sweep_parts import numbers, stored

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

STAGE = '''
from stereo_framework.stages import stage

@stage("refinement", source="a test")
def counted(disparity):
    """Return the map, and report that a stage computes."""
    reach(Path(__file__).parent, "stage")
    return disparity
'''
"""The stage of the plug-in, which follows the source of `kill_plan`.

If the plug-in imported `kill_plan`, all installed packages would be searched for it.
"""

SCRIPT = {
    "scenes": ["synthetic/large-60x60x16", "synthetic/large-64x60x16"],
    "plugins": ["counting.py"],
    "matching_cost": "absolute_difference",
    "aggregation": ["box"],
    "optimization": "winner_take_all",
    "refinement": ["counted"],
    "sweep": {
        "grid": {
            "matching_cost.truncation": [10, 20, 40, None],
            "aggregation.box.size": [1, 3, 5],
        }
    },
}
"""A sweep of 12 settings on 2 scenes."""

RUNS = 24

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL]

HANDLED_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Signals after which the program prints a message and ends itself."""

PLACES = ["planning", "stage", "map", "transaction", "workers"]
"""The places at which commands are killed.

At "planning", a scene is loaded or a task is created. At "stage", a stage computes. At
"map", half of a disparity map is written. At "transaction", a result is written and not
committed. At "workers", a batch is sent to a worker, or the workers are shut down.
"""

EXECUTORS = ["thread", "process", "dask"]

MOMENTS = ["first", "middle", "last"]

QUICK_CASES = [
    ("thread", "planning", signal.SIGHUP, "middle"),
    ("thread", "stage", signal.SIGQUIT, "middle"),
    ("thread", "map", signal.SIGKILL, "middle"),
    ("thread", "transaction", signal.SIGINT, "middle"),
    ("thread", "workers", signal.SIGTERM, "last"),
    ("process", "stage", signal.SIGKILL, "middle"),
]
"""The cases that are tested in every run of the tests."""


# --- commands -------------------------------------------------------------------------


@dataclass(frozen=True)
class EndedCommand:
    """A command that has ended.

    Parameters
    ----------
    status : int or str
        The exit status. It is negative if a signal has ended the process.
    output : str
        Everything that the command has printed.
    """

    status: int | str
    output: str


class CommandServer:
    """A program that runs commands in forked processes, see `killed_commands`."""

    def __init__(self) -> None:
        program = Path(kill_plan.__file__).with_name("killed_commands.py")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = [sys.executable, "-W", "ignore", str(program)]
        self._process = subprocess.Popen(command, text=True, **pipes)
        assert self._process.stdout.readline() == "ready\n"

    def run(self, arguments: list[str], folder: Path) -> EndedCommand:
        """Run a command, and wait until it ends."""
        output = folder / "output.txt"
        request = {"arguments": arguments, "folder": str(folder), "output": str(output)}
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        status = json.loads(self._process.stdout.readline())
        return EndedCommand(status, output.read_text())

    def close(self) -> None:
        """End the program."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@pytest.fixture(scope="module")
def server():
    """Return the program that runs the commands."""
    with contextlib.closing(CommandServer()) as command_server:
        yield command_server


CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    options = {"dashboard_address": None, "silence_logs": 50}
    with LocalCluster(processes=True, n_workers=2, threads_per_worker=1, **options) as cluster:
        # Dask starts no other worker in place of one that SIGINT or SIGTERM has ended,
        # unless the number of workers is adapted.
        cluster.adapt(minimum=2, maximum=2, interval="500ms")
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
"""A program with a Dask cluster, which runs until its input ends."""


@pytest.fixture(scope="module")
def cluster_address(tmp_path_factory):
    """Return the address of a Dask cluster that outlives all commands."""
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    program = tmp_path_factory.mktemp("cluster") / "cluster.py"
    program.write_text(CLUSTER)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "-W", "ignore", str(program)]
    process = subprocess.Popen(command, text=True, **pipes)
    yield process.stdout.readline().strip()
    process.stdin.close()
    process.wait()
    process.stdout.close()


# --- sweeps ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """A sweep with one executor.

    Parameters
    ----------
    server : CommandServer
    folder : Path
        The folder with the script, the plug-in and the plan.
    options : list of str
        The options that choose the executor.
    """

    server: CommandServer
    folder: Path
    options: list[str]

    def run(self, out: Path, kill: Kill | None = None, *options: str) -> EndedCommand:
        """Run the command with an output folder."""
        kill_plan.prepare(self.folder, kill)
        script = str(self.folder / "script.yaml")
        arguments = ["run", script, "--out", str(out), "--maps", "--workers", "2"]
        return self.server.run([*arguments, *self.options, *options], self.folder)


def new_sweep(server, folder, options):
    """Write the files of a sweep to a folder."""
    plugin = Path(kill_plan.__file__).read_text() + STAGE
    (folder / "counting.py").write_text(plugin)
    (folder / "script.yaml").write_text(yaml.safe_dump(SCRIPT, sort_keys=False))
    return Sweep(server, folder, options)


@pytest.fixture(scope="module")
def sweeps(server, tmp_path_factory, request):
    """Return a function that returns the sweep with an executor."""
    sweep_of_executor: dict[str, Sweep] = {}

    def sweep_with(executor: str) -> Sweep:
        if executor not in sweep_of_executor:
            options = ["--executor", executor]
            if executor == "dask":
                options = ["--dask", request.getfixturevalue("cluster_address")]
            folder = tmp_path_factory.mktemp(executor)
            sweep_of_executor[executor] = new_sweep(server, folder, options)
        return sweep_of_executor[executor]

    return sweep_with


@dataclass(frozen=True)
class UndisturbedRun:
    """A sweep that no signal has ended.

    Parameters
    ----------
    out : Path
        The output folder.
    occurrences : dict of str to int
        Number of occurrences of each place.
    """

    out: Path
    occurrences: dict[str, int]

    def occurrence(self, place: str, moment: str) -> int:
        """Return the number of an occurrence: the first, a middle or the last one."""
        last = self.occurrences[place]
        return {"first": 1, "middle": (1 + last) // 2, "last": last}[moment]


@pytest.fixture(scope="module")
def undisturbed(sweeps):
    """Return a sweep in threads that no signal has ended."""
    sweep = sweeps("thread")
    out = sweep.folder / "undisturbed"
    command = sweep.run(out)
    assert command.status == 0, command.output
    occurrences = count_occurrences(sweep)
    assert occurrences["stage"] == occurrences["map"] == occurrences["transaction"] == RUNS
    assert min(occurrences.values()) >= 3
    return UndisturbedRun(out, occurrences)


def count_occurrences(sweep):
    """Return how often the last command of a sweep came to each place."""
    return {place: kill_plan.occurrences_of(sweep.folder, place) for place in PLACES}


def maps_in(out):
    """Return the content of all files in the folder of the maps, by their names."""
    return {path.name: path.read_bytes() for path in (out / "maps").iterdir()}


def names_in(folder):
    """Return the names of all files and subfolders of a folder."""
    return {path.name for path in folder.iterdir()}


def count_stored(out, copy):
    """Return the number of stored results.

    The store is copied, because reading it could repair it before the next command.
    """
    if not (out / "results.sqlite").exists():
        return 0
    shutil.copytree(out, copy)
    with contextlib.closing(sqlite3.connect(copy / "results.sqlite")) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
        if not tables:
            return 0
        return connection.execute("SELECT count(row) FROM results").fetchone()[0]


def assert_complete(out, undisturbed):
    """Check that a folder holds the files of the undisturbed sweep, and no others."""
    assert numbers(stored(out)) == numbers(stored(undisturbed.out))
    assert maps_in(out) == maps_in(undisturbed.out)
    assert names_in(out) == names_in(undisturbed.out)
    with contextlib.closing(sqlite3.connect(out / "results.sqlite")) as connection:
        counts = connection.execute(
            "SELECT count(*), count(row), count(DISTINCT place) FROM results"
        ).fetchone()
    assert counts == (RUNS, RUNS, RUNS)


# --- tests ----------------------------------------------------------------------------


def cases():
    """Return all kills of commands. Only a few of them are not slow."""
    parameters = []
    for executor in EXECUTORS:
        for place in PLACES:
            for number in SIGNALS:
                for moment in MOMENTS:
                    case = (executor, place, number, moment)
                    marks = [] if case in QUICK_CASES else [pytest.mark.slow]
                    name = f"{executor}-{place}-{number.name}-{moment}"
                    parameters.append(pytest.param(*case, marks=marks, id=name))
    return parameters


def status_after(number):
    """Return the exit status of a command that a signal has ended."""
    return 128 + number if number in HANDLED_SIGNALS else -number


@pytest.mark.parametrize(("executor", "place", "number", "moment"), cases())
def test_killed_command_continues_to_equal_results(
    executor, place, number, moment, sweeps, undisturbed, tmp_path
):
    """Compute exactly the results that were not stored before the signal."""
    sweep = sweeps(executor)
    out = tmp_path / "out"
    kill = Kill(place, undisturbed.occurrence(place, moment), number)
    killed = sweep.run(out, kill)
    assert kill_plan.was_sent(sweep.folder), killed.output
    assert "Traceback" not in killed.output
    assert killed.status == status_after(number), killed.output
    stored_before = count_stored(out, tmp_path / "copy")

    resumed = sweep.run(out)
    assert resumed.status == 0, resumed.output
    assert kill_plan.occurrences_of(sweep.folder, "transaction") == RUNS - stored_before
    if executor == "thread":
        # The workers of other executors may live longer than the killed command.
        assert kill_plan.occurrences_of(sweep.folder, "stage") == RUNS - stored_before
    assert_complete(out, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["process", "dask"])
def test_all_executors_come_equally_often_to_each_place(executor, sweeps, undisturbed, tmp_path):
    """Count the occurrences of each place, and compare them with threads."""
    sweep = sweeps(executor)
    assert sweep.run(tmp_path / "out").status == 0
    assert count_occurrences(sweep) == undisturbed.occurrences
    assert_complete(tmp_path / "out", undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("executor", ["process", "dask"])
def test_command_computes_the_batch_of_a_killed_worker_again(
    executor, number, moment, sweeps, undisturbed, tmp_path
):
    """Compute all results in one command although a worker dies."""
    sweep = sweeps(executor)
    out = tmp_path / "out"
    kill = Kill("stage", undisturbed.occurrence("stage", moment), number, ends_worker=True)
    command = sweep.run(out, kill)
    assert kill_plan.was_sent(sweep.folder), command.output
    assert "Traceback" not in command.output
    assert command.status == 0, command.output
    assert_complete(out, undisturbed)
    assert sweep.run(out).status == 0
    assert kill_plan.occurrences_of(sweep.folder, "transaction") == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_killed_command_writes_its_report_later(number, sweeps, undisturbed, tmp_path):
    """Write a report of which one half was written before the signal."""
    sweep = sweeps("thread")
    first = tmp_path / "first"
    shutil.copytree(undisturbed.out, first)
    assert sweep.run(first, None, "--report").status == 0
    # The report is the last file that the command writes.
    kill = Kill("file", kill_plan.occurrences_of(sweep.folder, "file"), number)

    out = tmp_path / "out"
    shutil.copytree(undisturbed.out, out)
    killed = sweep.run(out, kill, "--report")
    assert kill_plan.was_sent(sweep.folder), killed.output
    assert killed.status == status_after(number), killed.output
    assert not (out / "report.html").exists()

    resumed = sweep.run(out, None, "--report")
    assert resumed.status == 0, resumed.output
    assert (out / "report.html").is_file()
    assert kill_plan.occurrences_of(sweep.folder, "transaction") == 0
    assert numbers(stored(out)) == numbers(stored(undisturbed.out))
    assert maps_in(out) == maps_in(undisturbed.out)
