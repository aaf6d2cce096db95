"""The rules of papers' statements, met exactly at their limits, and their means.

Each case is small enough to compute by hand. The data that a paper gives are in
``failing_PAPER``; most of them are far from the limits.
"""

import numpy as np
import pytest
from failing_boundary2007 import AS_IN_THE_PAPER, changed, results_of
from made_results import result
from pandas import DataFrame, MultiIndex, Series

from stereo_framework.papers.boundary2007 import claims as boundary2007
from stereo_framework.papers.boundary2007.items import found_boundary
from stereo_framework.papers.claim import verdict
from stereo_framework.papers.comparison import Comparison, PublishedTable
from stereo_framework.papers.energies2008 import items as energies2008
from stereo_framework.papers.groups2012 import items as groups2012
from stereo_framework.papers.hci2015 import claims as hci2015
from stereo_framework.papers.sigma_z2011 import items as sigma_z2011
from stereo_framework.papers.taxonomy2002 import claims as taxonomy2002
from stereo_framework.papers.taxonomy2002 import claims_of_optimizers as optimizers2002

NINE = hci2015.GEOMETRIC


def _ranks(first_in):
    """Method a is first by RMS and in so many of the nine metrics."""
    a = {"RMS": 1} | {name: 1 if i < first_in else 2 for i, name in enumerate(NINE)}
    return DataFrame({name: {"a": rank, "b": 3 - rank} for name, rank in a.items()})


def _apart(ranks):
    """Return a method that has rank 5 by existing metrics, and these HCI ranks."""
    columns = dict.fromkeys(["Bad1.0", "Bad4.0", "RMS"], 5) | dict(zip(NINE, ranks, strict=True))
    return DataFrame({name: {"a": rank} for name, rank in columns.items()})


def _r2(value, **columns):
    names = ["RMS", "Bad1.0", "Bad4.0", *NINE]
    table = DataFrame(float(value), names, names)
    for name, values in columns.items():
        table.loc[NINE, name] = values
    return table


def _pair_of(name, other, value):
    table = _r2(0.9)
    table.loc[name, other] = table.loc[other, name] = value
    return table


def _two(*rows):
    return DataFrame(rows, columns=["F", "G"])


@pytest.mark.parametrize(
    ("judge", "data", "expected"),
    [
        # First in fewer than half of the nine metrics.
        (hci2015.rms_is_limited, [_ranks(4)], True),
        (hci2015.rms_is_limited, [_ranks(5)], False),
        # At least three ranks apart.
        (hci2015.rankings_reveal, [_apart([2] * 9)], True),
        (hci2015.rankings_reveal, [_apart([8] * 8 + [3])], False),
        # Two scores differ if the smaller one is at most nine tenths of the larger one.
        (hci2015.opposed, [_two((8, 10), (10, 9))], True),
        (hci2015.opposed, [_two((8, 10), (10, 9.5))], None),
        # A quarter of the pairs is opposed: one of four is enough, one of five is not.
        (hci2015.opposed, [_two((1, 1), (1, 3), (2, 2), (2, 4))], True),
        # Shares are of the larger value: 20 and 19 are 5 % apart, 4 and 3 are 25 %
        # apart.
        (hci2015.similar_rms, [DataFrame({"RMS": [20, 19], "F_por": [4, 2.9]})], False),
        (hci2015.similar_rms, [DataFrame({"RMS": [20, 19.1], "F_por": [4, 3]})], False),
        (hci2015.similar_rms, [DataFrame({"RMS": [20, 19.1], "F_por": [4, 2.9]})], True),
        (hci2015.similar_rms, [DataFrame({"RMS": [20.9, 19.9], "F_por": [5, 3.9]})], False),
        # The median of the nine numbers is below a half, though their mean is not.
        (hci2015.little_with_rms, [_r2(0, RMS=[0.4] * 5 + [1.0] * 4)], True),
        (hci2015.little_with_rms, [_r2(0, RMS=[0.5] * 9)], False),
        (hci2015.little_with_rms, [_r2(0, RMS=[0.6] * 5 + [0.0] * 4)], False),
        # More than half of the pairs are below 0.2.
        (hci2015.very_low, [_pair_of("RMS", "F_por", 0.1), [("RMS", "F_por")] * 1], True),
        (hci2015.very_low, [_pair_of("RMS", "F_por", 0.2), [("RMS", "F_por")] * 1], False),
        (
            hci2015.very_low,
            [_pair_of("RMS", "F_por", 0.1), [("RMS", "F_por"), ("RMS", "F_fat")]],
            False,
        ),
        # An r² of exactly a half is a correlation.
        (hci2015.correlated_pairs, [_pair_of("D_fat", "F_fat", 0.5)], True),
        (hci2015.correlated_pairs, [_pair_of("Bad1.0", "Bad4.0", 0.5)], True),
        (hci2015.correlated_pairs, [_pair_of("D_fat", "F_fat", 0.49)], False),
        # The mean of the nine numbers, not their median.
        (hci2015.more_with_badpix, [_r2(0.5, RMS=[0.2] * 5 + [0.8] * 4)], True),
        (hci2015.more_with_badpix, [_r2(0.4, RMS=[0.2] * 5 + [0.8] * 4)], False),
    ],
)
def test_limits_of_hci2015(judge, data, expected):
    assert verdict(judge(*data)).holds is expected


