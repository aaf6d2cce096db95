"""The judges of our own checks, by their names in ``paper.yaml``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from stereo_framework.papers.claim import Cases

Energies = Mapping[str, Mapping[str, float]]
"""Energies by scene and by optimizer, ``truth`` or ``lower bound``."""


def bound_is_below(found: Energies) -> Cases:
    for scene, energies in found.items():
        if "lower bound" in energies:
            lowest, name = min((e, name) for name, e in energies.items() if name != "lower bound")
            yield f"{scene}: bound {energies['lower bound']:.0f}, {name} {lowest:.0f}", energies["lower bound"] <= lowest


def truth_costs_more(found: Energies) -> Cases:
    for scene, energies in found.items():
        optimized = [e for name, e in energies.items() if name not in ("lower bound", "truth")]
        if "truth" in energies and optimized:
            yield f"{scene}: {energies['truth'] / min(optimized):.2f} times", energies["truth"] > min(optimized)


def lower_energy_fewer_errors(points: Mapping[str, Mapping[str, tuple[float, float]]]) -> Cases:
    """By scene and optimizer energy and share of errors."""
    for scene, own in points.items():
        for (a, (low, error)), (b, (high, other)) in itertools.combinations(sorted(own.items(), key=lambda p: p[1]), 2):
            yield f"{scene}: {a} {error:.2f} %, {b} {other:.2f} %", low == high or error < other
