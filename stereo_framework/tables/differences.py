"""Comparison of methods on the same scenes, with intervals and tests.

The scenes are the units of the comparison. A pair of methods has one difference for
each scene that both methods have. `differences` describes the rules.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataWarning, ParameterError, nearest, warn
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.value_text import counted
from stereo_framework.tables.frame_results import results_of_frame
from stereo_framework.tables.grouping import group_items
from stereo_framework.tables.method_scores import MethodScores, scores_of_methods
from stereo_framework.tables.paired_tests import (
    CORRECTIONS,
    FEWEST_SCENES_OF_DECISION,
    LEVEL,
    bootstrap_intervals,
    corrected_p_values,
    decided_signs,
    mean_difference,
    paired_p_values,
    round_differences,
    smallest_p_value,
)
from stereo_framework.tables.words import statistic_title

if TYPE_CHECKING:
    import pandas

BETTER = "better"
WORSE = "worse"
NOT_DECIDED = "not decided"

DATA_SET = "data_set"
"""Name of the blocks that are made of the scenes of a data set."""

BLOCKS = (DATA_SET,)

_MEANING_OF_DIFFERENCE = "values of the first method minus values of the second method"


@dataclass(frozen=True)
class PairOfMethods:
    """The difference of two methods, with its interval, test and verdict.

    Parameters
    ----------
    first, second : str
        Names of the methods.
    scenes : int
        Number of scenes that both methods have.
    blocks : int or None
        Number of blocks of these scenes; None without blocks.
    difference : float
        Mean over the scenes or blocks: values of the first method minus values of the
        second method. NaN without a common scene.
    low, high : float
        Ends of the interval of the mean difference. NaN without an interval.
    p : float
        The p-value of the pair. NaN without a common scene.
    corrected_p : float
        The p-value after the correction for the number of pairs.
    wins, ties : int
        Number of scenes or blocks on which the first method is better, and on which
        both methods are equal.
    verdict : str
        ``better``, ``worse``, ``not decided`` or ``cannot be decided with 3 scenes``.
    """

    first: str
    second: str
    scenes: int
    blocks: int | None
    difference: float
    low: float
    high: float
    p: float
    corrected_p: float
    wins: int
    ties: int
    verdict: str

    def record(self) -> dict[str, Any]:
        """Return the fields by name, and the number of blocks only if there are any."""
        record = dict(vars(self))
        if self.blocks is None:
            del record["blocks"]
        return record


@dataclass(frozen=True)
class MethodComparison:
    """Pairs of methods, and the remarks that a reader needs.

    Parameters
    ----------
    pairs : tuple of PairOfMethods
        The pairs.
    title : str
        Description of the difference, with the unit and direction of the statistic.
    notes : tuple of str
        Remarks on averages over seeds and on scenes without any value.
    warnings : tuple of str
        Methods that lack scenes, and a correction that allows no decision.
    protocol : str
        Text of the protocol of all results. The text is empty if it is not known.
    """

    pairs: tuple[PairOfMethods, ...]
    title: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    protocol: str


@checked(results="the results of run, or a DataFrame such as results(DIR)")
def differences(
    results: Iterable[Result] | pandas.DataFrame,
    statistic: str,
    by: str | Sequence[str] = "method",
    baseline: str | None = None,
    correction: str = "holm",
    block: str | None = None,
) -> pandas.DataFrame:
    """Compare methods on the same scenes, with intervals and tests.

    Parameters
    ----------
    results : ResultSet, iterable of Result, or DataFrame
        The results of `run`, or a DataFrame with the columns ``scene``, ``method`` and
        the statistic, such as the DataFrame that `results` returns.
    statistic : str
        Name of a statistic whose lower or higher values are better, such as
        ``bad_pixels_nonocc``.
    by : str or sequence of str
        Names that distinguish the methods: ``"method"``, or several names for the
        settings of a sweep, such as ``["method", "aggregation.box.size"]``.
    baseline : str, optional
        Name of a method. All other methods are compared only with this method. If `by`
        has several names, the name of a method is that of the column ``second``, such
        as ``window, size=9``. Default: every pair of methods is compared.
    correction : {"holm", "bonferroni", "benjamini-hochberg", "none"}
        Correction of the p-values for the number of pairs. Holm and Bonferroni limit
        the probability of any wrong decision to 5 %. Benjamini-Hochberg limits the
        expected share of wrong decisions among all decisions to 5 %.
    block : {"data_set"}, optional
        If the value is ``"data_set"``, the scenes of a data set form a block. The
        differences are averaged in each block first, and the blocks take the place of
        the scenes in all other rules. Use it if the scenes of a data set are similar.

    Returns
    -------
    DataFrame
        A row for each pair of methods, in the order of the results. The columns:

        - ``first``, ``second``: the methods. With `baseline`, the second method is the
          baseline.
        - ``scenes``: number of scenes that both methods have. With `block`, the column
          ``blocks`` has the number of their data sets.
        - ``difference``: mean of the values of the first method minus the values of the
          second method.
        - ``low``, ``high``: ends of a 95 % interval of the mean difference, by the
          studentized bootstrap. They are NaN with three or fewer scenes, if all
          differences are equal, and if more than 5 % of the resamples have no spread
          because most differences are equal.
        - ``p``: p-value of Wilcoxon's signed-rank test; with five or fewer scenes, of
          the exact sign test.
        - ``corrected_p``: p-value after the correction.
        - ``wins``, ``ties``: number of scenes on which the first method is better, and
          on which both methods are equal.
        - ``verdict``: ``better`` or ``worse`` if the corrected p-value is below 0.05
          and the methods differ on at least six scenes; otherwise ``not decided``. With
          five or fewer scenes, ``cannot be decided with 3 scenes``, where 3 is the
          number of scenes.

        ``attrs["notes"]`` has remarks on seeds and on scenes without any value, and the
        texts of all warnings.

    Raises
    ------
    ParameterError
        The results have several protocols or fewer than two methods, or a method has
        several results on a scene that differ in more than the seed. Or no result has
        one of the names in `by`, or no result has a value of the statistic. Or neither
        lower nor higher values of the statistic are better, or an argument has an
        unknown name.

    Warns
    -----
    DataWarning
        A method lacks scenes, or no pair can be decided after the correction.

    Notes
    -----
    Results of a method on a scene that differ only in the seed are averaged first. A
    scene is left out of a pair if one of the methods lacks a finite value there, for
    example because a run failed. A method lacks the value of a scene if one of its
    seeds lacks it.

    The differences are rounded to 12 significant digits of the largest compared value,
    so that rounding errors do not count as differences.

    The mean and the ranks of the differences can have opposite signs if one scene has a
    very large difference. Such a pair is not decided. A pair whose methods differ on
    fewer than six scenes is not decided either, although the p-value can be below 0.05
    if many other scenes have equal values.

    `stereo_framework.tables.paired_tests` describes the interval, the treatment of
    equal and zero differences, and the corrections.

    Examples
    --------
    >>> import pandas
    >>> errors = [4.1, 2.0, 6.3, 3.8, 5.2, 1.9, 5.0, 2.4, 8.1, 4.0, 6.9, 2.5]
    >>> methods = ["mine"] * 6 + ["sgm"] * 6
    >>> columns = {"scene": [*"abcdef"] * 2, "method": methods, "A90_all": errors}
    >>> pairs = differences(pandas.DataFrame(columns), "A90_all")
    >>> pairs[["first", "second", "scenes", "p", "wins", "verdict"]].values.tolist()
    [['mine', 'sgm', 6, 0.03125, 6, 'better']]
    """
    import pandas

    keys = [by] if isinstance(by, str) else list(by)
    if isinstance(results, pandas.DataFrame):
        result_set = results_of_frame(results, statistic, keys)
    elif isinstance(results, ResultSet):
        result_set = results
    else:
        result_set = ResultSet(results)
    comparison = compare_methods(
        result_set, statistic, keys, baseline=baseline, correction=correction, block=block
    )
    frame = pandas.DataFrame([pair.record() for pair in comparison.pairs])
    frame.attrs["notes"] = [*comparison.notes, *comparison.warnings]
    warn(comparison.warnings, category=DataWarning)
    return frame


def compare_methods(
    results: ResultSet,
    statistic: str,
    keys: Sequence[str] = ("method",),
    *,
    baseline: str | None = None,
    correction: str = "holm",
    block: str | None = None,
    better_first: bool = False,
) -> MethodComparison:
    """Compare methods as `differences` does.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol.
    statistic, baseline, correction, block
        See `differences`.
    keys : sequence of str
        Names that distinguish the methods.
    better_first : bool
        Whether to sort the methods by their means, the best first. Without `baseline`,
        the first method of each pair is then the method with the better mean on the
        common scenes. Default: the order of the results.
    """
    _check_choices(correction, block)
    scores = scores_of_methods(results, statistic, keys)
    if better_first:
        scores = scores.sorted_by_mean()
    rules = _Rules(lower_is_better=scores.lower_is_better, has_blocks=block is not None)
    samples = [
        _sample(scores, first, second, rules)
        for first, second in _indices_of_pairs(scores.methods, baseline)
    ]
    if better_first and baseline is None:
        # The order of the means on all scenes is not enough, because the means on the
        # scenes that both methods have can be in the opposite order.
        samples = [_with_better_first(sample, rules) for sample in samples]

    statistics = _compute_statistics(samples, correction)
    pairs = [_pair(sample, rules, statistics, i) for i, sample in enumerate(samples)]
    warnings = list(scores.warnings_on_missing_scenes())
    warning = _warning_without_decision(samples, rules, correction)
    if warning is not None:
        warnings.append(warning)
    title = f"{statistic_title(statistic)}: {_MEANING_OF_DIFFERENCE}"
    return MethodComparison(
        pairs=tuple(pairs),
        title=title,
        notes=scores.notes,
        warnings=tuple(warnings),
        protocol=results.protocol,
    )


def _check_choices(correction: str, block: str | None) -> None:
    """Refuse unknown names of corrections and blocks."""
    if correction not in CORRECTIONS:
        hint = nearest(correction, CORRECTIONS, kind="corrections")
        raise ParameterError(f"correction: no correction {correction!r}; {hint}")
    if block is not None and block not in BLOCKS:
        hint = nearest(block, BLOCKS, kind="blocks")
        raise ParameterError(f"block: no block {block!r}; {hint}")


def _indices_of_pairs(methods: Sequence[str], baseline: str | None) -> Iterable[tuple[int, int]]:
    """Return the indices of both methods of each pair.

    Raises
    ------
    ParameterError
        There are fewer than two methods, or no method has the name of the baseline.
    """
    if baseline is not None and baseline not in methods:
        hint = nearest(baseline, methods, kind="methods")
        raise ParameterError(f"baseline: no method {baseline!r}; {hint}")
    if len(methods) < 2:
        message = (
            f"nothing to compare: the results have only the method {methods[0]!r}; add results of "
            "other methods, or name the settings of a sweep in by"
        )
        raise ParameterError(message)
    if baseline is None:
        return itertools.combinations(range(len(methods)), 2)
    second = methods.index(baseline)
    return [(first, second) for first in range(len(methods)) if first != second]


@dataclass(frozen=True)
class _Rules:
    """The rules that all pairs of a comparison share.

    Parameters
    ----------
    lower_is_better : bool
        Whether lower values of the statistic are better.
    has_blocks : bool
        Whether the units of the comparison are blocks. Otherwise, they are scenes.
    """

    lower_is_better: bool
    has_blocks: bool

    @property
    def noun(self) -> str:
        """Noun for the scene or block to which a difference belongs."""
        return "data set" if self.has_blocks else "scene"

    def gains(self, differences: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return differences that are positive if the first method is better."""
        return -differences if self.lower_is_better else differences


