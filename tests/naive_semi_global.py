"""A slow, obvious twin of semi-global matching. Plain Python, exact arithmetic."""

import math
from fractions import Fraction

import naive_census
import numpy as np

STEPS = {4: [(0, 1), (1, 0), (0, -1), (-1, 0)]}
STEPS[8] = STEPS[4] + [(1, 1), (1, -1), (-1, 1), (-1, -1)]


def path_sums(
    costs, reference, match, search, paths, p1, p2, penalties, threshold, grey_conversion="luma"
):
    """Sum of the path costs of all directions for each cell, as Fractions; infinite where a cost is."""
    rows, columns, levels = costs.shape
    total = np.full(costs.shape, Fraction(0), object)
    for down, right in STEPS[paths]:
        known = {}

        def path(y, x, down=down, right=right, known=known):
            """Costs by level of the path that ends at a pixel."""
            if (y, x) in known:
                return known[y, x]
            own = [c if math.isinf(c) else Fraction(c) for c in costs[y, x].tolist()]
            if 0 <= y - down < rows and 0 <= x - right < columns:
                before = path(y - down, x - right)
                for k in range(levels):
                    small, large = prices(
                        reference,
                        match,
                        search,
                        y,
                        x,
                        down,
                        right,
                        k,
                        p1,
                        p2,
                        penalties,
                        threshold,
                        grey_conversion,
                    )
                    changes = [
                        before[j] + (0 if j == k else small if abs(j - k) == 1 else large)
                        for j in range(levels)
                    ]
                    own[k] += min(min(changes), min(before) + large) - min(before)
            known[y, x] = own
            return own

        for y, x in np.ndindex(rows, columns):
            total[y, x] += path(y, x)
    return total


def prices(
    reference,
    match,
    search,
    y,
    x,
    down,
    right,
    level,
    p1,
    p2,
    penalties,
    threshold,
    grey_conversion,
):
    """Penalties of a change by one level and by more on the step to (y, x), for one of its levels."""
    p1, p2 = Fraction(p1), Fraction(p2)
    if penalties == "constant":
        return p1, p2
    here, there = channels(reference, y, x), channels(reference, y - down, x - right)
    if penalties == "gradient":
        if grey_conversion == "mean":
            difference = abs(sum(here) - sum(there)) / len(here)
        else:
            # Lumas are rounded to float32, and so is their difference.
            grey = naive_census.grey_image(reference, grey_conversion).astype(np.float32)
            difference = abs(grey[y, x] - grey[y - down, x - right])
        gradient = max(1, round(difference))
        divided = p2 / gradient
        if p1 == int(p1) and p2 == int(p2):
            divided = round(divided)
        return p1, max(p1, divided)
    edges = is_edge(here, there, threshold)
    position = x - search.direction * (
        Fraction(search.first, search.denominator)
        + level * Fraction(search.stride, search.denominator)
    )
    if 0 <= position <= match.shape[1] - 1:
        column = math.floor(position + Fraction(1, 2))
        if 0 <= column - right < match.shape[1]:
            edges += is_edge(
                channels(match, y, column), channels(match, y - down, column - right), threshold
            )
    share = (Fraction(1), Fraction(1, 4), Fraction(1, 10))[edges]
    return p1 * share, p2 * share


def channels(image, y, x):
    """Intensities of a pixel."""
    return [Fraction(float(v)) for v in np.atleast_1d(image[y, x])]


def is_edge(a, b, threshold):
    """Whether some channel differs enough."""
    return max(abs(p - q) for p, q in zip(a, b, strict=True)) >= threshold
