"""Scores made comparable: means, normalized scores, ranks, and what is missing."""

import math

import numpy as np
import pytest
from made_results import HCI, SCENES, result, scored, sweep
from scipy.stats import rankdata

from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation import resolve
from stereo_framework.tables.standings import standings

A, B = SCENES
FAT, OFF, FRAG = "hci_foreground_fattening", "hci_offset", "hci_fragmentation"
NAN = math.nan


def _random(methods=7, scenes=4, seed=0):
    """Scores with ties."""
    random = np.random.default_rng(seed)
    names = [f"s/{k}" for k in range(scenes)]
    return scored({f"m{i}": {s: {n: float(random.integers(0, 5)) for n in HCI} for s in names} for i in range(methods)})


def test_means_ranks_and_shares_of_the_worst():
    results = _random()
    found = standings(results)
    assert (found.methods, found.measures) == (tuple(f"m{i}" for i in range(7)), tuple(HCI))
    table = np.array([[r.statistics[name] for name in HCI] for r in results]).reshape(7, 4, 9)
    np.testing.assert_array_equal(found.scores, table)
    np.testing.assert_allclose(found.means, table.mean(axis=1))
    np.testing.assert_allclose(found.normalized, table.mean(axis=1) / table.mean(axis=1).max(axis=0))
    np.testing.assert_allclose(found.ranks, rankdata(table, axis=0, method="min").mean(axis=1))
    assert found.notes == ()


def test_where_higher_is_better_the_best_is_0():
    given = {"a": 90.0, "b": 80.0, "c": 60.0}
    results = [result(A, {}, {"density_all": v, "energy": 1.0}, method=name, energy=-v) for name, v in given.items()]
    found = standings(results, ["density_all", "energy"])
    np.testing.assert_allclose(found.normalized[:, 0], [0, 1 / 3, 1])
    # Lower energies are better, and those below 0 have no perfect one.
    found = standings([result(A, {}, {}, method=name, energy=-v) for name, v in given.items()], ["energy"])
    np.testing.assert_allclose(found.normalized[:, 0], [0, 1 / 3, 1])
    np.testing.assert_array_equal(found.ranks[:, 0], [1, 2, 3])


def test_equal_and_perfect_scores():
    found = standings(scored({"a": {A: {FAT: 0.0}}, "b": {A: {FAT: 0.0}}}), [FAT, OFF])
    np.testing.assert_array_equal(found.normalized, [[0, 1], [0, 1]])
    np.testing.assert_array_equal(found.ranks, [[1, 1], [1, 1]])


@pytest.mark.parametrize("scenes", [(A, B), (B, A)])
def test_the_scene_without_a_score_is_the_one_that_is_named(scenes):
    given = {"hci_porosity": NAN, FRAG: NAN}
    found = standings(scored({m: {s: given if s == B else {} for s in scenes} for m in "ab"}))
    assert found.notes == (f"hci_porosity, {FRAG}: without venus, where no method has a score",)
    names = ", ".join(scene.rpartition("/")[2] for scene in scenes)
    assert found.footnote("means over").startswith(f"means over 2 scenes ({names}); ")


def test_a_scene_without_the_subset_is_left_out_for_all():
    found = standings(scored({"a": {A: {FRAG: 0.2}, B: {FRAG: NAN}}, "b": {A: {FRAG: 0.4}, B: {FRAG: NAN}}}), [FRAG])
    np.testing.assert_allclose(found.means[:, 0], [0.2, 0.4])
    np.testing.assert_allclose(found.ranks[:, 0], [1, 2])
    assert found.notes == (f"{FRAG}: without venus, where no method has a score",)


def test_a_score_that_others_have_counts_as_the_worst():
    found = standings(scored({"a": {A: {FRAG: 0.1}, B: {FRAG: NAN}}, "b": {A: {FRAG: 0.2}, B: {FRAG: 0.3}}, "c": {A: {}, B: {}}}))
    j = found.measures.index(FRAG)
    assert np.isnan(found.means[0, j])
    assert found.normalized[0, j] == 1
    np.testing.assert_allclose(found.ranks[:, j], [(1 + 3) / 2, (2 + 1) / 2, (3 + 1) / 2])
    assert found.notes == (f"missing scores count as the worst: a ({FRAG})",)
    failed = [*scored({"a": {A: {}}, "b": {A: {}}}), result(A, {}, {}, method="c", error="no luck")]
    found = standings(failed)
    np.testing.assert_array_equal(found.normalized[2], np.ones(9))
    np.testing.assert_array_equal(found.ranks[2], np.full(9, 3))


def test_a_part_that_was_measured_is_told():
    given = {"hci_coverage_offset": 0.25, "hci_coverage_fuzziness": 0.5}
    found = standings(scored({"a": {A: given}, "b": {A: {"hci_coverage_offset": 1.0}}}))
    assert found.notes == ("measured on a part of the pixels alone, those with an estimate: a (down to 25%)",)
    assert standings(scored({"a": {A: given}}), [FAT]).notes == ()


