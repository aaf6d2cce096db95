"""Data sets of a few scenes: middlebury2001, middlebury2003, and single pairs that come with other programs.

Their files, search ranges and encodings are listed in ``listed.yaml`` beside this file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from stereo_framework.core.scene import Calibration, Frame, Mask, Scene, Search
from stereo_framework.core.shipped import shipped_yaml
from stereo_framework.io import read_disparity, read_image, read_mask

MASKS = "middlebury-v2/masks"
"""Folder of the masks of the Middlebury benchmark, version 2. A mask pixel counts only when it is 255."""


@functools.cache
def _listed() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    found: dict[str, Any] = shipped_yaml("datasets/listed.yaml")
    return found


@dataclass(frozen=True)
class Listed:
    """One of these sets, by its folder below a data root."""

    FOLDER: str

    def scene_names(self, root: Path) -> tuple[str, ...]:
        """Names of the scenes that a data root has a folder for."""
        scenes = _listed()[self.FOLDER]
        return tuple(name for name in scenes if self._folder(root, name).is_dir())

    def load(self, root: Path, name: str) -> Scene:
        """Load one of `scene_names`; its files are read on first use."""
        entry, folder = dict(_listed()[self.FOLDER][name]), self._folder(root, name)
        files, match, sparse = entry.pop("frames"), entry.pop("match"), entry.pop("sparse", False)
        truths, encoding = entry.pop("truths"), entry.pop("truth", {})
        entry.pop("folder", None)
        there = [i for i, file in enumerate(files) if not sparse or i in match or (folder / file).is_file()]
        entry["search"] = Search(*entry["search"])
        if "calibration" in entry:
            entry["calibration"] = Calibration(*entry["calibration"])
        return Scene(
            f"{self.FOLDER}/{name}",
            tuple(Frame(files[i], partial(read_image, folder / files[i]), i) for i in there),
            reference_index=there.index(match[0]),
            match_index=there.index(match[1]),
            truths={
                (there.index(a), there.index(b)): partial(read_disparity, folder / file, **encoding)
                for file, (a, b) in truths.items()
            },
            masks=_masks(root / MASKS / name),
            **entry,
        )

    def _folder(self, root: Path, name: str) -> Path:
        return root / self.FOLDER / _listed()[self.FOLDER][name].get("folder", name)


def _masks(folder: Path) -> dict[str, Callable[[], Mask]]:
    """Functions that load a scene's masks, by name; empty if the data root has no masks."""
    return {mask: partial(read_mask, folder / f"{mask}.png") for mask in ("nonocc", "all", "disc") if folder.is_dir()}


MIDDLEBURY_2001, MIDDLEBURY_2003 = Listed("middlebury2001"), Listed("middlebury2003")
KITTI_SAMPLE, MOTORCYCLE = Listed("kitti"), Listed("motorcycle")
