"""Two benchmarks with one folder layout: version 3 of the Middlebury benchmark, and the two-view scenes of ETH3D.

Each scene has a folder with im0.png, im1.png and calib.txt, and, where known, disp0GT.pfm and mask0nocc.png, in which 255 marks pixels that
count. The truth of im1 is disp1GT.pfm; other downloads of the same scenes call the truths disp0.pfm and disp1.pfm. A scene's calib.txt is read at once,
everything else on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from stereo_framework.core.scene import Scene, Search
from stereo_framework.datasets.dataset import dataset, frames_of, truths_of
from stereo_framework.io import read_calibration, read_mask

_REDUCTIONS = {"Q": 4, "H": 2, "F": 1}
_HALF_WEIGHT = (
    *("PianoL", "Playroom", "Playtable", "Shelves", "Vintage"),
    *("ClassE", "DjembL", "Hoops", "Livgrm", "Nkuba", "Stairs"),
)
"""The scenes that count half in the averages of Middlebury's benchmark, training and test."""

_LEVELS = 64
"""Disparities searched in ETH3D."""


def _names(*folders: str) -> Callable[[Path], list[str]]:
    """A function that lists the scenes in some folders of a data set: folder by folder, sorted."""
    return lambda root: [
        f"{folder}/{image.parent.name}" for folder in folders for image in sorted((root / folder).glob("*/im0.png"))
    ]


@dataset(
    "middlebury-v3",
    names=_names(*(f"{part}{size}" for part in ("training", "test") for size in _REDUCTIONS)),
    protocol="middlebury-v3",
)
def middlebury_v3(folder: Path, name: str) -> Scene:
    """A scene of version 3 (Scharstein et al. 2014) by its name: 15 training scenes with truth and 15 test scenes, in three sizes.

    The folders are those of the publisher's archives: ``trainingQ/Pipes`` and ``testQ/Hoops`` in quarter size, H for half, F for full size. Other
    illuminations and exposures are scenes of their own (ArtL, MotorcycleE). The search range is 0..ndisp-1 of calib.txt.
    """
    part, _, scene = name.partition("/")
    weight = 0.5 if scene in _HALF_WEIGHT else 1.0
    return replace(_calibrated(folder / name), reduction=_REDUCTIONS[part[-1]], weight=weight)


@dataset("eth3d", names=_names("two_view_training", "two_view_test", "two_view_testing"), protocol="eth3d")
def eth3d(folder: Path, name: str) -> Scene:
    """A scene of ETH3D (Schoeps et al. 2017) by its name: 27 training pairs with truth and 20 test pairs, grey.

    The folders are those of the publisher's archives, ``two_view_training/delivery_area_1l`` and ``two_view_test/...``; the truth lies with
    the images or below ``two_view_training_gt``, from an archive of its own. The ndisp of these calib.txt files is just the image width, which is no
    useful bound; 0..63 pixels are searched, as in studies on this set.
    """
    part, _, scene = name.partition("/")
    found = _calibrated(folder / name, folder / f"{part}_gt" / scene)
    return replace(found, search=Search(0, min(int(found.largest_disparity or _LEVELS), _LEVELS) - 1))


def _calibrated(folder: Path, *others: Path) -> Scene:
    """The scene in a folder; truth and mask are looked for in others, too."""

    def first(*names: str) -> Path | None:
        files = (place / name for place in (folder, *others) for name in names)
        return next((file for file in files if file.is_file()), None)

    calibration, ndisp, whole = read_calibration(folder / "calib.txt")
    mask = first("mask0nocc.png")
    return Scene(
        folder.name,
        frames_of(folder, {0: "im0.png", 1: "im1.png"}),
        search=Search(0, ndisp - 1),
        truths=truths_of({(0, 1): first("disp0GT.pfm", "disp0.pfm"), (1, 0): first("disp1GT.pfm", "disp1.pfm")}),
        masks={"nonocc": partial(read_mask, mask)} if mask else {},
        calibration=calibration,
        largest_disparity=ndisp,
        whole_truth=whole,
    )
