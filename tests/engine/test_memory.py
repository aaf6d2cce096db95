"""Memory of pipelines, measured and estimated, and the free memory of a system."""

import json
import math
import subprocess
import sys

import pytest

from stereo_framework import Pipeline, SearchRange, step
from stereo_framework.aggregation import box, diffusion
from stereo_framework.core.package_files import package_folder
from stereo_framework.engine.memory import memory_bound, peak_memory
from stereo_framework.kernels.free_memory import free_memory
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import graph_cut, winner_take_all
from stereo_framework.script import load
from stereo_framework.smoothness import potts

# --- measured memory ------------------------------------------------------------------

PROGRAM = r"""
import hashlib, json, re, sys
from pathlib import Path
from stereo_framework import Pipeline, load_scene, step
from stereo_framework.aggregation import box, min_filter
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import parabola

mode = sys.argv[1]
rows, columns, levels = map(int, sys.argv[2:])
scene = load_scene(f"synthetic/large-{columns}x{rows}x{levels}")
aggregations = [step(box, size=9), step(min_filter, size=9)]
method = Pipeline([absolute_difference, *aggregations, winner_take_all, parabola])
estimate = method(scene, keep_volume=mode == "whole")

# ru_maxrss would include the memory of the process that started this program.
status = Path("/proc/self/status").read_text()
peak_kib = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
print(json.dumps({
    "digest": hashlib.sha256(estimate.disparity.tobytes()).hexdigest(),
    "peak_mib": peak_kib / 1024,
    "levels": estimate.search.levels,
}))
"""
"""Program that matches a scene, and prints its peak memory and a digest of the map.

The first argument is "strips" for a cost volume in strips, or "whole" for a cost volume
of the whole image. The other arguments are the numbers of rows, columns and levels.
"""


def _match_in_new_process(mode, rows=1100, columns=1400, levels=192):
    """Run the program in a new process, and return its output."""
    command = [sys.executable, "-c", PROGRAM, mode, str(rows), str(columns), str(levels)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_pair_with_a_cost_volume_above_1_gib_needs_less_than_600_mib_in_strips():
    # This run stores the compiled kernels on disk. Compilation needs about 200 MiB.
    _match_in_new_process("strips", rows=60, columns=60, levels=16)
    strips = _match_in_new_process("strips")
    whole = _match_in_new_process("whole")
    assert strips["levels"] == 192
    assert strips["peak_mib"] < 600
    # The cost volume has 1128 MiB. Less memory would mean that this run used strips.
    assert whole["peak_mib"] > 1128
    assert strips["digest"] == whole["digest"]


# --- free memory ----------------------------------------------------------------------

MEMINFO = "MemTotal:  8000 kB\nMemFree:  10 kB\nMemAvailable:  4000 kB\n"


@pytest.fixture
def free_memory_with(tmp_path):
    """Return a function that computes the free memory of a system with some files."""

    def write_files_and_compute(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return free_memory(tmp_path / "proc", tmp_path / "groups")

    return write_files_and_compute


def test_free_memory_is_the_available_memory_of_the_machine(free_memory_with):
    assert free_memory_with({"proc/meminfo": MEMINFO}) == 4000 * 1024


def test_free_memory_is_the_rest_of_the_limit_of_an_outer_control_group(free_memory_with):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/job/step\n",
        "groups/job/step/memory.max": "max\n",
        "groups/job/step/memory.current": "100\n",
        "groups/job/memory.max": "50000\n",
        "groups/job/memory.current": "20000\n",
        "groups/job/memory.stat": "anon 15000\ninactive_file 5000\n",
    }
    # The system can release inactive file pages, so they count as free.
    assert free_memory_with(files) == 50_000 - 20_000 + 5_000


def test_free_memory_in_a_container_is_limited_by_its_control_group_of_version_1(free_memory_with):
    # A container shows its own group as the root folder, and not as /docker/abc.
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu:/docker/abc\n",
        "groups/memory/memory.limit_in_bytes": "30000",
        "groups/memory/memory.usage_in_bytes": "40000",
        "groups/memory/memory.stat": "total_inactive_file 4000\n",
    }
    assert free_memory_with(files) == 0
    files["groups/memory/memory.usage_in_bytes"] = "10000"
    assert free_memory_with(files) == 30_000 - 10_000 + 4_000


def test_free_memory_is_infinite_if_the_system_does_not_report_it(free_memory_with):
    assert free_memory_with({"proc/self/cgroup": "nonsense:::\n"}) == math.inf


# --- estimated memory -----------------------------------------------------------------


def test_peak_memory_depends_on_the_volumes_that_are_in_memory_at_the_same_time():
    shape = 1000, 1000
    search = SearchRange(0, 99)
    volume_bytes = 4 * 1000 * 1000 * 100

    # Local steps run in strips.
    local_method = Pipeline([absolute_difference, step(box, size=9), winner_take_all])
    assert peak_memory([local_method], shape, search).size < 0.5 * volume_bytes

    # A graph cut holds two volumes in addition to the costs.
    global_method = Pipeline([absolute_difference, potts, graph_cut])
    assert peak_memory([global_method], shape, search).size == 3 * volume_bytes

    # Methods with different windows share the costs, and aggregate them in strips.
    window_methods = [local_method.having(aggregation=[step(box, size=size)]) for size in (9, 11)]
    window_bytes = peak_memory(window_methods, shape, search).size
    assert 1 * volume_bytes < window_bytes < 1.6 * volume_bytes

    # These methods hold the costs and the result of 5 iterations. The estimate for the
    # aggregation is four more volumes.
    diffusion_methods = []
    for count in (5, 9):
        aggregation = step(diffusion, iterations=count)
        diffusion_methods.append(Pipeline([absolute_difference, aggregation, winner_take_all]))
    assert peak_memory(diffusion_methods, shape, search).size == 6 * volume_bytes


# --- upper bounds ---------------------------------------------------------------------

METHOD_NAMES = sorted(path.stem for path in package_folder().glob("methods/*.yaml"))


@pytest.mark.parametrize("name", METHOD_NAMES)
@pytest.mark.parametrize("shape", [(24, 32), (300, 400)])
def test_the_bound_of_the_memory_is_not_below_the_estimate(name, shape):
    pipelines = [setting.pipeline for setting in load(f"methods/{name}").settings]
    search = SearchRange(0, 15)
    for number in (1, 3):
        methods = [*pipelines * number, Pipeline(["census", "box", "winner_take_all", "median"])]
        bound = memory_bound(methods, shape, search)
        assert bound >= peak_memory(methods, shape, search).size


@pytest.mark.parametrize(
    "method",
    [
        Pipeline(["census", "winner_take_all"], {"robust": Pipeline(["rank", "winner_take_all"])}),
        Pipeline(["census", "winner_take_all", step("tiles", tile_size=100)]),
        Pipeline(["multi_baseline", "winner_take_all"]),
        Pipeline(["census", "cross_scale", "winner_take_all"]),
    ],
    ids=["auxiliary method", "scheme", "frames", "inner stage"],
)
def test_methods_of_unknown_size_have_no_bound(method):
    assert memory_bound([method], (24, 32), SearchRange(0, 15)) == math.inf
