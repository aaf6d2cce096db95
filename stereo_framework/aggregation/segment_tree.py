"""Non-local aggregation: means over the whole image along a tree of its segments."""

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
        to 1/e: the sigma of the authors' program times 255. Larger values average over
        larger areas.
    k : float
        Constant of the grouping, in grey levels: the k of the authors' program. Two
        segments are joined if the difference of the edge between them is at most
        d + k / n for both segments, where d is the largest difference inside the
        segment and n its number of pixels. Larger values give larger segments. With 0,
        segments have a constant colour in the median-filtered image.
    link_penalty : float
        Penalty, in grey levels, for an edge that links two subtrees if both have more
        than 50 pixels when they are linked. The penalty is added to the difference of
        the edge. The authors' program adds 5. With 0, no edge gets a penalty.
    median_size : {1, 3, 5}
        Width and height of the median filter that smooths each channel of the image
        before the tree is built, in pixels. The authors' program uses 3. With 1, the
        image is not smoothed.

    Returns
    -------
    CostVolume
        Same unit and shape. Lower is better. Cells outside the image are averaged with
        their cost like all other cells.

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
    of the image. The rules are those of the authors' program, because only the abstract
    of the paper was available. `build_segment_tree` states the rules of the tree and
    the order of edges with equal differences. The defaults are the values of the
    authors' public program: 0.1 of the range of intensities for sigma, and 1200 for k.
    The authors sum costs. The sums are the means times the sum of a pixel's weights, so
    the levels of lowest cost are the same.

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
