"""Papers reproduced: what is compared, what is written, what happens without data."""

import pytest

from stereo_framework.core.errors import ParameterError
from stereo_framework.papers import NAMES, find_paper
from stereo_framework.papers.comparison import Comparison, comparison_table, exported
from stereo_framework.papers.published import published_table
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.papers.taxonomy2002.tables import SCENES
from stereo_framework.tables.formats import to_text


def _compared(published, ours, below, above):
    return Comparison("row", "column", published, ours, below, above, "a reason")


@pytest.mark.parametrize(
    ("comparison", "outside", "tolerance"),
    [
        (_compared(5.23, 5.33, 0.1, 0.1), False, "±0.1"),  # in binary the difference is a little more than 0.1
        (_compared(5.23, 5.34, 0.1, 0.1), True, "±0.1"),
        (_compared(5.23, 5.12, 0.1, 0.1), True, "±0.1"),
        (_compared(1.0, 0.2, None, 0.01), False, "at most +0.01"),
        (_compared(1.0, 1.02, None, 0.01), True, "at most +0.01"),
        (_compared(1.0, 0.9, 0.0, None), True, "at least"),
        (_compared(1.0, 1.5, 0.1, 0.6), False, "-0.1 +0.6"),
        (_compared(1.0, 99.0, None, None), False, "not judged"),
        (_compared(1.0, None, 0.1, 0.1), False, "±0.1"),
        (_compared(None, 1.0, 0.1, 0.1), False, "±0.1"),
    ],
)
def test_what_lies_outside(comparison, outside, tolerance):
    assert comparison.outside is outside
    assert comparison.tolerance == tolerance


@pytest.mark.parametrize(
    ("comparison", "one_sided", "near"),
    [
        (_compared(1.0, 0.995, None, 0.01), True, True),
        (_compared(1.0, 0.2, None, 0.01), True, False),  # met, for lower is welcome, but not as near as the limit
        (_compared(1.0, 1.5, 0.1, None), True, False),
        (_compared(1.0, 0.2, 0.01, 0.01), False, False),
        (_compared(1.0, None, None, 0.01), False, False),
    ],
)
def test_limits_on_one_side(comparison, one_sided, near):
    assert (comparison.one_sided, comparison.near) == (one_sided, near)


def test_tables_have_as_many_digits_as_their_tolerances():
    # With two digits 218.91 would stand beside 218.90, and a difference of -0.00 within 0.0005.
    cells = comparison_table("caption", [_compared(218.905, 218.9046, 0.0005, 0.0005)]).rows[0]
    assert [cell.text for cell in cells[2:6]] == ["218.9050", "218.9046", "-0.0004", "±0.0005"]
    assert _compared(5.0, 4.0, None, 0.015).digits == 3
    assert _compared(5.0, 4.0, 0, 0).digits == _compared(5.0, 4.0, None, None).digits == 0


def test_comparisons_as_tables():
    comparisons = [_compared(1.0, 2.5, 0.1, 0.1), _compared(1.0, None, 0.1, 0.1)]
    table = comparison_table("caption", comparisons)
    assert [cell.text for cell in table.rows[0]] == ["row", "column", "1.00", "2.50", "+1.50", "±0.1", "a reason"]
    assert table.rows[0][4].mark == "outside its tolerance"
    assert [cell.text for cell in table.rows[1][2:5]] == ["1.00", "-", "-"]
    assert to_text(exported("t", comparisons), "csv").splitlines()[1] == "row,column,1.0,2.5,1.5,±0.1,a reason"


def test_published_tables():
    table = published_table("taxonomy2002", "table5")
    assert len(table.rows) == 20
    assert len(table.columns) == 11
    numbers = (4.12, 4.63, 12.34, 4.84, 3.71, 13.26, 10.1, 15.01, 17.12)
    columns = [f"{scene}_{region}" for scene in SCENES[:3] for region in ("nonocc", "textureless", "discont")]
    assert table.rows["Dyn. prog."] == dict(zip(columns, numbers, strict=True)) | {"map_nonocc": 3.33, "map_discont": 14.04}
    assert table.rows["Graph cuts (4)"]["tsukuba_nonocc"] == 1.94
    assert table.ranks["Layered"]["sawtooth_nonocc"] == 1
    assert published_table("taxonomy2002", "table6").rows["GC"]["map_best"] == 0.09
    assert published_table("taxonomy2002", "table4").rows["opt_smoothness"] == {"DP": 20, "SO": 50, "GC": 20}


