"""The option --threads, the variables of the environment, and what they limit."""

import os
import subprocess
import sys

import cv2
import numpy as np
import pytest
from cli_parts import call, invoke, one_line

from stereo_framework.io import read_disparity, write_image
from stereo_framework.kernels.cores import available_cores
from stereo_framework.kernels.threads import thread_count

COUNTING_PROGRAM = """
import sys
from stereo_framework.__main__ import main
from stereo_framework.kernels import threads

pool = threads._pool
calls = []
threads._pool = lambda process: calls.append(process) or pool(process)
sys.argv[1:] = {words!r}
try:
    main()
finally:
    import cv2
    print("pools", bool(calls), "OpenCV", cv2.getNumThreads())
"""


class Reached(Exception):
    """The command has called the function that computes."""


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """Write a pair of 600x400 pixels, of which large parts are work for several threads."""
    monkeypatch.chdir(tmp_path)
    texture = np.random.default_rng(1).integers(0, 256, (400, 620), dtype=np.uint8)
    texture = cv2.GaussianBlur(texture, (0, 0), 1.2)
    write_image("left.png", texture[:, :600])
    write_image("right.png", texture[:, 20:])
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "function"),
    [
        (
            "match left.png right.png --disparities 0:32",
            "stereo_framework.user_pair.matching.match",
        ),
        (
            "choose left.png right.png --disparities 0:32",
            "stereo_framework.user_pair.method_choice.choose",
        ),
        ("run window --scene synthetic/planes", "stereo_framework.sweep.script_run.execute"),
        (
            "tune window --scene synthetic/planes --set sweep.grid.aggregation.box.size=[3,5]",
            "stereo_framework.sweep.tune.tune",
        ),
        (
            "evaluate left.png --scene synthetic/planes --disparity-scale 8",
            "stereo_framework.sweep.external_maps.measure_map",
        ),
        (
            "compare left.png right.png --scene synthetic/planes --disparity-scale 8",
            "stereo_framework.sweep.external_maps.measure_map",
        ),
        ("reproduce taxonomy2002/table4", "stereo_framework.papers.reproduce.reproduce"),
    ],
)
def test_threads_limits_kernels_workers_and_opencv_while_a_command_computes(
    words, function, monkeypatch
):
    counts = []

    def record(*arguments, **options):
        counts.append(
            (thread_count(), available_cores(), os.environ["OMP_NUM_THREADS"], cv2.getNumThreads())
        )
        raise Reached

    monkeypatch.setattr(function, record)
    before = cv2.getNumThreads()
    invoke(*words.split(), "--threads", 1)
    assert counts == [(1, 1, "1", 1)]
    assert cv2.getNumThreads() == before
    assert "OMP_NUM_THREADS" not in os.environ


def counted(words, **variables):
    """Run a command in a process of its own; return whether kernels used a pool, and OpenCV's number of threads."""
    program = COUNTING_PROGRAM.format(words=words.split())
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | variables,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    _, pools, _, opencv = done.stdout.splitlines()[-1].split()
    return pools == "True", int(opencv)


MATCH = "match left.png right.png --disparities 0:32 --method sgm"


@pytest.mark.parametrize(
    ("words", "variables", "used"),
    [
        ("--threads 2", {"OMP_NUM_THREADS": "1"}, (True, 2)),
        pytest.param("--threads 1", {}, (False, 1), marks=pytest.mark.slow),
        ("", {"OMP_NUM_THREADS": "1"}, (False, 1)),
        pytest.param("", {"NUMBA_NUM_THREADS": "1"}, (False, 1), marks=pytest.mark.slow),
    ],
)
def test_kernels_and_opencv_use_as_many_threads_as_the_option_or_a_variable_states(
    words, variables, used
):
    assert counted(f"{MATCH} --out o {words}", **variables) == used


@pytest.mark.parametrize(
    "matcher",
    [
        "opencv_bm",
        *(
            pytest.param(f"opencv_sgbm, mode: {mode}", marks=pytest.mark.slow)
            for mode in ("sgbm", "3way")
        ),
    ],
)
def test_opencv_computes_the_same_map_with_every_number_of_threads(desk, matcher):
    (desk / "method.yaml").write_text(f"matcher: {{use: {matcher}}}\n")
    words = ("match", "left.png", "right.png", "--disparities", "0:32", "--method", "method.yaml")
    maps = []
    for count in (1, 2, 5):
        call(*words, "--threads", count, "--out", f"o{count}")
        maps.append(read_disparity(f"o{count}/disparity.pfm"))
    np.testing.assert_array_equal(maps[1], maps[0])
    np.testing.assert_array_equal(maps[2], maps[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "run window --scene synthetic/planes --threads 2 --workers 3",
            "--workers 3: is more than --threads 2",
        ),
        (
            "run window --scene synthetic/planes --threads 2 --dask tcp://h:1",
            "--threads has no effect with --dask",
        ),
        (
            "reproduce taxonomy2002/table4 --threads 1 --workers 2",
            "--workers 2: is more than --threads 1",
        ),
        (
            "match left.png right.png --threads 0",
            "--threads': Input should be greater than or equal to 1",
        ),
    ],
)
def test_a_number_of_threads_that_contradicts_other_options_is_refused(words, message):
    result = invoke(*words.split())
    assert result.exit_code == 2
    one_line(result, message)


def test_reproduce_has_two_workers_unless_fewer_threads_are_available(monkeypatch):
    workers = []

    def record(paper, out, data, count, quick):
        workers.append(count)
        raise Reached

    monkeypatch.setattr("stereo_framework.papers.reproduce.Context", record)
    for count in (1, 2, 5):
        invoke("reproduce", "taxonomy2002/table4", "--threads", count)
    assert workers == [1, 2, 2]
