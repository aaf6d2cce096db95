"""The five methods at all their settings on the six scenes."""

from __future__ import annotations

from dataclasses import replace

from stereo_framework.papers.paper import Context, short
from stereo_framework.sweep import Result
from stereo_framework.tables.boundary import Boundary, boundary

METHODS = {"csm": "CSM", "gc": "GC", "dp": "DP", "stratified": "SDM", "bp": "BP"}
"""Our methods, each with the script ``configs/boundary2007/NAME_grid.yaml``, and the rows of the paper."""

SCENES = {"tsukuba": "Tsukuba", "teddy": "Teddy", "cones": "Cones", "venus": "Venus", "stripes": "Stripes", "slits": "Slits"}
"""The last parts of our scenes' names, with the columns of the paper."""

_QUICK = {
    "csm": ["optimization.alpha=0"],
    "stratified": ["optimization.alpha=0"],
    "gc": ["optimization.weight=30", "sweep.grid.optimization.occlusion_cost=[20, 60, 140]"],
    "bp": ["smoothness.weight=25", "smoothness.gradient_threshold=4", "sweep.grid.smoothness.gradient_penalty=[1, 2]"],
}
"""Settings that take only seconds: one line of most grids."""


def results(context: Context) -> list[Result]:
    """All runs of all methods."""
    return [r for name in METHODS for r in context.run(f"{name}_grid", overrides=_QUICK.get(name, []) if context.quick else [])]


def measured(context: Context) -> Boundary:
    """All settings' rates by scene and method, scenes by the last part of their names, and their means over the scenes."""
    return boundary([replace(r, scene=short(r.scene)) for r in results(context)], drop_incomplete=True)
