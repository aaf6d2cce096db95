"""Slow, obvious twins of what correlates windows. Exact arithmetic on intensities rounded to 1/4096, as the kernels promise."""

import math
from fractions import Fraction

import numpy as np
from naive import fine_row, window


def rounded(value):
    return Fraction(round(Fraction(float(value)) * 4096), 4096)


def grid(image, y, x, size):
    """The pixels of a window, each a list of channels."""
    rows, columns = image.shape[:2]
    pixels = image.reshape(rows, columns, -1)
    return [[rounded(v) for v in pixels[j, i]] for j in window(y, size, rows) for i in window(x, size, columns)]


def centred(pixels):
    """Pixels less the mean of each channel, as one list."""
    means = [sum(channel) / len(pixels) for channel in zip(*pixels, strict=True)]
    return [v - m for pixel in pixels for v, m in zip(pixel, means, strict=True)]


def variance(image, y, x, size):
    """Variance of a window, mean over the channels."""
    values = centred(grid(image, y, x, size))
    return sum(v * v for v in values) / len(values)


def correlation(a, b, form):
    """Of two windows, each a list of pixels; 0 where one is flat in the standard form, or both are in Moravec's."""
    a, b = centred(a), centred(b)
    product, left, right = (sum(p * q for p, q in zip(u, v, strict=True)) for u, v in ((a, b), (a, a), (b, b)))
    if form == "moravec":
        return float(2 * product / (left + right)) if left + right else 0.0
    # The root of the product, not the product of roots, so that equal windows correlate with exactly 1.
    return float(product) / math.sqrt(left * right) if left * right else 0.0


def normalized_cross_correlation(reference, match, search, *, size=5, form="moravec", interpolation="cubic"):
    """Costs, float32 (rows, columns, levels)."""
    rows, columns = reference.shape[:2]
    pixels = match.reshape(rows, columns, -1).astype(np.float32)
    n = search.denominator
    costs = np.full((rows, columns, search.levels), 2, np.float32)
    before, after = (size - 1) // 2, size // 2
    lines = {}
    for y in range(rows):
        # The outermost pixels repeat before the row is sampled.
        wide = np.pad(pixels[y], ((before, after), (0, 0)), mode="edge")
        lines[y] = [fine_row(wide[:, c], n, interpolation == "cubic", False) for c in range(pixels.shape[2])]
    for y, x, k in np.ndindex(costs.shape):
        position = x * n - search.direction * (search.first + k * search.stride)
        if not 0 <= position <= (columns - 1) * n:
            continue
        seen = [[rounded(float(line[position + i * n])) for line in lines[j]] for j in window(y, size, rows) for i in range(size)]
        costs[y, x, k] = 1 - correlation(grid(reference, y, x, size), seen, form)
    return costs
