"""Tests of runs that a signal ends, and that the same command continues."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
import yaml
from sweep_parts import numbers, stored

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="sends signals"),
]

MARKS = "STEREO_TEST_MARKS"
"""Environment variable with the folder of the plug-in's marks of progress."""

PLUGIN = f'''
import os, time, uuid
from pathlib import Path
from stereo_framework.stages import stage

def mark(place):
    Path(os.environ["{MARKS}"], f"{{place}}-{{uuid.uuid4().hex}}").touch()
    time.sleep(0.05)

mark("planning")

@stage("refinement", source="a test")
def marked(disparity):
    """Return the map, and create a mark."""
    mark("matching")
    return disparity
'''

SCRIPT = {
    "scenes": ["synthetic/large-60x60x16"],
    "plugins": ["marking.py"],
    "matching_cost": "absolute_difference",
    "aggregation": ["box"],
    "optimization": "winner_take_all",
    "refinement": ["marked"],
    "sweep": {"grid": {"matching_cost.truncation": [10, 20, None], "aggregation.box.size": [3, 5]}},
}
RUNS = 6

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL]

PLACES = {
    "planning": [],
    "matching in threads": [],
    "matching in processes": ["--executor", "process"],
    "writing maps": [],
    "writing the report": ["--report"],
}
"""Places at which runs are killed, with the options that lead there."""

WAIT_SECONDS = 120


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """Return the path of a script with a plug-in that creates marks."""
    folder = tmp_path_factory.mktemp("script")
    (folder / "marking.py").write_text(PLUGIN)
    (folder / "script.yaml").write_text(yaml.safe_dump(SCRIPT, sort_keys=False))
    return folder / "script.yaml"


def use_default_signals():
    """Restore the default handlers of all signals.

    Programs such as nohup, and shells that start the tests in the background, let them
    ignore some signals.
    """
    for number in SIGNALS:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)


def start(script, folder, place):
    """Start a run that writes to a folder, with the options that lead to a place."""
    marks = folder / "marks"
    marks.mkdir(parents=True, exist_ok=True)
    options = ["--out", str(folder / "out"), "--maps", "--workers", "2", *PLACES[place]]
    command = [sys.executable, "-m", "stereo_framework", "run", str(script), *options]
    environment = os.environ | {MARKS: str(marks)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        command, env=environment, text=True, preexec_fn=use_default_signals, **pipes
    )


def finish(script, folder, place):
    """Run to the end, and return the numbers of all results, and the maps by name."""
    child = start(script, folder, place)
    output, errors = child.communicate(timeout=WAIT_SECONDS)
    assert child.returncode == 0, output + errors
    out = folder / "out"
    maps = {path.relative_to(out).as_posix(): path.read_bytes() for path in maps_of(out)}
    assert len(maps) == RUNS
    return numbers(stored(out)), maps


def maps_of(out):
    """Return the paths of all stored maps."""
    return sorted((out / "maps").rglob("*.pfm"))


@pytest.fixture(scope="module")
def undisturbed(script, tmp_path_factory):
    """Return the results and maps of a run without a signal."""
    return finish(script, tmp_path_factory.mktemp("undisturbed"), "planning")


def progress(folder, place):
    """Return the number of marks, or of maps, that show how far a run has come."""
    if place == "writing maps":
        return len(maps_of(folder / "out"))
    if place == "writing the report":
        return int(len(maps_of(folder / "out")) == RUNS)
    return len(list((folder / "marks").glob(f"{place.partition(' ')[0]}-*")))


def wait_for_progress(child, folder, place, count):
    """Wait until a run has come to a place."""
    deadline = time.monotonic() + WAIT_SECONDS
    while progress(folder, place) < count:
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline, f"no progress: {place}"
        time.sleep(0.002)


@pytest.mark.parametrize("moment", range(3))
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_killed_run_continues_to_equal_results_and_maps(
    number, place, moment, script, undisturbed, tmp_path
):
    """Continue a run after each signal, wherever the signal arrives."""
    draw = random.Random(f"{number.name} {place} {moment}")
    count = draw.randint(1, RUNS - 2) if place not in ("planning", "writing the report") else 1
    delay = draw.uniform(0, 0.2 if place == "writing the report" else 0.05)

    child = start(script, tmp_path, place)
    wait_for_progress(child, tmp_path, place, count)
    time.sleep(delay)
    was_running = child.poll() is None
    child.send_signal(number)
    _, errors = child.communicate(timeout=WAIT_SECONDS)

    assert was_running
    assert "Traceback" not in errors
    expected_statuses = (
        (128 + number, -number) if number in (signal.SIGINT, signal.SIGTERM) else (-number,)
    )
    assert child.returncode in expected_statuses, errors
    assert finish(script, tmp_path, place) == undisturbed


def test_run_continues_after_many_signals(script, undisturbed, tmp_path):
    """The same folder is used after kills at all places."""
    draw = random.Random(0)
    for place in PLACES:
        child = start(script, tmp_path, place)
        deadline = time.monotonic() + draw.uniform(0.1, 3)
        while child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        child.kill()
        child.communicate()
    assert finish(script, tmp_path, "planning") == undisturbed
