"""Pairs of image files: two files, or two folders or patterns whose files belong together."""

import glob
from pathlib import Path

from stereo_framework.core.errors import DataError
from stereo_framework.io import own_suffixes
from stereo_framework.io.images import ENDINGS


def pairs(left: str, right: str) -> dict[str, tuple[Path, Path]]:
    """The pairs of images that two files, folders or patterns stand for.

    Parameters
    ----------
    left, right : str
        Two files, or two folders or patterns (``left/*.png``). Files with the same name belong together; where all are called alike (``*/left.png``),
        those of folders with the same name. If no name occurs in both, the files are paired in the order of their names.

    Returns
    -------
    dict of str to (Path, Path)
        The left and the right file, by the name of the left one, or of its folder; without its ending where that tells all pairs apart.

    Raises
    ------
    DataError
        One is a file and the other is not, there are no images, or they do not form pairs.
    """
    several = [Path(one).is_dir() or (glob.has_magic(one) and not Path(one).is_file()) for one in (left, right)]
    if not any(several):
        return {Path(left).stem: (Path(left), Path(right))}
    if not all(several):
        raise DataError(f"{left} and {right}: one is a file and one is a folder or pattern; give two of a kind")
    ours, theirs = _images(left), _images(right)
    alone = sorted(ours.keys() ^ theirs.keys())
    if alone and ours.keys() & theirs.keys():
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


def _images(text: str) -> dict[str, Path]:
    """The images in a folder or of a pattern, sorted, by their names or those of their folders."""
    found = Path(text).iterdir() if Path(text).is_dir() else map(Path, glob.glob(text))
    images = [path for path in found if path.suffix.lower() in (*ENDINGS, *own_suffixes("image")) and path.is_file()]
    if not images:
        raise DataError(f"{text}: no images there; legal endings: {', '.join(ENDINGS)}")
    alike = len(images) > 1 and len({path.name for path in images}) == 1
    named = {path.parent.name if alike else path.name: path for path in images}
    if len(named) < len(images):
        raise DataError(f"{text}: some of the {len(images)} images have one name; match the folders one by one")
    return dict(sorted(named.items()))
