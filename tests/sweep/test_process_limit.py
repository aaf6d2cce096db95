"""Where the system starts fewer worker processes than asked for, those that there are compute all runs."""

import errno
import os
import threading
import time

import pytest

from stereo_framework.core.errors import ResultWarning
from stereo_framework.sweep import executors
from stereo_framework.sweep.executors import CannotStartError, Processes


def refuse_processes_after(monkeypatch, count):
    """Let the system start only so many processes."""
    start, lock, started = executors._Worker.__init__, threading.Lock(), []

    def limited_start(worker):
        with lock:
            if len(started) >= count:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            started.append(worker)
        start(worker)

    monkeypatch.setattr(executors._Worker, "__init__", limited_start)


def test_without_processes_the_message_names_the_limit_and_a_remedy(monkeypatch):
    refuse_processes_after(monkeypatch, 0)
    with Processes(2) as pool:
        futures = [pool.submit(abs, -number) for number in range(4)]
        for future in futures:
            with pytest.raises(
                CannotStartError, match=r"temporarily unavailable; .*ulimit -u.*; .*--workers 1"
            ):
                future.result(timeout=300)


@pytest.mark.parametrize("count", [1, 2])
def test_few_processes_compute_all_calls_and_the_warning_comes_once(count, monkeypatch):
    refuse_processes_after(monkeypatch, count)

    def compute():
        with Processes(4) as pool:
            futures = [
                pool.submit(time.sleep, 0.2),
                *(pool.submit(abs, -number) for number in range(9)),
            ]
            return [future.result(timeout=300) for future in futures]

    with pytest.warns(
        ResultWarning, match=rf"starts only [1-{count}] of 4 worker processes; the limit"
    ) as caught:
        assert compute() == [None, *range(9)]
    assert len(caught) == 1


def test_a_process_that_dies_frees_the_place_for_another(monkeypatch):
    refuse_processes_after(monkeypatch, 2)
    with Processes(1) as pool:
        with pytest.raises(executors.BrokenExecutor):
            pool.submit(os._exit, 1).result(timeout=300)
        assert pool.submit(abs, -3).result(timeout=300) == 3
