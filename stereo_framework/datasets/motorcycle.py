"""The pair that scikit-image gives away: Motorcycle of Scharstein et al. 2014 in a quarter of its size, with truth.

Its calibration is that of the documentation of `skimage.data.stereo_motorcycle`, baseline in mm.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from stereo_framework.io import read_disparity, read_image
from stereo_framework.scene import Calibration, Frame, Scene, Search

FOLDER = "motorcycle"

_IMAGES = ("motorcycle_left.png", "motorcycle_right.png")


def scene_names(root: Path) -> tuple[str, ...]:
    """The one scene, if a data root has it."""
    return (FOLDER,) if (root / FOLDER / _IMAGES[0]).is_file() else ()


def load(root: Path, name: str) -> Scene:
    """One of `scene_names`; its files load on first use."""
    folder = root / FOLDER
    return Scene(
        f"{FOLDER}/{name}",
        tuple(Frame(file, partial(read_image, folder / file), i) for i, file in enumerate(_IMAGES)),
        search=Search(0, 69),
        truths={(0, 1): partial(read_disparity, folder / "motorcycle_disp.npz")},
        calibration=Calibration(994.978, 193.001, 31.086),
        reduction=4,
    )
