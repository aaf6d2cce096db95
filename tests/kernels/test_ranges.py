"""Ranges of rows for threads, the order of blocks, and progress reports."""

import itertools
import threading

import pytest

import stereo_framework
from stereo_framework.kernels import threads as thread_module
from stereo_framework.kernels.progress import (
    announce_step,
    counted,
    iteration_callback,
    reporting_iterations_to,
    reporting_steps_to,
)
from stereo_framework.kernels.threads import over_blocks, over_rows


@pytest.mark.parametrize(
    ("rows", "threads", "work", "ranges"),
    [
        (10, 1, 3_600_000, [(0, 10)]),
        (10, 2, 3_600_000, [(0, 5), (5, 10)]),
        (10, 3, 3_600_000, [(0, 3), (3, 6), (6, 10)]),
        # Each row is a range if there are at least as many threads as rows.
        (3, 3, 3_600_000, [(0, 1), (1, 2), (2, 3)]),
        (2, 4, 3_600_000, [(0, 1), (1, 2)]),
        (1, 4, 3_600_000, [(0, 1)]),
        (0, 4, 3_600_000, [(0, 0)]),
        # Each thread gets at least 400,000 elements.
        (10, 4, 799_999, [(0, 10)]),
        (10, 4, 800_000, [(0, 5), (5, 10)]),
        (10, 4, 1_199_999, [(0, 5), (5, 10)]),
        (10, 4, 1_200_000, [(0, 3), (3, 6), (6, 10)]),
        (10, 4, 0, [(0, 10)]),
    ],
)
def test_ranges_of_rows_follow_from_threads_rows_and_work(rows, threads, work, ranges):
    actual = []
    with stereo_framework.threads(threads):
        over_rows(lambda start, stop: actual.append((start, stop)), rows, work)
    assert sorted(actual) == ranges


def test_each_thread_gets_at_least_400000_elements():
    assert thread_module._MIN_WORK_PER_THREAD == 400_000


@pytest.mark.parametrize(
    ("blocks", "backwards", "visits"),
    [
        ((1, 1), False, [(0, 0, 1)]),
        ((2, 3), False, [(0, 0, 1), (1, 0, 2), (2, 0, 2), (3, 1, 2)]),
        ((2, 3), True, [(3, 1, 2), (2, 0, 2), (1, 0, 2), (0, 0, 1)]),
        ((3, 1), False, [(0, 0, 1), (1, 1, 2), (2, 2, 3)]),
        ((1, 3), True, [(2, 0, 1), (1, 0, 1), (0, 0, 1)]),
    ],
)
def test_blocks_are_visited_by_antidiagonals(blocks, backwards, visits):
    actual = []
    with stereo_framework.threads(1):
        over_blocks(lambda *visit: actual.append(visit), blocks, 1, backwards)
    assert actual == visits
    block_rows, block_columns = blocks
    visited_blocks = []
    for antidiagonal, start, stop in actual:
        visited_blocks += [(row, antidiagonal - row) for row in range(start, stop)]
    all_blocks = itertools.product(range(block_rows), range(block_columns))
    assert sorted(visited_blocks) == list(all_blocks)


def test_each_iteration_of_a_loop_and_its_end_are_reported_with_the_thread():
    reports = []
    thread = threading.get_ident()
    with reporting_iterations_to(lambda *report: reports.append(report)):
        assert list(counted(2, "round")) == [0, 1]
        for _ in counted(3, "pass"):
            break
        iteration_callback()(1, 5, "move")
    assert reports == [
        (thread, 0, 2, "round"),
        (thread, 1, 2, "round"),
        (thread, 2, 2, "round"),
        (thread, 0, 3, "pass"),
        (thread, 3, 3, "pass"),
        (thread, 1, 5, "move"),
    ]


def test_a_step_is_reported_to_the_innermost_listener_only():
    outer, inner = [], []
    announce_step("no listener")
    with reporting_steps_to(outer.append):
        announce_step("first")
        with reporting_steps_to(inner.append):
            announce_step("second")
        announce_step("third")
    assert (outer, inner) == (["first", "third"], ["second"])
