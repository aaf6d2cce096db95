"""The Middlebury scenes of 2005: Art, Books, Dolls, Laundry, Moebius and Reindeer; without truth: Computer, Drumsticks and Dwarves.

Cite Scharstein & Pal 2007; Hirschmueller & Scharstein 2007. Layout and encoding: `_structured_light`.
"""

from __future__ import annotations

from pathlib import Path

from stereo_framework.datasets import _structured_light
from stereo_framework.scene import Scene

FOLDER = "middlebury2005"


def scene_names(root: Path) -> tuple[str, ...]:
    """Names of the scenes below a data root, ``Art`` or ``HalfSize/Art``."""
    return _structured_light.scene_names(root / FOLDER)


def load(root: Path, name: str) -> Scene:
    """One of `scene_names`; its files load on first use."""
    return _structured_light.load(root / FOLDER, FOLDER, name)
