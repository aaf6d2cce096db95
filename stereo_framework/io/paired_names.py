"""Find the left and right images of stereo pairs by their file names.

The *key* of a file name contains its words and numbers. Words such as ``left`` and
``right`` are then removed. For example, ``desk_left.png`` and ``desk_right.png`` both
have the key ``("desk",)``.
"""

import re
from collections.abc import Sequence

Key = tuple[str | int, ...]
"""Words and numbers of a file name, such as ``("left", 7, "b")``."""

_PART = re.compile(r"cam(?:era)?[-_ ]?\d+|\d+|[^\W\d_]+")
"""Pattern for a camera such as ``cam0``, a number, or a word."""

_NUMBER_AFTER_WORD = re.compile(r"(?<=[^\W\d])\d+")

_SIDES = (("left", "right"), ("l", "r"))
"""Words for the left and the right image in file names."""

_CAMERA_DIGITS = 2
"""Maximum number of digits of a camera number, such as the 5 in ``view5``.

A longer number, as in ``frame0123``, is probably the index of a frame.
"""


def words_and_numbers(name: str) -> Key:
    """Split a file name into its words, in lower case, and its numbers.

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
    """Return a sort key that places ``im2`` before ``im10``.

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
    """Return keys of left and right file names that are equal for images of one pair.

    A word such as ``left`` is removed if it occurs in all left names but not in all
    right names. Words of the right names are removed in the same way. Without such
    words, camera numbers are removed, such as the 0 in ``im0``.

    Parameters
    ----------
    left_names, right_names : sequence of str
        File names of the left and the right images, without file extensions.

    Returns
    -------
    left_keys, right_keys : list of tuple
        Remaining words and numbers of each name.

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
    """Select the words from a set of words and numbers."""
    return {part for part in parts if isinstance(part, str)}


def _are_camera_numbers(names: Sequence[str], numbers: set[str | int]) -> bool:
    """Return whether all numbers occur as camera numbers in the file names.

    A camera number has one or two digits and follows a word, as in ``view5``.
    """
    numbers_after_words: list[str] = []
    for name in names:
        numbers_after_words += _NUMBER_AFTER_WORD.findall(name)
    camera_numbers = {
        int(digits) for digits in numbers_after_words if len(digits) <= _CAMERA_DIGITS
    }
    return numbers <= camera_numbers


def _without(key: Key, marks: set[str | int]) -> Key:
    """Remove words and numbers, such as ``left``, from a key."""
    return tuple(part for part in key if part not in marks)


def left_and_right(names: Sequence[str]) -> tuple[dict[Key, str], dict[Key, str]] | None:
    """Divide file names into the names of left and of right images.

    Left and right images have the words ``left`` and ``right`` in their names. If one
    of the two words never occurs, the words ``l`` and ``r`` are used.

    Parameters
    ----------
    names : sequence of str
        File names without file extensions.

    Returns
    -------
    (dict, dict) or None
        Left names and right names by their keys. The left and the right image of a pair
        have equal keys. The result is None if there are no left names or no right
        names.

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
    """Return the file names that contain a word, such as ``left``.

    The keys of the dict do not contain this word.
    """
    names_by_key = {}
    for name in names:
        key = words_and_numbers(name)
        if word in key:
            names_by_key[_without(key, {word})] = name
    return names_by_key
