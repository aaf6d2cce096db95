"""Measure one workload of guard.py: ``python benchmarks/guard_workload.py NAME``.

guard.py runs this file from each of the two commits that it compares. The last line of
the output is a JSON object with the figures of the workload:

``processor``
    Processor time in seconds, of all threads and of all processes that were started.
    It is the shortest of a few repetitions, because other programs only lengthen it.
``memory``
    Peak of the resident memory in bytes. For methods, sweeps and plans it is the part
    that was added while the workload ran.
``compile``
    With ``--compile`` only: processor time in seconds by which the first call of a
    method is longer than the second. With an empty ``NUMBA_CACHE_DIR`` it is the time
    that compiling takes.

It needs Linux with glibc.
"""

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# The package is imported in functions, because the workloads "help" and "import" start
# it in a new process, whose recorded peak of memory is at least that of this process.

METHODS = ("ssd", "sgm", "fast", "fine", "gc", "bp", "patch_match")
"""Built-in scripts that are measured on the scene cones."""

SCENE = "cones"
CROP_ROWS, CROP_COLUMNS = 40, 120
"""Size of the crop on which a method is called first, which loads its kernels."""

SECONDS, MOST_REPETITIONS = 1.0, 10
"""A workload is repeated until it took this processor time, but at most so often."""

SWEEP = {"matching_cost.truncation": [1, 20, 1], "aggregation.box.size": [1, 19, 2]}
"""The axes of the sweep of 200 settings: first value, last value and step."""

PLAN = {"matching_cost.truncation": [1, 100, 1], "aggregation.box.size": [1, 199, 2]}
"""The axes of the plan of 10,000 settings: first value, last value and step."""

STARTS = 10
"""Number of interpreters that are started for the workloads "help" and "import"."""

Figures = dict[str, float]


def processor_time() -> float:
    """Return the processor time of this process and of its children that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def processor_time_of(call: Callable[[], object]) -> float:
    """Return the processor time of one call, in seconds."""
    start = processor_time()
    call()
    return processor_time() - start


def resident_memory(field: str) -> int:
    """Return the resident memory in bytes: ``VmRSS`` is today's, ``VmHWM`` its peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    raise RuntimeError(f"/proc/self/status: no field {field}; this needs Linux")


def measure(call: Callable[[], object]) -> Figures:
    """Measure the shortest processor time and the added memory of a call."""
    # Freed memory goes back to the system, and the recorded peak begins anew.
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident_memory("VmRSS")
    times = [processor_time_of(call)]
    memory = resident_memory("VmHWM") - before

    while sum(times) < SECONDS and len(times) < MOST_REPETITIONS:
        times.append(processor_time_of(call))
    return {"processor": min(times), "memory": memory}


class Method:
    """A method on the images of the scene, and on a crop of them.

    Each call gets a new pair, because results that belong to a pair are stored in it.
    """

    def __init__(self, name: str, data: str | None) -> None:
        from stereo_framework import load, load_scene

        scene = load_scene(SCENE, data=data)
        assert scene.search is not None, "scenes of the data sets have a range"
        self.pipeline = load(name).pipeline
        self.reference = scene.reference
        self.match = scene.match
        self.search = scene.search

    def match_whole(self) -> None:
        """Match the images."""
        from stereo_framework import Pair

        self.pipeline(Pair(self.reference, self.match, self.search))

    def match_crop(self) -> None:
        """Match the upper left corner of the images."""
        from stereo_framework import Pair

        crop = slice(CROP_ROWS), slice(CROP_COLUMNS)
        reference, match = self.reference[crop].copy(), self.match[crop].copy()
        self.pipeline(Pair(reference, match, self.search))


def measure_method(name: str, data: str | None) -> Figures:
    """Measure a method on the images of the scene when its kernels are loaded."""
    from stereo_framework import threads

    method = Method(name, data)
    with threads(1):
        method.match_crop()
        return measure(method.match_whole)


def measure_compiling(name: str, data: str | None) -> Figures:
    """Measure the time by which the first call of a method exceeds the second."""
    from stereo_framework import threads

    method = Method(name, data)
    with threads(1):
        first = processor_time_of(method.match_crop)
        second = processor_time_of(method.match_crop)
    return {"compile": max(0.0, first - second)}


def window_script(axes: dict[str, list[int]]) -> dict[str, Any]:
    """Return the script `window` with a grid of settings."""
    grid = {address: {"range": bounds} for address, bounds in axes.items()}
    return {"include": "window", "sweep": {"grid": grid}}


def measure_sweep() -> Figures:
    """Measure a sweep of 200 settings on a built-in scene, with its store."""
    from stereo_framework import load_scene, run, threads

    scene = load_scene("synthetic/slits")

    def run_all(axes: dict[str, list[int]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            results = run(window_script(axes), scenes=scene, workers=1, out=folder)
            errors = [result.error for result in results if result.error]
        if errors:
            raise RuntimeError(f"a setting of the sweep failed: {errors[0]}")

    with threads(1):
        run_all({address: [first, first, step] for address, (first, _, step) in SWEEP.items()})
        return measure(partial(run_all, SWEEP))


def measure_plan() -> Figures:
    """Measure the loading and the planning of a script with 10,000 settings."""
    from stereo_framework import load, load_scene
    from stereo_framework.sweep.tasks import tasks_of_script

    scene = load_scene("synthetic/slits")

    def load_and_list_tasks(axes: dict[str, list[int]]) -> None:
        tasks_of_script(load(window_script(axes)), [scene])

    load_and_list_tasks(
        {address: [first, first, step] for address, (first, _, step) in PLAN.items()}
    )
    return measure(partial(load_and_list_tasks, PLAN))


def measure_start(*arguments: str) -> Figures:
    """Measure a new Python process with these arguments, the best of a few starts."""
    times: list[float] = []
    peaks: list[int] = []
    for _ in range(STARTS):
        process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        # Popen would wait for the process again if its status were not set.
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            command = " ".join(arguments)
            raise RuntimeError(f"python {command}: it ended with status {process.returncode}")
        times.append(usage.ru_utime + usage.ru_stime)
        peaks.append(usage.ru_maxrss * 1024)
    return {"processor": min(times), "memory": min(peaks)}


WORKLOADS: dict[str, Callable[[str | None], Figures]] = {
    **{name: partial(measure_method, name) for name in METHODS},
    "sweep": lambda data: measure_sweep(),
    "plan": lambda data: measure_plan(),
    "help": lambda data: measure_start("-m", "stereo_framework", "--help"),
    "import": lambda data: measure_start("-c", "import stereo_framework"),
}
"""The workloads by name; each gets the folder of the scenes."""


def main() -> None:
    """Print the figures of one workload.

    The command line must not change, because guard.py runs this file in older commits.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=list(WORKLOADS))
    parser.add_argument("--data", help="folder of the scenes; default: STEREO_DATA")
    parser.add_argument("--compile", action="store_true", help="measure the compiling of a method")
    arguments = parser.parse_args()
    if arguments.compile:
        figures = measure_compiling(arguments.workload, arguments.data)
    else:
        figures = WORKLOADS[arguments.workload](arguments.data)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
