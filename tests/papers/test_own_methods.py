"""Our own methods and public submissions in place of maps that are not to be had."""

import functools
from dataclasses import replace
from pathlib import Path

import pytest
from made_results import result
from pandas import Series

from stereo_framework.papers import find_paper, own_methods
from stereo_framework.papers.groups2012 import items as groups_items
from stereo_framework.papers.own_methods import scores, submission_scores
from stereo_framework.papers.paper import Context
from stereo_framework.papers.sigma_z2011 import items as sigma_items
from stereo_framework.script import load

V2 = tuple(f"middlebury-v2/{name}" for name in ("tsukuba", "venus", "teddy", "cones"))


def _made(sze, bmp, method, scenes=V2):
    """A method with the same value in all columns of a metric."""
    statistics = {
        f"{name}_{region}": value
        for name, value in (
            ("sigma_z_error", sze),
            ("bad_pixels", bmp),
            ("avg_error", 2 * bmp),
            ("mse", 3 * bmp),
            ("mape", 4 * bmp),
        )
        for region in ("nonocc", "all", "disc")
    }
    return [result(scene, {}, statistics, method=method) for scene in scenes]


def built(paper, item, context):
    """An item and its sentences."""
    return find_paper(paper).build(find_paper(paper).item(item), context)


@functools.cache
def measured(data, folder, metric):
    """The public maps, which never change, are measured once."""
    return submission_scores(Context("groups2012", Path(), data), folder, metric)


@pytest.fixture
def context(data, tmp_path, monkeypatch):
    """Runs are those of its list `made`."""
    for module in (own_methods, groups_items):
        monkeypatch.setattr(
            module, "submission_scores", lambda context, *what: measured(context.data, *what)
        )
    context = Context("groups2012", tmp_path, data)
    context.made = []
    monkeypatch.setattr(Context, "run", lambda self, name: self.made)
    return context


def test_both_papers_run_the_same_methods():
    ours = [load(f"{paper}/own_methods") for paper in ("sigma_z2011", "groups2012")]
    assert [run.parameters for run in ours[0].settings] == [
        run.parameters for run in ours[1].settings
    ]
    assert {"ssd", "gc", "bp", "gco"} < {run.method for run in ours[0].settings}
    assert ours[1].scenes == V2


def test_scores_are_those_of_complete_methods(context):
    assert scores(context, {"BMP": "bad_pixels"}) == {}
    context.made = [*_made(1, 2, "whole"), *_made(1, 2, "part", V2[:3])]
    found = scores(context, {"BMP": "bad_pixels"})["BMP"]
    assert (list(found.index), found.shape[1]) == (["whole", "PatchMatch", "ADCensus"], 12)
    # As the benchmark's site prints it.
    assert found.loc["PatchMatch", "teddy_all"] == pytest.approx(8.16, abs=0.005)
    # Columns are those of our runs.
    context.made = _made(1, 2, "part", V2[:1])
    assert list(scores(context, {"SZE": "sigma_z_error"})["SZE"]) == [
        "tsukuba_nonocc",
        "tsukuba_all",
        "tsukuba_disc",
    ]
    # One scene of a quick reproduction says nothing of the others.
    assert scores(replace(context, quick=True), {"SZE": "sigma_z_error"}) == {}


def test_two_of_our_methods_beside_the_printed_ones(context):
    context.made = [*_made(1e5, 100, "bad"), *_made(1e5, 101, "worse")]
    # Of ours the two of the nearest BMP are shown beside the two printed ones, on tsukuba.
    errors = groups_items.table1(context).ours["errors"]
    assert {m: own.T.to_dict("list") for m, own in errors.items()} == {
        "BMP": {"bad": [100] * 3, "worse": [101] * 3},
        "SZE": {"bad": [1e5] * 3, "worse": [1e5] * 3},
    }


def test_global_and_local_methods(context):
    context.made = [*_made(1, 1, "window"), *_made(2, 1, "gc")]
    told = built("groups2012", "table4", context).statements
    # Windows would be alone in the first group, which is said of our own results beside the printed ones.
    assert "it does not hold: not met: local: window; global: none" in " ".join(told[0].notes)
    assert "it does not hold: not met: group 1 has 1 of 4 methods: window" in " ".join(
        told[3].notes
    )
    context.made = [*_made(2, 1, "window"), *_made(2, 1, "gc")]
    assert "it holds: local: window; global: gc" in " ".join(
        built("groups2012", "table4", context).statements[0].notes
    )


