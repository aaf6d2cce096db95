"""The scenes of Scharstein & Szeliski (2002): tsukuba, sawtooth, venus and map.

Tsukuba: Nakamura et al. 1996, University of Tsukuba. Disparities are grey / 16 there (0 = unknown) and grey / 8 in the
others, where every pixel is known. The evaluated border is 18 pixels for tsukuba and 10 for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stereo_framework.datasets import _v2_masks
from stereo_framework.io import read_disparity, read_image
from stereo_framework.scene import Disparity, Frame, Scene, Search

FOLDER = "middlebury2001"


@dataclass(frozen=True)
class _Layout:
    files: tuple[str, ...]
    reference: int
    match: int
    search: Search
    truths: Mapping[tuple[int, int], str]
    scale: float
    unknown: int | None
    border: int


_NINE = tuple(f"im{i}.ppm" for i in range(9))
_PLANAR = _Layout(_NINE, 2, 6, Search(0, 19), {(2, 6): "disp2.pgm", (6, 2): "disp6.pgm"}, scale=8, unknown=None, border=10)
_LAYOUTS = {
    "map": _Layout(
        ("im0.pgm", "im1.pgm"), 0, 1, Search(0, 29), {(0, 1): "disp0.pgm", (1, 0): "disp1.pgm"}, scale=8, unknown=None, border=10
    ),
    "sawtooth": _PLANAR,
    "tsukuba": _Layout(
        tuple(f"scene1.row3.col{i}.ppm" for i in range(1, 6)),
        2,
        3,
        Search(0, 15),
        {(2, 3): "truedisp.row3.col3.pgm"},
        scale=16,
        unknown=0,
        border=18,
    ),
    "venus": _PLANAR,
}


def scene_names(root: Path) -> tuple[str, ...]:
    """Names of the scenes whose folders exist below a data root."""
    return tuple(name for name in _LAYOUTS if (root / FOLDER / name).is_dir())


def load(root: Path, name: str) -> Scene:
    """One of `scene_names`; its files load on first use."""
    folder, layout = root / FOLDER / name, _LAYOUTS[name]
    truths: dict[tuple[int, int], Callable[[], Disparity]] = {
        pair: partial(read_disparity, folder / file, scale=layout.scale, unknown=layout.unknown)
        for pair, file in layout.truths.items()
    }
    return Scene(
        f"{FOLDER}/{name}",
        tuple(Frame(file, partial(read_image, folder / file), i) for i, file in enumerate(layout.files)),
        layout.reference,
        layout.match,
        layout.search,
        truths,
        _v2_masks.masks(root, name),
        border=layout.border,
        grey_levels=layout.scale,
    )
