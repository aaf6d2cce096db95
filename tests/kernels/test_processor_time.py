"""The processor time of a thread, of its helper threads and of external programs."""

import contextvars
import threading
import time

from numba.core.compiler_lock import global_compiler_lock
from processor_work import WORK, work

import stereo_framework
from stereo_framework.kernels.compiling import add_processor_time, processor_time
from stereo_framework.kernels.threads import over_rows

TOLERANCE = 0.1
"""Processor time that a test may use for other things, in seconds."""


def measured(function):
    """Return the processor time of a function, in seconds."""
    start = processor_time()
    function()
    return processor_time() - start


def test_waiting_takes_no_processor_time():
    assert 0 <= measured(lambda: time.sleep(3 * TOLERANCE)) < TOLERANCE


def test_the_times_of_all_threads_that_compute_rows_add_up():
    def compute():
        over_rows(lambda start, stop: work(), 2, 10**9)

    with stereo_framework.threads(2):
        assert 2 * WORK <= measured(compute) < 2 * WORK + TOLERANCE
    with stereo_framework.threads(1):
        assert WORK <= measured(compute) < WORK + TOLERANCE


def test_the_work_of_a_helper_thread_counts_if_it_ends_with_an_error():
    def compute(start, stop):
        if start > 0:
            work()
            raise ZeroDivisionError

    def compute_all():
        try:
            over_rows(compute, 2, 10**9)
        except ZeroDivisionError:
            return
        raise AssertionError("the error of the helper thread is lost")

    with stereo_framework.threads(2):
        assert WORK <= measured(compute_all) < WORK + TOLERANCE


def test_threads_that_compute_at_the_same_time_do_not_count_the_work_of_each_other():
    """Start a thread with a copy of the context, as a sweep does."""
    meeting = threading.Barrier(2, timeout=300)
    times = {}

    def compute(seconds):
        with stereo_framework.threads(2):
            meeting.wait()
            times[seconds] = measured(
                lambda: over_rows(lambda start, stop: work(seconds), 2, 10**9)
            )
            meeting.wait()

    processor_time()
    context = contextvars.copy_context()
    other_thread = threading.Thread(target=context.run, args=(compute, 2 * WORK))
    other_thread.start()
    compute(WORK)
    other_thread.join()
    assert 2 * WORK <= times[WORK] < 2 * WORK + TOLERANCE
    assert 4 * WORK <= times[2 * WORK] < 4 * WORK + TOLERANCE


def test_a_copied_context_does_not_give_its_work_to_the_thread_of_the_context():
    """Compute rows in a thread that never measures its processor time."""

    def compute():
        with stereo_framework.threads(2):
            over_rows(lambda start, stop: work(), 2, 10**9)

    def compute_in_other_thread():
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(compute,))
        thread.start()
        thread.join()

    assert 0 <= measured(compute_in_other_thread) < TOLERANCE


def compile_kernel(seconds=WORK):
    """Use the processor and hold numba's lock, as numba does while it compiles.

    The lock is taken twice, because a kernel compiles the kernels that it calls.
    """
    with global_compiler_lock:
        work(seconds / 2)
        with global_compiler_lock:
            work(seconds / 2)


def test_compiling_in_this_thread_and_in_helper_threads_is_left_out():
    def compile_and_work(start=0, stop=0):
        compile_kernel()
        work()

    assert WORK <= measured(compile_and_work) < WORK + TOLERANCE
    with stereo_framework.threads(2):
        time_of_rows = measured(lambda: over_rows(compile_and_work, 2, 10**9))
    assert 2 * WORK <= time_of_rows < 2 * WORK + TOLERANCE


def test_waiting_for_a_kernel_that_another_thread_compiles_is_not_subtracted():
    is_locked = threading.Event()

    def compile_in_other_thread():
        with global_compiler_lock:
            is_locked.set()
            time.sleep(WORK)

    def wait_and_work():
        compile_kernel(0)
        work()

    thread = threading.Thread(target=compile_in_other_thread)
    thread.start()
    is_locked.wait()
    assert WORK <= measured(wait_and_work) < WORK + TOLERANCE
    thread.join()


def test_a_compilation_that_began_before_the_first_measurement_is_ignored():
    def compute():
        with global_compiler_lock:
            processor_time()
            work()
        return measured(work)

    # A new context has no clock yet.
    assert WORK <= contextvars.Context().run(compute) < WORK + TOLERANCE


def test_the_processor_time_of_a_program_is_added():
    assert 100 <= measured(lambda: add_processor_time(100.0)) < 100 + TOLERANCE
