"""Tests of executors: equal results, workers that die, and too little memory."""

import concurrent.futures
import multiprocessing
import os
import re
import subprocess
import sys
import types

import numpy as np
import pytest
from sweep_parts import WINDOW, assert_equal, dots, numbers, stored

import stereo_framework
from stereo_framework.core.errors import (
    DataError,
    MissingExtraError,
    ParameterError,
    ResultWarning,
    StereoFrameworkError,
)
from stereo_framework.core.registration import stage
from stereo_framework.engine import strips
from stereo_framework.kernels.progress import reporting_iterations_to
from stereo_framework.script import load
from stereo_framework.sweep import dask_cluster, memory_budget
from stereo_framework.sweep.computation import Computation
from stereo_framework.sweep.dask_cluster import dask_executor
from stereo_framework.sweep.processes import Processes
from stereo_framework.sweep.tasks import tasks_of_script

SWEEP = {
    "matching_cost": "absolute_difference",
    "aggregation": [{"use": "box", "size": 3}],
    "smoothness": {"use": "potts", "weight": 5},
    "optimization": "winner_take_all",
    "seed": 3,
    "sweep": {
        "grid": {
            "matching_cost.truncation": [10, None],
            "aggregation": [
                ["box"],
                [{"use": "diffusion", "iterations": 4}],
                [{"use": "diffusion", "iterations": 2}],
            ],
            "optimization": ["winner_take_all", {"use": "simulated_annealing", "iterations": 2}],
            "refinement": [[], ["parabola"]],
        }
    },
}
MIXED = SWEEP | {
    "aggregation": [],
    "sweep": {
        "grid": {
            "optimization": ["winner_take_all", "graph_cut", "scanline_optimization"],
            "refinement": [[], ["parabola"]],
        }
    },
}
PLUGIN = '''
import os, signal, pathlib
from stereo_framework.stages import stage

@stage("refinement", source="a test")
def dangerous(disparity, *, mode: int = 0, file: str = ""):
    """Kill the process in mode 5. In mode 6, kill it only if the file is missing."""
    path = pathlib.Path(file)
    is_first_call = mode == 6 and not path.exists()
    if is_first_call:
        path.touch()
    if mode == 5 or is_first_call:
        os.kill(os.getpid(), signal.SIGKILL)
    return disparity
'''
posix = pytest.mark.skipif(os.name != "posix", reason="sends a signal")
# Dask warns about its own use of other libraries.
dask = pytest.mark.filterwarnings("ignore")
pytestmark = pytest.mark.usefixtures("small_scenes_only")

WORKER_DIED_TWICE = (
    "its worker died twice, once while it computed nothing else; the system may have killed it for "
    "want of memory, or its method may have ended it; lower --memory and --workers, or run this "
    "setting alone with --executor thread"
)


def run_sweep(**options):
    """Run the sweep on two scenes."""
    return stereo_framework.run(SWEEP, scenes=[dots("mine"), "synthetic/planes"], **options)


@pytest.fixture(scope="module")
def separate_results():
    """Return the results of the sweep from separate runs, which share nothing."""
    results = []
    for scene in (dots("mine"), stereo_framework.load_scene("synthetic/planes")):
        for setting in load(SWEEP).settings:
            script = setting.mapping | {"name": "script"}
            [result] = stereo_framework.run(script, scenes=scene, workers=1)
            disparity = setting.pipeline(scene).disparity
            np.testing.assert_array_equal(result.disparity, disparity)
            results.append(result)
    return results


def make_executor(name, request):
    """Return an executor with two workers."""
    if name == "dask":
        return dask_executor(request.getfixturevalue("cluster"))
    if name == "threads":
        return concurrent.futures.ThreadPoolExecutor(2)
    if name == "processes":
        return Processes(2)
    spawning = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(2, mp_context=spawning)


def assert_same(results, expected_results):
    """Compare results with those of separate runs."""
    assert [r.scene for r in results] == [r.scene for r in expected_results]
    for result, expected in zip(results, expected_results, strict=True):
        assert result.error is None
        assert result.id == expected.id
        assert result.energy == expected.energy
        assert repr(result.statistics) == repr(expected.statistics)
        np.testing.assert_array_equal(result.disparity, expected.disparity)


@pytest.mark.parametrize("workers", [1, 3])
def test_threads_give_the_results_of_separate_runs(workers, separate_results):
    """Compute in the calling thread with one worker, and in threads with three."""
    assert_same(run_sweep(workers=workers), separate_results)


