"""What belongs to the match image in the order in which the levels of a volume reach it."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Search
from stereo_framework.kernels.arms import LONGEST, Arms


def to_the_border(rows: int, columns: int) -> Arms:
    """Arms that nothing but the image's left and right border ends."""
    arms = np.full((4, rows, columns), LONGEST, np.uint8)
    arms[0] = np.minimum(np.arange(columns), LONGEST)
    arms[1] = arms[0][:, ::-1]
    return arms


def along_levels(arms: Arms, search: Search) -> Arms:
    """The arms at all positions of the match image that levels reach, so that those that consecutive levels reach stand side by side.

    (4, rows, positions). Between two pixels it is the shorter one of their arms.
    """
    n, columns = search.denominator, arms.shape[2]
    fine = np.empty((*arms.shape[:2], (columns - 1) * n + 1), np.uint8)
    for i in range(n):
        fine[..., i::n] = arms if i == 0 else np.minimum(arms[..., :-1], arms[..., 1:])
    return in_level_order(fine, search)


def in_level_order(fine: NDArray, search: Search) -> NDArray:
    """What belongs to the fine positions of a row, ``denominator`` to a pixel, so that consecutive levels reach consecutive ones; along the last axis."""
    if search.direction > 0:
        fine = fine[..., ::-1]
    return np.ascontiguousarray(np.concatenate([fine[..., i :: search.stride] for i in range(search.stride)], axis=-1))


def origins(columns: int, search: Search) -> NDArray[np.int64]:
    """Where `in_level_order` puts the position that level 0 of each column reaches, were it in view."""
    x = np.arange(columns) * search.denominator
    places, residues = np.divmod((x[::-1] if search.direction > 0 else x) + search.first, search.stride)
    fine = (columns - 1) * search.denominator + 1
    return residues * (fine // search.stride) + np.minimum(residues, fine % search.stride) + places
