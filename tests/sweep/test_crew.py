"""How many units a crew computes at a time, and how much memory it takes for them."""

import itertools
import math
import types

import pytest
from sweep_parts import WINDOW, dots

from stereo_framework.core.errors import ParameterError
from stereo_framework.engine.memory import peak_memory
from stereo_framework.script import load
from stereo_framework.sweep import executors
from stereo_framework.sweep.executors import Crew
from stereo_framework.sweep.plan import plan


def dask_client(threads_of_workers):
    """Return the attributes of a Dask client that a crew reads."""
    addresses = {f"tcp://{number}": count for number, count in enumerate(threads_of_workers)}
    return types.SimpleNamespace(nthreads=lambda: addresses, status="running")


def executor(**attributes):
    """Return an executor with the attributes that a crew reads."""
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
        (None, executor(_max_workers=4), 4),
        (3, executor(_max_workers=4), 3),
        (9, executor(_max_workers=4), 9),
        (None, executor(_client=dask_client([2, 3])), 5),
        (3, executor(_client=dask_client([2, 3])), 3),
        (None, executor(), 7),
    ],
)
def test_workers_are_those_asked_for_or_those_of_the_executor_or_all_threads(workers, pool, count):
    with Crew(workers, pool) as crew:
        assert crew._workers == count


@pytest.mark.parametrize(
    ("memory", "pool", "expected"),
    [
        (None, None, 800_000),
        (None, executor(_max_workers=4), 800_000),
        (123, None, 123),
        (2_000_000, None, 2_000_000),
        # The memory of a cluster is not that of this machine.
        (None, executor(_client=dask_client([2])), math.inf),
        (123, executor(_client=dask_client([2])), 123),
    ],
)
def test_memory_is_that_asked_for_or_four_fifths_of_the_free_memory_of_this_machine(
    memory, pool, expected
):
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
def test_neither_no_workers_nor_no_memory_are_accepted(options, message):
    with pytest.raises(ParameterError, match=f"^{message}$"):
        Crew(**options)


def test_one_worker_and_one_byte_are_accepted():
    with Crew(workers=1, memory=1) as crew:
        assert (crew._workers, crew._memory) == (1, 1)


@pytest.mark.parametrize(("spare", "fits"), [(0, True), (1, True), (-1, False)])
def test_a_run_that_takes_exactly_the_memory_is_computed(spare, fits):
    [task] = plan(load(WINDOW), [dots()])
    shape = task.scene.reference.shape[:2]
    need = peak_memory([task.setting.pipeline], shape, task.search)
    with Crew(workers=1, memory=need + spare) as crew:
        [(computed, [result])] = crew.computed([task])
    assert computed is task
    assert (result.error is None) == fits


class Recorder:
    """An executor that counts the units that are submitted and not finished."""

    def __init__(self):
        self.running = 0
        self.peak = 0

    def submit(self, function, *arguments):
        """Return a call that is computed when its result is read."""
        self.running += 1
        self.peak = max(self.peak, self.running)
        return Unfinished(self, function, arguments)


class Unfinished:
    """A call that is computed when its result is read."""

    def __init__(self, pool, function, arguments):
        self.pool, self.call = pool, (function, arguments)

    def add_done_callback(self, callback):
        """Report at once that the result can be read."""
        callback(self)

    def cancel(self):
        """Do nothing, as a call that has begun does."""

    def result(self):
        """Compute the call."""
        self.pool.running -= 1
        function, arguments = self.call
        return function(*arguments)


@pytest.mark.parametrize(
    ("room", "workers", "peak"),
    [
        # Exactly two units fit, and one byte less allows one at a time.
        (2, 4, 2),
        (1.99, 4, 1),
        (3, 4, 3),
        # One unit more than there are workers waits.
        (100, 1, 2),
        (100, 2, 3),
    ],
)
def test_units_are_submitted_as_long_as_their_memory_fits(monkeypatch, room, workers, peak):
    sweep = {"grid": {"matching_cost.truncation": [*range(1, 9)]}}
    tasks = plan(load(WINDOW | {"sweep": sweep}), [dots()])
    monkeypatch.setattr(executors, "units", lambda todo, workers: [[task] for task in todo])
    shape = tasks[0].scene.reference.shape[:2]
    need = peak_memory([tasks[0].setting.pipeline], shape, tasks[0].search)
    pool = Recorder()
    with Crew(workers, pool, memory=int(room * need)) as crew:
        computed = dict(crew.computed(tasks))
    errors = {result.error for result in itertools.chain.from_iterable(computed.values())}
    assert errors == {None}
    assert len(computed) == 8
    assert pool.peak == peak