def _supports(methods):
    """Results of Experiment 4 on one scene: errors in all regions by method."""
    rows = []
    for method, regions in methods.items():
        number = len(next(iter(regions.values())))
        for i in range(number):
            errors = dict.fromkeys(taxonomy2002.REGIONS, 5.0)
            errors |= {name: values[i] for name, values in regions.items()}
            rows.append(("venus", method, *(errors[name] for name in taxonomy2002.REGIONS)))
    columns = ["scene", "method", *taxonomy2002.REGIONS]
    return DataFrame(rows, columns=columns).set_index(["scene", "method"])


SUPPORT_CASES = [
    # The lowest error lies between those of the smallest and of the largest support.
    (taxonomy2002.intermediate_best, {"box": {"nonocc": [9, 5, 4]}}, False),
    (taxonomy2002.intermediate_best, {"box": {"nonocc": [9, 3.9, 4]}}, True),
    (taxonomy2002.intermediate_best, {"box": {"nonocc": [4, 5, 9]}}, False),
    # Equal errors are a lead of 0.
    (taxonomy2002.shiftable_best, {"shiftable": {"nonocc": [4]}, "box": {"nonocc": [4]}}, True),
    (taxonomy2002.shiftable_best, {"shiftable": {"nonocc": [5]}, "box": {"nonocc": [4]}}, False),
    # The others are 3 points apart. Shiftable windows lead their mean by 3.5 and 3
    # points.
    (
        taxonomy2002.others_alike,
        {
            "shiftable": {"nonocc": [5.0]},
            "box": {"nonocc": [7.0]},
            "diffusion": {"nonocc": [10.0]},
        },
        True,
    ),
    (
        taxonomy2002.others_alike,
        {
            "shiftable": {"nonocc": [5.5]},
            "box": {"nonocc": [7.0]},
            "diffusion": {"nonocc": [10.0]},
        },
        False,
    ),
    # The first sizes are 3, 5, 7, 9, 11 pixels: 10 is twice 5, so that 11 and 5
    # suffice.
    (
        taxonomy2002.shiftable_sizes,
        {"shiftable": {"textureless": [9, 9, 9, 9, 1], "discont": [9, 1, 9, 9, 9]}},
        True,
    ),
    (
        taxonomy2002.shiftable_sizes,
        {"shiftable": {"textureless": [9, 9, 9, 1, 9], "discont": [9, 1, 9, 9, 9]}},
        False,
    ),
    # More support lowers textureless errors and raises those near discontinuities
    # again.
    (taxonomy2002.trade_off, {"box": {"textureless": [9, 8], "discont": [4, 5]}}, True),
    (taxonomy2002.trade_off, {"box": {"textureless": [9, 8], "discont": [9, 4, 5][1:]}}, True),
    (taxonomy2002.trade_off, {"box": {"textureless": [9, 9], "discont": [4, 5]}}, False),
    (taxonomy2002.trade_off, {"box": {"textureless": [9, 8], "discont": [5, 4]}}, False),
    (taxonomy2002.trade_off, {"box": {"textureless": [9, 8, 7], "discont": [6, 4, 5]}}, True),
]