@pytest.mark.parametrize(
    "name",
    ["threads", pytest.param("dask", marks=dask), pytest.param("pool", marks=pytest.mark.slow)],
)
def test_given_executor_gives_the_results_of_separate_runs(name, separate_results, request):
    """Accept an executor of concurrent.futures, and the executor of a Dask client."""
    with make_executor(name, request) as pool:
        assert_same(run_sweep(executor=pool), separate_results)


class IdleExecutor(concurrent.futures.Executor):
    """An executor that never begins a call."""

    def __init__(self):
        self.futures = []

    def submit(self, function, *arguments):
        """Return a future that does not end."""
        future = concurrent.futures.Future()
        self.futures.append(future)
        return future


class FailingExecutor(IdleExecutor):
    """An executor whose first call fails when the third call is submitted."""

    def submit(self, function, *arguments):
        """Return a future that does not end, and end the first future with an error."""
        future = super().submit(function, *arguments)
        if len(self.futures) == 3:
            self.futures[0].set_exception(KeyError("gone"))
        return future


def test_batches_that_have_not_begun_are_cancelled(registry):
    """The end of the block cancels them. An exception of a batch becomes its error."""
    executor = FailingExecutor()
    with Computation(workers=2, executor=executor) as computation:
        _, [result] = next(computation.results_of(tasks_of_script(load(SWEEP), [dots()])))
    assert result.error == "KeyError: 'gone'"
    assert len(executor.futures) == 3
    assert all(future.cancelled() for future in executor.futures[1:])


def test_rounds_in_threads_are_reported_to_the_listener_of_the_caller():
    """Report runs, iterations and sweeps of the threads to the caller's listener."""
    nouns = set()
    with reporting_iterations_to(lambda thread, done, count, noun: nouns.add(noun)):
        run_sweep(workers=2)
    assert {"run", "iteration", "sweep"} <= nouns


# --- Dask -----------------------------------------------------------------------------


