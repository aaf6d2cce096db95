"""Slow, obvious twins of confidently stable matching, and a search through all sets of candidates of tiny tables."""

import itertools
import math

import numpy as np
from naive_correlation import correlation, rounded


class Table:
    """The candidates of a row with their similarities, and which of them beat which.

    Parameters
    ----------
    costs : (columns, levels)
    search : SearchRange
    left, right : per pixel, the variance of its window
    """

    def __init__(self, costs, search, left, right, *, alpha, beta, ordering, two_sided):
        columns, levels = costs.shape
        self.ordering, self.direction = ordering, search.direction
        self.low, self.high = {}, {}
        for x, k in itertools.product(range(columns), range(levels)):
            u = x - search.direction * round(search.minimum + k * search.step)
            if 0 <= u < columns and costs[x, k] < math.inf:
                similarity = 1 - float(costs[x, k])
                margin = beta * abs(similarity)
                if alpha:
                    total = left[x] + right[u]
                    margin += alpha / total if total else math.inf
                self.low[x, u] = similarity - margin
                self.high[x, u] = similarity + margin if two_sided else similarity
        self.levels = {
            (x, u): round((search.direction * (x - u) - search.minimum) / search.step)
            for x, u in self.low
        }

    def compete(self, p, q):
        if p == q:
            return False
        crossed = (q[0] - p[0]) * (q[1] - p[1]) < 0
        return p[0] == q[0] or p[1] == q[1] or (self.ordering and crossed)

    def beats(self, p, q):
        return self.low[p] > self.high[q]

    def counts(self, p):
        """Two flat windows with an infinite margin are no match even without competitors."""
        return self.low[p] > -math.inf

    def greedy(self):
        """Match one candidate at a time that beats all its remaining competitors."""
        left, matched = set(self.low), set()
        while True:
            sure = [
                p
                for p in left
                if self.counts(p) and all(self.beats(p, q) for q in left if self.compete(p, q))
            ]
            if not sure:
                return matched
            p = min(sure)
            matched.add(p)
            left = {q for q in left if q != p and not self.compete(p, q)}

    def labels(self, matched, columns):
        found = [-1] * columns
        for x, u in matched:
            found[x] = self.levels[x, u]
        return found


def components(candidates):
    """The component of each candidate (row, column, level), as a set, by a flood over all 26 neighbours."""
    found = {}
    for start in candidates:
        if start in found:
            continue
        members, waiting = {start}, [start]
        while waiting:
            cell = waiting.pop()
            for step in itertools.product((-1, 0, 1), repeat=3):
                neighbour = tuple(a + b for a, b in zip(cell, step, strict=True))
                if neighbour in candidates and neighbour not in members:
                    members.add(neighbour)
                    waiting.append(neighbour)
        found.update(dict.fromkeys(members, members))
    return found


def within_components(volume, reference, match, threshold, size):
    """Costs correlated over the pixels of windows that belong to the centre's component; infinite where there is no candidate."""
    rows, columns, _ = volume.costs.shape
    search = volume.search
    cells = np.ndindex(volume.costs.shape)
    member = components(
        {
            (y, x, k)
            for y, x, k in cells
            if volume.inside[x, k] and volume.costs[y, x, k] < 1 - threshold
        }
    )
    costs = np.full_like(volume.costs, np.inf)
    images = [image.reshape(rows, columns, -1) for image in (reference, match)]
    for (y, x, k), own in member.items():
        shift = search.direction * round(search.minimum + k * search.step)
        around = itertools.product(
            range(y - (size - 1) // 2, y + size // 2 + 1),
            range(x - (size - 1) // 2, x + size // 2 + 1),
        )
        pixels = [(j, i) for j, i in around if (j, i, k) in own]
        windows = [
            [[rounded(v) for v in image[j, i - offset]] for j, i in pixels]
            for image, offset in zip(images, (0, shift), strict=True)
        ]
        costs[y, x, k] = 1 - correlation(*windows, "moravec")
    return costs
