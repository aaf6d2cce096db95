"""Intervals, tests and corrections for paired differences of methods.

A pair of methods has one difference for each scene. The functions take the differences
of several pairs with the same number of scenes as an array of shape (scenes, pairs). If
the scenes of a data set form a block, a row of the array belongs to a block.

The script ``scripts/simulate_differences.py`` measures how often the intervals contain
the true mean difference, and how often two equal methods get a small p-value.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.05
"""If the corrected p-value is below this level, the verdict is better or worse."""

INTERVAL_PROBABILITY = 0.95
"""Probability with which an interval should contain the true mean difference."""

FEWEST_SCENES_OF_INTERVAL = 4
"""Smallest number of scenes for which `bootstrap_intervals` gives an interval."""

FEWEST_SCENES_OF_DECISION = 6
"""Smallest number of scenes with a difference on which a decision is possible.

With five such scenes, the smallest p-value of both exact tests is 2 / 2**5 = 0.0625,
which is not below `LEVEL`.
"""

RESAMPLE_COUNT = 9999
"""Number of bootstrap resamples.

Together with the sample they are 10,000, so the quantile for 95 % is one of the values.
"""

_MOST_SCENES_OF_EXACT_TEST = 50
"""Largest number of scenes for which SciPy's test is exact without ties and zeros."""

_MOST_SCENES_OF_EXACT_TIES = 13
"""Largest number of scenes for which SciPy's test is exact with ties or zeros."""

_SIGNIFICANT_DIGITS = 12
"""Number of digits of the largest compared value to which differences are rounded."""

_MOST_DECIMALS = 300
"""Maximum number of decimals, because NumPy multiplies by the power of ten."""

_SEED = 0
_PAIRS_AT_ONCE = 64
"""Number of pairs whose resamples are in memory at the same time."""

_ROUNDING = 1e-12
"""Relative size below which a spread is regarded as a rounding error."""


def round_differences(
    differences: NDArray[np.float64], largest_value: float
) -> NDArray[np.float64]:
    """Round differences to 12 significant digits of the compared values.

    Floating-point numbers represent most decimal fractions only approximately.
    Therefore equal differences, such as 10.3 - 9.6 and 9.7 - 9.0, are not equal before
    they are rounded, and the mean of 0.7 and -0.7 may not be 0.

    Parameters
    ----------
    differences : ndarray, float64, (scenes,)
        Differences of compared values, or their means over blocks.
    largest_value : float
        Largest absolute value that was compared.

    Examples
    --------
    >>> differences = np.array([10.3 - 9.6, 9.7 - 9.0])
    >>> differences.tolist(), round_differences(differences, 10.3).tolist()
    ([0.7000000000000011, 0.6999999999999993], [0.7, 0.7])
    """
    if largest_value == 0:
        return differences
    digits_before_point = math.floor(math.log10(largest_value)) + 1
    decimals = min(_SIGNIFICANT_DIGITS - digits_before_point, _MOST_DECIMALS)
    # The sum with 0 replaces -0, which would be printed with its sign.
    return np.round(differences, decimals) + 0.0