@pytest.mark.parametrize(("judge", "methods", "expected"), SUPPORT_CASES)
def test_limits_of_supports(monkeypatch, judge, methods, expected):
    monkeypatch.setattr(taxonomy2002, "_supports", lambda results: results)
    assert verdict(judge(_supports(methods))).holds is expected


TRUNCATIONS = [1, 2, 5, 10, 20, 50, np.inf]


def _curves(rows, scene="venus"):
    """Curves of one scene, without shared errors: a row for each, by region."""
    index = MultiIndex.from_tuples(
        [(region, scene, f"m{i}", "AD", False) for i, (region, _) in enumerate(rows)],
        names=["region", "scene", "method", "cost", "birchfield_tomasi"],
    )
    return DataFrame([errors for _, errors in rows], index=index, columns=TRUNCATIONS)


CURVE_CASES = [
    # The lowest error in the noise is twice the lowest error of good truncation values.
    (taxonomy2002.noise, [("nonocc", [9, 8, 4, 7, 7, 7, 9])], True),
    (taxonomy2002.noise, [("nonocc", [9, 7.9, 4, 4, 4, 4, 9])], False),
    # A truncation of 20 is best more often than any other value.
    (taxonomy2002.truncation_20, [("nonocc", [9, 9, 9, 9, 1, 9, 9])], True),
    (
        taxonomy2002.truncation_20,
        [("nonocc", [9, 9, 9, 9, 1, 9, 9]), ("nonocc", [9, 9, 1, 9, 9, 9, 9])],
        False,
    ),
    # Near discontinuities, the best truncation saves 5 points, elsewhere 4, though on
    # average all truncations save fewer points near discontinuities than elsewhere.
    (
        taxonomy2002.truncation_near_discontinuities,
        [
            ("discont", [9, 9, 9, 9, 4, 9, 9]),
            ("nonocc", [5, 5, 5, 5, 5, 5, 9]),
            ("textureless", [9] * 7),
        ],
        True,
    ),
    (taxonomy2002.untruncated_best, [("nonocc", [9, 9, 4, 9, 9, 9, 4])], True),
    (taxonomy2002.untruncated_best, [("nonocc", [9, 9, 3.9, 9, 9, 9, 4])], False),
]


@pytest.mark.parametrize(("judge", "rows", "expected"), CURVE_CASES)
def test_limits_of_truncation_curves(monkeypatch, judge, rows, expected):
    monkeypatch.setattr(
        taxonomy2002, "curves", lambda results, **levels: taxonomy2002.only(results, **levels)
    )
    assert verdict(judge(_curves(rows))).holds is expected


@pytest.mark.parametrize(("shifted", "expected"), [(11.0, True), (11.01, False)])
def test_errors_that_are_a_tenth_higher_are_comparable(monkeypatch, shifted, expected):
    monkeypatch.setattr(
        taxonomy2002, "curves", lambda results, **levels: taxonomy2002.only(results, **levels)
    )
    ours = _curves([("nonocc", [20] * 6 + [shifted])])
    others = _curves([("nonocc", [20, 20, 20, 20, 10, 20, 20])])
    assert 1.1 * 10 == 11
    assert verdict(taxonomy2002.comparable(ours, others)).holds is expected


