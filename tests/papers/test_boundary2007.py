"""The feasibility boundary: settings, scenes at half size, statements that can be false, pages without data."""

import numpy as np
import pytest
from made_results import result

from stereo_framework.datasets import load_scene
from stereo_framework.engine.tree import Tree
from stereo_framework.errors import ParameterError
from stereo_framework.papers import find_paper
from stereo_framework.papers.boundary2007 import sweeps, tables
from stereo_framework.papers.boundary2007.conclusions import findings
from stereo_framework.papers.paper import Context
from stereo_framework.papers.published import PublishedTable, published_table
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.script import load
from stereo_framework.sweep.plan import plan
from stereo_framework.tables.boundary import boundary


@pytest.mark.parametrize(("name", "count"), [("csm", 72), ("stratified", 72), ("gc", 56), ("dp", 26), ("bp", 75)])
def test_settings_of_the_paper(name, count):
    script = load(f"boundary2007/{name}_grid")
    assert len(script.runs) == count
    assert {run.method for run in script.runs} == {name}
    assert script.scenes == ("tsukuba", "teddy", "cones", "venus", "synthetic/stripes", "synthetic/slits")
    assert {run.protocols[0].name for run in script.runs} == {"kostliva2007"}
    assert {tuple(run.search.items()) for run in script.runs} == {(("truth_margin", 0.5),)}
    # All settings start from one matching cost.
    assert len(Tree([run.pipeline for run in script.runs]).root.children) == 1


def test_every_method_has_its_row_and_every_scene_its_column():
    published = published_table("boundary2007", "table1")
    assert set(sweeps.METHODS.values()) == set(published.rows)
    assert (*sweeps.SCENES.values(), "Expected") == published.columns


def test_a_scene_at_half_size():
    scene = load_scene("synthetic/slits")
    half = sweeps.half_size(scene)
    assert half.reference.shape == (120, 160, 3)
    assert half.reference[3, 5, 1] == scene.reference[6:8, 10:12, 1].mean()
    assert half.match[0, 0, 0] == scene.match[:2, :2, 0].mean()
    assert np.array_equal(half.truth, scene.truth[::2, ::2] / 2)
    assert np.array_equal(half.match_truth, scene.match_truth[::2, ::2] / 2)
    assert sweeps.short(half.name) == sweeps.short(scene.name) == "slits"
    # Disparities 8 and 22 are now 4 and 11.
    [task] = plan(load("boundary2007/dp_grid", overrides=["optimization.occlusion_cost=20"]), [half])
    assert (task.search.minimum, task.search.maximum) == (0, 15)


def test_an_odd_row_and_column_are_left_out():
    image = np.arange(5 * 7, dtype=np.uint8).reshape(5, 7)
    assert sweeps._half_image(image).tolist() == [[4, 6, 8], [18, 20, 22]]
    assert sweeps._half_truth(image.astype(np.float32)).tolist() == [[0, 1, 2], [7, 8, 9]]


def _found(rates):
    """A boundary from (sparsity, error) lists by scene and method."""
    results = [
        result(f"set/{scene}", {"a.b": i}, {"sparsity_rate": s, "error_rate": e}, method=method)
        for scene, methods in rates.items()
        for method, points in methods.items()
        for i, (s, e) in enumerate(points)
    ]
    found = boundary(results)
    return type(found)({sweeps.short(scene): points for scene, points in found.points.items()}, found.mean)


AS_IN_THE_PAPER = {
    "tsukuba": {
        "csm": [(0.0, 0.2), (0.4, 0.01)],
        "stratified": [(0.0, 0.3), (0.4, 0.02)],
        "gc": [(0.0, 0.1), (0.0, 0.09), (1.0, 0.0)],
        "dp": [(0.0, 0.15), (0.1, 0.08)],
        "bp": [(0.0, 0.2), (0.0, 0.4)],
    },
    "venus": {
        "csm": [(0.0, 0.2), (0.4, 0.01)],
        "stratified": [(0.0, 0.05), (0.4, 0.02)],
        "gc": [(0.0, 0.4), (0.0, 0.3), (1.0, 0.0)],
        "dp": [(0.0, 0.1), (0.1, 0.08)],
        "bp": [(0.0, 0.2), (0.0, 0.4)],
    },
}
"""Everything that the paper says is true here."""


def test_findings_that_hold():
    statements = findings(_found(AS_IN_THE_PAPER))
    assert [s.holds for s in statements] == [True] * 5, statements
    assert (
        statements[0].figures
        == "sparsity rates at which it does: tsukuba: from 0.400 on; venus: from 0.000 on; mean: from 0.400 on"
    )
    assert statements[1].figures == "settings on the boundary, empty maps aside: tsukuba 1, venus 0"


