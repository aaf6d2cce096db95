"""Slow, obvious versions of the rates and curves of Kostliva, Cech & Sara 2007: whole matching tables as sets of cells, curves sampled."""

import math

import numpy as np

TOLERANCE = 1


def column(x, disparity):
    return math.floor(x - float(disparity) + 0.5)


def from_one(truth):
    """Correspondences of a row, hit columns and unknown columns, from the truth of the reference frame."""
    columns = len(truth)
    known = [x for x in range(columns) if np.isfinite(truth[x])]
    hits = [(column(x, truth[x]), truth[x]) for x in known]
    for x in known:
        if x + 1 in known and abs(truth[x] - truth[x + 1]) <= TOLERANCE:
            between = range(column(x, truth[x]) + 1, column(x + 1, truth[x + 1]))
            hits += [(j, (truth[x] + truth[x + 1]) / 2) for j in between]
    nonocc = {}
    for x in known:
        j = column(x, truth[x])
        if 0 <= j < columns and not any(k == j and d - truth[x] > TOLERANCE for k, d in hits):
            nonocc[x] = j
    hit = {j for j, _ in hits if 0 <= j < columns}
    unknown = set()
    for x in range(columns):
        if x in known:
            continue
        before, after = [k for k in known if k < x], [k for k in known if k > x]
        low = column(before[-1], truth[before[-1]]) + 1 if before else 0
        high = column(after[0], truth[after[0]]) if after else columns
        unknown |= set(range(max(low, 0), min(high, columns)))
    return nonocc, hit, unknown - hit


def from_both(truth, match_truth):
    columns = len(truth)
    nonocc, hit = {}, set()
    for x in range(columns):
        if np.isfinite(truth[x]):
            j = column(x, truth[x])
            if 0 <= j < columns and abs(match_truth[j] - truth[x]) <= TOLERANCE:
                nonocc[x] = j
    for j in range(columns):
        if np.isfinite(match_truth[j]):
            x = column(j, -match_truth[j])
            if 0 <= x < columns and abs(truth[x] - match_truth[j]) <= TOLERANCE:
                hit.add(j)
    unknown = {j for j in range(columns) if not np.isfinite(match_truth[j])}
    return nonocc, hit | set(nonocc.values()), unknown


def map_errors(disparity, truth, match_truth=None, direction=1, evaluated=None, radius=2):
    """MI, FP, FN, correspondences, pixels: every cell of every table is put into its region."""
    if evaluated is None:
        evaluated = np.ones(truth.shape, bool)
    totals = [0, 0, 0, 0, truth.size]
    for y in range(len(truth)):
        rows = [
            None if a is None else a[y, ::direction]
            for a in (disparity, truth, match_truth, evaluated)
        ]
        for i, count in enumerate(_row(*rows, radius)):
            totals[i] += count
    return tuple(totals)


def _row(disparity, truth, match_truth, evaluated, radius):
    columns = len(truth)
    nonocc, hit, unknown = from_one(truth) if match_truth is None else from_both(truth, match_truth)
    dont_care = {x for x in range(columns) if not (np.isfinite(truth[x]) and evaluated[x])}
    ends = set()
    for x, j in nonocc.items():
        joined = [k in nonocc and abs(truth[k] - truth[x]) <= TOLERANCE for k in (x - 1, x + 1)]
        if not all(joined):
            ends.add((x, j))
    boundary = {
        (x + a, j + b)
        for x, j in ends
        for a in range(-radius, radius + 1)
        for b in range(-radius, radius + 1)
    }
    result = {x: column(x, disparity[x]) for x in range(columns) if np.isfinite(disparity[x])}
    mismatches = false_positives = false_negatives = correspondences = 0
    for x, j in result.items():
        if x in dont_care or j in unknown or (x, j) in boundary:
            continue
        if x in nonocc and abs(disparity[x] - truth[x]) <= TOLERANCE:
            continue
        if x not in nonocc and j not in hit:  # columns out of view are not hit
            false_positives += 1
        else:
            mismatches += 1
    for x, j in nonocc.items():
        if x not in dont_care and (x, j) not in boundary:
            correspondences += 1
            false_negatives += x not in result and j not in result.values()
    return mismatches, false_positives, false_negatives, correspondences


def better(u, v):
    return u != v and u[0] <= v[0] and u[1] <= v[1]


def minimal(points):
    return sorted(p for p in points if not any(better(q, p) for q in points))


def maximal(points):
    return sorted(p for p in points if not any(better(p, q) for q in points))


def roc(points, x):
    return min([1 - x, *(error for sparsity, error in points if sparsity <= x)])


def outer(points, x):
    return max([0, *(error for sparsity, error in points if sparsity >= x)])


def integral(function, steps=4000):
    """Midpoint rule over 0..1."""
    return sum(function((k + 0.5) / steps) for k in range(steps)) / steps
