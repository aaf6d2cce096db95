"""Kernels of PatchMatch stereo: what a plane costs at a pixel, and how planes spread over a view.

A plane is float32 (a, b, z): at the pixel itself the disparity is z, one column or row further it is a or b more. Pixels of an image are four
float32 values: red, green, blue and the slope of grey along the row. The image that is matched with has one more column on the right, and
its pixels that do not count are `NOTHING`, which differs from everything by more than any truncation.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.exponential import exponential
from stereo_framework.kernels.random_numbers import random_number

Floats = NDArray[np.float32]
Places = NDArray[np.int32]

NOTHING = np.float32(1e6)

TILE = 16
"""Rows and columns of the pixels that one thread walks through before others may go on from there."""

_STEEPEST = np.float32(0.9)
"""Slope along the row beyond which a plane is not tried: at 1 it is seen edge-on by one of both cameras."""

_LEAST = np.float32(0.001)
"""Weight below which a pixel of a window is left out."""

_BLOCK = 64
"""Pixels of a window after which a plane is given up if it costs too much already."""


class Costs(NamedTuple):
    """Parameters of the dissimilarity of two pixels: the shares of its two parts, the values at which they are truncated, and 1 / gamma of the weights."""

    colour: np.float32
    slope: np.float32
    most_colour: np.float32
    most_slope: np.float32
    alike: np.float32


class Side(NamedTuple):
    """A view and what is known of it: its pixels, which of them count, the other view's pixels with their border, the limits of each pixel's disparity, its
    planes, their costs, the sums of the weights in them, and +1 or -1 for disparities that lead to the left or to the right in the other view.
    """

    own: Floats
    valid: NDArray[np.bool_]
    other: NDArray[np.uint64]
    low: Floats
    high: Floats
    planes: Floats
    costs: Floats
    weights: Floats
    sign: int


class Window(NamedTuple):
    """The pixels of a window that count, in long rows, which suit processors: how many columns and rows each lies from the centre, where its row begins in
    the other view, its weight and its four values. `line` has room for the weights of one row.
    """

    across: Floats
    down: Floats
    begin: NDArray[np.uint32]
    weights: Floats
    values: Floats
    line: Floats


@kernel
def new_window(radius: int) -> Window:
    """An empty window with room for all its pixels."""
    width = 2 * radius + 1
    most = width * width + _BLOCK
    across, down, weights = (
        np.empty(most, np.float32),
        np.empty(most, np.float32),
        np.empty(most, np.float32),
    )
    return Window(
        across,
        down,
        np.empty(most, np.uint32),
        weights,
        np.empty((4, most), np.float32),
        np.empty(width, np.float32),
    )


@kernel
def weigh(side: Side, y: int, x: int, radius: int, alike: np.float32, window: Window) -> np.uint64:
    """List the pixels around a pixel with weights 0..1 for how similar they are to it, and return how many places of the list are used.

    Pixels that lie beyond the image, do not count or weigh less than `_LEAST` are left out. Pixels of weight 0 at the end fill up the last block.
    """
    own, line = side.own, window.line
    rows, columns, _ = own.shape
    pitch = 2 * side.other.shape[1]
    red, green, blue = own[y, x, 0], own[y, x, 1], own[y, x, 2]
    left, right = max(0, x - radius), min(columns, x + radius + 1)
    count = np.uint64(0)
    for i in range(2 * radius + 1):
        # From the centre outwards, since weights are largest there: planes that cost too much are noticed early.
        away = (i + 1) // 2 if i % 2 == 1 else -(i // 2)
        row = y + away
        if row < 0 or row >= rows:
            continue
        pixels, valid = own[row, left:right], side.valid[row, left:right]
        for j in range(right - left):
            far = abs(pixels[j, 0] - red) + abs(pixels[j, 1] - green) + abs(pixels[j, 2] - blue)
            line[j] = exponential(-far * alike) if valid[j] else np.float32(0)
        for j in range(right - left):
            # The next pixel overwrites the entry of one that is left out.
            window.across[count], window.down[count] = left + j - x, away
            window.begin[count], window.weights[count] = row * pitch, line[j]
            for k in range(4):
                window.values[k, count] = pixels[j, k]
            count += np.uint64(line[j] >= _LEAST)
    stop = (count + np.uint64(_BLOCK - 1)) // np.uint64(_BLOCK) * np.uint64(_BLOCK)
    for n in range(count, stop):
        window.across[n], window.down[n], window.begin[n], window.weights[n] = 0, 0, y * pitch, 0
        window.values[:, n] = 0
    return stop


@kernel(inline="always")
def _low(pair: int) -> np.float32:
    return np.uint32(pair & np.uint64(0xFFFFFFFF)).view(np.float32)


@kernel(inline="always")
def _high(pair: int) -> np.float32:
    return np.uint32(pair >> np.uint64(32)).view(np.float32)


@kernel(fastmath={"reassoc", "nsz", "contract", "arcp", "afn"})
def _block_cost(
    other: NDArray[np.uint64], window: Window, first: int, place: np.float32, step: np.float32, drop: np.float32, last: np.float32, by: Costs
) -> np.float32:  # fmt: skip
    """The cost of a block of a window, whose centre lies at `place` in the other view's rows, a column further `step` and a row further `drop` further.

    Seeded kernels do without fastmath, since their draws would then hang on how a compiler rounds. This one draws nothing, and it alone is compiled so: without
    it a compiler adds the terms one after the other, and PatchMatch takes 1.7 times as long. A block is added in the same order wherever it is, so that
    a seed gives the same map on any number of threads; on another kind of processor sums may be rounded otherwise.
    """
    stop = first + _BLOCK
    across, down, begin = (
        window.across[first:stop],
        window.down[first:stop],
        window.begin[first:stop],
    )
    weights, values = window.weights[first:stop], window.values[:, first:stop]
    reds, greens, blues, slopes = values[0], values[1], values[2], values[3]
    total, half = (
        np.float32(0),
        np.float32(0.5) * (by.colour * by.most_colour + by.slope * by.most_slope),
    )
    for j in range(_BLOCK):
        free = place + across[j] * step + down[j] * drop
        at = free if free > np.float32(0) else np.float32(0)
        at = at if at < last else last
        left = np.uint32(at)
        part = at - np.float32(left)
        there = begin[j] + np.uint32(2) * left
        # Two values at a time, since loads from scattered places take most of the time.
        one, two = other[there], other[there + np.uint32(1)]
        three, four = other[there + np.uint32(2)], other[there + np.uint32(3)]
        red = abs(_low(one) + part * (_low(three) - _low(one)) - reds[j])
        green = abs(_high(one) + part * (_high(three) - _high(one)) - greens[j])
        blue = abs(_low(two) + part * (_low(four) - _low(two)) - blues[j])
        slope = abs(_high(two) + part * (_high(four) - _high(two)) - slopes[j])
        colour = min(red + green + blue, by.most_colour)
        cost = by.colour * colour + by.slope * min(slope, by.most_slope)
        # Beyond the image its outermost pixels repeat and cost at least half of the maximum; otherwise plain surfaces would fit nowhere better than there.
        total += weights[j] * (cost if at == free else max(cost, half))
    return total


@kernel
def plane_cost(
    side: Side, x: int, a: np.float32, b: np.float32, z: np.float32, window: Window, count: np.uint64, by: Costs, best: np.float32
) -> np.float32:  # fmt: skip
    """The weighted cost of a plane in the window around a pixel, which `weigh` has listed; once the sum exceeds `best`, it is returned unfinished."""
    sign, last = np.float32(side.sign), np.float32(side.own.shape[1] - 1)
    place, step, drop = np.float32(x) - sign * z, np.float32(1) - sign * a, -sign * b
    other = side.other.reshape(-1)
    total = np.float32(0)
    for first in range(0, count, _BLOCK):
        total += _block_cost(other, window, first, place, step, drop, last, by)
        if total > best:
            return total
    return total


@kernel
def try_plane(
    side: Side,
    y: int,
    x: int,
    a: np.float32,
    b: np.float32,
    z: np.float32,
    window: Window,
    count: np.uint64,
    by: Costs,
) -> None:
    """Give a pixel this plane if it is cheaper than its own and its disparity is within the pixel's limits."""
    if not (side.low[y, x] <= z <= side.high[y, x]) or abs(a) > _STEEPEST:
        return
    cost = plane_cost(side, x, a, b, z, window, count, by, side.costs[y, x])
    if cost < side.costs[y, x]:
        side.planes[y, x, 0], side.planes[y, x, 1], side.planes[y, x, 2] = a, b, z
        side.costs[y, x] = cost


