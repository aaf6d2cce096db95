"""Tables in all formats."""

import csv
import io

import pytest

from stereo_framework.tables.formats import to_text
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
        ["c#{}\\~^$<>", "none", "12.0"],
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


def test_marks_move_with_the_rows():
    table = sort_table(TABLE, ["-50% & more"])
    assert [row[0] for row in table.rows] == ["c#{}\\~^$<>", "a|b", ""]
    assert table.best == {(1, 2)}
