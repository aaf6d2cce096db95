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
        The left and the right file, by the name of the pair: that of the left file without its ending, or of its folder if all files are called the same;
        as much of both as it takes to tell the pairs apart.

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
    ours, theirs = _named(*found)
    alone = sorted(ours.keys() ^ theirs.keys())
    if not alone:
        keys = {key: key for key in ours}
    elif ours.keys() & theirs.keys():
        raise DataError(
            f"{left} and {right}: only one of them has {alone[0]} ({len(alone)} such files); each image needs its partner"
        )
    elif len(ours) != len(theirs):
        raise DataError(
            f"{left} has {len(ours)} images and {right} has {len(theirs)}; their names differ, so both need the same number"
        )
    else:
        keys = dict(zip(ours, theirs, strict=True))
        for one, other in keys.items():
            if one.parent != other.parent:
                raise DataError(
                    f"{left} and {right}: {one} and {other} lie in different folders, so that it is not known what belongs together"
                )
    stems = {key: key.with_suffix("").as_posix() if ours[key].name == key.name else key.as_posix() for key in keys}
    if len(set(stems.values())) < len(keys):
        stems = {key: key.as_posix() for key in keys}
    return {stems[key]: (ours[key], theirs[other]) for key, other in keys.items()}


def _named(*sides: list[Path]) -> list[dict[Path, Path]]:
    """The files of both sides, sorted, by what tells them apart: their names; else their places below the folder of all, or those of their folders."""
    names = [[path.name for path in paths] for paths in sides]
    if all(len(set(side)) == len(side) for side in names):
        return [{Path(path.name): path for path in paths} for paths in sides]
    places = [{path.relative_to(os.path.commonpath([p.parent for p in paths])): path for path in paths} for paths in sides]
    if all(len(set(side)) == 1 for side in names):
        return [{place.parent: path for place, path in side.items()} for side in places]
    return places


def _files(text: str) -> list[Path] | None:
    """The images in a folder or of a pattern, sorted by name; None for a file."""
    folder = Path(text).is_dir()
    if not folder and (Path(text).is_file() or not glob.has_magic(text)):
        return None
    found = sorted(Path(text).iterdir()) if folder else sorted(map(Path, glob.glob(text)))
    images = [path for path in found if path.suffix.lower() in (*ENDINGS, *own_suffixes("image")) and path.is_file()]
    if not images:
        raise DataError(f"{text}: no images there; legal endings: {', '.join(ENDINGS)}")
    return images
