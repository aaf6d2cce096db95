"""The matching cost of a method as a function of a pair of images."""

from __future__ import annotations

from collections.abc import Callable

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import in_short
from stereo_framework.core.volume import CostVolume


class CostOfPairs:
    """A function that computes the matching cost of a method for any pair of images.

    An aggregation gets this object as its data argument ``cost``. The aggregation can
    then compute costs of other pairs, for example of the same images at half the size.

    Parameters
    ----------
    pair : Pair
        Pair that the method matches, before preprocessing.
    compute : callable
        Function that takes a pair and returns its cost volume before aggregation. The
        function applies the preprocessing of the method to the pair.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import Pair, SearchRange
    >>> from stereo_framework.matching_cost import absolute_difference
    >>> image = np.zeros((4, 6), np.uint8)
    >>> cost = CostOfPairs(
    ...     Pair(image, image, SearchRange(0, 3)),
    ...     lambda pair: absolute_difference(pair.reference, pair.match, pair.search),
    ... )
    >>> cost(cost.pair.reduced(2)).costs.shape
    (2, 3, 3)
    """

    def __init__(self, pair: Pair, compute: Callable[[Pair], CostVolume]):
        self.pair = pair
        self._compute = compute

    def __call__(self, pair: Pair) -> CostVolume:
        """Return the cost volume of a pair before aggregation.

        Parameters
        ----------
        pair : Pair
            Pair before preprocessing. The search range of this pair determines the
            levels and the direction of the cost volume. Cells that the mask of this
            pair excludes get the outside cost.

        Raises
        ------
        ParameterError
            The argument is not a `Pair`.
        """
        if not isinstance(pair, Pair):
            raise ParameterError(
                f"cost: the argument is {in_short(pair)}; expected a Pair, such as cost.pair"
            )
        return self._compute(pair)
