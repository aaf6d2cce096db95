"""Kernels that visit the pixels row by row, or backwards, and use what those before have left: messages on the way, and threads for them.

A pixel depends on its left and its upper neighbour alone. Blocks of an antidiagonal are thus independent, and visiting one antidiagonal
after the other comes to the same as visiting the pixels row by row.
"""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_blocks
from stereo_framework.optimization._messages import Passing, send

BLOCK_ROWS, BLOCK_COLUMNS = 32, 64
"""Pixels of a block. After each antidiagonal threads wait for each other: the more blocks, the more often, and the more threads have work."""


def blocks_of(rows: int, columns: int) -> tuple[int, int]:
    """How many blocks stand one below the other, and side by side."""
    return -(-rows // BLOCK_ROWS), -(-columns // BLOCK_COLUMNS)


def sequential(passing: Passing, trees: bool = False) -> float:
    """Messages to the right and down, pixel after pixel, then back from the last pixel to the left and up.

    Parameters
    ----------
    passing : Passing
        Messages of an edge in one direction are read before those in the other are written: both may be the same memory.
    trees : bool
        What a pixel bears is divided among the chains through it (Kolmogorov 2006, section 4), each edge of weight above 0 belonging to one.

    Returns
    -------
    float
        With `trees` and without damping no labelling has an energy below this, up to rounding.
    """
    rows, columns, costs, _, _, prior, _ = passing
    work, bounds = (
        4 * costs.size * (1 if prior.linear else min(prior.reach, 4)),
        np.zeros(blocks_of(rows, columns)),
    )
    for sign in (1, -1):
        bounds[:] = 0

        def run(antidiagonal: int, start: int, stop: int, sign: int = sign) -> None:
            _pass_on(antidiagonal, start, stop, sign, passing, trees, bounds)

        over_blocks(run, bounds.shape, work, backwards=sign < 0)
    return float(bounds.sum())


@kernel
def _pass_on(
    antidiagonal: int,
    start: int,
    stop: int,
    sign: int,
    passing: Passing,
    trees: bool,
    bounds: NDArray[np.float64],
) -> None:
    """Send what the pixels of some blocks tell those after them; `sign` -1: those before them, from the last pixel on."""
    (
        rows,
        columns,
        costs,
        (from_left, from_right, from_above, from_below),
        (right, down),
        prior,
        damping,
    ) = passing
    levels = costs.shape[1]
    # What a pixel tells the two neighbours that come after it, and what it has heard from them.
    to_beside, to_next = (from_left, from_above) if sign > 0 else (from_right, from_below)
    from_beside, from_next = (from_right, from_below) if sign > 0 else (from_left, from_above)
    total, of_level, spare = (
        np.empty(levels, np.float32),
        np.empty(levels, np.float32),
        np.empty(levels, np.float32),
    )
    for block in range(start, stop):
        top, left = block * BLOCK_ROWS, (antidiagonal - block) * BLOCK_COLUMNS
        bottom, end = min(top + BLOCK_ROWS, rows), min(left + BLOCK_COLUMNS, columns)
        bound = 0.0
        for j in range(bottom - top):
            y = top + j if sign > 0 else bottom - 1 - j
            for i in range(end - left):
                x = left + i if sign > 0 else end - 1 - i
                pixel = y * columns + x
                p = np.uint64(pixel)
                for k in range(levels):
                    total[k] = (
                        costs[p, k]
                        + (from_left[p, k] + from_right[p, k])
                        + (from_above[p, k] + from_below[p, k])
                    )
                to_right = right[p] if x + 1 < columns else np.float32(0)
                to_left = right[np.uint64(pixel - 1)] if x > 0 else np.float32(0)
                to_below = down[p] if y + 1 < rows else np.float32(0)
                to_above = down[np.uint64(pixel - columns)] if y > 0 else np.float32(0)
                one, other = (to_right, to_below) if sign > 0 else (to_left, to_above)
                ahead = int(one > 0) + int(other > 0)
                chains = max(
                    ahead,
                    int(to_right > 0)
                    + int(to_left > 0)
                    + int(to_below > 0)
                    + int(to_above > 0)
                    - ahead,
                    1,
                )
                share = np.float32(1 / chains) if trees else np.float32(1)
                if ahead < chains:
                    # The chains that end here.
                    least = np.float32(np.inf)
                    for k in range(levels):
                        least = total[k] if total[k] < least else least
                    bound += np.float64(least) * ((chains - ahead) / chains)
                if one > 0:
                    q = np.uint64(pixel + sign)
                    for k in range(levels):
                        of_level[k] = share * total[k] - from_beside[p, k]
                    bound += send(of_level, spare, one, prior, damping, to_beside[q])
                if other > 0:
                    q = np.uint64(pixel + sign * columns)
                    for k in range(levels):
                        of_level[k] = share * total[k] - from_next[p, k]
                    bound += send(of_level, spare, other, prior, damping, to_next[q])
        bounds[block, antidiagonal - block] = bound
