"""Time and memory on towns of growing size: ``python benchmarks/large.py [METHOD ...] [--sizes 1400x1100x192 ...] [--memory 4] [--threads 2]``.

Ours are ``ssd`` and ``sgm`` beside cv2.StereoSGBM with 5 and with 8 paths on images that are extended to the left, Pandora's chain if PANDORA names its program (see
pandora_sgm.py), and ``copy``, which writes and copies one float32 volume: what no method with a volume can be faster than. All run on the grey pair, once, in a process of their own; compiling does not count. Memory is what the process holds at most beyond
what it held before; Pandora's is that of its own process, which gets 20 GiB of addresses. Ours run as ``match`` runs them: large pairs, and those that would take more than ``--memory`` GiB, in tiles. It needs Linux with glibc.
"""

import argparse
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from methods import held
from pandora_sgm import pandora_sgm
from rich.console import Console
from rich.table import Table

from stereo_framework import StereoFrameworkError, load, load_scene, threads
from stereo_framework.core.pair import Pair
from stereo_framework.engine.tiling import fitted

SIZES = ("450x375x64", "1400x1100x192", "2900x1900x280", "6000x4000x400")
METHODS = ("ssd", "sgm", "sgbm, 5 paths", "sgbm, 8 paths", "pandora", "copy")
SMALL = "200x160x64"
SECONDS = 3600


def method_call(name: str, pair: Pair, most: float) -> tuple[Callable[[], np.ndarray | None], int]:
    """What is timed, and the size of its tiles, 0 without."""
    levels = pair.search.levels
    if name == "copy":
        return lambda: _copied(pair), 0
    if name.startswith("sgbm"):
        mode = cv2.STEREO_SGBM_MODE_SGBM if "5" in name else cv2.STEREO_SGBM_MODE_HH
        wide = -(-levels // 16) * 16
        matcher = cv2.StereoSGBM_create(0, wide, 3, 72, 288, mode=mode)
        return lambda: _beside(matcher, pair, wide), 0
    if name == "pandora":
        return lambda: pandora_sgm(pair.reference, pair.match, pair.search), 0
    method = fitted(load(name).pipeline, pair.shape, pair.search, most)
    tile_size = next((one.parameters["tile_size"] for one in method.in_slot("scheme")), 0)
    return lambda: method(pair).disparity, tile_size


def _beside(matcher: cv2.StereoSGBM, pair: Pair, wide: int) -> np.ndarray:
    """OpenCV's map of images extended to the left, since it leaves out as many columns there as there are disparities."""
    images = [
        cv2.copyMakeBorder(image, 0, 0, wide, 0, cv2.BORDER_REPLICATE)
        for image in (pair.reference, pair.match)
    ]
    return np.asarray(matcher.compute(*images)[:, wide:].astype(np.float32) / 16)


def _copied(pair: Pair) -> None:
    volume = np.zeros((*pair.shape, pair.search.levels), np.float32)
    volume[:] = 1
    volume.copy()


def measure(name: str, size: str, most: float, count: int) -> tuple[float, int, float, int]:
    """Seconds, bytes, bad pixels among the non-occluded ones in percent (NaN of a copy), and the size of the tiles, 0 without."""
    cv2.setNumThreads(count)
    if name == "pandora":
        resource.setrlimit(resource.RLIMIT_AS, (20 * 2**30, 20 * 2**30))
    with threads(count):
        method_call(name, _grey(SMALL)[0], most)[0]()
        pair, truth, nonocc = _grey(size)
        run, parts = method_call(name, pair, most)
        Path("/proc/self/clear_refs").write_text("5")
        before, start = held("VmRSS"), time.perf_counter()
        found = run()
        seconds, taken = time.perf_counter() - start, held("VmHWM") - before
        if name == "pandora":
            taken = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    bad = np.nan if found is None else 100 * (~(np.abs(found - truth) <= 1))[nonocc].mean()
    return seconds, taken, float(bad), parts


def _grey(size: str) -> tuple[Pair, np.ndarray, np.ndarray]:
    scene = load_scene(f"synthetic/large-{size}")
    pair = Pair.of(scene)
    grey = (
        np.ascontiguousarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
        for image in (pair.reference, pair.match)
    )
    return Pair(*grey, pair.search), scene.truth, ~scene.mask("occluded")


def main() -> None:
    """Print one table, line by line as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", help="default: all")
    parser.add_argument("--sizes", nargs="+", default=SIZES)
    parser.add_argument(
        "--memory", type=float, default=4, help="GiB that a method of ours may take"
    )
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    table = Table("size", "method", "tiles", "seconds", "memory, GiB", "bad, %")
    for size in arguments.sizes:
        for name in arguments.methods or [
            name for name in METHODS if name != "pandora" or "PANDORA" in os.environ
        ]:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                asked = pool.apply_async(
                    measure, (name, size, arguments.memory * 2**30, arguments.threads)
                )
                try:
                    seconds, taken, bad, parts = asked.get(SECONDS)
                except (
                    MemoryError,
                    StereoFrameworkError,
                    cv2.error,
                    multiprocessing.TimeoutError,
                ) as error:
                    row = [size, name, "", "", "", f"{type(error).__name__}"]
                else:
                    row = [
                        size,
                        name,
                        str(parts or ""),
                        f"{seconds:.2f}",
                        f"{taken / 2**30:.2f}",
                        f"{bad:.1f}",
                    ]
            table.add_row(*row)
            print(*row, sep="\t", flush=True)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
