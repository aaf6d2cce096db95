"""Candidate planes of each pixel, what they cost, and the choice among them.

A plane is its value at some pixel, and its change per pixel to the right and per pixel down.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.local_planes import solve_normal_equations
from stereo_framework.kernels.random_numbers import random_number

Values = NDArray[np.float32]
Levels = NDArray[np.int32]
Places = NDArray[np.int64]
Two = tuple[float, float]
Three = tuple[float, float, float]

_POINTS = 96
"""How many estimates of a region its plane is fitted to."""
_DRAWN = 3 * _POINTS
"""How many pixels of a region are drawn for them."""
_LEAST = 12
"""Fewer estimates than this have no plane."""
_TRIES = 40
"""How many planes through three of the estimates are tried."""
_FITS = 2
"""How often the best one is refitted to all."""
_STEEPEST = (1.0, 2.0)
"""Largest slopes along rows and along columns."""
_SPREAD = 0.02
"""Three pixels tell a plane when they span at least this share of the region's squared side."""
_NONE = np.int32(2**31 - 1)
"""Stands after the keys of all candidates."""
_NUMBERS = 1 + _DRAWN * 2 + _TRIES * 3 + 1
"""How many random numbers a region may need."""


@kernel
def region_planes(
    planes: Values,
    colours: NDArray,
    order: Places,
    begins: Places,
    limits: Three,
    keys: Two,
    found: Values,
) -> None:
    """A plane for each region of the image: through the disparities of those of its pixels that are coloured like a random one of them.

    Parameters
    ----------
    planes : ndarray, float32, (3, rows, columns)
        The plane of each pixel: value, right, down. Where too few pixels are alike, the random pixel's is the region's.
    colours : ndarray, (rows, columns, channels)
    order, begins : ndarray, int64
        The pixels of region i are ``order[begins[i] : begins[i + 1]]``, counted row by row; at least one.
    limits : (side, tolerance, alike)
        Side of a region, in pixels; 0: 0.7 times the root of the number of its pixels. Estimates off by less than the tolerance count for a plane, in pixels.
        Colours are alike that differ by less than the last in every channel, in grey levels. If it is infinite, small regions count as a whole.
    keys : (int, int)
        Of the random numbers.
    found : ndarray, float32, (regions, 5)
        Written: value, right and down of each region's plane, and the row and column that have the value.
    """
    (_, columns, channels), (side, tolerance, alike) = colours.shape, limits
    points = np.empty((3, _POINTS), np.float64)
    for region in range(found.shape[0]):
        counter, size = region * _NUMBERS, begins[region + 1] - begins[region]
        pixel = order[begins[region] + random_number(counter, keys[0], keys[1]) % size]
        y, x = pixel // columns, pixel % columns
        whole = alike == np.inf and size <= _POINTS
        count, draw, last = 0, 0, size if whole else _DRAWN
        while draw < last and count < _POINTS:
            place = draw if whole else random_number(counter + 1 + draw, keys[0], keys[1]) % size
            draw += 1
            pixel = order[begins[region] + place]
            v, u = pixel // columns, pixel % columns
            apart = 0.0
            for c in range(channels):
                apart = max(apart, abs(np.float64(colours[v, u, c]) - np.float64(colours[y, x, c])))
            if apart < alike:
                points[0, count], points[1, count], points[2, count] = u - x, v - y, planes[0, v, u]
                count += 1
        span = side if side > 0 else 0.7 * np.sqrt(size)
        _fit(
            points[:, :count],
            planes,
            y,
            x,
            span,
            tolerance,
            counter + _DRAWN + 1,
            keys,
            found[region],
        )


@kernel
def _fit(
    points: NDArray,
    planes: Values,
    y: int,
    x: int,
    side: float,
    tolerance: float,
    counter: int,
    keys: Two,
    found: Values,
) -> None:
    """The plane with the highest sum of 1 - (e / tolerance)^2 over the points (x, y, value from a pixel on) that are off by e < tolerance, refitted."""
    count, best = points.shape[1], 0.0
    right = down = level = 0.0
    xs, ys, zs = points[0], points[1], points[2]
    for n in range(_TRIES if count >= _LEAST else 0):
        i = random_number(counter + 3 * n, keys[0], keys[1]) % count
        j = random_number(counter + 3 * n + 1, keys[0], keys[1]) % count
        k = random_number(counter + 3 * n + 2, keys[0], keys[1]) % count
        x1, y1, z1 = xs[j] - xs[i], ys[j] - ys[i], zs[j] - zs[i]
        x2, y2, z2 = xs[k] - xs[i], ys[k] - ys[i], zs[k] - zs[i]
        area = x1 * y2 - x2 * y1
        if abs(area) < _SPREAD * side * side or area == 0:
            continue
        a, b = (z1 * y2 - z2 * y1) / area, (x1 * z2 - x2 * z1) / area
        if abs(a) > _STEEPEST[0] or abs(b) > _STEEPEST[1]:
            continue
        c, score = zs[i] - a * xs[i] - b * ys[i], 0.0
        for p in range(count):
            e = (zs[p] - c - a * xs[p] - b * ys[p]) / tolerance
            score += max(0.0, 1 - e * e)
        if score > best:
            best, right, down, level = score, a, b, c
    for _ in range(_FITS if best > 0 else 0):
        # A little is added to the diagonal, so that points on a line have a plane too.
        xx, xy, xo, yy, yo, ones, xz, yz, zo = 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-6, 0.0, 0.0, 0.0
        for p in range(count):
            e = (zs[p] - level - right * xs[p] - down * ys[p]) / tolerance
            w = max(0.0, 1 - e * e) ** 2
            xx, xy, xo, xz = (
                xx + w * xs[p] * xs[p],
                xy + w * xs[p] * ys[p],
                xo + w * xs[p],
                xz + w * xs[p] * zs[p],
            )
            yy, yo, ones, yz, zo = (
                yy + w * ys[p] * ys[p],
                yo + w * ys[p],
                ones + w,
                yz + w * ys[p] * zs[p],
                zo + w * zs[p],
            )
        right, down, level = solve_normal_equations(xx, xy, xo, yy, yo, ones, xz, yz, zo)
    if best > 0:
        found[0], found[1], found[2] = level, right, down
    else:
        found[0], found[1], found[2] = planes[0, y, x], planes[1, y, x], planes[2, y, x]
    found[3], found[4] = y, x


