"""Slow, obvious twins of the kernels: plain loops, written from the papers' formulas and the rules of the 2002 test bed.

Positions between pixels and whatever an integer image is truncated from are exact fractions, sums are exact, and every result is
rounded to float32 once at the end. Whole numbers are integers, which are many times faster than fractions and mix with them.
"""

import math
from fractions import Fraction

import numpy as np


def window(centre, size, length):
    """Indices covered by a window along one axis: an even one reaches further right; beyond the ends the last sample repeats."""
    before, after = (size - 1) // 2, size // 2
    return [min(max(i, 0), length - 1) for i in range(centre - before, centre + after + 1)]


def exact(value):
    """A number whose sums and products are exact."""
    value = float(value)
    return int(value) if value.is_integer() else Fraction(value)


def sample(row, i, denominator, cubic):
    """One channel of a row at i / denominator; the cubic by the weights of Keys' kernel with a = -1, not as a spline."""
    left, rest = divmod(i, denominator)
    if rest == 0:
        return row[left]
    t = Fraction(rest, denominator)
    v1, v2 = row[left], row[left + 1]
    if not cubic:
        return v1 + t * (v2 - v1)
    v0 = row[left - 1] if left > 0 else v1 - (v2 - v1)
    v3 = row[left + 2] if left + 2 < len(row) else v2 + (v2 - v1)

    def near(x):
        return x**3 - 2 * x**2 + 1

    def far(x):
        return -(x**3) + 5 * x**2 - 8 * x + 4

    return far(1 + t) * v0 + near(t) * v1 + near(1 - t) * v2 + far(2 - t) * v3


def fine_row(row, denominator, cubic, whole):
    """A row of one channel at steps of 1/denominator; integer images are truncated toward zero."""
    values = [exact(v) for v in row]
    line = [sample(values, i, denominator, cubic) for i in range((len(row) - 1) * denominator + 1)]
    return [math.trunc(v) if whole else exact(np.float32(float(v))) for v in line]


def intervals(line, whole, up=True):
    """Per sample of a line: the lowest and highest value within half a step to either side; halves of whole numbers go up or down."""
    found = []
    for i, value in enumerate(line):
        values = [value]
        for j in (i - 1, i + 1):
            if 0 <= j < len(line):
                middle = Fraction(value + line[j] + (1 if whole and up else 0), 2)
                values.append(math.trunc(middle) if whole else middle)
        found.append((min(values), max(values)))
    return found


def difference(
    reference,
    match,
    search,
    *,
    squared=False,
    truncation=None,
    birchfield_tomasi=False,
    interpolation="cubic",
):
    """Absolute or squared differences: costs float32 (rows, columns, levels) and the cost of cells out of view."""
    rows, columns = reference.shape[:2]
    whole, power = reference.dtype == np.uint8, 2 if squared else 1
    denominator = round(1 / search.step) if search.step < 1 else 1
    # In steps of the fine row.
    disparities = [
        round((search.minimum + k * search.step) * denominator) for k in range(search.levels)
    ]
    cutoff = math.inf if truncation is None else truncation**power
    # The channels of a colour image count as four: the fourth is an alpha channel without differences.
    outside_cost = min(255**power * (4 if reference.ndim == 3 else 1), cutoff)
    left, right = (np.reshape(image, (rows, columns, -1)) for image in (reference, match))
    costs = np.zeros((rows, columns, search.levels), np.float32)
    for y in range(rows):
        ranges, own = [], []
        symmetric = birchfield_tomasi == "symmetric"
        for c in range(right.shape[2]):
            line, left_line = (
                fine_row(image[y, :, c], denominator, interpolation == "cubic", whole)
                for image in (right, left)
            )
            points = [(v, v) for v in line]
            ranges.append(
                (points, intervals(line, whole, not symmetric) if birchfield_tomasi else points)
            )
            own.append(intervals(left_line, whole, up=False)[::denominator])
        for x in range(columns):
            pixel = [exact(v) for v in left[y, x]]
            for k, disparity in enumerate(disparities):
                position = x * denominator - search.direction * disparity
                if not 0 <= position <= (columns - 1) * denominator:
                    costs[y, x, k] = outside_cost
                    continue
                total = 0
                for value, (points, spread), (least, most) in zip(
                    pixel, ranges, (line[x] for line in own), strict=True
                ):
                    (low, high), (point, _) = spread[position], points[position]
                    gap = max(low - value, value - high, 0)
                    if symmetric:
                        gap = min(gap, max(least - point, point - most, 0))
                    total += gap**power
                costs[y, x, k] = min(float(total), cutoff)
    return costs, outside_cost


