"""A first ``scene.yaml`` for the user's own folder, with comments on what else it may contain."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from stereo_framework.core.errors import DataError, harmless
from stereo_framework.core.scene import Scene, Search
from stereo_framework.datasets import scene_file
from stereo_framework.io import write_bytes
from stereo_framework.io.images import ENDINGS
from stereo_framework.io.readers import own_suffixes

_NO_IMAGE = re.compile(r"(disp|depth|truth|gt|mask|nonocc|confidence)", re.IGNORECASE)
"""Names of pictures that are not images of the pair."""

_TRUTHS = ("disp0GT.pfm", "disp0.pfm", "truth.pfm", "truth.png", "gt.pfm", "gt.png", "disp0.png", "disp0.npy", "truth.npy")
_MASKS = ("mask0nocc.png", "nonocc.png")

_NO_MASK = "# masks: {nonocc: nonocc.png}   # white where the match frame shows it too"
_TEXT = """\
# A scene of your own: what every verb takes as --scene {folder}. File names are relative to this folder; only frames and a search range are needed.

frames: [{left}, {right}]   # from left to right; {{file: left.png, mask: valid.png}} where white pixels of a mask hold data
# reference: 0   # which frame is matched, counted from 0
# match: 1       # with which

{search}

{truth}

{mask}

# For depths; Middlebury's names, in pixels but for the baseline, in whose unit depths come out.
# calibration: {{focal_length: 994.978, baseline: 193.001, doffs: 31.086}}

# border: 0      # pixels on all sides that are not evaluated
"""


def new_scene(folder: Path, estimate: Callable[[Scene], Search]) -> Path:
    """Write a ``scene.yaml`` for the images in a folder.

    Parameters
    ----------
    folder : Path
        A folder with two or more images; truth, mask and calib.txt are found by the names that Middlebury gives them.
    estimate : callable
        Gives the search range of a scene that has none.

    Returns
    -------
    Path
        The new file.

    Raises
    ------
    DataError
        There is a scene.yaml already, there are fewer than two images, or what was found does not make a scene.
    """
    file = folder / scene_file.FILE_NAME
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    if os.path.lexists(file):
        raise DataError(f"{file}: exists already; delete it to have a new one written")
    left, right = _pair(folder)
    pair = scene_file.pair_scene(left, right, None)
    span = pair.search or estimate(pair)
    entry = f"search: {{minimum: {span.minimum:g}, maximum: {span.maximum:g}}}"
    if pair.search is not None:
        search = f"# calib.txt gives the range, {span.minimum:g} to {span.maximum:g}; to search another one:\n# {entry}"
    else:
        search = f"{entry}   # CHECK: smallest and largest disparity in pixels, both included; estimated from the images"
    truth, mask = (next((name for name in names if (folder / name).is_file()), None) for names in (_TRUTHS, _MASKS))
    said = "true disparities of the reference frame; grey pictures: {file: truth.png, scale: 4, unknown: 0}"
    grey = truth is not None and truth.endswith(".png")
    entry = f"{{file: {truth}, scale: 256, unknown: 0}}   # CHECK: grey levels per pixel;" if grey else f"{truth}   #"
    text = _TEXT.format(
        folder=harmless(str(folder)),
        left=_quoted(left.name),
        right=_quoted(right.name),
        search=search,
        truth=f"truth: {entry} {said}" if truth else f"# truth: truth.pfm   # {said}",
        mask=f"masks: {{nonocc: {mask}}}   # white counts" if mask else _NO_MASK,
    )
    write_bytes(file, text.encode())
    try:
        _ = scene_file.load(folder).match
    except DataError:
        file.unlink()
        raise
    return file


def _pair(folder: Path) -> tuple[Path, Path]:
    """The first two images by name: left and right, im0 and im1."""
    images = [
        p
        for p in sorted(folder.iterdir())
        if p.suffix.lower() in (*ENDINGS, *own_suffixes("image")) and p.is_file() and not _NO_IMAGE.search(p.stem)
    ]
    if len(images) < 2:
        raise DataError(
            f"{folder}: holds {len(images)} images that may be of a pair; a scene needs two; legal endings: {', '.join(ENDINGS)}"
        )
    return images[0], images[1]


def _quoted(name: str) -> str:
    """A file name as it is written in YAML."""
    return name if re.fullmatch(r"[A-Za-z][\w.-]*", name) else "'" + name.replace("'", "''") + "'"