def test_missing_dask_gives_the_command_that_installs_it(monkeypatch):
    """Name the optional dependency and its installation."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = r"--dask needs dask.distributed: pip install '\.\[cluster\]' in the folder"
    with (
        pytest.raises(MissingExtraError, match=message),
        dask_executor("tcp://localhost:1"),
    ):
        pass


@dask
@pytest.mark.parametrize(
    "address",
    [
        "nothing://scheduler:8786",
        "tcp://",
        pytest.param("tcp://127.0.0.1:1", marks=pytest.mark.slow),
    ],
)
def test_wrong_address_of_a_scheduler_gives_the_address_and_a_remedy(address):
    """Distinguish a wrong address from a scheduler that is lost later."""
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    message = (
        rf"^--dask {address}: no Dask scheduler answers at this address: \S.*; expected the "
        r"address that 'dask scheduler' prints, such as \S+; start the scheduler, or correct the "
        r"address$"
    )
    with pytest.raises(DataError, match=message), dask_executor(address):
        pass


class LonelyScheduler(IdleExecutor):
    """An executor of a Dask client whose cluster has no workers.

    Parameters
    ----------
    status : str
        Status of the client after the first call was submitted.
    """

    def __init__(self, status="running"):
        super().__init__()
        scheduler = types.SimpleNamespace(address="tcp://somewhere:8786")
        self._client = types.SimpleNamespace(
            status="running", scheduler=scheduler, nthreads=self.no_threads
        )
        self.later_status = status

    def submit(self, function, *arguments):
        """Change the status of the client, and return a future that does not end."""
        self._client.status = self.later_status
        return super().submit(function, *arguments)

    def no_threads(self):
        """End the first call when the computation counts the workers."""
        for future in self.futures[:1]:
            future.set_exception(KeyError("gone"))
        return {}


def test_missing_dask_worker_is_reported_after_some_time(registry, monkeypatch):
    """Warn once, and give the command that starts a worker."""
    monkeypatch.setattr(dask_cluster, "_PATIENCE", 1)
    message = (
        r"^--dask tcp://somewhere:8786: the cluster has had no worker for 1 seconds; the sweep "
        r"continues when a worker connects; start a worker with: dask worker tcp://somewhere:8786$"
    )
    tasks = tasks_of_script(load(SWEEP), [dots()])
    with (
        Computation(workers=2, executor=LonelyScheduler()) as computation,
        pytest.warns(ResultWarning, match=message),
    ):
        next(computation.results_of(tasks))


LOST_SCHEDULER = (
    r"^--dask tcp://\S+: the connection to the Dask scheduler was lost during the run; the "
    r"scheduler must run until all results are computed; stored results are kept; start the "
    r"scheduler again, and run the same command to continue$"
)


@pytest.mark.parametrize("status", ["closed", "closing"])
def test_lost_scheduler_ends_the_run_with_a_message(status, registry):
    """Examine the status of the client, because its futures never end."""
    tasks = tasks_of_script(load(SWEEP), [dots()])
    lost = LonelyScheduler(status)
    with (
        Computation(workers=2, executor=lost) as computation,
        pytest.raises(StereoFrameworkError, match=LOST_SCHEDULER),
    ):
        list(computation.results_of(tasks))


# --- workers that die -----------------------------------------------------------------


@posix
@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("processes", [6, 5]),
        pytest.param("dask", [4, 6, 7], marks=[dask, pytest.mark.slow]),
        # Processes of this package take the place of a broken executor.
        pytest.param("pool", [4, 6, 7], marks=pytest.mark.slow),
    ],
)
def test_tasks_of_a_dead_worker_are_computed_again(name, modes, tmp_path, registry, request):
    """A task fails only if its worker dies again while it computes nothing else."""
    (tmp_path / "dangerous_stage.py").write_text(PLUGIN)
    flag = tmp_path / "flag"
    grid = {"matching_cost.truncation": [1, 10], "refinement.dangerous.mode": modes}
    script = WINDOW | {
        "plugins": [str(tmp_path / "dangerous_stage.py")],
        "refinement": [{"use": "dangerous", "file": str(flag)}],
        "sweep": {"grid": grid},
    }
    with make_executor(name, request) as pool:
        results = stereo_framework.run(script, scenes=dots(), out=tmp_path / "out", executor=pool)
    assert flag.exists()
    errors = [WORKER_DIED_TWICE if mode == 5 else None for mode in modes]
    assert [r.axes["refinement.dangerous.mode"] for r in results] == modes * 2
    assert [r.error for r in results] == errors * 2
    assert numbers(stored(tmp_path / "out")) == numbers(results)

    # The dangerous stage does not change the map, so its modes give equal statistics.
    statistics = [repr(r.statistics) for r in results[: len(modes)] if not r.error]
    assert len(set(statistics)) == 1
    assert all(r.statistics for r in results if not r.error)


def test_stage_that_cannot_be_sent_is_refused_with_a_remedy(registry):
    """Refuse a function inside another function, because it cannot be pickled."""

    @stage("refinement", source="a test")
    def here_only(disparity):
        return disparity

    message = "a stage cannot be sent to another process: .*here_only.*plugins:"
    script = SWEEP | {"refinement": ["here_only"], "sweep": {}}
    with Processes(1) as pool, pytest.raises(ParameterError, match=message):
        stereo_framework.run(script, scenes=dots(), executor=pool)


def test_processes_stay_until_the_end_of_their_block(separate_results):
    """Keep the processes if a computation ends early. End them with their block."""
    tasks = tasks_of_script(load(SWEEP), [stereo_framework.load_scene("synthetic/planes")])
    # A cluster of another test may still have processes.
    other_processes = set(multiprocessing.active_children())
    with Processes(2) as pool:
        assert_same(run_sweep(executor=pool), separate_results)
        started_processes = set(multiprocessing.active_children()) - other_processes
        with Computation(executor=pool) as computation:
            next(computation.results_of(tasks))
        assert started_processes
        assert set(multiprocessing.active_children()) - other_processes == started_processes
    assert not set(multiprocessing.active_children()) - other_processes


PROGRAM_THAT_EXAMINES_SIGNALS = """
import signal
from stereo_framework.sweep.processes import Processes

def is_ignored():
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN

def is_blocked():
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

if __name__ == "__main__":
    with Processes(1) as pool:
        print(pool.submit(is_ignored).result(), pool.submit(is_blocked).result())
