"""The paths of semi-global matching on compact volumes, whose pixels hold levels from a first one of their own on.

The path costs of a pixel are met by the next one at the same levels: shifted by the difference of their first levels. Around those of each pixel stand
as many numbers that no path costs as a shift may reach, so that levels which the other pixel does not hold are never the cheapest way; what
comes from the lowest path cost, whatever its level, always serves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.optimization._path_lanes import BYTES, HIGHEST, step_apart
from stereo_framework.optimization._semi_global_paths import CLOSED, CLOSED_FLOAT, Course, Found, Prices, Scratch, in_two_passes
from stereo_framework.optimization._semi_global_penalties import START, STEPS, Penalties, edge_lines
from stereo_framework.optimization._winners import chosen_costs, float_bits, winners
from stereo_framework.scene import Search


def compact_path_sums(
    costs: NDArray, first: NDArray[np.int16], search: Search, penalties: Penalties, kind: type
) -> tuple[NDArray, NDArray[np.int16], NDArray[np.float32]]:
    """As `path_sums`; `first` holds the level of each pixel's first cost, and labels are levels of the search."""
    rows, columns, held = costs.shape
    lanes = BYTES // np.dtype(kind).itemsize
    padded = -(-held // lanes) * lanes
    sums: NDArray = np.empty(costs.shape, kind)
    bits = float_bits(sums)
    found = Found(sums, np.empty((rows, columns), np.int16), np.empty((rows, columns), np.float32))
    prices: NDArray = penalties.prices.astype(kind)
    steps = len(penalties.classes)
    closes = costs.dtype == np.uint16 and kind is np.float32
    edges: Any = None
    starts = np.zeros(columns, np.int64)
    if penalties.match_edges is not None:
        edges, starts = edge_lines(penalties.match_edges, search, search.levels + lanes)
    # Of the path along the row two places in turn, of each other one those of two rows in turn, with one more at either end.
    places = 2 + 2 * (steps - 1) * (columns + 2)
    apart = 2 * padded + 2
    highest = HIGHEST[np.dtype(kind)]
    scratch = [
        Scratch(
            np.full((1, (places + 1) * apart), highest, kind),
            np.zeros((1, places), kind),
            np.full(padded, highest, kind),
            np.empty(padded, kind),
        )
        for _ in range(2)
    ]
    own = Prices(penalties.classes, prices, starts)

    def run(i: int, course: Course) -> None:
        _pass(costs, first, own, None if edges is None else edges[i].reshape(-1), course, scratch[i], found, bits)

    in_two_passes(run, rows, closes, costs.size)
    return sums, found.labels, found.chosen


_DOWN, _RIGHT = (np.array(amounts) for amounts in zip(*STEPS, strict=True))


@kernel
def _pass(
    costs: NDArray,
    firsts: NDArray[np.int16],
    own: Prices,
    edges: NDArray[np.uint8] | None,
    course: Course,
    scratch: Scratch,
    found: Found,
    bits: NDArray[np.int32] | None,
) -> None:
    """Go on with the paths of one pass; where it adds, sums are complete then. `bits` are those of float32 sums."""
    classes, prices, starts = own
    upwards, begin, end, adds, closes = course
    paths, lowest, line, total = scratch
    sums, labels, chosen = found
    rows, columns, held = costs.shape
    padded, steps, length = line.shape[0], classes.shape[0], 0
    if edges is not None:
        length = edges.shape[0] // (steps * rows)
    flat, least = paths.reshape(-1), lowest.reshape(-1)
    apart, gap, width = 2 * padded + 2, padded + 2, columns + 2
    all_costs, all_sums = costs.reshape(-1), sums.reshape(-1)
    turn = -1 if upwards else 1
    for i in range(begin, end):
        y = rows - 1 - i if upwards else i
        here, there = (i & 1) * width, ((i + 1) & 1) * width
        for j in range(columns):
            x = columns - 1 - j if upwards else j
            first = int(firsts[y, x])
            cell = np.uint64((y * columns + x) * held)
            # As in the pass of whole volumes; a kernel that both called would take half as much time again.
            if closes:
                for k in range(held):
                    cost = all_costs[cell + np.uint64(k)]
                    line[k] = CLOSED_FLOAT if cost == CLOSED else cost
            else:
                for k in range(held):
                    line[k] = all_costs[cell + np.uint64(k)]
            if adds:
                for k in range(held):
                    total[k] = all_sums[cell + np.uint64(k)]
            else:
                total[:] = 0
            for s in range(steps):
                down, right = _DOWN[s], _RIGHT[s]
                if s == 0:
                    source, target = (j + 1) & 1, j & 1
                else:
                    block = 2 + 2 * (s - 1) * width
                    source, target = block + there + j - right + 1, block + here + j + 1
                if upwards:
                    row = classes[s, y + down, x + right + 1]
                else:
                    row = classes[s, y, x + 1]
                shift = 0
                if row != START:
                    shift = first - int(firsts[y - turn * down, x - turn * right])
                    shift = min(max(shift, -padded - 1), padded + 1)
                at, edge = target * apart + gap, (s * rows + y) * length + starts[x] + first
                least[target] = step_apart(
                    line, flat, at, least[source], prices, row, edges, edge, total, source * apart + gap + shift
                )
            for k in range(held):
                all_sums[cell + np.uint64(k)] = total[k]
        if adds:
            winners(sums[y], None if bits is None else bits[y], labels[y])
            chosen_costs(costs[y], labels[y], chosen[y])
            for x in range(columns):
                labels[y, x] += firsts[y, x]
