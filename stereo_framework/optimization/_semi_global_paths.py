"""The paths of semi-global matching: one pass down the image for half of their directions, one up for the others."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Search
from stereo_framework.core.volume import CLOSED, CLOSED_FLOAT
from stereo_framework.kernels.any_costs import AnyCosts, any_costs
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.optimization._path_lanes import BYTES, HIGHEST, step
from stereo_framework.optimization._semi_global_penalties import STEPS, Penalties, edge_lines
from stereo_framework.optimization._winners import Searched, row_winners, searched

Marks = NDArray[np.uint8]


class Prices(NamedTuple):
    """What a change of level costs: the class of each step, the prices of the classes, and where the edges of the match image stand for each column."""

    classes: NDArray[np.uint8]
    prices: NDArray
    starts: NDArray[np.int64]


class Course(NamedTuple):
    """The rows of a pass, counted from where it starts; whether it adds to what the other pass has left, and whether cells may be closed."""

    upwards: bool
    first: int
    last: int
    adds: bool
    closes: bool


class Scratch(NamedTuple):
    """Path costs of the row that a pass did last, their minima, and a pixel's costs and sums."""

    paths: NDArray
    least: NDArray
    line: NDArray
    total: NDArray


class Found(NamedTuple):
    """Sums of all paths, the levels where they are lowest, and the costs there."""

    sums: NDArray
    labels: NDArray[np.int16]
    chosen: NDArray[np.float32]


def largest_open(costs: NDArray) -> int:
    """The largest of integer costs that is not `CLOSED`; of uint8 the largest there may be."""
    if costs.dtype == np.uint8:
        return 255
    largest = int(costs.max())
    return largest if largest != CLOSED else int(np.max(costs, initial=0, where=costs != CLOSED))


def path_sums(
    costs: NDArray, search: Search, penalties: Penalties, kind: type
) -> tuple[NDArray, NDArray[np.int16], NDArray[np.float32]]:
    """The sum of the paths from all directions for each cell, the levels where it is lowest, and the costs there.

    Parameters
    ----------
    costs : ndarray, float32, uint16 or uint8, (rows, columns, levels)
    search : Search
    penalties : Penalties
    kind : type
        Of the sums: float32, or uint16 where neither costs nor prices have fractions and no sum of open cells reaches `CLOSED`.
    """
    rows, columns, levels = costs.shape
    lanes = BYTES // np.dtype(kind).itemsize
    padded = -(-levels // lanes) * lanes
    sums: NDArray = np.empty(costs.shape, kind)
    found = Found(sums, np.empty((rows, columns), np.int16), np.empty((rows, columns), np.float32))
    prices: NDArray = penalties.prices.astype(kind)
    steps = len(penalties.classes)
    closes = costs.dtype == np.uint16 and kind is np.float32
    edges: Any = None
    starts = np.zeros(columns, np.int64)
    if penalties.match_edges is not None:
        edges, starts = edge_lines(penalties.match_edges, search, padded)
    # A pass keeps the path costs of the row that it did last, and of the pixel to its side: no second volume.
    scratch = [
        Scratch(
            np.zeros((steps, columns * padded), kind),
            np.zeros((steps, columns), kind),
            np.full(padded, HIGHEST[np.dtype(kind)], kind),
            np.empty(padded, kind),
        )
        for _ in range(2)
    ]
    own, read = Prices(penalties.classes, prices, starts), any_costs(costs)

    def run(i: int, course: Course) -> None:
        _pass(read, levels, own, None if edges is None else edges[i].reshape(-1), course, scratch[i], found, searched(sums))

    in_two_passes(run, rows, closes, costs.size)
    return sums, found.labels, found.chosen


def in_two_passes(run: Callable[[int, Course], None], rows: int, closes: bool, cells: int) -> None:
    """Let pass 0, down the image, and pass 1, up, run side by side.

    Each first does the half of the rows that it starts at, and then adds to the other half what the other pass left there.
    """
    bounds = [0, rows // 2, rows], [0, rows - rows // 2, rows]

    def half(adds: bool) -> Callable[[int, int], None]:
        def some(start: int, stop: int) -> None:
            for i in range(start, stop):
                run(i, Course(i == 1, bounds[i][adds], bounds[i][adds + 1], adds, closes))

        return some

    for adds in (False, True):
        over_rows(half(adds), 2, cells)


_DOWN, _RIGHT = (np.array(amounts) for amounts in zip(*STEPS, strict=True))


@kernel
def _pass(
    costs: AnyCosts, levels: int, own: Prices, edges: Marks | None, course: Course, scratch: Scratch, found: Found, form: Searched
) -> None:
    """Go on with the paths of one pass; where it adds, sums are complete then. `form`: the sums, as winners are searched in them."""
    # What may be None stands alone: the compiler leaves out what does not run then.
    classes, prices, starts = own
    upwards, first, last, adds, closes = course
    paths, least, line, total = scratch
    sums, labels, chosen = found
    (rows, columns), (whole, wide, fractions) = labels.shape, costs
    padded, steps, length = line.shape[0], classes.shape[0], 0
    if edges is not None:
        length = edges.shape[0] // (steps * rows)
    flat, first_places = paths.reshape(-1), np.zeros(steps, np.int64)
    bytes_, words, floats, all_sums = whole.reshape(-1), wide.reshape(-1), fractions.reshape(-1), sums.reshape(-1)
    for i in range(first, last):
        y = rows - 1 - i if upwards else i
        for s in range(1, steps):
            # Paths keep their place in the line from row to row, so that a step overwrites what it starts from.
            first_places[s] = -_RIGHT[s] * i % columns
        for j in range(columns):
            x = columns - 1 - j if upwards else j
            # Slices cost more than the arithmetic of a pixel, and unsigned indices need no wraparound check.
            cell = np.uint64((y * columns + x) * levels)
            if bytes_.size > 0:
                for k in range(levels):
                    line[k] = bytes_[cell + np.uint64(k)]
            elif closes:
                for k in range(levels):
                    cost = words[cell + np.uint64(k)]
                    line[k] = CLOSED_FLOAT if cost == CLOSED else cost
            elif words.size > 0:
                for k in range(levels):
                    line[k] = words[cell + np.uint64(k)]
            else:
                for k in range(levels):
                    line[k] = floats[cell + np.uint64(k)]
            if adds:
                for k in range(levels):
                    total[k] = all_sums[cell + np.uint64(k)]
            else:
                total[:] = 0
            for s in range(steps):
                place = 0 if s == 0 else first_places[s] + j
                place = place - columns if place >= columns else place
                if upwards:
                    row = classes[s, y + _DOWN[s], x + _RIGHT[s] + 1]
                else:
                    row = classes[s, y, x + 1]
                at, edge = (s * columns + place) * padded, (s * rows + y) * length + starts[x]
                least[s, place] = step(line, flat, at, least[s, place], prices, row, edges, edge, total)
            for k in range(levels):
                all_sums[cell + np.uint64(k)] = total[k]
        if adds:
            row_winners(form, y, labels[y])
            for x in range(columns):
                cell = np.uint64((y * columns + x) * levels) + np.uint64(labels[y, x])
                chosen[y, x] = bytes_[cell] if bytes_.size > 0 else words[cell] if words.size > 0 else floats[cell]
