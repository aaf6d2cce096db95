"""Non-local aggregation: costs are averaged over the image along a segment tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from stereo_framework.aggregation._trees import average_finite_costs, build_segment_tree
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

    The tree first connects the pixels inside each segment, and then connects the
    segments. Each disparity level is averaged separately.

    Parameters
    ----------
    volume : CostVolume
        Matching costs, float32 (rows, columns, levels).
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. The difference of two neighbouring pixels is the maximum of
        the absolute differences of their channels.
    sigma : float
        Sum of the differences along a path of the tree for which the weight is 1/e, in
        grey levels. The value is 255 times the sigma of the authors' program. Larger
        values average over larger areas.
    k : float
        Constant k of the rule that groups pixels into segments, in grey levels. The
        authors' program uses the same constant. Two segments are joined if the
        difference of the edge between them is at most d + k / n for each of the two
        segments. Here, d is the largest difference inside the segment, and n is the
        number of pixels of the segment. Larger values give larger segments. With 0,
        each segment has a constant colour in the median-filtered image.
    link_penalty : float
        Penalty for an edge that links two large subtrees, in grey levels. A subtree is
        large if it has more than 50 pixels when the edge is added. The penalty is added
        to the difference of the edge. The authors' program adds a penalty of 5. With 0,
        no edge gets a penalty.
    median_size : {1, 3, 5}
        Width and height, in pixels, of the median filter that smooths each channel of
        the image before the tree is built. The authors' program uses 3. With 1, the
        image is not smoothed.

    Returns
    -------
    CostVolume
        Averaged costs, with the unit and the shape of the matching costs. Lower is
        better. The costs of cells outside the match image are averaged like all other
        costs.

    Raises
    ------
    DataError
        The image has another size than the volume, or the image is neither uint8 nor
        float32.
    ParameterError
        `sigma` is not above 0, `k` or `link_penalty` is negative, or `median_size` is
        not 1, 3 or 5.

    Notes
    -----
    Mei, Sun, Dong, Wang & Zhang 2013 (CVPR). The stage is the variant ST-1, which uses
    only the colours of the image. The stage follows the rules of the authors' program,
    because only the abstract of the paper was available. The docstring of
    `build_segment_tree` describes the rules of the tree and the order of edges with
    equal differences. The default values are the values of the authors' public program.
    In this program, sigma is 0.1 of the range of intensities, and k is 1200. The
    authors compute weighted sums of the costs. At each pixel, the weighted sum is the
    weighted mean times the sum of the weights. The level with the lowest cost is
    therefore the same for sums and means.

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
    return replace(volume, costs=average_finite_costs(volume.costs, tree, weights))
