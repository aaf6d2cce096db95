"""KITTI stereo 2012 (Geiger et al. 2012): 194 training pairs with truth and 195 test pairs, grey, or in colour where only that is there.

Layout and encoding: `_kitti`. The mask nonocc is where disp_noc is known.
"""

from __future__ import annotations

from pathlib import Path

from stereo_framework.datasets import _kitti
from stereo_framework.scene import Scene

FOLDER = "kitti2012"

_LAYOUT = _kitti.Layout((("image_0", "image_1", 0, 1), ("colored_0", "colored_1", 2, 3)), "calib", "disp_occ", "disp_noc")


def scene_names(root: Path) -> tuple[str, ...]:
    """Names of the scenes below a data root, ``000000_10``."""
    return _kitti.scene_names(root / FOLDER, _LAYOUT)


def load(root: Path, name: str) -> Scene:
    """One of `scene_names`; its calibration is read, all else on first use."""
    return _kitti.load(root / FOLDER, _LAYOUT, name)
