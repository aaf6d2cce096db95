"""The feasibility boundary: settings, statements that can be false, pages without data."""

import pytest
from failing_boundary2007 import ALL, AS_IN_THE_PAPER, changed, found, results_of

from stereo_framework.papers import find_paper
from stereo_framework.papers.boundary2007 import conclusions, sweeps, tables
from stereo_framework.papers.paper import Context
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
    assert len({run.pipeline.plan[0] for run in script.runs}) == 1


def test_every_method_has_its_row_and_every_scene_its_column():
    published = published_table("boundary2007", "table1")
    assert set(sweeps.METHODS.values()) == set(published.rows)
    assert (*sweeps.SCENES.values(), "Expected") == published.columns


def test_what_the_paper_says_can_be_true():
    as_said = found(AS_IN_THE_PAPER)
    assert {c.name: c.asked(as_said).holds for c in conclusions.CLAIMS} == {c.name: True for c in conclusions.CLAIMS}


def test_the_marks_of_table_1():
    # Read off the printed table by hand: most efficient, least efficient.
    read = {
        "tsukuba": ("GC", "BP"),
        "teddy": ("SDM", "GC"),
        "cones": ("CSM", "GC"),
        "venus": ("SDM", "GC"),
        "stripes": ("SDM", "BP"),
        "slits": ("CSM", "GC"),
        "Expected": ("SDM", "BP"),
    }
    texts = {c.name: c.text for c in conclusions.CLAIMS}
    for column, (most, least) in read.items():
        where = "in the mean" if column == "Expected" else f"on {column}"
        assert texts[f"most_efficient_{column}"] == f"{most} is the most efficient {where}"
        assert texts[f"least_efficient_{column}"] == f"{least} is the least efficient {where}"


def _asked(name, *changes):
    [claim] = [c for c in conclusions.CLAIMS if c.name == name]
    return claim.asked(changed(*changes))


@pytest.mark.parametrize(
    ("name", "change", "holds"),
    [
        ("density_varies", ("venus", "gc", [(0.0105, 0.6), (0.011, 0.6)]), False),  # by less than the plots show
        ("density_varies", ("venus", "gc", [(0.01, 0.6), (0.5, 0.6)]), True),  # empty on other scenes
        ("only_bp_is_dense", ("venus", "bp", [(0.0005, 0.55)] * 2), True),  # 0 in the plots
        ("only_bp_is_dense", ("venus", "bp", [(0.0, 0.55), (0.0015, 0.55)]), False),
        ("gc_reaches_tsukuba_only", ("tsukuba", "gc", [(0.5, 0.5), (1.0, 0.0)]), False),  # nowhere but empty
        ("stable_at_low_density", ("tsukuba", "dp", [(0.02, 0.0), (1.0, 0.0)]), True),  # a single scene does not decide
        ("dp_before_bp", ("slits", "dp", [(0.0, 0.55)] * 2), False),
    ],
)
def test_where_a_statement_turns(name, change, holds):
    assert _asked(name, change).holds is holds


def test_statements_tell_their_figures():
    assert "venus 1" in _asked("gc_reaches_tsukuba_only", ("venus", "gc", [(0.01, 0.01), (1.0, 0.0)])).figures
    late = _asked("stable_at_low_density", (ALL, "csm", [(0.6, 0.0001)] * 2), (ALL, "stratified", [(0.6, 0.001)] * 2))
    assert late.holds is False
    assert late.figures.endswith("mean: from 0.600 on")


def test_statements_need_all_scenes(monkeypatch, tmp_path):
    some = boundary([r for r in results_of(AS_IN_THE_PAPER) if r.scene != "venus"])
    monkeypatch.setattr(conclusions, "measured", lambda context: some)
    told = conclusions.conclusions(Context("boundary2007", tmp_path)).statements
    assert {(s.holds, s.figures) for s in told} == {(None, "not measured: venus")}


def test_the_identity_of_the_printed_tables_can_fail():
    efficiencies, improvements = (published_table("boundary2007", name) for name in ("table1", "table2"))
    assert tables.IDENTITY.asked(efficiencies, improvements).holds
    rows = {name: dict(row) for name, row in efficiencies.rows.items()}
    rows["DP"]["Expected"] += 0.003
    wrong = tables.IDENTITY.asked(PublishedTable("", efficiencies.columns, rows, {}), improvements)
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
    assert {p.name for p in (tmp_path / "out" / "figures").iterdir()} == {"roc_stripes.svg", "roc_mean.svg", "figure7.svg"}
    page = done.page.read_text()
    assert "0.269" in page  # published
    assert "Published numbers: 0 of 0 judged lie outside" in page
    assert "Our own checks, in no total: 0 of 1 do not hold, 1 hold" in page
    assert "Methods of the lowest error rate, by sparsity rate" in page
    assert done.status == 0
