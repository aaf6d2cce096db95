"""Scores side by side: means, ranks, and what is missing."""

import math

import numpy as np
import pytest
from made_results import HCI, SCENES, result, scored, sweep
from scipy.stats import rankdata

from stereo_framework.core.errors import ParameterError
from stereo_framework.sweep import ResultSet
from stereo_framework.tables.scores import score_table

A, B = SCENES
OFF, FRAG = "hci_offset", "hci_fragmentation"
NAN = math.nan


def test_means_and_ranks():
    random = np.random.default_rng(0)
    table = random.integers(0, 5, (7, 4, 9)).astype(float)  # with ties
    given = {
        f"m{i}": {f"s/{k}": dict(zip(HCI, row, strict=True)) for k, row in enumerate(own)}
        for i, own in enumerate(table)
    }
    found = score_table(scored(given), ["hci"])
    assert (found.methods, found.metrics, found.notes) == (tuple(given), list(HCI), ())
    np.testing.assert_array_equal(found.values, table.reshape(7, -1))
    ranks = rankdata(table, axis=0, method="min")
    np.testing.assert_allclose(found.average_ranks, ranks.mean(axis=(1, 2)))
    for j, name in enumerate(HCI):
        np.testing.assert_allclose(found.of(name).means, table[..., j].mean(axis=1))
        np.testing.assert_allclose(found.of(name).average_ranks, ranks[..., j].mean(axis=1))
    part = found.rows([2, 0])
    assert part.methods == ("m2", "m0")
    np.testing.assert_array_equal(part.values, found.values[[2, 0]])


def test_higher_is_better_where_a_metric_says_so():
    given = {"a": 80.0, "b": 90.0, "c": 80.0}
    results = ResultSet(
        result(A, {}, {"density_all": v}, method=name, energy=-v) for name, v in given.items()
    )
    found = score_table(results, ["density_all", "energy"])
    assert [(c.name, c.better) for c in found.columns] == [
        (f"{A}:density_all", "higher"),
        (f"{A}:energy", "lower"),
    ]
    assert found.places.tolist() == [2, 1, 2]
    assert found.groups.tolist() == [2, 1, 2]


@pytest.mark.parametrize("scenes", [(A, B), (B, A)])
def test_a_scene_on_which_nobody_has_a_score_is_left_out_and_named(scenes):
    given = {
        m: {s: {"hci_porosity": v, FRAG: NAN if s == B else v} for s in scenes}
        for m, v in (("a", 0.2), ("b", 0.4))
    }
    found = score_table(scored(given), ["hci_porosity", FRAG])
    assert found.notes == (f"{FRAG}: without venus, where no method has a score",)
    np.testing.assert_allclose(found.of(FRAG).means, [0.2, 0.4])
    np.testing.assert_allclose(found.of(FRAG).average_ranks, [1, 2])


def test_a_score_that_others_have_counts_as_the_worst():
    given = {
        "a": {A: {FRAG: 0.1}, B: {FRAG: NAN}},
        "b": {A: {FRAG: 0.2}, B: {FRAG: 0.3}},
        "c": {A: {}, B: {}},
    }
    found = score_table(scored(given), ["hci"])
    assert np.isnan(found.of(FRAG).means).tolist() == [True, False, False]
    np.testing.assert_allclose(
        found.of(FRAG).average_ranks, [(1 + 3) / 2, (2 + 1) / 2, (3 + 1) / 2]
    )
    assert found.notes == (f"missing scores count as the worst: a ({FRAG})",)
    failed = scored({"a": {A: {}}, "b": {A: {}}})
    failed += [result(A, {}, {}, method="c", error="no luck")]
    np.testing.assert_array_equal(score_table(failed, ["hci"]).ranks[2], np.full(9, 3))


TRUNCATION, SIZE = "matching_cost.truncation", "aggregation.box.size"


@pytest.mark.parametrize(
    ("axes", "names"),
    [
        ({TRUNCATION: [1.0, None], SIZE: [9]}, ["truncation=1", "truncation=none"]),
        (
            {"matching_cost": ["ad", "sd"], SIZE: [3, 5]},
            ["ad, size=3", "ad, size=5", "sd, size=3", "sd, size=5"],
        ),
        ({TRUNCATION: [1]}, ["m"]),
        # Called alike.
        ({"aggregation.0.size": [3, 5], "aggregation.1.size": [3]}, ["size=3", "size=5"]),
        (
            {"aggregation.0.size": [3], "aggregation.1.size": [3, 5], "aggregation.2.size": [7, 9]},
            [
                f"m (aggregation.0.size=3, aggregation.1.size={a}, aggregation.2.size={b})"
                for a in (3, 5)
                for b in (7, 9)
            ],
        ),
    ],
)
def test_settings_are_methods(axes, names):
    found = score_table(
        sweep(axes, lambda scene, *values: {"bad_pixels_all": 1.0}), ["bad_pixels_all"]
    )
    assert list(found.methods) == names


def test_settings_of_several_methods():
    def made(method, **axes):
        return sweep(axes, lambda scene, *_: {"bad_pixels_all": 1.0}, method=method)

    found = score_table(made("a", size=[1, 5]) + made("b"), ["bad_pixels_all"])
    assert found.methods == ("a, size=1", "a, size=5", "b")
    # Not a second setting of the same name.
    twins = made("b, b", matching_cost=["b"])
    twins += made("b", matching_cost=["b"], optimization=["b", "c"])
    assert len(set(score_table(twins, ["bad_pixels_all"]).methods)) == 3


@pytest.mark.parametrize(
    ("results", "metrics", "message"),
    [
        (ResultSet(), ["hci"], "nothing to compare: no results"),
        (scored({"a": {A: {}}}), [], "nothing to compare: no metrics"),
        (
            scored({"a": {A: {}}}),
            ["hci_ofset"],
            "metric 'hci_ofset': no result has it; .*did you mean 'hci_offset'",
        ),
        (
            scored({"a": {A: {FRAG: NAN}}}),
            ["hci"],
            f"no scene has a score in {FRAG}: .*leave it out of the metrics",
        ),
        (
            scored({"a": {A: {"pixels_all": 3.0}}}),
            ["pixels_all"],
            "column 'middlebury2001/tsukuba:pixels_all': nothing to be ranked",
        ),
        (
            scored({"a": {A: {FRAG: 1.0}}}) + scored({"a": {A: {FRAG: 2.0}}}),
            [FRAG],
            "'a' has two scores in .*tsukuba:hci_frag",
        ),
        (
            scored({"a": {A: {}}}) + scored({"b": {A: {}}}, protocol="q", protocol_text="q: x"),
            ["hci"],
            "results of p and q",
        ),
    ],
)
def test_mistakes(results, metrics, message):
    with pytest.raises(ParameterError, match=message):
        score_table(results, metrics)
