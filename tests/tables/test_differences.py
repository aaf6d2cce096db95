"""Comparisons of methods: intervals, p-values, verdicts, and what is refused."""

import math

import numpy as np
import pandas
import pytest
from made_results import result
from scipy.stats import binomtest, wilcoxon

import stereo_framework
from stereo_framework import differences
from stereo_framework.core.errors import DataWarning, ParameterError
from stereo_framework.sweep import ResultSet
from stereo_framework.tables.differences import compare_methods
from stereo_framework.tables.paired_tests import (
    CORRECTIONS,
    bootstrap_intervals,
    corrected_p_values,
    paired_p_values,
    signs_of_differences,
)

BAD, DENSITY = "bad_pixels_all", "density_all"
NAN = math.nan


def scores(statistic=BAD, **values_of_methods):
    """Return a result for each method and scene. None stands for a run that failed."""
    results = []
    for method, values in values_of_methods.items():
        for i, value in enumerate(values):
            changes = {"error": "it failed"} if value is None else {}
            statistics = {} if value is None else {statistic: value}
            results.append(result(f"set/{i}", {}, statistics, method=method, **changes))
    return ResultSet(results)


def only_pair(results, statistic=BAD, **options):
    """Return the only row of a comparison."""
    [(_, row)] = differences(results, statistic, **options).iterrows()
    return row


def random_errors(count, seed=0):
    """Return errors of two methods on scenes, without equal differences."""
    return np.random.default_rng(seed).gamma(2, size=(2, count))


# --- p-values -------------------------------------------------------------------------


@pytest.mark.parametrize("count", [6, 7, 15, 30, 50, 51, 80])
def test_p_is_that_of_the_signed_rank_test_of_scipy(count):
    first, second = random_errors(count)
    row = only_pair(scores(a=first, b=second))
    assert row.p == pytest.approx(wilcoxon(first, second).pvalue, abs=1e-9)
    assert row.difference == pytest.approx(np.mean(first - second))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_p_is_that_of_the_exact_sign_test_of_scipy_below_six_scenes(count):
    first, second = random_errors(count, seed=count)
    wins = int((first < second).sum())
    row = only_pair(scores(a=first, b=second))
    assert row.p == pytest.approx(binomtest(wins, count).pvalue, abs=1e-9)
    assert (row.scenes, row.wins, row.ties) == (count, wins, 0)


def test_the_sign_test_leaves_out_scenes_with_equal_values():
    row = only_pair(scores(a=[1.0, 2.0, 3.0, 4.0, 5.0], b=[1.0, 2.0, 4.0, 5.0, 6.0]))
    assert row.p == binomtest(3, 3).pvalue
    assert (row.wins, row.ties) == (3, 2)


@pytest.mark.parametrize("count", [6, 8, 9, 14, 20])
@pytest.mark.parametrize("largest", [2, 6])
def test_equal_and_zero_differences_are_treated_as_by_scipy(count, largest):
    generator = np.random.default_rng(count)
    table = generator.integers(-largest, largest + 1, (count, 5)).astype(float)
    table[:2, 0] = [0, 1]
    expected = [wilcoxon(column).pvalue for column in table.T]
    np.testing.assert_allclose(paired_p_values(table), expected, atol=1e-9)


def test_zeros_of_one_pair_have_no_effect_on_the_test_of_another_pair():
    table = np.array(random_errors(20)) - 1
    table[0, :3] = 0
    expected = [wilcoxon(row).pvalue for row in table]
    np.testing.assert_allclose(paired_p_values(table.T), expected, atol=1e-9)


@pytest.mark.parametrize("count", [3, 8, 20])
def test_two_methods_with_the_same_values_are_not_different(count):
    values = random_errors(count)[0]
    row = only_pair(scores(a=values, b=values))
    assert (row.p, row.corrected_p, row.wins, row.ties) == (1, 1, 0, count)
    assert math.isnan(row.low)
    assert row.verdict == ("not decided" if count > 5 else "cannot be decided with 3 scenes")


