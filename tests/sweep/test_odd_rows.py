"""Stored results of third parties with odd names and numbers, and files beside them that are damaged."""

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

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]")
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
]


def folder_of(path, *changes):
    """Return a results folder with a result for each mapping of changed fields."""
    usual = [result("s", {}, {"bad_pixels_all": 5.0}, id=f"{i:016x}") for i in range(len(changes))]
    return kept(
        path,
        [dataclasses.replace(one, **change) for one, change in zip(usual, changes, strict=True)],
    )


def assert_shown(answer):
    assert answer.exit_code in (0, 2), answer.output
    lines = answer.stderr.splitlines()
    assert len(lines) <= 5
    assert all(len(line) <= 1100 for line in lines)
    assert not CONTROL.search(answer.output)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "field", ["scene", "method", "protocol", "protocol_text", "warnings", "error"]
)
def test_odd_names_are_printed_without_control_characters(field, name, tmp_path):
    value = NAMES[name]
    out = folder_of(tmp_path / "out", {}, {field: (value,) if field == "warnings" else value})
    for command, *options in FORMATS:
        answer = invoke(command, out, *options)
        assert_shown(answer)
        if "--json" in options:
            assert len(json.loads(answer.stdout)) == 2


def test_reports_hold_no_control_characters(tmp_path):
    out = folder_of(tmp_path / "out", {}, {"method": "\x1b[31mred", "warnings": ("\x9b31m",)})
    answer = invoke("report", out)
    assert answer.exit_code == 0, answer.output
    text = (out / "report.html").read_text()
    assert "\\x1b[31mred" in text
    assert not CONTROL.search(text)


def test_protocols_without_a_name_are_shown(tmp_path):
    texts = [{"protocol": "", "protocol_text": text} for text in ("p: a", "q: b")]
    out = folder_of(tmp_path / "out", *texts)
    assert invoke("report", out).exit_code == 0
    assert invoke("results", out).exit_code == 0
    rank = invoke("rank", out)
    assert (rank.exit_code, len(rank.stderr.splitlines())) == (2, 1)
    assert "protocols without a name do not belong together" in rank.stderr


def test_a_protocol_of_metrics_alone_is_shown(tmp_path):
    out = folder_of(tmp_path / "out", {"protocol_text": "p: metrics bad_pixels"})
    assert invoke("results", out).exit_code == 0


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e400", "1.7e308", "5e-324"])
@pytest.mark.parametrize("field", ["statistics", "seconds", "energy"])
def test_odd_numbers_are_shown_and_give_valid_json(field, number, tmp_path):
    out = folder_of(
        tmp_path / "out",
        {},
        {"method": "odd", field: 123456.5 if field == "energy" else {"bad_pixels_all": 123456.5}},
    )
    with sqlite3.connect(out / "results.sqlite") as db:
        db.execute("UPDATE results SET row = replace(row, '123456.5', ?)", (number,))
    db.close()
    for command, *options in [*FORMATS, ("report",)]:
        answer = invoke(command, out, *options)
        assert_shown(answer)
        if "--json" in options and answer.exit_code == 0:
            json.loads(answer.stdout, parse_constant=pytest.fail)


def test_a_row_with_thousands_of_statistics_is_refused_at_once(tmp_path):
    out = folder_of(tmp_path / "out", {})
    many = json.dumps({f"s{i}": 1.0 for i in range(limits.ENTRIES + 1)})
    with sqlite3.connect(out / "results.sqlite") as db:
        db.execute("UPDATE results SET row = json_set(row, '$.statistics', json(?))", (many,))
    db.close()
    start = time.monotonic()
    answer = invoke("results", out)
    assert time.monotonic() - start < 20
    assert (answer.exit_code, len(answer.stderr.splitlines())) == (2, 1)
    assert (
        f"statistics has {limits.ENTRIES + 1} entries; at most {limits.ENTRIES} are read"
        in answer.stderr
    )


def test_the_time_of_choosing_columns_grows_with_their_number_alone():
    statistics = {f"s{i}": 1.0 for i in range(limits.ENTRIES)}
    start = time.monotonic()
    assert len(shown_statistics(ResultSet([result("s", {}, statistics)]))) == limits.ENTRIES
    assert time.monotonic() - start < 10