def test_ranks_of_our_first_group(context):
    context.made = [*_made(0, 50, "a"), *_made(0, 2, "b"), *_made(9, 60, "c")]
    told = {
        s.source: " ".join(s.notes) for s in built("groups2012", "tables5_to_7", context).statements
    }
    # By bad pixels b is first, before both submissions, and a fourth.
    assert "ranks 1, 4: 3.0 apart" in told["section 5.2, Table 5"]


def test_groups_of_the_submissions(context, monkeypatch):
    # A map that is better than all printed rows moves both on, and another group is reported.
    monkeypatch.setattr(
        groups_items, "printed_groups", lambda: Series({"PatchMatch": 2, "ADCensus": 1})
    )
    assert all(c.is_outside_tolerance for c in groups_items.tables5_to_7(context).comparisons)
    monkeypatch.setattr(groups_items, "submission_scores", lambda *_: {})
    assert [c.ours for c in groups_items.tables5_to_7(context).comparisons] == [None, None]


def test_ranks_by_either_metric(context):
    context.made = [*_made(0, 100, "near"), *_made(1e5, 0, "far")]
    outcome = built("sigma_z2011", "table5", context)
    ours = {what: {m: own.to_dict() for m, own in of.items()} for what, of in outcome.ours.items()}
    assert [(ours["ranks"][m]["near"], ours["best"][m]["near"]) for m in ("SZE", "BMP")] == [
        (1, True),
        (4, False),
    ]
    assert [(ours["ranks"][m]["far"], ours["best"][m]["far"]) for m in ("SZE", "BMP")] == [
        (4, False),
        (1, True),
    ]
    different, smaller = outcome.statements
    # A correlation that is not significant is evidence neither for nor against it.
    assert different.verdict == "not decided"
    assert "rank correlation -0.23" in different.figures
    assert "it holds: rank correlation -1.00, p = 1.000, 4 methods; A* 1 and 1" in " ".join(
        different.notes
    )
    assert "it does not hold: not met: 1 methods by SZE, 1 by BMP" in " ".join(smaller.notes)


def test_our_maps_of_the_nearest_bad_pixels(monkeypatch, tmp_path):
    monkeypatch.setattr("stereo_framework.papers.own_methods.SUBMISSIONS", {})
    monkeypatch.setattr(Context, "run", lambda self, name: self.made)
    context = Context("sigma_z2011", tmp_path)
    made = {"a": 5.0, "b": 1.0, "c": 1.1, "d": 1.2, "e": 9.0}
    context.made = [r for name, value in made.items() for r in _made(10 * value, value, name)]
    rows = sigma_items.tables3_and_4(context).ours["venus"]
    assert list(rows.index) == ["b", "c", "d"]
    assert rows.loc["c"].to_dict() == pytest.approx(
        {"SZE": 11.0, "BMP": 1.1, "MAE": 2.2, "MSE": 3.3, "MAPE": 4.4}
    )


def test_without_scenes(context):
    for paper, item in (
        ("groups2012", "table3"),
        ("groups2012", "table4"),
        ("sigma_z2011", "tables3_and_4"),
        ("sigma_z2011", "table5"),
    ):
        notes = [" ".join(s.notes) for s in built(paper, item, context).statements]
        said = [told for told in notes if "measurement" not in told]
        assert said
        assert not any("Asked of our own results" in note for note in said)


def test_what_the_truth_alone_decides_is_judged(data, tmp_path):
    first, second = (
        built("sigma_z2011", item, Context("sigma_z2011", tmp_path, data))
        for item in ("figure1_and_table1", "table2")
    )
    judged = [(c.row, c.column) for c in (*first.comparisons, *second.comparisons) if c.judged]
    errors = [("inaccurate", f"SZE_{region}") for region in ("nonocc", "all", "disc")]
    assert (
        judged == [(name, "MAPE_all") for name in ("tsukuba", "venus", "teddy", "cones")] + errors
    )
    assert not any(c.is_outside_tolerance for c in (*first.comparisons, *second.comparisons))
    assert all(s.holds for s in (*first.statements, *second.statements))
