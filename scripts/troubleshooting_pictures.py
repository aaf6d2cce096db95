"""Draw the pictures of docs/troubleshooting.md, each from the commands of its section.

Usage: ``python scripts/troubleshooting_pictures.py [--pairs FOLDER] [NAME ...]``. The
scenes teddy, Recycle and Vintage must lie in the data root. Each picture shows the left
image, a wrong disparity map, and the disparity map after the remedy. With ``--pairs``,
the image pairs are written to a folder, and no picture is drawn.
"""

import argparse
import contextlib
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image as PillowImage

from stereo_framework import load_scene
from stereo_framework.cli.main import main as run_program
from stereo_framework.core.scene import Image
from stereo_framework.io import read_disparity, read_image, write_disparity, write_image

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "troubleshooting.md"
PICTURES = DOCS / "images" / "troubleshooting"

WRONG = Path("results/wrong")
REMEDY = Path("results/remedy")
"""Output folders of the commands of a section."""

SIZE_INCHES = (9.0, 3.4)
DOTS_PER_INCH = 100
JPEG_QUALITY = 72
GREY = (0.7, 0.7, 0.7)
"""Colour of pixels without an estimate."""

NOISE = 3.0
"""Standard deviation of the sensor noise in the synthetic pair, in grey levels."""

ROTATION = 3.0
"""Angle by which the right image of the first pair is turned, in degrees."""

EXPOSURE = 0.6
"""Factor of the intensities of the darker image."""

LOW_QUALITY = 20
HIGH_QUALITY = 90
"""Qualities of the JPEG files."""

ZOOM = 1.15
"""Factor by which the larger image of a pair is larger."""

GLASS = np.s_[90:390, 330:722]
"""Rows and columns of a monitor in the scene Vintage."""

SCREEN = np.array([[284, 75], [368, 70], [374, 200], [282, 186]])
"""Corners of the monitor's screen in this part of the image, as columns and rows."""


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str


def _write_pair(left: Image, right: Image) -> None:
    """Write two images to the current folder."""
    write_image("left.png", np.ascontiguousarray(left))
    write_image("right.png", np.ascontiguousarray(right))


def _write_teddy() -> None:
    """Write the pair of the scene teddy."""
    scene = load_scene("teddy")
    _write_pair(scene.reference, scene.match)


def _write_rotated_pair() -> None:
    """Write a pair whose right image is turned about its centre."""
    scene = load_scene("teddy")
    rows, columns = scene.match.shape[:2]
    rotation = cv2.getRotationMatrix2D((columns / 2, rows / 2), ROTATION, 1)
    size = (columns, rows)
    right = cv2.warpAffine(scene.match, rotation, size, borderMode=cv2.BORDER_REPLICATE)
    _write_pair(scene.reference, right)


def _write_exchanged_pair() -> None:
    """Write a pair whose left image is in the file of the right image."""
    scene = load_scene("teddy")
    _write_pair(scene.match, scene.reference)


def _write_darker_pair() -> None:
    """Write a pair whose right image has a shorter exposure."""
    scene = load_scene("teddy")
    _write_pair(scene.reference, np.rint(EXPOSURE * scene.match).astype(np.uint8))


def _write_repetitive_pair() -> None:
    """Write a wall with a pattern of 32 pixels at disparity 10 and a picture at 22."""
    teddy = load_scene("teddy").reference
    motif = cv2.resize(teddy[150:210, 20:84], (32, 30), interpolation=cv2.INTER_AREA)
    column = np.concatenate([motif, motif[::-1]])
    wall = np.tile(column, (5, 18, 1))[:280, :480]
    picture = teddy[20:100, 290:400]
    random = np.random.default_rng(0)

    images = []
    for wall_disparity, picture_disparity in ((0, 0), (10, 22)):
        image = wall[:, wall_disparity : wall_disparity + 400].copy()
        first = 180 - picture_disparity
        image[120:200, first : first + picture.shape[1]] = picture
        noisy = image + random.normal(0, NOISE, image.shape)
        images.append(np.rint(np.clip(noisy, 0, 255)).astype(np.uint8))
    _write_pair(*images)


def _write_plain_pair() -> None:
    """Write a pair with surfaces of one colour."""
    scene = load_scene("middlebury-v3/trainingQ/Recycle")
    _write_pair(scene.reference, scene.match)


def _write_reflecting_pair() -> None:
    """Write a pair with a reflecting screen, and a mask that is black on the screen."""
    scene = load_scene("middlebury-v3/trainingQ/Vintage")
    left = scene.reference[GLASS]
    mask = np.full(left.shape[:2], 255, np.uint8)
    cv2.fillPoly(mask, [SCREEN], 0)
    _write_pair(left, scene.match[GLASS])
    write_image("mask.png", mask)


def _write_compressed_pair() -> None:
    """Write a pair without loss and as JPEG of two qualities, and its ground truth."""
    scene = load_scene("teddy")
    _write_pair(scene.reference, scene.match)
    for name, image in (("left", scene.reference), ("right", scene.match)):
        pixels = PillowImage.fromarray(image)
        pixels.save(f"{name}.jpg", quality=LOW_QUALITY)
        pixels.save(f"{name}_fine.jpg", quality=HIGH_QUALITY)
    assert scene.truth is not None
    write_disparity("truth.pfm", scene.truth)


