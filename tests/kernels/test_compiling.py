"""Compiling is no part of what stages take, whoever compiles, and is told once."""

import threading
import time

import numba
import pytest
from numba.core.compiler_lock import global_compiler_lock
from pipeline_parts import textured

import stereo_framework
from stereo_framework import Pipeline
from stereo_framework.core import stage
from stereo_framework.kernels.compiling import reporting_compilation_to, working_time
from stereo_framework.kernels.threads import over_rows
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all

LONG = 1.0
"""Seconds. A busy machine may take some tenths of a second for an empty call; half of LONG tells the two apart."""


def compiling(seconds=LONG):
    """What numba does while it compiles, as far as a clock sees it: kernels that a kernel calls are compiled inside."""
    with global_compiler_lock, global_compiler_lock:
        time.sleep(seconds)


def taken(call):
    """Wall-clock time of a call and what it worked of it."""
    start, working = time.perf_counter(), working_time()
    call()
    return time.perf_counter() - start, working_time() - working


def test_compiling_is_left_out_and_all_else_counts():
    wall, worked = taken(lambda: (compiling(), time.sleep(LONG)))
    assert wall >= 2 * LONG
    assert LONG <= worked < 1.5 * LONG


def test_waiting_for_what_another_thread_compiles_is_left_out():
    locked = threading.Event()

    def other():
        with global_compiler_lock:
            locked.set()
            time.sleep(LONG)

    thread = threading.Thread(target=other)
    thread.start()
    locked.wait()
    # The lock is free after LONG.
    _, worked = taken(lambda: compiling(0))
    thread.join()
    assert worked < LONG / 2


def test_what_others_compile_for_themselves_counts():
    thread = threading.Thread(target=compiling)
    thread.start()
    _, worked = taken(thread.join)
    # Some of it was over when the clock was started.
    assert worked > LONG / 2


def test_what_helpers_compile_is_left_out_once():
    both = threading.Barrier(2, timeout=300)

    def kernel(start, stop):
        both.wait()
        # The caller, who has row 0, waits for one that compiles, then both for each other.
        if start > 0:
            compiling()
        both.wait()
        compiling()

    with stereo_framework.threads(2):
        wall, worked = taken(lambda: over_rows(kernel, 2, 10**9))
    assert wall >= 3 * LONG
    assert 0 <= worked < LONG / 2


def test_seconds_of_stages_are_without_it(registry):
    @stage.stage("refinement", source="a test")
    def compiled_first(disparity):
        """Return what it gets."""
        compiling()
        return disparity

    match = Pipeline([absolute_difference, winner_take_all, compiled_first])(textured())
    assert 0 < match.seconds["refinement.compiled_first"] < LONG / 2


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_our_kernels_are_told():
    def compile_one(module):
        def twice(x):
            return x + x

        twice.__module__ = module
        assert numba.njit(twice)(3) == 6

    heard = []
    with reporting_compilation_to(heard.append):
        compile_one("somebodys.plugin")
        assert heard == []
        compile_one("stereo_framework.made")
    compile_one("stereo_framework.made")
    told = [name.rpartition(".")[2] for name in heard]
    assert told == ["twice", ""], (
        "`listen` in internals.py hears nothing: look at numba/core/event.py"
    )
