"""Words and numbers in the names of files, which show which files belong together."""

import re
from collections.abc import Sequence

Key = tuple[str | int, ...]
"""Words in lower case and numbers of a name, in their order."""

_PART = re.compile(r"cam(?:era)?[-_ ]?\d+|\d+|[^\W\d_]+")
"""A camera with its number, a number, or a word."""

_NUMBER_BEHIND_WORD = re.compile(r"(?<=[^\W\d])\d+")

_SIDES = (("left", "right"), ("l", "r"))
"""Words that mark the left and the right image of a pair."""

_CAMERA_DIGITS = 2
"""Number of digits up to which a number that follows a word may be that of a camera, as
in ``im0`` and ``view5``. Numbers of frames and photographs are longer."""


def words_and_numbers(name: str) -> Key:
    """Return the words of a name in lower case, and its numbers.

    Examples
    --------
    >>> words_and_numbers("Left_007-b")
    ('left', 7, 'b')
    """
    parts = _PART.findall(name.lower())
    return tuple(int(part) if part.isdecimal() else part for part in parts)


def natural_order(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key that sorts names by their words and by the size of their numbers.

    Examples
    --------
    >>> sorted(["im10", "im2", "im1"], key=natural_order)
    ['im1', 'im2', 'im10']
    """
    parts = re.split(r"(\d+)", name)
    return tuple(
        (not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts
    )


def keys_without_side_words(
    left_names: Sequence[str], right_names: Sequence[str]
) -> tuple[list[Key], list[Key]]:
    """Return the words and numbers of names, without those that mark a side.

    A word marks a side if it stands in all names of one side but not in all names of the
    other side. If there is no such word, a short number behind a word can mark the side.

    Parameters
    ----------
    left_names, right_names : sequence of str
        Names of the files of each side, without their endings.

    Returns
    -------
    left_keys, right_keys : list of tuple
        For each name its words and numbers. Files that belong together have equal keys.

    Examples
    --------
    >>> keys_without_side_words(["left_1", "left_2"], ["right_01", "right_3"])
    ([(1,), (2,)], [(1,), (3,)])
    >>> keys_without_side_words(["a_im0", "b_im0"], ["a_im1", "b_im1"])
    ([('a', 'im'), ('b', 'im')], [('a', 'im'), ('b', 'im')])
    """
    left_keys = [words_and_numbers(name) for name in left_names]
    right_keys = [words_and_numbers(name) for name in right_names]
    left_common = _in_all(left_keys)
    right_common = _in_all(right_keys)
    left_marks = left_common - right_common
    right_marks = right_common - left_common
    if _words(left_marks) or _words(right_marks):
        left_marks = _words(left_marks)
        right_marks = _words(right_marks)
    elif not _are_camera_numbers([*left_names, *right_names], left_marks | right_marks):
        return left_keys, right_keys
    return [_without(key, left_marks) for key in left_keys], [
        _without(key, right_marks) for key in right_keys
    ]


def _in_all(keys: Sequence[Key]) -> set[str | int]:
    """Return the words and numbers that all keys contain."""
    return set(keys[0]).intersection(*keys[1:])


def _words(parts: set[str | int]) -> set[str | int]:
    return {part for part in parts if isinstance(part, str)}


def _are_camera_numbers(names: Sequence[str], numbers: set[str | int]) -> bool:
    """Return whether each of the numbers occurs in the names as that of a camera."""
    behind_words = [digits for name in names for digits in _NUMBER_BEHIND_WORD.findall(name)]
    return numbers <= {int(digits) for digits in behind_words if len(digits) <= _CAMERA_DIGITS}


def _without(key: Key, marks: set[str | int]) -> Key:
    return tuple(part for part in key if part not in marks)


def left_and_right(names: Sequence[str]) -> tuple[dict[Key, str], dict[Key, str]] | None:
    """Return the names that are marked as left and as right, by their other parts.

    Parameters
    ----------
    names : sequence of str
        Names of files without their endings.

    Returns
    -------
    (dict, dict) or None
        Names of left and of right files. Files that belong together have equal keys.
        None if no side or only one side is marked.

    Examples
    --------
    >>> left_and_right(["b_left", "a_right"])
    ({('b',): 'b_left'}, {('a',): 'a_right'})
    """
    keys = {name: words_and_numbers(name) for name in names}
    for left_mark, right_mark in _SIDES:
        left = {_without(key, {left_mark}): name for name, key in keys.items() if left_mark in key}
        right = {
            _without(key, {right_mark}): name for name, key in keys.items() if right_mark in key
        }
        if left and right:
            return left, right
    return None
