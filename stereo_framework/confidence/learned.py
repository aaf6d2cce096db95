"""A learned combination of measures."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.package_files import package_yaml
from stereo_framework.kernels.decorator import kernel
from stereo_framework.stages import ConfidenceMap, Disparity, ParameterError, stage

_STEPS = 2**16


@stage("confidence", source="logistic regression, Cox 1958; what it combines is ours")
def learned(disparity: Disparity, confidence: Mapping[str, ConfidenceMap]) -> ConfidenceMap:
    """The probability that a pixel is right, from the ranks that other measures give it.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        The measures listed before this one in the method, higher = surer; all of `MEASURES` must be among them.

    Returns
    -------
    ndarray, float32, (rows, columns)
        0 to 1, higher = surer; 0 where there is no estimate.

    Raises
    ------
    ParameterError
        The method lacks one of the measures that are combined.

    Notes
    -----
    ``1 / (1 + exp(-(b + sum w_i r_i)))``, where r_i is the share of the map's estimates that measure i is less sure of, with ties counting half. Values count as equal if they differ by less
    than 1 in 65536 of the float32 values between the smallest and the largest. The weights were learned from census costs with semi-global matching, on
    the scenes listed in ``learned.yaml`` beside this file, which also gives the area reached on each scene by weights learned from all the others. For
    other costs only the order is meaningful: the probability is then off.

    Examples
    --------
    >>> import numpy as np
    >>> sure = dict.fromkeys(MEASURES, np.float32([[1, 2, 3]]))
    >>> bool((np.diff(learned(np.zeros((1, 3), np.float32), sure)) > 0).all())
    True
    """
    missing = [name for name in MEASURES if name not in confidence]
    if missing:
        raise ParameterError(
            f"learned: needs the measures {', '.join(missing)} before it under confidence:"
        )
    known = ~np.isnan(disparity)
    table = coefficients()
    # Where every pixel has an estimate, nothing needs to be selected.
    chosen = ... if known.all() else known
    odds = np.full(np.count_nonzero(known), table["intercept"], np.float32)
    for name in MEASURES:
        _add_ranks(confidence[name][chosen].reshape(-1), table["weights"][name], odds)
    np.exp(-odds, out=odds)
    odds += 1
    found = np.zeros(disparity.shape, np.float32)
    found[known] = 1 / odds
    return found


@kernel
def _add_ranks(values: NDArray[np.float32], weight: float, scores: NDArray[np.float32]) -> None:
    """Add to each place's score a weight times the share of all values that are lower, of equal ones half; all arrays are flat.

    Values are equal here if the bits of their float32 are within one of 65536 equal steps from the least to the greatest, so that counting does in place
    of sorting, in a quarter of the time. Between 1 and 1000 a step is a thousandth of a value or less; where one value is 0, about 1/256 of one.
    """
    size = values.shape[0]
    least, most = np.int64(2**31), np.int64(-(2**31))
    for i in range(size):
        place = _place(values[i])
        least, most = min(least, place), max(most, place)
    shift = np.int64(0)
    while (most - least) >> shift >= _STEPS:
        shift += 1
    counts = np.zeros(_STEPS, np.int32)
    for i in range(size):
        counts[np.uint64((_place(values[i]) - least) >> shift)] += 1
    shares, below = np.empty(_STEPS, np.float32), 0
    for k in range(_STEPS):
        shares[k] = weight * ((below + counts[k] / 2) / size)
        below += counts[k]
    for i in range(size):
        scores[i] += shares[np.uint64((_place(values[i]) - least) >> shift)]


@kernel(inline="always")
def _place(value: np.float32) -> np.int64:
    """A whole number for each float32, in the numbers' order; adding 0 makes the negative zero the positive one."""
    bits = np.int64(np.float32(value + np.float32(0)).view(np.int32))
    return bits if bits >= 0 else bits ^ 0x7FFFFFFF


@functools.cache
def coefficients() -> dict[str, Any]:
    """What was learned: the weight of each measure, the intercept, and the data they were learned from."""
    found: dict[str, Any] = package_yaml("confidence/learned.yaml")
    return found


MEASURES: tuple[str, ...] = tuple(coefficients()["weights"])
"""The measures that are combined."""
