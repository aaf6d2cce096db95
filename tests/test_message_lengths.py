"""Lengths of the texts, lists and suggestions in messages."""

import pytest

from stereo_framework.cli import _shared
from stereo_framework.core import limits
from stereo_framework.core.errors import (
    ScriptError,
    StereoFrameworkError,
    close_names,
    few,
    nearest,
    one_line,
    short,
)
from stereo_framework.sweep.result import changed_maps_warning


@pytest.mark.parametrize(
    ("names", "limit", "text"),
    [
        (["a"], 1, "a"),
        (["a", "b"], 1, "a and 1 more"),
        (["a", "b"], 2, "a, b"),
        (["a", "b"], 3, "a, b"),
        (["a", "b", "c", "d"], 2, "a, b and 2 more"),
        ([], 2, ""),
    ],
)
def test_names_above_the_limit_are_counted_and_not_listed(names, limit, text):
    assert few(names, limit) == text


@pytest.mark.parametrize(
    ("length", "limit", "text"),
    [
        (40, 40, "x" * 40),
        (39, 40, "x" * 39),
        (41, 40, f"{'x' * 10}... (41 characters) ...{'x' * 10}"),
        (1000, 1000, "x" * 1000),
        (1001, 1000, f"{'x' * 480}... (1001 characters) ...{'x' * 480}"),
    ],
)
def test_the_middle_of_a_text_above_the_limit_is_left_out(length, limit, text):
    assert short("x" * length, limit) == text
    assert one_line("x" * length, limit) == text
    if limit == 1000:
        assert str(StereoFrameworkError("x" * length)) == text
        assert ScriptError(["x" * length, "y"]).faults == (text, "y")


@pytest.mark.parametrize(
    ("name", "names", "close"),
    [
        # Half of the letters must agree: 2 * 2 / (4 + 4).
        ("abcd", ["abxy"], ["abxy"]),
        ("abcde", ["abxyz"], []),
        ("ABCD", ["abcd"], ["abcd"]),
        ("box", ["bix", "box"], ["box"]),
        ("wholly", ["other"], []),
    ],
)
def test_names_that_share_half_of_their_letters_are_suggested(name, names, close):
    assert close_names(name, names) == close
    end = ""
    if close:
        end = f"; did you mean {close[0]!r}?"
    assert nearest(name, names) == f"allowed: {', '.join(sorted(names))}{end}"
    assert nearest(name, names, kind="stages").startswith("allowed stages: ")


def test_close_names_are_sorted_by_similarity():
    names = ["box", "boxes", "boxed_window", "median"]
    assert close_names("boxe", names, count=2) == ["boxes", "box"]
    assert nearest("box", []) == "allowed: none"


@pytest.mark.parametrize(
    ("paths", "beginning"),
    [
        ([], ""),
        (["a.pfm"], "a.pfm: changed"),
        (["a.pfm", "b.pfm"], "a.pfm and 1 more: changed"),
        (["a.pfm", "b.pfm", "c.pfm"], "a.pfm and 2 more: changed"),
    ],
)
def test_changed_disparity_maps_give_one_warning_with_their_number(paths, beginning):
    end = " since this program wrote it; the stored statistics belong to other disparities"
    assert changed_maps_warning(paths) == (beginning + end if paths else "")


@pytest.mark.parametrize(("count", "printed"), [(19, 19), (20, 20), (21, 21), (25, 21)])
def test_problems_above_twenty_are_counted_and_not_printed(capsys, count, printed):
    assert limits.PRINTED_LINES == 20
    _shared.tell_some("warning", [f"problem {i}" for i in range(count)])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == printed
    assert lines[:20] == [f"warning: problem {i}" for i in range(min(count, 20))]
    if count > 20:
        rest = f"warning: {count - 20} further lines like these are not printed; "
        assert lines[20] == rest + "'results FOLDER --json' lists all"