def box(costs, size, iterations=1):
    for _ in range(iterations):
        result = np.empty_like(costs)
        for y, x, k in np.ndindex(costs.shape):
            values = [
                float(costs[j, i, k])
                for j in window(y, size, costs.shape[0])
                for i in window(x, size, costs.shape[1])
            ]
            result[y, x, k] = math.fsum(values) / size**2
        costs = result
    return costs


def min_filter(costs, size):
    result = np.empty_like(costs)
    for y, x, k in np.ndindex(costs.shape):
        result[y, x, k] = min(
            costs[j, i, k]
            for j in window(y, size, costs.shape[0])
            for i in window(x, size, costs.shape[1])
        )
    return result


def inside(columns, search):
    """Cells whose match position lies in the match image."""
    found = np.zeros((columns, search.levels), bool)
    for x in range(columns):
        for k in range(search.levels):
            found[x, k] = (
                0 <= x - search.direction * (search.minimum + k * search.step) <= columns - 1
            )
    return found


def restore_outside_cost(costs, search, outside_cost):
    """Cells out of view reset; with steps of 1/N the test is made N - 1 fine samples further, on the side larger disparities leave by.

    The original shifts to the left whatever the direction; here a direction of -1 is the mirror image of +1.
    """
    costs = costs.copy()
    columns = costs.shape[1]
    shift = 1 - search.step if search.step < 1 else 0
    for x in range(columns):
        for k in range(search.levels):
            position = x - search.direction * (search.minimum + k * search.step + shift)
            if not -1e-9 <= position <= columns - 1 + 1e-9:
                costs[:, x, k] = outside_cost
    return costs


def winner_take_all(costs):
    """Level and cost of the lowest cost; the first of equal ones."""
    labels, lowest = np.zeros(costs.shape[:2], np.int16), np.zeros(costs.shape[:2], np.float32)
    for y, x in np.ndindex(labels.shape):
        for k in range(costs.shape[2]):
            if k == 0 or costs[y, x, k] < lowest[y, x]:
                labels[y, x], lowest[y, x] = k, costs[y, x, k]
    return labels, lowest


def parabola(disparity, costs, search, max_offset):
    """Vertex of the parabola through three costs, as disparity; float64. What is not on a level stays."""
    result = disparity.astype(float)
    if search.levels < 3:
        return result
    for y, x in np.ndindex(disparity.shape):
        level = (float(disparity[y, x]) - search.minimum) / search.step
        if (
            math.isnan(level)
            or abs(level - round(level)) > 1e-3
            or not 0 <= round(level) < search.levels
        ):
            continue
        centre = min(max(round(level), 1), search.levels - 2)
        below, middle, above = (Fraction(float(costs[y, x, centre + u])) for u in (-1, 0, 1))
        # C(u) = a u^2 + b u + middle through u = -1 and 1.
        a, b = (below + above) / 2 - middle, (above - below) / 2
        if a > 0 and abs(-b / (2 * a)) <= max_offset:
            result[y, x] = search.minimum + (centre + float(-b / (2 * a))) * search.step
    return result


def equiangular(disparity, costs, search):
    """Where two lines of opposite slope meet, as disparity; float64. What is not on a level with two neighbours, or no local minimum, stays."""
    result = disparity.astype(float)
    for y, x in np.ndindex(disparity.shape):
        level = (float(disparity[y, x]) - search.minimum) / search.step
        if (
            math.isnan(level)
            or abs(level - round(level)) > 1e-3
            or not 0 < round(level) < search.levels - 1
        ):
            continue
        below, middle, above = (Fraction(float(costs[y, x, round(level) + u])) for u in (-1, 0, 1))
        if middle > min(below, above) or below == middle == above:
            continue
        # The steeper side's line and its mirror image through the other neighbour: slope * (offset + 1) - slope * (1 - offset) = below - above.
        slope = max(below, above) - middle
        result[y, x] = (
            search.minimum + (round(level) + float((below - above) / (2 * slope))) * search.step
        )
    return result


def smoothness_of(smoothness, labels):
    """Sum over the edges to the right and lower neighbours of weight times rho."""
    rows, columns = labels.shape
    terms = []
    for y in range(rows):
        for x in range(columns):
            if x + 1 < columns:
                terms.append(
                    float(smoothness.right[y, x])
                    * float(smoothness.rho[abs(int(labels[y, x]) - int(labels[y, x + 1]))])
                )
            if y + 1 < rows:
                terms.append(
                    float(smoothness.down[y, x])
                    * float(smoothness.rho[abs(int(labels[y, x]) - int(labels[y + 1, x]))])
                )
    return math.fsum(terms)


