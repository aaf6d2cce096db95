"""Slow, obvious twins of the refinements that take away and fill: plain loops and sets, written from the papers' words."""

import math

import numpy as np


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


def remove_speckles(disparity, size, difference):
    kept = disparity.copy()
    for p in np.ndindex(disparity.shape):
        surface = reach([p], disparity.shape, lambda a, b: abs(float(disparity[a]) - float(disparity[b])) <= difference)
        if len(surface) <= size:
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
        found = [nearest(disparity, *p, *step) for step in eight + (halves if rule == "mei" else [])]
        found = sorted((float(disparity[q]), max(abs(colours[q] - colours[p]))) for q in found if q is not None)
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
                colour = sum((a - b) ** 2 for a, b in zip(colours[j, i], colours[y, x], strict=True)) / (2 * sigma_colour**2)
                value = float(disparity[j, i])
                weight_of[value] = weight_of.get(value, 0) + round(math.exp(-space - colour) * 2**20)
        upto = 0
        for value in sorted(weight_of):
            upto += weight_of[value]
            if 2 * upto >= sum(weight_of.values()):
                filtered[y, x] = value
                break
    return filtered


def discontinuity_adjustment(disparity, costs, search, difference):
    adjusted = disparity.copy()
    for y, x in np.ndindex(disparity.shape):
        own = float(disparity[y, x])
        candidates = []
        for pair in (((y, x - 1), (y, x + 1)), ((y - 1, x), (y + 1, x))):
            values = [float(disparity[p]) for p in pair if p in neighbours(y, x, disparity.shape)]
            if any(abs(value - own) > difference for value in values):
                candidates += values
        cost = {}
        for value in (own, *candidates):
            if not math.isnan(value) and 0 <= round((value - search.minimum) / search.step) < search.levels:
                cost[value] = costs[y, x, round((value - search.minimum) / search.step)]
        if own in cost and min(cost.values()) < cost[own]:
            adjusted[y, x] = min(value for value in cost if cost[value] == min(cost.values()))
    return adjusted


def local_plane(disparity, image, y, x, radii, gate, colour_scale, ridge):
    """(slope to the right, slope down, value) of the robust plane at a pixel with an estimate."""
    colours = image.reshape(*disparity.shape, -1).astype(float)
    slopes, value = np.zeros(2), float(disparity[y, x])
    fits = [(radii[0], gate + 0.2), (radii[0], gate), *((radius, gate) for radius in radii[1:])]
    for radius, tolerance in fits:
        step = max(1, radius // 4)
        normal, right_side = np.diag([ridge * radius**2, ridge * radius**2, 1e-3]), np.append(ridge * radius**2 * slopes, 0)
        places = range(-(radius // step) * step, radius + 1, step)
        for dy, dx in ((dy, dx) for dy in places for dx in places):
            p = y + dy, x + dx
            if not (0 <= p[0] < disparity.shape[0] and 0 <= p[1] < disparity.shape[1]) or math.isnan(disparity[p]):
                continue
            height = float(disparity[p]) - value
            off = (height - slopes @ (dx, dy)) / tolerance
            if abs(off) < 1:
                alike = math.exp(-max(abs(colours[p] - colours[y, x])) / colour_scale)
                place = np.array([dx, dy, 1.0])
                normal += alike * (1 - off**2) ** 2 * np.outer(place, place)
                right_side += alike * (1 - off**2) ** 2 * height * place
        *found, rise = np.linalg.solve(normal, right_side)
        slopes, value = np.clip(found, (-1, -1.5), (1, 1.5)), value + rise
    return (*slopes, value)


def plane_smooth(disparity, image, radius, far_radius, gate, colour_scale, ridge):
    smooth = disparity.astype(float)
    for y, x in np.argwhere(~np.isnan(disparity)):
        smooth[y, x] = local_plane(disparity, image, y, x, (radius, far_radius), gate, colour_scale, ridge)[2]
    return smooth