@pytest.mark.parametrize(
    ("index", "scene", "method", "points"),
    [
        (0, "venus", "dp", [(0.0, 0.1), (0.1, 0.0)]),  # without any error from 0.1 on ...
        (1, "venus", "gc", [(0.0, 0.01), (0.01, 0.3), (1.0, 0.0)]),
        (1, "tsukuba", "gc", [(0.0, 0.5), (0.01, 0.5), (1.0, 0.0)]),
        (2, "venus", "bp", [(0.0, 0.05), (0.0, 0.4)]),
        (3, "tsukuba", "bp", [(0.0, 0.2), (0.1, 0.1)]),
        (3, "venus", "gc", [(0.0, 0.4), (0.01, 0.3), (1.0, 0.0)]),
        (4, "venus", "gc", [(0.0, 0.0), (0.01, 0.3), (1.0, 0.0)]),
    ],
)
def test_findings_that_do_not_hold(index, scene, method, points):
    rates = {name: dict(methods) for name, methods in AS_IN_THE_PAPER.items()}
    rates[scene][method] = points
    if index == 0:
        rates["tsukuba"][method] = points  # ... on both scenes
    if index == 4:
        rates["tsukuba"][method] = points  # the best on both scenes
    statement = findings(_found(rates))[index]
    assert statement.holds is False
    assert scene in statement.figures


def test_stable_matching_that_comes_too_late():
    methods = {"csm": [(0.0, 0.2), (0.6, 0.01)], "gc": [(0.0, 0.05)], "dp": [(0.0, 0.1)], "bp": [(0.0, 0.15)]}
    statement = findings(_found({"tsukuba": methods}))[0]
    assert statement.holds is False
    assert statement.figures == "sparsity rates at which it does: tsukuba: from 0.600 on; mean: from 0.600 on"


def test_the_identity_of_the_printed_tables_can_fail():
    efficiencies, improvements = (published_table("boundary2007", name) for name in ("table1", "table2"))
    assert tables._identity(efficiencies, improvements).holds
    rows = {name: dict(row) for name, row in efficiencies.rows.items()}
    rows["DP"]["Expected"] += 0.003
    wrong = tables._identity(PublishedTable("", efficiencies.columns, rows, {}), improvements)
    assert wrong.holds is False
    assert wrong.figures.startswith("6 of 10 pairs")


def test_graph_cuts_get_half_size_unless_all_is_wanted(data, monkeypatch, tmp_path):
    asked = {}
    monkeypatch.setattr(
        Context, "run", lambda self, name, *, overrides=(), scenes=None, maps=False: asked.update({name: scenes}) or []
    )
    sweeps.results(Context("boundary2007", tmp_path, data))
    names = [scene if isinstance(scene, str) else scene.name for scene in asked["gc_grid"]]
    assert names[1:3] == ["middlebury2003/teddy at half size", "middlebury2003/cones at half size"]
    assert asked["csm_grid"][1:3] == ["teddy", "cones"]
    sweeps.results(Context("boundary2007", tmp_path, data, full=True))
    assert asked["gc_grid"][1:3] == ["teddy", "cones"]


def test_without_data(tmp_path, monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    # Two methods suffice to see that the built-in scenes are used.
    monkeypatch.setattr(sweeps, "METHODS", {"csm": "CSM", "dp": "DP"})
    done = reproduce(find_paper("boundary2007"), tmp_path / "out", quick=True)
    assert set(done.missing) == {"tsukuba", "teddy", "cones", "venus"}
    assert list(done.outcomes) == ["curves", "table1", "table2"]
    ours = {(c.row, c.column): c.ours for c in done.comparisons if c.ours is not None}
    assert set(ours) == {(m, c) for m in ("CSM", "DP") for c in ("Stripes", "Expected")} | {("CSM", "DP"), ("DP", "CSM")}
    # With one scene its curve is the mean one, and the identity holds for ours, too.
    assert ours["DP", "Stripes"] == ours["DP", "Expected"]
    gain = ours["DP", "CSM"] - ours["CSM", "DP"]
    assert ours["DP", "Expected"] - ours["CSM", "Expected"] == pytest.approx(gain)
    assert 0.5 < ours["DP", "Stripes"] < 1
    assert {p.name for p in (tmp_path / "out" / "figures").iterdir()} == {"roc_stripes.svg", "roc_mean.svg"}
    page = done.page.read_text()
    assert "0.269" in page  # published
    assert "Published numbers: 0 of 0 judged lie outside" in page
    assert "Our own checks, in no total: 0 of 1 do not hold, 1 hold" in page
    assert "Methods of the lowest error rate, by sparsity rate" in page
    assert done.status == 0


def test_two_wishes(tmp_path):
    with pytest.raises(ParameterError, match="quick and full are two wishes; give one"):
        reproduce(find_paper("boundary2007"), tmp_path, quick=True, full=True)
