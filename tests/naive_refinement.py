"""Slow, obvious twins of the refinements that take away and fill: plain loops and sets, written from the papers' words."""

import collections
import dataclasses
import math

import naive_support
import numpy as np
import scipy.ndimage


def neighbours(y, x, shape):
    """The pixels to the left, right, above and below that the image has."""
    around = ((y, x - 1), (y, x + 1), (y - 1, x), (y + 1, x))
    return [(j, i) for j, i in around if 0 <= j < shape[0] and 0 <= i < shape[1]]


def reach(starts, shape, connected):
    """All pixels that are reached from some by steps between connected neighbours."""
    found = set(starts)
    front = set(starts)
    while front:
        front = {q for p in front for q in neighbours(*p, shape) if connected(p, q)} - found
        found |= front
    return found


def remove_speckles(disparity, max_speckle_size, max_diff):
    kept = disparity.copy()
    for p in np.ndindex(disparity.shape):
        surface = reach(
            [p],
            disparity.shape,
            lambda a, b: abs(float(disparity[a]) - float(disparity[b])) <= max_diff,
        )
        if len(surface) <= max_speckle_size:
            kept[p] = math.nan
    return kept


def nearest(disparity, y, x, down, right):
    """The first pixel with an estimate on a ray in a direction given in pixels; halves are rounded away from where the ray starts."""
    for n in range(1, sum(disparity.shape)):
        steps = (math.copysign(math.floor(abs(n * s) + 0.5), s) for s in (down, right))
        v, u = (int(a + s) for a, s in zip((y, x), steps, strict=True))
        if not (0 <= v < disparity.shape[0] and 0 <= u < disparity.shape[1]):
            return None
        if not math.isnan(disparity[v, u]):
            return v, u
    return None


