"""While `match` compiles for the first time, a second process compiles too."""

import errno
import os
import subprocess
import sys

import pytest

from stereo_framework.kernels.compiling import announce_compiling
from stereo_framework.kernels.threads import threads
from stereo_framework.user_pair.kernel_warmup import compile_in_second_process


class Process:
    """What was started, and what became of it."""

    def __init__(self, command, **streams):
        self.command, self.streams, self.done = command, streams, []

    def kill(self):
        self.done.append("killed")

    def wait(self):
        self.done.append("waited for")


@pytest.mark.parametrize("cores", [1, 2])
def test_a_second_process_is_started_where_something_is_compiled(monkeypatch, cores):
    started = []
    monkeypatch.setattr(
        subprocess,
        "Popen",
        lambda *given, **streams: started.append(Process(*given, **streams)) or started[-1],
    )
    with threads(cores), compile_in_second_process():
        assert not started
        for kernel in ("first", "", "second", ""):
            announce_compiling(kernel)
        assert len(started) == cores - 1
    for one in started:
        assert one.command == [
            sys.executable,
            "-P",
            "-m",
            "stereo_framework.user_pair.kernel_warmup",
        ]
        assert set(one.streams.values()) == {subprocess.DEVNULL}
        assert one.done == ["killed", "waited for"]


def test_a_second_process_that_cannot_start_stops_nothing(monkeypatch):
    def refuse(*arguments, **options):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with threads(2), compile_in_second_process():
        announce_compiling("first")
        announce_compiling("")


def test_the_second_process_runs_the_default_method():
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "stereo_framework.user_pair.kernel_warmup"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-500:]
    assert "stereo_framework.optimization.plane_paths" in result.stderr
