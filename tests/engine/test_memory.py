"""Peak memory of the window pipeline, measured in processes of its own."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, json, re, sys
import numpy as np
from stereo_framework import step, Pipeline
from stereo_framework.aggregation import box, min_filter
from stereo_framework import load_scene
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import parabola

rows, columns, levels = map(int, sys.argv[2:])
scene = load_scene(f"synthetic/large-{columns}x{rows}x{levels}")
method = Pipeline([absolute_difference, step(box, size=9), step(min_filter, size=9), winner_take_all, parabola])
match = method(scene, keep_volume=sys.argv[1] == "whole")
print(json.dumps({
    "digest": hashlib.sha256(match.disparity.tobytes()).hexdigest(),
    # Not ru_maxrss, which a process inherits from the one that started it.
    "peak_mib": int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1024,
    "levels": match.search.levels,
}))
"""


def _measure(how, rows=1100, columns=1400, levels=192):
    command = [sys.executable, "-c", PROGRAM, how, str(rows), str(columns), str(levels)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.mark.slow
@linux
def test_a_large_pair_stays_under_600_mib():
    # Kernels are compiled once and kept on disk; that takes some 200 MiB of its own.
    _measure("strips", rows=30, columns=40, levels=8)
    strips, whole = _measure("strips"), _measure("whole")
    assert strips["levels"] == 192
    assert strips["peak_mib"] < 600
    # The whole volume alone is 1128 MiB, so that the comparison cannot be between two runs in strips.
    assert whole["peak_mib"] > 1128
    assert strips["digest"] == whole["digest"]