def energy_of(costs, smoothness, labels):
    labels = fill_levels(labels)
    data = math.fsum(float(costs[y, x, labels[y, x]]) for y, x in np.ndindex(labels.shape))
    return data + (smoothness_of(smoothness, labels) if smoothness else 0.0)


def fill_levels(labels):
    """Unassigned pixels get the farther, that is lower, of the nearest assigned labels to their left and right; else 0."""
    filled = labels.copy()
    for y, x in np.ndindex(labels.shape):
        if labels[y, x] < 0:
            left = [v for v in labels[y, :x] if v >= 0][-1:]
            right = [v for v in labels[y, x + 1 :] if v >= 0][:1]
            filled[y, x] = min([*left, *right], default=0)
    return filled


def round_half_away(value):
    """To the nearest whole number, halves away from zero."""
    whole = math.floor(abs(Fraction(float(value))) + Fraction(1, 2))
    return whole if value > 0 else -whole


def left_right_check(disparity, other, status, direction, tolerance):
    """The map without what the other one contradicts, and the status of what was taken away: 1 occluded, 2 mismatched."""
    checked, judged = disparity.copy(), status.copy()
    columns = disparity.shape[1]
    for y, x in np.ndindex(disparity.shape):
        if math.isnan(disparity[y, x]):
            continue
        target = x - direction * round_half_away(disparity[y, x])
        if (
            0 <= target < columns
            and abs(float(other[y, target]) - float(disparity[y, x])) <= tolerance
        ):
            continue
        checked[y, x] = math.nan
        # The other frame's pixels are on the line of this one's disparities at the column x - direction * d.
        seen = (q for q in range(columns) if not math.isnan(other[y, q]))
        judged[y, x] = (
            2 if any(round_half_away(other[y, q]) == direction * (x - q) for q in seen) else 1
        )
    return checked, judged


def match_frames_winners(costs, search):
    """The map of the match frame: of the cells that meet a pixel the cheapest, of equal ones that of the lowest disparity."""
    found = np.full(costs.shape[:2], np.nan, np.float32)
    for y, x, k in np.ndindex(costs.shape):
        target = x - search.direction * float(search.disparities[k])
        if target % 1 == 0 and 0 <= target < found.shape[1]:
            cells = (
                (costs[y, other, n], d)
                for n, d in enumerate(search.disparities)
                for other in range(found.shape[1])
                if other - search.direction * float(d) == target
            )
            found[y, int(target)] = min(cells)[1]
    return found


def median(disparity, size):
    """Median of the known disparities in a window; of an even number the lower of the two in the middle. Holes stay."""
    filtered = disparity.copy()
    rows, columns = disparity.shape
    for y, x in np.ndindex(disparity.shape):
        if not math.isnan(disparity[y, x]):
            values = [
                disparity[j, i] for j in window(y, size, rows) for i in window(x, size, columns)
            ]
            known = sorted(v for v in values if not math.isnan(v))
            filtered[y, x] = known[(len(known) - 1) // 2]
    return filtered


def open_cells(mask, search, shape):
    """The cells that may be chosen: both pixels valid, the disparity within the pixel's range; bool (rows, columns, levels)."""
    found = np.zeros((*shape, search.levels), bool)
    for y, x, k in np.ndindex(found.shape):
        d = Fraction(
            round((search.minimum + k * search.step) * search.denominator), search.denominator
        )
        position = x - search.direction * d
        # A position between two pixels needs both; out of the image there is no pixel to be masked.
        seen = (
            {math.floor(position), math.ceil(position)} if 0 <= position <= shape[1] - 1 else set()
        )
        found[y, x, k] = (
            (mask.valid is None or mask.valid[y, x])
            and (mask.match_valid is None or all(mask.match_valid[y, q] for q in seen))
            # Float32 limits and levels of 1/3 are off each other by rounding alone.
            and (mask.low is None or not float(mask.low[y, x]) > d + Fraction(1, 1000))
            and (mask.high is None or not float(mask.high[y, x]) < d - Fraction(1, 1000))
        )
    return found


def reached(is_open, search):
    """Smallest and largest disparity with which an open cell reaches each match pixel; inf and -inf where none does."""
    rows, columns = is_open.shape[:2]
    low, high = (
        np.full((rows, columns), np.inf, np.float32),
        np.full((rows, columns), -np.inf, np.float32),
    )
    for y, x, k in np.argwhere(is_open):
        d = Fraction(
            round((search.minimum + int(k) * search.step) * search.denominator), search.denominator
        )
        position = int(x) - search.direction * d
        if 0 <= position <= columns - 1:
            for q in {math.floor(position), math.ceil(position)}:
                low[y, q], high[y, q] = (
                    min(low[y, q], np.float32(float(d))),
                    max(high[y, q], np.float32(float(d))),
                )
    return low, high
