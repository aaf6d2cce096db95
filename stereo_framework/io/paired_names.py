"""Compare the names of files: find names that belong together, and sort names.

The *key* of a name is the sequence of its words and numbers. Names that belong together
have equal keys after the words for the side, such as ``left``, are removed.
"""

import re
from collections.abc import Sequence

Key = tuple[str | int, ...]
"""The words of a name, in lower case, and its numbers, in their order."""

_PART = re.compile(r"cam(?:era)?[-_ ]?\d+|\d+|[^\W\d_]+")
"""A camera with its number, a number, or a word."""

_NUMBER_AFTER_WORD = re.compile(r"(?<=[^\W\d])\d+")

_SIDES = (("left", "right"), ("l", "r"))
"""Pairs of words that mark the left and the right image of a pair."""

_CAMERA_DIGITS = 2
"""Largest number of digits of a camera number after a word, as in ``view5``.

Numbers of frames and photographs are longer.
"""


def words_and_numbers(name: str) -> Key:
    """Return the words of a name in lower case, and its numbers.

    Examples
    --------
    >>> words_and_numbers("Left_007-b")
    ('left', 7, 'b')
    """
    key: list[str | int] = []
    for part in _PART.findall(name.lower()):
        key.append(int(part) if part.isdecimal() else part)
    return tuple(key)


def natural_order(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key that sorts names by their words and by the size of their numbers.

    Examples
    --------
    >>> sorted(["im10", "im2", "im1"], key=natural_order)
    ['im1', 'im2', 'im10']
    """
    key = []
    for part in re.split(r"(\d+)", name):
        is_word = not part.isdecimal()
        number = 0 if is_word else int(part)
        key.append((is_word, number, part))
    return tuple(key)


def keys_without_side_words(
    left_names: Sequence[str], right_names: Sequence[str]
) -> tuple[list[Key], list[Key]]:
    """Return the keys of names, without the words that mark a side.

    A word marks a side if all names of this side contain it, but not all names of the
    other side. If there is no such word, a short number after a word can mark the side.

    Parameters
    ----------
    left_names, right_names : sequence of str
        Names of the files of each side, without their endings.

    Returns
    -------
    left_keys, right_keys : list of tuple
        The words and numbers of each name. Files that belong together have equal keys.

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
    left_keys = [_without(key, left_marks) for key in left_keys]
    right_keys = [_without(key, right_marks) for key in right_keys]
    return left_keys, right_keys


def _in_all(keys: Sequence[Key]) -> set[str | int]:
    """Return the words and numbers that all keys contain."""
    return set(keys[0]).intersection(*keys[1:])


def _words(parts: set[str | int]) -> set[str | int]:
    """Return the words among words and numbers."""
    return {part for part in parts if isinstance(part, str)}


def _are_camera_numbers(names: Sequence[str], numbers: set[str | int]) -> bool:
    """Return whether each of the numbers occurs in the names as that of a camera."""
    numbers_after_words: list[str] = []
    for name in names:
        numbers_after_words += _NUMBER_AFTER_WORD.findall(name)
    camera_numbers = {
        int(digits) for digits in numbers_after_words if len(digits) <= _CAMERA_DIGITS
    }
    return numbers <= camera_numbers


def _without(key: Key, marks: set[str | int]) -> Key:
    """Return a key without the words and numbers that mark a side."""
    return tuple(part for part in key if part not in marks)


def left_and_right(names: Sequence[str]) -> tuple[dict[Key, str], dict[Key, str]] | None:
    """Return the names of left and of right files, by their keys without the side.

    Parameters
    ----------
    names : sequence of str
        Names of files without their endings.

    Returns
    -------
    (dict, dict) or None
        Names of left and of right files. Files that belong together have equal keys.
        The result is None if no name, or only one side, has a word for its side.

    Examples
    --------
    >>> left_and_right(["b_left", "a_right"])
    ({('b',): 'b_left'}, {('a',): 'a_right'})
    """
    for left_word, right_word in _SIDES:
        left_names = _names_with_word(names, left_word)
        right_names = _names_with_word(names, right_word)
        if left_names and right_names:
            return left_names, right_names
    return None


def _names_with_word(names: Sequence[str], word: str) -> dict[Key, str]:
    """Return the names that contain a word, by their keys without this word."""
    names_by_key = {}
    for name in names:
        key = words_and_numbers(name)
        if word in key:
            names_by_key[_without(key, {word})] = name
    return names_by_key
