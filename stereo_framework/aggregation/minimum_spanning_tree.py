"""Non-local aggregation: means over the whole image along its minimum spanning tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from stereo_framework.aggregation._trees import average_finite_costs, build_spanning_tree
from stereo_framework.core.volume import CostVolume
from stereo_framework.stages import Image, Positive, Unit, stage


@stage("aggregation", source="Yang 2012", memory=1)
def minimum_spanning_tree(
    volume: CostVolume,
    reference: Image,
    *,
    sigma: Annotated[Positive, Unit("grey levels")] = 25.5,
    median_size: Annotated[Literal[1, 3, 5], Unit("pixels")] = 1,
) -> CostVolume:
    """Weighted mean of the costs of all pixels, level by level, with weights that fall along the minimum spanning tree of the reference image.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Neighbours differ by the largest difference of a channel.
    sigma : float
        Sum of the differences along the tree, in grey levels, at which a weight falls
        to 1/e: the paper's sigma.
    median_size : {1, 3, 5}
        Width and height of the median filter that smooths each channel of the image
        before the tree is built, in pixels. The program of the paper's author has 3.
        1: the image is not smoothed.

    Returns
    -------
    CostVolume
        Same unit and shape. Lower is better. Cells out of view take part with their cost.

    Raises
    ------
    DataError
        An image that does not fit the volume, or is neither uint8 nor float32.
    ParameterError
        `sigma` is not above 0, or `median_size` is another number.

    Notes
    -----
    Yang 2012 (CVPR), section 3, whose sigma is a tenth of the range of intensities; he takes sums, which are means times the sum of a pixel's weights. The
    tree connects each pixel with some of its four neighbours so that the sum of all differences is least; of equal differences those of the pixel read first
    count first, and to its right before below. Two passes, to the first pixel and from it, give the exact means in a time that does not depend on the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> image = np.array([[90, 90, 90, 200, 200, 200]], np.uint8)
    >>> costs = np.array([[0, 9, 0, 5, 5, 5]], np.float32)[..., None].repeat(2, axis=2)
    >>> minimum_spanning_tree(CostVolume(costs, SearchRange(0, 1), 9.0), image).costs[0, :, 0].round(2)
    array([3.03, 3.03, 3.03, 4.97, 4.97, 4.97], dtype=float32)
    """
    tree = build_spanning_tree(reference, median_size=median_size)
    weights = np.exp(-tree.differences.astype(np.float64) / sigma)
    return replace(volume, costs=average_finite_costs(volume.costs, tree, weights))
