"""The taxonomy's tables and figures: what is measured for its sentences, and the tolerances of its tables."""

import cv2
import numpy as np
import pytest
from failing_taxonomy2002 import PLAIN, SIDES, curves, scanlines, weights
from failing_taxonomy2002 import at as changed_at
from failing_taxonomy2002 import sub_pixel as made_sub_pixel
from made_results import result

from stereo_framework import load_scene
from stereo_framework.evaluation.prediction import forward_prediction
from stereo_framework.papers import find_paper
from stereo_framework.papers.claim import Verdict, verdict
from stereo_framework.papers.comparison import published_table, raw_table
from stereo_framework.papers.paper import Context
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.papers.taxonomy2002 import claims, items
from stereo_framework.papers.taxonomy2002.claims_of_optimizers import four

PAPER = find_paper("taxonomy2002")
CLAIMS = PAPER.claims


def built(item, tmp_path, data=None):
    """An item and its sentences."""
    return PAPER.build(PAPER.item(item), Context("taxonomy2002", tmp_path, data))


OF_RESULTS = {
    name: holding[0] if isinstance(holding[0], tuple) else (holding[0],)
    for name, (holding, _) in SIDES.items()
}


@pytest.mark.parametrize(
    "name", [n for n, data in OF_RESULTS.items() if all(isinstance(d, list) and d for d in data)]
)
def test_sentences_without_results_have_no_verdict(name):
    if name not in ("occlusion_cost", "printed_parameters"):
        assert verdict(CLAIMS[name].judge(*([] for _ in OF_RESULTS[name]))).holds is None


def test_one_scene_says_nothing_of_how_scenes_differ():
    one = [r for r in PLAIN if r.scene.endswith("tsukuba")]
    assert verdict(CLAIMS["best_varies"].judge(one)).holds is None
    one = [r for r in weights() if r.scene.endswith("tsukuba")]
    assert verdict(CLAIMS["weights_vary"].judge(one)).holds is None
    assert verdict(CLAIMS["no_clear_ranking"].judge(one)).holds is None


def test_a_scene_where_a_run_failed_is_left_out():
    broken = curves(changed_at(10, scene="venus", cost="squared_difference"))
    assert verdict(CLAIMS["costs_alike"].judge(broken)).holds is False
    kept = [
        r
        for r in broken
        if not (r.scene.endswith("venus") and r.parameters[claims.KEYS["truncation"]] == 5)
    ]
    assert verdict(CLAIMS["costs_alike"].judge(kept)).holds is True


def test_which_settings_of_the_scan_lines_are_asked():
    # At another weight, with another occlusion cost or another penalty nothing counts.
    shown = four(scanlines(), "nonocc")
    assert set(shown.index) == {
        (s, m) for s in ("tsukuba", "sawtooth", "venus", "map") for m in ("dp", "so")
    }
    assert dict(shown.loc["map", "dp"]) == pytest.approx(
        {"p1": 10.0, "p1 + BT": 9.8, "p2 + BT": 9.3, "p4 + BT": 9.3}
    )


def test_every_experiment_has_its_sentences_and_scripts(monkeypatch, tmp_path):
    asked = {}
    monkeypatch.setattr(Context, "run", lambda self, name, **_: asked.setdefault(name, []))
    monkeypatch.setattr(Context, "plots", lambda self, name, results: [])
    outcomes = {f"experiment{i}": built(f"experiment{i}", tmp_path) for i in range(1, 7)}
    for name, outcome in outcomes.items():
        assert len(outcome.statements) > 3
        assert all(s.holds is None for s in outcome.statements)
        # What a sentence names, such as another script, is there.
        assert {s for c in CLAIMS.values() if c.is_of(name) for s in c.of} <= set(outcome.data)
    assert set(asked) == {f"experiment{i}" for i in range(1, 7)} | {
        f"experiment{s}" for s in ("1_window21", "2_window21", "6_map", "6_scanlines")
    }


def test_errors_by_setting():
    of = {"parameters": {"smoothness.weight": 1}}
    values = (("x", 1.0), ("x", 9.0), ("x", 2.0), ("y", 5.0), ("y", float("nan")))
    made = [
        result(
            "middlebury2001/map",
            {},
            {"bad_pixels_nonocc": v, "bad_pixels_textureless": v},
            method=m,
            **of,
        )
        for m, v in values
    ]
    # Table 5 has no column of the textureless pixels of map either.
    found = claims.errors(made, "method", "weight")
    assert found.to_dict() == {("nonocc", "map", "x", 1): 2.0, ("nonocc", "map", "y", 1): 5.0}


