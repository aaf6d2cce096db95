"""The feasibility boundary: settings, sentences that turn on costs, best points, pages without data."""

from dataclasses import replace

import pytest
from failing_boundary2007 import AS_IN_THE_PAPER, changed, found, results_of

from stereo_framework.papers import find_paper
from stereo_framework.papers.boundary2007 import claims as judges
from stereo_framework.papers.boundary2007 import items
from stereo_framework.papers.boundary2007.items import METHODS, with_costs
from stereo_framework.papers.claim import Alternatives
from stereo_framework.papers.comparison import published_table, raw_table
from stereo_framework.papers.paper import Context
from stereo_framework.script import load

PAPER = find_paper("boundary2007")
CLAIMS = PAPER.claims
TRIED = raw_table("boundary2007", "paper")["items"]["costs"]["with"]["tried"]


@pytest.mark.parametrize(
    ("name", "count"), [("csm", 72), ("stratified", 72), ("gc", 56), ("dp", 26), ("bp", 75)]
)
def test_settings_of_the_paper(name, count):
    script = load(f"boundary2007/{name}_grid")
    assert len(script.settings) == count
    assert {run.method for run in script.settings} == {name}
    assert script.scenes == (
        "tsukuba",
        "teddy",
        "cones",
        "venus",
        "synthetic/stripes",
        "synthetic/slits",
    )
    assert [protocol.name for protocol in script.protocols] == ["kostliva2007"]
    assert {tuple(run.search.items()) for run in script.settings} == {(("truth_margin", 0.5),)}
    # All settings start from one matching cost.
    assert len({run.pipeline.plan[0] for run in script.settings}) == 1


def test_other_costs_are_run_as_the_others_are():
    script, grids = (
        load("boundary2007/costs"),
        {name: load(f"boundary2007/{name}_grid") for name in ("gc", "bp")},
    )
    assert (script.scenes, len(script.settings)) == (grids["gc"].scenes, 9 + 9 + 4)
    assert {run.method for run in script.settings} == set(TRIED) - {"gc", "bp"}
    for run in script.settings:
        [grid] = [own for name, own in grids.items() if run.method.startswith(name)]
        assert (script.protocols, run.search) == (grid.protocols, grid.settings[0].search)
        assert run.parameters["optimization.use"] == grid.settings[0].parameters["optimization.use"]
        assert (
            run.parameters["matching_cost.use"] != grid.settings[0].parameters["matching_cost.use"]
        )


def test_every_method_has_its_row_and_every_scene_its_column():
    published = published_table("boundary2007", "table1")
    assert set(METHODS.values()) == set(published.rows)
    assert (*map(str.capitalize, items.SCENES), "Expected") == published.columns


def test_differences_are_stated_only_if_all_scenes_are_measured():
    printed = published_table("boundary2007", "table1").rows
    assert "within 0.000 of the printed" in items.differences_of_known_costs(printed, printed)
    without_venus = {
        method: {s: e for s, e in row.items() if s != "Venus"} for method, row in printed.items()
    }
    assert items.differences_of_known_costs(printed, without_venus) == ""


def test_curves_are_compared_where_both_methods_have_settings():
    # The curves begin at the sparsity rates 0.1 and 0.5. The shared rates are 0.5005 to
    # 0.9995.
    sparse, dense = [(0.5, 0.2), (1.0, 0.0)], [(0.1, 0.2), (1.0, 0.0)]
    for gc, dp in ((sparse, dense), (dense, sparse)):
        boundary = changed(("venus", "gc", gc), ("venus", "dp", dp))
        assert judges._ratio(boundary, "venus", "GC", "DP").size == 500


def test_ratios_of_error_rates_are_averaged_geometrically(monkeypatch):
    # The geometric means of the scenes are 2, 2 and 4.
    ratios = {"venus": [1.0, 4.0], "teddy": [2.0], "cones": [2.0, 8.0]}
    monkeypatch.setattr(judges, "_ratio", lambda boundary, scene, *methods: ratios[scene])
    [(text, holds)] = judges.gc_behind_dp(found(AS_IN_THE_PAPER))
    assert text == "ER of GC over that of DP: 2.52 times in the mean"
    assert holds