def interpolate(disparity, image, status, rule):
    filled, told = disparity.copy(), status.copy()
    holes = {p for p in np.ndindex(disparity.shape) if math.isnan(disparity[p]) and status[p] != 4}
    occluded = {p for p in holes if status[p] == 1}
    if rule == "hirschmueller":
        occluded = reach(occluded, disparity.shape, lambda p, q: q in holes)
    eight = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]
    halves = [(s * a, t * b) for a, b in ((1, 0.5), (0.5, 1)) for s in (-1, 1) for t in (-1, 1)]
    colours = image.reshape(*disparity.shape, -1).astype(float)
    for p in holes:
        found = [
            nearest(disparity, *p, *step) for step in eight + (halves if rule == "mei" else [])
        ]
        found = sorted(
            (float(disparity[q]), max(abs(colours[q] - colours[p]))) for q in found if q is not None
        )
        if not found:
            continue
        if p in occluded:
            value, _ = found[min(rule == "hirschmueller", len(found) - 1)]
        elif rule == "hirschmueller":
            value, _ = found[(len(found) - 1) // 2]
        else:
            value, _ = min(found, key=lambda one: (one[1], one[0]))
        filled[p], told[p] = value, 3
    return filled, told


def weighted_median(disparity, image, chosen, radius, sigma_colour, sigma_space):
    """Of the pixels chosen: the least estimate in the window that has, with those below it, half of the weight; weights in units of 2^-20."""
    filtered = disparity.copy()
    colours = image.reshape(*disparity.shape, -1).astype(float)
    for y, x in np.argwhere(chosen & ~np.isnan(disparity)):
        weight_of = {}
        for j, i in np.ndindex(disparity.shape):
            if max(abs(j - y), abs(i - x)) <= radius and not math.isnan(disparity[j, i]):
                space = ((j - y) ** 2 + (i - x) ** 2) / (2 * sigma_space**2)
                colour = sum(
                    (a - b) ** 2 for a, b in zip(colours[j, i], colours[y, x], strict=True)
                ) / (2 * sigma_colour**2)
                value = float(disparity[j, i])
                weight_of[value] = weight_of.get(value, 0) + round(
                    math.exp(-space - colour) * 2**20
                )
        upto = 0
        for value in sorted(weight_of):
            upto += weight_of[value]
            if 2 * upto >= sum(weight_of.values()):
                filtered[y, x] = value
                break
    return filtered


def discontinuity_adjustment(disparity, costs, search, disparity_gap):
    adjusted = disparity.copy()
    for y, x in np.ndindex(disparity.shape):
        own = float(disparity[y, x])
        candidates = []
        for pair in (((y, x - 1), (y, x + 1)), ((y - 1, x), (y + 1, x))):
            values = [float(disparity[p]) for p in pair if p in neighbours(y, x, disparity.shape)]
            if any(abs(value - own) > disparity_gap for value in values):
                candidates += values
        cost = {}
        for value in (own, *candidates):
            if (
                not math.isnan(value)
                and 0 <= round((value - search.minimum) / search.step) < search.levels
            ):
                cost[value] = costs[y, x, round((value - search.minimum) / search.step)]
        if own in cost and min(cost.values()) < cost[own]:
            adjusted[y, x] = min(value for value in cost if cost[value] == min(cost.values()))
    return adjusted


def local_plane(disparity, image, y, x, radii, gate, gamma_c, ridge):
    """(slope to the right, slope down, value) of the robust plane at a pixel with an estimate."""
    colours = image.reshape(*disparity.shape, -1).astype(float)
    slopes, value = np.zeros(2), float(disparity[y, x])
    fits = [(radii[0], gate + 0.2), (radii[0], gate), *((radius, gate) for radius in radii[1:])]
    for radius, tolerance in fits:
        step = max(1, radius // 4)
        normal, right_side = (
            np.diag([ridge * radius**2, ridge * radius**2, 1e-3]),
            np.append(ridge * radius**2 * slopes, 0),
        )
        places = range(-(radius // step) * step, radius + 1, step)
        for dy, dx in ((dy, dx) for dy in places for dx in places):
            p = y + dy, x + dx
            if not (
                0 <= p[0] < disparity.shape[0] and 0 <= p[1] < disparity.shape[1]
            ) or math.isnan(disparity[p]):
                continue
            height = float(disparity[p]) - value
            off = (height - slopes @ (dx, dy)) / tolerance
            if abs(off) < 1:
                alike = math.exp(-max(abs(colours[p] - colours[y, x])) / gamma_c)
                place = np.array([dx, dy, 1.0])
                normal += alike * (1 - off**2) ** 2 * np.outer(place, place)
                right_side += alike * (1 - off**2) ** 2 * height * place
        *found, rise = np.linalg.solve(normal, right_side)
        slopes, value = np.clip(found, (-1, -1.5), (1, 1.5)), value + rise
    return (*slopes, value)


def plane_smooth(disparity, image, size, final_size, gate, gamma_c, ridge):
    smooth = disparity.astype(float)
    for y, x in np.argwhere(~np.isnan(disparity)):
        smooth[y, x] = local_plane(
            disparity, image, y, x, (size // 2, final_size // 2), gate, gamma_c, ridge
        )[2]
    return smooth


def region_voting(disparity, image, search, status, min_count, min_share, iterations, limits):
    """Fill pixels by votes; `limits` are the limits of `naive_support.arms`."""
    arms = naive_support.arms(image, *limits)
    filled, told = disparity.copy(), status.copy()
    for _ in range(iterations):
        before = filled.copy()
        for y, x in np.ndindex(disparity.shape):
            if not math.isnan(before[y, x]) or status[y, x] == 4:
                continue
            votes = collections.Counter()
            for v in range(y - arms[y, x]["up"], y + arms[y, x]["down"] + 1):
                for u in range(x - arms[v, x]["left"], x + arms[v, x]["right"] + 1):
                    if not math.isnan(before[v, u]):
                        level = round((float(before[v, u]) - search.minimum) / search.step)
                        votes.update([level] if 0 <= level < search.levels else [])
            total = votes.total()
            for level in sorted(votes):
                if (
                    votes[level] == max(votes.values())
                    and total > min_count
                    and votes[level] > min_share * total
                ):
                    filled[y, x], told[y, x] = search.minimum + level * search.step, 3
                    break
    return filled, told


def segments(image, sigma, k, minimum):
    """Sets of pixels, joined one by one in the order of the differences between neighbours, and numbered in reading order."""
    smooth = scipy.ndimage.gaussian_filter(
        image.reshape(*image.shape[:2], -1).astype(float), (sigma, sigma, 0)
    )
    edges = []
    for y, x in np.ndindex(image.shape[:2]):
        for v, u in ((y, x + 1), (y + 1, x), (y + 1, x + 1), (y + 1, x - 1)):
            if v < image.shape[0] and 0 <= u < image.shape[1]:
                # The channels' squares are added in their order, since equal sums are ties.
                edges.append(
                    (
                        math.sqrt(
                            sum(
                                (a - b) ** 2
                                for a, b in zip(smooth[v, u], smooth[y, x], strict=True)
                            )
                        ),
                        (y, x),
                        (v, u),
                    )
                )
    edges.sort(key=lambda edge: edge[0])
    segment_of = {p: frozenset([p]) for p in np.ndindex(image.shape[:2])}
    inside = dict.fromkeys(segment_of.values(), 0)
    for small_ones in (False, True):
        for difference, p, q in edges:
            a, b = segment_of[p], segment_of[q]
            if a is b:
                continue
            if small_ones:
                joins = min(len(a), len(b)) < minimum
            else:
                joins = all(difference <= inside[s] + k / len(s) for s in (a, b))
            if joins:
                inside[a | b] = difference
                segment_of.update(dict.fromkeys(a | b, a | b))
    numbers = {}
    result = np.empty(image.shape[:2], int)
    for p in np.ndindex(image.shape[:2]):
        result[p] = numbers.setdefault(segment_of[p], len(numbers))
    return result


def plane_through(points):
    """Level at the origin, change from row to row and from column to column of the least-squares plane; None where points do not tell it."""
    y, x, d = np.array(points, float).T
    matrix = np.column_stack([np.ones(len(d)), y, x])
    if np.linalg.matrix_rank(matrix) < 3:
        return None
    plane, *_ = np.linalg.lstsq(matrix, d, rcond=None)
    return plane if abs(plane[2]) < 1 else None


def segment_plane(points, triples, tolerance, minimum_count, minimum_share):
    """The plane of a segment's points (row, column, disparity), of which `triples` are tried; None where they have none."""

    def off(plane):
        return (
            np.array([abs(plane[0] + plane[1] * y + plane[2] * x - d) for y, x, d in points])
            / tolerance
        )

    def rating(plane):
        return math.fsum(1 - e * e for e in off(plane) if e < 1)

    if len(points) < minimum_count:
        return None
    best = (sorted(d for _, _, d in points)[(len(points) - 1) // 2], 0.0, 0.0)
    for triple in triples:
        plane = plane_through([points[i] for i in triple])
        # More by more than rounding.
        if plane is not None and rating(plane) > rating(best) + 1e-9:
            best = plane
    for _ in range(2):
        chosen = [point for point, e in zip(points, off(best), strict=True) if e < 1]
        again = plane_through(chosen) if chosen else None
        best = best if again is None else again
    return best if (off(best) < 1).sum() >= minimum_share * len(points) else None


def border_fill(disparity, image, search, status, radius, gate, max_slope):
    if search.direction < 0:
        mirrored = (np.flip(array, axis=1) for array in (disparity, image))
        turned = dataclasses.replace(search, direction=1)
        return tuple(
            np.flip(a, axis=1)
            for a in border_fill(
                *mirrored, turned, np.flip(status, axis=1), radius, gate, max_slope
            )
        )
    filled, told = disparity.copy(), status.copy()
    colours = image.reshape(*disparity.shape, -1).astype(float)
    rows, columns = disparity.shape
    for y, x in np.ndindex(disparity.shape):
        if not np.isnan(disparity[y, : x + 1]).all() or status[y, x] == 4:
            continue
        begins = []
        for way in (0, 0.25, -0.25, 0.5, -0.5, 1, -1, 2, -2):
            for s in range(1, columns - x):
                v = y + int(math.copysign(math.floor(abs(way * s) + 0.5), way))
                if not 0 <= v < rows:
                    break
                if not math.isnan(disparity[v, x + s]):
                    begins.append((max(abs(colours[v, x + s] - colours[y, x])) + s / 4, v, x + s))
                    break
        if not begins:
            continue
        _, v, u = min(begins, key=lambda begin: begin[0])
        normal, right_side = np.diag([10, 10, 1e-3]), np.zeros(3)
        for j, i in np.ndindex(disparity.shape):
            height = float(disparity[j, i]) - float(disparity[v, u])
            if abs(j - v) <= radius and -radius <= i - u <= 2 * radius and abs(height) <= gate:
                place = np.array([i - u, j - v, 1.0])
                normal += np.outer(place, place)
                right_side += height * place
        right, down, rise = np.linalg.solve(normal, right_side)
        right, down = np.clip((right, down), -max_slope, max_slope)
        value = float(disparity[v, u]) + rise + right * (x - u) + down * (y - v)
        filled[y, x], told[y, x] = np.clip(value, search.minimum, search.maximum), 3
    return filled, told
