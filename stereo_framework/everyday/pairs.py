"""Pairs of image files: two files, or two folders or patterns whose files belong together."""

from __future__ import annotations

import glob
from pathlib import Path

from stereo_framework.errors import DataError
from stereo_framework.io.images import ENDINGS


def pairs(left: str, right: str) -> dict[str, tuple[Path, Path]]:
    """The pairs of images that two files, folders or patterns stand for.

    Parameters
    ----------
    left, right : str
        Two files, or two folders or patterns (``left/*.png``). Files with the same name belong together. If no name occurs in both, the files are paired
        in the order of their names.

    Returns
    -------
    dict of str to (Path, Path)
        The left and the right file, by the name of the pair, which is that of the left file without its ending.

    Raises
    ------
    DataError
        One is a file and the other is not, there are no images, or they do not form pairs.
    """
    files = [_files(text) for text in (left, right)]
    found = [paths for paths in files if paths is not None]
    if not found:
        return {Path(left).stem: (Path(left), Path(right))}
    if len(found) == 1:
        raise DataError(f"{left} and {right}: one is a file and one is a folder or pattern; give two of a kind")
    ours, theirs = ({path.name: path for path in paths} for paths in found)
    if common := ours.keys() & theirs.keys():
        alone = sorted(ours.keys() ^ theirs.keys())
        if alone:
            raise DataError(
                f"{left} and {right}: only one of them has {alone[0]} ({len(alone)} such files); each image needs its partner"
            )
        return {Path(name).stem: (ours[name], theirs[name]) for name in sorted(common)}
    if len(ours) != len(theirs):
        raise DataError(
            f"{left} has {len(ours)} images and {right} has {len(theirs)}; their names differ, so both need the same number"
        )
    return {path.stem: (path, other) for path, other in zip(*found, strict=True)}


def _files(text: str) -> list[Path] | None:
    """The images in a folder or of a pattern, sorted by name; None for a file."""
    folder = Path(text).is_dir()
    if not folder and (Path(text).is_file() or not glob.has_magic(text)):
        return None
    found = sorted(Path(text).iterdir()) if folder else sorted(map(Path, glob.glob(text)))
    images = [path for path in found if path.suffix.lower() in ENDINGS and path.is_file()]
    if not images:
        raise DataError(f"{text}: no images there; legal endings: {', '.join(ENDINGS)}")
    return images
