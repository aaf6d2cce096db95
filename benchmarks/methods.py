"""Time whole methods and the memory they take: ``python benchmarks/methods.py [METHOD ...] [--scenes SCENE ...] [--data DIR]``.

Each method is a built-in script (``ncc``: the winners of normalized cross-correlation), run in a process of its own on a scene that lies in memory;
compiling does not count. Memory is what the process holds at most while the method runs and is measured, beyond what it held before, and the same in
volumes of the scene's search range. It needs Linux with glibc.
"""

import argparse
import ctypes
import multiprocessing
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from stereo_framework import load_scene, run, threads
from stereo_framework.core.scene import Scene

REPEAT, SECONDS = 3, 2.0
"""Least repetitions, and how long short methods are repeated."""
METHODS: dict[str, Any] = {
    name: name for name in ("ssd", "window", "csm", "stratified", "cox", "bp", "gc", "gco")
}
METHODS |= {name: name for name in ("census", "sgm", "cost_filter", "ad_census", "support_weights")}
METHODS["ncc"] = {
    "matching_cost": "normalized_cross_correlation",
    "optimization": "winner_take_all",
}


def seconds(method: str, scene: Scene) -> float:
    """Time of a method's stages."""
    [result] = run(METHODS[method], scenes=scene, workers=1, maps=False)
    if result.error:
        raise RuntimeError(f"{method} on {scene.name}: {result.error}")
    assert result.matching_seconds is not None, "there is no error"
    return result.matching_seconds


def best(method: str, scene: Scene) -> float:
    """Shortest time of the repetitions."""
    times, start = [], time.perf_counter()
    while len(times) < REPEAT or time.perf_counter() - start < SECONDS:
        times.append(seconds(method, scene))
    return min(times)


def held(what: str) -> int:
    """Bytes that this process holds: ``VmRSS`` now, ``VmHWM`` at most."""
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what)
    )
    return int(line.split()[1]) * 1024


def measure(method: str, name: str, data: Path | None) -> tuple[list[float], int, int]:
    """Seconds on one and on two threads, bytes taken, and bytes of one volume."""
    seconds(method, load_scene("synthetic/slits"))
    scene = load_scene(name, data=data)
    assert scene.search is not None, "scenes of the data sets have a range"
    volume = 4 * scene.reference.shape[0] * scene.reference.shape[1] * scene.search.levels
    assert scene.match.shape == scene.reference.shape, "and are read now"
    # What was freed goes back to the system, and the maximum starts anew.
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = held("VmRSS")
    seconds(method, scene)
    taken = held("VmHWM") - before
    times = []
    for count in (1, 2):
        with threads(count):
            times.append(best(method, scene))
    return times, taken, volume


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", help="default: all")
    parser.add_argument("--scenes", nargs="+", default=["tsukuba", "teddy"])
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    table = Table("method", "scene", "1 thread, ms", "2 threads, ms", "memory, MB", "volumes")
    for method in arguments.methods or METHODS:
        for name in arguments.scenes:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                times, taken, volume = pool.apply(measure, (method, name, arguments.data))
            table.add_row(
                method,
                name,
                *(f"{t * 1e3:.1f}" for t in times),
                f"{taken / 1e6:.0f}",
                f"{taken / volume:.1f}",
            )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