"""


@posix
def test_processes_neither_ignore_nor_block_interrupts(tmp_path):
    """Examine both, because external programs of stages would inherit them."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM_THAT_EXAMINES_SIGNALS)
    command = [sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "False False\n"


# --- shared steps ---------------------------------------------------------------------


def test_shared_beginning_is_computed_once_for_any_number_of_workers(registry):
    """Run an optimizer once, because its tasks go into one batch."""
    calls = []

    @stage("optimization", source="a test")
    def slow(volume, smoothness=None, *, level: int = 0):
        calls.append(level)
        return stereo_framework.optimization.graph_cut(volume, smoothness)

    grid = {"optimization.level": [1, 2, 3], "refinement": [[], ["parabola"], ["fill_occlusions"]]}
    script = MIXED | {"optimization": "slow", "sweep": {"grid": grid}}
    for workers in (1, 2, 4):
        calls.clear()
        assert len(stereo_framework.run(script, scenes=dots(), workers=workers)) == 9
        assert sorted(calls) == [1, 2, 3]


@pytest.mark.parametrize("workers", [1, 2])
def test_exception_in_a_halo_fails_only_its_own_runs(registry, workers):
    """Call a halo of a plug-in, which may raise anything."""

    @stage("refinement", source="a test", halo=lambda size: 1 // size)
    def careless(disparity, *, size: int = 1):
        return disparity

    grid = {"refinement.careless.size": [1, 0, 2]}
    script = MIXED | {"refinement": ["careless"], "sweep": {"grid": grid}}
    results = stereo_framework.run(script, scenes=dots(), workers=workers)
    assert [bool(r.error) for r in results] == [False, True, False]
    pattern = r"test_executors.py:\d+: refinement stage careless: ZeroDivisionError: "
    assert re.search(pattern, results[1].error)


# --- memory ---------------------------------------------------------------------------

VOLUME = 4 * 24 * 32 * 8
"""Bytes of a float32 cost volume of the small scene."""


def is_graph_cut(result):
    """Return whether a result of the sweep `MIXED` has the optimizer graph_cut."""
    return "graph_cut" in result.axes.values()


@pytest.mark.parametrize("workers", [1, 2])
def test_only_runs_that_need_too_much_memory_fail(workers, monkeypatch):
    """A graph cut needs three volumes. The other optimizers run on strips."""
    monkeypatch.setattr(strips, "STRIP_ROWS", 4)
    expected_results = stereo_framework.run(MIXED, scenes=dots(), workers=1)
    assert all(r.error is None for r in expected_results)

    results = stereo_framework.run(MIXED, scenes=dots(), workers=workers, memory=2 * VOLUME)
    message = (
        "graph_cut needs about 0.0703 MiB for 32x24 pixels and 8 levels; 0.0469 MiB are allowed "
        "(--memory); use fewer levels or smaller images"
    )
    assert [r.error for r in results] == [message if is_graph_cut(r) else None for r in results]
    for result, expected in zip(results, expected_results, strict=True):
        if not result.error:
            assert_equal([result], [expected])


@pytest.mark.parametrize(("spare_bytes", "fits"), [(4, True), (-4, False)])
def test_most_of_the_free_memory_may_be_used_by_default(spare_bytes, fits, monkeypatch):
    """Run a graph cut whose three volumes just fit or just do not fit."""
    monkeypatch.setattr(strips, "STRIP_ROWS", 4)
    free_bytes = int(1.25 * 3 * VOLUME) + spare_bytes
    monkeypatch.setattr(memory_budget, "free_memory", lambda: free_bytes)
    results = stereo_framework.run(MIXED, scenes=dots(), workers=1)
    assert all(r.error is None for r in results if not is_graph_cut(r))
    assert {r.error is None for r in results if is_graph_cut(r)} == {fits}


def test_tasks_that_do_not_fit_together_are_computed_apart(monkeypatch, registry):
    """Compute strips for each task if there is no memory for a shared volume."""
    monkeypatch.setattr(strips, "STRIP_ROWS", 4)
    calls = []

    @stage("matching_cost", source="a test", halo=lambda: 0)
    def counted(reference, match, search):
        calls.append(len(reference))
        return stereo_framework.matching_cost.absolute_difference(reference, match, search)

    grid = {"aggregation.box.size": [1, 3, 5]}
    script = load(SWEEP | {"matching_cost": "counted", "sweep": {"grid": grid}})
    # The script loader has called the stage on small images to check its halo.
    calls.clear()
    together = stereo_framework.run(script, scenes=dots(), workers=1)
    # The shared costs are computed once, for the whole image.
    assert calls == [24]

    calls.clear()
    apart = stereo_framework.run(script, scenes=dots(), workers=1, memory=int(1.5 * VOLUME))
    # Each task computes strips with the halos of its window and of its smoothness term.
    assert (len(calls), max(calls)) == (18, 10)
    assert_equal(apart, together)
