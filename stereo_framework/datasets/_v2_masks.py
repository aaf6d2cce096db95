"""Masks of the Middlebury benchmark, version 2. A mask pixel counts only when it is 255."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from stereo_framework.io import read_mask
from stereo_framework.scene import Mask

FOLDER = "middlebury-v2"


def found(root: Path, name: str) -> bool:
    """Whether a data root holds the masks of a scene."""
    return (root / FOLDER / "masks" / name).is_dir()


def masks(root: Path, name: str) -> dict[str, Callable[[], Mask]]:
    """Loaders of a scene's masks by name; empty where the data root has none."""
    if not found(root, name):
        return {}
    return {mask: partial(read_mask, root / FOLDER / "masks" / name / f"{mask}.png") for mask in ("nonocc", "all", "disc")}
