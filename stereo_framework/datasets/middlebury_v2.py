"""The Middlebury benchmark, version 2: tsukuba, venus, teddy and cones with its masks nonocc, all and disc.

The images are those of middlebury2001 and middlebury2003; the truth is the benchmark's own, which says 0 = unknown. A mask
pixel counts only when it is 255. The masks leave the border out, so the scenes have none of their own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from stereo_framework.datasets import middlebury2001, middlebury2003
from stereo_framework.io import read_disparity, read_mask
from stereo_framework.scene import Scene

FOLDER = "middlebury-v2"
_SCALES = {"cones": 4, "teddy": 4, "tsukuba": 16, "venus": 8}
_MASKS = ("nonocc", "all", "disc")


def scene_names(root: Path) -> tuple[str, ...]:
    """Names of the scenes whose images and masks both exist below a data root."""
    images = middlebury2001.scene_names(root) + middlebury2003.scene_names(root)
    return tuple(name for name in _SCALES if name in images and (root / FOLDER / "masks" / name).is_dir())


def load(root: Path, name: str) -> Scene:
    """One of `scene_names`; its files load on first use."""
    source = middlebury2001 if name in middlebury2001.scene_names(root) else middlebury2003
    scene = source.load(root, name)
    folder = root / FOLDER / "masks" / name
    truth = partial(read_disparity, folder / "groundtruth.png", scale=_SCALES[name])
    return replace(
        scene,
        name=f"{FOLDER}/{name}",
        truths={**scene.truths, (scene.reference_index, scene.match_index): truth},
        masks={mask: partial(read_mask, folder / f"{mask}.png") for mask in _MASKS},
        border=0,
        protocol="middlebury-v2",
    )
