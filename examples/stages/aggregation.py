"""An aggregation with the support of both views: neighbours count where they resemble the middle in both images."""

from dataclasses import replace
from typing import Annotated

import numpy as np

from stereo_framework import NonNegative, PositiveInt, Unit, stage
from stereo_framework.stages import ParameterError


@stage("aggregation", source="Zhang, Lu & Lafruit 2009, section III", halo=lambda size: size // 2)
def alike_in_both(
    volume,
    reference,
    match,
    *,
    size: Annotated[PositiveInt, Unit("pixels")] = 5,
    threshold: Annotated[NonNegative, Unit("grey levels")] = 20.0,
):
    """Mean cost of the pixels around each that look like it in the reference image and, at the level's disparity, in the match image.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    size : int
        Width of the window, in pixels; an even one counts as one more.
    threshold : float
        Largest difference, in grey levels of the channel that differs most, between pixels that look alike.

    Returns
    -------
    CostVolume
        Same unit and shape; lower is better.
    """
    search, (rows, columns, levels) = volume.search, volume.costs.shape
    if search.denominator > 1:
        # The match image is not sampled between pixels.
        raise ParameterError(f"the step is {search.step:g} pixels; this stage needs whole steps")
    # What a level's disparity shows in the match image, by column; out of view the outermost column.
    offsets = search.direction * np.rint(search.disparities).astype(int)
    position = np.clip(np.arange(columns)[:, None] - offsets, 0, columns - 1)
    total, count = volume.costs.astype(np.float64), np.ones((rows, columns, levels))
    reach = range(-(size // 2), size // 2 + 1)
    for dy in reach:
        for dx in reach:
            if dy == dx == 0:
                continue
            one, other = (_alike(image, dy, dx, threshold) for image in (reference, match))
            both = one[..., None] & other[:, position]
            total += np.where(both, _moved(volume.costs, dy, dx), 0)
            count += both
    return replace(volume, costs=(total / count).astype(np.float32))


def _moved(array, dy, dx):
    """What lies `dy` rows below and `dx` columns right of each pixel; beyond the borders, zeros."""
    rows, columns = array.shape[:2]
    padded = np.pad(array, [(abs(dy), abs(dy)), (abs(dx), abs(dx)), *[(0, 0)] * (array.ndim - 2)])
    return padded[abs(dy) + dy : abs(dy) + dy + rows, abs(dx) + dx : abs(dx) + dx + columns]


def _alike(image, dy, dx, threshold):
    """Whether the pixel at an offset lies in the image and resembles."""
    wide = image.astype(np.float32).reshape(*image.shape[:2], -1)
    inside = _moved(np.ones(image.shape[:2], bool), dy, dx)
    return inside & (np.abs(_moved(wide, dy, dx) - wide).max(axis=2) <= threshold)
