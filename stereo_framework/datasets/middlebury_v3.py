"""The Middlebury benchmark, version 3: 15 training scenes with truth and 15 test scenes, in three sizes.

The folders are those of the publisher's archives: ``trainingQ/Pipes`` and ``testQ/Hoops`` in quarter size, H for half, F for full size. Other
illuminations and exposures are scenes of their own (ArtL, MotorcycleE). The search range is 0..ndisp-1 of calib.txt. Cite Scharstein et al. 2014.
"""

from __future__ import annotations

from pathlib import Path

from stereo_framework.core.scene import Scene, Search
from stereo_framework.datasets._calibrated_pair import calibrated_pair, names_below
from stereo_framework.datasets.dataset import dataset

_REDUCTIONS = {"Q": 4, "H": 2, "F": 1}
_HALF_WEIGHT = (
    *("PianoL", "Playroom", "Playtable", "Shelves", "Vintage"),
    *("ClassE", "DjembL", "Hoops", "Livgrm", "Nkuba", "Stairs"),
)
"""The scenes that count half in the benchmark's averages, training and test."""


@dataset(
    "middlebury-v3",
    names=names_below(f"{part}{size}" for part in ("training", "test") for size in _REDUCTIONS),
    protocol="middlebury-v3",
)
def middlebury_v3(folder: Path, name: str) -> Scene:
    """A scene by its name, ``trainingQ/Pipes``; its calib.txt is read at once, everything else on first use."""
    part, _, scene = name.partition("/")
    ndisp, fields = calibrated_pair(folder / name)
    weight = 0.5 if scene in _HALF_WEIGHT else 1.0
    return Scene(name, search=Search(0, ndisp - 1), reduction=_REDUCTIONS[part[-1]], weight=weight, **fields)
