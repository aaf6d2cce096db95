"""Limits of a crew: the number of units that it computes at once, and their memory."""

import math
import types

import pytest
from sweep_parts import WINDOW, dots

from stereo_framework.core.errors import ParameterError
from stereo_framework.engine.memory import peak_memory
from stereo_framework.script import load
from stereo_framework.sweep import executors
from stereo_framework.sweep.executors import Crew
from stereo_framework.sweep.tasks import tasks_of_script


def dask_client(threads_of_workers):
    """Return a fake Dask client."""
    threads = {f"tcp://{number}": count for number, count in enumerate(threads_of_workers)}
    return types.SimpleNamespace(nthreads=lambda: threads, status="running")


def pool_with(**attributes):
    """Return a fake executor with some attributes."""
    return types.SimpleNamespace(**attributes)


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """Let the machine have a million free bytes and seven threads."""
    monkeypatch.setattr(executors, "free_memory", lambda: 1_000_000)
    monkeypatch.setattr(executors, "thread_count", lambda: 7)


@pytest.mark.parametrize(
    ("workers", "pool", "count"),
    [
        (None, None, 7),
        (3, None, 3),
        (9, None, 9),
        (None, pool_with(_max_workers=4), 4),
        (3, pool_with(_max_workers=4), 3),
        (9, pool_with(_max_workers=4), 9),
        (None, pool_with(_client=dask_client([2, 3])), 5),
        (3, pool_with(_client=dask_client([2, 3])), 3),
        (None, pool_with(), 7),
    ],
)
def test_the_number_of_workers_is_that_of_the_argument_or_executor_or_threads(workers, pool, count):
    with Crew(workers, pool) as crew:
        assert crew._workers == count


@pytest.mark.parametrize(
    ("memory", "pool", "expected"),
    [
        (None, None, 800_000),
        (None, pool_with(_max_workers=4), 800_000),
        (123, None, 123),
        (2_000_000, None, 2_000_000),
        # A cluster may run on other machines, whose memory this machine does not know.
        (None, pool_with(_client=dask_client([2])), math.inf),
        (123, pool_with(_client=dask_client([2])), 123),
    ],
)
def test_the_memory_limit_is_the_argument_or_four_fifths_of_the_free_memory(memory, pool, expected):
    with Crew(memory=memory, executor=pool) as crew:
        assert crew._memory == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers: 0 is below 1"),
        ({"workers": -1}, "workers: -1 is below 1"),
        ({"memory": 0}, "memory: 0 bytes is nothing"),
        ({"memory": -5}, "memory: -5 bytes is nothing"),
    ],
)
def test_fewer_than_one_worker_or_byte_is_refused(options, message):
    with pytest.raises(ParameterError, match=f"^{message}$"):
        Crew(**options)


def test_one_worker_and_one_byte_are_accepted():
    with Crew(workers=1, memory=1) as crew:
        assert (crew._workers, crew._memory) == (1, 1)


def required_bytes(task):
    """Return the estimated peak memory of a task."""
    shape = task.scene.reference.shape[:2]
    return peak_memory([task.setting.pipeline], shape, task.search).size


@pytest.mark.parametrize(("spare_bytes", "succeeds"), [(0, True), (1, True), (-1, False)])
def test_a_run_fails_only_if_it_needs_more_than_the_memory_limit(spare_bytes, succeeds):
    [task] = tasks_of_script(load(WINDOW), [dots()])
    with Crew(workers=1, memory=required_bytes(task) + spare_bytes) as crew:
        [(computed, [result])] = crew.computed([task])
    assert computed is task
    assert (result.error is None) == succeeds


class Recorder:
    """An executor that counts the units that are submitted and not finished."""

    def __init__(self):
        self.running = 0
        self.peak = 0

    def submit(self, function, *arguments):
        """Return a future that computes the call when its result is read."""
        self.running += 1
        self.peak = max(self.peak, self.running)
        return LazyFuture(self, function, arguments)


class LazyFuture:
    """A future that computes its call when its result is read."""

    def __init__(self, pool, function, arguments):
        self.pool = pool
        self.function = function
        self.arguments = arguments

    def add_done_callback(self, callback):
        """Call back at once, so that the crew reads the result."""
        callback(self)

    def cancel(self):
        """Do nothing, because a running call cannot be cancelled."""

    def result(self):
        """Compute the call."""
        self.pool.running -= 1
        return self.function(*self.arguments)


@pytest.mark.parametrize(
    ("memory_in_units", "workers", "peak"),
    [
        # The memory limits the submitted units to the whole units that fit.
        (2, 4, 2),
        (1.99, 4, 1),
        (3, 4, 3),
        # With enough memory, each worker has a unit, and one more unit waits.
        (100, 1, 2),
        (100, 2, 3),
    ],
)
def test_units_are_submitted_as_long_as_their_memory_fits(
    monkeypatch, memory_in_units, workers, peak
):
    sweep = {"grid": {"matching_cost.truncation": [*range(1, 9)]}}
    tasks = tasks_of_script(load(WINDOW | {"sweep": sweep}), [dots()])
    # Each task becomes a separate unit, so that units can be counted.
    monkeypatch.setattr(executors, "units", lambda tasks, workers: [[task] for task in tasks])
    memory = int(memory_in_units * required_bytes(tasks[0]))
    pool = Recorder()
    with Crew(workers, pool, memory=memory) as crew:
        computed = dict(crew.computed(tasks))
    for results in computed.values():
        assert [result.error for result in results] == [None]
    assert len(computed) == 8
    assert pool.peak == peak
