"""Slow, obvious twins of the segment tree and of means along a tree.

Pixels are numbers in raster order. A subtree is a set of pixels, and the largest
difference inside a subtree is searched among all edges of the tree.
"""

import math

import numpy as np


def edges_of(image):
    """Return the edges as (difference, pixel, direction, neighbour), sorted.

    Direction 0 leads to the right, and direction 1 leads downwards. Equal differences
    are therefore in raster order of the pixel, the edge to the right first.
    """
    rows, columns = image.shape[:2]
    edges = []
    for y, x in np.ndindex(rows, columns):
        for direction, (v, u) in enumerate([(y, x + 1), (y + 1, x)]):
            if v < rows and u < columns:
                here = np.atleast_1d(image[y, x]).astype(np.float32)
                there = np.atleast_1d(image[v, u]).astype(np.float32)
                difference = float(np.abs(here - there).max())
                edges.append((difference, y * columns + x, direction, v * columns + u))
    return sorted(edges)


def threshold(pixels, tree, k):
    """Return Int(T) + k / |T| of the subtree of some pixels."""
    inside = [difference for (p, q), difference in tree.items() if p in pixels and q in pixels]
    return max(inside, default=0.0) + k / len(pixels)


def joined(parts, p, q):
    """Return the parts after the parts of two pixels are joined."""
    both = parts[p] | parts[q]
    return parts | dict.fromkeys(both, both)


def segment_tree(image, *, k, link_penalty):
    """Return the edges of the segment tree, and the segment numbers of the pixels.

    Edges are a mapping from (left or upper pixel, right or lower pixel) to the
    difference.
    """
    rows, columns = image.shape[:2]
    edges = edges_of(image)
    parts = {pixel: frozenset([pixel]) for pixel in range(rows * columns)}
    tree = {}

    for difference, p, _, q in edges:
        if parts[p] != parts[q]:
            limit = min(threshold(parts[p], tree, k), threshold(parts[q], tree, k))
            if difference <= limit:
                tree[p, q] = difference
                parts = joined(parts, p, q)
    first_pixels = sorted({min(part) for part in parts.values()})
    numbers = [first_pixels.index(min(parts[pixel])) for pixel in range(rows * columns)]

    for difference, p, _, q in edges:
        if parts[p] != parts[q]:
            is_penalized = min(len(parts[p]), len(parts[q])) > 50
            tree[p, q] = difference + link_penalty if is_penalized else difference
            parts = joined(parts, p, q)
    return tree, np.reshape(numbers, (rows, columns))


def distances(tree, start):
    """Return the sum of the differences between a pixel and each pixel of the tree."""
    lengths = {start: 0.0}
    while len(lengths) <= len(tree):
        for (p, q), difference in tree.items():
            if p in lengths and q not in lengths:
                lengths[q] = lengths[p] + difference
            if q in lengths and p not in lengths:
                lengths[p] = lengths[q] + difference
    return lengths


def means_along(tree, costs, sigma):
    """Return the means of all pixels, weighted by exp(-distance / sigma)."""
    rows, columns, levels = costs.shape
    flat = costs.reshape(-1, levels).astype(float)
    means = np.empty(flat.shape)
    for start in range(rows * columns):
        lengths = distances(tree, start)
        weights = [math.exp(-lengths[pixel] / sigma) for pixel in range(rows * columns)]
        for level in range(levels):
            total = math.fsum(w * c for w, c in zip(weights, flat[:, level], strict=True))
            means[start, level] = total / math.fsum(weights)
    return means.reshape(costs.shape)
