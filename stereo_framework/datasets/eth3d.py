"""The two-view scenes of ETH3D (Schoeps et al. 2017): 27 training pairs with truth and 20 test pairs, grey.

The folders are those of the publisher's archives, ``two_view_training/delivery_area_1l`` and ``two_view_test/...``; the truth lies with
the images or below ``two_view_training_gt``, from an archive of its own. Layout: `_calibrated_pair`. The ndisp of these calib.txt files is just
the image width, which is no useful bound; 0..63 pixels are searched, as in studies on this set.
"""

from __future__ import annotations

from pathlib import Path

from stereo_framework.core.scene import Scene, Search
from stereo_framework.datasets import _calibrated_pair

FOLDER = "eth3d"

_FOLDERS = ("two_view_training", "two_view_test", "two_view_testing")
_LEVELS = 64


def scene_names(root: Path) -> tuple[str, ...]:
    """Names of the scenes below a data root, ``two_view_training/delivery_area_1l``."""
    return tuple(f"{folder}/{name}" for folder in _FOLDERS for name in _calibrated_pair.scene_names(root / FOLDER / folder))


def load(root: Path, name: str) -> Scene:
    """Load one of `scene_names`; its calib.txt is read at once, everything else on first use."""
    folder, _, scene = name.partition("/")
    calib, parts = _calibrated_pair.parts(root / FOLDER / name, root / FOLDER / f"{folder}_gt" / scene)
    return Scene(f"{FOLDER}/{name}", search=Search(0, min(calib.ndisp, _LEVELS) - 1), protocol="eth3d", **parts)
