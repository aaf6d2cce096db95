"""Compute errors of whole methods on all sets of real scenes in one run.

    python benchmarks/quality.py [METHOD ...] [--sets A B C ...] [--seeds 3] [--data DIR]

A method is a built-in script or a file. ``sgbm`` and ``hh`` are cv2.StereoSGBM with five
and with eight paths on images that are extended to the left. ``pandora`` is Pandora's
chain if PANDORA names its program (see pandora_sgm.py). The maps of all three are filled
from the background of the row, so that all maps are dense.

The sets of scenes and their errors:

- A: average rank among the twenty methods of Table 5 in Scharstein & Szeliski 2002.
- B: mean of the twelve percentages of Middlebury's second evaluation.
- C: ten photographs of Middlebury's third evaluation; roads: eight pairs of KITTI 2015;
  kitti2012: the pair of its kit; indoors: Moebius, Aloe, Baby1. The errors of these
  four sets are percentages of the pixels with truth that are off by more than 0.5, 1, 2
  and 3 pixels. In C, they are percentages of the non-occluded pixels, because its data
  set has a mask of them.

Methods that draw random numbers run with ``--seeds`` seeds, and the table shows their mean.

``--times`` measures times instead: the processor time of all threads, a peer's own program
included, and for Piano the wall-clock time, the least of three, and the memory beyond that
which the process held before. Only an otherwise idle machine gives meaningful times.

``--counts`` stores the figures for the pages: errors in ``docs/counts/quality.json``, times
in ``docs/counts/quality_times.json``. Times are not stored if the machine is busy.
"""

import argparse
import ctypes
import multiprocessing
import os
import resource
import sys
import timeit
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from methods import held
from rich.console import Console
from rich.table import Table

from stereo_framework import evaluate, load_scene
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.papers.comparison import published_table
from stereo_framework.script import load

PEERS: dict[str, Any] = {
    "sgbm": {"include": "sgbm", "refinement": ["fill_occlusions"]},
    "hh": {"matcher": {"use": "opencv_sgbm", "mode": "hh"}, "refinement": ["fill_occlusions"]},
    "pandora": {
        "plugins": [str(Path(__file__).with_name("pandora_sgm.py"))],
        "matcher": "pandora_sgm",
        "refinement": ["fill_occlusions"],
    },
}
METHODS = ("fine", "fast", "sgm", "hh")
_PHOTOGRAPHS = (
    "Piano",
    "Adirondack",
    "ArtL",
    "Jadeplant",
    "Motorcycle",
    "Pipes",
    "Playroom",
    "PlaytableP",
    "Recycle",
    "Vintage",
)
SETS = {
    "A": ["middlebury2001/" + name for name in ("tsukuba", "sawtooth", "venus", "map")],
    "B": ["middlebury-v2/" + name for name in ("tsukuba", "venus", "teddy", "cones")],
    "C": ["middlebury-v3/trainingQ/" + name for name in _PHOTOGRAPHS],
    "indoors": ["middlebury2005/Moebius", "middlebury2006/Aloe", "middlebury2006/Baby1"],
    "kitti2012": ["kitti/training2012"],
    "roads": [
        f"kitti2015/000{n}_10" for n in ("017", "021", "024", "062", "066", "069", "114", "118")
    ],
}
THRESHOLDS = (0.5, 1.0, 2.0, 3.0)
Errors = dict[str, list[float]]
"""By scene: the numbers that stand in the table, or their parts."""


@dataclass(frozen=True)
class Run:
    """A method's errors with one seed by set and scene, or its times."""

    errors: dict[str, Errors] = field(default_factory=dict)
    processor_seconds: dict[str, float] = field(default_factory=dict)
    piano: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """A method with a seed on some sets, and whether its times are measured."""

    method: str
    seed: int
    sets: Sequence[str]
    data: Path | None
    times: bool


def matched(method: str, seed: int, scene: Scene) -> Disparity:
    """Compute a method's map of a scene, with the search of the method's script."""
    overrides = [f"optimization.seed={seed}"] if seed else []
    setting = load(PEERS.get(method, method), overrides=overrides).only
    assert scene.search is not None, "scenes of the data sets have a range"
    search = replace(scene.search, step=setting.search.get("step", scene.search.step))
    estimate: Disparity = setting.pipeline(scene, search).disparity
    return estimate


def draws_random_numbers(method: str) -> bool:
    """Return whether a step of a method has a seed."""
    pipeline = load(PEERS.get(method, method)).only.pipeline
    return any("seed" in step.parameters for _, step in pipeline.stages())


def errors(kind: str, scene: Scene, disparity: Disparity) -> list[float]:
    """Of A the percentages of the scene's columns in Table 5, of B those of three regions, else those above the thresholds."""
    if kind == "A":
        found = evaluate(disparity, scene, "taxonomy2002")
        return [
            float(found[f"bad_pixels_{region}"]) for region in ("nonocc", "textureless", "discont")
        ]
    truth = scene.truth
    assert truth is not None, "all scenes of the sets have one"
    known = np.isfinite(truth)
    # What has no estimate is wrong.
    right = [np.abs(disparity - truth) <= threshold for threshold in THRESHOLDS]
    if kind == "B":
        return [
            100 * float(np.mean(~right[1][known & scene.mask(name)]))
            for name in ("nonocc", "all", "disc")
        ]
    known = known & scene.mask("nonocc") if "nonocc" in scene.masks else known
    return [100 * float(np.mean(~fits[known])) for fits in right]


