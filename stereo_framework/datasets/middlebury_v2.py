"""The Middlebury benchmark, version 2: tsukuba, venus, teddy and cones with its masks nonocc, all and disc.

Images and truth are those of middlebury2001 and middlebury2003, whose scenes also get the masks if these are found. The masks leave out the
border, so these scenes have no border of their own.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stereo_framework.core.scene import Scene
from stereo_framework.datasets.listed import MASKS, MIDDLEBURY_2001, MIDDLEBURY_2003

FOLDER = "middlebury-v2"
_NAMES = ("cones", "teddy", "tsukuba", "venus")


def scene_names(root: Path) -> tuple[str, ...]:
    """Names of the scenes whose images and masks both exist below a data root."""
    images = MIDDLEBURY_2001.scene_names(root) + MIDDLEBURY_2003.scene_names(root)
    return tuple(name for name in _NAMES if name in images and (root / MASKS / name).is_dir())


def load(root: Path, name: str) -> Scene:
    """Load one of `scene_names`; its files are read on first use."""
    source = MIDDLEBURY_2001 if name in MIDDLEBURY_2001.scene_names(root) else MIDDLEBURY_2003
    return replace(source.load(root, name), name=f"{FOLDER}/{name}", border=0, protocol="middlebury-v2")