@pytest.mark.parametrize(
    ("large", "expected"),
    [
        # The rank correlation of 1..5 with these orders is 0.7 and 0.6.
        ([2, 1, 3, 5, 4], True),
        ([3, 1, 2, 4, 5], True),
        ([3, 1, 2, 5, 4], False),
        # One number is far from a line; the rank correlation is 0.9.
        ([1, 2, 3, 1000, 4], True),
    ],
)
def test_windows_of_both_sizes_have_a_rank_correlation_of_seven_tenths(
    monkeypatch, large, expected
):
    def errors(results, *keys):
        index = MultiIndex.from_tuples(
            [("nonocc", "venus", i) for i in range(5)], names=["region", "scene", "truncation"]
        )
        return Series(results, index, dtype=float)

    monkeypatch.setattr(taxonomy2002, "errors", errors)
    assert verdict(taxonomy2002.window_21([1, 2, 3, 4, 5], large)).holds is expected


@pytest.mark.parametrize(
    ("judge", "data", "expected"),
    [
        # The error of half pixels is below half of that of whole pixels.
        (
            optimizers2002.staircase,
            [{"venus": {"half pixels, fitted": 1, "whole pixels, fitted": 2}}],
            False,
        ),
        # Both methods of scanlines have more streaks than graph cuts.
        (optimizers2002.streaks, [{"venus": {"dp": 3, "so": 5, "gc": 4}}], False),
        (optimizers2002.streaks, [{"venus": {"dp": 5, "so": 5, "gc": 4}}], True),
        # Two methods lose more than half of their errors on one of the scenes.
        (
            optimizers2002.gains_with_parameters,
            [
                {
                    "GC": {"venus_fixed": 2, "venus_best": 0.9, "map_fixed": 2, "map_best": 2},
                    "SSD": {"venus_fixed": 2, "venus_best": 2, "map_fixed": 2, "map_best": 0.9},
                    "DP": {"venus_fixed": 2, "venus_best": 1},
                }
            ],
            True,
        ),
        (
            optimizers2002.gains_with_parameters,
            [
                {
                    "GC": {"venus_fixed": 2, "venus_best": 0.9},
                    "DP": {"venus_fixed": 2, "venus_best": 1},
                }
            ],
            False,
        ),
        # A diffusion method has a lower error than one of the methods of 2-D MRFs.
        (
            optimizers2002.map_outperforms,
            [
                {"a": {"map_nonocc": 3}, "b": {"map_nonocc": 2}, "c": {"map_nonocc": 4}},
                {"a": 5, "b": 4, "c": 8},
            ],
            True,
        ),
        # Both kinds of methods have lower mean ranks than the two others.
        (
            optimizers2002.local_perform_less,
            [
                {
                    "a": {"map_nonocc": 1},
                    "b": {"map_nonocc": 3},
                    "c": {"map_nonocc": 2},
                    "d": {"map_nonocc": 4},
                },
                {"a": 4, "b": 5, "c": 1, "d": 2},
            ],
            False,
        ),
        (optimizers2002.map_is_solved, [{"GC": {"map_best": 0.5}}], False),
        (optimizers2002.map_is_solved, [{"GC": {"map_best": 0.49}}], True),
    ],
)
def test_limits_of_optimizers(judge, data, expected):
    assert verdict(judge(*data)).holds is expected


