"""The time that numba needs to compile kernels, and the reports of this activity."""

import threading
import time

import numba
import pytest
from numba.core.compiler_lock import global_compiler_lock
from pipeline_parts import textured

import stereo_framework
from stereo_framework import Pipeline
from stereo_framework.core.registration import stage
from stereo_framework.kernels.compiling import reporting_compilation_to, working_time
from stereo_framework.kernels.threads import over_rows
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all

LONG = 1.0
"""Duration in seconds of everything that takes long.

On a busy machine an empty call may take some tenths of a second. Therefore the tests
take less than half of this duration for nothing.
"""


def pretend_to_compile(seconds=LONG):
    """Hold numba's lock, as numba does while it compiles.

    The lock is taken twice, because a kernel compiles the kernels that it calls.
    """
    with global_compiler_lock, global_compiler_lock:
        time.sleep(seconds)


def measure(call):
    """Return the wall-clock time and the working time of a call, in seconds."""
    start = time.perf_counter()
    start_of_work = working_time()
    call()
    return time.perf_counter() - start, working_time() - start_of_work


def test_working_time_leaves_out_compiling_and_nothing_else():
    def compile_and_wait():
        pretend_to_compile()
        time.sleep(LONG)

    wall, working = measure(compile_and_wait)
    assert wall >= 2 * LONG
    assert LONG <= working < 1.5 * LONG


def test_working_time_leaves_out_waiting_for_a_kernel_that_another_thread_compiles():
    is_locked = threading.Event()

    def compile_in_other_thread():
        with global_compiler_lock:
            is_locked.set()
            time.sleep(LONG)

    thread = threading.Thread(target=compile_in_other_thread)
    thread.start()
    is_locked.wait()
    # This call has to wait for the lock.
    _, working = measure(lambda: pretend_to_compile(0))
    thread.join()
    assert working < LONG / 2


def test_working_time_includes_the_wait_for_a_thread_with_another_context():
    thread = threading.Thread(target=pretend_to_compile)
    thread.start()
    _, working = measure(thread.join)
    # The thread may have slept for some time before the measurement begins.
    assert working > LONG / 2


def test_working_time_leaves_out_the_compiling_of_worker_threads_once():
    meeting = threading.Barrier(2, timeout=300)

    def kernel(start, stop):
        meeting.wait()
        # First only the worker thread compiles, and the caller waits for it. Row 0 is
        # the row of the caller.
        if start > 0:
            pretend_to_compile()
        meeting.wait()
        # Then both threads compile, and one of them waits for the other.
        pretend_to_compile()

    with stereo_framework.threads(2):
        wall, working = measure(lambda: over_rows(kernel, 2, 10**9))
    assert wall >= 3 * LONG
    assert 0 <= working < LONG / 2


def test_seconds_of_a_stage_leave_out_compiling(registry):
    @stage("refinement", source="a test")
    def compiled_first(disparity):
        """Return the disparity map unchanged, after a kernel was compiled."""
        pretend_to_compile()
        return disparity

    estimate = Pipeline([absolute_difference, winner_take_all, compiled_first])(textured())
    assert 0 < estimate.seconds["refinement.compiled_first"] < LONG / 2


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_only_kernels_of_the_package_are_reported_and_only_inside_the_block():
    def compile_kernel_of(module):
        def twice(x):
            return x + x

        twice.__module__ = module
        assert numba.njit(twice)(3) == 6

    reports = []
    with reporting_compilation_to(reports.append):
        compile_kernel_of("third_party.plugin")
        assert reports == []
        compile_kernel_of("stereo_framework.made")
    compile_kernel_of("stereo_framework.made")
    kernels = [name.rpartition(".")[2] for name in reports]
    assert kernels == ["twice", ""], (
        "`observe_compiler` of internals.py receives no events: compare it with numba/core/event.py"
    )
