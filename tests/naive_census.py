"""Slow, obvious twins of the costs that compare a pixel with its neighbours: census, rank, gradients, AD-census."""

import math
from fractions import Fraction

import naive
import numpy as np


def grey_lines(image, denominator, cubic):
    """Per row the sums of the channels at steps of 1/denominator; of float images in float32, one channel after the other."""
    rows, columns = image.shape[:2]
    found = []
    for row in image.reshape(rows, columns, -1):
        channels = [
            naive.fine_row(row[:, c], denominator, cubic, image.dtype == np.uint8)
            for c in range(row.shape[1])
        ]
        sums = np.zeros(len(channels[0]), np.float32)
        for channel in channels:
            sums += np.array([float(v) for v in channel], np.float32)
        found.append(sums.tolist())
    return found


def neighbour(lines, y, i, dy, dx, denominator):
    """The grey value dy rows below and dx pixels right of sample i; beyond the borders the outermost repeats."""
    row = lines[min(max(y + dy, 0), len(lines) - 1)]
    return row[min(max(i + dx * denominator, 0), len(row) - 1)]


def census_string(lines, y, i, width, height, form, denominator):
    found = []
    for dy in range(-(height // 2), height // 2 + 1):
        for dx in range(-(width // 2), width // 2 + 1):
            if form == "plain" and (dy, dx) != (0, 0):
                found.append(neighbour(lines, y, i, dy, dx, denominator) < lines[y][i])
            if form == "centre_symmetric" and (dy, dx) < (0, 0):
                found.append(
                    neighbour(lines, y, i, dy, dx, denominator)
                    < neighbour(lines, y, i, -dy, -dx, denominator)
                )
    return found


def over_cells(reference, match, search, outside_cost, cost):
    """Compute the costs of all cells, float64 (rows, columns, levels).

    The cost of a cell is `cost` of its row, its column and its sample of the match
    image. A cell whose sample is outside the match image has the cost `outside_cost`.
    """
    rows, columns = reference.shape[:2]
    costs = np.full((rows, columns, search.levels), outside_cost, float)
    for y, x, k in np.ndindex(costs.shape):
        position = x * search.denominator - search.direction * (search.first + k * search.stride)
        if 0 <= position <= (columns - 1) * search.denominator:
            costs[y, x, k] = cost(y, x, position)
    return costs


def grey_image(image, conversion):
    """Convert a colour image to luma; leave it as it is if the mean of its lines is taken."""
    if image.ndim == 2 or conversion == "mean":
        return image
    if image.dtype == np.uint8:
        thousandths = np.dot(image.astype(int), (299, 587, 114))
        if conversion == "rounded_luma":
            return np.floor(thousandths / 1000 + 0.5).astype(np.uint8)
        return (thousandths / 1000).astype(np.float32)
    return np.dot(image.astype(float), (0.299, 0.587, 0.114)).astype(np.float32)


def census(
    reference,
    match,
    search,
    *,
    width=9,
    height=7,
    form="plain",
    grey_conversion="luma",
    interpolation="cubic",
):
    """Costs and the cost of cells out of view."""
    reference, match = (grey_image(image, grey_conversion) for image in (reference, match))
    bits = (width * height - 1) // (1 if form == "plain" else 2)
    n = search.denominator
    left, right = grey_lines(reference, 1, True), grey_lines(match, n, interpolation == "cubic")
    ours = {
        (y, x): census_string(left, y, x, width, height, form, 1)
        for y in range(len(left))
        for x in range(len(left[0]))
    }
    theirs = {
        (y, i): census_string(right, y, i, width, height, form, n)
        for y in range(len(right))
        for i in range(len(right[0]))
    }

    def cost(y, x, i):
        return sum(a != b for a, b in zip(ours[y, x], theirs[y, i], strict=True))

    return over_cells(reference, match, search, bits // 2, cost), bits // 2


def rank(
    reference,
    match,
    search,
    *,
    width=9,
    height=7,
    grey_conversion="luma",
    interpolation="cubic",
):
    """Costs and the cost of cells out of view."""
    reference, match = (grey_image(image, grey_conversion) for image in (reference, match))
    n = search.denominator
    left, right = grey_lines(reference, 1, True), grey_lines(match, n, interpolation == "cubic")

    def cost(y, x, i):
        return abs(
            sum(census_string(left, y, x, width, height, "plain", 1))
            - sum(census_string(right, y, i, width, height, "plain", n))
        )

    outside_cost = (width * height - 1) // 2
    return over_cells(reference, match, search, outside_cost, cost), outside_cost


def slope(row, i, denominator, channels):
    """Of the grey value per pixel, between the samples a pixel before and after."""
    before, after = max(i - denominator, 0), min(i + denominator, len(row) - 1)
    if before == after:
        return Fraction(0)
    return (
        (Fraction(row[after]) - Fraction(row[before]))
        / channels
        / Fraction(after - before, denominator)
    )


def colour_difference(reference, match, denominator, cubic):
    """Of row, column and sample: mean over the channels of the absolute difference."""
    rows, columns = reference.shape[:2]
    left, right = (image.reshape(rows, columns, -1) for image in (reference, match))
    channels, whole = left.shape[2], reference.dtype == np.uint8
    fine = [
        [naive.fine_row(right[y, :, c], denominator, cubic, whole) for c in range(channels)]
        for y in range(rows)
    ]
    return lambda y, x, i: (
        sum(abs(Fraction(float(left[y, x, c])) - fine[y][c][i]) for c in range(channels)) / channels
    )


def gradient_difference(
    reference,
    match,
    search,
    *,
    alpha=0.89,
    truncation=7.0,
    gradient_truncation=2.0,
    grey_conversion="luma",
    interpolation="cubic",
):
    """Costs and the cost of cells out of view."""
    n, cubic = search.denominator, interpolation == "cubic"
    grey_reference, grey_match = (
        grey_image(image, grey_conversion) for image in (reference, match)
    )
    channels = 1 if grey_reference.ndim == 2 else 3
    left, right = grey_lines(grey_reference, 1, True), grey_lines(grey_match, n, cubic)
    colour = colour_difference(reference, match, n, cubic)

    def cost(y, x, i):
        gradient = abs(slope(left[y], x, 1, channels) - slope(right[y], i, n, channels))
        return (1 - alpha) * min(float(colour(y, x, i)), truncation) + alpha * min(
            float(gradient), gradient_truncation
        )

    outside_cost = (1 - alpha) * min(truncation, 255) + alpha * min(gradient_truncation, 255)
    return over_cells(reference, match, search, outside_cost, cost), outside_cost


def ad_census(
    reference,
    match,
    search,
    *,
    lambda_ad=10.0,
    lambda_census=30.0,
    width=9,
    height=7,
    grey_conversion="luma",
    ad_weight=1.0,
    census_weight=1.0,
    quantization_steps=None,
    interpolation="cubic",
):
    """Costs, not rounded, and the cost of cells out of view."""
    colour = colour_difference(reference, match, search.denominator, interpolation == "cubic")
    bits, _ = census(
        reference,
        match,
        search,
        width=width,
        height=height,
        grey_conversion=grey_conversion,
        interpolation=interpolation,
    )
    unit = quantization_steps or 1

    def cost(y, x, i):
        return ad_weight * (1 - math.exp(-float(colour(y, x, i)) / lambda_ad))

    result = over_cells(reference, match, search, 0, cost) + census_weight * (
        1 - np.exp(-bits / lambda_census)
    )
    columns, half = reference.shape[1], (ad_weight + census_weight) / 2
    outside_cost = unit * half if quantization_steps is None else round(unit * half)
    result[:, ~naive.inside(columns, search)] = outside_cost / unit
    return unit * result, outside_cost