# --- corrections ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        ("holm", [0.03, 0.06, 0.06]),
        ("bonferroni", [0.03, 0.12, 0.09]),
        ("benjamini-hochberg", [0.03, 0.04, 0.04]),
        ("none", [0.01, 0.04, 0.03]),
    ],
)
def test_p_values_after_a_correction(correction, expected):
    p_values = np.array([0.01, 0.04, 0.03])
    np.testing.assert_allclose(corrected_p_values(p_values, correction), expected)
    with_missing = corrected_p_values(np.array([0.01, NAN, 0.04, 0.03]), correction)
    np.testing.assert_allclose(with_missing, [expected[0], NAN, *expected[1:]])
    assert corrected_p_values(np.array([0.9, 0.8]), correction).max() <= 1
    assert np.isnan(corrected_p_values(np.array([NAN]), correction)).all()


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_correction_counts_the_pairs(correction):
    generator = np.random.default_rng(3)
    results = scores(**{name: generator.gamma(2, size=12) for name in "abcd"})
    comparison = differences(results, BAD, correction=correction)
    expected = corrected_p_values(comparison.p.to_numpy(), correction)
    assert comparison.corrected_p.tolist() == expected.tolist()
    assert len(comparison) == 6
    # With a baseline, three tests are corrected.
    against = differences(results, BAD, baseline="b", correction="bonferroni")
    np.testing.assert_allclose(against.corrected_p, np.minimum(1, 3 * against.p))


# --- intervals ------------------------------------------------------------------------


def naive_half_width(differences, generator):
    """Return the half width of an interval from resamples that a loop draws."""
    count = len(differences)
    mean, error = differences.mean(), differences.std(ddof=1) / math.sqrt(count)
    studentized = []
    for _ in range(4000):
        resample = differences[generator.integers(0, count, count)]
        resample_error = resample.std(ddof=1) / math.sqrt(count)
        studentized.append(abs(resample.mean() - mean) / resample_error)
    return np.quantile(studentized, 0.95) * error


@pytest.mark.parametrize("count", [8, 15, 40])
def test_the_interval_is_that_of_a_loop_with_other_random_numbers(count):
    first, second = random_errors(count)
    row = only_pair(scores(a=first, b=second))
    half_width = naive_half_width(first - second, np.random.default_rng(1))
    assert row.high - row.difference == pytest.approx(half_width, rel=0.05)
    assert row.difference - row.low == pytest.approx(half_width, rel=0.05)


def test_intervals_are_the_same_in_each_call_and_in_any_company():
    table = np.random.default_rng(2).gamma(2, size=(10, 150))
    table[3:, 5] = 0
    together = bootstrap_intervals(table)
    np.testing.assert_array_equal(bootstrap_intervals(table), together)
    for pair in (0, 5, 70, 149):
        single = bootstrap_intervals(table[:, [pair]])
        np.testing.assert_allclose(single[:, 0], together[:, pair], rtol=1e-9)


@pytest.mark.parametrize("factor", [-3.0, 1e-200, 1e150])
def test_intervals_have_the_unit_of_the_differences(factor):
    table = np.random.default_rng(4).gamma(2, size=(9, 1))
    low, high = np.sort(factor * bootstrap_intervals(table), axis=0)
    actual_low, actual_high = bootstrap_intervals(factor * table)
    np.testing.assert_allclose(actual_low, low, rtol=1e-9)
    np.testing.assert_allclose(actual_high, high, rtol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_there_is_no_interval_with_three_or_fewer_scenes(count):
    first, second = random_errors(count)
    row = only_pair(scores(a=first, b=second))
    assert math.isnan(row.low) == math.isnan(row.high) == (count <= 3)


def test_there_is_no_interval_without_a_spread():
    equal = np.full((8, 1), 0.1)
    almost_equal = equal * (1 + 1e-15 * np.arange(8)[:, None])
    mostly_equal = np.array([[0.0]] * 7 + [[1.0]])
    for table in (equal, almost_equal, mostly_equal):
        assert np.isnan(bootstrap_intervals(table)).all()
    half_equal = np.array([[0.0]] * 4 + [[1.0]] * 4)
    assert np.isfinite(bootstrap_intervals(half_equal)).all()


# --- verdicts -------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_five_or_fewer_scenes_decide_nothing(count):
    row = only_pair(scores(a=[1.0 + 0.1 * i for i in range(count)], b=[9.0] * count))
    noun = "scene" if count == 1 else "scenes"
    assert row.verdict == f"cannot be decided with {count} {noun}"


def test_the_sign_of_the_difference_decides_if_the_p_value_is_small():
    low, high = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.5, 2.6, 3.7, 4.8, 5.9, 7.0]
    better = only_pair(scores(a=low, b=high))
    worse = only_pair(scores(a=high, b=low))
    assert (better.verdict, better.wins, better.p) == ("better", 6, 0.03125)
    assert (worse.verdict, worse.wins, worse.p) == ("worse", 0, 0.03125)
    assert better.high < 0 < worse.low


