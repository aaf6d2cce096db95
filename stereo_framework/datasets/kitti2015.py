"""KITTI stereo 2015 (Menze & Geiger 2015): 200 training pairs with truth and 200 test pairs, in colour.

Layout and encoding: `_kitti`. Masks: nonocc, where disp_noc_0 is known; background and foreground, where disp_occ_0 is known
and obj_map is 0 or the number of a moving object; background_nonocc and foreground_nonocc, the same where disp_noc_0 is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from stereo_framework.datasets import _kitti
from stereo_framework.errors import DataError
from stereo_framework.io import read_grey
from stereo_framework.scene import Mask, Scene

FOLDER = "kitti2015"

_LAYOUT = _kitti.Layout((("image_2", "image_3", 2, 3),), "calib_cam_to_cam", "disp_occ_0", "disp_noc_0")


def scene_names(root: Path) -> tuple[str, ...]:
    """Names of the scenes below a data root, ``000000_10``."""
    return _kitti.scene_names(root / FOLDER, _LAYOUT)


def load(root: Path, name: str) -> Scene:
    """One of `scene_names`; its calibration is read, all else on first use."""
    scene = _kitti.load(root / FOLDER, _LAYOUT, name)
    part, file = _kitti.place(root / FOLDER, name)
    objects = part / "obj_map" / file
    masks: dict[str, Callable[[], Mask]] = {}
    for folder, suffix in ((_LAYOUT.truth, ""), (_LAYOUT.visible_truth, "_nonocc")):
        truth = part / folder / file
        if objects.is_file() and truth.is_file():
            masks[f"background{suffix}"] = partial(_of_objects, objects, truth, moving=False)
            masks[f"foreground{suffix}"] = partial(_of_objects, objects, truth, moving=True)
    return replace(scene, masks={**scene.masks, **masks})


def _of_objects(objects: Path, truth: Path, moving: bool) -> Mask:
    numbers, known = read_grey(objects), _kitti.known(truth)
    if numbers.shape != known.shape:
        raise DataError(f"{objects}: has shape {numbers.shape}, its truth {known.shape}")
    return known & ((numbers > 0) == moving)
