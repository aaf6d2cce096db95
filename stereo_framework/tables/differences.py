"""Comparison of methods on the same scenes, with intervals and tests.

The scenes are the units of the comparison. A pair of methods has one difference for
each scene that both methods have. `differences` describes the rules.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataWarning, ParameterError, nearest, warn
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.value_text import counted
from stereo_framework.tables.directions import better_direction
from stereo_framework.tables.frame_results import results_of_frame
from stereo_framework.tables.grouping import group_items
from stereo_framework.tables.method_scores import MethodScores, scores_of_methods
from stereo_framework.tables.paired_tests import (
    CORRECTIONS,
    FEWEST_SCENES_OF_DECISION,
    LEVEL,
    bootstrap_intervals,
    corrected_p_values,
    paired_p_values,
    signs_of_differences,
    smallest_p_value,
)
from stereo_framework.tables.words import unit

if TYPE_CHECKING:
    import pandas

BETTER = "better"
WORSE = "worse"
NOT_DECIDED = "not decided"

DATA_SET = "data_set"
"""Name of the blocks that are made of the scenes of a data set."""

BLOCKS = (DATA_SET,)


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

        - ``first``, ``second``: the methods. With `baseline`, it is the second method.
        - ``scenes``: number of scenes that both methods have. With `block`, the column
          ``blocks`` has the number of their data sets.
        - ``difference``: mean of the first method's values minus those of the second.
        - ``low``, ``high``: ends of a 95 % interval of the mean difference, by the
          studentized bootstrap. They are NaN with three or fewer scenes, and if the
          differences have no spread.
        - ``p``: p-value of Wilcoxon's signed-rank test; with five or fewer scenes, of
          the exact sign test.
        - ``corrected_p``: p-value after the correction.
        - ``wins``, ``ties``: number of scenes on which the first method is better, and
          on which both methods are equal.
        - ``verdict``: ``better`` or ``worse`` if the corrected p-value is below 0.05;
          otherwise ``not decided``. With five or fewer scenes, ``cannot be decided with
          3 scenes``, where 3 is the number of scenes.

        ``attrs["notes"]`` has remarks on seeds and on missing scenes.

    Raises
    ------
    ParameterError
        The results have several protocols or fewer than two methods, or a method has
        several results on a scene that differ in more than the seed. Or no result has a
        name or a value, neither lower nor higher values of the statistic are better, or
        an argument has an unknown name.

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

    The mean and the ranks of the differences can have opposite signs if one scene has a
    very large difference. Such a pair is not decided.

    `stereo_framework.tables.paired_tests` describes the interval, the treatment of
    equal and zero differences, and the corrections.

    Examples
    --------
    >>> import pandas
    >>> errors = [4.1, 2.0, 6.3, 3.8, 5.2, 1.9, 5.0, 2.4, 8.1, 4.0, 6.9, 2.5]
    >>> methods = ["mine"] * 6 + ["sgm"] * 6
    >>> columns = {"scene": [*"abcdef"] * 2, "method": methods, "A90_all": errors}
    >>> found = differences(pandas.DataFrame(columns), "A90_all")
    >>> found[["first", "second", "scenes", "p", "wins", "verdict"]].values.tolist()
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
        Whether to sort the methods by their means, the best first, instead of the order
        of the results. Without `baseline`, the first method of each pair is then the
        one with the better mean.
    """
    _check_choices(correction, block)
    scores = scores_of_methods(results, statistic, keys)
    if better_first:
        scores = scores.sorted_by_mean()
    samples = [
        _sample(scores, first, second, has_blocks=block is not None)
        for first, second in _indices_of_pairs(scores.methods, baseline)
    ]
    if better_first and baseline is None:
        samples = [sample.with_better_first() for sample in samples]

    tests = _tests(samples, correction)
    warnings = [*scores.notes_on_missing_scenes(), *_warnings_on_decisions(samples, correction)]
    return MethodComparison(
        pairs=tuple(_pair(sample, tests, i) for i, sample in enumerate(samples)),
        title=_title(statistic),
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
    has_blocks : bool
        Whether the differences are those of blocks.
    lower_is_better : bool
        Whether lower values of the statistic are better.
    """

    first: str
    second: str
    scene_count: int
    differences: NDArray[np.float64]
    has_blocks: bool
    lower_is_better: bool

    @property
    def noun(self) -> str:
        """Noun for the scene or block to which a difference belongs."""
        return "data set" if self.has_blocks else "scene"

    @property
    def gains(self) -> NDArray[np.float64]:
        """Differences with a sign that is positive if the first method is better."""
        return -self.differences if self.lower_is_better else self.differences

    def with_better_first(self) -> _Sample:
        """Exchange the methods if the second method has the better mean."""
        if self.gains.sum() >= 0:
            return self
        return replace(self, first=self.second, second=self.first, differences=-self.differences)


def _sample(scores: MethodScores, first: int, second: int, *, has_blocks: bool) -> _Sample:
    """Return the differences of two methods on the scenes that both have.

    Parameters
    ----------
    scores : MethodScores
        Values of all methods.
    first, second : int
        Indices of the two methods.
    has_blocks : bool
        Whether to average the differences over the scenes of each data set.
    """
    differences = scores.values[first] - scores.values[second]
    common = np.flatnonzero(~np.isnan(differences))
    sample_differences = differences[common]
    if has_blocks:
        data_sets = [scores.scenes[i].partition("/")[0] for i in common]
        indices_of_data_set = group_items(range(len(common)), data_sets.__getitem__)
        means = [sample_differences[indices].mean() for indices in indices_of_data_set.values()]
        sample_differences = np.array(means, np.float64)
    return _Sample(
        first=scores.methods[first],
        second=scores.methods[second],
        scene_count=len(common),
        differences=sample_differences,
        has_blocks=has_blocks,
        lower_is_better=scores.lower_is_better,
    )


@dataclass(frozen=True, eq=False)
class _Tests:
    """Intervals and tests of all pairs.

    Parameters
    ----------
    intervals : ndarray, float64, (2, pairs)
    p_values, corrected : ndarray, float64, (pairs,)
        The p-values before and after the correction.
    signs : ndarray, int64, (pairs,)
        1 if the first method is better, -1 if it is worse, and 0 if the mean and the
        ranks contradict each other.
    """

    intervals: NDArray[np.float64]
    p_values: NDArray[np.float64]
    corrected: NDArray[np.float64]
    signs: NDArray[np.int64]


def _tests(samples: Sequence[_Sample], correction: str) -> _Tests:
    """Compute the intervals and tests of all pairs."""
    intervals = np.full((2, len(samples)), np.nan)
    p_values = np.full(len(samples), np.nan)
    signs = np.zeros(len(samples), np.int64)
    # Pairs with the same number of scenes are computed together, for speed.
    groups = group_items(range(len(samples)), lambda i: len(samples[i].differences))
    for scene_count, indices in groups.items():
        if scene_count > 0:
            table = np.stack([samples[i].differences for i in indices], axis=1)
            gains = np.stack([samples[i].gains for i in indices], axis=1)
            intervals[:, indices] = bootstrap_intervals(table)
            p_values[indices] = paired_p_values(table)
            signs[indices] = signs_of_differences(gains)
    return _Tests(intervals, p_values, corrected_p_values(p_values, correction), signs)


def _pair(sample: _Sample, tests: _Tests, index: int) -> PairOfMethods:
    """Return the difference and the verdict of the pair with an index."""
    count = len(sample.differences)
    low, high = tests.intervals[:, index].tolist()
    return PairOfMethods(
        first=sample.first,
        second=sample.second,
        scenes=sample.scene_count,
        blocks=count if sample.has_blocks else None,
        difference=float(sample.differences.mean()) if count else math.nan,
        low=low,
        high=high,
        p=float(tests.p_values[index]),
        corrected_p=float(tests.corrected[index]),
        wins=int(np.count_nonzero(sample.gains > 0)),
        ties=int(np.count_nonzero(sample.gains == 0)),
        verdict=_verdict(sample, tests.corrected[index], tests.signs[index]),
    )


def _verdict(sample: _Sample, corrected_p: float, sign: int) -> str:
    """Return whether the first method is better, in words.

    Parameters
    ----------
    sample : _Sample
        The differences of the pair.
    corrected_p : float
        The corrected p-value.
    sign : int
        1 if the first method is better, -1 if it is worse, and 0 if this is not clear.
    """
    count = len(sample.differences)
    if count < FEWEST_SCENES_OF_DECISION:
        return f"cannot be decided with {counted(count, sample.noun)}"
    if corrected_p >= LEVEL or sign == 0:
        return NOT_DECIDED
    return BETTER if sign > 0 else WORSE


def _warnings_on_decisions(samples: Sequence[_Sample], correction: str) -> Iterator[str]:
    """Yield a warning if the correction excludes a decision for every pair."""
    test_count = sum(1 for sample in samples if len(sample.differences))
    largest_sample = max(samples, key=lambda sample: len(sample.differences))
    scene_count = len(largest_sample.differences)
    smallest_p = smallest_p_value(scene_count)
    multiplies = correction in ("holm", "bonferroni")
    is_decidable = test_count * smallest_p < LEVEL
    if scene_count >= FEWEST_SCENES_OF_DECISION and multiplies and not is_decidable:
        yield (
            f"no pair can be decided: with {counted(scene_count, largest_sample.noun)}, no p-value "
            f"is below {smallest_p:.2g}, and the correction for {test_count} pairs needs one below "
            f"{LEVEL / test_count:.2g}; compare fewer pairs, as with a baseline, or add "
            f"{largest_sample.noun}s"
        )


def _title(statistic: str) -> str:
    """Describe the differences, with the unit and the direction of the statistic."""
    remarks = [unit(statistic), f"{better_direction(statistic)} is better"]
    listed = ", ".join(filter(None, remarks))
    return f"{statistic} ({listed}): values of the first method minus values of the second method"