def test_higher_values_of_some_statistics_are_better():
    low, high = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.5, 2.6, 3.7, 4.8, 5.9, 7.0]
    row = only_pair(scores(DENSITY, a=high, b=low), DENSITY)
    assert (row.verdict, row.wins, row.difference > 0) == ("better", 6, True)
    row = only_pair(scores(DENSITY, a=low, b=high), DENSITY)
    assert (row.verdict, row.wins, row.difference > 0) == ("worse", 0, False)


def test_a_mean_that_contradicts_the_ranks_decides_nothing():
    changes = np.array([*np.linspace(-2, -1, 13), 40.0])
    row = only_pair(scores(a=50 + changes, b=[50.0] * 14))
    assert row.p < 0.05
    assert (row.difference > 0, row.wins, row.verdict) == (True, 13, "not decided")
    assert signs_of_differences(changes[:, None]).tolist() == [0]


def test_zeros_have_no_effect_on_the_sign_of_the_ranks():
    # The rank sums are 10 and 11. With the rank of 0, they would be 14 and 13.
    table = np.array([[0.0], [-1.0], [-2.0], [-3.0], [-4.0], [5.0], [6.0]])
    assert signs_of_differences(table).tolist() == [1]
    assert signs_of_differences(np.zeros((4, 1))).tolist() == [0]


@pytest.mark.parametrize(
    ("win_count", "verdict"), [(4, "not decided"), (5, "not decided"), (6, "better")]
)
def test_six_scenes_with_a_difference_are_needed_for_a_decision(win_count, verdict):
    other = np.full(14, 5.0)
    values = other - np.repeat([1.0, 0.0], [win_count, 14 - win_count])
    row = only_pair(scores(a=values, b=other))
    assert row.p == pytest.approx(wilcoxon(values - other).pvalue, abs=1e-9)
    assert row.corrected_p < 0.05
    assert (row.wins, row.ties, row.verdict) == (win_count, 14 - win_count, verdict)


def test_a_sum_of_0_with_rounding_errors_decides_nothing():
    a = {f"set{i}": [0.7, 0.0, 0.1, 0.2, -0.3] for i in range(6)}
    b = {f"set{i}": [0.0, 0.7, 0.0, 0.0, 0.0] for i in range(6)}
    row = only_pair(in_data_sets("a", a) + in_data_sets("b", b), block="data_set")
    assert (row.difference, row.p, row.ties, row.verdict) == (0, 1, 6, "not decided")
    table = np.array([[0.1], [0.2], [-0.3]])
    assert signs_of_differences(table).tolist() == [0]


def test_equal_differences_are_ties_although_their_rounding_errors_differ():
    b = [9.6, 9.0, 9.6, 9.0, 4.4, 5.0, 5.9]
    differences_of_scenes = [0.7, 0.7, 0.7, -0.7, 0.7, 0.7, -0.7]
    a = [10.3, 9.7, 10.3, 8.3, 5.1, 5.7, 5.2]
    row = only_pair(scores(a=a, b=b))
    expected = wilcoxon(differences_of_scenes).pvalue
    assert row.p == pytest.approx(expected, abs=1e-9)
    assert abs(wilcoxon(np.subtract(a, b)).pvalue - expected) > 0.01
    assert row.difference == pytest.approx(0.3)