@kernel
def _between(counter: int, key: int, draw: int, low: float, high: float) -> float:
    return low + (high - low) * (random_number(counter, key, draw) / 4294967296.0)


@kernel
def start(side: Side, key: int, first: int, stop: int) -> None:
    """Draw random planes in some rows: a disparity within the pixel's limits and a normal in any direction."""
    columns = side.own.shape[1]
    for y in range(first, stop):
        for x in range(columns):
            counter = y * columns + x
            # The depth component of the normal: where it is small, planes are steep and useless.
            up = _between(counter, key, 0, 0.7, 1.0)
            turn = _between(counter, key, 1, 0.0, 2 * np.pi)
            along = np.sqrt(1 - up * up) / up
            side.planes[y, x, 0] = along * np.cos(turn)
            side.planes[y, x, 1] = along * np.sin(turn)
            side.planes[y, x, 2] = _between(counter, key, 2, side.low[y, x], side.high[y, x])
            side.costs[y, x] = np.inf


@kernel
def _refine(
    side: Side,
    y: int,
    x: int,
    width: np.float32,
    key: int,
    draw: int,
    window: Window,
    count: np.uint64,
    by: Costs,
) -> None:
    """Try random planes around the pixel's own: at first far from it, then closer and closer."""
    counter = y * side.own.shape[1] + x
    reach, turn = np.float64(width) / 2, 1.0
    while reach > 0.1:
        a, b, z = side.planes[y, x, 0], side.planes[y, x, 1], side.planes[y, x, 2]
        length = np.sqrt(1.0 + a * a + b * b)
        across = -a / length + _between(counter, key, draw + 1, -turn, turn)
        down = -b / length + _between(counter, key, draw + 2, -turn, turn)
        up = 1 / length + _between(counter, key, draw + 3, -turn, turn)
        near = z + _between(counter, key, draw, -reach, reach)
        if abs(up) > 1e-3:
            try_plane(
                side,
                y,
                x,
                np.float32(-across / up),
                np.float32(-down / up),
                np.float32(near),
                window,
                count,
                by,
            )
        reach, turn, draw = reach / 2, turn / 2, draw + 4


