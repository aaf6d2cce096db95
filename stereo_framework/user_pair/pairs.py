"""Pairs of image files: two files, or two folders or patterns whose files belong together."""

import glob
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.io import registered_suffixes
from stereo_framework.io.images import ENDINGS
from stereo_framework.io.paired_names import (
    Key,
    keys_without_side_words,
    natural_order,
    words_and_numbers,
)

_Key = TypeVar("_Key", bound=Hashable)

_SHOWN = 5
"""Number of files without a partner that a message names."""


def pairs(left: str, right: str) -> dict[str, tuple[Path, Path]]:
    """Return the pairs of images that two files, folders or patterns stand for.

    Parameters
    ----------
    left, right : str
        Two files, or two folders or patterns (``left/*.png``). Files with the same name
        belong together; if all files of a pattern have one name (``*/left.png``), those
        of folders with the same name. If no name occurs on both sides, the words and
        numbers in the names decide, without the words that stand in all names of one
        side only: ``left_7.png`` belongs to ``right_07.png``.

    Returns
    -------
    dict of str to (Path, Path)
        Left and right file, by the name of the left file or of its folder, without the
        ending if that distinguishes all pairs. Numbers in the names are ordered by size.

    Raises
    ------
    DataError
        One is a file and the other one is not, there are no images, an image has no
        partner, or the names do not show which images belong together.
    """
    several = [
        Path(one).is_dir() or (glob.has_magic(one) and not Path(one).is_file())
        for one in (left, right)
    ]
    if not any(several):
        return {Path(left).stem: (Path(left), Path(right))}
    if not all(several):
        raise DataError(
            f"{left} and {right}: one is a file and one is a folder or pattern; give two of a kind"
        )
    left_images = _images(left)
    right_images = _images(right)
    if left_images.keys() & right_images.keys():
        partners = _with_equal_keys(left, right, left_images, right_images)
    else:
        partners = _with_equal_words(left, right, left_images, right_images)
    ordered_names = sorted(left_images, key=natural_order)
    stems = [name.removesuffix(left_images[name].suffix) for name in ordered_names]
    pair_names = stems if len(set(stems)) == len(stems) else ordered_names
    matched_files = [(left_images[name], partners[name]) for name in ordered_names]
    return dict(zip(pair_names, matched_files, strict=True))


def check_mask_order(masks: Sequence[Path]) -> None:
    """Refuse masks whose names show that they belong to the other images.

    Parameters
    ----------
    masks : sequence of Path
        Mask of the left image and, after it, that of the right one.

    Raises
    ------
    ParameterError
        The name of a mask has the word for the other side.
    """
    for mask, other_mark in zip(masks, ("right", "left"), strict=False):
        own_mark = "left" if other_mark == "right" else "right"
        words = words_and_numbers(mask.stem)
        if other_mark in words and own_mark not in words:
            message = (
                f"--mask {mask}: is given as the mask of the {own_mark} image, and its name says {other_mark}; "
                "give the mask of the left image first and that of the right image second, or rename it"
            )
            raise ParameterError(message)


def _with_equal_words(
    left: str, right: str, left_images: Mapping[str, Path], right_images: Mapping[str, Path]
) -> dict[str, Path]:
    """Return the partner of each left image by the words and numbers in the names.

    The order of the names is no evidence: if each camera lost a frame, all pairs after
    the first gap would show two moments.
    """
    left_names = {name: name.removesuffix(path.suffix) for name, path in left_images.items()}
    right_names = {name: name.removesuffix(path.suffix) for name, path in right_images.items()}
    left_keys, right_keys = keys_without_side_words(
        list(left_names.values()), list(right_names.values())
    )
    by_left_key = _by_key(left, dict(zip(left_names, left_keys, strict=True)), left_images)
    by_right_key = _by_key(right, dict(zip(right_names, right_keys, strict=True)), right_images)
    shared_keys = by_left_key.keys() & by_right_key.keys()
    names_of_folders = left_images.keys() - {path.name for path in left_images.values()}
    # Folders whose names have nothing in common, such as "one" and "two", are no pair.
    if not shared_keys or (names_of_folders and shared_keys == {()}):
        examples = (
            f"{min(left_images, key=natural_order)} and {min(right_images, key=natural_order)}"
        )
        message = (
            f"{left} and {right}: the names do not show which images belong together, such as {examples}; "
            "give both files of a pair the same name or the same number, or match them one pair at a time"
        )
        raise DataError(message)
    partners = _with_equal_keys(left, right, by_left_key, by_right_key)
    names_by_key = dict(zip(left_keys, left_names, strict=True))
    return {names_by_key[key]: path for key, path in partners.items()}


def _by_key(text: str, keys: Mapping[str, Key], images: Mapping[str, Path]) -> dict[Key, Path]:
    """Return the images of one side by their keys, and refuse equal keys."""
    names: dict[Key, str] = {}
    for name, key in keys.items():
        first = names.setdefault(key, name)
        if first != name:
            message = (
                f"{text}: {first} and {name} have the same words and numbers, so the partner of each is unknown; "
                "give both files of a pair the same name"
            )
            raise DataError(message)
    return {key: images[name] for key, name in names.items()}


def _with_equal_keys(
    left: str, right: str, left_images: Mapping[_Key, Path], right_images: Mapping[_Key, Path]
) -> dict[_Key, Path]:
    """Return the partner of each left image by equal keys, and refuse images without one."""
    only_left = [left_images[key].name for key in left_images if key not in right_images]
    only_right = [right_images[key].name for key in right_images if key not in left_images]
    if only_left or only_right:
        lone_names = sorted([*only_left, *only_right], key=natural_order)
        shown = ", ".join(lone_names[:_SHOWN])
        if len(lone_names) > _SHOWN:
            shown += ", ..."
        message = f"{left} and {right}: only one of them has {shown} ({len(lone_names)} such files); each image needs its partner"
        raise DataError(message)
    return {key: right_images[key] for key in left_images}


def _images(text: str) -> dict[str, Path]:
    """Return the images in a folder or of a pattern by their names or those of their folders."""
    candidates = Path(text).iterdir() if Path(text).is_dir() else map(Path, glob.glob(text))
    endings = (*ENDINGS, *registered_suffixes("image"))
    images = [path for path in candidates if path.suffix.lower() in endings and path.is_file()]
    if not images:
        raise DataError(f"{text}: no images there; allowed endings: {', '.join(ENDINGS)}")
    one_name = len({path.name for path in images}) == 1
    # In "*/left.png" the folder is the part that distinguishes the pairs, even if
    # only one folder has such a file.
    folders_vary = len(images) > 1 or glob.has_magic(str(Path(text).parent))
    by_folder = one_name and folders_vary
    named = {path.parent.name if by_folder else path.name: path for path in images}
    if len(named) < len(images):
        raise DataError(
            f"{text}: some of the {len(images)} images have one name; match the folders one by one"
        )
    return dict(sorted(named.items()))
