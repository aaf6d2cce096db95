"""The two-view scenes of ETH3D (Schoeps et al. 2017): 27 training pairs with truth and 20 test pairs, grey.

The folders are those of the publisher's archives, ``two_view_training/delivery_area_1l`` and ``two_view_test/...``; the truth lies with
the images or below ``two_view_training_gt``, from an archive of its own. The ndisp of these calib.txt files is just the image width, which is no
useful bound; 0..63 pixels are searched, as in studies on this set.
"""

from __future__ import annotations

from pathlib import Path

from stereo_framework.core.scene import Scene, Search
from stereo_framework.datasets._calibrated_pair import calibrated_pair, names_below
from stereo_framework.datasets.dataset import dataset

_LEVELS = 64


@dataset("eth3d", names=names_below(("two_view_training", "two_view_test", "two_view_testing")), protocol="eth3d")
def eth3d(folder: Path, name: str) -> Scene:
    """A scene by its name, ``two_view_training/delivery_area_1l``; its calib.txt is read at once, everything else on first use."""
    part, _, scene = name.partition("/")
    ndisp, fields = calibrated_pair(folder / name, folder / f"{part}_gt" / scene)
    return Scene(name, search=Search(0, min(ndisp, _LEVELS) - 1), **fields)
