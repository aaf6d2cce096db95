"""Slow, obvious twins of what works along scan lines, and searches through all paths of tiny rows. Plain Python, exact arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np


def edge_weight(a, b, weight, threshold, penalty):
    """Weight of the edge between two pixels, each a list of channels."""
    gradient = math.sqrt(
        sum((float(p) - float(q)) ** 2 for p, q in zip(a, b, strict=True)) / len(a)
    )
    return weight * penalty if threshold and gradient < threshold else weight


def smoothness_weights(image, weight, threshold, penalty):
    """Weights of the edges to the right and to the lower neighbour; 0 where there is none."""
    rows, columns = image.shape[:2]
    pixels = image.reshape(rows, columns, -1)
    right, down = np.zeros((2, rows, columns))
    for y, x in np.ndindex(rows, columns):
        if x + 1 < columns:
            right[y, x] = edge_weight(pixels[y, x], pixels[y, x + 1], weight, threshold, penalty)
        if y + 1 < rows:
            down[y, x] = edge_weight(pixels[y, x], pixels[y + 1, x], weight, threshold, penalty)
    return right, down


def scanline(costs, weights, rho):
    """Levels and cost of a row's cheapest labelling, by Viterbi's algorithm over all pairs of levels."""
    columns, levels = costs.shape
    paths = [[float(c) for c in costs[0]]]
    previous = [[]]
    for x in range(1, columns):
        paths.append([])
        previous.append([])
        for k in range(levels):
            options = [
                paths[x - 1][j] + float(weights[x - 1]) * float(rho[abs(j - k)])
                for j in range(levels)
            ]
            previous[x].append(options.index(min(options)))
            paths[x].append(min(options) + float(costs[x, k]))
    labels = [paths[-1].index(min(paths[-1]))]
    for x in range(columns - 1, 0, -1):
        labels.insert(0, previous[x][labels[0]])
    return labels, min(paths[-1])


class OcclusionRow:
    """A row for dynamic programming as the definition has it.

    A match at (column, level) follows a match in the column before at the same or a higher level, or one at a lower level with as many
    pixels between them as the rise is wide in pixels, rounded down. Every level of a change costs `occlusion`, and a change costs the
    weight of the edge that it ends on.
    """

    def __init__(self, costs, weights, occlusion, search):
        # With the match image on the left the row is walked from its other end.
        turn = slice(None, None, search.direction)
        self.costs = costs[turn]
        self.weights = weights[:-1][turn]
        self.occlusion, self.step, self.direction = (
            occlusion,
            Fraction(search.step).limit_denominator(100),
            search.direction,
        )
        self.columns, self.levels = costs.shape

    def data(self, column, level):
        """Cost of a match."""
        return float(self.costs[column, level])

    def change(self, column, levels):
        """Cost of a change of level that ends in a match at a column."""
        return abs(levels) * self.occlusion + float(self.weights[column - 1]) if levels else 0.0

    def before(self, column, level):
        """Where a match can come from, in the order in which ties are decided: (column, level, cost)."""
        yield column - 1, level, 0.0
        # Rises by whole pixels first, then those by a part of a pixel more; among them the smaller first.
        for rise in sorted(range(1, level + 1), key=lambda rise: (rise * self.step % 1, rise)):
            start = column - 1 - math.floor(rise * self.step)
            if start >= 0:
                yield start, level - rise, self.change(column, rise)
        for fall in range(1, self.levels - level):
            yield column - 1, level + fall, self.change(column, fall)

    def labels(self, path):
        """Levels by pixel of a path given as (column, level), in the row's own direction."""
        labels = [-1] * self.columns
        for column, level in path:
            labels[column] = level
        return labels[:: self.direction]

    def solve(self):
        """Levels and cost of the cheapest path, column by column."""
        best = {(0, k): (self.data(0, k), None) for k in range(self.levels)}
        for column, level in itertools.product(range(1, self.columns), range(self.levels)):
            options = [(best[x, k][0] + cost, (x, k)) for x, k, cost in self.before(column, level)]
            cost, origin = min(options, key=lambda option: option[0])
            best[column, level] = cost + self.data(column, level), origin
        at = min(((self.columns - 1, k) for k in range(self.levels)), key=lambda end: best[end][0])
        cost, path = best[at][0], []
        while at is not None:
            path.append(at)
            at = best[at][1]
        return self.labels(path), cost


def fill_occlusions(disparity, rule):
    """Rows with every NaN replaced by a known neighbour's disparity."""
    filled = disparity.copy()
    for y, x in np.ndindex(*disparity.shape):
        if not np.isnan(disparity[y, x]):
            continue
        left = [v for v in disparity[y, :x] if not np.isnan(v)][-1:]
        right = [v for v in disparity[y, x + 1 :] if not np.isnan(v)][:1]
        if rule == "left" and left:
            filled[y, x] = left[0]
        elif left or right:
            filled[y, x] = min(left + right)
    return filled


def best_ordered_matching(costs, search, occlusion):
    """Levels and cost of a row's cheapest one-to-one matching in order, every unmatched pixel of either image costing `occlusion`.

    Tries all sets of cells in view.
    """
    columns, levels = costs.shape
    cells = [
        (x, x - search.direction * round(search.minimum + k * search.step), k)
        for x, k in np.ndindex(columns, levels)
    ]
    cells = [cell for cell in cells if 0 <= cell[1] < columns]

    def extensions(matched):
        yield matched
        for x, u, k in cells:
            if not matched or (x > matched[-1][0] and u > matched[-1][1]):
                yield from extensions([*matched, (x, u, k)])

    def price(matched):
        return (
            sum(float(costs[x, k]) for x, _, k in matched)
            + 2 * (columns - len(matched)) * occlusion
        )

    best = min(extensions([]), key=price)
    labels = {x: k for x, _, k in best}
    return [labels.get(x, -1) for x in range(columns)], price(best)
