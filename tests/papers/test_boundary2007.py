"""The feasibility boundary: settings, scenes at half size, statements that can be false, pages without data."""

import pytest
from made_results import result

from stereo_framework.engine.tree import Tree
from stereo_framework.papers import find_paper
from stereo_framework.papers.boundary2007 import sweeps, tables
from stereo_framework.papers.boundary2007.conclusions import findings
from stereo_framework.papers.published import PublishedTable, published_table
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.script import load
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
