"""Tables for terminals of any width: no number in two pieces, nothing wider than the terminal, and what is alike said once."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework import evaluate, load_scene
from stereo_framework.evaluation import resolve
from stereo_framework.tables.terminal import COVERAGE_LEGEND, laid_out, protocol_line, tabbed

HEADER = [
    "scene",
    "method",
    "aggregation.box.size",
    "bad_pixels_nonocc",
    "bad_pixels_all",
    "rms_error_all",
    "seconds",
]
ROWS = [
    [
        "middlebury2001/tsukuba",
        "window",
        str(3 * i),
        f"{20.51 + i:.2f}",
        f"{123.45 + i:.2f}",
        f"{1.25 + i:.2f}",
        "0.017",
    ]
    for i in range(5)
]


@given(st.integers(14, 220), st.integers(1, 5), st.integers(0, 3), st.booleans())
def test_numbers_stay_whole_and_lines_fit_at_any_width(width, count, keys, upright):
    rows = [["scene of ours/" + "long-name_" * i, *row[1:]] for i, row in enumerate(ROWS[:count])]
    lines = laid_out(HEADER, rows, width, keys=keys, upright=upright).splitlines()
    words = re.split(r"[\s]+", " ".join(lines))
    for row in rows:
        for number in row[3:]:
            assert number in words
    # Three numbers of six characters in a row of the upright table, or one beside the columns that tell rows apart; gaps of two.
    assert max(map(len, lines)) <= max(width, 1 + 3 * 8 if upright else 6 + 3 * keys)


def test_a_table_that_fits_is_as_it_is():
    # Widths are those of names and cells, two spaces lie between columns, numbers end at the right.
    assert (
        laid_out(["what", "n"], [["a b", "5"], ["c", "10"]], 80)
        == "what   n\n────────\na b    5\nc     10"
    )


def test_what_is_alike_is_said_once_and_names_are_broken():
    rows = [
        [f"middlebury2001/{scene}", *ROWS[0][1:]]
        for scene in ("tsukuba", "venus", "map", "sawtooth")
    ]
    # The widest number and the longest part of a name decide: 8 + 7 + 7 + 6 + 7 characters and four gaps of two.
    said, *names, _, first, _, _, _ = laid_out(HEADER, rows, 66, keys=3).splitlines()
    assert said == "scene middlebury2001/...; method window; aggregation.box.size 0"
    assert names[-1].split() == ["scene", "nonocc", "all", "all", "seconds"]
    assert names[0].split() == ["rms_"] or names[0].split() == ["bad_", "bad_", "rms_"]
    assert first.split() == ["tsukuba", *ROWS[0][3:]]
    # Of several folders all are said, unless names differ in them alone.
    rows[0][0] = "own/tsukuba"
    assert laid_out(HEADER, rows, 80, keys=3).startswith(
        "scene own/..., middlebury2001/...; method window"
    )
    rows[0][0] = "own/venus"
    assert "own/venus " in laid_out(HEADER, rows, 80, keys=3)


def test_words_are_broken_after_separators_and_numbers_in_them_stay_whole():
    settings = "smooth (matching_cost.truncation=12.5, aggregation.box.size=3)"
    lines = laid_out(["method", "n"], [[settings, "5"], ["window", "10"]], 30).splitlines()
    assert [line.split() for line in lines[2:5]] == [
        ["smooth", "(matching_cost.", "5"],
        ["truncation=12.5,"],
        ["aggregation.box.size=3)"],
    ]
    lines = laid_out(["method", "n"], [[settings, "5"], ["window", "10"]], 18).splitlines()
    assert "12.5," in [line.split()[0] for line in lines]


def test_few_results_stand_upright():
    rows = [["a", *ROWS[0][1:]], ["b", *ROWS[1][1:]]]
    lines = laid_out(HEADER, rows, 200, keys=3, upright=True).splitlines()
    assert [line.split() for line in lines[1:6]] == [
        ["a", "b"],
        ["0", "3"],
        [lines[3]],
        ["bad_pixels_nonocc", "20.51", "21.51"],
        ["bad_pixels_all", "123.45", "124.45"],
    ]
    [said, *lines] = laid_out(HEADER, rows[:1], 200, keys=3, upright=True).splitlines()
    assert said == "scene a; method window; aggregation.box.size 0"
    assert lines == [
        "bad_pixels_nonocc   20.51",
        "bad_pixels_all     123.45",
        "rms_error_all        1.25",
        "seconds             0.017",
    ]


def test_what_does_not_fit_goes_below():
    lines = laid_out(HEADER, ROWS, 30, keys=3).splitlines()
    at = lines.index("")
    assert "rms_error" not in " ".join(lines[:at])
    # Each part has what tells the rows apart.
    assert (
        [line.split()[0] for line in lines[at - 5 : at]]
        == [line.split()[0] for line in lines[-5:]]
        == ["0", "3", "6", "9", "12"]
    )


def test_texts_are_wrapped_between_words_and_the_best_are_marked_wherever_they_stand():
    rows = [
        ["box", "Average the costs over a square window."],
        ["min_filter", "The best of shifted windows."],
    ]
    lines = laid_out(["stage", "what it does"], rows, 32).splitlines()
    assert lines[2:] == [
        "box         Average the costs",
        "            over a square",
        "            window.",
        *lines[5:],
    ]
    marked = laid_out(HEADER, ROWS, 30, keys=3, best={(1, 6), (4, 3)})
    assert re.findall(r"\x1b\[1m *(.*?)\x1b\[0m", marked) == ["24.51", "0.017"]
    upright = laid_out(HEADER, ROWS[:2], 80, keys=3, upright=True, best={(1, 3)})
    assert re.findall(r"\x1b\[1m *(.*?)\x1b\[0m", upright) == ["21.51"]


def test_pipes_get_every_cell_and_no_padding():
    assert tabbed(["scene", "a\nb"], [["x/y", "5.26  1"]]) == ["scene\ta b", "x/y\t5.26 1"]


@pytest.mark.parametrize(("width", "choices"), [(60, 1), (140, 2)])
def test_a_protocol_in_one_line(width, choices):
    text = str(resolve("taxonomy2002"))
    line = protocol_line(text, width, "--protocol")
    assert line.startswith("protocol taxonomy2002: bad (percent) = error > 1 px")
    assert line.endswith(" (--protocol lists all choices)")
    # What is measured, the columns say.
    assert line.count(";") == choices - 1
    assert "metrics" not in line


def test_the_line_of_a_protocol_names_the_columns_of_thresholds_and_explains_others():
    line = protocol_line(str(resolve("middlebury-v3")), 0, "--protocol", [COVERAGE_LEGEND])
    assert line == (
        "protocol middlebury-v3: bad (percent) = error > 2 px (columns bad_pixels), "
        "0.5, 1, 4 px (columns bad0.5, bad1, bad4); "
        "fraction_matched (0 to 1) = share of the pixels with an estimate "
        "(--protocol lists all choices)"
    )


def test_columns_of_thresholds_are_statistics_of_the_protocol():
    scene = load_scene("synthetic/planes")
    statistics = evaluate(scene.truth, scene, "middlebury-v3")
    assert {"bad_pixels_all", "bad0.5_all", "bad1_all", "bad4_all"} <= statistics.keys()


@pytest.mark.parametrize(("terminal", "is_bold"), [("xterm", True), ("dumb", False)])
def test_a_table_has_its_width_and_no_escape_sequences_on_a_dumb_terminal(
    monkeypatch, terminal, is_bold
):
    monkeypatch.setenv("TERM", terminal)
    header = ["a_long_name_of_a_column" * 2, "b_long_name_of_a_column" * 2]
    text = laid_out(header, [["1", "2"], ["3", "4"], ["5", "6"], ["7", "8"]], 100, best={(0, 0)})
    assert header[0] in text
    assert header[1] in text
    assert ("\x1b" in text) == is_bold
