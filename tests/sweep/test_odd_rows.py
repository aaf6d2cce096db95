"""Stored results with odd names and numbers, and damaged files next to the results."""

import dataclasses
import json
import os
import re
import sqlite3
import time

import numpy as np
import pytest
from cli_parts import invoke
from made_results import kept, result

from stereo_framework import show
from stereo_framework.core import limits
from stereo_framework.core.errors import ParameterError, ResultWarning
from stereo_framework.io import write_disparity
from stereo_framework.script.load import load
from stereo_framework.sweep import ResultSet, Store, run
from stereo_framework.tables.results import stored
from stereo_framework.tables.tables import shown_statistics

CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]")
NAMES = {
    "line end": "a\nb",
    "tab": "a\tb",
    "colour": "\x1b[31mred",
    "C1": "\x9b31m",
    "direction": "\u202eabc",
    "long": "x" * 100_000,
}
FORMATS = [
    ("results", "--json"),
    ("results", "--format", "csv"),
    ("results", "--format", "markdown"),
    ("results", "--format", "latex"),
    ("results", "--group-by", "scene"),
    ("results",),
    ("rank",),
    ("differences",),
]


def write_results(path, *changes):
    """Write a result for each mapping of changed fields, and return the folder."""
    results = []
    for number, change in enumerate(changes):
        usual = result("s", {}, {"bad_pixels_all": 5.0}, id=f"{number:016x}")
        results.append(dataclasses.replace(usual, **change))
    return kept(path, results)


def change_rows(folder, column, expression, value):
    """Replace a column of a results folder by an SQL expression with a value."""
    database = sqlite3.connect(folder / "results.sqlite")
    with database:
        database.execute(f"UPDATE results SET {column} = {expression}", (value,))
    database.close()


def assert_printable(answer):
    """Check that a command prints short lines without control characters."""
    assert answer.exit_code in (0, 2), answer.output
    lines = answer.stderr.splitlines()
    assert len(lines) <= 5
    assert all(len(line) <= 1100 for line in lines)
    assert not CONTROL_CHARACTERS.search(answer.output)


# --- names ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "field", ["scene", "method", "protocol", "protocol_text", "warnings", "error"]
)
def test_odd_names_are_printed_without_control_characters(field, name, tmp_path):
    value = NAMES[name]
    change = {field: (value,) if field == "warnings" else value}
    out = write_results(tmp_path / "out", {}, change)
    for command, *options in FORMATS:
        answer = invoke(command, out, *options)
        assert_printable(answer)
        if "--json" in options:
            assert len(json.loads(answer.stdout)) == 2


def test_reports_contain_no_control_characters(tmp_path):
    change = {"method": "\x1b[31mred", "warnings": ("\x9b31m",)}
    out = write_results(tmp_path / "out", {}, change)
    answer = invoke("report", out)
    assert answer.exit_code == 0, answer.output
    text = (out / "report.html").read_text()
    assert "\\x1b[31mred" in text
    assert not CONTROL_CHARACTERS.search(text)


def test_protocols_without_a_name_are_shown_but_not_ranked_together(tmp_path):
    changes = [{"protocol": "", "protocol_text": text} for text in ("p: a", "q: b")]
    out = write_results(tmp_path / "out", *changes)
    assert invoke("report", out).exit_code == 0
    assert invoke("results", out).exit_code == 0
    rank = invoke("rank", out)
    assert (rank.exit_code, len(rank.stderr.splitlines())) == (2, 1)
    assert "protocols without a name do not belong together" in rank.stderr


def test_a_protocol_that_contains_only_metrics_is_shown(tmp_path):
    out = write_results(tmp_path / "out", {"protocol_text": "p: metrics bad_pixels"})
    assert invoke("results", out).exit_code == 0


# --- numbers --------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e400", "1.7e308", "5e-324"])
@pytest.mark.parametrize("field", ["statistics", "seconds", "energy"])
def test_odd_numbers_are_shown_and_give_valid_json(field, number, tmp_path):
    value = 123456.5 if field == "energy" else {"bad_pixels_all": 123456.5}
    out = write_results(tmp_path / "out", {}, {"method": "odd", field: value})
    if field == "energy":
        change_rows(out, "energy", "CASE energy WHEN 123456.5 THEN ? END", float(number))
    else:
        change_rows(out, field, f"replace({field}, '123456.5', ?)", number)
    for command, *options in [*FORMATS, ("report",)]:
        answer = invoke(command, out, *options)
        assert_printable(answer)
        if "--json" in options and answer.exit_code == 0:
            json.loads(answer.stdout, parse_constant=pytest.fail)


def test_a_row_with_too_many_statistics_is_refused_at_once(tmp_path):
    out = write_results(tmp_path / "out", {})
    count = limits.ENTRIES + 1
    database = sqlite3.connect(out / "results.sqlite")
    with database:
        names = json.dumps([f"s{i}" for i in range(count)])
        database.execute("INSERT INTO texts VALUES (99, ?)", (names,))
    database.close()
    change_rows(out, "statistic_names", "?", 99)
    change_rows(out, "statistics", "?", json.dumps([1.0] * count))
    start = time.monotonic()
    answer = invoke("results", out)
    assert time.monotonic() - start < 20
    assert (answer.exit_code, len(answer.stderr.splitlines())) == (2, 1)
    message = f"statistics has {count} entries; at most {limits.ENTRIES} are read"
    assert message in answer.stderr


