"""Time what has a goal of its own beside those of ``chains.py``: ``python benchmarks/goals.py [--scene SCENE] [--data DIR] [--slow]``.

Whole chains on two threads, wall-clock and processor time, on the scene and in the median of ten photographs; measures of confidence as shares of the whole of `sgm`, processor time on one thread; and what
the second run of ``match`` on a pair of files takes beyond the matching. `--slow`: `patch_match` too, which takes a minute.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
from rich.console import Console
from rich.table import Table

from stereo_framework import confidence as family
from stereo_framework import load, load_scene, threads
from stereo_framework.confidence.learned import MEASURES
from stereo_framework.core.scene import Scene

SECONDS = {"fast": 0.25, "fine": 1.5, "patch_match": 30}
QUARTER = {"fast": 0.4, "fine": 2.0}
"""The same in the median of the scenes of Middlebury v3 trainingQ."""
SHARE, BEYOND = 0.1, 1.0
FREE = ("distinctiveness",)
"""The measure that may take longer."""


def best(call: Callable[[], object], repeat: int, *, warm: bool = True) -> tuple[float, float]:
    """Least wall-clock and processor seconds; to be warm, a first call compiles."""
    if warm:
        call()
    found = []
    for _ in range(repeat):
        start = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    walls, processors = zip(*found, strict=True)
    return min(walls), min(processors)


def chains(scene: Scene, table: Table, slow: bool) -> None:
    """Whole methods on two threads."""
    cv2.setNumThreads(2)
    for name, limit in SECONDS.items():
        if name == "patch_match" and not slow:
            continue
        method = load(name).pipeline
        with threads(2):
            wall, processor = best(
                lambda method=method: method(scene), 1 if name == "patch_match" else 5
            )  # type: ignore[misc]
        table.add_row(f"{name}, s", f"{wall:.2f}", f"{processor:.2f}", f"{limit:g}")


def photographs(data: Path | None, table: Table) -> None:
    """Whole methods on two threads, in the median of ten scenes, each matched once."""
    names = [
        "Adirondack",
        "ArtL",
        "Jadeplant",
        "Motorcycle",
        "Piano",
        "Pipes",
        "Playroom",
        "PlaytableP",
        "Recycle",
        "Vintage",
    ]
    scenes = [load_scene(f"middlebury-v3/trainingQ/{name}", data=data) for name in names]
    for name, limit in QUARTER.items():
        method = load(name).pipeline
        # The first scene's kernels compile.
        method(scenes[0])
        with threads(2):
            taken = [
                best(lambda scene=scene, method=method: method(scene), 1, warm=False)
                for scene in scenes
            ]  # type: ignore[misc]
        wall, processor = (statistics.median(times) for times in zip(*taken, strict=True))
        table.add_row(f"{name}, v3, s", f"{wall:.2f}", f"{processor:.2f}", f"{limit:g}")


def measures(scene: Scene, table: Table) -> None:
    """Each measure of costs, and the learned one without those that it combines."""
    with threads(1):
        method = load("sgm").pipeline
        _, whole = best(lambda: method(scene), 9)
        plain: dict[str, Any] = {
            "include": "sgm",
            "refinement": [],
            "confidence": sorted({*MEASURES, *family.__all__} - {"learned"}),
        }
        match = load(plain).pipeline(scene, keep_volume=True)
        for name in family.__all__:
            function = getattr(family, name)
            if name in FREE or name == "left_right_consistency":
                continue
            given = (match.confidence,) if name == "learned" else (match.volume, None)
            _, taken = best(
                lambda function=function, given=given: function(match.disparity, *given), 9
            )  # type: ignore[misc]
            table.add_row(f"{name}, share of sgm", "", f"{taken / whole:.3f}", f"{SHARE:g}")


def second_match(scene: Scene, table: Table) -> None:
    """What a run of the command takes beyond the matching that it tells.

    Python keeps its bytecode, as it does of whatever is installed; the first run makes it.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
        }
        environment["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        files = [str(Path(folder) / name) for name in ("left.png", "right.png")]
        for file, image in zip(files, (scene.reference, scene.match), strict=True):
            cv2.imwrite(file, image[..., ::-1])
        command = [
            sys.executable,
            "-m",
            "stereo_framework",
            "match",
            *files,
            "-o",
            str(Path(folder) / "out"),
        ]
        found = []
        for _ in range(4):
            start = time.perf_counter()
            told = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment
            )
            wall = time.perf_counter() - start
            matching = re.search(r"([0-9.]+) s of matching", told.stdout + told.stderr)
            assert matching is not None, "the summary tells it"
            found.append(wall - float(matching[1]))
        table.add_row("match beyond matching, s", f"{min(found[1:]):.2f}", "", f"{BEYOND:g}")


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scene", default="cones")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--slow", action="store_true")
    arguments = parser.parse_args()
    scene = load_scene(arguments.scene, data=arguments.data)
    table = Table("what", "wall clock", "processor", "goal", title=scene.name)
    chains(scene, table, arguments.slow)
    photographs(arguments.data, table)
    measures(scene, table)
    second_match(scene, table)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
