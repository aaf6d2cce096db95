"""The Middlebury scenes of 2006: Aloe, Baby1 .. 3, Bowling1 and 2, Cloth1 .. 4 and eleven more.

Cite Hirschmueller & Scharstein 2007; Scharstein & Pal 2007. Layout and encoding: `_structured_light`.
"""

from __future__ import annotations

from pathlib import Path

from stereo_framework.datasets import _structured_light
from stereo_framework.scene import Scene

FOLDER = "middlebury2006"


def scene_names(root: Path) -> tuple[str, ...]:
    """Names of the scenes below a data root, ``Aloe`` or ``HalfSize/Aloe``."""
    return _structured_light.scene_names(root / FOLDER)


def load(root: Path, name: str) -> Scene:
    """One of `scene_names`; its files load on first use."""
    return _structured_light.load(root / FOLDER, FOLDER, name)
