"""The scenes of Scharstein & Szeliski (2003) in quarter size: teddy and cones.

Frames im0.png .. im8.png as far as present, reference im2, match im6. Disparities are grey / 4, 0 = unknown.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from stereo_framework.datasets import _v2_masks
from stereo_framework.io import read_disparity, read_image
from stereo_framework.scene import Frame, Scene, Search

FOLDER = "middlebury2003"
_NAMES = ("cones", "teddy")


def scene_names(root: Path) -> tuple[str, ...]:
    """Names of the scenes whose folders exist below a data root."""
    return tuple(name for name in _NAMES if (root / FOLDER / name).is_dir())


def load(root: Path, name: str) -> Scene:
    """One of `scene_names`; its files load on first use."""
    folder = root / FOLDER / name
    views = [i for i in range(9) if i in (2, 6) or (folder / f"im{i}.png").is_file()]
    reference, match = views.index(2), views.index(6)
    return Scene(
        f"{FOLDER}/{name}",
        tuple(Frame(f"im{i}.png", partial(read_image, folder / f"im{i}.png"), i) for i in views),
        reference,
        match,
        Search(0, 59),
        {
            (reference, match): partial(read_disparity, folder / "disp2.png", scale=4),
            (match, reference): partial(read_disparity, folder / "disp6.png", scale=4),
        },
        _v2_masks.masks(root, name),
        grey_levels=4,
    )
