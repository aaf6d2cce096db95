"""The Middlebury benchmark, version 3: 15 training scenes with truth and 15 test scenes, in three sizes.

The folders are those of the publisher's archives: ``trainingQ/Pipes`` and ``testQ/Hoops`` in quarter size, H for half, F for full size. Other
illuminations and exposures are scenes of their own (ArtL, MotorcycleE). Layout: `_calibrated_pair`. The search range is
0..ndisp-1 of calib.txt. Cite Scharstein et al. 2014.
"""

from __future__ import annotations

from pathlib import Path

from stereo_framework.core.scene import Scene, Search
from stereo_framework.datasets import _calibrated_pair

FOLDER = "middlebury-v3"

_REDUCTIONS = {"Q": 4, "H": 2, "F": 1}
_HALF_WEIGHT = (
    *("PianoL", "Playroom", "Playtable", "Shelves", "Vintage"),
    *("ClassE", "DjembL", "Hoops", "Livgrm", "Nkuba", "Stairs"),
)
"""The scenes that count half in the benchmark's averages, training and test."""


def scene_names(root: Path) -> tuple[str, ...]:
    """Names of the scenes below a data root, ``trainingQ/Pipes``."""
    folders = [f"{part}{size}" for part in ("training", "test") for size in _REDUCTIONS]
    return tuple(f"{folder}/{name}" for folder in folders for name in _calibrated_pair.scene_names(root / FOLDER / folder))


def load(root: Path, name: str) -> Scene:
    """Load one of `scene_names`; its calib.txt is read at once, everything else on first use."""
    folder, _, scene = name.partition("/")
    calib, parts = _calibrated_pair.parts(root / FOLDER / name)
    return Scene(
        f"{FOLDER}/{name}",
        search=Search(0, calib.ndisp - 1),
        protocol="middlebury-v3",
        reduction=_REDUCTIONS[folder[-1]],
        weight=0.5 if scene in _HALF_WEIGHT else 1.0,
        **parts,
    )