@pytest.mark.parametrize("factor", [1e-290, 1e-20, 1e20, 1e300])
def test_rounding_has_no_effect_on_other_differences(factor):
    first, second = factor * random_errors(9)
    row = only_pair(scores(a=first, b=second))
    assert row.difference == pytest.approx(np.mean(first - second), rel=1e-9)
    assert row.p == pytest.approx(wilcoxon((first - second) / factor).pvalue, abs=1e-9)


def test_a_warning_if_the_correction_allows_no_decision():
    generator = np.random.default_rng(0)
    results = scores(**{name: generator.gamma(2, size=8) for name in "abcde"})
    message = (
        "no pair can be decided: with 8 scenes, no p-value is below 0.0078, and the correction "
        "for 10 pairs needs one below 0.005; compare fewer pairs, as with a baseline, or add scenes"
    )
    with pytest.warns(DataWarning) as warnings:
        comparison = differences(results, BAD)
    assert [str(warning.message) for warning in warnings] == [message]
    assert comparison.attrs["notes"] == [message]
    # Four pairs can be decided, and the other corrections multiply the smallest p less.
    differences(results, BAD, baseline="a")
    differences(results, BAD, correction="benjamini-hochberg")
    differences(results, BAD, correction="none")


# --- units: scenes, seeds and data sets -----------------------------------------------


def test_pairs_use_the_scenes_that_both_methods_have():
    a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, None]
    b = [1.5, 2.6, 3.7, 4.8, 5.9, 7.0, NAN, 9.0]
    c = [1.2, 2.1, 3.4, 4.3, 5.6, 6.7, math.inf, 8.0]
    with pytest.warns(DataWarning, match="has no value on 1 of 8 scenes"):
        comparison = differences(scores(a=a, b=b, c=c), BAD)
    assert comparison.scenes.tolist() == [6, 6, 7]
    assert comparison.loc[0, "difference"] == pytest.approx(
        np.mean([-0.5, -0.6, -0.7, -0.8, -0.9, -1])
    )
    assert comparison.attrs["notes"][0] == (
        "a has no value on 1 of 8 scenes (7), because a run failed or is missing there; its pairs "
        "leave these scenes out"
    )
    assert [note.partition(" has ")[0] for note in comparison.attrs["notes"]] == ["a", "b", "c"]


def test_a_scene_that_no_method_has_is_left_out_with_a_note():
    comparison = differences(scores(a=[1.0, 2.0, NAN], b=[1.5, 2.5, None]), BAD)
    assert comparison.scenes.tolist() == [2]
    assert comparison.attrs["notes"] == ["without 2, where no method has a value"]


def test_methods_without_a_common_scene_have_no_difference():
    with pytest.warns(DataWarning):
        comparison = differences(scores(a=[1.0, None, 3.0], b=[None, 2.0, None]), BAD)
    row = comparison.iloc[0]
    assert (row.scenes, row.wins, row.ties) == (0, 0, 0)
    assert comparison[["difference", "low", "p", "corrected_p"]].isna().all(axis=None)
    assert row.verdict == "cannot be decided with 0 scenes"


def seeds(values, name="seed", **changes):
    """Return results of two methods with values for each scene and seed."""
    return ResultSet(
        result(f"set/{i}", {name: seed}, {BAD: value + offset}, method=method, **changes)
        for method, offset in (("a", 0.0), ("b", 0.25))
        for i, values_of_scene in enumerate(values)
        for seed, value in enumerate(values_of_scene)
    )


@pytest.mark.parametrize("name", ["seed", "matcher.patch_match.seed"])
def test_seeds_are_averaged_before_scenes_are_counted(name):
    values = [[1.0, 3.0], [2.0, 6.0], [5.0, 5.0]]
    comparison = differences(seeds(values, name), BAD)
    assert comparison.scenes.tolist() == [3]
    assert comparison.difference.tolist() == [-0.25]
    assert comparison.attrs["notes"] == ["the values of a method on a scene are means over 2 seeds"]
    unequal = differences(seeds([[1.0, 3.0], [2.0], [5.0]], name), BAD)
    assert unequal.attrs["notes"][0].endswith("means over 1 to 2 seeds")