@dataclass(frozen=True, eq=False)
class _Sample:
    """The differences of two methods.

    Parameters
    ----------
    first, second : str
        Names of the methods.
    scene_count : int
        Number of scenes that both methods have.
    differences : ndarray, float64, (scenes or blocks,)
        Values of the first method minus values of the second method.
    """

    first: str
    second: str
    scene_count: int
    differences: NDArray[np.float64]


def _with_better_first(sample: _Sample, rules: _Rules) -> _Sample:
    """Exchange the methods if the second method has the better mean."""
    if rules.gains(sample.differences).sum() >= 0:
        return sample
    return replace(
        sample, first=sample.second, second=sample.first, differences=-sample.differences
    )


def _sample(scores: MethodScores, first: int, second: int, rules: _Rules) -> _Sample:
    """Return the differences of two methods on the scenes that both have.

    Parameters
    ----------
    scores : MethodScores
        Values of all methods.
    first, second : int
        Indices of the two methods.
    rules : _Rules
        Whether to average the differences over the scenes of each data set.
    """
    differences = scores.values[first] - scores.values[second]
    common = np.flatnonzero(~np.isnan(differences))
    sample_differences = differences[common]
    if rules.has_blocks:
        data_sets = [scores.scenes[i].partition("/")[0] for i in common]
        indices_of_data_set = group_items(range(len(common)), data_sets.__getitem__)
        means = [sample_differences[indices].mean() for indices in indices_of_data_set.values()]
        sample_differences = np.array(means, np.float64)
    largest_value = np.abs(scores.values[[first, second]][:, common]).max(initial=0.0)
    return _Sample(
        first=scores.methods[first],
        second=scores.methods[second],
        scene_count=len(common),
        differences=round_differences(sample_differences, float(largest_value)),
    )


