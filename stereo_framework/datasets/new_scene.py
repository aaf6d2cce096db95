"""A first ``scene.yaml`` for the user's own folder, with comments on what else it may contain."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import yaml

from stereo_framework.core.errors import DataError, harmless
from stereo_framework.core.scene import Scene, Search
from stereo_framework.datasets import scene_file
from stereo_framework.io import write_bytes
from stereo_framework.io.images import ENDINGS
from stereo_framework.io.readers import own_suffixes

_NO_IMAGE = re.compile(r"(disp|depth|truth|gt|mask|nonocc|confidence)", re.IGNORECASE)
"""Names of pictures that are not images of the pair."""

_TEXT = Path(__file__).with_name("new_scene.txt")
"""What is written, with names in braces that are filled in."""


def new_scene(folder: Path, estimate: Callable[[Scene], Search]) -> Path:
    """Write a ``scene.yaml`` for the first two images in a folder, by name: left and right, im0 and im1.

    Parameters
    ----------
    folder : Path
        A folder with two or more images, and perhaps a Middlebury calib.txt.
    estimate : callable
        Gives the search range of a scene that has none.

    Returns
    -------
    Path
        The new file.

    Raises
    ------
    DataError
        There is a scene.yaml already, there are fewer than two images, or they do not make a scene.
    """
    file, endings = folder / scene_file.FILE_NAME, (*ENDINGS, *own_suffixes("image"))
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    if os.path.lexists(file):
        raise DataError(f"{file}: exists already; delete it to have a new one written")
    files = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in endings and path.is_file()]
    images = [path for path in files if not _NO_IMAGE.search(path.stem)]
    if len(images) < 2:
        raise DataError(
            f"{folder}: holds {len(images)} images that may be of a pair; a scene needs two; legal endings: {', '.join(endings)}"
        )
    pair = scene_file.pair_scene(images[0], images[1])
    _ = pair.match  # both are of one size
    search = pair.search or estimate(pair)
    text = _TEXT.read_text(encoding="utf-8").format(
        folder=harmless(str(folder)),
        frames=yaml.safe_dump([path.name for path in images[:2]], default_flow_style=True, allow_unicode=True).strip(),
        source="from calib.txt" if pair.search else "estimated from the images",
        low=search.minimum,
        high=search.maximum,
    )
    write_bytes(file, text.encode())
    return file