def test_too_near():
    error = np.array([[1.5, 1.0, -3.0, 0.0, np.nan, 9.0]])
    assert items.too_near(
        error, np.array([[True, True, True, True, True, False]])
    ) == pytest.approx(20)


def test_height_of_a_staircase():
    truth = np.linspace(3, 6, 25, dtype=np.float32)[None, :]  # eighths
    whole = (
        np.round(truth + 0.01) - truth
    )  # matching at whole pixels is wrong by up to half a pixel
    assert items.staircase_height(whole, truth) == pytest.approx(0.875)
    assert items.staircase_height(np.full_like(truth, 0.2), truth) == pytest.approx(0)
    # Mismatches do not count.
    assert items.staircase_height(np.where(truth == 4, 5, 0).astype(np.float32), truth) == 0


@pytest.mark.parametrize(
    ("method", "column", "values", "tolerance"),
    [
        ("ssd", "tsukuba_nonocc", [10.0], 0.1),  # the original's builds lie 0.1 apart
        ("gc", "sawtooth_nonocc", [9.9, 10.0, 10.3], 0.4),  # as much as the orders of moves
        ("gc", "sawtooth_textureless", [10.0, 10.0, 10.0], 0.01),
    ],
)
def test_tolerances_of_table_5(method, column, values, tolerance):
    for sign in (1, -1):
        assert not items.compared_cell(
            method, column, 10.0 - sign * 0.99 * tolerance, values
        ).is_outside_tolerance
        cell = items.compared_cell(method, column, 10.0 - sign * 1.01 * tolerance, values)
        assert cell.is_outside_tolerance
        assert cell.reason


def test_printed_ranks_are_those_of_the_printed_numbers():
    published = published_table("taxonomy2002", "table5")
    ranks = items.own_ranks(
        published, {row: published.rows[row] for row in claims.METHODS.values()}
    )
    different = {
        (row, column): ours - printed
        for row, own in ranks.items()
        for column, (printed, ours) in own.items()
        if ours != printed
    }
    # Bayesian diffusion prints 0.72 too and was better before rounding.
    assert different == {("SSD + MF", "sawtooth_textureless"): -1}


def test_what_the_tolerance_of_graph_cuts_lets_through():
    # Orders from 9.9 to 10.3 accept what is printed as 9.6, which none of them reaches; the check beside them does not.
    assert not items.compared_cell(
        "gc", "venus_nonocc", 9.6, [9.9, 10.0, 10.3]
    ).is_outside_tolerance
    published = published_table("taxonomy2002", "table5")
    judge = CLAIMS["between_the_orders"].judge
    assert verdict(
        judge(published, {"sawtooth_textureless": [0.2, 0.3], "map_nonocc": [0.31, 0.4]})
    ) == (
        Verdict.FAILS,
        "not met: sawtooth_textureless: printed 0.06, ours 0.20 to 0.30; map_nonocc: printed 0.31, ours 0.31 to 0.40",
    )
    # A single order lies between nothing.
    assert verdict(judge(published, {"map_nonocc": [0.31]})).holds is None


def test_one_order_of_moves_is_not_judged():
    cell = items.compared_cell("gc", "sawtooth_textureless", 0.06, [0.23])
    assert not cell.judged
    assert "a single one does not tell" in cell.reason


KINDS = {
    "ssd": {"optimization.use": "winner_take_all", "aggregation.use": "box > min_filter"},
    "dp": {"optimization.use": "dynamic_programming"},
    "so": {"optimization.use": "scanline_optimization"},
    "gc": {"optimization.use": "graph_cut"},
    "bayesian": {"optimization.use": "winner_take_all", "aggregation.use": "bayesian_diffusion"},
}


def test_which_runs_belong_to_which_method():
    assert {name: items.kind(parameters) for name, parameters in KINDS.items()} == {
        name: name for name in KINDS
    }
    assert items.kind({"optimization.use": "winner_take_all", "aggregation.use": "box"}) is None
    assert items.kind({"optimization.use": "simulated_annealing"}) is None