def test_a_scene_is_missing_if_one_of_its_seeds_is_missing():
    failed = result("set/0", {"seed": 0}, {}, method="a", error="it failed")
    _, *further = seeds([[1.0, 3.0], [2.0, 6.0], [5.0, 5.0]])
    with pytest.warns(DataWarning, match="^a has no value on 1 of 3 scenes"):
        comparison = differences([failed, *further], BAD)
    assert comparison.scenes.tolist() == [2]


def sizes_and_seeds():
    """Return results of a sweep over a size and a seed."""
    return ResultSet(
        result(f"set/{i}", {"a.x.size": size, "seed": seed}, {BAD: 1.0 * size + i + seed})
        for i in range(8)
        for size in (3, 5, 7)
        for seed in (1, 2)
    )


def test_settings_that_differ_in_more_than_the_seed_are_refused():
    message = (
        r"^'m' has 6 results on set/0, which differ in a\.x\.size; name these settings in by as "
        r"well, such as method,a\.x\.size, or select one of their values$"
    )
    for results in (sizes_and_seeds(), sizes_and_seeds().frame):
        with pytest.raises(ParameterError, match=message):
            differences(results, BAD)


def test_settings_that_by_names_are_methods():
    for results in (sizes_and_seeds(), sizes_and_seeds().frame):
        comparison = differences(results, BAD, by=["method", "a.x.size"], baseline="m, size=5")
        assert comparison[["first", "second"]].values.tolist() == [
            ["m, size=3", "m, size=5"],
            ["m, size=7", "m, size=5"],
        ]
        assert comparison.difference.tolist() == [-2, 2]
        assert comparison.scenes.tolist() == [8, 8]
    by_size = differences(sizes_and_seeds(), BAD, by="a.x.size")
    assert by_size["first"].tolist() == ["3", "3", "5"]


def test_the_same_setting_twice_is_refused():
    results = scores(a=[1.0, 2.0], b=[3.0, 4.0])
    message = (
        r"^'a' has 2 results on set/0 whose settings are equal; keep one of them; results of an "
        r"earlier version of the code or of the scene are a possible cause$"
    )
    for repeated in (results + results[:1], pandas.concat([results.frame] * 2)):
        with pytest.raises(ParameterError, match=message):
            differences(repeated, BAD)
    repeated_seed = seeds([[1.0, 2.0]]) + seeds([[5.0]])
    with pytest.raises(ParameterError, match=message):
        differences(repeated_seed, BAD)
    with pytest.raises(ParameterError, match="^'a' has 3 results on set/0 whose settings"):
        differences(results + results[:1] + results[:1], BAD)


SIZES = ["aggregation.box.size", "x.median.size"]


def results_of_settings(*settings):
    """Return results of a method with parameters, with a seed for each setting."""
    return ResultSet(
        result(f"set/{i}", {}, {BAD: 1.0 + i + seed}, parameters=parameters | {"x.seed": seed})
        for i in range(8)
        for seed, parameters in enumerate(settings)
    )


def test_settings_of_different_keys_are_different_methods():
    box, median = SIZES
    results = results_of_settings({box: 9}, {median: 9})
    for table in (results, results.frame):
        comparison = differences(table, BAD, ["method", *SIZES])
        assert comparison[["first", "second", "difference"]].values.tolist() == [
            ["m, aggregation.box.size=9", "m, x.median.size=9", -1]
        ]
        assert comparison.attrs["notes"] == []
        # Without the names of the settings, they are no seeds of one method.
        with pytest.raises(ParameterError, match=r"which differ in aggregation\.box\.size"):
            differences(table, BAD)


def test_names_of_methods_are_different_if_the_values_have_equal_texts():
    name = SIZES[0]
    results = results_of_settings({name: 9}, {name: "9"}, {name: True}, {name: 1})
    comparison = differences(results, BAD, name, baseline=f"{name}=9")
    assert comparison["first"].tolist() == [f"{name}='9'", f"{name}=True", f"{name}=1"]


