"""Slow, obvious versions of the renderer and the regions (Scharstein & Szeliski 2002, section 5.1)."""

import math

import numpy as np


def round_half_away(value):
    whole = math.floor(abs(float(value)) + 0.5)
    return -whole if value < 0 else whole


def strokes(disparity, shift, gap):
    """What a row of disparities draws, in painting order: (left pixel, right pixel, left end, right end); splats have one pixel."""
    f32 = np.float32
    known = [bool(np.isfinite(d)) for d in disparity]
    columns = len(disparity)

    def splat(x):
        place = x - round_half_away(f32(shift) * f32(disparity[x]))
        return (x, x, place, place)

    drawn = []
    if shift >= 0:
        for x in range(columns - 1):
            if known[x] and known[x + 1] and abs(disparity[x] - disparity[x + 1]) < gap:
                start = f32(x) - f32(shift) * disparity[x]
                stop = f32(x + 1) - f32(shift) * disparity[x + 1]
                drawn.append((x, x + 1, start, stop))
            elif known[x]:
                drawn.append(splat(x))
        if known[columns - 1]:
            drawn.append(splat(columns - 1))
    else:
        for x in range(columns - 1, 0, -1):
            if known[x] and known[x - 1] and abs(disparity[x] - disparity[x - 1]) < gap:
                # The original's exchanged ends.
                start = f32(x - 1) - f32(shift) * disparity[x]
                stop = f32(x) - f32(shift) * disparity[x - 1]
                drawn.append((x - 1, x, start, stop))
            elif known[x]:
                drawn.append(splat(x))
        if known[0]:
            drawn.append(splat(0))
    return drawn


def render(values, disparity, shift, gap):
    values = np.asarray(values, np.float32)
    result = np.full(values.shape, np.nan, np.float32)
    for y, row in enumerate(np.asarray(disparity, np.float32)):
        for left, right, start, stop in strokes(row, shift, gap):
            if left == right:
                if 0 <= start < len(row):
                    result[y, start] = values[y, left]
            elif stop >= start:
                length = stop - start if stop != start else np.float32(1)
                for x in range(round_half_away(start), round_half_away(stop) + 1):
                    if 0 <= x < len(row):
                        part = (np.float32(x) - start) / length
                        result[y, x] = values[y, left] + part * (values[y, right] - values[y, left])
    return result


def occluded(truth, direction, gap):
    there = render(truth, truth, direction, gap)
    visible = np.where(np.isfinite(there), 255, 0)
    back = render(visible, there, -direction, gap)
    return ~(back == 255)


def window(index, width):
    """The indices of an even or odd window around `index`; an even one reaches one further up."""
    return range(index - (width - 1) // 2, index + width // 2 + 1)


def texture_sums(image, width):
    """Window sums of the larger squared difference to the left and right neighbour, summed over channels, borders replicated."""
    rows, columns = image.shape[:2]
    wide = image.astype(np.float64).reshape(rows, columns, -1)

    def contrast(y, x):
        around = [n for n in (x - 1, x + 1) if 0 <= n < columns]
        return max((float(((wide[y, x] - wide[y, n]) ** 2).sum()) for n in around), default=0.0)

    each = [[contrast(y, x) for x in range(columns)] for y in range(rows)]
    sums = np.zeros((rows, columns))
    for y in range(rows):
        for x in range(columns):
            for v in window(y, max(width, 1)):
                for u in window(x, max(width, 1)):
                    sums[y, x] += each[min(max(v, 0), rows - 1)][min(max(u, 0), columns - 1)]
    return sums


def textureless(image, width, threshold):
    channels = 1 if image.ndim == 2 else image.shape[2]
    return texture_sums(image, width) < threshold**2 * channels * max(width, 1) ** 2


def discontinuities(truth, gap, width, border):
    rows, columns = truth.shape
    marked = np.zeros(truth.shape, bool)
    for y in range(border + 1, rows - border - 1):
        for x in range(border + 1, columns - border - 2):
            for v, u in ((y, x + 1), (y + 1, x)):
                if abs(truth[y, x] - truth[v, u]) >= gap:
                    marked[y, x] = marked[v, u] = True
    near = np.zeros(truth.shape, bool)
    for y in range(rows):
        for x in range(columns):
            near[y, x] = any(
                marked[v, u] for v in window(y, width) for u in window(x, width) if 0 <= v < rows and 0 <= u < columns
            )
    return near
