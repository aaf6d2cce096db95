"""Slow, obvious twins of the aggregations whose support follows an image: cross-based regions, the guided filter."""

import math
from fractions import Fraction

import naive
import numpy as np


def colour(image, y, x):
    return np.atleast_1d(image[y, x]).astype(float)


def arm(image, y, x, step, max_arm, tau, far_arm, tau_far):
    """Count the pixels of the arm of a pixel in one direction."""
    rows, columns = image.shape[:2]
    reached = 0
    for i in range(1, max_arm):
        v, u = y + i * step[0], x + i * step[1]
        if not (0 <= v < rows and 0 <= u < columns):
            break
        own = np.abs(colour(image, v, u) - colour(image, y, x)).max()
        previous = np.abs(colour(image, v, u) - colour(image, v - step[0], u - step[1])).max()
        if own >= tau or previous >= tau or (i > far_arm and own >= tau_far):
            break
        reached = i
    return reached


STEPS = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}


def arms(image, *limits):
    """Of each pixel, by direction."""
    return {
        (y, x): {name: arm(image, y, x, s, *limits) for name, s in STEPS.items()}
        for y, x in np.ndindex(image.shape[:2])
    }


def cross_based(
    costs,
    search,
    outside_cost,
    reference,
    match,
    is_open,
    *,
    max_arm,
    tau,
    far_arm,
    tau_far,
    views,
    iterations,
):
    """Costs; `is_open`: the cells that no mask closes."""
    limits = (max_arm, tau, far_arm, tau_far)
    ours, theirs = arms(reference, *limits), arms(match, *limits)
    columns = costs.shape[1]
    seen = naive.inside(columns, search)

    def reach(y, x, k, name):
        if views == "reference":
            return ours[y, x][name]
        position = x - search.direction * Fraction(
            search.first + k * search.stride, search.denominator
        )
        met = {math.floor(position), math.ceil(position)}
        return min([ours[y, x][name], *(theirs[y, q][name] for q in met)])

    def across(y, x, k):
        around = range(x - reach(y, x, k, "left"), x + reach(y, x, k, "right") + 1)
        return [(y, u) for u in around if seen[u, k]]

    def along(y, x, k):
        return [(v, x) for v in range(y - reach(y, x, k, "up"), y + reach(y, x, k, "down") + 1)]

    for i in range(iterations):
        # The second of the two gives the pixels whose arms, of the first kind, are the region.
        arm_of, stem = (across, along) if i % 2 == 0 else (along, across)
        result = np.full(costs.shape, outside_cost, float)
        for y, x, k in np.ndindex(costs.shape):
            if seen[x, k] and is_open[y, x, k]:
                region = [pixel for v, u in stem(y, x, k) for pixel in arm_of(v, u, k)]
                chosen = [float(costs[v, u, k]) for v, u in region if is_open[v, u, k]]
                result[y, x, k] = math.fsum(chosen) / len(chosen)
        costs = result
    return costs


def guided_filter(costs, image, *, radius, epsilon):
    """The filter by its definition: a least-squares fit in each clipped window, and the mean of the fits of all windows about a pixel."""
    rows, columns, levels = costs.shape
    guide = image.reshape(rows, columns, -1).astype(float)
    if image.dtype == np.float32:
        guide = np.rint(guide * 1024) / 1024
    channels = guide.shape[2]

    def around(y, x):
        return np.ix_(
            range(max(y - radius, 0), min(y + radius + 1, rows)),
            range(max(x - radius, 0), min(x + radius + 1, columns)),
        )

    slopes, values = np.empty((rows, columns, channels, levels)), np.empty((rows, columns, levels))
    for y, x in np.ndindex(rows, columns):
        colours, p = (
            guide[around(y, x)].reshape(-1, channels),
            costs[around(y, x)].reshape(-1, levels).astype(float),
        )
        centred = colours - colours.mean(axis=0)
        covariance = centred.T @ (p - p.mean(axis=0)) / len(p)
        spread = centred.T @ centred / len(p) + epsilon * 255**2 * np.eye(channels)
        slopes[y, x] = np.linalg.solve(spread, covariance)
        values[y, x] = p.mean(axis=0) - colours.mean(axis=0) @ slopes[y, x]
    result = np.empty(costs.shape)
    for y, x in np.ndindex(rows, columns):
        here = around(y, x)
        result[y, x] = guide[y, x] @ slopes[here].mean(axis=(0, 1)) + values[here].mean(axis=(0, 1))
    return result


