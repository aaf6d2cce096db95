"""Threads that compute ranges of rows, and the setting of their number."""

import contextvars
import threading

import numpy as np
import pytest

import stereo_framework
from stereo_framework.core.errors import ParameterError
from stereo_framework.kernels import threads as thread_module
from stereo_framework.kernels.threads import over_rows, thread_count


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("rows", [0, 1, 2, 5, 40])
def test_every_row_is_visited_once(rows, count):
    visits = np.zeros(rows, int)

    def visit(start, stop):
        visits[start:stop] += 1

    with stereo_framework.threads(count):
        over_rows(visit, rows, 10**9)
    assert (visits == 1).all()


def test_ranges_of_rows_are_computed_at_the_same_time():
    # Each of two threads waits for the other. A single thread would wait for the
    # timeout.
    meeting = threading.Barrier(2, timeout=300)
    ranges = []

    def meet(start, stop):
        ranges.append((start, stop))
        meeting.wait()

    with stereo_framework.threads(2):
        over_rows(meet, 10, 10**9)
    assert sorted(ranges) == [(0, 5), (5, 10)]


@pytest.mark.parametrize(("count", "work"), [(1, 10**9), (4, thread_module._MIN_WORK_PER_THREAD)])
def test_the_caller_computes_all_rows_if_there_is_little_work_or_one_thread(count, work):
    ranges = []
    with stereo_framework.threads(count):
        over_rows(
            lambda start, stop: ranges.append((start, stop, threading.current_thread())), 10, work
        )
    assert ranges == [(0, 10, threading.current_thread())]


@pytest.mark.parametrize("bad_row", [0, 9])
def test_exceptions_reach_the_caller_after_all_rows_are_done(bad_row):
    # The calling thread computes row 0, and another thread computes row 9.
    finished = []

    def kernel(start, stop):
        if start <= bad_row < stop:
            raise ZeroDivisionError("in a worker")
        finished.append((start, stop))

    with stereo_framework.threads(2), pytest.raises(ZeroDivisionError, match="in a worker"):
        over_rows(kernel, 10, 10**9)
    assert len(finished) == 1


def test_the_number_of_threads_is_restored_at_the_end_of_a_block():
    def check():
        assert thread_count() == thread_module.available_cores() >= 1
        with stereo_framework.threads(5):
            assert thread_count() == 5
            with stereo_framework.threads(2):
                assert thread_count() == 2
            assert thread_count() == 5
        assert thread_count() == thread_module.available_cores()

    # The context of the test limits the number of threads. A new context does not.
    contextvars.Context().run(check)


def test_the_number_of_threads_does_not_apply_to_other_threads():
    counts = []
    with stereo_framework.threads(5):
        thread = threading.Thread(target=lambda: counts.append(thread_count()))
        thread.start()
        thread.join()
    assert counts == [thread_module.available_cores()]


@pytest.mark.parametrize("count", [0, -2])
def test_a_number_of_threads_below_1_is_refused(count):
    message = f"^threads: count is {count}; expected a whole number >= 1$"
    with pytest.raises(ParameterError, match=message), stereo_framework.threads(count):
        pass