def _of_table_6(monkeypatch, tmp_path, best):
    """Table 6 of made results: all methods have 50 percent with fixed parameters and `best` in the items."""

    def run(self, name, **_):
        errors = {
            f"bad_pixels_{region}": 50.0 if name == "table5" else best for region in claims.REGIONS
        }
        return [
            result(f"middlebury2001/{scene}", {"a": 1}, errors, method=method, parameters=kind)
            for scene in items.SCENES
            for method, kind in KINDS.items()
        ]

    monkeypatch.setattr(Context, "run", run)
    return built("table6", tmp_path)


def test_table_6(monkeypatch, tmp_path):
    printed = published_table("taxonomy2002", "table6").rows["SO"]["venus_best"]
    for best, outside in ((printed + 0.0099, False), (printed + 0.0101, True), (0.4, False)):
        outcome = _of_table_6(monkeypatch, tmp_path, best)
        found = {(c.row, c.column): c for c in outcome.comparisons}
        assert found["SO", "venus_best"].ours == best
        assert found["SO", "venus_best"].is_outside_tolerance is outside
        assert [s.holds for s in outcome.statements] == [True, best == 0.4]
    # What Table 5 counts does not count twice, and a single order of the moves of graph cuts tells no tolerance.
    fixed = found["SO", "tsukuba_fixed"]
    assert (fixed.ours, fixed.judged, fixed.reason) == (50.0, False, "judged in Table 5")
    assert not found["GC", "map_best"].judged


def test_table_7(monkeypatch, tmp_path):
    made = [
        result(f"middlebury2001/{s}", {}, {}, method=m, seconds={"a": i, "evaluation": 9.0})
        for m in KINDS
        for s in items.SCENES
        for i in (3.0, 2.0)
    ]
    monkeypatch.setattr(Context, "run", lambda self, name, **_: made)
    comparisons = items.table7(Context("taxonomy2002", tmp_path)).comparisons
    first = comparisons[1]
    assert (first.row, first.column, first.published, first.ours) == (
        "1-SSD + MF",
        "sawtooth",
        1.5,
        2.0,
    )
    assert not any(c.judged for c in comparisons)


def grey(content):
    return cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_GRAYSCALE)


def test_slices_of_the_disparity_space(data, tmp_path):
    blocks = items.figure1(Context("taxonomy2002", tmp_path, data)).blocks
    stored = dict(blocks[0].rows[0].pictures)
    assert list(stored) == ["image", "truth", "5 px", "8 px", "10.5 px"]
    slices = {name: grey(stored[name].content) for name in list(stored)[2:]}
    truth = load_scene("tsukuba", data=data).truth
    for name, own in (("5 px", (5,)), ("8 px", (8,)), ("10.5 px", (10, 11))):
        # What lies at this disparity is alike in both images, and darkest in its own slice.
        means = {other: shown[np.isin(truth, own)].mean() for other, shown in slices.items()}
        assert min(means, key=means.__getitem__) == name
    row = grey(blocks[1].content)
    # 16 disparities in half pixels, six screen rows each; disparity 5 is level 10 from below.
    assert row.shape == (31 * 6, 384)
    np.testing.assert_array_equal(row[-6 * 10 - 1], slices["5 px"][151])


def test_gaps_stand_beside_prediction_errors(data, tmp_path):
    outcome = reproduce(PAPER, tmp_path, item="figure5", data=data, quick=True).outcomes["figure5"]
    rows = {row[1].text: row for row in outcome.blocks[-1].rows}
    assert list(rows) == ["near", "match", "far"]
    scene = load_scene("tsukuba", data=data)
    drawn = forward_prediction(scene.reference, scene.truth, 1.0)
    assert rows["match"][3].value == pytest.approx(100 * (1 - drawn.predicted.mean()))


def test_changes_from_row_to_row():
    assert items.row_changes(np.array([[1, 1, 1], [1, 2, 3], [1, 2, 4]])) == pytest.approx(50)


def test_foreground_fattening(data, tmp_path):
    outcome = reproduce(PAPER, tmp_path, item="figure12", data=data).outcomes["figure12"]
    [statement] = outcome.statements
    assert statement.holds
    shown = outcome.blocks[1]
    assert shown.columns == ["image", "truth", "box", "shiftable"]


def test_what_figure_15_shows():
    settings = raw_table("taxonomy2002", "paper")["items"]["experiment7"]["with"]["figure15"]
    shown = items.shown_in_figure15(made_sub_pixel(), "crop", settings)
    assert list(shown) == list(settings)
    assert [r.statistics["rms_error_textured"] for r in shown.values()] == pytest.approx(
        [2.0, 1.8, 1.75, 1.9, 1.3]
    )
