"""Removal of the estimates in which a confidence measure has little trust."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stereo_framework.core.errors import nearest
from stereo_framework.stages import (
    ConfidenceMap,
    Disparity,
    Fraction01,
    ParameterError,
    Status,
    StatusMap,
    stage,
)


@stage("refinement", source="Hu & Mordohai 2012 for the measures")
def confidence_filter(
    disparity: Disparity,
    status: StatusMap,
    confidence: Mapping[str, ConfidenceMap],
    *,
    measure: str | None = None,
    min_confidence: float | None = None,
    fraction: Fraction01 = 0.1,
) -> Disparity:
    """Remove the estimates whose confidence is below a value, or the least sure fraction of all estimates.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`. Filled pixels count as no surer than the least sure pixel.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        The confidence of the method's own map, by measure, higher = surer.
    measure : str, optional
        The measure that decides; null: the last one that was computed.
    min_confidence : float, optional
        Confidence below which an estimate is removed, in the unit of the measure. If it
        is null, `fraction` decides.
    fraction : float
        Largest fraction of the map's estimates that is removed if `min_confidence` is null.
        Estimates of the same confidence are removed or kept together.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN where an estimate was removed; the pipeline marks these pixels as mismatched.

    Raises
    ------
    ParameterError
        The method has no such measure, or none at all.

    Notes
    -----
    Most measures are comparable only within one map, not between scenes: a fraction means the same everywhere, a value only for measures
    in pixels, such as `left_right_consistency`.

    Examples
    --------
    >>> import numpy as np
    >>> sure = {"peak_ratio": np.float32([[4, 1, 3, 2]])}
    >>> confidence_filter(np.float32([[5, 6, 7, 8]]), np.zeros((1, 4), np.uint8), sure, fraction=0.5).tolist()
    [[5.0, nan, 7.0, nan]]
    """
    sure = _measured(confidence, measure)
    sure = np.where(status == Status.FILLED, sure.min(), sure)
    if min_confidence is None:
        min_confidence = _least_kept(sure[~np.isnan(disparity)], fraction)
    return np.where(sure < min_confidence, np.float32(np.nan), disparity)


def _measured(confidence: Mapping[str, ConfidenceMap], measure: str | None) -> ConfidenceMap:
    if not confidence:
        raise ParameterError(
            "confidence_filter.measure: the method measures no confidence; name a measure under confidence:"
        )
    if measure is not None and measure not in confidence:
        raise ParameterError(
            f"confidence_filter.measure: no confidence {measure!r}; {nearest(measure, confidence, kind='measures')}"
        )
    return confidence[measure or list(confidence)[-1]]


def _least_kept(values: ConfidenceMap, share: float) -> float:
    """The value below which values are left out so that at most a share of them is, equal ones together.

    Examples
    --------
    >>> _least_kept(np.array([5, 1, 3, 3]), 0.5), _least_kept(np.array([5, 1, 3, 3]), 0.75)
    (3.0, 5.0)
    """
    if not values.size:
        return 0.0
    order = np.sort(values, axis=None)
    return float(order[min(int(share * values.size), values.size - 1)])