def test_columns_of_many_statistics_are_selected_within_seconds():
    statistics = {f"s{i}": 1.0 for i in range(limits.ENTRIES)}
    start = time.monotonic()
    assert len(shown_statistics(ResultSet([result("s", {}, statistics)]))) == limits.ENTRIES
    assert time.monotonic() - start < 10


def test_only_the_first_of_many_warnings_and_errors_are_printed(tmp_path):
    changes = [
        {"error": f"e{i}", "axes": {"a": i}, "warnings": (f"w{i}",)}
        for i in range(3 * limits.PRINTED_LINES)
    ]
    lines = invoke("results", write_results(tmp_path / "out", *changes)).stderr.splitlines()
    assert len(lines) == 2 * (limits.PRINTED_LINES + 1)
    rest = f"error: {2 * limits.PRINTED_LINES} further lines"
    assert lines[limits.PRINTED_LINES].startswith(rest)


# --- files next to the results --------------------------------------------------------


def write_results_with_maps(folder):
    """Write two results with disparity maps and confidence maps, and a script.

    Returns
    -------
    Path
        File of the first disparity map.
    """
    with Store(folder, create=True) as store:
        store.set_listed_keys("01")
        for i in range(2):
            maps = {
                "_disparity": np.full((6, 8), i, np.float32),
                "_confidence": {"matcher": np.ones((6, 8), np.float32)},
            }
            statistics = {"bad_pixels_all": 5.0}
            new_result = result("s", {}, statistics, id=f"{i}" * 16, method=f"m{i}", **maps)
            [stored_result] = store.with_map([new_result])
            store.add(str(i), stored_result)
    (folder / "m.resolved.yaml").write_text("name: m0\n")
    return next((folder / "maps").glob("*_m0_*0.pfm"))


KINDS_OF_DAMAGE = ["empty", "rubbish", "folder", "pipe", "link to itself", "link to a device"]


def replace_by_damage(path, kind):
    """Replace a file by damage of a kind."""
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to itself":
        path.symlink_to(path)
    elif kind == "link to a device":
        path.symlink_to("/dev/zero")
    elif kind == "empty":
        path.write_bytes(b"")
    else:
        path.write_bytes(b"[\xff{" * 100)


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
@pytest.mark.parametrize("kind", KINDS_OF_DAMAGE)
@pytest.mark.parametrize("name", ["map", "confidence", "script", "metrics"])
def test_a_damaged_file_is_reported_in_one_line_and_all_results_are_shown(name, kind, tmp_path):
    out = tmp_path / "out"
    map_file = write_results_with_maps(out)
    files = {
        "map": map_file,
        "confidence": map_file.with_name(f"{map_file.stem}_confidence_matcher.pfm"),
        "script": out / "m.resolved.yaml",
        "metrics": out / "metrics.json",
    }
    replace_by_damage(files[name], kind)
    answer = invoke("results", out)
    assert answer.exit_code == 0, answer.output
    assert "m0" in answer.stdout
    assert "m1" in answer.stdout

    page = tmp_path / "page.html"
    report = invoke("report", out, "--out", page)
    assert report.exit_code == 0, report.output
    assert len(report.stderr.splitlines()) == 1, report.stderr
    # The message about a link to itself contains only the beginning of the long path.
    assert str(files[name]) in report.stderr or kind == "link to itself"
    assert "m1" in page.read_text()


def test_a_map_that_was_changed_is_reported_when_it_is_shown(tmp_path):
    out = tmp_path / "out"
    map_file = write_results_with_maps(out)
    page = tmp_path / "page.html"
    other_map = next((out / "maps").glob("*_m1_*1.pfm"))
    compare = ("compare", map_file, other_map, "--truth", other_map)
    assert "changed" not in invoke("report", out, "--out", page).stderr
    assert "changed" not in invoke(*compare).stderr

    write_disparity(map_file, np.full((6, 8), 4, np.float32))
    expected = (
        f"warning: {map_file}: changed since this program wrote it; the stored statistics belong "
        "to other disparities"
    )
    report = invoke("report", out, "--out", page)
    assert (report.exit_code, report.stderr.splitlines()) == (0, [expected])
    assert "changed since this program wrote it" in page.read_text()
    assert expected in invoke(*compare).stderr.splitlines()
    with pytest.warns(ResultWarning, match="changed since"):
        show(stored(out)[0])


# --- arguments ------------------------------------------------------------------------


def test_overrides_may_be_a_single_text():
    script = load("ssd", overrides="aggregation.box.size=9")
    assert script.resolved == load("ssd", overrides=["aggregation.box.size=9"]).resolved


@pytest.mark.parametrize("overrides", [5, [5], [None], None])
def test_overrides_that_are_no_texts_are_refused(overrides):
    with pytest.raises(ParameterError, match="load: overrides"):
        load("ssd", overrides=overrides)


@pytest.mark.parametrize("maps", ["yes", 1, 0, "", []])
def test_the_argument_maps_is_true_false_or_none(maps):
    with pytest.raises(ParameterError, match="run: maps is .* expected True, False or None"):
        run("window", "synthetic/planes", maps=maps)
