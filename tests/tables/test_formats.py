"""Tables in all formats."""

import csv
import io

import pytest

from stereo_framework.core.errors import DataError, MissingExtraError
from stereo_framework.sweep.result import as_frame
from stereo_framework.tables.formats import to_text, write_parquet
from stereo_framework.tables.tables import Table, sort_table

TABLE = Table(
    ("name_1", "x.y", "50% & more"),
    (("a|b", 5.0, 1 / 3), ("c#{}\\~^$<>", None, 12.0), ("", 0.5, None)),
    keys=2,
    title="mean over 3 scenes",
    notes=("p: error > 1 px",),
    best=frozenset({(0, 2)}),
)


def test_csv_has_every_digit_and_nothing_else():
    rows = list(csv.reader(io.StringIO(to_text(TABLE, "csv"))))
    assert rows == [
        ["name_1", "x.y", "50% & more"],
        ["a|b", "5.0", repr(1 / 3)],
        ["c#{}\\~^$<>", "", "12.0"],
        ["", "0.5", ""],
    ]


def test_markdown():
    assert to_text(TABLE, "markdown") == (
        "mean over 3 scenes\n\n"
        "| name_1 | x.y | 50% & more |\n"
        "| --- | ---: | ---: |\n"
        "| a\\|b | 5 | **0.33** |\n"
        "| c#{}\\\\~^$\\<> | none | 12.00 |\n"
        "| - | 0.5 | - |\n\n"
        "p: error > 1 px\n"
    )


def test_latex():
    assert to_text(TABLE, "latex") == (
        "% mean over 3 scenes\n"
        "% p: error > 1 px\n"
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "name\\_1 & x.y & 50\\% \\& more \\\\\n"
        "\\midrule\n"
        "a\\textbar{}b & 5 & \\textbf{0.33} \\\\\n"
        "c\\#\\{\\}\\textbackslash{}\\textasciitilde{}\\textasciicircum{}\\$\\textless{}\\textgreater{} & none & 12.00 \\\\\n"
        "- & 0.5 & - \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


@pytest.mark.parametrize("kind", ["csv", "markdown", "latex"])
def test_an_empty_table(kind):
    assert "name" in to_text(Table(("name",), (), 1), kind)


def test_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    write_parquet(tmp_path / "t.parquet", as_frame(TABLE.header, TABLE.rows))
    frame = pandas.read_parquet(tmp_path / "t.parquet")
    assert list(frame.columns) == list(TABLE.header)
    assert frame["50% & more"].tolist()[:2] == [1 / 3, 12.0]
    with pytest.raises(DataError, match="cannot be written"):
        write_parquet(tmp_path, as_frame(TABLE.header, TABLE.rows))


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pyarrow is not installed: pip install '\.\[tables\]' in the folder"):
        write_parquet(tmp_path / "t.parquet", as_frame(TABLE.header, TABLE.rows))


def test_marks_move_with_the_rows():
    table = sort_table(TABLE, ["-50% & more"])
    assert [row[0] for row in table.rows] == ["c#{}\\~^$<>", "a|b", ""]
    assert table.best == {(1, 2)}
