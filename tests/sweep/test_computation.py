"""Tests of the limits of a computation: number of running batches, and memory."""

import math
import types
from concurrent import futures

import pytest
from sweep_parts import WINDOW, dots

from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.engine.memory import peak_memory
from stereo_framework.script import load
from stereo_framework.sweep import computation as computation_module
from stereo_framework.sweep import memory_budget
from stereo_framework.sweep.computation import Computation
from stereo_framework.sweep.executors import OtherProcesses
from stereo_framework.sweep.tasks import tasks_of_script


def dask_client(threads_of_workers):
    """Return a fake Dask client whose workers have some numbers of threads."""
    threads = {f"tcp://{number}": count for number, count in enumerate(threads_of_workers)}
    return types.SimpleNamespace(nthreads=lambda: threads, status="running")


def pool_with(**attributes):
    """Return a fake executor with some attributes."""
    return types.SimpleNamespace(**attributes)


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """Let the machine have a million free bytes and seven threads."""
    monkeypatch.setattr(memory_budget, "free_memory", lambda: 1_000_000)
    monkeypatch.setattr(computation_module, "thread_count", lambda: 7)


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
def test_number_of_workers_comes_from_argument_or_executor_or_threads(workers, pool, count):
    """Prefer the argument, then the executor, then the number of threads."""
    with Computation(workers, pool) as computation:
        assert computation.workers == count


def test_number_of_workers_of_a_thread_pool_is_its_number_of_threads():
    """The pool may come from the user."""
    with futures.ThreadPoolExecutor(5) as pool, Computation(executor=pool) as computation:
        assert computation.workers == 5


@pytest.mark.parametrize(
    ("memory", "pool", "expected"),
    [
        (None, None, 800_000),
        (None, pool_with(_max_workers=4), 800_000),
        (123, None, 123),
        (2_000_000, None, 2_000_000),
        # A cluster may run on other machines, whose memory is unknown here.
        (None, pool_with(_client=dask_client([2])), math.inf),
        (123, pool_with(_client=dask_client([2])), 123),
    ],
)
def test_memory_limit_is_the_argument_or_four_fifths_of_the_free_memory(memory, pool, expected):
    """The default limit of a cluster is infinite."""
    with Computation(memory=memory, executor=pool) as computation:
        assert computation.memory_limit == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers: 0 is below 1"),
        ({"workers": -1}, "workers: -1 is below 1"),
        ({"memory": 0}, "memory: 0 bytes are too few; expected at least 1"),
        ({"memory": -5}, "memory: -5 bytes are too few; expected at least 1"),
    ],
)
def test_fewer_than_one_worker_or_byte_is_refused(options, message):
    """Refuse limits of zero and negative limits."""
    with pytest.raises(ParameterError, match=f"^{message}$"):
        Computation(**options)


def test_one_worker_and_one_byte_are_accepted():
    """Accept the smallest possible limits."""
    with Computation(workers=1, memory=1) as computation:
        assert (computation.workers, computation.memory_limit) == (1, 1)


def required_bytes(task):
    """Return the estimated peak memory of a task."""
    shape = task.scene.reference.shape[:2]
    return peak_memory([task.setting.pipeline], shape, task.search).size


@pytest.mark.parametrize(("spare_bytes", "succeeds"), [(0, True), (1, True), (-1, False)])
def test_task_fails_only_if_it_needs_more_than_the_memory_limit(spare_bytes, succeeds):
    """Compute a task whose memory equals the limit."""
    [task] = tasks_of_script(load(WINDOW), [dots()])
    with Computation(workers=1, memory=required_bytes(task) + spare_bytes) as computation:
        [(computed, [result])] = computation.results_of([task])
    assert computed is task
    assert (result.error is None) == succeeds


class Recorder:
    """An executor that counts the batches that are submitted and not finished."""

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
        """Call back at once, so that the computation reads the result."""
        callback(self)

    def cancel(self):
        """Do nothing, because a running call cannot be cancelled."""

    def result(self):
        """Compute the call."""
        self.pool.running -= 1
        return self.function(*self.arguments)


@pytest.mark.parametrize(
    ("memory_in_batches", "workers", "peak"),
    [
        # The memory limits the submitted batches to the whole batches that fit.
        (2, 4, 2),
        (1.99, 4, 1),
        (3, 4, 3),
        # With enough memory, each worker has a batch, and one more batch waits.
        (100, 1, 2),
        (100, 2, 3),
    ],
)
def test_batches_are_submitted_while_their_memory_fits(
    monkeypatch, memory_in_batches, workers, peak
):
    """Submit at most one batch more than there are workers."""
    sweep = {"grid": {"matching_cost.truncation": [*range(1, 9)]}}
    tasks = tasks_of_script(load(WINDOW | {"sweep": sweep}), [dots()])
    # Each task becomes a separate batch, so that batches can be counted.
    monkeypatch.setattr(
        computation_module, "batches", lambda tasks, workers: [[task] for task in tasks]
    )
    memory = int(memory_in_batches * required_bytes(tasks[0]))
    pool = Recorder()
    with Computation(workers, pool, memory=memory) as computation:
        results_of_task = dict(computation.results_of(tasks))
    for results in results_of_task.values():
        assert [result.error for result in results] == [None]
    assert len(results_of_task) == 8
    assert pool.peak == peak


class LosingExecutor(Recorder):
    """An executor whose calls return no results."""

    def submit(self, function, *arguments):
        """Return a future with an empty list."""
        return super().submit(list)


def test_a_task_fails_if_the_executor_returns_fewer_results_than_tasks():
    """The task must not be missing among the results."""
    [task] = tasks_of_script(load(WINDOW), [dots()])
    with Computation(executor=LosingExecutor()) as computation:
        [(computed, [result])] = computation.results_of([task])
    assert computed is task
    assert result.error.startswith("ValueError: ")


class UnreachableExecutor(Recorder):
    """An executor whose calls end with the error of a lost connection."""

    def submit(self, function, *arguments):
        """Return a future with the error."""
        return super().submit(self.fail)

    def fail(self):
        """Raise the error."""
        raise ConnectionError("lost")


def test_the_computation_ends_if_the_executor_can_no_longer_be_reached(monkeypatch):
    """The error of a batch must not become the result of its task."""
    monkeypatch.setattr(OtherProcesses, "is_gone", lambda executor: True)
    tasks = tasks_of_script(load(WINDOW), [dots()])
    with (
        Computation(executor=UnreachableExecutor()) as computation,
        pytest.raises(StereoFrameworkError, match="can no longer be reached"),
    ):
        list(computation.results_of(tasks))