def test_figures_of_verdicts():
    told = CLAIMS["gc_reaches_tsukuba_only"].stated(
        {"found": changed(("venus", "gc", [(0.01, 0.01), (1.0, 0.0)]))}, {}
    )
    assert "not met: venus: GC has 1 points on the boundary" in told.figures
    assert (
        CLAIMS["gc_not_in_mean"].stated({"found": found(AS_IN_THE_PAPER)}, {}).figures
        == "settings on M: CSM 2, GC 0, DP 2, SDM 2, BP 2"
    )


def _with(**methods):
    """As in the paper, with further methods that have the points of some of its own."""
    rates = {
        scene: own | {name: own[like] for name, like in methods.items()}
        for scene, own in AS_IN_THE_PAPER.items()
    }
    return results_of(rates)


def test_a_sentence_that_turns_on_a_cost_is_not_judged():
    # With another cost graph cuts are as good as SDM, and on M.
    everything = _with(gc_absolute="stratified", bp_squares="bp")
    tried = [(gc, bp) for gc in ("gc", "gc_absolute") for bp in ("bp", "bp_squares")]
    found = {f"{TRIED[gc]}, {TRIED[bp]}": with_costs(everything, gc, bp) for gc, bp in tried}
    data = {"found": Alternatives("cost", found)}
    told = CLAIMS["gc_not_in_mean"].stated(data, {})
    assert (told.holds, told.asked) == (None, "not judged")
    assert told.figures == (
        "cost not specified: it holds with GC: squared differences (as run), BP: absolute differences (as run); GC: squared differences (as run), "
        "BP: squared differences, and it does not hold with GC: absolute differences, BP: absolute differences (as run); GC: absolute differences, BP: squared differences"
    )
    # What says the same with all costs keeps its verdict, that of our own cost.
    assert CLAIMS["csm_on_stripes"].stated(data, {}).holds is True
    assert CLAIMS["models_violated"].stated(data, {}).figures.startswith("the paper has no measure")


def test_methods_in_the_place_of_others():
    exchanged = with_costs(_with(gc_absolute="dp", bp_squares="csm"), "gc_absolute", "bp_squares")
    assert set(exchanged.mean) == set(METHODS.values())
    assert [p.rates for p in exchanged.points["slits"]["GC"]] == AS_IN_THE_PAPER["slits"]["dp"]
    assert {p.method for p in exchanged.points["slits"]["GC"]} == {"GC"}
    assert [p.rates for p in exchanged.mean["BP"]] == [
        p.rates for p in found(AS_IN_THE_PAPER).mean["CSM"]
    ]


def test_best_points_with_respect_to_a_boundary():
    three = [(0.1, 0.04), (0.2, 0.03), (0.3, 0.02), (1.0, 0.0)]
    made = changed(("slits", "csm", three), ("slits", "stratified", [(0.5, 0.5), (1.0, 0.0)]))
    # Of three on the boundary the middle one, empty maps aside.
    assert items.nearest_to_boundary(made, "slits", "CSM").rates == (0.2, 0.03)
    # Graph cuts are nowhere on it: .05 against .02 is nearer than .45 against .03.
    assert items.nearest_to_boundary(made, "slits", "GC").rates == (0.9, 0.05)
    assert items.nearest_to_boundary(
        changed(("slits", "csm", [(1.0, 0.0)])), "slits", "CSM"
    ).rates == (1.0, 0.0)


def test_sentences_need_all_scenes_and_other_costs(monkeypatch, tmp_path):
    made = {name: [] for name in (*METHODS, "costs")}
    for r in results_of(AS_IN_THE_PAPER):
        made[r.method].append(replace(r, statistics={**r.statistics, "false_positives": 1e5}))
        if r.method in ("gc", "bp"):
            made["costs"].append(
                replace(r, method={"gc": "gc_absolute", "bp": "bp_squares"}[r.method])
            )
    monkeypatch.setattr(Context, "run", lambda self, name, **_: made[name.removesuffix("_grid")])
    costs = PAPER.item("costs")
    whole = PAPER.build(costs, Context("boundary2007", tmp_path))
    assert {s.holds for s in whole.statements if s.asked != "not judged"} == {True}
    assert [row[0].text for row in whole.blocks[0].rows][:3] == [
        "GC as printed",
        "BP as printed",
        "GC: squared differences (as run)",
    ]
    for results in made.values():
        results[:] = [r for r in results if r.scene != "venus"]
    some = PAPER.build(costs, Context("boundary2007", tmp_path)).statements
    assert {(s.holds, s.figures) for s in some if s.asked != "not judged"} == {
        (None, "not measured: venus")
    }