def _write_portrait_pair() -> None:
    """Write a pair that lies on its side, as a camera's sensor stores it."""
    scene = load_scene("teddy")
    _write_pair(np.rot90(scene.reference), np.rot90(scene.match))


def _write_pair_of_two_sizes() -> None:
    """Write a pair whose right image is larger, and a part of the right image."""
    scene = load_scene("teddy")
    rows, columns = scene.match.shape[:2]
    large = cv2.resize(scene.match, None, fx=ZOOM, fy=ZOOM, interpolation=cv2.INTER_CUBIC)
    top = (large.shape[0] - rows) // 2
    left = (large.shape[1] - columns) // 2
    _write_pair(scene.reference, large)
    part = large[top : top + rows, left : left + columns]
    write_image("right_part.png", np.ascontiguousarray(part))


PAIRS: dict[str, Callable[[], None]] = {
    "not_rectified": _write_rotated_pair,
    "exchanged": _write_exchanged_pair,
    "range_too_small": _write_teddy,
    "range_too_large": _write_teddy,
    "exposure": _write_darker_pair,
    "repetitive_texture": _write_repetitive_pair,
    "little_texture": _write_plain_pair,
    "reflections": _write_reflecting_pair,
    "jpeg": _write_compressed_pair,
    "portrait": _write_portrait_pair,
    "two_sizes": _write_pair_of_two_sizes,
}
"""Functions that write the images of a section to the current folder."""


LEFT_IMAGES = {"jpeg": "left.jpg"}
"""Names of the left image in the wrong pair, if it is not left.png."""


def section_of(name: str) -> str:
    """Return the section of the page that shows a picture."""
    page = PAGE.read_text(encoding="utf-8")
    sections = re.split(r"^##+ ", page, flags=re.MULTILINE)
    [section] = [text for text in sections if f"images/troubleshooting/{name}.jpg" in text]
    return section


def blocks_of(section: str) -> list[Block]:
    """Return the fenced blocks of a section."""
    fences = re.findall(r"^```(\w+)\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [Block(language, text) for language, text in fences]


def commands_of(block: Block) -> list[list[str]]:
    """Return the arguments of each command of a block."""
    lines = [shlex.split(line) for line in block.text.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["stereo-framework"]]


def run_section(name: str) -> None:
    """Run the commands and the Python code of a section in the current folder."""
    PAIRS[name]()
    for block in blocks_of(section_of(name)):
        if block.language == "python":
            exec(block.text, {})
        if block.language == "sh":
            for arguments in commands_of(block):
                sys.argv = ["stereo-framework", *arguments]
                with contextlib.suppress(SystemExit):
                    run_program()


def agreement(folder: Path) -> float:
    """Return the percentage of pixels at which the left and the right map agree."""
    disparity = read_disparity(folder / "disparity.pfm")
    confidence = read_disparity(folder / "confidence.pfm")
    return float(100 * np.mean(np.isfinite(disparity) & (confidence >= -1)))


def _show_map(axes: Axes, disparity: NDArray[np.float32], title: str) -> None:
    """Draw a disparity map in the colours of picture.png, with a colour scale."""
    low, high = np.nanpercentile(disparity, [1, 99])
    colours = colormaps["viridis"].with_extremes(bad=GREY)
    image = axes.imshow(disparity, colours, vmin=low, vmax=max(high, low + 1))
    axes.set(title=title, xticks=[], yticks=[])
    assert isinstance(axes.figure, Figure)
    label = "disparity (pixels)"
    axes.figure.colorbar(image, ax=axes, label=label, location="bottom", aspect=30)


def picture(name: str) -> Figure:
    """Return the picture of a section from the results in the current folder."""
    figure = Figure(SIZE_INCHES, layout="compressed")
    image_axes, wrong_axes, remedy_axes = figure.subplots(1, 3)
    image_axes.imshow(read_image(LEFT_IMAGES.get(name, "left.png")))
    image_axes.set(title="left image", xticks=[], yticks=[])
    _show_map(wrong_axes, read_disparity(WRONG / "disparity.pfm"), "wrong disparity map")
    _show_map(remedy_axes, read_disparity(REMEDY / "disparity.pfm"), "after the remedy")
    return figure


def draw(name: str) -> None:
    """Run a section in a temporary folder and write its picture."""
    with tempfile.TemporaryDirectory() as parent:
        # Messages contain the name of the folder of the images.
        folder = Path(parent, name)
        folder.mkdir()
        with contextlib.chdir(folder):
            run_section(name)
            options = {"quality": JPEG_QUALITY, "optimize": True}
            file = PICTURES / f"{name}.jpg"
            picture(name).savefig(file, dpi=DOTS_PER_INCH, pil_kwargs=options)
            print(f"{name}: agreement {agreement(WRONG):.1f} %, {agreement(REMEDY):.1f} %")


def write_pairs(folder: Path, names: list[str]) -> None:
    """Write the images of each section to a folder of its name."""
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
        with contextlib.chdir(folder / name):
            PAIRS[name]()


def main() -> None:
    """Draw pictures, or write their pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    listed = ", ".join(PAIRS)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{listed}; default: all")
    parser.add_argument("--pairs", type=Path, metavar="FOLDER", help="write the image pairs only")
    arguments = parser.parse_args()
    names = arguments.names or list(PAIRS)
    if arguments.pairs is not None:
        write_pairs(arguments.pairs, names)
        return

    PICTURES.mkdir(exist_ok=True)
    for name in names:
        draw(name)


if __name__ == "__main__":
    main()
