"""The KITTI stereo sets: training pairs with truth and test pairs without.

2012 (Geiger et al. 2012): 194 and 195 pairs, in grey, or in colour if only that is available. 2015 (Menze & Geiger 2015): 200 and 200 pairs, in colour.

The folders are those of the publisher's archives: ``training/image_2/000000_10.png`` and so on; only frames _10 have a truth. It lies in
disp_occ, and that of the non-occluded pixels alone in disp_noc, as 16-bit PNG files: grey / 256, 0 = unknown. The publisher limits disparities
to 256 pixels and no closer bound is known, so 0..255 are searched. Calibrations come in an archive of their own; depths are
in metres.

Masks: nonocc, where disp_noc is known. For 2015 also: background and foreground, where disp_occ is known and obj_map is 0 or the number of a moving
object; background_nonocc and foreground_nonocc, the same where disp_noc is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Mask, Scene, Search
from stereo_framework.datasets.dataset import dataset, frames_of, truths_of
from stereo_framework.io import read_disparity, read_grey, read_kitti_calibration

_TESTING = "testing/"
_GREY_OR_COLOUR = (("image_0", "image_1", 0, 1), ("colored_0", "colored_1", 2, 3))
"""Folders of the left and right images with the numbers of their cameras; the first pair that exists is taken."""


def _names(*folders: str) -> Callable[[Path], list[str]]:
    """A function that lists ``000000_10`` and so on for the training pairs, ``testing/000000_10`` and so on for the test pairs."""

    def names(folder: Path) -> list[str]:
        found = []
        for prefix, part in (("", "training"), (_TESTING, "testing")):
            images = (image for left in folders for image in (folder / part / left).glob("*_10.png"))
            found += [prefix + stem for stem in sorted({image.stem for image in images})]
        return found

    return names


@dataset("kitti2012", names=_names("image_0", "colored_0"), protocol="kitti2012")
def kitti2012(folder: Path, name: str) -> Scene:
    """A scene by its name; its calibration is read at once, everything else on first use."""
    return _scene(folder, name, _GREY_OR_COLOUR, "calib", "disp_occ", "disp_noc")


@dataset("kitti2015", names=_names("image_2"), protocol="kitti2015")
def kitti2015(folder: Path, name: str) -> Scene:
    """A scene by its name; its calibration is read at once, everything else on first use."""
    return _scene(folder, name, (("image_2", "image_3", 2, 3),), "calib_cam_to_cam", "disp_occ_0", "disp_noc_0")


def _scene(
    folder: Path, name: str, pairs: Sequence[tuple[str, str, int, int]], calibrations: str, truth: str, visible_truth: str
) -> Scene:
    """A scene of one of the two sets: the folders of its images, calibrations, and truths of all and of the non-occluded pixels."""
    part = folder / ("testing" if name.startswith(_TESTING) else "training")
    file = f"{name.removeprefix(_TESTING)}.png"
    left, right, *cameras = next(pair for pair in pairs if (part / pair[0] / file).is_file())
    calibration = part / calibrations / f"{file.partition('_')[0]}.txt"
    truths = {"": part / truth / file, "_nonocc": part / visible_truth / file}
    there = {suffix: truth for suffix, truth in truths.items() if truth.is_file()}
    masks: dict[str, Callable[[], Mask]] = {"nonocc": partial(_known, there["_nonocc"])} if "_nonocc" in there else {}
    objects = part / "obj_map" / file
    if objects.is_file():
        for suffix, known in there.items():
            masks[f"background{suffix}"] = partial(_of_objects, objects, known, moving=False)
            masks[f"foreground{suffix}"] = partial(_of_objects, objects, known, moving=True)
    return Scene(
        name,
        frames_of(part, {0: f"{left}/{file}", 1: f"{right}/{file}"}),
        search=Search(0, 255),
        truths=truths_of({(0, 1): there.get("")}),
        masks=masks,
        calibration=read_kitti_calibration(calibration, *cameras) if calibration.is_file() else None,
    )


def _known(truth: Path) -> Mask:
    """The pixels at which a truth is known."""
    return np.isfinite(read_disparity(truth))


def _of_objects(objects: Path, truth: Path, moving: bool) -> Mask:
    numbers, known = read_grey(objects), _known(truth)
    if numbers.shape != known.shape:
        raise DataError(f"{objects}: has shape {numbers.shape}, its truth {known.shape}")
    return known & ((numbers > 0) == moving)