@kernel
def meet(
    planes: Floats,
    valid: NDArray[np.bool_],
    sign: int,
    heads: Places,
    following: Places,
    first: int,
    stop: int,
) -> None:
    """In some rows, list for each pixel the pixels of the other view whose `planes` lead to it; `sign` belongs to this view.

    `heads` holds the column of the first one, `following` the column of the next one after each; -1 ends a list.
    """
    columns = valid.shape[1]
    for y in range(first, stop):
        heads[y] = -1
        for i in range(columns):
            place = i + np.float32(sign) * planes[y, i, 2]
            if valid[y, i] and 0 <= place <= columns - 1:
                target = int(np.rint(place))
                following[y, i], heads[y, target] = heads[y, target], i


@kernel
def sweep(
    side: Side, planes: Floats, heads: Places, following: Places, step: int, width: np.float32, key: int, draw: int, radius: int, by: Costs,
    diagonal: int, first: int, stop: int,
) -> None:  # fmt: skip
    """In some tiles of a diagonal, let pixels try the planes of their two predecessors and of the other view's pixels that lead to them, then refine.

    With `step` -1, rows, columns and tiles are counted from the last one. `planes` are the other view's, with the lists made by `meet`.
    """
    rows, columns = side.valid.shape
    sign = np.float32(side.sign)
    window = new_window(radius)
    for tile in range(first, stop):
        top, left = tile * TILE, (diagonal - tile) * TILE
        for i in range(top, min(top + TILE, rows)):
            for j in range(left, min(left + TILE, columns)):
                y, x = (i, j) if step > 0 else (rows - 1 - i, columns - 1 - j)
                if not side.valid[y, x]:
                    continue
                count = weigh(side, y, x, radius, by.alike, window)
                if np.isinf(side.costs[y, x]):
                    side.weights[y, x] = window.weights[:count].sum()
                    a, b, z = side.planes[y, x, 0], side.planes[y, x, 1], side.planes[y, x, 2]
                    side.costs[y, x] = plane_cost(
                        side, x, a, b, z, window, count, by, np.float32(np.inf)
                    )
                if j > 0 and side.valid[y, x - step]:
                    a, b, z = (
                        side.planes[y, x - step, 0],
                        side.planes[y, x - step, 1],
                        side.planes[y, x - step, 2],
                    )
                    try_plane(side, y, x, a, b, z + a * np.float32(step), window, count, by)
                if i > 0 and side.valid[y - step, x]:
                    a, b, z = (
                        side.planes[y - step, x, 0],
                        side.planes[y - step, x, 1],
                        side.planes[y - step, x, 2],
                    )
                    try_plane(side, y, x, a, b, z + b * np.float32(step), window, count, by)
                source = heads[y, x]
                while source >= 0:
                    a, b, z = seen_from(
                        planes[y, source, 0],
                        planes[y, source, 1],
                        planes[y, source, 2],
                        sign,
                        source,
                        x,
                    )
                    try_plane(side, y, x, a, b, z, window, count, by)
                    source = following[y, source]
                _refine(side, y, x, width, key, draw, window, count, by)


@kernel
def seen_from(
    a: np.float32, b: np.float32, z: np.float32, sign: np.float32, source: int, x: int
) -> tuple[np.float32, np.float32, np.float32]:
    """Express the plane of the other view's pixel `source` as a plane of this view's pixel `x`; `sign` belongs to this view."""
    # A pixel x of this view meets u = x - sign d, and d = z + a (u - source) there.
    scale = np.float32(1) + sign * a
    return a / scale, b / scale, (z + a * np.float32(x - source)) / scale


@kernel
def fill(
    planes: Floats,
    kept: NDArray[np.bool_],
    low: Floats,
    high: Floats,
    out: Floats,
    first: int,
    stop: int,
) -> None:
    """In some rows, write the disparities of kept pixels, and elsewhere the lower of the two planes of the nearest kept pixels to the left and right."""
    columns = kept.shape[1]
    before = np.empty(columns, np.int64)
    for y in range(first, stop):
        near = -1
        for x in range(columns):
            near = x if kept[y, x] else near
            before[x] = near
        near = -1
        for i in range(columns):
            x = columns - 1 - i
            near = x if kept[y, x] else near
            least = np.float32(np.inf)
            for source in (before[x], near):
                if source >= 0:
                    z = planes[y, source, 2] + planes[y, source, 0] * np.float32(x - source)
                    least = min(least, min(max(z, low[y, x]), high[y, x]))
            out[y, x] = least if least < np.inf else np.nan
