"""One map combined from those of several methods, pixel by pixel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.errors import ParameterError
from stereo_framework.parameters import require
from stereo_framework.scene import Disparity
from stereo_framework.stage import stage
from stereo_framework.view import View
from stereo_framework.volume import Status


@stage("refinement", source="Tukey 1977, chapter 7; Hu & Mordohai 2012 for confidence")
def fuse(
    disparity: Disparity,
    alternatives: Mapping[str, View],
    status: NDArray[np.uint8],
    confidence: Mapping[str, NDArray[np.float32]],
    *,
    rule: Literal["median", "confidence"] = "median",
    measure: str | None = None,
) -> Disparity:
    """Give every pixel the median of the method's own estimate and those of its alternatives.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    alternatives : mapping of str to View
        The views of the other methods; where one has no estimate, it is left out.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`. Filled pixels count as no surer than the least sure pixel.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        The confidence of the method's own map, by measure.
    rule : {"median", "confidence"}
        Whether all estimates weigh the same, or each by how its confidence ranks among the pixels of its map.
    measure : str, optional
        The confidence measure, which the method and all alternatives must have; null: the only one.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels; of several medians the lowest one, which belongs to the background. Pixels without an own estimate take that of an alternative.

    Raises
    ------
    ParameterError
        The rule is unknown, or a method does not have the confidence measure.

    Notes
    -----
    Confidence values are only comparable within one map. A weight is therefore the number of the map's pixels that are not surer.
    With two maps the surer estimate wins.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import Search
    >>> matched = np.zeros((1, 3), np.uint8)
    >>> others = {name: View(np.float32([row]), matched, Search(0, 9)) for name, row in {"a": [1, 5, 3], "b": [2, 4, np.nan]}.items()}
    >>> fuse(np.float32([[9, 4, 4]]), others, matched, {}).tolist()
    [[2.0, 4.0, 3.0]]
    """
    require(fuse, rule=rule, measure=measure)
    values = np.stack([disparity, *(view.disparity for view in alternatives.values())])
    weights: NDArray = np.ones(values.shape, np.int64)
    if rule == "confidence":
        maps = {
            "the method": (confidence, status),
            **{name: (view.confidence, view.status) for name, view in alternatives.items()},
        }
        weights = np.stack([_ranks(_measured(name, found, measure), told) for name, (found, told) in maps.items()])
    weights = np.where(np.isnan(values), 0, weights)
    order = np.argsort(values, axis=0, kind="stable")
    values, weights = (np.take_along_axis(array, order, axis=0) for array in (values, weights))
    reached = np.cumsum(weights, axis=0) * 2 >= weights.sum(axis=0)
    return np.take_along_axis(values, reached.argmax(axis=0)[None], axis=0)[0]


def _measured(method: str, confidence: Mapping[str, NDArray[np.float32]], measure: str | None) -> NDArray[np.float32]:
    if measure is None and len(confidence) == 1:
        return next(iter(confidence.values()))
    if measure is None or measure not in confidence:
        what = f"no confidence {measure!r}" if measure else "several measures of confidence, or none"
        raise ParameterError(f"fuse.measure: {method} has {what}; legal: {', '.join(sorted(confidence)) or 'none'}")
    return confidence[measure]


def _ranks(confidence: NDArray[np.float32], status: NDArray[np.uint8]) -> NDArray[np.int64]:
    """For each pixel, the number of pixels that are not surer, including itself."""
    sure = np.where(status == Status.FILLED, confidence.min(), confidence)
    return np.searchsorted(np.sort(sure, axis=None), sure, side="right")
