"""Slow, obvious versions of the renderer and the regions (Scharstein & Szeliski 2002, section 5.1)."""

import numpy as np
from naive import round_half_away


def strokes(disparity, shift, gap):
    """What a row of disparities draws, in painting order: (left pixel, right pixel, left end, right end); splats have one pixel."""
    shift, columns = np.float32(shift), len(disparity)
    step = -1 if shift < 0 else 1
    drawn = []
    for x in range(columns)[::step]:
        if not np.isfinite(disparity[x]):
            continue
        other = x + step
        if 0 <= other < columns and abs(disparity[x] - disparity[other]) < gap:
            # On the way to the left the original exchanges the disparities of the ends.
            left = min(x, other)
            drawn.append(
                (
                    left,
                    left + 1,
                    np.float32(left) - shift * disparity[x],
                    np.float32(left + 1) - shift * disparity[other],
                )
            )
        else:
            place = x - round_half_away(shift * disparity[x])
            drawn.append((x, x, place, place))
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
    shown = np.where(np.isfinite(there), 255, 0)
    back = render(shown, there, -direction, gap)
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
                marked[v, u]
                for v in window(y, width)
                for u in window(x, width)
                if 0 <= v < rows and 0 <= u < columns
            )
    return near
