"""Draw the pictures of docs/chain_pictures.md, the chain beside OpenCV's matcher: ``python scripts/chain_pictures.py [--data DIR] [PICTURE ...]``.

Each shows a part of a scene, line by line: the reference image and the truth; the map of `fine` and its errors; the map of StereoSGBM, with its holes filled
from the background, and its errors. White is right, black is off by 4 pixels or more.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from stereo_framework import load_scene
from stereo_framework.scene import Disparity, Scene
from stereo_framework.script import load

OUT = Path(__file__).parents[1] / "docs" / "images" / "chain"
V2, V3 = "middlebury-v2", "middlebury-v3/trainingQ"
WIDTH, GAP, QUALITY = 340, 6, 75
"""Width of a panel and of the gap between panels in screen pixels, and JPEG quality."""
GREY = 178
AROUND = ((0, GAP), (0, GAP), (0, 0))


class Part(NamedTuple):
    """Part of a scene: left, top, width, height in pixels."""

    scene: str
    place: tuple[int, int, int, int]


PARTS = {
    "sticks": Part(f"{V2}/cones", (330, 190, 120, 90)),
    "spokes": Part(f"{V3}/Motorcycle", (60, 190, 260, 195)),
    "chair": Part(f"{V3}/Adirondack", (200, 60, 400, 300)),
    "brushes": Part(f"{V3}/ArtL", (60, 20, 240, 180)),
    "leaves": Part(f"{V3}/Jadeplant", (150, 60, 360, 270)),
    "pipes": Part(f"{V3}/Pipes", (180, 60, 360, 270)),
    "border": Part(f"{V3}/PlaytableP", (0, 100, 320, 240)),
    "bin": Part(f"{V3}/Recycle", (120, 60, 400, 300)),
    "wall": Part(f"{V3}/Piano", (0, 0, 480, 360)),
    "screens": Part(f"{V3}/Vintage", (60, 40, 520, 390)),
}


def panels(scene: Scene, maps: list[Disparity], place: tuple[int, int, int, int]) -> np.ndarray:
    """All lines of panels, stacked, uint8 RGB."""
    left, top, width, height = place
    part = np.s_[top : top + height, left : left + width]
    assert scene.truth is not None, "all of these scenes have truth"
    truth = scene.truth[part]
    low, high = np.percentile(truth[np.isfinite(truth)], [1, 99])

    def coloured(disparity: Disparity) -> np.ndarray:
        values = np.clip((np.nan_to_num(disparity, posinf=0) - low) / (high - low), 0, 1)
        drawn = cv2.applyColorMap(np.rint(255 * values).astype(np.uint8), cv2.COLORMAP_VIRIDIS)[..., ::-1].copy()
        drawn[~np.isfinite(disparity)] = GREY
        return drawn

    def errors(disparity: Disparity) -> np.ndarray:
        off = np.abs(disparity - truth)
        grey = np.where(np.isfinite(off), 255 - np.clip(64 * off, 0, 255), GREY).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)

    lines = [[scene.reference[part], coloured(truth)], *([coloured(m[part]), errors(m[part])] for m in maps)]
    size = WIDTH, round(WIDTH * height / width)
    # A gap to the right of each panel and below it.
    made = [
        [np.pad(cv2.resize(p, size, interpolation=cv2.INTER_NEAREST), AROUND, constant_values=255) for p in line]
        for line in lines
    ]
    return np.concatenate([np.concatenate(line, axis=1) for line in made])


def main() -> None:
    """Draw all pictures, or some, and print the errors of both maps in each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", nargs="*", help=f"{', '.join(PARTS)}; default: all")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    sgbm = {"include": str(OUT.parents[2] / "configs" / "methods" / "sgbm.yaml"), "refinement": ["fill_occlusions"]}
    methods = [load(script).runs[0].pipeline for script in ("fine", sgbm)]
    for name in arguments.pictures or PARTS:
        scene = load_scene(PARTS[name].scene, data=arguments.data)
        maps = [method(scene).disparity for method in methods]
        drawn = panels(scene, maps, PARTS[name].place)
        cv2.imwrite(str(OUT / f"{name}.jpg"), drawn[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        left, top, width, height = PARTS[name].place
        part = np.s_[top : top + height, left : left + width]
        known = np.isfinite(scene.truth[part])
        wrong = [100 * np.mean(np.abs(m[part] - scene.truth[part])[known] > 1) for m in maps]
        print(f"{name}: off by more than a pixel, fine {wrong[0]:.1f} %, sgbm {wrong[1]:.1f} %")


if __name__ == "__main__":
    main()
