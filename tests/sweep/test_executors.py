"""Who computes does not matter: equal results from all executors, workers that die, runs that do not fit."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
import yaml

import stereo_framework
from stereo_framework.core.errors import DataError, MissingExtraError, ParameterError
from stereo_framework.core.scene import Frame, Scene, Search
from stereo_framework.core.stage import stage
from stereo_framework.datasets import random_planes
from stereo_framework.engine import strips
from stereo_framework.script import load
from stereo_framework.sweep import Store, executors
from stereo_framework.sweep.executors import Crew, computed, dask_executor, processes
from stereo_framework.sweep.plan import plan

SWEEP = {
    "matching_cost": "absolute_difference",
    "aggregation": [{"use": "box", "size": 3}],
    "smoothness": {"use": "potts", "weight": 5},
    "optimization": "winner_take_all",
    "seed": 3,
    "sweep": {
        "grid": {
            "matching_cost.truncation": [10, None],
            "aggregation": [["box"], [{"use": "diffusion", "iterations": 4}], [{"use": "diffusion", "iterations": 2}]],
            "optimization": ["winner_take_all", {"use": "simulated_annealing", "sweeps": 2}],
            "refinement": [[], ["parabola"]],
        }
    },
}
PLUGIN = '''
import os, signal, pathlib
from stereo_framework.core.stage import stage

@stage("refinement", source="a test")
def dangerous(disparity, *, at: int = 0, once: str = ""):
    """End the process, once or always.

    Parameters
    ----------
    at : int
        5 is dangerous.
    once : str
        A file that is made before the process ends for the first time.
    """
    if at == 5 and not (once and pathlib.Path(once).exists()):
        if once:
            pathlib.Path(once).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return disparity
'''


def own_scene():
    """A scene that no name says."""
    scene = random_planes(rows=24, columns=32, levels=8, seed=1)
    arrays = [scene.image(i) for i in range(2)]
    truth = scene.truth
    frames = Frame("left", lambda: arrays[0], 0), Frame("right", lambda: arrays[1], 1)
    return Scene("mine", frames, search=Search(0, 7), truths={(0, 1): lambda: truth}, border=2)


def numbers(results):
    return [
        (r.id, r.scene, r.method, r.axes, {k: repr(v) for k, v in r.statistics.items()}, r.energy, r.warnings, r.error)
        for r in results
    ]


def assert_equal(results, expected):
    assert numbers(results) == numbers(expected)
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_array_equal(one.disparity, other.disparity)


@pytest.fixture(scope="module")
def alone():
    """Each run by itself, nothing shared."""
    script = stereo_framework.script.load(SWEEP)
    found = []
    for scene in (own_scene(), stereo_framework.load_scene("synthetic/planes")):
        for one in script.settings:
            [result] = stereo_framework.run(one.mapping | {"name": "script"}, scenes=scene, workers=1)
            match = one.pipeline(scene)
            np.testing.assert_array_equal(result.disparity, match.disparity)
            found.append(result)
    return found


def swept(**options):
    return stereo_framework.run(SWEEP, scenes=[own_scene(), "synthetic/planes"], **options)


def assert_as_alone(results, alone):
    assert [r.scene for r in results] == [r.scene for r in alone]
    for one, other in zip(results, alone, strict=True):
        assert (one.id, repr(one.statistics), one.energy, one.error) == (other.id, repr(other.statistics), other.energy, None)
        np.testing.assert_array_equal(one.disparity, other.disparity)


def test_one_after_the_other(alone):
    assert_as_alone(swept(workers=1), alone)


def test_threads(alone):
    assert_as_alone(swept(workers=3), alone)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert_as_alone(swept(executor=pool), alone)


def test_processes(alone):
    with processes(2) as pool:
        assert_as_alone(swept(executor=pool), alone)


@pytest.mark.slow
def test_an_executor_of_the_callers(alone):
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        assert_as_alone(swept(executor=pool), alone)
        # It is still of use.
        assert pool.submit(os.getpid).result() != os.getpid()


dask = pytest.mark.filterwarnings("ignore")  # Dask's own


@dask
def test_a_dask_cluster(alone, cluster):
    with dask_executor(cluster) as pool:
        assert_as_alone(swept(executor=pool), alone)


@pytest.mark.slow
@dask
def test_a_dask_worker_that_dies(tmp_path, cluster, registry):
    with dask_executor(cluster) as pool:
        assert_all_arrive(tmp_path, pool)


def test_dask_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingExtraError, match=r"--dask needs dask.distributed: pip install '\.\[cluster\]' in the folder"),
        dask_executor("tcp://localhost:1"),
    ):
        pass


@dask
@pytest.mark.parametrize(
    "address", ["nothing://scheduler:8786", "tcp://", pytest.param("tcp://127.0.0.1:1", marks=pytest.mark.slow)]
)
def test_where_no_dask_scheduler_is(address):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        pytest.raises(DataError, match=rf"^--dask {address}: no Dask scheduler answers there: \S.*$"),
        dask_executor(address),
    ):
        pass


class Busy(concurrent.futures.Executor):
    """Begins nothing."""

    def __init__(self):
        self.futures = []

    def submit(self, function, *arguments):
        self.futures.append(concurrent.futures.Future())
        return self.futures[-1]


def test_what_an_executor_has_not_begun_is_taken_back(registry):
    executor = Busy()
    tasks = plan(load(SWEEP), [own_scene()])
    threading.Timer(0.2, lambda: executor.futures[0].set_exception(KeyError("gone"))).start()
    coming = computed(tasks, Crew(workers=2, executor=executor))
    assert next(coming)[1][0].error == "KeyError: 'gone'"
    assert len(executor.futures) == 3
    coming.close()
    assert all(future.cancelled() for future in executor.futures[1:])


@pytest.mark.slow
def test_that_threads_compile_kernels_is_told(tmp_path):
    script = yaml.safe_dump(
        {"scenes": ["synthetic/planes"], "include": "window", "sweep": {"grid": {"aggregation.box.size": [3, 5]}}}
    )
    (tmp_path / "window.yaml").write_text(script)
    program = "from stereo_framework.cli.main import main; main()"
    command = [sys.executable, "-c", program, "run", tmp_path / "window.yaml", "--workers", "2"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=True).stderr
    assert said.count("compiling kernels: first use only") == 1, said


def dangerous(tmp_path, **parameters):
    (tmp_path / "dangerous_stage.py").write_text(PLUGIN)
    return {
        "plugins": [str(tmp_path / "dangerous_stage.py")],
        "matching_cost": "absolute_difference",
        "optimization": "winner_take_all",
        "refinement": [{"use": "dangerous", **parameters}],
        "sweep": {"grid": {"matching_cost.truncation": [1, 10], "refinement.dangerous.at": [4, 5, 6]}},
    }


def assert_all_arrive(tmp_path, pool):
    script = dangerous(tmp_path, once=str(tmp_path / "was there"))
    results = stereo_framework.run(script, scenes=own_scene(), out=tmp_path / "out", executor=pool)
    assert (tmp_path / "was there").exists()
    assert [(r.axes["refinement.dangerous.at"], r.error) for r in results] == [(n, None) for n in (4, 5, 6)] * 2
    with Store(tmp_path / "out") as store:
        assert numbers(store.results()) == numbers(results)
    # The dangerous stage does nothing to the map.
    assert len({repr(r.statistics) for r in results[:3]}) == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_worker_that_dies(tmp_path, registry):
    with processes(2) as pool:
        assert_all_arrive(tmp_path, pool)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_run_that_kills_its_workers_is_found_out(tmp_path, registry):
    with processes(2) as pool:
        results = stereo_framework.run(dangerous(tmp_path), scenes=own_scene(), executor=pool)
    for result in results:
        if result.axes["refinement.dangerous.at"] == 5:
            assert (
                result.error
                == "its worker died twice, once while it was alone with it (killed, out of memory, or ended by its method)"
            )
        else:
            assert result.error is None
            assert result.statistics


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_processes_take_the_place_of_an_executor_that_is_broken(tmp_path, registry):
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert_all_arrive(tmp_path, pool)


def test_stages_that_cannot_be_sent_are_told(registry):
    @stage("refinement", source="a test")
    def here_only(disparity):
        return disparity

    with (
        processes(1) as pool,
        pytest.raises(ParameterError, match="a stage cannot be sent to another process: .*here_only.*plugins:"),
    ):
        stereo_framework.run(SWEEP | {"refinement": ["here_only"], "sweep": {}}, scenes=own_scene(), executor=pool)


@pytest.mark.slow
def test_work_that_is_left_in_the_middle_stops_the_processes():
    tasks = plan(load(SWEEP), [stereo_framework.load_scene("synthetic/planes")])
    # A cluster of another test may still be there.
    others = set(multiprocessing.active_children())
    with processes(2) as pool:
        with contextlib.closing(computed(tasks, Crew(executor=pool))) as coming:
            next(coming)
        # They stay for the next work.
        assert len(set(multiprocessing.active_children()) - others) == 2
    assert not set(multiprocessing.active_children()) - others


def test_wrong_options():
    with pytest.raises(ParameterError, match="workers: 0 is below 1"):
        swept(workers=0)
    with pytest.raises(ParameterError, match="memory: 0 bytes is nothing"):
        swept(memory=0)


def test_a_beginning_is_computed_once_whoever_computes(registry):
    calls = []

    @stage("optimization", source="a test")
    def slow(volume, smoothness=None, *, level: int = 0):
        calls.append(level)
        return stereo_framework.optimization.graph_cut(volume, smoothness)

    grid = {"optimization.level": [1, 2, 3], "refinement": [[], ["parabola"], ["fill_occlusions"]]}
    script = MIXED | {"optimization": "slow", "sweep": {"grid": grid}}
    for workers in (1, 2, 4):
        calls.clear()
        assert len(stereo_framework.run(script, scenes=own_scene(), workers=workers)) == 9
        assert sorted(calls) == [1, 2, 3]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_halo_that_raises_fails_its_own_runs(registry, workers):
    @stage("refinement", source="a test", halo=lambda size: 1 // size)
    def careless(disparity, *, size: int = 1):
        return disparity

    script = MIXED | {"refinement": ["careless"], "sweep": {"grid": {"refinement.careless.size": [1, 0, 2]}}}
    results = stereo_framework.run(script, scenes=own_scene(), workers=workers)
    assert [bool(r.error) for r in results] == [False, True, False]
    assert re.search(r"test_executors.py:\d+: refinement stage careless: ZeroDivisionError: ", results[1].error)


def test_results_tell_what_they_were_computed_with(tmp_path):
    [result] = stereo_framework.run(SWEEP | {"sweep": {}}, scenes=own_scene(), out=tmp_path)
    with Store(tmp_path) as store:
        [stored] = store.results()
    assert stored.environment == result.environment
    assert stored.environment["numpy"] == np.__version__
    assert stored.environment["host"]


def test_seeds_are_parameters():
    script = SWEEP | {"optimization": {"use": "simulated_annealing", "sweeps": 2}, "sweep": {}}
    [result] = stereo_framework.run(script, scenes=own_scene())
    assert (result.parameters["seed"], result.parameters["optimization.seed"]) == (3, 3)


# --- memory -----------------------------------------------------------------------------------------------------------

VOLUME = 4 * 24 * 32 * 8
MIXED = {
    "matching_cost": "absolute_difference",
    "smoothness": {"use": "potts", "weight": 5},
    "optimization": "winner_take_all",
    "sweep": {
        "grid": {
            "optimization": ["winner_take_all", "graph_cut", "scanline_optimization"],
            "refinement": [[], ["parabola"]],
        }
    },
}


@pytest.mark.parametrize("workers", [1, 2])
def test_runs_that_do_not_fit_fail_alone(workers, monkeypatch):
    monkeypatch.setattr(strips, "STRIP_ROWS", 4)
    expected = stereo_framework.run(MIXED, scenes=own_scene(), workers=1)
    assert all(r.error is None for r in expected)
    # Slabs fit; a graph cut with its three volumes does not.
    results = stereo_framework.run(MIXED, scenes=own_scene(), workers=workers, memory=2 * VOLUME)
    for result, whole in zip(results, expected, strict=True):
        if result.axes["optimization"] == "graph_cut":
            assert result.error == (
                "graph_cut needs about 0.0703 MiB for 32x24 pixels and 8 levels; 0.0469 MiB are allowed (--memory); "
                "use fewer levels or smaller images"
            )
        else:
            assert_equal([result], [whole])


def test_what_does_not_fit_together_is_computed_apart(monkeypatch, registry):
    monkeypatch.setattr(strips, "STRIP_ROWS", 4)
    calls = []

    @stage("matching_cost", source="a test", halo=lambda: 0)
    def counted(reference, match, search):
        calls.append(len(reference))
        return stereo_framework.matching_cost.absolute_difference(reference, match, search)

    script = SWEEP | {"matching_cost": "counted", "sweep": {"grid": {"aggregation.box.size": [1, 3, 5]}}}
    together = stereo_framework.run(script, scenes=own_scene(), workers=1)
    # The costs that they share are computed alone, and then at once.
    assert calls == [24]
    calls.clear()
    apart = stereo_framework.run(script, scenes=own_scene(), workers=1, memory=int(1.5 * VOLUME))
    # Each for itself, in strips with the halos of its window.
    assert len(calls) == 18
    assert max(calls) == 8
    assert_equal(apart, together)


def test_by_default_most_of_the_free_memory_may_be_used(monkeypatch):
    monkeypatch.setattr(strips, "STRIP_ROWS", 4)
    monkeypatch.setattr(executors, "free_memory", lambda: int(1.25 * 3 * VOLUME) + 4)
    assert all(r.error is None for r in stereo_framework.run(MIXED, scenes=own_scene(), workers=1))
    monkeypatch.setattr(executors, "free_memory", lambda: int(1.25 * 3 * VOLUME) - 4)
    assert [bool(r.error) for r in stereo_framework.run(MIXED, scenes=own_scene(), workers=1)] == [False] * 2 + [True] * 2 + [
        False
    ] * 2
