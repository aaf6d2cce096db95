"""Tests of systems that start fewer worker processes than requested."""

import errno
import os
import threading
import time
from concurrent.futures import BrokenExecutor

import pytest

from stereo_framework.core.errors import ResultWarning
from stereo_framework.sweep import processes
from stereo_framework.sweep.processes import CannotStartError, Processes


def refuse_processes_after(monkeypatch, count):
    """Let the system start only `count` processes."""
    start_worker = processes._Worker.__init__
    lock = threading.Lock()
    started_workers = []

    def limited_start(worker):
        with lock:
            if len(started_workers) >= count:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            started_workers.append(worker)
        start_worker(worker)

    monkeypatch.setattr(processes._Worker, "__init__", limited_start)


def test_message_about_missing_processes_gives_the_limit_and_a_remedy(monkeypatch):
    """Raise the same error for every call if there is no process."""
    refuse_processes_after(monkeypatch, 0)
    message = r"temporarily unavailable; .*ulimit -u.*; .*--workers 1"
    with Processes(2) as pool:
        for future in [pool.submit(abs, -number) for number in range(4)]:
            with pytest.raises(CannotStartError, match=message):
                future.result(timeout=300)


@pytest.mark.parametrize("count", [1, 2])
def test_few_processes_compute_all_calls_and_warn_once(count, monkeypatch):
    """Calls wait for the processes that the system has started."""
    refuse_processes_after(monkeypatch, count)

    def compute():
        with Processes(4) as pool:
            calls = [pool.submit(time.sleep, 0.2)]
            calls += [pool.submit(abs, -number) for number in range(9)]
            return [future.result(timeout=300) for future in calls]

    message = rf"starts only [1-{count}] of 4 worker processes; the limit"
    with pytest.warns(ResultWarning, match=message) as warnings:
        assert compute() == [None, *range(9)]
    assert len(warnings) == 1


def test_another_process_replaces_a_dead_process(monkeypatch):
    """Start another process, because the dead process has freed its place."""
    refuse_processes_after(monkeypatch, 2)
    with Processes(1) as pool:
        with pytest.raises(BrokenExecutor):
            pool.submit(os._exit, 1).result(timeout=300)
        assert pool.submit(abs, -3).result(timeout=300) == 3
