"""The five methods at all their settings on the six scenes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.datasets import load_scene
from stereo_framework.papers.paper import Context
from stereo_framework.scene import Disparity, Frame, Image, Scene
from stereo_framework.script import load
from stereo_framework.sweep import Result
from stereo_framework.tables.boundary import Boundary, boundary

METHODS = {"csm": "CSM", "gc": "GC", "dp": "DP", "stratified": "SDM", "bp": "BP"}
"""Ours, each by the script ``configs/boundary2007/NAME_grid.yaml``, and the rows of the paper."""

SCENES = {"tsukuba": "Tsukuba", "teddy": "Teddy", "cones": "Cones", "venus": "Venus", "stripes": "Stripes", "slits": "Slits"}
"""Last parts of our scenes' names, and the columns of the paper."""

HALVED = ("teddy", "cones")
"""Where graph cuts with occlusions take too long for all their settings: they get these scenes at half size, unless all is wanted in full."""

_HALF = " at half size"

_QUICK = {
    "csm": ["optimization.alpha=0"],
    "stratified": ["optimization.alpha=0"],
    "gc": ["optimization.weight=30", "sweep.grid.optimization.occlusion_cost=[20, 60, 140]"],
    "bp": ["smoothness.weight=25", "smoothness.gradient_threshold=4", "sweep.grid.smoothness.gradient_penalty=[1, 2]"],
}
"""What takes seconds: one line of most grids."""


def results(context: Context) -> list[Result]:
    """All runs of all methods; those on scenes at half size say so by the scene's name."""
    return [r for name in METHODS for r in _of_method(context, name)]


def measured(context: Context) -> Boundary:
    """All settings' rates by scene and method, scenes by the last part of their names, and their means over the scenes."""
    return boundary([replace(r, scene=short(r.scene)) for r in results(context)], drop_incomplete=True)


def short(scene: str) -> str:
    """The last part of a scene's name, of whatever size."""
    return scene.rpartition("/")[2].removesuffix(_HALF)


def _of_method(context: Context, name: str) -> list[Result]:
    script, overrides = f"{name}_grid", _QUICK.get(name, []) if context.quick else []
    scenes: list[str | Scene] = list(load(f"boundary2007/{script}").scenes)
    if name == "gc" and not context.full:
        there = context.available(HALVED)
        scenes = [half_size(load_scene(s, data=context.data)) if s in there else s for s in scenes if isinstance(s, str)]
    return context.run(script, overrides=overrides, scenes=scenes)


def half_size(scene: Scene) -> Scene:
    """A scene at half its size: means of two by two pixels; of the truth one of these four, halved."""
    return replace(
        scene,
        name=scene.name + _HALF,
        frames=tuple(Frame(frame.name, _halved(frame.load, _half_image), frame.position) for frame in scene.frames),
        search=None,
        truths={pair: _halved(truth, _half_truth) for pair, truth in scene.truths.items()},
        masks={},
        border=scene.border // 2,
        reduction=2 * scene.reduction,
    )


def _halved(load: Callable[[], NDArray], half: Callable[[NDArray], NDArray]) -> Callable[[], NDArray]:
    return lambda: half(load())


def _half_image(image: Image) -> Image:
    rows, columns = (n // 2 for n in image.shape[:2])
    blocks = image[: 2 * rows, : 2 * columns].reshape(rows, 2, columns, 2, *image.shape[2:])
    return blocks.mean(axis=(1, 3), dtype=np.float32)


def _half_truth(truth: Disparity) -> Disparity:
    rows, columns = (n // 2 for n in truth.shape)
    return np.ascontiguousarray(truth[: 2 * rows : 2, : 2 * columns : 2] / np.float32(2))
