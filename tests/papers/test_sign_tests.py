"""Sign tests of several comparisons, with planted errors whose p values are known."""

import math

import numpy as np
import pytest
from pandas import Series
from scipy.stats import binom, norm

from stereo_framework.papers.claim import Verdict, verdict
from stereo_framework.papers.sign_tests import (
    PairedComparison,
    cases_of_sign_tests,
    detectable_difference,
    scenes_needed,
)
from stereo_framework.tables.paired_tests import (
    FEWEST_SCENES_OF_DECISION,
    LEVEL,
    holm_corrected,
    sign_test,
)


def comparison(fewer, more, equal=0, name="a and b, group"):
    """Return a comparison with scenes for it, against it and without a difference."""
    differences = [-1.0] * fewer + [1.0] * more + [0.0] * equal
    other = Series(10.0, index=[f"scene{i}" for i in range(len(differences))])
    return PairedComparison(name, other + differences, other)


@pytest.mark.parametrize(
    ("fewer", "more", "p_value"),
    [(8, 0, 2 / 2**8), (7, 1, 18 / 2**8), (9, 1, 22 / 2**10), (5, 5, 1), (0, 0, 1)],
)
def test_the_p_value_is_that_of_the_binomial_distribution(fewer, more, p_value):
    assert sign_test(fewer, more) == pytest.approx(p_value)
    assert sign_test(more, fewer) == pytest.approx(p_value)


def test_the_fewest_scenes_are_those_that_can_be_significant():
    assert scenes_needed(FEWEST_SCENES_OF_DECISION) == FEWEST_SCENES_OF_DECISION
    assert scenes_needed(FEWEST_SCENES_OF_DECISION - 1) is None
    assert [scenes_needed(n) for n in (8, 9, 10)] == [8, 8, 9]
    # With a correction for 18 tests ten scenes must agree, and eight are too few.
    assert scenes_needed(10, LEVEL / 18) == 10
    assert scenes_needed(8, LEVEL / 18) is None


@pytest.mark.parametrize(
    ("fewer", "more", "expected"),
    [
        (10, 0, Verdict.HOLDS),
        (9, 1, Verdict.HOLDS),
        (8, 2, Verdict.NOT_DECIDED),
        (5, 5, Verdict.NOT_DECIDED),
        (2, 8, Verdict.NOT_DECIDED),
        (1, 9, Verdict.FAILS),
        (0, 10, Verdict.FAILS),
        (5, 0, Verdict.NOT_DECIDED),
        (0, 5, Verdict.NOT_DECIDED),
        (6, 0, Verdict.HOLDS),
    ],
)
def test_a_difference_is_significant_in_both_directions_or_not_decided(fewer, more, expected):
    assert verdict(cases_of_sign_tests([comparison(fewer, more)])).verdict is expected


def test_scenes_with_equal_errors_are_left_out():
    cases = list(cases_of_sign_tests([comparison(6, 0, equal=4)]))
    assert cases == [
        ("a and b, group: 9.4 % and 10.0 %, fewer on 6 of 10 and equal on 4, p = 0.031", True)
    ]
    [(figures, holds)] = cases_of_sign_tests([comparison(0, 0, equal=8)])
    assert holds is None
    assert "equal on 8, p = 1 (needed for it more than 0 scenes with a difference" in figures
    [(_, holds)] = cases_of_sign_tests([comparison(5, 0, equal=3)])
    assert holds is None


def test_scenes_of_one_method_only_are_left_out():
    errors = Series(1.0, index=[f"scene{i}" for i in range(8)])
    other = Series(2.0, index=[f"scene{i}" for i in range(3, 12)])
    [(figures, holds)] = cases_of_sign_tests([PairedComparison("a and b", errors, other)])
    assert (figures, holds) == ("a and b: 5 scenes, and a sign test needs at least 6", None)
    empty = Series([], dtype=float)
    [(figures, holds)] = cases_of_sign_tests([PairedComparison("a and b", errors, empty)])
    assert (figures, holds) == ("a and b: 0 scenes, and a sign test needs at least 6", None)