def in_data_sets(method, values):
    """Return results of a method: the values of each data set, one for each scene."""
    return [
        result(f"{data_set}/{i}", {}, {BAD: value}, method=method)
        for data_set, values_of_scenes in values.items()
        for i, value in enumerate(values_of_scenes)
    ]


def test_data_sets_are_the_units_of_blocks():
    a = {"one": [1.0, 2.0, 3.0], "two": [5.0], "three": [2.0, 4.0]}
    b = {"one": [2.0, 2.0, 4.0], "two": [5.0], "three": [1.0, 1.0]}
    results = ResultSet(in_data_sets("a", a) + in_data_sets("b", b))
    row = only_pair(results, block="data_set")
    # The differences of the data sets are -2/3, 0 and 2.
    assert row.difference == pytest.approx(4 / 9)
    assert (row.scenes, row.blocks, row.wins, row.ties) == (6, 3, 1, 1)
    assert row.p == binomtest(1, 2).pvalue
    assert math.isnan(row.low)
    assert row.verdict == "cannot be decided with 3 data sets"
    assert "blocks" not in differences(results, BAD)


def test_the_tests_of_blocks_are_those_of_their_means():
    generator = np.random.default_rng(1)
    errors = generator.gamma(2, size=(2, 9, 3))
    sets = [
        {f"set{i}": values.tolist() for i, values in enumerate(errors_of_method)}
        for errors_of_method in errors
    ]
    results = ResultSet(in_data_sets("a", sets[0]) + in_data_sets("b", sets[1]))
    row = only_pair(results, block="data_set")
    means = (errors[0] - errors[1]).mean(axis=1)
    assert row.p == pytest.approx(wilcoxon(means).pvalue, abs=1e-9)
    low, high = bootstrap_intervals(means[:, None])[:, 0]
    assert (row.low, row.high) == pytest.approx((low, high))


# --- results, order and refusals ------------------------------------------------------


def test_a_frame_and_a_list_give_the_same_as_the_result_set():
    first, second = random_errors(7)
    results = scores(a=first, b=second)
    expected = differences(results, BAD)
    pandas.testing.assert_frame_equal(differences(results.frame, BAD), expected)
    pandas.testing.assert_frame_equal(differences(list(results), BAD), expected)
    assert list(expected) == [
        *("first", "second", "scenes", "difference", "low", "high"),
        *("p", "corrected_p", "wins", "ties", "verdict"),
    ]


def test_the_better_method_can_be_the_first():
    results = scores(bad=[3.0, 4.0, 9.0], good=[1.0, 2.0, 3.0], medium=[2.0, 1.0, 5.0])
    pairs = [(pair.first, pair.second) for pair in compare_methods(results, BAD).pairs]
    assert pairs == [("bad", "good"), ("bad", "medium"), ("good", "medium")]
    sorted_pairs = compare_methods(results, BAD, better_first=True).pairs
    names = [(pair.first, pair.second) for pair in sorted_pairs]
    assert names == [("good", "medium"), ("good", "bad"), ("medium", "bad")]
    assert [pair.difference < 0 for pair in sorted_pairs] == [True] * 3
    against = compare_methods(results, BAD, baseline="medium", better_first=True).pairs
    assert [(pair.first, pair.second) for pair in against] == [
        ("good", "medium"),
        ("bad", "medium"),
    ]


def test_the_better_method_of_a_pair_is_first_although_its_mean_on_other_scenes_is_worse():
    results = scores(DENSITY, a=[5.0, 1.0, -30.0], b=[4.0, 0.0, None], c=[None, None, None])
    pairs = compare_methods(results, DENSITY, better_first=True).pairs
    assert [(pair.first, pair.second) for pair in pairs] == [("a", "b"), ("b", "c"), ("a", "c")]
    assert pairs[0].difference == 1