@dataclass(frozen=True, eq=False)
class _PairStatistics:
    """Intervals, p-values and decisions of all pairs.

    Parameters
    ----------
    intervals : ndarray, float64, (2, pairs)
        Ends of the intervals.
    p_values, corrected : ndarray, float64, (pairs,)
        The p-values before and after the correction.
    signs : ndarray, int64, (pairs,)
        Signs of the mean differences that are decided, and 0 for the others.
    """

    intervals: NDArray[np.float64]
    p_values: NDArray[np.float64]
    corrected: NDArray[np.float64]
    signs: NDArray[np.int64]


def _compute_statistics(samples: Sequence[_Sample], correction: str) -> _PairStatistics:
    """Compute the intervals, p-values and decisions of all pairs."""
    intervals = np.full((2, len(samples)), np.nan)
    p_values = np.full(len(samples), np.nan)
    signs = np.zeros(len(samples), np.int64)
    # Pairs with the same number of scenes are computed together, for speed.
    groups = group_items(range(len(samples)), lambda i: len(samples[i].differences))
    groups.pop(0, None)
    tables: list[NDArray[np.float64]] = []
    for indices in groups.values():
        table = np.stack([samples[i].differences for i in indices], axis=1)
        intervals[:, indices] = bootstrap_intervals(table)
        p_values[indices] = paired_p_values(table)
        tables.append(table)

    # The correction needs the p-values of all pairs.
    corrected = corrected_p_values(p_values, correction)
    for indices, table in zip(groups.values(), tables, strict=True):
        signs[indices] = decided_signs(table, corrected[indices])
    return _PairStatistics(intervals, p_values, corrected, signs)


