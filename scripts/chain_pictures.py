"""Draw the pictures of docs/chain.md and docs/chain_pictures.md: ``python scripts/chain_pictures.py [--data DIR] [PICTURE ...]``.

Three show what the chain does: rows, light, planes. Eight show it beside OpenCV's matcher, in parts of scenes, line by line: the reference image and the truth; the map of `fine` and its
errors; the map of StereoSGBM, with its holes filled from the background, and its errors. White is right, black is off by 4 pixels or more.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

from stereo_framework import load_scene
from stereo_framework.core.auxiliary_maps import intensity_differences
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.core.view import DisparityMap
from stereo_framework.preprocessing import radiometric_field, row_alignment
from stereo_framework.preprocessing.row_alignment import _field, _terms
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
    "spokes": Part(f"{V3}/Motorcycle", (60, 190, 260, 195)),
    "chair": Part(f"{V3}/Adirondack", (200, 60, 400, 300)),
    "brushes": Part(f"{V3}/ArtL", (60, 20, 240, 180)),
    "leaves": Part(f"{V3}/Jadeplant", (150, 60, 360, 270)),
    "border": Part(f"{V3}/PlaytableP", (0, 100, 320, 240)),
    "bin": Part(f"{V3}/Recycle", (120, 60, 400, 300)),
    "wall": Part(f"{V3}/Piano", (0, 0, 480, 360)),
    "screens": Part(f"{V3}/Vintage", (60, 40, 520, 390)),
}


def cut(
    scene: Scene, place: tuple[int, int, int, int]
) -> tuple[tuple[slice, slice], Disparity, tuple[float, float]]:
    """A part of a scene, the truth of it, and the disparities that colours run between."""
    left, top, width, height = place
    part = np.s_[top : top + height, left : left + width]
    assert scene.truth is not None, "all of these scenes have truth"
    truth = scene.truth[part]
    low, high = np.percentile(truth[np.isfinite(truth)], [1, 99])
    return part, truth, (float(low), float(high))


def coloured(
    values: np.ndarray, ends: tuple[float, float], colours: int = cv2.COLORMAP_VIRIDIS
) -> np.ndarray:
    """A map in colours, grey where it knows nothing."""
    share = np.clip((np.nan_to_num(values, posinf=0) - ends[0]) / (ends[1] - ends[0]), 0, 1)
    drawn = cv2.applyColorMap(np.rint(255 * share).astype(np.uint8), colours)[..., ::-1].copy()
    drawn[~np.isfinite(values)] = GREY
    return drawn


def errors(disparity: Disparity, truth: Disparity) -> np.ndarray:
    """White is right, black is off by 4 pixels or more."""
    off = np.abs(disparity - truth)
    grey = np.where(np.isfinite(off), 255 - np.clip(64 * off, 0, 255), GREY).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


def stacked(lines: list[list[np.ndarray]]) -> np.ndarray:
    """Lines of panels of one size, uint8 RGB, with gaps to the right of each panel and below it."""
    height, width = lines[0][0].shape[:2]
    size = WIDTH, round(WIDTH * height / width)
    made = [
        [
            np.pad(
                cv2.resize(p, size, interpolation=cv2.INTER_NEAREST), AROUND, constant_values=255
            )
            for p in line
        ]
        for line in lines
    ]
    return np.concatenate([np.concatenate(line, axis=1) for line in made])


def beside_sgbm(part: Part, scene: Scene) -> tuple[np.ndarray, str]:
    """The maps of `fine` and of StereoSGBM, and how much of them is wrong."""
    place, truth, ends = cut(scene, part.place)
    sgbm = {
        "include": str(OUT.parents[2] / "configs" / "methods" / "sgbm.yaml"),
        "refinement": ["fill_occlusions"],
    }
    maps = [matched(script, scene)[place] for script in ("fine", sgbm)]
    lines = [[coloured(m, ends), errors(m, truth)] for m in maps]
    wrong = [100 * np.mean(np.abs(m - truth)[np.isfinite(truth)] > 1) for m in maps]
    said = f"off by more than a pixel, fine {wrong[0]:.1f} %, sgbm {wrong[1]:.1f} %"
    return stacked([[scene.reference[place], coloured(truth, ends)], *lines]), said


def matched(script: str | dict[str, Any], scene: Scene, *overrides: str) -> Disparity:
    """The map of a method, with the search of its script."""
    setting = load(script, overrides=overrides).only
    assert scene.search is not None, "all of these scenes have a range"
    found: Disparity = setting.pipeline(scene, replace(scene.search, **setting.search)).disparity
    return found


def initial_map(scene: Scene) -> dict[str, DisparityMap]:
    """The initial map that rows and light are learnt from."""
    assert scene.search is not None, "all of these scenes have a range"
    match = load("initial_map").only.pipeline(scene)
    return {"first": DisparityMap(match.disparity, match.status, scene.search)}


def rows(part: Part, scene: Scene) -> tuple[np.ndarray, str]:
    """The rows of a pair, and `sgm` before and after they are aligned."""
    place, truth, _ = cut(scene, part.place)
    initial, (height, width) = initial_map(scene)["first"], scene.match.shape[:2]
    field = _field(
        scene.reference,
        scene.match,
        1,
        np.where(initial.status == 0, initial.disparity, np.float32(np.nan)),
        "luma",
    )
    lower = _terms(*np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))) @ field
    aligned = {
        "include": "sgm",
        "auxiliary": {"first": {"include": "initial_map"}},
        "preprocessing": ["row_alignment"],
    }
    maps = [matched(script, scene)[place] for script in ("sgm", aligned)]
    wrong = [100 * np.mean(np.abs(m - truth)[np.isfinite(truth)] > 1) for m in maps]
    drawn = [
        [
            scene.reference[place],
            coloured(lower[place], (-0.5, 0.5), cv2.COLORMAP_TWILIGHT_SHIFTED),
        ],
        [errors(m, truth) for m in maps],
    ]
    return (
        stacked(drawn),
        f"off by more than a pixel, before {wrong[0]:.1f} %, after {wrong[1]:.1f} %; field {lower.min():.2f} to {lower.max():.2f}",
    )


def light(part: Part, scene: Scene) -> tuple[np.ndarray, str]:
    """By how much matched pixels differ before and after light is corrected, and the errors with and without."""
    place, truth, _ = cut(scene, part.place)
    initial = initial_map(scene)
    assert scene.search is not None, "all of these scenes have a range"
    pair = row_alignment(scene.reference, scene.match, scene.search, initial)
    seen = DisparityMap(
        np.nan_to_num(scene.truth, posinf=np.nan),
        np.zeros(scene.truth.shape, np.uint8),
        scene.search,
    )
    panels, means = [], []
    for images in (pair, radiometric_field(*pair, scene.search, initial)):
        known, apart = intensity_differences(*images, scene.search, seen)
        unlike = np.where(known & (scene.mask("nonocc")), apart.mean(axis=2), np.nan)[place]
        panels.append(coloured(unlike, (-30, 30), cv2.COLORMAP_TWILIGHT_SHIFTED))
        means.append(np.nanmedian(np.abs(unlike)))
    maps = [
        matched("fine", scene, *change)[place]
        for change in (["preprocessing=[{use: row_alignment, initial: first}]"], [])
    ]
    wrong = [100 * np.mean(np.abs(m - truth)[np.isfinite(truth)] > 1) for m in maps]
    said = f"grey levels apart {means[0]:.1f}, {means[1]:.1f}; off by more than a pixel {wrong[0]:.1f} %, {wrong[1]:.1f} %"
    return stacked([panels, [errors(m, truth) for m in maps]]), said


def planes(part: Part, scene: Scene) -> tuple[np.ndarray, str]:
    """The start, by paths over levels, then the map after one round and after all."""
    place, truth, ends = cut(scene, part.place)
    start = {"include": "fine", "search": {"step": 1}, "refinement": ["parabola"]}
    start["optimization"] = {
        "use": "semi_global",
        "paths": 8,
        "p1": 85,
        "p2": 340,
        "penalties": "edges",
        "edge_threshold": 15,
    }
    bare = {"include": "fine", "refinement": []}
    maps = [
        matched(start, scene),
        matched(bare, scene, "optimization.iterations=1"),
        matched(bare, scene),
        matched("fine", scene),
    ]
    wrong = [100 * np.mean(~(np.abs(m[place] - truth)[np.isfinite(truth)] <= 1)) for m in maps]
    lines = [[coloured(m[place], ends), errors(m[place], truth)] for m in maps]
    said = "off by more than a pixel: start {:.1f}, one round {:.1f}, all {:.1f}, finished {:.1f} %".format(
        *wrong
    )
    return stacked([[scene.reference[place], coloured(truth, ends)], *lines]), said


STEPS = {
    "rows": (rows, Part(f"{V3}/Motorcycle", (60, 60, 520, 390))),
    "light": (light, Part(f"{V3}/Playroom", (60, 40, 520, 390))),
    "planes": (planes, Part(f"{V3}/PlaytableP", (140, 60, 400, 300))),
}


def main() -> None:
    """Draw all pictures, or some, and print what their captions say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", nargs="*", help=f"{', '.join([*STEPS, *PARTS])}; default: all")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    for name in arguments.pictures or [*STEPS, *PARTS]:
        draw, part = STEPS[name] if name in STEPS else (beside_sgbm, PARTS[name])
        drawn, said = draw(part, load_scene(part.scene, data=arguments.data))
        cv2.imwrite(str(OUT / f"{name}.jpg"), drawn[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        print(f"{name}: {said}", flush=True)


if __name__ == "__main__":
    main()