def test_results_of_several_protocols_are_refused():
    results = scores(a=[1.0], b=[2.0])
    other = ResultSet([result("set/0", {}, {BAD: 1.0}, protocol="q", protocol_text="q: other")])
    for mixed in (results + other, (results + other).frame):
        with pytest.raises(ParameterError, match="results of p and q do not belong together"):
            differences(mixed, BAD)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"baseline": "sgmm"},
            "^baseline: no method 'sgmm'; allowed methods: mine, sgm; did you mean 'sgm'",
        ),
        (
            {"correction": "homl"},
            "^correction: no correction 'homl'; allowed corrections: .*; did you mean 'holm'",
        ),
        ({"block": "dataset"}, "^block: no block 'dataset'; .*did you mean 'data_set'"),
        ({"statistic": "bad_pixels_al"}, "^'bad_pixels_al': no result has it; .*'bad_pixels_all'"),
        ({"statistic": "method"}, "^'method': neither lower nor higher values are better"),
        ({"by": "metod"}, "^'metod': no result has it; .*did you mean 'method'"),
        ({"by": ["method", "scene"]}, "^by: methods are compared on the same scenes"),
        ({"by": []}, "^by: has no name"),
        ({"by": "protocol"}, "^'p' has 2 results on set/0, which differ in method"),
    ],
)
def test_names_that_no_result_has_are_refused_with_the_nearest_name(options, message):
    results = scores(mine=[1.0, 2.0], sgm=[2.0, 3.0])
    for table in (results, results.frame):
        with pytest.raises(ParameterError, match=message):
            differences(table, **({"statistic": BAD} | options))


def test_results_with_nothing_to_compare_are_refused():
    for results, message in (
        (ResultSet(), "^nothing to compare: there are no results"),
        (scores(a=[1.0, 2.0]), "^nothing to compare: the results have only the method 'a'"),
        (scores(a=[NAN], b=[NAN]), "^'bad_pixels_all': no result has a value of it"),
        (scores(a=[NAN], b=[NAN]).frame, "^'bad_pixels_all': no result has a value of it"),
        (pandas.DataFrame({"a": [1]}), "^the DataFrame has no column 'scene'; rename the column"),
        (pandas.DataFrame(), "^the DataFrame has no column 'scene'"),
        (scores(a=[1.0]).frame[:0], "^nothing to compare: there are no results"),
        (
            pandas.DataFrame([[1, 2]], columns=["a", "a"]),
            "^the DataFrame has two columns 'a'; rename one of them",
        ),
    ):
        with pytest.raises(ParameterError, match=message):
            differences(results, BAD)


def test_columns_of_a_frame_are_settings_or_values():
    rows = [
        (f"s{i}", method, size, seed, threshold, i + size + seed, "x")
        for i in range(6)
        for method, size in (("a", 1), ("b", 2))
        for seed in (1, 2)
        for threshold in (0.5,)
    ]
    columns = ["scene", "method", "size", "seed", "my_statistic", BAD, "host"]
    frame = pandas.DataFrame(rows, columns=columns)
    assert differences(frame, BAD).difference.tolist() == [-1]
    # Values of an unknown statistic may differ between seeds. Settings may not.
    varied = frame.assign(my_statistic=np.linspace(0, 1, len(frame)), host=[*"ab"] * 12)
    assert differences(varied, BAD).scenes.tolist() == [6]
    with pytest.raises(ParameterError, match="has 2 results on s0, which differ in size"):
        differences(frame.assign(size=range(len(frame))), BAD)
    without_method = frame.drop(columns="method")
    comparison = differences(without_method, BAD, by="size")
    assert comparison[["first", "second"]].values.tolist() == [["1", "2"]]


def test_results_of_a_run_are_compared():
    script = {"include": "window", "sweep": {"grid": {"aggregation.box.size": [3, 9]}}}
    scenes = ["synthetic/planes", "synthetic/slanted"]
    results = stereo_framework.run(script, scenes=scenes)
    keys = ["method", "aggregation.box.size"]
    for table in (results, results.frame):
        row = only_pair(table, "bad_pixels_nonocc", by=keys)
        errors = np.reshape(results.column("bad_pixels_nonocc"), (2, 2))
        assert (row["first"], row["second"]) == ("script, size=3", "script, size=9")
        assert row.verdict == "cannot be decided with 2 scenes"
        assert row.difference == pytest.approx(np.mean(errors[:, 0] - errors[:, 1]))
