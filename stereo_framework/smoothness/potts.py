"""Potts model: any change of disparity costs the same."""

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
def potts(
    reference: Image,
    search: SearchRange,
    *,
    weight: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
    gradient_threshold: Annotated[NonNegative, Unit("grey levels")] | None = None,
    gradient_penalty: NonNegative = 2.0,
) -> Smoothness:
    """Neighbours of different disparity pay the weight of their edge, whatever the difference.

    Parameters
    ----------
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Disparity of each level.
    weight : float
        The paper's lambda: cost of a change between two neighbours, in units of the matching cost.
    gradient_threshold : float or None
        Intensity difference across an edge, in grey levels (root mean square over the colours), below which a change costs
        `gradient_penalty` times as much; null or 0: the image plays no part. The paper's typical value is 8.
    gradient_penalty : float
        Factor on the weight of edges below the threshold; above 1 it moves changes of disparity to intensity edges.

    Returns
    -------
    Smoothness
        Edge weights float32 (rows, columns) and rho = 0, 1, 1, ...

    Raises
    ------
    ParameterError
        A parameter below 0.

    Notes
    -----
    Scharstein & Szeliski 2002, sections 3.3 and 4.3. As in the original test bed the difference is taken across each very edge, to the
    right and to the lower neighbour, and only differences strictly below the threshold count. Defaults for weight and penalty
    are typical values of the paper (Tables 2 and 4).

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[0, 7, 15]], np.uint8)
    >>> potts(image, SearchRange(0, 3), weight=20, gradient_threshold=8, gradient_penalty=2).right.tolist()
    [[40.0, 20.0, 0.0]]
    """
    rho = (np.arange(search.levels) > 0).astype(np.float64)
    return weighted(reference, rho, weight, gradient_threshold, gradient_penalty)
