"""Pairs of image files: two files, or two folders or patterns whose files belong together."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from stereo_framework.core.errors import DataError
from stereo_framework.io.images import ENDINGS
from stereo_framework.io.readers import own_suffixes


def pairs(left: str, right: str) -> dict[str, tuple[Path, Path]]:
    """The pairs of images that two files, folders or patterns stand for.

    Parameters
    ----------
    left, right : str
        Two files, or two folders or patterns (``left/*.png``). Files with the same name belong together. If no name occurs in both, the files are paired
        in the order of their names. Where a name occurs in several folders (``*/left.png`` and ``*/right.png``), the folders count as well.

    Returns
    -------
    dict of str to (Path, Path)
        The left and the right file, by the name of the pair: that of the left file, or of its folder if all files are called the same; without its ending
        where that tells all pairs apart.

    Raises
    ------
    DataError
        One is a file and the other is not, there are no images, or they do not form pairs.
    """
    ours, theirs = _files(left), _files(right)
    if ours is None and theirs is None:
        return {Path(left).stem: (Path(left), Path(right))}
    if ours is None or theirs is None:
        raise DataError(f"{left} and {right}: one is a file and one is a folder or pattern; give two of a kind")
    alone = sorted(ours.keys() ^ theirs.keys())
    in_folders = any(os.sep in name for name in alone)
    if alone and (in_folders or ours.keys() & theirs.keys()):
        raise DataError(
            f"{left} and {right}: only one of them has {alone[0]} ({len(alone)} such files); each image needs its partner"
        )
    if len(ours) != len(theirs):
        raise DataError(
            f"{left} has {len(ours)} images and {right} has {len(theirs)}; their names differ, so both need the same number"
        )
    stems = [name.removesuffix(path.suffix) for name, path in ours.items()]
    names = stems if len(set(stems)) == len(stems) else list(ours)
    return dict(zip(names, zip(ours.values(), theirs.values(), strict=True), strict=True))


def _files(text: str) -> dict[str, Path] | None:
    """The images in a folder or of a pattern, sorted, by what tells them apart: names, folders, or both; None for a file."""
    folder = Path(text).is_dir()
    if not folder and (Path(text).is_file() or not glob.has_magic(text)):
        return None
    found = Path(text).iterdir() if folder else map(Path, glob.glob(text))
    images = [path for path in found if path.suffix.lower() in (*ENDINGS, *own_suffixes("image")) and path.is_file()]
    if not images:
        raise DataError(f"{text}: no images there; legal endings: {', '.join(ENDINGS)}")
    names = [path.name for path in images]
    if len(set(names)) < len(names):
        above = os.path.commonpath([path.parent for path in images])
        names = [os.path.relpath(path.parent if len(set(names)) == 1 else path, above) for path in images]
    return dict(sorted(zip(names, images, strict=True)))