def mean_difference(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each pair; 0 if the mean is only a rounding error.

    Parameters
    ----------
    differences : ndarray, float64, (scenes, ...)
        Differences of at least one scene.
    """
    means = differences.mean(axis=0)
    largest = np.abs(differences).max(axis=0)
    return np.where(np.abs(means) > _ROUNDING * largest, means, 0.0)


def bootstrap_intervals(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute studentized bootstrap intervals (bootstrap-t) of mean differences.

    The scenes are resampled. Each resample has a studentized mean: the distance of its
    mean from the mean of the sample, divided by its standard error. The interval is the
    mean, plus and minus the standard error times the 95 % quantile of the absolute
    studentized means (symmetric bootstrap-t, Hall 1988).

    Parameters
    ----------
    differences : ndarray, float64, (scenes, pairs)
        Finite differences.

    Returns
    -------
    ndarray, float64, (2, pairs)
        Lower and upper ends. They are NaN if there are fewer than four scenes, if all
        differences are equal, or if more than 5 % of the resamples have no spread
        because most differences are equal.

    Notes
    -----
    The random numbers have a fixed seed, so equal differences have equal intervals. A
    resample without spread, which contains only equal differences, has no standard
    error. It counts as an infinite studentized mean.

    Examples
    --------
    >>> differences = np.array([[-4.2], [-2.1], [-3.3], [-0.4], [-2.8], [-1.9]])
    >>> bootstrap_intervals(differences).round(1).T.tolist()
    [[-3.8, -1.1]]
    """
    scene_count, pair_count = differences.shape
    intervals = np.full((2, pair_count), np.nan)
    if scene_count < FEWEST_SCENES_OF_INTERVAL:
        return intervals

    means = differences.mean(axis=0)
    largest = np.abs(differences).max(axis=0)
    has_spread = np.ptp(differences, axis=0) > _ROUNDING * largest
    pairs = np.flatnonzero(has_spread)
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        chunk = pairs[start : start + _PAIRS_AT_ONCE]
        # Without the division, the squares of very large differences would be infinite,
        # and those of very small differences 0.
        scaled = (differences[:, chunk] - means[chunk]) / largest[chunk]
        standard_errors = largest[chunk] * scaled.std(axis=0, ddof=1) / math.sqrt(scene_count)
        half_widths = _quantiles_of_studentized_means(scaled) * standard_errors
        half_widths[np.isinf(half_widths)] = np.nan
        intervals[0, chunk] = means[chunk] - half_widths
        intervals[1, chunk] = means[chunk] + half_widths
    return intervals


def _quantiles_of_studentized_means(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the 95 % quantile of the absolute studentized means of each pair.

    Parameters
    ----------
    deviations : ndarray, float64, (scenes, pairs)
        Differences minus their mean. Each pair has a spread.

    Returns
    -------
    ndarray, float64, (pairs,)
        The quantiles. They are infinite if too many resamples have no spread.
    """
    scene_count = len(deviations)
    counts = _resample_counts(scene_count)
    means = counts @ deviations / scene_count
    mean_squares = counts @ deviations**2 / scene_count
    variances = mean_squares - means**2

    studentized = np.full(means.shape, np.inf)
    has_spread = variances > _ROUNDING * mean_squares
    standard_errors = np.sqrt(variances[has_spread] / (scene_count - 1))
    studentized[has_spread] = np.abs(means[has_spread]) / standard_errors
    quantile_index = math.ceil(INTERVAL_PROBABILITY * (RESAMPLE_COUNT + 1)) - 1
    partitioned = np.partition(studentized, quantile_index, axis=0)
    quantiles: NDArray[np.float64] = partitioned[quantile_index]
    return quantiles


@functools.lru_cache(maxsize=4)
def _resample_counts(scene_count: int) -> NDArray[np.float64]:
    """Return how often each resample contains each scene, (resamples, scenes)."""
    generator = np.random.default_rng(_SEED)
    probabilities = np.full(scene_count, 1 / scene_count)
    counts = generator.multinomial(scene_count, probabilities, size=RESAMPLE_COUNT)
    return counts.astype(np.float64)


def paired_p_values(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the p-value of each pair of methods.

    With six or more scenes, the test is Wilcoxon's signed-rank test as in
    ``scipy.stats.wilcoxon(differences)``. With fewer scenes, it is the exact sign test
    as in ``scipy.stats.binomtest(wins, wins + losses)``. Both tests are two-sided.

    Parameters
    ----------
    differences : ndarray, float64, (scenes, pairs)
        Finite differences of at least one scene.

    Returns
    -------
    ndarray, float64, (pairs,)
        The p-values; 1 if all differences are 0.

    Notes
    -----
    Both tests leave out scenes whose difference is 0 (``zero_method="wilcox"``). Equal
    absolute differences share their mean rank. The distribution of the signed-rank test
    is exact up to 50 scenes if there are no zeros and no equal absolute differences,
    and up to 13 scenes otherwise. In all other cases, it is the normal approximation
    without continuity correction. These are the rules of SciPy 1.15 and later. The
    normal approximation can give a p-value below 0.05 although only four differences
    are not 0, so `decided_signs` has a rule for such pairs.

    Examples
    --------
    >>> differences = np.array([[-4.2], [-2.1], [-3.3], [-0.4], [-2.8], [-1.9]])
    >>> paired_p_values(differences).tolist(), paired_p_values(differences[:5]).tolist()
    ([0.03125], [0.0625])
    """
    if len(differences) < FEWEST_SCENES_OF_DECISION:
        negative_counts = np.count_nonzero(differences < 0, axis=0).tolist()
        positive_counts = np.count_nonzero(differences > 0, axis=0).tolist()
        return np.array(list(map(sign_test, negative_counts, positive_counts)), np.float64)
    return _signed_rank_tests(differences)


@functools.cache
def sign_test(negative_count: int, positive_count: int) -> float:
    """Return the p-value of the exact two-sided sign test.

    Parameters
    ----------
    negative_count, positive_count : int
        Number of scenes with a negative and with a positive difference.

    Returns
    -------
    float
        The p-value; 1 if both numbers are 0.
    """
    # The import of scipy.stats takes a second, and most commands do not need it.
    from scipy.stats import binomtest

    unequal_count = negative_count + positive_count
    if unequal_count == 0:
        return 1.0
    return float(binomtest(negative_count, unequal_count).pvalue)


def _signed_rank_tests(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the p-values of Wilcoxon's signed-rank test of all pairs."""
    from scipy.stats import wilcoxon

    scene_count = len(differences)
    absolute = np.sort(np.abs(differences), axis=0)
    has_zeros = absolute[0] == 0
    has_ties = (np.diff(absolute, axis=0) == 0).any(axis=0)
    lacks_ties_and_zeros = ~has_zeros & ~has_ties
    p_values = np.ones(differences.shape[1])
    # The rules of the method "auto" differ between the versions of SciPy. All versions
    # accept the name "approx".
    if lacks_ties_and_zeros.any():
        method = "exact" if scene_count <= _MOST_SCENES_OF_EXACT_TEST else "approx"
        columns = differences[:, lacks_ties_and_zeros]
        p_values[lacks_ties_and_zeros] = wilcoxon(columns, method=method, axis=0).pvalue

    has_differences = absolute[-1] > 0
    for pair in np.flatnonzero(~lacks_ties_and_zeros & has_differences):
        if scene_count <= _MOST_SCENES_OF_EXACT_TIES:
            p_values[pair] = _exact_signed_rank_test(differences[:, pair])
        else:
            p_values[pair] = wilcoxon(differences[:, pair], method="approx").pvalue
    return p_values


def _exact_signed_rank_test(differences: NDArray[np.float64]) -> float:
    """Return the exact p-value of the signed-rank test of one pair with ties or zeros.

    SciPy computes the same p-value from all signs of the differences, which takes
    seconds. This function counts the signs that give each rank sum.

    Parameters
    ----------
    differences : ndarray, float64, (scenes,)
        Differences of one pair, some of which are not 0.
    """
    from scipy.stats import rankdata

    nonzero = differences[differences != 0]
    # Mean ranks are multiples of 1/2.
    doubled_ranks = np.rint(2 * rankdata(np.abs(nonzero))).astype(np.int64)
    counts = np.ones(1)
    for rank in doubled_ranks:
        with_positive_sign = np.pad(counts, (rank, 0))
        counts = np.pad(counts, (0, rank)) + with_positive_sign

    rank_sum = int(doubled_ranks[nonzero > 0].sum())
    smaller_tail = min(counts[: rank_sum + 1].sum(), counts[rank_sum:].sum())
    return min(1.0, float(2 * smaller_tail / counts.sum()))


def decided_signs(
    differences: NDArray[np.float64], corrected_p: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the sign of each mean difference that is decided, and 0 for the others.

    A pair is decided if the corrected p-value is below `LEVEL`, if at least six
    differences are not 0, and if the mean and the signed ranks have the same sign.

    Parameters
    ----------
    differences : ndarray, float64, (scenes, pairs)
        Finite differences of at least one scene.
    corrected_p : ndarray, float64, (pairs,)
        The corrected p-values.

    Returns
    -------
    ndarray, int64, (pairs,)
        -1, 0 or 1.

    Notes
    -----
    The exact tests never give a p-value below 0.05 if fewer than six differences are
    not 0. The normal approximation does, for example 0.0455 for four equal differences
    and ten differences of 0.
    """
    unequal_counts = np.count_nonzero(differences, axis=0)
    has_enough_scenes = unequal_counts >= FEWEST_SCENES_OF_DECISION
    is_decided = has_enough_scenes & (corrected_p < LEVEL)
    return np.where(is_decided, signs_of_differences(differences), 0)


def signs_of_differences(differences: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sign of each mean difference; 0 unless the signed ranks have it, too.

    A single very large difference can give the mean another sign than the sum of
    Wilcoxon's signed ranks. Such a pair has no clear sign.

    Parameters
    ----------
    differences : ndarray, float64, (scenes, pairs)
        Finite differences of at least one scene.

    Returns
    -------
    ndarray, int64, (pairs,)
        -1, 0 or 1.

    Examples
    --------
    >>> differences = np.array([[-1.0, -1.0], [-2.0, -2.0], [-3.0, -3.0], [4.0, 9.0]])
    >>> differences.mean(axis=0).tolist(), signs_of_differences(differences).tolist()
    ([-0.5, 0.75], [-1, 0])
    """
    from scipy.stats import rankdata

    # Differences of 0 have the lowest ranks, and their sign 0 removes them. They raise
    # all other ranks, so their number is subtracted.
    zero_counts = np.count_nonzero(differences == 0, axis=0)
    ranks = rankdata(np.abs(differences), axis=0) - zero_counts
    rank_signs = np.sign((np.sign(differences) * ranks).sum(axis=0))
    mean_signs = np.sign(mean_difference(differences))
    return np.where(mean_signs == rank_signs, mean_signs, 0).astype(np.int64)


def smallest_p_value(scene_count: int) -> float:
    """Return the smallest p-value of the exact tests on a number of scenes.

    Both exact tests give this p-value if one method is better on all scenes.

    Examples
    --------
    >>> smallest_p_value(5), smallest_p_value(6)
    (0.0625, 0.03125)
    """
    return min(1.0, 2 / 2**scene_count)


def corrected_p_values(p_values: NDArray[np.float64], correction: str) -> NDArray[np.float64]:
    """Correct p-values for the number of tests.

    Parameters
    ----------
    p_values : ndarray, float64, (tests,)
        The p-values. NaN stands for a pair without a test. It stays NaN and is not
        counted.
    correction : str
        A key of `CORRECTIONS`.

    Examples
    --------
    >>> p_values = np.array([0.01, 0.04, np.nan, 0.03])
    >>> corrected_p_values(p_values, "holm").round(3).tolist()
    [0.03, 0.06, nan, 0.06]
    >>> corrected_p_values(p_values, "bonferroni").round(3).tolist()
    [0.03, 0.12, nan, 0.09]
    """
    corrected = p_values.copy()
    is_test = ~np.isnan(p_values)
    if is_test.any():
        corrected[is_test] = CORRECTIONS[correction](p_values[is_test])
    return corrected


def _unchanged(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the p-values without a correction."""
    return p_values


def _bonferroni(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply the p-values by their number."""
    return np.minimum(1.0, len(p_values) * p_values)


def holm_corrected(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct p-values by the step-down method of Holm (1979).

    Parameters
    ----------
    p_values : array-like, (tests,)
        The p-values of a family of tests.

    Returns
    -------
    ndarray, float64, (tests,)
        The corrected p-values in the same order.
    """
    uncorrected = np.asarray(p_values, np.float64)
    order = np.argsort(uncorrected, kind="stable")
    factors = np.arange(len(uncorrected), 0, -1)
    largest_so_far = itertools.accumulate(factors * uncorrected[order], max)
    corrected = np.empty(len(uncorrected))
    corrected[order] = np.minimum(1.0, list(largest_so_far))
    return corrected


def _benjamini_hochberg(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correct p-values by the method of Benjamini and Hochberg (1995)."""
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p_values), np.float64)


Correction = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Function that corrects p-values for their number."""

CORRECTIONS: Mapping[str, Correction] = {
    "holm": holm_corrected,
    "bonferroni": _bonferroni,
    "benjamini-hochberg": _benjamini_hochberg,
    "none": _unchanged,
}
"""The corrections, by name."""
