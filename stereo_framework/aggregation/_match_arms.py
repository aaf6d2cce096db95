"""What belongs to the match image in the order in which the levels of a volume reach it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.arms import LONGEST, Arms
from stereo_framework.scene import Search


def to_the_border(rows: int, columns: int) -> Arms:
    """Arms that nothing but the image's left and right border ends."""
    arms = np.full((4, rows, columns), LONGEST, np.uint8)
    arms[0] = np.minimum(np.arange(columns), LONGEST)
    arms[1] = arms[0][:, ::-1]
    return arms


def between_pixels(arms: Arms, denominator: int) -> NDArray[np.uint8]:
    """The arms at ``denominator`` positions of each pixel, itself the first; (4, positions, rows, columns).

    Between two pixels it is the shorter one of their arms; beyond the last pixel no level reaches.
    """
    both = np.minimum(arms, np.roll(arms, -1, axis=2)) if denominator > 1 else arms
    return np.stack([arms] + [both] * (denominator - 1), axis=1)


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
