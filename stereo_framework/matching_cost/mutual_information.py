"""Mutual information: how surprising a pair of intensities is, as learned from the images themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.grey import GreyConversion, grey_values
from stereo_framework.stages import (
    CostVolume,
    DataError,
    DisparityMap,
    Image,
    Positive,
    SearchRange,
    Status,
    Unit,
    auxiliary_map,
    stage,
)

_LEVELS = 256
_WORST = 255.0


@stage(
    "matching_cost",
    source="Hirschmueller 2008, section 2.1; Kim, Kolmogorov & Zabih 2003",
    halo=None,
)
def mutual_information(
    reference: Image,
    match: Image,
    search: SearchRange,
    auxiliary: Mapping[str, DisparityMap],
    *,
    initial: str | None = None,
    sigma: Annotated[Positive, Unit("grey levels")] = 1.0,
    grey_conversion: GreyConversion = "luma",
) -> CostVolume:
    """How seldom two intensities meet at matched pixels: any relation of the two images' brightness is learned from an initial map.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Colour is turned into grey.
    search : SearchRange
        Disparities to try, in pixels. Calls in Python also take the ends, and the step
        if it is not 1: ``(0, 63)`` or ``(0, 63, 0.5)``.
    auxiliary : mapping of str to DisparityMap
        Maps of the same pair by the auxiliary methods, by name.
    initial : str, optional
        The one whose map says which pixels are matched; default: the only one. `coarse` around a method makes it from smaller images, as the source does.
    sigma : float
        Standard deviation of the Gaussian that smooths the histograms, in grey levels.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours to grey values, as in `census`. Histograms count whole grey
        levels, so that all grey values are rounded.

    Returns
    -------
    CostVolume
        float32 (rows, columns, levels), 0 = the pair of intensities that tells most, 255 = that which tells least; lower is better. Cells out of view cost half of the most.

    Raises
    ------
    DataError
        The images differ in shape or type; no pixel of the map is matched.
    ParameterError
        There is no such auxiliary method, or there are several and none is named.

    Notes
    -----
    Hirschmueller 2008, equations 4 to 9: from the joint histogram P of the intensities at matched pixels, smoothed by a Gaussian before and after the logarithm,
    ``mi(i, k) = h1(i) + h2(k) - h12(i, k)``, where h = -log P / n, smoothed, n being the number of pixels; h1 and h2 are those of the histogram's sums. The source scales
    costs to integers of some bits; here they go from 0 to 255. The match image is sampled linearly between pixels and rounded to whole grey levels.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework.stages import DisparityMap
    >>> left = np.tile(np.array([10, 80, 160, 240], np.uint8), (6, 3))
    >>> inverse = 255 - left
    >>> initial = DisparityMap(np.zeros(left.shape, np.float32), np.zeros(left.shape, np.uint8), SearchRange(0, 1))
    >>> costs = mutual_information(left, inverse, SearchRange(0, 1), {"initial": initial}).costs
    >>> bool((costs[:, 1:, 0] < costs[:, 1:, 1]).all())
    True
    """
    view = auxiliary_map("mutual_information.initial", auxiliary, initial)
    left, right = (_whole_grey_values(image, grey_conversion) for image in (reference, match))
    matched = np.where(view.status == Status.MATCHED, view.disparity, np.float32(np.nan))
    table = cost_table(left, right, search.direction, matched, sigma)
    outside_cost = _WORST / 2
    costs = np.full((*left.shape, search.levels), outside_cost, np.float32)
    codes = left.astype(np.intp)
    for level, disparity in enumerate(search.disparities):
        sampled, inside = _moved(right, search.direction * float(disparity))
        costs[:, inside, level] = table[codes[:, inside], sampled[:, inside].astype(np.intp)]
    return CostVolume(costs, search, outside_cost)


def _whole_grey_values(image: Image, grey_conversion: GreyConversion) -> NDArray[np.float32]:
    """Return the grey values of an image, rounded to the 256 grey levels of the histograms."""
    rounded: NDArray[np.float32] = np.rint(grey_values(image, grey_conversion))
    return np.clip(rounded, 0, 255).astype(np.float32)


def _moved(
    image: NDArray[np.float32], shift: float
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The image at x - shift, rounded to grey levels, and which columns lie inside it."""
    columns = image.shape[1]
    places = np.arange(columns) - shift
    inside = (places >= 0) & (places <= columns - 1)
    first = np.clip(np.floor(places), 0, columns - 1).astype(np.intp)
    share = np.where(inside, places - first, 0).astype(np.float32)
    second = np.minimum(first + 1, columns - 1)
    return np.rint(image[:, first] * (1 - share) + image[:, second] * share), inside


def cost_table(
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    direction: int,
    disparity: NDArray[np.float32],
    sigma: float,
) -> NDArray[np.float32]:
    """Costs of all pairs of grey levels, float32 (256, 256), 0..255, from the pixels that a map matches (NaN = not matched)."""
    columns = left.shape[1]
    x = np.rint(np.arange(columns) - direction * disparity)
    known = np.isfinite(x) & (x >= 0) & (x <= columns - 1)
    if not known.any():
        raise DataError("mutual_information: the initial map matches no pixel")
    y, here = np.nonzero(known)
    pairs = left[y, here].astype(np.intp) * _LEVELS + right[y, x[y, here].astype(np.intp)].astype(
        np.intp
    )
    joint = np.bincount(pairs, minlength=_LEVELS**2).reshape(_LEVELS, _LEVELS) / known.sum()
    both = _information(joint, sigma, known.sum())
    first, second = (
        _information(joint.sum(axis=axis)[None], sigma, known.sum())[0] for axis in (1, 0)
    )
    costs = both - first[:, None] - second
    low, high = costs.min(), costs.max()
    return ((costs - low) * (_WORST / max(high - low, 1e-12))).astype(np.float32)


def _information(shares: NDArray[np.float64], sigma: float, count: int) -> NDArray[np.float64]:
    """Minus the logarithm of smoothed shares, smoothed again; one pair in all is the least that counts, so that none is infinitely seldom."""
    reach = int(np.ceil(3 * sigma))
    window = (1 if shares.shape[0] == 1 else 2 * reach + 1, 2 * reach + 1)[::-1]

    def smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return cv2.GaussianBlur(values, window, sigma, borderType=cv2.BORDER_CONSTANT)

    least = 1e-3 / (count * _LEVELS)
    return np.asarray(smooth(-np.log(np.maximum(smooth(shares), least)) / count))
