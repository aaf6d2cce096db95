"""Slow twins of the kernels of `plane_paths`: one pixel, candidate and path at a time, in float64."""

import numpy as np

from stereo_framework.kernels.random_numbers import random_number

STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))


def path_sums(planes, costs, edges, weight, at_edge, bound):
    """For each candidate the sum of the costs of the paths that reach it; `edges`: ``[step, y, x + 1]``, between (y, x) and (y, x) - step."""
    rows, columns, count = costs.shape
    total = np.zeros(costs.shape)
    for i, (down, right) in enumerate(STEPS[: len(edges)]):
        for sign in (1, -1):
            paths = np.zeros(costs.shape)
            for y in range(rows)[::sign]:
                for x in range(columns)[:: sign if right >= 0 else -sign]:
                    v, u = y - sign * down, x - sign * right
                    paths[y, x] = costs[y, x]
                    if not (0 <= v < rows and 0 <= u < columns):
                        continue
                    pays = at_edge if edges[i, max(y, v), (x if sign > 0 else u) + 1] else weight
                    for f in range(count):
                        ways = []
                        for g in range(count):
                            here = abs(planes[y, x, 0, f] - at(planes[v, u, :, g], y - v, x - u))
                            there = abs(at(planes[y, x, :, f], v - y, u - x) - planes[v, u, 0, g])
                            ways.append(paths[v, u, g] + pays * min(here + there, bound))
                        paths[y, x, f] += min(ways) - paths[v, u].min()
            total += paths
    return total


def at(plane, down, right):
    """The value of a plane some rows and columns away."""
    return float(plane[0]) + float(plane[1]) * right + float(plane[2]) * down


def candidates(sources, shifts, labels, regions, moves, low, high, best):
    """All candidates of each pixel but those that were kept, the `best` of which is moved."""
    rows, columns = labels.shape[1:]
    found = np.empty((rows, columns, 3, len(shifts) + len(labels) + len(moves)))
    for y, x in np.ndindex(rows, columns):
        planes = []
        for source, down, right in shifts:
            v, u = abs(y + down), abs(x + right)
            v, u = (
                (2 * rows - 2 - v if v >= rows else v),
                (2 * columns - 2 - u if u >= columns else u),
            )
            own = sources[source, :, v, u]
            planes.append((at(own, y - v, x - u), own[1], own[2]))
        for label in labels[:, y, x]:
            value, right, down, v, u = regions[label]
            planes.append((at((value, right, down), y - v, x - u), right, down))
        for i, plane in enumerate(planes):
            found[y, x, :, i] = plane if low <= plane[0] <= high else sources[0, :, y, x]
        for i, move in enumerate(moves, len(planes)):
            found[y, x, :, i] = best[y, x]
            found[y, x, 0, i] += move if low <= best[y, x, 0] + move <= high else 0
    return found


def plane_costs(volume, minimum, step, outside_cost, closed, other, direction, terms, candidates):
    rows, columns, _ = volume.shape
    tolerance, min_occluded_cost, occluding_penalty = terms
    costs = np.empty((rows, columns, candidates.shape[3]))
    for y, x, i in np.ndindex(costs.shape):
        disparity = float(candidates[y, x, 0, i])
        cost = spline(
            [float(c) for c in volume[y, x]], (disparity - minimum) / step, outside_cost, closed
        )
        target = int(np.floor(x - direction * disparity + 0.5))
        if 0 <= target < columns and not np.isnan(other[y, target]):
            if disparity > other[y, target] + tolerance:
                cost += occluding_penalty
            elif disparity < other[y, target] - tolerance:
                cost = max(cost, min_occluded_cost)
        costs[y, x, i] = cost
    return costs


def spline(costs, level, outside_cost, closed):
    """Catmull and Rom's spline through the costs; closed cells are no part of it."""
    if not -1 <= level <= len(costs):
        return outside_cost
    level = min(max(level, 0), len(costs) - 1)
    i = min(int(level), len(costs) - 2)
    if costs[i] >= closed or costs[i + 1] >= closed:
        return costs[i] if level - i < 0.5 else costs[i + 1]
    before = costs[i - 1] if i > 0 and costs[i - 1] < closed else costs[i]
    behind = costs[i + 2] if i + 2 < len(costs) and costs[i + 2] < closed else costs[i + 1]
    # Its derivatives at both ends are half the differences of the neighbours.
    t, slopes = level - i, ((costs[i + 1] - before) / 2, (behind - costs[i]) / 2)
    hermite = (2 * t**3 - 3 * t**2 + 1, t**3 - 2 * t**2 + t, 3 * t**2 - 2 * t**3, t**3 - t**2)
    return max(float(np.dot(hermite, (costs[i], slopes[0], costs[i + 1], slopes[1]))), 0.0)


def choose(candidates, sums, costs, taken_back, kept, alike):
    """The candidates that stay, and the best one's disparity."""
    rows, columns, _, _ = candidates.shape
    found = np.empty((rows, columns, 3, kept))
    for y, x in np.ndindex(rows, columns):
        stay = []
        for i in np.argsort(sums[y, x] - taken_back * costs[y, x], kind="stable"):
            plane = candidates[y, x, :, i]
            near = [np.abs(plane - one) < (alike[0], alike[1], alike[1]) for one in stay]
            if not any(same.all() for same in near):
                stay.append(plane)
        for i in range(kept):
            found[y, x, :, i] = stay[min(i, len(stay) - 1)]
    return found, found[:, :, 0, 0]


def region_pixels(labels, colours, alike, keys, numbers, most, drawn):
    """For each region its random pixel, and the pixels drawn that are coloured like that."""
    for region in range(labels.max() + 1):
        inside = [(int(y), int(x)) for y, x in np.argwhere(labels == region)]
        draws = [
            inside[random_number(region * numbers + n, *keys) % len(inside)]
            for n in range(drawn + 1)
        ]
        own = colours[draws[0]].astype(float)
        like = [pixel for pixel in draws[1:] if np.abs(colours[pixel] - own).max() < alike]
        yield draws[0], like[:most]