@kernel
def write_candidates(
    kept: int,
    sources: Values,
    shifts: NDArray,
    labels: Levels,
    regions: Values,
    moves: Values,
    ends: Two,
    candidates: Values,
) -> None:
    """Fill the places from `kept` on of all pixels' candidates.

    Parameters
    ----------
    kept : int
    sources : ndarray, float32, (maps, 3, rows, columns)
        Planes of pixels: value, right, down.
    shifts : ndarray, int64, (n, 3)
        Candidates that are planes of other pixels, continued: map, and rows and columns away. Places beyond the border are mirrored.
    labels : ndarray, int32, (m, rows, columns)
        For candidates that are planes of regions: the region of each pixel.
    regions : ndarray, float32, (all regions, 5)
        Value, right and down of their planes, and the row and column that have the value.
    moves : ndarray, float32, (k,)
        Candidates that are the first one, so many pixels nearer.
    ends : (float, float)
        A candidate beyond them gives way to the pixel's own plane in the first map.
    candidates : ndarray, float32, (rows, columns, 3, kept + n + m + k)
    """
    (_, rows, columns), (low, high) = labels.shape, ends
    continued, count = shifts.shape[0], shifts.shape[0] + labels.shape[0]
    for y in range(rows):
        own = sources[0, :, y]
        for x in range(columns):
            found = candidates[y, x]
            for i in range(count):
                if i < continued:
                    m, v, u = shifts[i, 0], abs(y + shifts[i, 1]), abs(x + shifts[i, 2])
                    # Mirrored at the far border, too; an image may be smaller than a shift.
                    v, u = (
                        np.uint64(max(min(v, 2 * rows - 2 - v), 0)),
                        np.uint64(max(min(u, 2 * columns - 2 - u), 0)),
                    )
                    right, down = sources[m, 1, v, u], sources[m, 2, v, u]
                    value = (
                        sources[m, 0, v, u]
                        + right * (np.float32(x) - np.float32(u))
                        + down * (np.float32(y) - np.float32(v))
                    )
                else:
                    at = np.uint64(labels[i - continued, y, x])
                    right, down = regions[at, 1], regions[at, 2]
                    value = (
                        regions[at, 0]
                        + right * (np.float32(x) - regions[at, 4])
                        + down * (np.float32(y) - regions[at, 3])
                    )
                if not (value >= low and value <= high):
                    value, right, down = own[0, x], own[1, x], own[2, x]
                place = np.uint64(kept + i)
                found[0, place], found[1, place], found[2, place] = value, right, down
            for i in range(moves.shape[0]):
                value, place = found[0, 0] + moves[i], np.uint64(kept + count + i)
                value = value if value >= low and value <= high else found[0, 0]
                found[0, place], found[1, place], found[2, place] = value, found[1, 0], found[2, 0]