def test_names():
    for name in NAMES:
        paper = find_paper(name)
        assert paper.name == name
        assert len({item.name for item in paper.items}) == len(paper.items)
    with pytest.raises(ParameterError, match="no paper 'taxonomy'; legal papers: .*taxonomy2002.*; did you mean 'taxonomy2002'"):
        find_paper("taxonomy")
    with pytest.raises(ParameterError, match="taxonomy2002 has no item 'table55'; .*did you mean 'table5'"):
        reproduce(find_paper("taxonomy2002"), None, item="table55")


def test_parameters_of_the_five_methods(tmp_path):
    done = reproduce(find_paper("taxonomy2002"), tmp_path, item="table4")
    [statement] = done.statements
    assert statement.holds, statement.figures
    assert done.status == 0
    assert "opt_grad_penalty" in done.page.read_text()


def test_without_data(tmp_path, monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    done = reproduce(find_paper("taxonomy2002"), tmp_path / "out", item="table5")
    assert set(done.missing) == {"tsukuba", "sawtooth", "venus", "map"}
    assert done.status == 0
    page = done.page.read_text()
    assert "stereo-framework scenes --fetch middlebury2001" in page
    assert "5.23" in page  # the published column stays
    # The part that needs no data is produced: the slanted plane.
    done = reproduce(find_paper("taxonomy2002"), tmp_path / "out", item="experiment7", quick=True)
    assert len(done.statements) == 8
    assert all(s.holds is not None for s in done.statements)
    assert (tmp_path / "out" / "plots" / "figure16.svg").is_file()
    assert {p.name for p in (tmp_path / "out" / "figures").iterdir()} == {"figure15_synthetic_plane.svg"}


@pytest.mark.slow
def test_rows_of_table_5(data, tmp_path):
    done = reproduce(find_paper("taxonomy2002"), tmp_path, item="table5", data=data, quick=True)
    assert len(done.comparisons) == 15
    assert not [c for c in done.comparisons if c.outside]
    assert {p.name for p in (tmp_path / "tables").glob("*.csv")} == {
        "table5.csv",
        "table5_statements.csv",
        *(f"table5_{i}.csv" for i in range(2)),  # those of the page
    }
    page = done.page.read_text()
    # A single order of the moves of graph cuts has no tolerance.
    assert "0 of 12 judged lie outside their tolerance, 12 are met; 3 are shown without a verdict" in page
    assert "Dyn. prog. (ours)" in page


@pytest.mark.slow
def test_conclusions_of_experiments_1_and_2(data, tmp_path):
    paper = find_paper("taxonomy2002")
    statements = [
        s for name in ("experiment1", "experiment2") for s in reproduce(paper, tmp_path, item=name, data=data).statements
    ]
    assert len(statements) == 15
    assert all(s.holds is not None for s in statements), statements
    assert (tmp_path / "plots" / "figure8.svg").is_file()


def test_every_published_table_can_be_read():
    assert published_table("taxonomy2002", "table7").rows["4-GC"]["tsukuba"] == 662.0


def test_the_sigma_z_error(data, tmp_path):
    done = reproduce(find_paper("sigma_z2011"), tmp_path, data=data, quick=True)
    # On the first scene of each table: a MAPE, and three errors.
    assert "0 of 4 judged lie outside their tolerance, 4 are met" in done.totals[0]
    assert [line.partition(": ")[2] for line in done.totals[1:]] == [
        "0 of 1 do not hold, 1 hold.",
        "0 of 6 do not hold, 6 hold.",
    ]
    assert done.status == 0


def test_groups(data, tmp_path):
    done = reproduce(find_paper("groups2012"), tmp_path, data=data, quick=True)
    # Twelve errors of PatchMatch, of which one is probably a misprint, and two groups.
    assert [f"{c.row} {c.column}" for c in done.comparisons if c.outside] == ["PatchMatch teddy_disc"]
    assert "1 of 14 judged lie outside their tolerance, 13 are met" in done.totals[0]
    assert done.totals[1].endswith("0 of 10 do not hold, 10 hold.")
    assert done.status == 1
    assert "66.0 is taken for a misprint" in done.page.read_text()


def test_groups_need_no_data(tmp_path, monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    done = reproduce(find_paper("groups2012"), tmp_path / "out")
    assert [s.holds for s in done.statements] == [True] * 10
    assert done.status == 0
    assert all(c.ours is None for c in done.comparisons)