def _pair(sample: _Sample, rules: _Rules, statistics: _PairStatistics, index: int) -> PairOfMethods:
    """Return the difference and the verdict of the pair with an index."""
    count = len(sample.differences)
    gains = rules.gains(sample.differences)
    low, high = statistics.intervals[:, index].tolist()
    return PairOfMethods(
        first=sample.first,
        second=sample.second,
        scenes=sample.scene_count,
        blocks=count if rules.has_blocks else None,
        difference=float(mean_difference(sample.differences)) if count else math.nan,
        low=low,
        high=high,
        p=float(statistics.p_values[index]),
        corrected_p=float(statistics.corrected[index]),
        wins=int(np.count_nonzero(gains > 0)),
        ties=int(np.count_nonzero(gains == 0)),
        verdict=_verdict(count, rules, statistics.signs[index]),
    )


def _verdict(count: int, rules: _Rules, sign: int) -> str:
    """Return whether the first method is better, in words.

    Parameters
    ----------
    count : int
        Number of the differences.
    rules : _Rules
        The units and the direction of the statistic.
    sign : int
        Sign of the mean difference if it is decided, and 0 otherwise.
    """
    if count < FEWEST_SCENES_OF_DECISION:
        return f"cannot be decided with {counted(count, rules.noun)}"
    if sign == 0:
        return NOT_DECIDED
    has_lower_values = sign < 0
    return BETTER if has_lower_values == rules.lower_is_better else WORSE


def _warning_without_decision(
    samples: Sequence[_Sample], rules: _Rules, correction: str
) -> str | None:
    """Return a warning if the correction excludes a decision for every pair."""
    test_count = sum(1 for sample in samples if len(sample.differences))
    scene_count = max(len(sample.differences) for sample in samples)
    smallest_p = smallest_p_value(scene_count)
    multiplies = correction in ("holm", "bonferroni")
    is_decidable = test_count * smallest_p < LEVEL
    if scene_count < FEWEST_SCENES_OF_DECISION or not multiplies or is_decidable:
        return None
    return (
        f"no pair can be decided: with {counted(scene_count, rules.noun)}, no p-value is below "
        f"{smallest_p:.2g}, and the correction for {test_count} pairs needs one below "
        f"{LEVEL / test_count:.2g}; compare fewer pairs, as with a baseline, or add {rules.noun}s"
    )
