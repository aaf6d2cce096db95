"""Spatial minimum filter: turns fixed windows into shiftable ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from stereo_framework.core.stage import PositiveInt, Unit, stage
from stereo_framework.core.volume import CostVolume
from stereo_framework.kernels.windows import window_minimum


@stage("aggregation", source="Scharstein & Szeliski 2002, section 4.2", halo=lambda size: size // 2)
def min_filter(volume: CostVolume, *, size: Annotated[PositiveInt, Unit("pixels")] = 9) -> CostVolume:
    """Smallest cost in a square window around each pixel, level by level.

    After a box filter of the same size every pixel gets the best of all windows that contain it: a shiftable window.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    size : int
        Width and height of the window in pixels. An even window reaches one pixel further right and down: the upper left of the four pixels in its middle is the centre.

    Returns
    -------
    CostVolume
        Same unit and shape; lower is better. The window is clipped at the image borders.

    Raises
    ------
    ParameterError
        `size` below 1.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.2: the minimum filter is separable, as in Bobick & Intille 1999 and Tao et al. 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import Search
    >>> costs = np.array([[5, 7, 9, 2]], np.float32)[..., None].repeat(2, axis=2)
    >>> min_filter(CostVolume(costs, Search(0, 1), 255.0), size=3).costs[0, :, 0].tolist()
    [5.0, 5.0, 2.0, 2.0]
    """
    return replace(volume, costs=window_minimum(volume.costs, size))
