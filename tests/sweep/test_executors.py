"""Who computes does not matter: equal results from all executors, workers that die, runs that do not fit."""

import concurrent.futures
import functools
import multiprocessing
import os
import re
import sys
import threading
import types

import numpy as np
import pytest
from sweep_parts import WINDOW, assert_equal, dots, numbers, stored

import stereo_framework
from stereo_framework.core.errors import DataError, MissingExtraError, ParameterError, ResultWarning
from stereo_framework.core.registration import stage
from stereo_framework.engine import strips
from stereo_framework.kernels.progress import reporting_iterations_to
from stereo_framework.script import load
from stereo_framework.sweep import executors
from stereo_framework.sweep.executors import Crew, Processes, dask_executor
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
def dangerous(disparity, *, at: int = 0, once: str = ""):
    """End the process at 5, at 6 until there is a file, which is made."""
    if at == 5 or (at == 6 and not pathlib.Path(once).exists()):
        if at == 6:
            pathlib.Path(once).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return disparity
'''
posix = pytest.mark.skipif(os.name != "posix", reason="sends a signal")
dask = pytest.mark.filterwarnings("ignore")  # Dask's own
pytestmark = pytest.mark.usefixtures("small_scenes_only")


def swept(**options):
    return stereo_framework.run(SWEEP, scenes=[dots("mine"), "synthetic/planes"], **options)


@pytest.fixture(scope="module")
def alone():
    """Each run by itself, nothing shared."""
    found = []
    for scene in (dots("mine"), stereo_framework.load_scene("synthetic/planes")):
        for one in stereo_framework.script.load(SWEEP).settings:
            [result] = stereo_framework.run(
                one.mapping | {"name": "script"}, scenes=scene, workers=1
            )
            np.testing.assert_array_equal(result.disparity, one.pipeline(scene).disparity)
            found.append(result)
    return found


def executor(name, request):
    if name == "dask":
        return dask_executor(request.getfixturevalue("cluster"))
    pool = functools.partial(
        concurrent.futures.ProcessPoolExecutor, mp_context=multiprocessing.get_context("spawn")
    )
    return {"threads": concurrent.futures.ThreadPoolExecutor, "processes": Processes, "pool": pool}[
        name
    ](2)


def assert_as_alone(results, alone):
    assert [r.scene for r in results] == [r.scene for r in alone]
    for one, other in zip(results, alone, strict=True):
        assert (one.id, repr(one.statistics), one.energy, one.error) == (
            other.id,
            repr(other.statistics),
            other.energy,
            None,
        )
        np.testing.assert_array_equal(one.disparity, other.disparity)


@pytest.mark.parametrize("workers", [1, 3])
def test_here(workers, alone):
    assert_as_alone(swept(workers=workers), alone)


@pytest.mark.parametrize(
    "name",
    ["threads", pytest.param("dask", marks=dask), pytest.param("pool", marks=pytest.mark.slow)],
)
def test_elsewhere(name, alone, request):
    with executor(name, request) as pool:
        assert_as_alone(swept(executor=pool), alone)


def test_dask_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(
            MissingExtraError,
            match=r"--dask needs dask.distributed: pip install '\.\[cluster\]' in the folder",
        ),
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
def test_where_no_dask_scheduler_is(address):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        pytest.raises(
            DataError, match=rf"^--dask {address}: no Dask scheduler answers there: \S.*$"
        ),
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
    busy = Busy()
    threading.Timer(0.2, lambda: busy.futures[0].set_exception(KeyError("gone"))).start()
    with Crew(workers=2, executor=busy) as crew:
        _, [result] = next(crew.computed(tasks_of_script(load(SWEEP), [dots()])))
    assert result.error == "KeyError: 'gone'"
    assert len(busy.futures) == 3
    assert all(future.cancelled() for future in busy.futures[1:])


class Deserted(Busy):
    """Begins nothing, as a Dask cluster whose workers are gone; the first call is given up when somebody asks for them."""

    def __init__(self):
        super().__init__()
        scheduler = types.SimpleNamespace(address="tcp://somewhere:8786")
        self._client = types.SimpleNamespace(
            status="running", scheduler=scheduler, nthreads=self.no_threads
        )

    def no_threads(self):
        for future in self.futures[:1]:
            future.set_exception(KeyError("gone"))
        return {}


def test_that_no_dask_worker_comes_is_told(registry, monkeypatch):
    monkeypatch.setattr(executors, "_PATIENCE", 1)
    with (
        Crew(workers=2, executor=Deserted()) as crew,
        pytest.warns(
            ResultWarning,
            match=r"^--dask: no worker for 1 seconds; .* comes: dask worker tcp://somewhere:8786$",
        ),
    ):
        next(crew.computed(tasks_of_script(load(SWEEP), [dots()])))


def test_who_listens_hears_of_the_rounds_in_threads():
    heard = set()
    with reporting_iterations_to(lambda thread, done, count, what: heard.add(what)):
        swept(workers=2)
    assert {"run", "iteration", "sweep"} <= heard


# --- workers that die -------------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("processes", [6, 5]),
        pytest.param("dask", [4, 6, 7], marks=[dask, pytest.mark.slow]),
        # Processes take the place of an executor that is broken.
        pytest.param("pool", [4, 6, 7], marks=pytest.mark.slow),
    ],
)
def test_what_a_worker_that_dies_was_at_is_computed_once_more(
    name, at, tmp_path, registry, request
):
    (tmp_path / "dangerous_stage.py").write_text(PLUGIN)
    script = WINDOW | {
        "plugins": [str(tmp_path / "dangerous_stage.py")],
        "refinement": [{"use": "dangerous", "once": str(tmp_path / "was there")}],
        "sweep": {"grid": {"matching_cost.truncation": [1, 10], "refinement.dangerous.at": at}},
    }
    with executor(name, request) as pool:
        results = stereo_framework.run(script, scenes=dots(), out=tmp_path / "out", executor=pool)
    assert (tmp_path / "was there").exists()
    message = (
        "its worker died twice, once while it computed nothing else; the system may have killed it for want of memory, or "
        "its method may have ended it; lower --memory and --workers, or run this setting alone with --executor thread"
    )
    assert [(r.axes["refinement.dangerous.at"], r.error) for r in results] == [
        (n, message if n == 5 else None) for n in at
    ] * 2
    assert numbers(stored(tmp_path / "out")) == numbers(results)
    # The dangerous stage does nothing to the map.
    assert len({repr(r.statistics) for r in results[: len(at)] if not r.error}) == 1
    assert all(r.statistics for r in results if not r.error)


def test_stages_that_cannot_be_sent_are_told(registry):
    @stage("refinement", source="a test")
    def here_only(disparity):
        return disparity

    with (
        Processes(1) as pool,
        pytest.raises(
            ParameterError, match="a stage cannot be sent to another process: .*here_only.*plugins:"
        ),
    ):
        stereo_framework.run(
            SWEEP | {"refinement": ["here_only"], "sweep": {}}, scenes=dots(), executor=pool
        )


def test_processes_stay_for_the_next_work_and_work_that_is_left_in_the_middle_stops_them(alone):
    tasks = tasks_of_script(load(SWEEP), [stereo_framework.load_scene("synthetic/planes")])
    # A cluster of another test may still be there.
    others = set(multiprocessing.active_children())
    with Processes(2) as pool:
        assert_as_alone(swept(executor=pool), alone)
        own = set(multiprocessing.active_children()) - others
        with Crew(executor=pool) as crew:
            next(crew.computed(tasks))
        assert own == set(multiprocessing.active_children()) - others != set()
    assert not set(multiprocessing.active_children()) - others


# --- what is shared ---------------------------------------------------------------------------------------------------


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
        assert len(stereo_framework.run(script, scenes=dots(), workers=workers)) == 9
        assert sorted(calls) == [1, 2, 3]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_halo_that_raises_fails_its_own_runs(registry, workers):
    @stage("refinement", source="a test", halo=lambda size: 1 // size)
    def careless(disparity, *, size: int = 1):
        return disparity

    script = MIXED | {
        "refinement": ["careless"],
        "sweep": {"grid": {"refinement.careless.size": [1, 0, 2]}},
    }
    results = stereo_framework.run(script, scenes=dots(), workers=workers)
    assert [bool(r.error) for r in results] == [False, True, False]
    assert re.search(
        r"test_executors.py:\d+: refinement stage careless: ZeroDivisionError: ", results[1].error
    )


# --- memory -----------------------------------------------------------------------------------------------------------

VOLUME = 4 * 24 * 32 * 8


@pytest.mark.parametrize("workers", [1, 2])
def test_runs_that_do_not_fit_fail_alone(workers, monkeypatch):
    monkeypatch.setattr(strips, "STRIP_ROWS", 4)
    expected = stereo_framework.run(MIXED, scenes=dots(), workers=1)
    assert all(r.error is None for r in expected)
    # Strips fit; a graph cut with its three volumes does not.
    results = stereo_framework.run(MIXED, scenes=dots(), workers=workers, memory=2 * VOLUME)
    told = (
        "graph_cut needs about 0.0703 MiB for 32x24 pixels and 8 levels; 0.0469 MiB are allowed (--memory); "
        "use fewer levels or smaller images"
    )
    assert [r.error for r in results] == [
        told if "graph_cut" in r.axes.values() else None for r in results
    ]
    for result, whole in zip(results, expected, strict=True):
        if not result.error:
            assert_equal([result], [whole])
    # By default most of what is free may be taken.
    for free, fits in ((4, True), (-4, False)):
        monkeypatch.setattr(
            executors, "free_memory", lambda free=free: int(1.25 * 3 * VOLUME) + free
        )
        again = stereo_framework.run(MIXED, scenes=dots(), workers=1)
        assert all(r.error is None for r in again if "graph_cut" not in r.axes.values())
        assert {r.error is None for r in again if "graph_cut" in r.axes.values()} == {fits}


def test_what_does_not_fit_together_is_computed_apart(monkeypatch, registry):
    monkeypatch.setattr(strips, "STRIP_ROWS", 4)
    calls = []

    @stage("matching_cost", source="a test", halo=lambda: 0)
    def counted(reference, match, search):
        calls.append(len(reference))
        return stereo_framework.matching_cost.absolute_difference(reference, match, search)

    script = load(
        SWEEP | {"matching_cost": "counted", "sweep": {"grid": {"aggregation.box.size": [1, 3, 5]}}}
    )
    # Loading the script tries the halo on small images.
    calls.clear()
    together = stereo_framework.run(script, scenes=dots(), workers=1)
    # The costs that they share are computed alone, and then at once.
    assert calls == [24]
    calls.clear()
    apart = stereo_framework.run(script, scenes=dots(), workers=1, memory=int(1.5 * VOLUME))
    # Each for itself, in strips with the halos of its window and of its smoothness term.
    assert (len(calls), max(calls)) == (18, 10)
    assert_equal(apart, together)
