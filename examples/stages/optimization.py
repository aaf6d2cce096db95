"""Path sums along rows with penalties that depend on the image, as in semi-global matching."""

from dataclasses import replace
from typing import Annotated

import numpy as np

from stereo_framework import Labeling, NonNegative, Positive, Unit, stage


@stage("optimization", source="Hirschmueller 2008, section 2.3", halo=lambda: 0)
def both_ways_along_rows(
    volume,
    reference,
    *,
    p1: Annotated[NonNegative, Unit("units of the matching cost")] = 5.0,
    p2: Annotated[NonNegative, Unit("units of the matching cost")] = 40.0,
    contrast: Annotated[Positive, Unit("grey levels")] = 10.0,
):
    """Sum costs along each row from both sides; changes by more than a level are the cheaper the more the image changes.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    p1, p2 : float
        Penalties, in units of the matching cost, of a change by one level and by more.
    contrast : float
        Difference of neighbouring intensities, in grey levels, above which a large change gets cheaper in proportion, but never
        cheaper than a small one.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), -1 = left out; the data cost of each; and the sums, which refinements then see as `volume`.
    """
    grey = reference.reshape(*reference.shape[:2], -1).mean(axis=2, dtype=np.float32)
    change = np.maximum(np.abs(np.diff(grey, axis=1)) / contrast, 1)
    large = np.maximum(p2 / change, p1)
    forward = _sums(volume.costs, p1, large)
    backward = _sums(volume.costs[:, ::-1], p1, large[:, ::-1])[:, ::-1]
    # A pixel's own cost is in both sums.
    sums = forward + backward - volume.costs
    labels = sums.argmin(axis=2).astype(np.int16)
    chosen = np.take_along_axis(volume.costs, labels[..., None].astype(int), axis=2)[..., 0]
    return Labeling(labels, chosen, volume=replace(volume, costs=np.ascontiguousarray(sums)))


def _sums(costs, small, large):
    """L(x, k) = C(x, k) + min(L(x-1, k), L(x-1, k±1) + small, min L(x-1) + large) - min L(x-1), all rows at a time."""
    sums = costs.copy()
    for x in range(1, costs.shape[1]):
        before = sums[:, x - 1]
        lowest = before.min(axis=1, keepdims=True)
        around = np.pad(before, ((0, 0), (1, 1)), constant_values=np.inf)
        best = np.minimum(
            np.minimum(before, lowest + large[:, x - 1, None]),
            np.minimum(around[:, :-2], around[:, 2:]) + small,
        )
        sums[:, x] += best - lowest
    return sums