@pytest.mark.parametrize(
    ("protocol", "measure", "left_out"),
    [
        ("middlebury-v3", "bad_pixels_nonocc", {"invalid_pixels_nonocc": 40.0}),
        ("eth3d", "bad_pixels_nonocc", {"density_nonocc": 60.0}),
        ("kostliva2007", "error_rate", {"sparsity_rate": 0.4}),
    ],
)
def test_measures_that_count_missing_estimates_apart_tell_how_many(protocol, measure, left_out):
    known = {"protocol": protocol, "protocol_text": str(resolve(protocol))}
    nothing = {name: 100.0 if name.startswith("density") else 0.0 for name in left_out}
    found = standings(
        [
            result(A, {}, {measure: 0.03, **left_out}, method="a", **known),
            result(A, {}, {measure: 0.5, **nothing}, method="b", **known),
        ],
        [measure],
    )
    assert found.notes == ("measured on a part of the pixels alone, those with an estimate: a (down to 60%)",)


@pytest.mark.parametrize(
    ("protocol", "measure"),
    [
        ("middlebury-v3", "invalid_pixels_nonocc"),
        ("middlebury-v3", "total_bad_pixels_nonocc"),
        ("taxonomy2002", "bad_pixels_nonocc"),
    ],
)
def test_where_missing_estimates_count_nothing_is_to_be_told(protocol, measure):
    known = {"protocol": protocol, "protocol_text": str(resolve(protocol))}
    one = result(A, {}, {"bad_pixels_nonocc": 5.0, "total_bad_pixels_nonocc": 45.0, "invalid_pixels_nonocc": 40.0}, **known)
    assert standings([one], [measure]).notes == ()


TRUNCATION, SIZE = "matching_cost.truncation", "aggregation.box.size"


@pytest.mark.parametrize(
    ("axes", "names"),
    [
        ({TRUNCATION: [1, 5]}, ["truncation=1", "truncation=5"]),
        ({TRUNCATION: [1.0, None], SIZE: [9]}, ["truncation=1", "truncation=none"]),
        ({"matching_cost": ["ad", "sd"], SIZE: [3, 5]}, ["ad, size=3", "ad, size=5", "sd, size=3", "sd, size=5"]),
        ({TRUNCATION: [1]}, ["m"]),
        # Called alike.
        ({"aggregation.0.size": [3, 5], "aggregation.1.size": [3]}, ["size=3", "size=5"]),
        (
            {"aggregation.0.size": [3], "aggregation.1.size": [3, 5], "aggregation.2.size": [7, 9]},
            [f"m (aggregation.0.size=3, aggregation.1.size={a}, aggregation.2.size={b})" for a in (3, 5) for b in (7, 9)],
        ),
    ],
)
def test_settings_are_methods(axes, names):
    found = standings(sweep(axes, lambda scene, *values: {"bad_pixels_all": 1.0}), ["bad_pixels_all"])
    assert list(found.methods) == names
    assert found.footnote("means over", "x") == "means over 2 scenes (tsukuba, venus); x; protocol p"


def test_settings_of_several_methods():
    found = [
        *sweep({TRUNCATION: [1, 5]}, lambda scene, *_: {"bad_pixels_all": 1.0}, method="a"),
        *sweep({}, lambda scene: {"bad_pixels_all": 1.0}, method="b"),
    ]
    assert standings(found, ["bad_pixels_all"]).methods == ("a, truncation=1", "a, truncation=5", "b")
    # Not a second setting of the same name.
    twins = sweep({"matching_cost": ["b"]}, lambda scene, *_: {"bad_pixels_all": 1.0}, method="b, b")
    both = sweep({"matching_cost": ["b"], "optimization": ["b", "c"]}, lambda scene, *_: {"bad_pixels_all": 1.0}, method="b")
    assert len(set(standings([*twins, *both], ["bad_pixels_all"]).methods)) == 3


@pytest.mark.parametrize(
    ("results", "measures", "message"),
    [
        ([], ["hci"], "nothing to compare: no results"),
        (scored({"a": {A: {}}}), [], "nothing to compare: no measures"),
        (scored({"a": {A: {}}}), ["hci_ofset"], "measure 'hci_ofset': no result has it; .*did you mean 'hci_offset'"),
        (scored({"a": {A: {FRAG: NAN}}}), ["hci"], f"no scene has a score in {FRAG}: .*leave it out of the measures"),
        (scored({"a": {A: {"pixels_all": 3.0}}}), ["pixels_all"], "measure 'pixels_all': neither lower nor higher is better"),
        ([*scored({"a": {A: {}}})] * 2, ["hci"], "middlebury2001/tsukuba: two results of 'a'"),
        ([*scored({"a": {A: {}}}), *scored({"b": {A: {}}}, protocol="q", protocol_text="q: x")], ["hci"], "results of p and q"),
    ],
)
def test_mistakes(results, measures, message):
    with pytest.raises(ParameterError, match=message):
        standings(results, measures)
