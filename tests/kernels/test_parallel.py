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


def test_rows_are_spread_over_threads():
    # Each waits for the other: in one thread this would never end, but for the timeout.
    both = threading.Barrier(2, timeout=300)
    ranges = []

    def meet(start, stop):
        ranges.append((start, stop))
        both.wait()

    with stereo_framework.threads(2):
        over_rows(meet, 10, 10**9)
    assert sorted(ranges) == [(0, 5), (5, 10)]


@pytest.mark.parametrize(("count", "work"), [(1, 10**9), (4, thread_module._WORTH_A_THREAD)])
def test_small_jobs_and_single_threads_stay_in_the_caller(count, work):
    ranges = []
    with stereo_framework.threads(count):
        over_rows(
            lambda start, stop: ranges.append((start, stop, threading.current_thread())), 10, work
        )
    assert ranges == [(0, 10, threading.current_thread())]


@pytest.mark.parametrize("bad_row", [0, 9])
def test_exceptions_reach_the_caller_after_all_rows_are_done(bad_row):
    # Row 0 is the calling thread's, row 9 another's.
    done = []

    def kernel(start, stop):
        if start <= bad_row < stop:
            raise ZeroDivisionError("in a worker")
        done.append((start, stop))

    with stereo_framework.threads(2), pytest.raises(ZeroDivisionError, match="in a worker"):
        over_rows(kernel, 10, 10**9)
    assert len(done) == 1


def test_threads_nest_and_end_with_their_block():
    def check():
        assert thread_count() == thread_module.available_cores() >= 1
        with stereo_framework.threads(5):
            assert thread_count() == 5
            with stereo_framework.threads(2):
                assert thread_count() == 2
            assert thread_count() == 5
        assert thread_count() == thread_module.available_cores()

    # Outside of what the tests' own workers are allowed.
    contextvars.Context().run(check)


def test_setting_belongs_to_its_own_thread():
    seen = []
    with stereo_framework.threads(5):
        other = threading.Thread(target=lambda: seen.append(thread_count()))
        other.start()
        other.join()
    assert seen == [thread_module.available_cores()]


@pytest.mark.parametrize("count", [0, -2])
def test_no_threads_are_refused(count):
    message = f"^threads: count is {count}; expected a whole number >= 1$"
    with pytest.raises(ParameterError, match=message), stereo_framework.threads(count):
        pass
