"""Slow, obvious versions of the HCI stereo metrics and the sets that they are measured on (Honauer et al. 2015)."""

import itertools
import math

import numpy as np
import scipy.ndimage


def neighbours(y, x, shape):
    around = ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1))
    return [(v, u) for v, u in around if 0 <= v < shape[0] and 0 <= u < shape[1]]


def edge_sides(truth, jump):
    near, far = np.zeros(truth.shape, bool), np.zeros(truth.shape, bool)
    for y, x in np.ndindex(truth.shape):
        for other in neighbours(y, x, truth.shape):
            # A comparison with NaN is false.
            near[y, x] |= truth[y, x] - truth[other] > jump
            far[y, x] |= truth[other] - truth[y, x] > jump
    return near, far


def squared_distance(mask, y, x):
    return min(((y - a) ** 2 + (x - b) ** 2 for a, b in np.argwhere(mask)), default=math.inf)


def values_of_nearest(values, mask, y, x):
    """The values of all nearest pixels of the set: which of several at one distance counts is not defined."""
    least = squared_distance(mask, y, x)
    return {values[a, b] for a, b in np.argwhere(mask) if (y - a) ** 2 + (x - b) ** 2 == least}


def median(mask, side):
    """The majority of a window of replicated borders."""
    padded, result = np.pad(mask, side // 2, mode="edge"), np.zeros(mask.shape, bool)
    for y, x in np.ndindex(mask.shape):
        window = padded[y : y + side, x : x + side]
        result[y, x] = window.sum() > window.size / 2
    return result


def bands(truth, jump, width, side, nearest_foreground, nearest_background):
    """M_f and M_b from maps of the nearest edge pixels' disparities."""
    near, far = edge_sides(truth, jump)
    foreground, background = np.zeros(truth.shape, bool), np.zeros(truth.shape, bool)
    for y, x in np.ndindex(truth.shape):
        if squared_distance(near | far, y, x) <= width**2:
            to_near, to_far = (
                abs(truth[y, x] - nearest_foreground[y, x]),
                abs(truth[y, x] - nearest_background[y, x]),
            )
            foreground[y, x], background[y, x] = to_near < to_far, to_far < to_near
    return foreground & median(foreground, side), background & median(background, side)


def runs(truth, jump, widest):
    found = np.zeros(truth.shape, bool)
    for y, row in enumerate(truth):
        known = [x for x in range(len(row)) if not np.isnan(row[x])]
        steps = [
            (b, row[b] - row[a], a)
            for a, b in itertools.pairwise(known)
            if abs(row[b] - row[a]) > jump
        ]
        for (start, up, _), (_, down, end) in itertools.pairwise(steps):
            if up > 0 > down and end - start + 1 <= widest:
                found[y, start : end + 1] = True
    return found


def structures(truth, evaluated, jump, widest, least):
    """The sets of pixels of the structures: of runs that hang together, across corners too."""
    labels, count = scipy.ndimage.label(runs(truth, jump, widest) & evaluated, np.ones((3, 3)))
    found = [frozenset(pixels(labels == i)) for i in range(1, count + 1)]
    return {one for one in found if max(y for y, _ in one) - min(y for y, _ in one) + 1 >= least}


def neighbourhood(truth, labels, jump, least):
    disparity = np.full(truth.shape, np.nan, np.float32)
    for y, x in np.ndindex(truth.shape):
        if labels[y, x]:
            continue
        candidates = []
        for direction in (-1, 1):  # the structure on the left first
            p = x + direction
            while 0 <= p < truth.shape[1] and not labels[y, p]:
                p += direction
            if not 0 <= p < truth.shape[1]:
                continue
            end = p
            while 0 <= end < truth.shape[1] and labels[y, end] == labels[y, p]:
                end += direction
            between = truth[y, min(x, p) : max(x, p) + 1]
            between = between[1:] if p < x else between[:-1]
            further = all(truth[y, p] - value > jump for value in between if not np.isnan(value))
            if (
                abs(x - p) <= math.ceil(max(least, abs(end - p)))
                and further
                and not np.isnan(truth[y, x])
            ):
                candidates.append((abs(x - p), truth[y, p]))
        if candidates:
            disparity[y, x] = min(candidates, key=lambda c: c[0])[1]
    return disparity


def share_nearer(disparity, truth, other, mask):
    wrong = [
        abs(truth[p] - disparity[p]) > abs(other[p] - disparity[p])
        for p in pixels(mask)
        if np.isfinite(disparity[p])
    ]
    return np.mean(wrong) if wrong else math.nan


def pixels(mask):
    return list(map(tuple, np.argwhere(mask).tolist()))


def gradient(values, y, x):
    """Central differences; the border is continued."""
    rows, columns = values.shape
    across = values[y, min(x + 1, columns - 1)] - values[y, max(x - 1, 0)]
    down = values[min(y + 1, rows - 1), x] - values[max(y - 1, 0), x]
    return math.hypot(across, down) / 2


def fuzziness(disparity, truth, edges, near, evaluated):
    """For maps without gaps."""
    terms = []
    for y, x in pixels(near & evaluated):
        difference = gradient(truth, y, x) - gradient(disparity, y, x)
        target = edges if difference < 0 else ~near
        distance = (
            math.sqrt(squared_distance(target, y, x)) if target.any() else math.hypot(*truth.shape)
        )
        terms.append(abs(difference) * distance)
    return np.mean(terms) if terms else math.nan


def normal(a, b):
    return np.array([-a, -b, 1]) / math.sqrt(a * a + b * b + 1)


def plane_terms(disparity, labels, coefficients, side):
    """Bumpiness, offset and misorientation of every pixel where they can be measured."""
    bumps, offsets, angles = {}, {}, {}
    for y, x in pixels(labels > 0):
        a, b, c = coefficients[labels[y, x] - 1]
        if np.isnan(disparity[y, x]):
            continue
        offsets[y, x] = abs((a * x + b * y + c) - disparity[y, x]) / math.sqrt(a * a + b * b + 1)
        around = [disparity[p] for p in neighbours(y, x, disparity.shape)]
        if len(around) == 4 and not np.isnan(around).any():
            bumps[y, x] = abs(sum(around) - 4 * disparity[y, x])
        r = side // 2
        window = disparity[max(y - r, 0) : y + r + 1, max(x - r, 0) : x + r + 1]
        if window.shape == (side, side) and not np.isnan(window).any():
            v, u = np.mgrid[-r : r + 1, -r : r + 1]
            design = np.column_stack([u.ravel(), v.ravel(), np.ones(side * side)])
            p, q, _ = np.linalg.lstsq(design, window.ravel().astype(float), rcond=None)[0]
            cosine = min(1, abs(float(normal(a, b) @ normal(p, q))))
            angles[y, x] = math.degrees(math.acos(cosine))
    return bumps, offsets, angles


def structure_scores(disparity, truth, labels, evaluated, tolerance):
    """Porosity, fragmentation and the number of missed structures."""
    terms, shares, missed = [], [], 0
    for label in sorted(set(labels[evaluated]) - {0}):
        mask = (labels == label) & evaluated
        found = mask & (np.abs(disparity - truth) <= tolerance)
        where = np.argwhere(mask)
        diagonal = math.hypot(*(where.max(0) - where.min(0) + 1))
        for y, x in pixels(mask):
            if not np.isnan(disparity[y, x]):
                distance = math.sqrt(squared_distance(found, y, x)) if found.any() else diagonal
                terms.append(math.log(1 + distance))
        if found.any():
            shares.append(1 - 1 / scipy.ndimage.label(found, np.ones((3, 3)))[1])
        else:
            missed += 1
    return np.mean(terms) if terms else math.nan, np.mean(shares) if shares else math.nan, missed