def test_of_many_warnings_and_errors_the_first_are_printed(tmp_path):
    changes = [
        {"error": f"e{i}", "axes": {"a": i}, "warnings": (f"w{i}",)}
        for i in range(3 * limits.PRINTED_LINES)
    ]
    lines = invoke("results", folder_of(tmp_path / "out", *changes)).stderr.splitlines()
    assert len(lines) == 2 * (limits.PRINTED_LINES + 1)
    assert lines[limits.PRINTED_LINES].startswith(
        f"error: {2 * limits.PRINTED_LINES} further lines"
    )


# --- files beside the results -----------------------------------------------------------------------------------------


def folder_with_maps(path):
    """Return a folder with two results, their maps and a confidence, and the file of the first map."""
    with Store(path, create=True) as store:
        store.set_listed_keys("01")
        for i in range(2):
            maps = {
                "_disparity": np.full((6, 8), i, np.float32),
                "_confidence": {"matcher": np.ones((6, 8), np.float32)},
            }
            one = result("s", {}, {"bad_pixels_all": 5.0}, id=f"{i}" * 16, method=f"m{i}", **maps)
            [stored_result] = store.with_map([one])
            store.add(str(i), stored_result)
    (path / "m.resolved.yaml").write_text("name: m0\n")
    return path, next((path / "maps").glob("*_m0_*0.pfm"))


KINDS = ["empty", "rubbish", "folder", "pipe", "link to itself", "link to a device"]


def damage(path, kind):
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind.startswith("link"):
        path.symlink_to(path if kind.endswith("itself") else "/dev/zero")
    else:
        path.write_bytes(b"" if kind == "empty" else b"[\xff{" * 100)


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["map", "confidence", "script", "metrics"])
def test_a_damaged_companion_is_reported_in_one_line_and_all_results_are_shown(
    name, kind, tmp_path
):
    out, map_file = folder_with_maps(tmp_path / "out")
    files = {
        "map": map_file,
        "confidence": map_file.with_name(f"{map_file.stem}_confidence_matcher.pfm"),
        "script": out / "m.resolved.yaml",
        "metrics": out / "metrics.json",
    }
    damage(files[name], kind)
    answer = invoke("results", out)
    assert (answer.exit_code, "m0" in answer.stdout, "m1" in answer.stdout) == (0, True, True), (
        answer.output
    )
    page = tmp_path / "page.html"
    report = invoke("report", out, "--out", page)
    assert report.exit_code == 0, report.output
    assert len(report.stderr.splitlines()) == 1, report.stderr
    # The message for a link without end holds the beginning of a long path.
    assert str(files[name]) in report.stderr or kind == "link to itself"
    assert "m1" in page.read_text()


def test_a_map_that_was_changed_is_reported_where_it_is_shown(tmp_path):
    out, map_file = folder_with_maps(tmp_path / "out")
    other = next((out / "maps").glob("*_m1_*1.pfm"))
    compare = ("compare", map_file, other, "--truth", other)
    assert "changed" not in invoke("report", out, "--out", tmp_path / "page.html").stderr
    assert "changed" not in invoke(*compare).stderr
    write_disparity(map_file, np.full((6, 8), 4, np.float32))
    expected = f"warning: {map_file}: changed since this program wrote it; the stored statistics belong to other disparities"
    report = invoke("report", out, "--out", tmp_path / "page.html")
    assert (report.exit_code, report.stderr.splitlines()) == (0, [expected])
    assert "changed since this program wrote it" in (tmp_path / "page.html").read_text()
    assert expected in invoke(*compare).stderr.splitlines()
    with pytest.warns(ResultWarning, match="changed since"):
        show(stored(out)[0])


# --- arguments --------------------------------------------------------------------------------------------------------


def test_a_single_text_is_one_override():
    script = load("ssd", overrides="aggregation.box.size=9")
    assert script.resolved == load("ssd", overrides=["aggregation.box.size=9"]).resolved


@pytest.mark.parametrize("overrides", [5, [5], [None], None])
def test_overrides_are_texts(overrides):
    with pytest.raises(ParameterError, match="load: overrides"):
        load("ssd", overrides=overrides)


@pytest.mark.parametrize("maps", ["yes", 1, 0, "", []])
def test_maps_is_a_truth_value_or_none(maps):
    with pytest.raises(ParameterError, match="run: maps is .* expected True, False or None"):
        run("window", "synthetic/planes", maps=maps)
