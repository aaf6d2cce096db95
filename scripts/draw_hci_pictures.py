"""Draw the pictures of docs/hci.md, all of synthetic scenes: ``python scripts/draw_hci_pictures.py [--out DIR]``."""

import argparse
from pathlib import Path

from PIL import Image

from stereo_framework import load_scene, run
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.regions import hci_subsets
from stereo_framework.figures.saving import save_figure, save_picture
from stereo_framework.papers.hci2015.pictures import metrics_figure, radar_figure, subsets_figure
from stereo_framework.sweep import ResultSet
from stereo_framework.tables.scores import score_table

SCENES = ("synthetic/planes", "synthetic/slanted", "synthetic/occlusions")
METHODS = ("window", "ssd", "dp", "so", "bp", "gc")
SHOWN = "window"
"""The method whose errors are drawn pixel by pixel."""

WIDTH = 1200
"""Pixels."""


def main() -> None:
    """Run the methods and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images" / "hci"
    )
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    protocol = {"base": "taxonomy2002", "metrics": "hci", "name": "taxonomy2002, HCI metrics"}
    results = ResultSet()
    for method in METHODS:
        script = {"include": method, "name": method, "evaluation": {"protocol": protocol}}
        results += run(script, scenes=list(SCENES), maps=True)
    svg, _ = save_figure(radar_figure(score_table(results, ["hci"])), out / "radar", "")
    svg.unlink()
    # The scene with fine structures.
    scene = load_scene(SCENES[-1])
    [map_] = [r.disparity for r in results if (r.scene, r.method) == (scene.name, SHOWN)]
    assert scene.truth is not None
    assert map_ is not None
    subsets = hci_subsets(scene)
    save_picture(out / "subsets.png", subsets_figure(scene.reference, subsets))
    scores = {
        name: metric.compute(map_, scene.truth, subsets) for name, metric in HCI_METRICS.items()
    }
    save_picture(
        out / "metrics.png", metrics_figure(scene.reference, scores, f"{scene.name}, {SHOWN}")
    )
    for path in out.glob("*.png"):
        _shrink(path)


def _shrink(path: Path) -> None:
    """Reduce a picture to the width of a page of text and to 256 colours."""
    with Image.open(path) as picture:
        smaller = picture.convert("RGB").resize(
            (WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS
        )
    smaller.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


if __name__ == "__main__":
    main()
