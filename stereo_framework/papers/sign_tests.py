"""Decide whether a sentence of a paper holds, by sign tests on scenes.

A sentence such as "A has fewer errors than B and C" needs several comparisons: one for
each pair of methods on each group of scenes. Every comparison has a two-sided sign
test, which leaves out scenes with equal errors. A decision can be wrong in two ways.
Their probabilities are those for one sentence and independent scenes:

- The sentence holds only if every comparison is significantly for it at the 5 % level.
  This is an intersection-union test. A sentence that is false in at least one
  comparison passes the test of this comparison with a probability of at most 5 %.
  Therefore it is found to hold with a probability of at most 5 %, and no correction is
  needed.
- The sentence does not hold if at least one comparison is significantly against it
  after Holm's correction for the number of comparisons. If no comparison is truly
  against the sentence, it is found not to hold with a probability of at most 5 %.
  Holm's procedure needs no assumption about the dependence of the tests.
- Otherwise the sentence is not decided.

The levels above are two-sided. A wrong decision needs a significant result in one
direction, so its probability is at most half the level, 2.5 %.

A comparison that is not significant is never against a sentence. The text of such a
comparison gives the smallest differences that its scenes could have shown.

The sign test needs no assumption about the distribution of the differences. An exact
signed-rank or permutation test has more power for symmetric differences, but its
smallest p value is the same, 2 / 2**n for n scenes. Therefore it needs at least as many
scenes to reach a corrected level.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pandas import Series, concat
from scipy.stats import beta, norm

from stereo_framework.papers.claim import Cases
from stereo_framework.sweep.value_text import counted
from stereo_framework.tables.paired_tests import (
    FEWEST_SCENES_OF_DECISION,
    LEVEL,
    holm_corrected,
    sign_test,
)

POWER = 0.8
"""The probability with which a detectable difference is found significant."""


@dataclass(frozen=True)
class PairedComparison:
    """Errors of two methods on the same scenes.

    Parameters
    ----------
    name : str
        Name of the comparison: the methods and the group of scenes.
    errors : Series
        Errors by scene of the first method, which the sentence favours.
    other_errors : Series
        Errors of the other method. Scenes that only one method has are left out.
    tolerance : float
        The errors of the first method are multiplied by 1 - tolerance before they are
        compared. With 0.05, a scene is for the sentence if 95 % of the errors of the
        first method are fewer than the errors of the other method.
    mean_format : str
        Format of a mean error, with its unit.
    difference_format : str
        Format of a difference of errors, with its unit.
    remark : str
        Text that follows the p value, with its own separator; empty = no text. It is
        left out if there are too few scenes.
    """

    name: str
    errors: Series
    other_errors: Series
    tolerance: float = 0.0
    mean_format: str = "{:.1f} %"
    difference_format: str = "{:.1f} points"
    remark: str = ""

    @cached_property
    def differences(self) -> Series:
        """Return (1 - tolerance) * errors - other_errors by scene.

        Negative values are for the sentence.
        """
        pairs = concat([self.errors, self.other_errors], axis=1, join="inner").dropna()
        return (1 - self.tolerance) * pairs.iloc[:, 0] - pairs.iloc[:, 1]

    @property
    def scene_count(self) -> int:
        """Return the number of scenes that both methods have."""
        return len(self.differences)

    @property
    def has_enough_scenes(self) -> bool:
        """Return whether the scenes suffice for significance if no errors are equal."""
        return self.scene_count >= FEWEST_SCENES_OF_DECISION

    @cached_property
    def for_count(self) -> int:
        """Return the number of scenes that are for the sentence."""
        return int((self.differences < 0).sum())

    @cached_property
    def against_count(self) -> int:
        """Return the number of scenes that are against the sentence."""
        return int((self.differences > 0).sum())

    @property
    def unequal_count(self) -> int:
        """Return the number of scenes with different errors."""
        return self.for_count + self.against_count

    @property
    def p_value(self) -> float:
        """Return the p value of the sign test; 1 if there are too few scenes."""
        if not self.has_enough_scenes:
            return 1.0
        return sign_test(self.for_count, self.against_count)

    @property
    def p_value_against(self) -> float:
        """Return the p value if most unequal scenes are against it; otherwise 1."""
        return self.p_value if self.against_count > self.for_count else 1.0

    @property
    def is_significantly_for(self) -> bool:
        """Return whether most unequal scenes are for it, and significantly many."""
        return self.for_count > self.against_count and self.p_value < LEVEL

    @property
    def figures(self) -> str:
        """Return a line of text: the means, the scenes for the sentence, and p."""
        if not self.has_enough_scenes:
            scenes = counted(self.scene_count, "scene")
            needed = f"a sign test needs at least {FEWEST_SCENES_OF_DECISION}"
            return f"{self.name}: {scenes}, and {needed}"
        common = self.differences.index
        mean, other_mean = self.errors[common].mean(), self.other_errors[common].mean()
        means = f"{self.mean_format.format(mean)} and {self.mean_format.format(other_mean)}"
        counts = f"{self.relation_text} on {self.for_count} of {self.scene_count}"
        equal_count = self.scene_count - self.unequal_count
        if equal_count > 0:
            counts += f" and equal on {equal_count}"
        return f"{self.name}: {means}, {counts}, p = {self.p_value:.2g}{self.remark}"

    @property
    def relation_text(self) -> str:
        """Return the text about scenes that are for the sentence.

        "within 5 %" means that 95 % of the errors of the first method are fewer.
        """
        return f"within {100 * self.tolerance:g} %" if self.tolerance > 0 else "fewer"

    def needed_text(self, test_count: int) -> str:
        """Describe the smallest differences that the scenes could have shown.

        Parameters
        ----------
        test_count : int
            Number of comparisons of the sentence. `LEVEL / test_count` is the strictest
            level of Holm's correction.
        """
        for_sentence = self._needed_text_at(LEVEL)
        against_sentence = self._needed_text_at(LEVEL / test_count)
        return f"needed for it {for_sentence}, against it {against_sentence}"

    def _needed_text_at(self, level: float) -> str:
        """Describe the number of scenes and the mean difference that a level needs."""
        needed_count = scenes_needed(self.unequal_count, level)
        if needed_count is None:
            return f"more than {counted(self.unequal_count, 'scene')} with a difference"
        # Normally distributed differences are never equal, so all scenes count here.
        difference = detectable_difference(self.differences, level)
        assert difference is not None, "all scenes suffice if the unequal ones do"
        detectable = self.difference_format.format(difference)
        return f"{needed_count} of {self.unequal_count}, detectable {detectable}"


def scenes_needed(unequal_count: int, level: float = LEVEL) -> int | None:
    """Return on how many scenes a method must be better to pass a two-sided sign test.

    Parameters
    ----------
    unequal_count : int
        Number of scenes with different errors.
    level : float
        Level of the test.

    Returns
    -------
    int or None
        None if not even all scenes suffice.
    """
    for count in range(unequal_count // 2 + 1, unequal_count + 1):
        if sign_test(count, unequal_count - count) < level:
            return count
    return None


def detectable_difference(differences: Series, level: float = LEVEL) -> float | None:
    """Return the smallest mean difference that a sign test on so many scenes detects.

    This is the mean of normally distributed differences, with the observed standard
    deviation, for which the test is significant with a probability of `POWER`.

    Parameters
    ----------
    differences : Series
        The observed paired differences. Only their number and their standard deviation
        are used.
    level : float
        Level of the two-sided test.

    Returns
    -------
    float or None
        None if no result of these scenes is significant at the level.

    Notes
    -----
    The test needs c of n scenes on one side. If a scene lies on this side with the
    probability q, then P(at least c of n) = I_q(c, n - c + 1), the regularized
    incomplete beta function. Its inverse gives q. The mean difference is the standard
    deviation times the normal quantile of q.
    """
    scene_count = len(differences)
    needed_count = scenes_needed(scene_count, level)
    if needed_count is None:
        return None
    probability = beta.ppf(POWER, needed_count, scene_count - needed_count + 1)
    return float(differences.std(ddof=1) * norm.ppf(probability))


def cases_of_sign_tests(comparisons: Sequence[PairedComparison]) -> Cases:
    """Yield a case for each comparison: its text, and whether it is for the sentence.

    True is for the sentence, False is against it, and None decides nothing.
    `claim.verdict` combines the cases. The docstring of the module states the rule and
    the probabilities of a wrong decision.

    Parameters
    ----------
    comparisons : sequence of PairedComparison
        All comparisons of the sentence. Holm's correction uses their number, which
        includes comparisons without enough scenes.
    """
    test_count = len(comparisons)
    corrected = holm_corrected([comparison.p_value_against for comparison in comparisons])
    for comparison, corrected_p_against in zip(comparisons, corrected, strict=True):
        if comparison.is_significantly_for:
            yield comparison.figures, True
        elif corrected_p_against < LEVEL:
            correction = _correction_text(corrected_p_against, test_count)
            yield f"{comparison.figures}{correction}", False
        elif comparison.has_enough_scenes:
            yield f"{comparison.figures} ({comparison.needed_text(test_count)})", None
        else:
            yield comparison.figures, None


def _correction_text(p_value: float, test_count: int) -> str:
    """Return the corrected p value as text; empty for a single test."""
    return f", corrected for {test_count} tests {p_value:.2g}" if test_count > 1 else ""
