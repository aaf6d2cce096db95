"""Slow, obvious versions of inverse prediction and of the partial shuffle."""

import math

import numpy as np
from naive_regions import render


def _cubic(row, x):
    """The value at x between samples: cubic (a = -1), linear where a neighbour is missing, the sample itself at whole x."""
    left = math.floor(x)
    t = x - left
    if t == 0:
        return row[left]
    if left < 1 or left + 2 >= len(row):
        return row[left] + t * (row[left + 1] - row[left])
    weights = [-t + 2 * t**2 - t**3, 1 - 2 * t**2 + t**3, t + t**2 - t**3, -(t**2) + t**3]
    return sum(w * row[left - 1 + i] for i, w in enumerate(weights))


def inverse(frame, disparity, shift, gap):
    """Inverse prediction of a grey frame: float values, NaN where nothing is predicted."""
    moved = np.float32(shift) * disparity
    arrived = render(moved, disparity, shift, gap)
    result = np.full(frame.shape, np.nan)
    for y in range(frame.shape[0]):
        for x in range(frame.shape[1]):
            position = float(np.float32(x) - moved[y, x])
            if math.isnan(position) or not 0 <= position <= frame.shape[1] - 1:
                continue
            if abs(arrived[y, math.floor(position)] - moved[y, x]) < gap:
                result[y, x] = _cubic(frame[y].astype(float), position)
    return result


def shuffled_gap(a, b, factor):
    """Gap between the partially shuffled intervals of two grey images, pixel by pixel."""

    def interval(image, y, x):
        window = image[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2].astype(float)
        value = float(image[y, x])
        return math.trunc(value + factor * (window.min() - value)), math.trunc(
            value + factor * (window.max() - value) + 0.99
        )

    result = np.zeros(a.shape)
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            (a0, a1), (b0, b1) = interval(a, y, x), interval(b, y, x)
            result[y, x] = max(a0 - b1, b0 - a1, 0)
    return result
