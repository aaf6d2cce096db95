"""Slow twins of `SearchRange`: plain loops over exact fractions, written from its documentation."""

from fractions import Fraction

OFF_GRID = Fraction(1, 1000)
"""Share of a step by which a number may be off the grid through rounding."""


def exact_step(search):
    """Return the step of a range as a fraction: N or 1/N pixel."""
    if search.step >= 1:
        return Fraction(round(search.step))
    return Fraction(1, round(1 / search.step))


def exact_ends(search):
    """Return the two ends of a range as fractions with the denominator of the step's grid or better."""
    grid = max(1, exact_step(search).denominator)
    lowest = Fraction(round(search.minimum * grid), grid)
    return lowest, Fraction(search.maximum)


def disparities(search):
    """Return the disparities that lie on the levels of a range, as fractions."""
    lowest, highest = exact_ends(search)
    step = exact_step(search)
    found = []
    disparity = lowest
    while disparity <= highest + OFF_GRID * step:
        found.append(disparity)
        disparity += step
    return found


def is_beyond(search, disparity):
    """Return whether a disparity lies more than half a step outside a range."""
    lowest, highest = exact_ends(search)
    room = (Fraction(1, 2) + OFF_GRID) * exact_step(search)
    return not lowest - room <= Fraction(disparity) <= highest + room


def nearest_level(search, disparity):
    """Return the level with the nearest disparity; of two equally near ones the even level."""
    distances = [abs(Fraction(disparity) - of_level) for of_level in disparities(search)]
    nearest = [level for level, distance in enumerate(distances) if distance == min(distances)]
    return min(nearest, key=lambda level: level % 2)


def in_view(search, column, columns):
    """Return for each level whether a column meets a position between the outermost columns."""
    positions = [column - search.direction * disparity for disparity in disparities(search)]
    return [0 <= position <= columns - 1 for position in positions]