def test_equal_numbers_share_the_better_rank():
    ranks = optimizers2002.table_ranks({"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 2}})
    assert ranks["x"].tolist() == [1, 1, 3]


def _weights(rows):
    """Errors without occlusions by scene, method, weight and occlusion cost."""
    names = ["region", "scene", "method", "weight", "occlusion"]
    index = MultiIndex.from_tuples([("nonocc", "venus", *row[:3]) for row in rows], names=names)
    return Series([row[3] for row in rows], index, name="error")


@pytest.mark.parametrize(
    ("weight", "expected"), [(20, True), (50, True), (19.9, False), (50.1, False)]
)
def test_best_weights_lie_within_both_ends(monkeypatch, weight, expected):
    monkeypatch.setattr(optimizers2002, "errors", lambda results, *keys: results)
    results = _weights([("gc", weight, 0, 2.0), ("gc", 1000, 0, 3.0)])
    statement = optimizers2002.weights_between(results, scene="venus", low=20, high=50)
    assert verdict(statement).holds is expected


def test_of_equal_errors_the_lower_weight_is_the_best(monkeypatch):
    monkeypatch.setattr(optimizers2002, "errors", lambda results, *keys: results)
    results = _weights([("gc", 50, 0, 2.0), ("gc", 20, 0, 2.0), ("gc", 10, 0, 3.0)])
    assert optimizers2002.best_weights(results, "nonocc")["weight"].tolist() == [20]


@pytest.mark.parametrize(
    ("errors", "expected"),
    [({"gc": 2, "so": 3, "dp": 9}, True), ({"gc": 4, "so": 3, "dp": 9}, False)],
)
def test_graph_cuts_are_better_than_each_other_method(monkeypatch, errors, expected):
    monkeypatch.setattr(optimizers2002, "errors", lambda results, *keys: results)
    results = _weights([(method, 20, 0, error) for method, error in errors.items()])
    statement = optimizers2002.graph_cuts_first(results, regions=["nonocc"])
    assert verdict(statement).holds is expected


@pytest.mark.parametrize(("highest", "expected"), [(3.9, True), (4, False)])
def test_occlusion_costs_change_errors_by_less_than_a_factor_of_two(monkeypatch, highest, expected):
    monkeypatch.setattr(
        optimizers2002,
        "best_weights",
        lambda results, region, key: DataFrame(
            {"error": [2.0, highest], "weight": [20, 50]},
            MultiIndex.from_tuples(
                [("venus", 20.0), ("venus", 60.0)], names=["scene", "occlusion"]
            ),
        ),
    )
    assert verdict(optimizers2002.occlusion_cost([])).holds is expected


def test_changes_of_the_prediction_error_are_averaged_as_ratios(monkeypatch):
    # The errors become 10 % larger and 2 % smaller: +4 %. The error sums grow by 9.9 %.
    both = DataFrame({False: [100.0, 1.0], True: [110.0, 0.98]})
    monkeypatch.setattr(optimizers2002, "_pairs", lambda *arguments: iter([("venus", both)]))
    decision = verdict(optimizers2002.fit_predicts_alike([]))
    assert (decision.holds, decision.figures) == (True, "venus: +4.0 %")


def test_shared_errors_have_their_median():
    results = [
        result("venus", {}, {"bad_pixels_nonocc": error}, method="gc") for error in (1, 2, 9)
    ]
    table = taxonomy2002.errors(results, "method")
    assert table.tolist() == [2]


def _half_below(beginning):
    """Return a boundary on stripes; the first curve is lower from this rate on."""
    return changed(
        ("stripes", "gc", [(0.0, 0.25), (1.0, 0.0)]),
        ("stripes", "dp", [(0.0, 0.5), (beginning, 0.125), (1.0, 0.0)]),
    )


@pytest.mark.parametrize(("beginning", "expected"), [(0.375, False), (0.37, True)])
def test_a_curve_is_lower_over_more_than_half_of_the_rates(beginning, expected):
    # Both curves end at 1 - SR, so that they are equal from the sparsity rate 0.875 on.
    assert verdict(boundary2007.dp_before_gc_on_stripes(_half_below(beginning))).holds is expected


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        # The median of the false positives is at least half of the occluded pixels.
        ({"GC": [(0.1, 50)]}, True),
        ({"GC": [(0.1, 49)]}, False),
        ({"GC": [(0.1, 50), (0.2, 50), (0.3, 0)]}, True),
        ({"GC": [(0.1, 49), (0.2, 49), (0.3, 500)]}, False),
        # Settings that leave out half of the pixels do not count.
        ({"GC": [(0.1, 49), (0.5, 500), (0.5, 500)]}, False),
    ],
)
def test_limits_of_false_positives(rates, expected):
    assert verdict(boundary2007.occlusion_not_found(rates, 100)).holds is expected


