"""Errors of whole methods on all sets of real scenes, in one run: ``python benchmarks/quality.py [METHOD ...] [--sets A B C ...] [--seeds 3] [--data DIR]``.

A method is a shipped script or a file. ``sgbm`` and ``hh`` are cv2.StereoSGBM with five and with eight paths on images that are extended to the left, and ``pandora`` is Pandora's
chain if PANDORA names its program (see pandora_sgm.py); all three are filled from the background of the row, so that all maps are dense.

A: average rank among the twenty methods of Table 5 in Scharstein & Szeliski 2002. B: the mean of the twelve percentages of Middlebury's second evaluation. C: ten photographs
of its third one; roads: eight pairs of KITTI 2015; kitti2012: the pair of its kit; indoors: Moebius, Aloe, Baby1. These four: percent of the pixels with truth (of C: of the visible ones,
of which its data set has a mask) off by more than 0.5, 1, 2 and 3 pixels. Methods that draw random numbers run with several seeds, of which the mean is shown. Processor time is
that of all threads, a peer's own program among them; wall-clock time, the least of three, and memory, beyond what the process held before, are those of Piano. The machine should have nothing else to do where seconds are to mean something.
"""

import argparse
import ctypes
import multiprocessing
import os
import resource
import timeit
from collections.abc import Iterable, Sequence
from dataclasses import replace
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
_PHOTOGRAPHS = ("Piano", "Adirondack", "ArtL", "Jadeplant", "Motorcycle", "Pipes", "Playroom", "PlaytableP", "Recycle", "Vintage")
SETS = {
    "A": ["middlebury2001/" + name for name in ("tsukuba", "sawtooth", "venus", "map")],
    "B": ["middlebury-v2/" + name for name in ("tsukuba", "venus", "teddy", "cones")],
    "C": ["middlebury-v3/trainingQ/" + name for name in _PHOTOGRAPHS],
    "indoors": ["middlebury2005/Moebius", "middlebury2006/Aloe", "middlebury2006/Baby1"],
    "kitti2012": ["kitti/training2012"],
    "roads": [f"kitti2015/000{n}_10" for n in ("017", "021", "024", "062", "066", "069", "114", "118")],
}
THRESHOLDS = (0.5, 1.0, 2.0, 3.0)
Errors = dict[str, list[float]]
"""By scene: the numbers that stand in the table, or their parts."""


def matched(method: str, seed: int, scene: Scene) -> Disparity:
    """A method's map of a scene, with the search of the method's script."""
    setting = load(PEERS.get(method, method)).only
    if any("seed" in bound.parameters for _, bound in setting.pipeline.own_stages()):
        setting = load(PEERS.get(method, method), overrides=[f"optimization.seed={seed}"]).only if seed else setting
    assert scene.search is not None, "scenes of the data sets have a range"
    search = replace(scene.search, step=setting.search.get("step", scene.search.step))
    found: Disparity = setting.pipeline(scene, search).disparity
    return found


def errors(kind: str, scene: Scene, disparity: Disparity) -> list[float]:
    """Of A the percentages of the scene's columns in Table 5, of B those of three regions, else those above the thresholds."""
    if kind == "A":
        found = evaluate(disparity, scene, "taxonomy2002")
        return [float(found[f"bad_pixels_{region}"]) for region in ("nonocc", "textureless", "discont")]
    truth = scene.truth
    assert truth is not None, "all scenes of the sets have one"
    known = np.isfinite(truth)
    # What has no estimate is wrong.
    right = [np.abs(disparity - truth) <= threshold for threshold in THRESHOLDS]
    if kind == "B":
        return [100 * float(np.mean(~right[1][known & scene.mask(name)])) for name in ("nonocc", "all", "disc")]
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


def measure(task: tuple[str, int, Sequence[str], Path | None]) -> tuple[dict[str, Errors], dict[str, float], str]:
    """A method's errors by set and scene with one seed, its processor seconds a scene by set, and what Piano took."""
    method, seed, sets, data = task
    matched(method, seed, load_scene("synthetic/slits"))
    found: dict[str, Errors] = {}
    processor, piano = {}, ""
    for kind in sets:
        found[kind], spent = {}, 0.0
        for name in SETS[kind]:
            scene = load_scene(name, data=data)
            assert scene.match.shape == scene.reference.shape, "images are read before the clock starts"
            ctypes.CDLL(None).malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")
            before, start = held("VmRSS"), sum(os.times()[:4])
            disparity = matched(method, seed, scene)
            spent += sum(os.times()[:4]) - start
            if name.endswith("/Piano"):
                # A program of its own has all its memory for itself.
                others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
                memory = max((held("VmHWM") - before) >> 20, others)
                wall = min(timeit.repeat(lambda scene=scene: matched(method, seed, scene), number=1, repeat=3))
                piano = f"{wall:.2f} s, {memory} MiB"
            found[kind][name] = errors(kind, scene, disparity)
        processor[kind] = spent / len(SETS[kind])
    return found, processor, piano


def spelled(kind: str, seeds: Iterable[Errors]) -> str:
    """The cell of a set: the mean over the seeds."""
    seeds = list(seeds)
    if kind == "A":
        return f"{np.mean([rank(found) for found in seeds]):.2f}"
    means = np.mean([np.mean(list(found.values()), axis=0) for found in seeds], axis=0)
    parts = " / ".join(f"{value:.2f}" for value in means)
    return f"{means.mean():.2f} ({parts})" if kind == "B" else parts


def main() -> None:
    """Print a table of all sets, and one by scene of a set asked for with ``--by-scene``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--by-scene", action="store_true")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    table = Table("method", *arguments.sets, "processor s a scene", "Piano")
    scenes = Table("method", "scene", "errors")
    for method in arguments.methods:
        # A process of its own, so that the memory is the method's.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found = pool.map(measure, [(method, seed, arguments.sets, arguments.data) for seed in range(arguments.seeds)])
        cells = [spelled(kind, (seed[0][kind] for seed in found)) for kind in arguments.sets]
        table.add_row(method, *cells, " ".join(f"{k} {v:.1f}" for k, v in found[0][1].items()), found[-1][2])
        for kind in arguments.sets:
            for name in SETS[kind]:
                mean = np.mean([seed[0][kind][name] for seed in found], axis=0)
                scenes.add_row(method, name, " / ".join(f"{value:.2f}" for value in mean))
    console = Console(width=220)
    console.print(table)
    if arguments.by_scene:
        console.print(scenes)


if __name__ == "__main__":
    main()