@kernel
def plane_costs(
    volume: NDArray,
    levels: Two,
    limits: Two,
    other: Values,
    direction: float,
    terms: Three,
    candidates: Values,
    costs: Values,
) -> None:
    """Compute the costs of candidates at their pixels.

    The cost of a candidate is the cost of its disparity, interpolated between levels,
    and a soft check against the other view's map.

    Parameters
    ----------
    volume : ndarray, (rows, columns, levels)
        Between levels it is continued by Catmull and Rom's splines.
    levels : (float, float)
        Disparity of the first level in pixels, and levels per pixel.
    limits : (outside_cost, closed)
        Cost beyond the first and the last level, and the cost from which on a cell of
        the volume counts as excluded.
    other : ndarray, float32, (rows, columns)
        The other view's disparities. The check is left out where it has none.
    direction : float
    terms : (tolerance, min_occluded_cost, occluding_penalty)
        Tolerance in pixels, and two costs. If the other view's surface lies nearer than a
        candidate by more than the tolerance, it occludes the candidate, which then costs at
        least `min_occluded_cost`. If the candidate lies nearer by more than the tolerance, it
        costs `occluding_penalty` more.
    candidates : ndarray, float32, (rows, columns, 3, count)
    costs : ndarray, float32, (rows, columns, count)
        Written.
    """
    rows, columns, _, count = candidates.shape
    minimum, inverse = levels
    outside_cost, closed = limits
    tolerance, min_occluded_cost, occluding_penalty = terms
    # Slices cost more than the arithmetic of a candidate, and unsigned indices need no wraparound check.
    flat, size = volume.reshape(-1), volume.shape[2]
    for y in range(rows):
        row = other[y]
        for x in range(columns):
            begin, own, found = (
                np.uint64((y * columns + x) * size),
                candidates[y, x, 0],
                costs[y, x],
            )
            for i in range(count):
                disparity = own[i]
                cost = _between(
                    flat, begin, size, (disparity - minimum) * inverse, outside_cost, closed
                )
                # Whole numbers are cut off towards 0.
                place = np.float32(x) - direction * disparity + np.float32(0.5)
                if place >= 0 and place < columns:
                    seen = row[np.uint64(place)]
                    # Comparisons with NaN are false.
                    if disparity > seen + tolerance:
                        cost += occluding_penalty
                    elif disparity < seen - tolerance:
                        cost = max(cost, min_occluded_cost)
                found[i] = cost


@kernel
def _between(
    volume: NDArray, begin: Any, levels: int, level: Any, outside_cost: Any, closed: Any
) -> Any:
    """The cost of a pixel, whose levels stand from `begin` on, at a level that need not be whole."""
    if level < -1 or level > levels:
        return outside_cost
    level = min(max(level, np.float32(0)), np.float32(levels - 1))
    i = min(int(level), levels - 2)
    t, at = level - np.float32(i), begin + np.uint64(i)
    b, c = np.float32(volume[at]), np.float32(volume[at + np.uint64(1)])
    if b >= closed or c >= closed:
        return b if t < np.float32(0.5) else c
    a = np.float32(volume[at - np.uint64(1)]) if i > 0 else b
    d = np.float32(volume[at + np.uint64(2)]) if i < levels - 2 else c
    a, d = b if a >= closed else a, c if d >= closed else d
    two, four, five = np.float32(2), np.float32(4), np.float32(5)
    bend = two * a - five * b + four * c - d + t * (np.float32(3) * (b - c) + d - a)
    return max(b + np.float32(0.5) * t * (c - a + t * bend), np.float32(0))


@kernel
def choose(
    candidates: Values,
    sums: Values,
    costs: Values,
    taken_back: float,
    kept: int,
    alike: Two,
    disparity: Values,
) -> None:
    """Let the best candidates of each pixel that differ stand first, and write the best one's disparity.

    Parameters
    ----------
    candidates : ndarray, float32, (rows, columns, 3, count)
        At most 16.
    sums, costs : ndarray, float32, (rows, columns, count)
        The best candidate has the lowest sum less `taken_back` times its cost, which is not negative; of those that are equal to five digits the first.
    taken_back : float
    kept : int
        How many stand first. Where fewer differ, the last of them stands for the rest.
    alike : (float, float)
        Candidates are the same whose values and slopes differ by less than this.
    disparity : ndarray, float32, (rows, columns)
        Written.
    """
    rows, columns, _, count = candidates.shape
    near, parallel = alike
    rates, some = np.empty(count, np.float32), np.empty((kept, 3), np.float32)
    # Bits of numbers that are not negative stand in the numbers' order. The last ones give way to the place, so that a minimum tells it.
    keys = rates.view(np.int32)
    for y in range(rows):
        for x in range(columns):
            own, rated, paid = candidates[y, x], sums[y, x], costs[y, x]
            for i in range(count):
                rates[i] = max(rated[i] - taken_back * paid[i], np.float32(0))
            for i in range(count):
                keys[i] = (keys[i] & np.int32(-16)) | np.int32(i)
            taken, least = 0, np.int32(-1)
            for _ in range(count):
                # The next one, without a change of the keys: a load of what was just stored in part would have to wait.
                before, least = least, _NONE
                for i in range(count):
                    key = keys[i] if keys[i] > before else _NONE
                    least = min(least, key)
                best = np.uint64(least & np.int32(15))
                value, right, down = own[0, best], own[1, best], own[2, best]
                new = True
                for i in range(taken):
                    if (
                        abs(some[i, 0] - value) < near
                        and abs(some[i, 1] - right) < parallel
                        and abs(some[i, 2] - down) < parallel
                    ):
                        new = False
                        break
                if new:
                    some[taken, 0], some[taken, 1], some[taken, 2] = value, right, down
                    taken += 1
                    if taken == kept:
                        break
            for i in range(kept):
                from_ = min(i, taken - 1)
                own[0, i], own[1, i], own[2, i] = some[from_, 0], some[from_, 1], some[from_, 2]
            disparity[y, x] = some[0, 0]
