"""Data sets of a few scenes: middlebury2001, middlebury2003, middlebury-v2, and single pairs that come with other programs.

Their files, search ranges and encodings are listed in ``listed.yaml`` beside this file. Version 2 of the Middlebury benchmark is tsukuba, venus, teddy and
cones of the first two with its own masks, nonocc, all and disc, which all scenes of the two get where these are found. The masks leave out the border, so
the benchmark's scenes have no border of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from stereo_framework.core.scene import Calibration, Mask, Scene, Search
from stereo_framework.core.shipped import shipped_yaml
from stereo_framework.datasets.dataset import dataset, frames_of
from stereo_framework.io import read_disparity, read_mask

_BENCHMARK = "middlebury-v2"
_MASKS = f"{_BENCHMARK}/masks"
"""Folder of the benchmark's masks below a data root. A mask pixel counts only when it is 255."""
_OF_BENCHMARK = {"cones": "middlebury2003", "teddy": "middlebury2003", "tsukuba": "middlebury2001", "venus": "middlebury2001"}


@functools.cache
def _listed() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    found: dict[str, Any] = shipped_yaml("datasets/listed.yaml")
    return found


def _names(folder: Path) -> list[str]:
    """Names of the listed scenes that have a folder."""
    return [name for name in _listed()[folder.name] if _place(folder, name).is_dir()]


def _place(folder: Path, name: str) -> Path:
    return folder / _listed()[folder.name][name].get("folder", name)


@dataset("middlebury2001", names=_names)
@dataset("middlebury2003", names=_names)
@dataset("kitti", names=_names)
@dataset("motorcycle", names=_names)
def listed(folder: Path, name: str) -> Scene:
    """A scene by its name; its files are read on first use."""
    entry, place = dict(_listed()[folder.name][name]), _place(folder, name)
    files, match, sparse = entry.pop("frames"), entry.pop("match"), entry.pop("sparse", False)
    truths, encoding = entry.pop("truths"), entry.pop("truth", {})
    entry.pop("folder", None)
    there = [i for i, file in enumerate(files) if not sparse or i in match or (place / file).is_file()]
    entry["search"] = Search(*entry["search"])
    if "calibration" in entry:
        entry["calibration"] = Calibration(*entry["calibration"])
    return Scene(
        name,
        frames_of(place, {i: files[i] for i in there}),
        reference_index=there.index(match[0]),
        match_index=there.index(match[1]),
        truths={
            (there.index(a), there.index(b)): partial(read_disparity, place / file, **encoding) for file, (a, b) in truths.items()
        },
        masks=_masks(folder.parent / _MASKS / name),
        **entry,
    )


def _masks(folder: Path) -> dict[str, Callable[[], Mask]]:
    """Functions that load a scene's masks, by name; empty if the data root has no masks."""
    return {mask: partial(read_mask, folder / f"{mask}.png") for mask in ("nonocc", "all", "disc") if folder.is_dir()}


def _of_benchmark(folder: Path) -> Iterator[str]:
    """Names of the scenes whose images and masks both exist."""
    for name, source in _OF_BENCHMARK.items():
        if _place(folder.parent / source, name).is_dir() and (folder.parent / _MASKS / name).is_dir():
            yield name


@dataset(_BENCHMARK, names=_of_benchmark, protocol=_BENCHMARK)
def middlebury_v2(folder: Path, name: str) -> Scene:
    """A scene of the benchmark by its name; its files are read on first use."""
    return replace(listed(folder.parent / _OF_BENCHMARK[name], name), border=0)