def lab(image):
    """CIELab of sRGB in 0..255, D65, pixel by pixel; grey is as much of each colour."""
    result = np.empty((*image.shape[:2], 3))
    for y, x in np.ndindex(image.shape[:2]):
        shares = [
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
            for v in colour(image, y, x) / 255
        ] * 3
        red, green, blue = shares[:3]
        ratios = (
            (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047,
            0.2126729 * red + 0.7151522 * green + 0.0721750 * blue,
            (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.0888300,
        )
        a, b, c = (
            t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29 for t in ratios
        )
        result[y, x] = 116 * b - 16, 500 * (a - b), 200 * (b - c)
    return result


def support_weights(
    costs, search, outside_cost, reference, match, is_open, *, size, gamma_c, gamma_p, views
):
    """Costs; `is_open`: the cells that no mask closes."""
    left, right = lab(reference), lab(match)
    (rows, columns), radius = costs.shape[:2], size // 2
    seen = naive.inside(columns, search)

    def at(y, position):
        """The colour between two pixels."""
        before, part = math.floor(position), float(position % 1)
        return (
            right[y, before]
            if part == 0
            else (1 - part) * right[y, before] + part * right[y, before + 1]
        )

    result = np.full(costs.shape, outside_cost, float)
    for y, x, k in np.ndindex(costs.shape):
        if not (seen[x, k] and is_open[y, x, k]):
            continue
        shift = search.direction * Fraction(search.first + k * search.stride, search.denominator)
        sums, totals = [], []
        for v in range(max(y - radius, 0), min(y + radius + 1, rows)):
            for u in range(max(x - radius, 0), min(x + radius + 1, columns)):
                if seen[u, k] and is_open[v, u, k]:
                    far = math.hypot(v - y, u - x) / gamma_p
                    weight = math.exp(-math.dist(left[y, x], left[v, u]) / gamma_c - far)
                    if views == "both":
                        weight *= math.exp(
                            -math.dist(at(y, x - shift), at(v, u - shift)) / gamma_c - far
                        )
                    totals.append(weight)
                    sums.append(weight * float(costs[v, u, k]))
        result[y, x, k] = math.fsum(sums) / math.fsum(totals)
    return result


def spanning_tree(image):
    """Prim's algorithm on an image whose differences are all unlike each other: by pixel, its neighbours in the tree and the differences to them."""
    rows, columns = image.shape[:2]
    far = {}
    for y, x in np.ndindex(rows, columns):
        for q in ((y, x + 1), (y + 1, x)):
            if q[0] < rows and q[1] < columns:
                far[(y, x), q] = far[q, (y, x)] = np.abs(
                    colour(image, y, x) - colour(image, *q)
                ).max()
    tree = {(0, 0): {}}
    while len(tree) < rows * columns:
        p, q = min((pair for pair in far if pair[0] in tree and pair[1] not in tree), key=far.get)
        tree[q] = {p: far[p, q]}
        tree[p][q] = far[p, q]
    return tree


def minimum_spanning_tree(costs, image, *, sigma):
    """Means over all pixels, weighted by the way to each through the tree."""
    tree = spanning_tree(image)
    result = np.empty(costs.shape)
    for start in tree:
        far, front = {start: 0.0}, [start]
        while front:
            p = front.pop()
            for q in set(tree[p]) - set(far):
                far[q] = far[p] + tree[p][q]
                front.append(q)
        weights = {p: math.exp(-far[p] / sigma) for p in far}
        for k in range(costs.shape[2]):
            chosen = [w * float(costs[*p, k]) for p, w in weights.items()]
            result[*start, k] = math.fsum(chosen) / math.fsum(weights.values())
    return result
