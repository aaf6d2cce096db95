"""How well a measure of confidence orders the pixels of a map: the error rates of the surest pixels, and the area under their curve.

The pixels are those with a known truth and an estimate. Error rates and densities are fractions, 0..1; lower is better.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.parameters import brief


@brief
@dataclass(frozen=True, eq=False)
class Sparsification:
    """The error rate of the surest pixels of a map, as a function of their share of all pixels.

    Parameters
    ----------
    confidence : ndarray of floats, (n,)
        Higher = surer; NaN is the lowest.
    bad : ndarray, bool, (n,)
        Which pixels are wrong.

    Notes
    -----
    Hu & Mordohai 2012 measure the area under this curve. Here the curve is defined for all densities above 0: pixels of the same confidence are added
    together, so that any part of them has their mean error rate, and the area is exact rather than summed over steps of density.

    Examples
    --------
    >>> import numpy as np
    >>> bad = np.array([False, True, False, False])
    >>> Sparsification(np.zeros(4), bad).area
    0.25
    """

    confidence: NDArray
    bad: NDArray[np.bool_]

    @cached_property
    def counts(self) -> tuple[NDArray, NDArray]:
        """For each value of confidence, the highest first, how many pixels are at least as sure, and how many of them are wrong."""
        sure = np.where(np.isnan(self.confidence), -np.inf, self.confidence)
        order = np.argsort(-sure)
        values = sure[order]
        last = np.flatnonzero(np.append(values[1:] != values[:-1], True)[: values.size])
        return last + 1, np.cumsum(self.bad[order])[last]

    @property
    def error_rate(self) -> float:
        """The error rate of all pixels; NaN if there are none."""
        return float(np.count_nonzero(self.bad)) / self.bad.size if self.bad.size else math.nan

    @property
    def area(self) -> float:
        """The area under the curve: the error rate of all pixels for a confidence that says nothing, `optimal_area` for one that knows which are wrong."""
        if not self.bad.size:
            return math.nan
        pixels, bad = (counts.astype(np.float64) for counts in self.counts)
        before, wrong = np.append(0, pixels[:-1]), np.append(0, bad[:-1])
        # Between two values of confidence the number of wrong pixels grows evenly, so the error rate is slope + rest / density.
        slope = (bad - wrong) / (pixels - before)
        rest = wrong - slope * before
        # The first piece begins at density 0 and has no rest.
        curved = rest[1:] * np.log(pixels[1:] / before[1:])
        return float((slope * (pixels - before)).sum() + curved.sum()) / self.bad.size


def optimal_area(error_rate: float) -> float:
    """The smallest area that any order of the pixels can reach if this share of them is wrong: that of the order in which the wrong ones come last.

    Examples
    --------
    >>> optimal_area(0.0), optimal_area(1.0), round(optimal_area(0.5), 4)
    (0.0, 1.0, 0.1534)
    """
    right = 1 - error_rate
    return error_rate + (right * math.log(right) if right > 0 else 0.0)
