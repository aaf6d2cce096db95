"""Draw the pictures of README.md and docs/start.md.

Run ``python scripts/first_pictures.py``.

The pictures of docs/start.md need the scene motorcycle of the data folder.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from stereo_framework import load_scene
from stereo_framework.io import read_disparity, write_image

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
POINTS = {"headlight": (534, 166, "#ffd400"), "bottle": (399, 66, "#00e5ff")}
"""Column and row of two points of the left photograph, and their colours."""


def run(arguments: list[str], folder: Path) -> None:
    """Run a command of the program in a folder."""
    program = "from stereo_framework.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", program, *arguments], cwd=folder, check=True)


def draw_first_sweep(folder: Path) -> None:
    """Run the sweep of README's first command, and copy its plot."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [command] = re.findall(r"stereo-framework (run examples/\S+\.yaml .*)$", text, re.MULTILINE)
    shutil.copytree(ROOT / "examples", folder / "examples")
    run(shlex.split(command), folder)
    shutil.copy(folder / "results/first/plots/window_size.svg", IMAGES / "first_sweep.svg")


def draw_start(folder: Path) -> None:
    """Match two photographs, and draw their rows and the results."""
    scene = load_scene("motorcycle")
    write_image(folder / "left.png", scene.reference)
    write_image(folder / "right.png", scene.match)
    run(["match", "left.png", "right.png", "--out", "results/mine"], folder)

    results = folder / "results/mine"
    with Image.open(results / "picture.png") as picture:
        picture.save(IMAGES / "match.jpg", quality=85, optimize=True)
    disparity = read_disparity(results / "disparity.pfm")
    draw_rows(scene.reference, scene.match, disparity)
    draw_certainty(read_disparity(results / "confidence.pfm"), results / "status.png")


def draw_rows(
    left: NDArray[np.uint8], right: NDArray[np.uint8], disparity: NDArray[np.float32]
) -> None:
    """Draw two points of a rectified pair, which lie in the same row of both images."""
    figure = Figure((10, 4.4), layout="constrained")
    left_axes, right_axes = figure.subplots(1, 2)
    left_axes.imshow(left)
    right_axes.imshow(right)
    left_lines, right_lines = [], []
    for name, (column, row, colour) in POINTS.items():
        shift = float(disparity[row, column])
        mark_point(left_axes, column, row, colour)
        mark_point(right_axes, column - shift, row, colour)
        left_lines.append(f"{name}: column {column}")
        right_lines.append(f"{name}: column {column - shift:.0f}, disparity {shift:.0f} pixels")

    panels = ((left_axes, "left image", left_lines), (right_axes, "right image", right_lines))
    for axes, title, lines in panels:
        axes.set_title(title, fontsize=16)
        axes.set_xlabel("\n".join(lines), fontsize=16)
        axes.set(xticks=[], yticks=[])
    save_as_jpeg(figure, IMAGES / "start_rows.jpg")


def mark_point(axes: Axes, column: float, row: float, colour: str) -> None:
    """Draw a cross at a point and a line along its row."""
    axes.axhline(row, color=colour, linewidth=1.5)
    axes.plot(column, row, "+", color=colour, markersize=22, markeredgewidth=3)


def draw_certainty(confidence: NDArray[np.float32], status_file: Path) -> None:
    """Draw the confidence map and the status map side by side."""
    figure = Figure((10, 4), layout="constrained")
    confidence_axes, status_axes = figure.subplots(1, 2)
    image = confidence_axes.imshow(np.maximum(confidence, -3), "gray")
    colour_bar = figure.colorbar(image, ax=confidence_axes, location="bottom", shrink=0.8)
    colour_bar.set_label("confidence (pixels)", fontsize=16)
    with Image.open(status_file) as status:
        status_axes.imshow(np.asarray(status), "gray", vmin=0, vmax=255)
    for axes, title in ((confidence_axes, "confidence.pfm"), (status_axes, "status.png")):
        axes.set_title(title, fontsize=16)
        axes.set(xticks=[], yticks=[])
    save_as_jpeg(figure, IMAGES / "start_certainty.jpg")


def save_as_jpeg(figure: Figure, path: Path) -> None:
    """Write a figure as a JPEG of 1000 columns."""
    figure.savefig(path, dpi=100, pil_kwargs={"quality": 85, "optimize": True})


def main() -> None:
    """Draw all pictures."""
    for draw in (draw_first_sweep, draw_start):
        with tempfile.TemporaryDirectory() as folder:
            draw(Path(folder))


if __name__ == "__main__":
    main()
