"""Workers that stay for many batches: those of a search, which does not depend on who they are."""

import concurrent.futures
import itertools
import multiprocessing

import pytest

from stereo_framework.core.errors import ParameterError
from stereo_framework.script import load
from stereo_framework.sweep import executors
from stereo_framework.sweep.executors import Options, Workers
from stereo_framework.sweep.plan import plan
from stereo_framework.sweep.runs import scenes_of
from stereo_framework.sweep.tune import Tuner, tune

SCRIPT = {
    "name": "small",
    "include": "window",
    "scenes": ["synthetic/planes", "synthetic/slanted"],
    "sweep": {"grid": {"aggregation.box.size": [3, 7, 11], "matching_cost.truncation": [10, None]}},
}
BAD = "bad_pixels_all"


def searched(**options):
    tuned = tune(SCRIPT, BAD, trials=4, workers=2, **options)
    return [(t.number, t.axes, t.scenes, t.value, t.state, t.error) for t in tuned.trials]


@pytest.fixture
def pools(monkeypatch):
    """The pools of processes that are made."""
    made, real = [], executors.ProcessPoolExecutor

    def process_pool(*arguments, **options):
        made.append(real(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(executors, "ProcessPoolExecutor", process_pool)
    return made


@pytest.mark.slow
def test_a_search_is_the_same_whoever_computes(pools):
    expected = searched()
    assert [state for *_, state, _ in expected] == ["complete"] * 4
    assert searched(executor="process") == expected
    # Two batches on two scenes.
    assert len(pools) == 1
    with pytest.raises(RuntimeError, match="after shutdown"):
        pools[0].submit(print)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert searched(executor=pool) == expected
        assert pool.submit(int).result() == 0


@pytest.mark.filterwarnings("ignore")  # Dask's own
@pytest.mark.slow
def test_a_search_on_a_cluster(cluster):
    assert searched(dask=cluster) == searched()


def test_trials_that_do_not_fit_into_memory_fail():
    for *_, state, error in searched(memory=1000):
        assert state == "failed"
        assert "winner_take_all needs about" in error
        assert "are allowed (--memory)" in error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"executor": "proces"}, "executor: no such executor 'proces'; .* did you mean 'process'"),
        ({"memory": 0}, "memory: 0 bytes is nothing"),
    ],
)
def test_mistakes_are_told_before_anything_runs(options, said):
    with pytest.raises(ParameterError, match=said):
        Tuner(SCRIPT, BAD, **options)


@pytest.mark.slow
def test_work_that_is_left_in_the_middle_stops_the_workers(pools):
    script = load(SCRIPT)
    tasks = list(enumerate(plan(script, scenes_of(script, None, None))))
    # A cluster of another test may still be there.
    others = set(multiprocessing.active_children())
    with Workers(Options(2, None, keep=False), "process") as found:
        computed = found.compute(tasks)
        next(computed)
        computed.close()
        assert not set(multiprocessing.active_children()) - others
        with pytest.raises(RuntimeError, match="after shutdown|not usable anymore"):
            pools[0].submit(print)
        # Others come for the next batch, and stay for the one after that.
        numbers = [number for number, _ in itertools.chain(found.compute(tasks[:3]), found.compute(tasks[3:]))]
        assert sorted(numbers) == list(range(12))
        assert len(pools) == 2