@pytest.mark.parametrize(
    ("ratio", "expected"), [(2.5, True), (2.49, False), (10.0, True), (10.01, False)]
)
def test_graph_cuts_have_two_and_a_half_to_ten_times_the_error_rate(monkeypatch, ratio, expected):
    monkeypatch.setattr(np, "log", lambda values: values)
    monkeypatch.setattr(np, "exp", lambda values: values)
    monkeypatch.setattr(boundary2007, "_ratio", lambda *arguments: [ratio])
    assert verdict(boundary2007.gc_behind_dp(None)).holds is expected


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [([1.5, 1.5, 100.0], True), ([1.0, 1.0, 4.0], False), ([1.0, 2.9, 2.9], False)],
)
def test_half_of_the_error_rate_is_a_median(monkeypatch, ratios, expected):
    monkeypatch.setattr(boundary2007, "_ratio", lambda *arguments: ratios)
    assert verdict(boundary2007.sdm_halves(None)).holds is expected


def test_medians_of_methods_are_compared_on_stripes():
    # The medians of strong models are (0.05, 0.3), those of weak models (0.25, 0.05).
    strong = {"gc": [(0.05, 0.3)], "dp": [(0.05, 0.3)], "bp": [(0.9, 0.001)]}
    weak = {"csm": [(0.25, 0.05), (0.25, 0.05)], "stratified": [(0.01, 0.9)]}
    rates = AS_IN_THE_PAPER | {"stripes": strong | weak}
    boundary = found_boundary(results_of(rates))
    cases = list(boundary2007.weak_models_are_accurate(boundary))
    assert [holds for _, holds in cases] == [True, True]
    assert cases[0][0] == "median ER 0.3000 of strong models, 0.0500 of weak ones"


@pytest.mark.parametrize(
    ("order", "expected"), [("SDM CSM SDM", True), ("SDM SDM CSM", False), ("SDM CSM CSM", False)]
)
def test_two_changes_between_methods_are_an_alternation(monkeypatch, order, expected):
    points = [
        boundary2007.Point(i / 10, 0.5 - i / 10, name) for i, name in enumerate(order.split())
    ]
    monkeypatch.setattr(boundary2007, "_mean_boundary", lambda boundary: points)
    assert verdict(boundary2007.sdm_and_csm_alternate(None)).holds is expected


def _patch_match(worse, factor):
    """Return errors of PatchMatch and four methods; some are worse by a factor."""
    own = {f"venus_{region}": 10.0 for region in groups2012.REGIONS}
    others = [dict.fromkeys(own, 10 * (factor if i < worse else 1.0)) for i in range(4)]
    return DataFrame([own, *others], index=["PatchMatch", *"abcd"])


@pytest.mark.parametrize(
    ("judge", "data", "expected"),
    [
        (groups2012.ranks_are_distant, [[1, 3, 5]], True),
        (groups2012.ranks_are_distant, [[1, 3, 4]], False),
        # More than half of the others are worse by at least a tenth.
        (groups2012.patch_match_venus, [_patch_match(3, 1.2)], True),
        (groups2012.patch_match_venus, [_patch_match(3, 1.1)], True),
        (groups2012.patch_match_venus, [_patch_match(2, 1.2)], False),
        (groups2012.patch_match_venus, [_patch_match(3, 1.09)], False),
        # The lower bound may be equal to the lowest energy.
        (energies2008.bound_is_below, [{"venus": {"lower bound": 5, "gc": 5, "bp": 7}}], True),
        (energies2008.bound_is_below, [{"venus": {"lower bound": 6, "gc": 5, "bp": 7}}], False),
        # The truth costs more than the lowest of the energies.
        (energies2008.truth_costs_more, [{"venus": {"truth": 6, "gc": 5, "bp": 7}}], True),
        (energies2008.truth_costs_more, [{"venus": {"truth": 5, "gc": 5, "bp": 7}}], False),
        # Both other metrics see an error.
        (
            sigma_z2011.perfect_but_wrong,
            [DataFrame({"BMP_all": [0.0], "MSE_all": [0.5], "MAPE_all": [0.0]})],
            False,
        ),
        (
            sigma_z2011.perfect_but_wrong,
            [DataFrame({"BMP_all": [0.0], "MSE_all": [0.5], "MAPE_all": [0.1]})],
            True,
        ),
    ],
)
def test_limits_of_other_papers(judge, data, expected):
    assert verdict(judge(*data)).holds is expected


