"""Cross-scale aggregation: costs of several image sizes are filtered and combined."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.aggregation.guided_filter import guided_filter
from stereo_framework.core.other_frames import OtherFrame, changed_frames
from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import (
    CostOfPairs,
    Image,
    InSlot,
    NonNegative,
    Pair,
    PositiveInt,
    SearchMask,
    SearchRange,
    Step,
    Unit,
    stage,
    step,
)


@stage("aggregation", source="Zhang et al. 2014", memory=2, data_for_inner={"frames"})
def cross_scale(
    volume: CostVolume,
    reference: Image,
    match: Image,
    cost: CostOfPairs,
    mask: SearchMask | None = None,
    frames: tuple[OtherFrame, ...] = (),
    *,
    inner: Annotated[Step, InSlot("aggregation")] = step(guided_filter),
    scales: Annotated[PositiveInt, Unit("image sizes")] = 5,
    scale_weight: NonNegative = 0.3,
) -> CostVolume:
    """Filter the costs at several image sizes, and combine the filtered costs.

    The stage computes the matching cost of the method again for smaller images. The
    inner aggregation filters the costs at each image size. The combined cost of a pixel
    is a weighted sum of the filtered costs of this pixel at all image sizes. The
    smaller images improve the costs in regions without texture.

    Parameters
    ----------
    volume : CostVolume
        Matching costs at full image size, float32 (rows, columns, levels).
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Images after preprocessing, with intensities in 0..255. The inner aggregation
        may read these images.
    cost : CostOfPairs
        Function that computes the matching cost of the method for a pair. The pair
        ``cost.pair`` must have the size of the images.
    mask : SearchMask, optional
        Allowed pixels and disparities of the pair.
    frames : tuple of OtherFrame
        Further images of the scene after preprocessing. Only an inner aggregation that
        names the data argument ``frames`` reads these images.
    inner : Step
        Aggregation that filters the costs at each size.
    scales : int
        Number of image sizes, including the full size. Each image size has half as many
        rows and columns as the next larger image size.
    scale_weight : float
        Weight of the differences between the costs of neighbouring image sizes. The
        paper calls this weight lambda. With 0, only the costs at full size have an
        effect.

    Returns
    -------
    CostVolume
        Combined costs, with the unit and the shape of the matching costs. Lower is
        better.

    Raises
    ------
    ParameterError
        `scales` is below 1, or `scale_weight` is negative.

    Notes
    -----
    Zhang et al. 2014 (CVPR), section 3. The image sizes have the numbers s = 0, ...,
    S - 1. Here, S is the parameter `scales`, and s = 0 is the full size. The combined
    costs z[s] minimize the energy ::

        sum over s = 0, ..., S - 1 of (z[s] - filtered[s])^2
        + scale_weight * (sum over s = 1, ..., S - 1 of (z[s] - z[s - 1])^2)

    The solution z[0] is a weighted sum of the filtered costs of all image sizes. The
    function `scale_weights` computes the weights of this sum. The pixel (x, y) with the
    disparity d corresponds to the pixel (x // 2, y // 2) with the disparity d / 2 at
    the next smaller image size. If this disparity lies between two levels, the stage
    interpolates the costs of the two levels linearly. The authors' program does not
    interpolate, and it takes the cost of the nearest level. Like the authors' program,
    `half_size` smooths each image with a Gaussian filter before the image is reduced.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import Pair, Pipeline, SearchRange
    >>> method = Pipeline(["absolute_difference", "cross_scale", "winner_take_all"])
    >>> left = np.random.default_rng(0).integers(0, 256, (32, 48)).astype(np.uint8)
    >>> right = np.roll(left, -4, axis=1)
    >>> disparity = method(Pair(left, right, SearchRange(0, 8))).disparity
    >>> bool((disparity[:, 16:-16] == 4).all())
    True
    """
    weights = scale_weights(scales, scale_weight)
    filtered = inner(volume=volume, reference=reference, match=match, mask=mask)
    total = filtered.costs * np.float32(weights[0])
    outside_cost = weights[0] * filtered.outside_cost

    # The inner aggregation reads the preprocessed images. The function `cost` applies
    # the preprocessing itself, so `cost` gets the pair before preprocessing.
    preprocessed_pair = Pair(reference, match, volume.search, mask, frames=frames)
    original_pair = cost.pair
    for scale in range(1, scales):
        preprocessed_pair = half_size(preprocessed_pair)
        original_pair = half_size(original_pair)
        costs = cost(original_pair).floats()
        # The data of the outer call have the full image size. Therefore, this call
        # gives the inner step all data at the smaller image size.
        filtered = inner(
            volume=costs,
            raw=costs,
            reference=preprocessed_pair.reference,
            match=preprocessed_pair.match,
            search=costs.search,
            mask=preprocessed_pair.mask,
            frames=preprocessed_pair.frames,
            cost=CostOfPairs(original_pair, cost),
        )
        _add_smaller_size(total, filtered, volume.search, 2**scale, weights[scale])
        outside_cost += weights[scale] * filtered.outside_cost
    return CostVolume(total, volume.search, float(outside_cost))


def half_size(pair: Pair) -> Pair:
    """Return a pair whose images have half as many rows and columns.

    The images are smoothed with the Gaussian filter of 5x5 pixels of OpenCV's
    `pyrDown`. Every second row and column is kept, beginning with the first row and the
    first column. The method `Pair.reduced` computes the search range and the mask of
    the smaller pair.

    Examples
    --------
    >>> image = np.zeros((5, 8), np.uint8)
    >>> pair = half_size(Pair(image, image, SearchRange(0, 4)))
    >>> pair.shape, pair.search.maximum
    ((3, 4), 2.0)
    """
    # Only the search range and the mask of `smaller` are used. The images of `smaller`
    # are block means, and the smoothed images replace these block means.
    smaller = pair.reduced(2)
    reference = cv2.pyrDown(pair.reference)
    match = cv2.pyrDown(pair.match)
    frames = changed_frames(pair.frames, cv2.pyrDown)
    return replace(smaller, reference=reference, match=match, frames=frames)


def scale_weights(scales: int, scale_weight: float) -> NDArray[np.float64]:
    """Return the weights of all image sizes in the combined costs at full size.

    The minimum of the energy in `cross_scale` is the solution of linear equations with
    a tridiagonal matrix. The weights are the first row of the inverse of this matrix.

    Parameters
    ----------
    scales : int
        Number of image sizes.
    scale_weight : float
        Weight of the differences between the costs of neighbouring image sizes.

    Returns
    -------
    ndarray, float64, (scales,)
        Weights of the image sizes, ordered from the full size to the smallest size. The
        sum of the weights is 1.

    Examples
    --------
    >>> scale_weights(2, 1.0).round(3).tolist()
    [0.667, 0.333]
    """
    matrix = np.eye(scales)
    for finer, coarser in zip(range(scales - 1), range(1, scales), strict=True):
        matrix[finer, finer] += scale_weight
        matrix[coarser, coarser] += scale_weight
        matrix[finer, coarser] -= scale_weight
        matrix[coarser, finer] -= scale_weight
    return np.linalg.inv(matrix)[0]


def _add_smaller_size(
    total: Costs, smaller: CostVolume, search: SearchRange, factor: int, weight: float
) -> None:
    """Add weighted costs from a smaller image size to the costs at full image size.

    The function changes the array `total`. A disparity outside the search range of the
    smaller size gets the cost of the first or the last level of this search range. The
    interpolation needs at least two levels. The search range that `Pair.reduced`
    computes always has at least two levels.

    Parameters
    ----------
    total : ndarray, float32, (rows, columns, levels)
        Sum of the weighted costs at full image size.
    smaller : CostVolume
        Filtered costs of the smaller images.
    search : SearchRange
        Search range at full image size.
    factor : int
        Width of the full images divided by the width of the smaller images, such as 2.
    weight : float
        Weight of the smaller image size in the sum.
    """
    disparities = search.minimum + search.step * np.arange(search.levels)
    positions = (disparities / factor - smaller.search.minimum) / smaller.search.step
    positions = np.clip(positions, 0, smaller.search.levels - 1)
    lower_levels = np.minimum(positions.astype(np.int64), smaller.search.levels - 2)
    fractions = positions - lower_levels
    upper_weights = (weight * fractions).astype(np.float32)
    lower_weights = (weight * (1 - fractions)).astype(np.float32)

    def run(start: int, stop: int) -> None:
        _add_rows(
            total[start:stop],
            smaller.costs,
            start,
            factor,
            lower_levels,
            lower_weights,
            upper_weights,
        )

    over_rows(run, total.shape[0], total.nbytes)


@kernel
def _add_rows(
    total: Costs,
    smaller: Costs,
    start: int,
    factor: int,
    lower_levels: NDArray[np.int64],
    lower_weights: NDArray[np.float32],
    upper_weights: NDArray[np.float32],
) -> None:
    """Add the weighted costs of a smaller image to a block of rows at full size.

    The first row of the block `total` is the row `start` of the full image. If a
    disparity lies between two levels of the smaller image, the costs of the two levels
    are interpolated.
    """
    rows, columns, levels = total.shape
    for y in range(rows):
        small_row = (start + y) // factor
        for x in range(columns):
            costs = smaller[small_row, x // factor]
            for k in range(levels):
                lower = lower_levels[k]
                total[y, x, k] += (
                    lower_weights[k] * costs[lower] + upper_weights[k] * costs[lower + 1]
                )
