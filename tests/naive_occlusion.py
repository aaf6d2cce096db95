"""Slow, obvious twin of graph cuts with occlusions: sets of matches as the definition has them, all changes tried."""

import itertools
import math


def distance(image, one, other):
    """Root mean square over the channels."""
    a, b = (image[pixel].reshape(-1).astype(float) for pixel in (one, other))
    return math.sqrt(sum((a - b) ** 2) / len(a))


class Occlusion:
    """The energy of sets of matches ``(y, x, level)``, after Kolmogorov & Zabih 2001, section 3."""

    def __init__(self, costs, search, reference, match, weight, threshold, penalty, occlusion_cost):
        self.costs, self.search, self.occlusion_cost = costs, search, occlusion_cost
        self.rows, self.columns, self.levels = costs.shape
        self.pixels = [(y, x) for y in range(self.rows) for x in range(self.columns)]
        self.all = {
            (*pixel, k)
            for pixel in self.pixels
            for k in range(self.levels)
            if self.partner((*pixel, k)) in self.pixels
        }
        self.edges = {}
        for one in self.all:
            for other in ((one[0], one[1] + 1, one[2]), (one[0] + 1, *one[1:])):
                if other in self.all:
                    here = distance(reference, one[:2], other[:2])
                    there = distance(match, self.partner(one), self.partner(other))
                    self.edges[one, other] = (
                        weight * penalty if threshold and max(here, there) < threshold else weight
                    )

    def partner(self, one):
        """The pixel of the match image."""
        y, x, k = one
        return y, x - self.search.direction * round(self.search.minimum + k * self.search.step)

    def unique(self, matches):
        """Whether no pixel of either image occurs twice."""
        return (
            len({one[:2] for one in matches})
            == len({self.partner(one) for one in matches})
            == len(matches)
        )

    def energy(self, matches):
        occluded = (
            2 * len(self.pixels)
            - len({one[:2] for one in matches})
            - len({self.partner(one) for one in matches})
        )
        edges = [
            weight
            for (one, other), weight in self.edges.items()
            if (one in matches) != (other in matches)
        ]
        return math.fsum(
            [*(float(self.costs[one]) for one in matches), occluded * self.occlusion_cost, *edges]
        )

    def expansions(self, matches, level):
        """All sets within one expansion, with their energies."""
        kept, new = (
            [one for one in matches if one[2] != level],
            [one for one in self.all if one[2] == level],
        )
        for flags in itertools.product((False, True), repeat=len(kept) + len(new)):
            chosen = {one for one, flag in zip(kept + new, flags, strict=True) if flag}
            if self.unique(chosen):
                yield chosen, self.energy(chosen)

    def best_expansion(self, matches, level):
        """The best set within one expansion and its energy; of equals the one with fewest of the level and most of the others.

        Where a cut solves the problem, what is in all the best sets of the first and in any of the second forms a best set.
        """
        found = list(self.expansions(matches, level))
        lowest = min(energy for _, energy in found)
        best = [chosen for chosen, energy in found if energy == lowest]
        new = {one for one in set.intersection(*best) if one[2] == level}
        return new | {one for one in set.union(*best) if one[2] != level}, lowest


def matches_of(labels):
    return {(y, x, int(k)) for y, row in enumerate(labels) for x, k in enumerate(row) if k >= 0}