def test_both_costs_differ_by_the_mean_over_truncation_values(monkeypatch):
    both = _curves([("nonocc", [10] * 7), ("nonocc", [10] * 6 + [15])])
    both.index = MultiIndex.from_tuples(
        [
            ("nonocc", "venus", "m", cost, False)
            for cost in ("absolute_difference", "squared_difference")
        ],
        names=both.index.names,
    )
    monkeypatch.setattr(taxonomy2002, "curves", lambda results: both)
    [(text, holds)] = taxonomy2002.costs_alike([])
    assert text == "venus nonocc: AD and SD 1.00 points apart, 2.50 between truncation values"
    assert holds


@pytest.mark.parametrize(
    ("energies", "expected"), [((5, 5), True), ((5, 5.5), False), ((7, 7), False)]
)
def test_all_graph_cuts_have_the_lowest_energy_at_a_weight(energies, expected):
    parameters = {"smoothness.weight": 20}
    results = [
        result("venus", {}, {}, method=method, energy=energy, parameters=parameters)
        for method, energy in (("gc", energies[0]), ("gc", energies[1]), ("sa", 6))
    ]
    assert verdict(optimizers2002.lowest_energy(results)).holds is expected


@pytest.mark.parametrize(("rate", "expected"), [(1 - 1e-9, True), (0.999, False)])
def test_a_map_counts_as_empty_though_its_rate_is_rounded(monkeypatch, rate, expected):
    points = [boundary2007.Point(0.4, 0.1), boundary2007.Point(rate, 0)]
    monkeypatch.setattr(boundary2007, "_of", lambda boundary, scene, name: points)
    monkeypatch.setattr(boundary2007, "bp_is_a_point", lambda boundary: [])
    assert verdict(boundary2007.density_varies(None)).holds is expected


def test_a_preference_is_the_share_by_which_the_larger_error_exceeds_the_smaller_one():
    errors = {
        "BMP": DataFrame([[2.0] * 3, [3.0] * 3], index=["a", "b"]),
        "SZE": DataFrame([[6.0] * 3, [3.0] * 3], index=["a", "b"]),
    }
    cases = list(groups2012.contradict(errors))
    assert [holds for _, holds in cases] == [True] * len(cases)
    assert cases[0][0].endswith("BMP prefers a by 50.0 %, SZE prefers b by 100.0 %")


def test_the_worst_region_decides_about_bad_pixels():
    bad = {f"BMP_{region}": [0.0, 0.0] for region in sigma_z2011.REGIONS}
    last = list(bad)[-1]
    rows = DataFrame(bad | {last: [0.0, 3.0], "PSNR": [30.0, 20.0], "MSSIM": [0.9, 0.5]})
    [(text, holds)] = sigma_z2011.bmp_against_views(rows)
    assert "BMP 3," in text
    assert not holds


@pytest.mark.parametrize(("printed", "expected"), [(19, 1), (20, 2), (9, 0)])
def test_shares_of_printed_numbers_are_cut_to_whole_units(printed, expected):
    tolerances = [{"within": 0.1, "share": True, "reason": "so"}]
    table = PublishedTable(("x",), {"a": {"x": printed}}, tolerances)
    assert table.limits("a", "x") == (expected, expected, "so")


@pytest.mark.parametrize(
    ("published", "ours", "is_near"),
    [(0.1, 0.4, True), (0.4, 0.1, True), (0.1, 0.41, False), (0.1, 0.3, True)],
)
def test_a_number_at_the_end_of_its_tolerance_is_near(published, ours, is_near):
    comparison = Comparison("a", "x", published, ours, below=0.3, above=0.3, reason="so")
    assert comparison.near is is_near
    assert comparison.is_outside_tolerance is not is_near
