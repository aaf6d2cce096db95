"""A second local matching where maps disagree, with large support along each map's own surface: an attempt to tell which of them is better."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.evaluation.regions import occluded
from stereo_framework.matching_cost import ad_census

_RADIUS, _STEP = 16, 2
"""The window has 33x33 pixels, of which every second row and column is used."""

_SURFACE = 2.0
"""Largest difference in pixels between the disparities of one surface and that at the window's centre."""

_APART = 1.0
"""Difference in pixels from which on two maps disagree."""


def lost_pixels(maps: Sequence[Disparity], scene: Scene) -> list[float]:
    """Percent of the pixels that each map loses to another one, averaged over the other maps; lower is better.

    Parameters
    ----------
    maps : sequence of ndarray, float32, (rows, columns)
        Two or more maps of one pair, in pixels; not finite = no estimate.
    scene : Scene
        With a search range.

    Notes
    -----
    Asked are pixels at which two maps differ by more than a pixel and that, as either map has it, the match frame shows. Each map's cost there is
    the mean of the reference map's own costs, AD-census at the map's disparities, over the visible pixels of a window of 33x33 whose disparities
    in the same map lie within 2 pixels of that at the centre. The map of the higher cost loses the pixel.
    """
    assert scene.search is not None, "scenes of the study have ranges"
    costs = ad_census(scene.reference, scene.match, scene.search, difference_weight=0.5).costs
    shown = [np.isfinite(d) & ~occluded(d, scene.direction) for d in maps]
    means = [_means(d, np.where(s, _at(costs, d, scene), np.nan)) for d, s in zip(maps, shown, strict=True)]
    lost = np.zeros(len(maps))
    for i, j in permutations(range(len(maps)), 2):
        asked = shown[i] & shown[j] & (np.abs(maps[i] - maps[j]) > _APART)
        lost[i] += np.mean(asked & (means[i] > means[j]))
    return [float(share) for share in 100 * lost / (len(maps) - 1)]


def _at(costs: NDArray[np.float32], disparity: Disparity, scene: Scene) -> NDArray[np.float32]:
    """Costs at a map's disparities, interpolated linearly between levels."""
    assert scene.search is not None
    levels = costs.shape[2] - 1
    place = np.clip(np.nan_to_num((disparity - scene.search.minimum) / scene.search.step), 0, levels)[..., None]
    low = np.minimum(place.astype(np.intp), levels - 1)
    a, b = (np.take_along_axis(costs, low + i, axis=2) for i in (0, 1))
    return np.asarray((a + (place - low) * (b - a))[..., 0], np.float32)


def _means(disparity: Disparity, costs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean cost of the window's pixels on the surface at its centre; costs are NaN where they do not count."""
    rows, columns = disparity.shape
    around = [np.pad(array, _RADIUS, constant_values=np.nan) for array in (disparity, costs)]
    total, count = np.zeros_like(costs), np.zeros_like(costs)
    for y, x in product(range(0, 2 * _RADIUS + 1, _STEP), repeat=2):
        near, cost = (array[y : y + rows, x : x + columns] for array in around)
        counted = (np.abs(near - disparity) <= _SURFACE) & np.isfinite(cost)
        total += np.where(counted, cost, 0)
        count += counted
    return np.asarray(total / np.maximum(count, 1), np.float32)