def test_a_failure_needs_a_correction_for_the_number_of_tests_and_a_success_does_not():
    against = comparison(1, 9)  # p = 0.021
    supporting = [comparison(9, 1)] * 2
    assert verdict(cases_of_sign_tests([against])).verdict is Verdict.FAILS
    decision = verdict(cases_of_sign_tests([against, *supporting]))
    assert decision.verdict is Verdict.NOT_DECIDED
    assert verdict(cases_of_sign_tests([comparison(9, 1)] * 20)).verdict is Verdict.HOLDS
    # Eight roads reach 0.0078, which is enough for six tests and not for seven.
    roads = comparison(0, 8)
    for count, expected in ((5, Verdict.FAILS), (6, Verdict.NOT_DECIDED)):
        supporting_roads = [comparison(8, 0)] * count
        assert verdict(cases_of_sign_tests([roads, *supporting_roads])).verdict is expected


def test_a_corrected_p_value_stands_beside_the_number_of_tests():
    cases = list(cases_of_sign_tests([comparison(0, 10), comparison(10, 0)]))
    assert cases[0][0].endswith("fewer on 0 of 10, p = 0.002, corrected for 2 tests 0.0039")
    [(figures, _)] = cases_of_sign_tests([comparison(0, 10)])
    assert figures.endswith("p = 0.002")


def test_tests_that_scenes_are_missing_for_count_in_the_correction():
    missing = [comparison(2, 0)] * 5
    assert verdict(cases_of_sign_tests([comparison(1, 9), *missing])).verdict is Verdict.NOT_DECIDED
    assert verdict(cases_of_sign_tests([comparison(0, 10), *missing])).verdict is Verdict.FAILS


def test_holm_corrected_values():
    assert holm_corrected([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_corrected([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert len(holm_corrected([])) == 0


def test_open_comparisons_name_what_their_scenes_could_have_shown():
    [(figures, holds)] = cases_of_sign_tests([comparison(7, 1)])
    assert holds is None
    assert "p = 0.07 (needed for it 8 of 8, detectable " in figures
    many = list(cases_of_sign_tests([comparison(7, 1)] * 7))
    assert "against it more than 8 scenes with a difference)" in many[0][0]
    assert all("; " not in figures for figures, _ in many)


@pytest.mark.parametrize(("scene_count", "level"), [(8, 0.05), (10, 0.05), (10, 0.05 / 18)])
def test_the_detectable_difference_is_detected_in_four_of_five_cases(scene_count, level):
    differences = Series(np.linspace(-1, 3, scene_count))
    difference = detectable_difference(differences, level)
    probability = norm.cdf(difference / differences.std())
    needed = scenes_needed(scene_count, level)
    assert binom.sf(needed - 1, scene_count, probability) == pytest.approx(0.8)


def test_nothing_is_detectable_with_too_few_scenes():
    assert detectable_difference(Series([1.0, 2.0, 3.0])) is None


@pytest.mark.parametrize(("share", "expected"), [(1.04, Verdict.HOLDS), (1.06, Verdict.FAILS)])
def test_a_tolerance_allows_a_share_of_errors(share, expected):
    other = Series(np.arange(1.0, 11))
    tolerant = PairedComparison("a and b", share * other, other, tolerance=0.05)
    decision = verdict(cases_of_sign_tests([tolerant]))
    assert decision.verdict is expected
    assert "within 5 % on" in decision.figures


@pytest.mark.parametrize("test_count", [1, 4])
def test_error_rates_are_at_most_5_percent(test_count):
    """Count both wrong verdicts if no method is better than another."""
    rng = np.random.default_rng(0)
    repetitions = 200
    comparison_of_count = [comparison(count, 10 - count) for count in range(11)]
    verdicts = []
    for _ in range(repetitions):
        counts = rng.binomial(10, 0.5, test_count)
        comparisons = [comparison_of_count[count] for count in counts]
        verdicts.append(verdict(cases_of_sign_tests(comparisons)).verdict)
    three_deviations = 3 * math.sqrt(0.05 * 0.95 / repetitions)
    for wrong in (Verdict.HOLDS, Verdict.FAILS):
        assert verdicts.count(wrong) / repetitions <= LEVEL + three_deviations
