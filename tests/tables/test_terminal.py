"""Tables for terminals of any width: no number in two pieces, nothing wider than the terminal, and what is alike said once."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework.evaluation import resolve
from stereo_framework.tables.terminal import laid_out, protocol_line, tabbed

HEADER = ["scene", "method", "aggregation.box.size", "bad_pixels_nonocc", "bad_pixels_all", "rms_error_all", "seconds"]
ROWS = [
    ["middlebury2001/tsukuba", "window", str(3 * i), f"{20.51 + i:.2f}", f"{123.45 + i:.2f}", f"{1.25 + i:.2f}", "0.017"]
    for i in range(5)
]


@given(st.integers(14, 220), st.integers(1, 5), st.integers(0, 3), st.booleans())
def test_numbers_stay_whole_and_lines_fit_at_any_width(width, count, keys, upright):
    rows = [["scene of ours/" + "long-name_" * i, *row[1:]] for i, row in enumerate(ROWS[:count])]
    lines = laid_out(HEADER, rows, width, keys=keys, upright=upright)
    words = re.split(r"[\s]+", " ".join(lines))
    for row in rows:
        for number in row[3:]:
            assert number in words
    # Fourteen characters hold the widest number beside the narrowest of the columns that tell rows apart.
    assert max(map(len, lines)) <= max(width, 14 + 4 * keys)


def test_a_table_that_fits_is_as_it_is():
    # Widths are those of names and cells, two spaces lie between columns, numbers end at the right.
    assert laid_out(["what", "n"], [["a b", "5"], ["c", "10"]], 80) == ["what   n", "────────", "a b    5", "c     10"]


def test_what_is_alike_is_said_once_and_shared_beginnings_stand_above():
    rows = [[f"middlebury2001/{scene}", *ROWS[0][1:]] for scene in ("tsukuba", "venus", "map", "sawtooth")]
    said, groups, names, _, first, *_ = laid_out(HEADER, rows, 66, keys=3)
    assert said == "scene middlebury2001/...; method window; aggregation.box.size 0"
    # Of the 6 + 2 + 6 characters of both columns the beginning and a space leave two.
    assert groups.split() == ["bad_pixels_", "──"]
    assert names.split() == ["scene", "nonocc", "all", "rms_error_all", "seconds"]
    assert first.split() == ["tsukuba", *ROWS[0][3:]]
    # Folders that differ tell scenes apart; of a single row nothing is left to tell.
    rows[0][0] = "own/tsukuba"
    assert "own/tsukuba" in laid_out(HEADER, rows, 80, keys=3)[-4]


def test_few_results_stand_upright():
    rows = [["a", *ROWS[0][1:]], ["b", *ROWS[1][1:]]]
    assert [line.split() for line in laid_out(HEADER, rows, 200, keys=3, upright=True)[1:6]] == [
        ["a", "b"],
        ["0", "3"],
        [laid_out(HEADER, rows, 200, keys=3, upright=True)[3]],
        ["bad_pixels_nonocc", "20.51", "21.51"],
        ["bad_pixels_all", "123.45", "124.45"],
    ]
    [said, *lines] = laid_out(HEADER, rows[:1], 200, keys=3, upright=True)
    assert said == "scene a; method window; aggregation.box.size 0"
    assert lines == [
        "bad_pixels_nonocc   20.51",
        "bad_pixels_all     123.45",
        "rms_error_all        1.25",
        "seconds             0.017",
    ]


def test_what_does_not_fit_goes_below():
    lines = laid_out(HEADER, ROWS, 30, keys=3)
    at = lines.index("")
    assert "rms_error" not in " ".join(lines[:at])
    # Each part has what tells the rows apart.
    assert (
        [line.split()[0] for line in lines[at - 5 : at]] == [line.split()[0] for line in lines[-5:]] == ["0", "3", "6", "9", "12"]
    )


def test_a_group_is_kept_together_where_it_fits():
    header = ["method", *(f"{scene}:bad_pixels_{region}" for scene in ("map", "venus") for region in ("nonocc", "disc", "all"))]
    lines = laid_out(header, [["a", *"123456"], ["b", *"654321"]], 43, keys=1)
    # The first column takes 6 characters, each group 2 and 6 + 2 + 4 + 2 + 3: 43 are one too few for both.
    assert [line.split() for line in lines if line.startswith("a")] == [["a", "1", "2", "3"], ["a", "4", "5", "6"]]


def test_texts_are_wrapped_between_words_and_the_best_are_marked_wherever_they_stand():
    rows = [["box", "Average the costs over a square window."], ["min_filter", "The best of shifted windows."]]
    lines = laid_out(["stage", "what it does"], rows, 32)
    assert lines[2:] == ["box         Average the costs", "            over a square", "            window.", *lines[5:]]
    marked = laid_out(HEADER, ROWS, 30, keys=3, best={(1, 6), (4, 3)}, bold=lambda text: f"*{text}*")
    assert re.findall(r"\*(.*?)\*", " ".join(marked)) == ["24.51", "0.017"]
    upright = laid_out(HEADER, ROWS[:2], 80, keys=3, upright=True, best={(1, 3)}, bold=lambda text: f"*{text}*")
    assert re.findall(r"\*(.*?)\*", " ".join(upright)) == ["21.51"]


def test_pipes_get_every_cell_and_no_padding():
    assert tabbed(["scene", "a\nb"], [["x/y", "5.26  1"]]) == ["scene\ta b", "x/y\t5.26 1"]


@pytest.mark.parametrize(("width", "choices"), [(60, 1), (130, 2)])
def test_a_protocol_in_one_line(width, choices):
    text = str(resolve("taxonomy2002"))
    line = protocol_line(text, width, "--protocol")
    assert line.startswith("taxonomy2002: bad (percent) = error > 1 px")
    assert line.endswith(" (all choices: --protocol)")
    # What is measured, the columns say.
    assert line.count(";") == choices - 1
    assert "measures" not in line
