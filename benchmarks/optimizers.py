"""Time the iterative aggregations and the optimizers on one pair: ``python benchmarks/optimizers.py [SCENE] [--data DIR]``.

Graph cuts are measured beside gco-wrapper in the same run where it is installed (extra ``bench``), also until their energy lies within 1 % of the lower
bound that `trw_s` finds; for the rest the times of the original 2002 program on tsukuba are given, with the time of cv2.boxFilter on that machine and on this one to compare the two.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from rich.console import Console
from rich.table import Table

from stereo_framework import Energy, Labeling, Smoothness, load_scene, threads
from stereo_framework.aggregation import bayesian_diffusion, membrane_diffusion
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import (
    belief_propagation,
    dynamic_programming,
    graph_cut,
    graph_cut_occlusion,
    icm,
    scanline_optimization,
    simulated_annealing,
    trw_s,
)
from stereo_framework.smoothness import potts

WEIGHT = 20
ORIGINAL = {"SO": 14.4, "DP": 15.1, "Bayesian, 10 steps": 184, "SA, 10 sweeps": 274, "swap": 2800}
"""Milliseconds of the original program on tsukuba (levels 0..15), built with -O3 for an AVX-512 x86-64, one thread."""

BOX_THERE = 1.7
"""Milliseconds of sixteen 21x21 cv2.boxFilter of 384x288 float32 on that machine."""


def seconds(call: Callable[[], object], repeat: int = 2) -> tuple[float, object]:
    """Shortest of some repetitions, and the last result; a first call, which compiles, does not count."""
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return min(times), result


def gco(
    costs: np.ndarray, smoothness: Smoothness, algorithm: str, cycles: int = -1
) -> np.ndarray | None:
    """Levels of gco's swap or expansion for Potts weights, after some cycles or at the end; None where gco is not installed."""
    try:
        from gco import cut_grid_graph
    except ImportError:
        return None
    # Absolute differences and the weight are whole numbers; gco would scale floats until they overflow.
    pairwise = 1 - np.eye(costs.shape[2], dtype=np.int32)
    vertical, horizontal = (
        smoothness.down[:-1].astype(np.int32),
        smoothness.right[:, :-1].astype(np.int32),
    )
    labels = cut_grid_graph(
        costs.astype(np.int32), pairwise, vertical, horizontal, n_iter=cycles, algorithm=algorithm
    )
    return labels.reshape(costs.shape[:2]).astype(np.int16)


def near(energy: Energy, name: str, result: object, limit: float) -> str:
    """Milliseconds, on one thread, until the energy is no higher than a limit; empty where it never is, or nobody knows."""
    if isinstance(result, Labeling):
        return next((f"{point[0] * 1e3:.0f}" for point in result.trace if point[1] <= limit), "")
    for cycles in (1, 2, 3, 4, 5) if result is not None and name.startswith("gco") else ():
        start = time.perf_counter()
        labels = gco(energy.volume.costs, energy.smoothness, name.removeprefix("gco "), cycles)
        spent = time.perf_counter() - start
        if energy.of(labels) <= limit:
            return f"{spent * 1e3:.0f}"
    return ""


def box_here() -> float:
    """`BOX_THERE` on this machine."""
    cv2.setNumThreads(1)
    image, out = (
        np.random.default_rng(0).random((288, 384), np.float32),
        np.empty((288, 384), np.float32),
    )

    def boxes() -> None:
        for _ in range(16):
            cv2.boxFilter(image, -1, (21, 21), dst=out, borderType=cv2.BORDER_REPLICATE)

    return seconds(boxes, 20)[0] * 1e3


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scene", nargs="?", default="tsukuba")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    scene = load_scene(arguments.scene, data=arguments.data)
    volume = absolute_difference(scene.reference, scene.match, scene.search)
    energy = Energy(volume, potts(scene.reference, scene.search, weight=WEIGHT))
    calls: dict[str, Callable[[], object]] = {
        "membrane, 10 steps": lambda: membrane_diffusion(volume, iterations=10),
        "Bayesian, 10 steps": lambda: bayesian_diffusion(volume, iterations=10),
        "SO": lambda: scanline_optimization(energy.volume, energy.smoothness),
        "DP": lambda: dynamic_programming(energy.volume, energy.smoothness),
        "SA, 10 sweeps": lambda: simulated_annealing(
            energy.volume, energy.smoothness, iterations=10, start_temperature=200.0
        ),
        "SA, checkerboard": lambda: simulated_annealing(
            energy.volume,
            energy.smoothness,
            iterations=10,
            start_temperature=200.0,
            order="checkerboard",
        ),
        "BP, 10 sweeps": lambda: belief_propagation(
            energy.volume, energy.smoothness, iterations=10
        ),
        "BP, 10 exchanges": lambda: belief_propagation(
            energy.volume, energy.smoothness, schedule="synchronous", iterations=10
        ),
        "BP, 10 there and back": lambda: belief_propagation(
            energy.volume, energy.smoothness, schedule="sequential", iterations=10
        ),
        "TRW-S, 10 there and back": lambda: trw_s(energy.volume, energy.smoothness, iterations=10),
        "ICM": lambda: icm(energy.volume, energy.smoothness),
        "swap": lambda: graph_cut(energy.volume, energy.smoothness, move="swap", order="fixed"),
        "expansion": lambda: graph_cut(
            energy.volume, energy.smoothness, move="expansion", order="fixed"
        ),
        "GC + occlusions": lambda: graph_cut_occlusion(
            volume, scene.reference, scene.match, order="fixed"
        ),
        "gco swap": lambda: gco(volume.costs, energy.smoothness, "swap"),
        "gco expansion": lambda: gco(volume.costs, energy.smoothness, "expansion"),
    }
    limit = 1.01 * trw_s(energy.volume, energy.smoothness, iterations=200).lower_bound
    table = Table(
        "what",
        "1 thread, ms",
        "2 threads, ms",
        "within 1 %, ms",
        "original, ms",
        "energy",
        title=f"{scene.name}, Potts weight {WEIGHT}",
    )
    for name, call in calls.items():
        times = []
        for count in (2, 1):
            with threads(count):
                best, result = seconds(call)
                times.insert(0, f"{best * 1e3:.1f}")
        times.append(near(energy, name, result, limit))
        labels = (
            result.levels
            if isinstance(result, Labeling)
            else result
            if name.startswith("gco")
            else None
        )
        if name.startswith("gco") and labels is None:
            times = ["not installed", "", ""]
        value = "" if labels is None else f"{energy.of(labels):.0f}"
        table.add_row(name, *times, f"{ORIGINAL[name]:g}" if name in ORIGINAL else "", value)
    console = Console(width=110)
    console.print(table)
    console.print(
        f"cv2.boxFilter: {box_here():.2f} ms here, {BOX_THERE} ms on the machine of the original's times"
    )


if __name__ == "__main__":
    main()
