"""Linear smoothness: a change of disparity costs in proportion to its size."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from stereo_framework.smoothness._gradient import weighted
from stereo_framework.stages import Image, NonNegative, SearchRange, Smoothness, Unit, stage


@stage(
    "smoothness",
    source="Scharstein & Szeliski 2002, sections 3.3 and 4.3, equations 5 and 6",
    halo=lambda: 1,
)
def linear(
    reference: Image,
    search: SearchRange,
    *,
    weight: Annotated[NonNegative, Unit("units of the matching cost per pixel")] = 20.0,
    gradient_threshold: Annotated[NonNegative, Unit("grey levels")] | None = None,
    gradient_penalty: NonNegative = 2.0,
) -> Smoothness:
    """Neighbours pay the weight of their edge for every pixel of difference between their disparities.

    Parameters
    ----------
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Disparity of each level.
    weight : float
        The paper's lambda: cost of a change by one pixel of disparity, in units of the matching cost.
    gradient_threshold : float or None
        Intensity difference across an edge, in grey levels (root mean square over the colours), below which a change costs
        `gradient_penalty` times as much; null or 0: the image plays no part. The paper's typical value is 8.
    gradient_penalty : float
        Factor on the weight of edges below the threshold; above 1 it moves changes of disparity to intensity edges.

    Returns
    -------
    Smoothness
        Edge weights float32 (rows, columns) and rho = the level difference in pixels.

    Raises
    ------
    ParameterError
        A parameter below 0.

    Notes
    -----
    Scharstein & Szeliski 2002, sections 3.3 and 4.3: rho_d is left open there. It does not preserve discontinuities; see
    `truncated_linear`. The gradient rule is that of `potts`.

    Examples
    --------
    >>> import numpy as np
    >>> linear(np.zeros((1, 2), np.uint8), SearchRange(0, 1, 0.5)).rho.tolist()
    [0.0, 0.5, 1.0]
    """
    return weighted(
        reference,
        search.step * np.arange(search.levels),
        weight,
        gradient_threshold,
        gradient_penalty,
    )
