"""One pair of KITTI stereo 2012 as code for it carries it along: kittiL.png and kittiR.png, and the truth of 000000_10.

The truth is that of all pixels, disp_occ; there is neither that of the non-occluded ones nor a calibration. Disparities lie in
0..127.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from stereo_framework.io import read_disparity, read_image
from stereo_framework.scene import Frame, Scene, Search

FOLDER = "kitti"

_SCENE = "training2012"
_IMAGES = ("kittiL.png", "kittiR.png")


def scene_names(root: Path) -> tuple[str, ...]:
    """The one scene, if a data root has it."""
    return (_SCENE,) if (root / FOLDER / _SCENE / _IMAGES[0]).is_file() else ()


def load(root: Path, name: str) -> Scene:
    """One of `scene_names`; its files load on first use."""
    folder = root / FOLDER / name
    return Scene(
        f"{FOLDER}/{name}",
        tuple(Frame(file, partial(read_image, folder / file), i) for i, file in enumerate(_IMAGES)),
        search=Search(0, 127),
        truths={(0, 1): partial(read_disparity, folder / "gt" / "000000_10.png")},
        protocol="kitti2012",
    )
