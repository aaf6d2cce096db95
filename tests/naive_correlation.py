"""Slow, obvious twins of what correlates windows. Exact arithmetic on intensities rounded to 1/4096, as the kernels promise."""

import math
from fractions import Fraction

import numpy as np
from naive import fine_row, window

UNIT = 4096
"""Of a grey level: intensities and what is made of them are integers, many times faster than fractions."""


def rounded(value):
    """In units of 1/4096."""
    return round(Fraction(float(value)) * UNIT)


def grid(pixels, y, x, size):
    """The pixels of a window of an image of lists, each a list of channels."""
    return [
        pixels[j][i] for j in window(y, size, len(pixels)) for i in window(x, size, len(pixels[0]))
    ]


def whole_numbers(image):
    """An image as rows of pixels of channels, rounded."""
    rows, columns = image.shape[:2]
    return [
        [[rounded(v) for v in pixel] for pixel in row] for row in image.reshape(rows, columns, -1)
    ]


def centred(pixels):
    """Pixels less the mean of each channel, times their number, as one list."""
    sums = [sum(channel) for channel in zip(*pixels, strict=True)]
    return [len(pixels) * v - s for pixel in pixels for v, s in zip(pixel, sums, strict=True)]


def variance(image, y, x, size):
    """Variance of a window, mean over the channels."""
    values = centred(grid(whole_numbers(image), y, x, size))
    return Fraction(sum(v * v for v in values), len(values) * (size**2 * UNIT) ** 2)


def correlation(a, b, form):
    """Of two windows, each a list of pixels; 0 where one is flat in the standard form, or both are in Moravec's."""
    a, b = centred(a), centred(b)
    product, left, right = (
        sum(p * q for p, q in zip(u, v, strict=True)) for u, v in ((a, b), (a, a), (b, b))
    )
    if form == "moravec":
        return 2 * product / (left + right) if left + right else 0.0
    # The root of the product, not the product of roots, so that equal windows correlate with exactly 1.
    return product / math.sqrt(left * right) if left * right else 0.0


def normalized_cross_correlation(
    reference, match, search, *, size=5, form="moravec", interpolation="cubic"
):
    """Costs, float32 (rows, columns, levels)."""
    rows, columns = reference.shape[:2]
    pixels = match.reshape(rows, columns, -1).astype(np.float32)
    n = search.denominator
    costs = np.full((rows, columns, search.levels), 2, np.float32)
    before, after = (size - 1) // 2, size // 2
    lines, own = [], whole_numbers(reference)
    for y in range(rows):
        channels = [
            fine_row(pixels[y][:, c], n, interpolation == "cubic", False)
            for c in range(pixels.shape[2])
        ]
        samples = [[rounded(v) for v in sample] for sample in zip(*channels, strict=True)]
        # The row is sampled as every cost samples it; then its outermost pixels repeat.
        lines.append([samples[0]] * (before * n) + samples + [samples[-1]] * (after * n))
    for y, x, k in np.ndindex(costs.shape):
        position = x * n - search.direction * (search.first + k * search.stride)
        if not 0 <= position <= (columns - 1) * n:
            continue
        seen = [lines[j][position + i * n] for j in window(y, size, rows) for i in range(size)]
        costs[y, x, k] = 1 - correlation(grid(own, y, x, size), seen, form)
    return costs
