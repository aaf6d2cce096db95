"""Kernels of PatchMatch stereo: what a plane costs at a pixel, and how planes spread along rows and columns.

A plane is float32 (a, b, z): at the pixel itself the disparity is z, one column or row further it is a or b more. Pixels of an image are float32 of four
values: red, green, blue and the slope of the grey values along the row; the image that is matched with has a column more on either side, and
what does not count in it is `NOTHING`, which differs from everything by more than any truncation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.exponential import exponential
from stereo_framework.kernels.random_numbers import random_number

Floats = NDArray[np.float32]

NOTHING = np.float32(1e6)

_STEEPEST = np.float32(0.9)
"""Slope along the row beyond which a plane is not tried: at 1 it is seen edge-on by one of both cameras."""

_DRAWS = 64
"""Random numbers of one pixel in one sweep, at most."""


class Costs(NamedTuple):
    """Parameters of the dissimilarity of two pixels: shares of both parts, where they are truncated, and 1 / gamma of the weights."""

    colour: np.float32
    slope: np.float32
    most_colour: np.float32
    most_slope: np.float32
    alike: np.float32


class Side(NamedTuple):
    """A view, and what is known of it: pixels, those that count, the other view's pixels with borders, the limits of each pixel's disparity, its planes
    and their costs, and +1 or -1 as disparities lead to the left or right in the other view.
    """

    own: Floats
    valid: NDArray[np.bool_]
    other: NDArray[np.uint64]
    low: Floats
    high: Floats
    planes: Floats
    costs: Floats
    sign: int


@kernel
def weigh(side: Side, y: int, x: int, radius: int, alike: np.float32, weights: Floats) -> None:
    """How alike each pixel of the window is to its centre, 0..1; 0 beyond the image and where it does not count."""
    own = side.own
    rows, columns, _ = own.shape
    red, green, blue = own[y, x, 0], own[y, x, 1], own[y, x, 2]
    for i in range(2 * radius + 1):
        row = y + i - radius
        line = weights[i]
        if row < 0 or row >= rows:
            line[:] = 0
            continue
        first, stop = max(0, radius - x), min(2 * radius + 1, columns - x + radius)
        line[:first] = 0
        line[stop:] = 0
        pixels, valid, part = own[row, x - radius + first :], side.valid[row, x - radius + first :], line[first:stop]
        for j in range(part.shape[0]):
            far = abs(pixels[j, 0] - red) + abs(pixels[j, 1] - green) + abs(pixels[j, 2] - blue)
            part[j] = exponential(-far * alike) if valid[j] else np.float32(0)


@kernel(inline="always")
def _low(pair: int) -> np.float32:
    return np.uint32(pair & np.uint64(0xFFFFFFFF)).view(np.float32)


@kernel(inline="always")
def _high(pair: int) -> np.float32:
    return np.uint32(pair >> np.uint64(32)).view(np.float32)


@kernel(fastmath={"reassoc", "nsz", "contract", "arcp", "afn"})
def _row_cost(
    own: Floats, other: NDArray[np.uint64], weights: Floats, place: np.float32, step: np.float32, last: np.float32, by: Costs
) -> np.float32:
    """The cost of pixels in a row, the first of which lies at `place` in the other view's extended row, each further one `step` further."""
    total = np.float32(0)
    for j in range(weights.shape[0]):
        at = place + np.float32(j) * step
        at = at if at > np.float32(0) else np.float32(0)
        at = at if at < last else last
        left = np.uint32(at)
        part = at - np.float32(left)
        here, there = np.uint32(4) * np.uint32(j), np.uint32(2) * left
        # Two values at a time: loads from many places are what takes the time.
        one, two, three, four = other[there], other[there + 1], other[there + 2], other[there + 3]
        red = abs(_low(one) + part * (_low(three) - _low(one)) - own[here])
        green = abs(_high(one) + part * (_high(three) - _high(one)) - own[here + 1])
        blue = abs(_low(two) + part * (_low(four) - _low(two)) - own[here + 2])
        slope = abs(_high(two) + part * (_high(four) - _high(two)) - own[here + 3])
        colour = min(red + green + blue, by.most_colour)
        total += weights[j] * (by.colour * colour + by.slope * min(slope, by.most_slope))
    return total


@kernel
def plane_cost(
    side: Side, y: int, x: int, a: np.float32, b: np.float32, z: np.float32, weights: Floats, by: Costs, best: np.float32
) -> np.float32:
    """The weighted cost of a plane in the window around a pixel; anything above `best` as soon as it is that."""
    rows, columns, _ = side.own.shape
    radius = weights.shape[0] // 2
    first, stop = max(0, x - radius), min(columns, x + radius + 1)
    # Half a pixel before the extended row's last one, where hardly anything but that shows.
    shift, last = np.float32(side.sign), np.float32(columns) + np.float32(0.5)
    total = np.float32(0)
    for i in range(2 * radius + 1):
        # From the middle outwards, where weights are largest, so that what is too dear shows early.
        away = (i + 1) // 2 if i % 2 == 1 else -(i // 2)
        row = y + away
        if row < 0 or row >= rows:
            continue
        disparity = z + b * np.float32(away) + a * np.float32(first - x)
        # The extended row begins a column before the image.
        place = np.float32(first + 1) - shift * disparity
        line = weights[away + radius, first - x + radius : stop - x + radius]
        total += _row_cost(
            side.own[row, first:stop].reshape(-1),
            side.other[row].reshape(-1),
            line,
            place,
            np.float32(1) - shift * a,
            last,
            by,
        )
        if total > best:
            return total
    return total


