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
