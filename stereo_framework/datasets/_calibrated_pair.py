"""The folder layout that version 3 of the Middlebury benchmark and ETH3D share.

Each scene has a folder with im0.png, im1.png and calib.txt, and, where known, disp0GT.pfm and mask0nocc.png, in which 255 marks pixels that
count. The truth of im1 is disp1GT.pfm; other downloads of the same scenes call the truths disp0.pfm and disp1.pfm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from stereo_framework.core.scene import Frame
from stereo_framework.io import read_calibration, read_disparity, read_image, read_mask


def names_below(folders: Iterable[str]) -> Callable[[Path], list[str]]:
    """A function that lists the scenes in some folders of a data set: folder by folder, sorted."""
    folders = tuple(folders)
    return lambda root: [
        f"{folder}/{image.parent.name}" for folder in folders for image in sorted((root / folder).glob("*/im0.png"))
    ]


def calibrated_pair(folder: Path, *others: Path) -> tuple[int, dict[str, Any]]:
    """The number of disparities that calib.txt says, and the fields of the `Scene` of a folder.

    Parameters
    ----------
    folder : Path
        The folder of the images and the calibration.
    *others : Path
        Further folders in which truth and mask are looked for, after `folder`.
    """
    calibration, ndisp, whole = read_calibration(folder / "calib.txt")
    files = {
        (0, 1): _first((folder, *others), "disp0GT.pfm", "disp0.pfm"),
        (1, 0): _first((folder, *others), "disp1GT.pfm", "disp1.pfm"),
    }
    mask = _first((folder, *others), "mask0nocc.png")
    return ndisp, {
        "frames": tuple(Frame(f"im{i}.png", partial(read_image, folder / f"im{i}.png"), i) for i in range(2)),
        "truths": {pair: partial(read_disparity, file) for pair, file in files.items() if file},
        "masks": {"nonocc": partial(read_mask, mask)} if mask else {},
        "calibration": calibration,
        "largest_disparity": ndisp,
        "whole_truth": whole,
    }


def _first(folders: tuple[Path, ...], *names: str) -> Path | None:
    files = (folder / name for folder in folders for name in names)
    return next((file for file in files if file.is_file()), None)
