"""What the KITTI stereo sets of 2012 and 2015 share.

Folders as in the publisher's archives: ``training/image_2/000000_10.png`` and its like; only frames _10 have a truth. Truth is
disp_occ, that of the non-occluded pixels alone disp_noc: 16-bit PNG, grey / 256, 0 = unknown. The publisher bounds disparities
by 256 pixels and nothing bounds them better, so 0..255 are searched. Calibrations come in an archive of their own, with depths
in metres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from stereo_framework.io import read_disparity, read_image, read_kitti_calibration
from stereo_framework.scene import Frame, Mask, Scene, Search

_TESTING = "testing/"


@dataclass(frozen=True)
class Layout:
    """The folders of one of the sets.

    Parameters
    ----------
    cameras : sequence of (str, str, int, int)
        Folders of the left and right images with the numbers of their cameras; the first pair that is there is taken.
    calibration, truth, visible_truth : str
        Folders of the calibrations and of the truths of all and of the non-occluded pixels.
    """

    cameras: Sequence[tuple[str, str, int, int]]
    calibration: str
    truth: str
    visible_truth: str


def scene_names(folder: Path, layout: Layout) -> tuple[str, ...]:
    """``000000_10`` and so on of the training pairs, ``testing/000000_10`` of the others."""
    found: list[str] = []
    for prefix, part in (("", "training"), (_TESTING, "testing")):
        stems = {image.stem for left, *_ in layout.cameras for image in (folder / part / left).glob("*_10.png")}
        found += [prefix + stem for stem in sorted(stems)]
    return tuple(found)


def load(folder: Path, layout: Layout, name: str) -> Scene:
    """One of `scene_names`; its calibration is read, all else on first use."""
    part, file = place(folder, name)
    left, right, *cameras = next(c for c in layout.cameras if (part / c[0] / file).is_file())
    truth, visible = part / layout.truth / file, part / layout.visible_truth / file
    calibration = part / layout.calibration / f"{file.partition('_')[0]}.txt"
    return Scene(
        f"{folder.name}/{name}",
        tuple(Frame(f"{images}/{file}", partial(read_image, part / images / file), i) for i, images in enumerate((left, right))),
        search=Search(0, 255),
        truths={(0, 1): partial(read_disparity, truth)} if truth.is_file() else {},
        masks={"nonocc": partial(known, visible)} if visible.is_file() else {},
        calibration=read_kitti_calibration(calibration, *cameras) if calibration.is_file() else None,
        protocol=folder.name,
    )


def place(folder: Path, name: str) -> tuple[Path, str]:
    """The folder ``training`` or ``testing``, and the file name that a scene's name stands for."""
    part = "testing" if name.startswith(_TESTING) else "training"
    return folder / part, f"{name.removeprefix(_TESTING)}.png"


def known(truth: Path) -> Mask:
    """Where a truth is known."""
    return np.isfinite(read_disparity(truth))
