"""The paths of semi-global matching on compact volumes, which hold some blocks of levels of each pixel.

Path costs are kept block after block, like sums. Before each step those of the previous pixel are laid out in a line that has a place for every level, so
that the next pixel finds those of its own levels and of the levels next to them. Where nothing was laid stands the highest number there is: such levels
are never the cheapest way. What comes from the lowest path cost, whatever its level, always serves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Search
from stereo_framework.core.volume import Held
from stereo_framework.kernels.blocks import Firsts, Starts
from stereo_framework.kernels.decorator import kernel
from stereo_framework.optimization._path_lanes import HIGHEST, LANES, step_blocks
from stereo_framework.optimization._semi_global_paths import CLOSED, CLOSED_FLOAT, Course, Found, Prices, Scratch, in_two_passes
from stereo_framework.optimization._semi_global_penalties import START, STEPS, Penalties, edge_lines
from stereo_framework.optimization._winners import held_winners


def compact_path_sums(
    costs: NDArray, held: Held, search: Search, penalties: Penalties, kind: type
) -> tuple[NDArray, NDArray[np.int16], NDArray[np.float32]]:
    """As `path_sums`; sums are those of the blocks that are held, and labels are levels of the search."""
    if held.size % LANES:
        raise ParameterError(f"semi_global: a volume of blocks of {held.size} levels; a multiple of {LANES} is needed")
    rows, columns = held.shape
    sums: NDArray = np.empty(costs.shape, kind)
    found = Found(sums.reshape(-1, LANES), np.empty((rows, columns), np.int16), np.empty((rows, columns), np.float32))
    prices: NDArray = penalties.prices.astype(kind)
    steps = len(penalties.classes)
    closes = costs.dtype == np.uint16 and kind is np.float32
    edges: Any = None
    starts = np.zeros(columns, np.int64)
    if penalties.match_edges is not None:
        edges, starts = edge_lines(penalties.match_edges, search, search.levels)
    blocks, firsts = held.starts, held.firsts
    if held.size > LANES:
        # Blocks of more levels are taken in pieces.
        blocks = blocks * (held.size // LANES)
        firsts = (firsts[:, None] + np.arange(0, held.size, LANES)).reshape(-1).astype(np.int16)
    # Of the path along the row those of one pixel are kept, of each other one those of two rows in turn.
    longest, widest = search.levels + held.size, LANES * int(np.diff(blocks[::columns]).max())
    scratch = [
        Scratch(
            np.empty((1, longest + 2 * (steps - 1) * widest), kind),
            np.zeros((2 * steps - 1, columns), kind),
            np.empty(longest, kind),
            np.empty(longest, kind),
        )
        for _ in range(2)
    ]
    lines: NDArray = np.full((2, search.levels + 2 * LANES), HIGHEST[np.dtype(kind)], kind)
    own = Prices(penalties.classes, prices, starts)

    def run(i: int, course: Course) -> None:
        some = None if edges is None else edges[i].reshape(-1)
        _pass(costs.reshape(-1, LANES), blocks, firsts, own, some, course, scratch[i], lines[i], found)

    in_two_passes(run, rows, closes, costs.size)
    return sums, found.labels, found.chosen


_DOWN, _RIGHT = (np.array(amounts) for amounts in zip(*STEPS, strict=True))


@kernel
def _pass(
    costs: NDArray,
    held: Starts,
    firsts: Firsts,
    own: Prices,
    edges: NDArray[np.uint8] | None,
    course: Course,
    scratch: Scratch,
    line: NDArray,
    found: Found,
) -> None:
    """Go on with the paths of one pass; where it adds, sums are complete then."""
    classes, prices, starts = own
    upwards, begin, end, adds, closes = course
    paths, least, own_costs, total = scratch
    sums, labels, chosen = found
    rows, columns = labels.shape
    steps, length = classes.shape[0], 0
    if edges is not None:
        length = edges.shape[0] // (steps * rows)
    flat, longest = paths.reshape(-1), own_costs.shape[0]
    widest = 0 if steps == 1 else (flat.shape[0] - longest) // (2 * (steps - 1))
    all_costs, all_sums = costs.reshape(-1), sums.reshape(-1)
    turn = -1 if upwards else 1
    for i in range(begin, end):
        y = rows - 1 - i if upwards else i
        for j in range(columns):
            x = columns - 1 - j if upwards else j
            pixel = y * columns + x
            block, block_stop = held[pixel], held[pixel + 1]
            count, cell = (block_stop - block) * LANES, np.uint64(block * LANES)
            # As in the pass of whole volumes; a kernel that both called would take half as much time again.
            if closes:
                for k in range(count):
                    cost = all_costs[cell + np.uint64(k)]
                    own_costs[k] = CLOSED_FLOAT if cost == CLOSED else cost
            else:
                for k in range(count):
                    own_costs[k] = all_costs[cell + np.uint64(k)]
            if adds:
                for k in range(count):
                    total[k] = all_sums[cell + np.uint64(k)]
            else:
                for k in range(count):
                    total[k] = 0
            for s in range(steps):
                down, right = _DOWN[s], _RIGHT[s]
                if upwards:
                    row = classes[s, y + down, x + right + 1]
                else:
                    row = classes[s, y, x + 1]
                before = before_stop = source = at = 0
                here = there = s
                if s > 0:
                    # Rows take turns.
                    here, there = 2 * s - 1 + (i & 1), 2 * s - 1 + ((i + 1) & 1)
                    at = longest + (here - 1) * widest + (block - held[y * columns]) * LANES
                came, lowest = x, least[s, 0]
                if row != START:
                    came = x - turn * right
                    previous = (y - turn * down) * columns + came
                    before, before_stop = held[previous], held[previous + 1]
                    if s > 0:
                        source = longest + (there - 1) * widest + (before - held[previous - came]) * LANES
                        lowest = least[there, came]
                edge = (s * rows + y) * length + starts[x]
                found_least = step_blocks(
                    own_costs,
                    flat,
                    at,
                    lowest,
                    prices,
                    row,
                    edges,
                    edge,
                    total,
                    line,
                    firsts,
                    source,
                    before,
                    before_stop,
                    block,
                    block_stop,
                )
                least[here, 0 if s == 0 else x] = found_least
            for k in range(count):
                all_sums[cell + np.uint64(k)] = total[k]
        if adds:
            held_winners(sums, costs, held[y * columns : (y + 1) * columns + 1], firsts, labels[y], chosen[y])