def rank(found: Errors) -> float:
    """Average over the columns of Table 5 of the rank among its methods."""
    table, ranks = published_table("taxonomy2002", "table5"), []
    for scene, values in found.items():
        for region, value in zip(("nonocc", "textureless", "discont"), values, strict=True):
            column = f"{scene.rpartition('/')[2]}_{region}"
            if column in table.columns:
                others = [row[column] for row in table.rows.values() if row.get(column) is not None]
                ranks.append(1 + sum(other < round(value, 2) for other in others))
    return float(np.mean(ranks))


def measure(job: Job) -> Run:
    """Measure a method's errors on some sets, or its times."""
    matched(job.method, job.seed, load_scene("synthetic/slits"))
    run = Run()
    for kind in job.sets:
        run.errors[kind] = {}
        seconds = 0.0
        for name in SETS[kind]:
            scene = load_scene(name, data=job.data)
            assert scene.match.shape == scene.reference.shape, (
                "images are read before the clock starts"
            )
            bytes_before = _forget_peak_memory()
            start = sum(os.times()[:4])
            disparity = matched(job.method, job.seed, scene)
            seconds += sum(os.times()[:4]) - start
            if job.times and name.endswith("/Piano"):
                run.piano["memory_mib"] = _peak_memory(bytes_before)
                run.piano["seconds"] = min(
                    timeit.repeat(partial(matched, job.method, job.seed, scene), number=1, repeat=3)
                )
            run.errors[kind][name] = errors(kind, scene, disparity)
        if job.times:
            run.processor_seconds[kind] = seconds / len(SETS[kind])
    return run


def _forget_peak_memory() -> int:
    """Reset the peak memory of this process and return the bytes that it holds now."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return held("VmRSS")


def _peak_memory(bytes_before: int) -> int:
    """Return the peak memory in MiB beyond the bytes that were held before."""
    # A peer that is a program has its memory in a process of its own.
    memory_of_programs = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    return max((held("VmHWM") - bytes_before) >> 20, memory_of_programs)


def set_cell(kind: str, by_seed: Iterable[Errors]) -> str:
    """Return the table's cell of a set: the mean over the seeds."""
    runs = list(by_seed)
    if kind == "A":
        return f"{np.mean([rank(errors_by_scene) for errors_by_scene in runs]):.2f}"
    means = np.mean(
        [np.mean(list(errors_by_scene.values()), axis=0) for errors_by_scene in runs], axis=0
    )
    parts = " / ".join(f"{value:.2f}" for value in means)
    return f"{means.mean():.2f} ({parts})" if kind == "B" else parts


def runs_of_method(method: str, arguments: argparse.Namespace) -> list[Run]:
    """Measure a method with each of its seeds, in a process of its own."""
    seeds = range(arguments.seeds if draws_random_numbers(method) else 1)
    jobs = [Job(method, seed, arguments.sets, arguments.data, arguments.times) for seed in seeds]
    # The memory of a new process is the method's.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(measure, jobs)


def print_tables(runs: dict[str, list[Run]], sets: Sequence[str], *, by_scene: bool) -> None:
    """Print a row for each method, and with `by_scene` a row for each method and scene."""
    table = Table("method", *sets, "processor s a scene", "Piano")
    scenes = Table("method", "scene", "errors")
    for method, seeds in runs.items():
        cells = [set_cell(kind, (run.errors[kind] for run in seeds)) for kind in sets]
        processor = " ".join(
            f"{kind} {seconds:.1f}" for kind, seconds in seeds[0].processor_seconds.items()
        )
        piano = ", ".join(f"{value:.2f} {name}" for name, value in seeds[-1].piano.items())
        table.add_row(method, *cells, processor, piano)
        for kind in sets:
            for name in SETS[kind]:
                mean = np.mean([run.errors[kind][name] for run in seeds], axis=0)
                scenes.add_row(method, name, " / ".join(f"{value:.2f}" for value in mean))
    console = Console(width=220)
    console.print(table)
    if by_scene:
        console.print(scenes)


def write_figures(method: str, runs: list[Run], *, times: bool, start: dict[str, Any]) -> None:
    """Store a method's errors or times for the pages, with the load at the start."""
    from counts import add_counts

    command = _command_without_paths()
    if times:
        measured = {"processor_seconds": runs[0].processor_seconds, "piano": runs[0].piano}
        add_counts("quality_times", command, method, {**start, **measured})
    else:
        errors_by_seed = [run.errors for run in runs]
        add_counts(
            "quality",
            command,
            method,
            {**start, "thresholds": THRESHOLDS, "errors_by_seed": errors_by_seed},
        )


def _command_without_paths() -> str:
    """Return the command of this run without ``--data DIR``, which differs by machine."""
    words = sys.argv[1:]
    if "--data" in words:
        place = words.index("--data")
        del words[place : place + 2]
    return " ".join(["python benchmarks/quality.py", *words])


def main() -> None:
    """Print a table of all sets, and store its figures with ``--counts``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--by-scene", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument(
        "--times",
        action="store_true",
        help="measure times and memory, of an otherwise idle machine",
    )
    parser.add_argument("--counts", action="store_true", help="store the figures in docs/counts")
    arguments = parser.parse_args()
    sys.path.append(str(Path(__file__).parents[1] / "scripts"))
    from counts import refuse_busy_machine, start_of_run

    start = start_of_run()
    if arguments.times and arguments.counts:
        refuse_busy_machine(start["machine"])
    runs: dict[str, list[Run]] = {}
    for method in arguments.methods:
        runs[method] = runs_of_method(method, arguments)
        # A run that is stopped has stored the methods before.
        if arguments.counts:
            write_figures(method, runs[method], times=arguments.times, start=start)
    print_tables(runs, arguments.sets, by_scene=arguments.by_scene)


if __name__ == "__main__":
    main()
