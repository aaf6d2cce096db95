"""Commands that show a sweep while it runs: the done results, and the time left."""

import os
import re
import subprocess
import sys
import time

import pytest
import yaml
from cli_parts import invoke
from made_results import result

from stereo_framework.io import is_locked, locked
from stereo_framework.sweep import Store
from stereo_framework.sweep.database import LOCK
from stereo_framework.sweep.environment import utc_text
from stereo_framework.sweep.run_progress import RunProgress

SLOW_STAGE = """
import time
from typing import Annotated
from stereo_framework import stage

@stage("refinement")
def slow(disparity, *, seconds: float = 0.4):
    time.sleep(seconds)
    return disparity
"""


def add_results(store, count, start, seconds_per_result):
    """Add results of a run that began at a time."""
    for i in range(count):
        computed = utc_text(start + (i + 1) * seconds_per_result)
        store.add(str(i), result("s", {}, {"bad_pixels_all": 1.0}, id=str(i), time=computed))


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (RunProgress(4, 4), ""),
        (RunProgress(0, 0), ""),
        (
            RunProgress(400, 120, is_running=True, new=20, seconds=60.0),
            "120 of 400 results are done (30 %), and the run is going on; the rest takes about "
            "14 min",
        ),
        (
            RunProgress(4, 1, is_running=True),
            "1 of 4 results are done (25 %), and the run is going on",
        ),
        (
            RunProgress(4, 3, is_running=False, new=2, seconds=5.0),
            "1 result is still missing, because the run was stopped early; run the same command "
            "again to compute the rest",
        ),
        (
            RunProgress(4, 1),
            "3 results are still missing; if no command is computing results now, the run was "
            "stopped early; run the same command again to compute the rest",
        ),
    ],
)
def test_the_message_depends_on_whether_a_command_runs(progress, text):
    assert progress.text() == text


def test_the_estimate_uses_only_the_results_of_this_run(tmp_path):
    keys = [str(i) for i in range(10)]
    with Store(tmp_path, create=True) as store:
        store.set_listed_keys(keys)
        # These two results belong to an earlier run.
        add_results(store, 2, time.time() - 1000, 1)
    with Store(tmp_path, create=True) as store:
        start = time.time() - 30
        os.utime(tmp_path / LOCK, (start, start))
        for i in range(2, 5):
            computed = utc_text(start + 10 * (i - 1))
            store.add(str(i), result("s", {}, {"bad_pixels_all": 1.0}, time=computed))
        with Store(tmp_path) as reader:
            progress = reader.progress()
            assert (progress.planned, progress.done, progress.new) == (10, 5, 3)
            # Three results took 30 s, so that five results take 50 s.
            assert progress.seconds_left == pytest.approx(50, rel=0.1)
            assert progress.is_running
    with Store(tmp_path) as reader:
        assert reader.progress().is_running is False
        assert reader.progress().seconds_left is None


def test_a_lock_of_another_program_is_found_and_does_not_disturb_it(tmp_path):
    path = tmp_path / "lock"
    assert is_locked(path) is False
    with locked(path):
        assert is_locked(path) is True
        assert is_locked(path) is True
    assert is_locked(path) is False
    with locked(path):
        pass


def test_results_and_reports_are_shown_while_a_sweep_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.py").write_text(SLOW_STAGE)
    script = {
        "include": "window",
        "plugins": ["slow.py"],
        "scenes": ["synthetic/planes"],
        "search": {"maximum": 3},
        "refinement": ["slow"],
        "sweep": {"grid": {"aggregation.box.size": list(range(3, 43, 2))}},
    }
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(script))
    command = [sys.executable, "-m", "stereo_framework", "run", "sweep.yaml", "--out", "out"]
    with subprocess.Popen([*command, "--workers", "1"], stderr=subprocess.DEVNULL) as process:
        try:
            counts = []
            deadline = time.monotonic() + 60
            while len(counts) < 3 and process.poll() is None and time.monotonic() < deadline:
                answer = invoke("results", "out", "--limit", "1")
                message = re.search(
                    r"(\d+) of 20 results are done \((\d+) %\), and the run is going on; "
                    r"the rest takes about \d+ s",
                    answer.stderr,
                )
                if answer.exit_code == 0 and message:
                    counts.append(int(message[1]))
                    report = invoke("report", "out")
                    assert report.exit_code == 0, report.output
                    assert "of 20 results are done" in (tmp_path / "out/report.html").read_text()
                time.sleep(0.5)
        finally:
            process.kill()
    assert len(counts) == 3
    assert sorted(counts) == counts
    assert 0 < counts[0] < counts[2] <= 20
    answer = invoke("results", "out")
    assert "still missing, because the run was stopped early" in answer.stderr