@kernel
def try_plane(side: Side, y: int, x: int, a: np.float32, b: np.float32, z: np.float32, weights: Floats, by: Costs) -> None:
    """Give a pixel a plane that is cheaper than its own, if its disparity is within the pixel's limits."""
    if not (side.low[y, x] <= z <= side.high[y, x]) or abs(a) > _STEEPEST:
        return
    cost = plane_cost(side, y, x, a, b, z, weights, by, side.costs[y, x])
    if cost < side.costs[y, x]:
        side.planes[y, x, 0], side.planes[y, x, 1], side.planes[y, x, 2] = a, b, z
        side.costs[y, x] = cost


@kernel
def _between(counter: int, key: int, draw: int, low: float, high: float) -> float:
    return low + (high - low) * (random_number(counter, key, draw) / 4294967296.0)


@kernel
def start(side: Side, key: int, first: int, stop: int) -> None:
    """Random planes in some rows: a disparity within the pixel's limits and a normal of any direction."""
    columns = side.own.shape[1]
    for y in range(first, stop):
        for x in range(columns):
            counter = y * columns + x
            # The depth of the normal: where it is small, planes are steep and of no use.
            up = _between(counter, key, 0, 0.7, 1.0)
            turn = _between(counter, key, 1, 0.0, 2 * np.pi)
            along = np.sqrt(1 - up * up) / up
            side.planes[y, x, 0] = along * np.cos(turn)
            side.planes[y, x, 1] = along * np.sin(turn)
            side.planes[y, x, 2] = _between(counter, key, 2, side.low[y, x], side.high[y, x])
            side.costs[y, x] = np.inf


@kernel
def _refine(side: Side, y: int, x: int, width: np.float32, key: int, draw: int, weights: Floats, by: Costs) -> None:
    """Try planes around a pixel's own, at first far ones, then nearer and nearer."""
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
            try_plane(side, y, x, np.float32(-across / up), np.float32(-down / up), np.float32(near), weights, by)
        reach, turn, draw = reach / 2, turn / 2, draw + 4


@kernel
def sweep_rows(
    side: Side, planes: Floats, shown: NDArray[np.bool_], step: int, width: np.float32, key: int, draw: int, radius: int, by: Costs,
    first: int, stop: int,
) -> None:  # fmt: skip
    """Let planes spread along some rows, take those of the other view's pixels that meet a pixel (`planes`, where `shown`), and refine."""
    columns = side.own.shape[1]
    weights = np.empty((2 * radius + 1, 2 * radius + 1), np.float32)
    # Lists of the other view's pixels that meet each pixel.
    head, following = np.empty(columns, np.int64), np.empty(columns, np.int64)
    sign = np.float32(side.sign)
    for y in range(first, stop):
        head[:] = -1
        for i in range(columns):
            place = i + sign * planes[y, i, 2]
            if shown[y, i] and 0 <= place <= columns - 1:
                target = int(np.rint(place))
                following[i], head[target] = head[target], i
        for i in range(columns):
            x = i if step > 0 else columns - 1 - i
            if not side.valid[y, x]:
                continue
            weigh(side, y, x, radius, by.alike, weights)
            if np.isinf(side.costs[y, x]):
                a, b, z = side.planes[y, x, 0], side.planes[y, x, 1], side.planes[y, x, 2]
                side.costs[y, x] = plane_cost(side, y, x, a, b, z, weights, by, np.float32(np.inf))
            if 0 <= x - step < columns and side.valid[y, x - step]:
                a, b, z = side.planes[y, x - step, 0], side.planes[y, x - step, 1], side.planes[y, x - step, 2]
                try_plane(side, y, x, a, b, z + a * np.float32(step), weights, by)
            source = head[x]
            while source >= 0:
                a, b, z = seen_from(planes[y, source, 0], planes[y, source, 1], planes[y, source, 2], sign, source, x)
                try_plane(side, y, x, a, b, z, weights, by)
                source = following[source]
            _refine(side, y, x, width, key, draw, weights, by)


@kernel
def sweep_columns(side: Side, step: int, radius: int, by: Costs, first: int, stop: int) -> None:
    """Let planes spread along some columns."""
    rows = side.own.shape[0]
    weights = np.empty((2 * radius + 1, 2 * radius + 1), np.float32)
    for x in range(first, stop):
        for i in range(rows):
            y = i if step > 0 else rows - 1 - i
            if not side.valid[y, x] or not 0 <= y - step < rows or not side.valid[y - step, x]:
                continue
            weigh(side, y, x, radius, by.alike, weights)
            a, b, z = side.planes[y - step, x, 0], side.planes[y - step, x, 1], side.planes[y - step, x, 2]
            try_plane(side, y, x, a, b, z + b * np.float32(step), weights, by)


@kernel
def seen_from(
    a: np.float32, b: np.float32, z: np.float32, sign: np.float32, source: int, x: int
) -> tuple[np.float32, np.float32, np.float32]:
    """A plane of the pixel `source` of the other view as one of the pixel `x` of this one; `sign` is this view's."""
    # A pixel x of this view meets u = x - sign d, and d = z + a (u - source) there.
    scale = np.float32(1) + sign * a
    return a / scale, b / scale, (z + a * np.float32(x - source)) / scale


@kernel
def fill(planes: Floats, kept: NDArray[np.bool_], low: Floats, high: Floats, out: Floats, first: int, stop: int) -> None:
    """In some rows, disparities of the pixels kept, and elsewhere the lower one of the planes of the nearest kept pixels to the left and right."""
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
