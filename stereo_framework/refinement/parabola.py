"""Sub-pixel refinement by a parabola through three costs."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from stereo_framework.kernels.parabola import move_to_vertices
from stereo_framework.stages import CostVolume, Disparity, Positive, SearchMask, Unit, stage


@stage("refinement", source="Scharstein & Szeliski 2002, section 4.4", halo=lambda: 0, integer=True)
def parabola(
    disparity: Disparity,
    volume: CostVolume,
    mask: SearchMask | None = None,
    *,
    max_offset: Annotated[Positive, Unit("levels")] = 0.5,
) -> Disparity:
    """Move each disparity to the vertex of the parabola through its cost and those of its two neighbouring levels.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, on levels of `volume`; NaN and values between levels are left as they are.
    volume : CostVolume
        Costs that the disparities were chosen from, float32, uint8 or uint16.
    mask : SearchMask, optional
        If it excludes one of the three cells, the disparity does not change, because an
        excluded cell has no meaningful cost.
    max_offset : float
        Largest accepted distance of the vertex from the middle one of the three levels, in
        levels. The paper gives half a step (0.5); the original program accepts one (1.0). If
        the vertex is further away, or if there is no minimum, the disparity does not change.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.4. At the ends of the search range, the three
    levels are moved inward by one level. The offset and `max_offset` are then relative
    to the moved centre. With fewer than three levels, no disparity changes.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([[[9, 3, 1]]], np.float32), SearchRange(0, 2), 255.0)
    >>> parabola(np.array([[2]], np.float32), volume, max_offset=1.0).tolist()
    [[2.0]]
    >>> volume = CostVolume(np.array([[[9, 1, 3]]], np.float32), SearchRange(0, 2), 255.0)
    >>> round(float(parabola(np.array([[1]], np.float32), volume)[0, 0]), 3)
    1.3
    """
    search = volume.search
    refined = move_to_vertices(
        disparity, volume.costs, float(search.minimum), float(search.step), max_offset
    )
    if mask is None or search.levels < 3:
        return refined
    return np.where(mask.beside_excluded(disparity, search), disparity, refined)
