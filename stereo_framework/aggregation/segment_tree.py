"""Non-local aggregation: means over the whole image along a tree of its segments."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from stereo_framework.aggregation._trees import average_along_tree, build_segment_tree
from stereo_framework.core.volume import CostVolume
from stereo_framework.stages import Image, NonNegative, Positive, Unit, stage


@stage("aggregation", source="Mei et al. 2013", memory=1)
def segment_tree(
    volume: CostVolume,
    reference: Image,
    *,
    sigma: Annotated[Positive, Unit("grey levels")] = 25.5,
    k: Annotated[NonNegative, Unit("grey levels")] = 1200.0,
    link_penalty: Annotated[NonNegative, Unit("grey levels")] = 5.0,
    median_size: Annotated[Literal[1, 3, 5], Unit("pixels")] = 3,
) -> CostVolume:
    """Average the costs of all pixels, with weights that fall along a segment tree.

    The tree connects the pixels of each segment first, and the segments afterwards.
    Each level is averaged separately.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. The difference of two neighbours is the largest absolute
        difference of a channel.
    sigma : float
        Sum of the differences along the tree, in grey levels, at which a weight falls
        to 1/e: the paper's sigma times 255. Larger values average over larger areas.
    k : float
        Constant of the grouping, in grey levels: the paper's k. Two segments are joined
        if the difference between them exceeds the largest difference inside a segment
        of n pixels by at most k / n. Larger values give larger segments. With 0,
        segments have a constant colour.
    link_penalty : float
        Number of grey levels that is added to the difference of an edge that links two
        parts of more than 50 pixels each. The program of the paper's authors adds 5.
        With 0, edges between segments have the weights of edges inside segments.
    median_size : {1, 3, 5}
        Width and height of the median filter that smooths each channel of the image
        before the tree is built, in pixels. The program of the paper's authors has 3.
        1: the image is not smoothed.

    Returns
    -------
    CostVolume
        Same unit and shape. Lower is better. Cells out of view take part with their
        cost.

    Raises
    ------
    DataError
        The image does not fit the volume, or is neither uint8 nor float32.
    ParameterError
        `sigma` is not above 0, `k` or `link_penalty` is negative, or `median_size` is
        another number.

    Notes
    -----
    Mei, Sun, Dong, Wang & Zhang 2013 (CVPR), variant ST-1, which uses only the colours
    of the image. `build_segment_tree` states the rules of the tree and the order of
    edges with equal differences. The defaults are the values of the authors' public
    program: 0.1 of the range of intensities for sigma, and 1200 for k. The authors sum
    costs. The sums are the means times the sum of a pixel's weights, so the levels of
    lowest cost are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> image = np.array([[90, 90, 90, 200, 200, 200]], np.uint8)
    >>> costs = np.array([[0, 9, 0, 5, 5, 5]], np.float32)[..., None].repeat(2, axis=2)
    >>> volume = CostVolume(costs, SearchRange(0, 1), 9.0)
    >>> segment_tree(volume, image).costs[0, :, 0].round(2)
    array([3.03, 3.03, 3.03, 4.97, 4.97, 4.97], dtype=float32)
    """
    tree = build_segment_tree(reference, k=k, link_penalty=link_penalty, median_size=median_size)
    weights = np.exp(-tree.differences.astype(np.float64) / sigma)
    return replace(volume, costs=average_along_tree(volume.costs, tree, weights))
