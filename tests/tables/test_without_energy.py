"""Methods without an optimizer have no energy: missing everywhere, never 0."""

import csv
import io
import json

import pytest
from cli_parts import call

from stereo_framework import run
from stereo_framework.sweep.result import tidy
from stereo_framework.tables.results import ordered, stored, where
from stereo_framework.tables.summaries import group, pivot
from stereo_framework.tables.tables import csv_text, listing

SCRIPT = {
    "name": "mixed",
    "scenes": ["synthetic/planes", "synthetic/slanted"],
    "search": {"minimum": 0, "maximum": 6},
    "methods": {"volume": {"include": "window"}, "whole": {"matcher": "flat"}},
    "report": {
        "plots": {"energies": {"x": "scene", "y": "energy", "series": "method", "x_scale": "category"}},
        "tables": {"energies": {"rows": "method", "columns": "scene", "value": "energy"}},
    },
}


@pytest.fixture
def made(tiny, tmp_path):
    run(SCRIPT, out=tmp_path)
    return stored(tmp_path), tmp_path


def test_energy_is_missing(made):
    found, _ = made
    whole = where(found, ["method=whole"])
    assert [r.energy for r in whole] == [None, None]
    assert all(r.error is None and r.record()["energy"] is None for r in whole)
    assert [row["energy"] == "" for row in csv.DictReader(io.StringIO(csv_text(*tidy(found))))] == [False, True] * 2
    assert found.frame["energy"].isna().tolist() == [False, True] * 2
    assert [row[2] for row in listing(found, ["energy"]).texts()][1::2] == ["-", "-"]
    assert (
        [r.method for r in ordered(found, ["energy"])]
        == [r.method for r in ordered(found, ["-energy"])]
        == ["volume"] * 2 + ["whole"] * 2
    )
    assert {r.method for r in where(found, ["energy < 1e12"])} == {"volume"}
    grouped = group(found, ["method"], ["energy", "bad_pixels_all"])
    assert [row[2] is None for row in grouped.rows] == [False, True]
    assert grouped.notes[0] == "not given: energy of whole, which has none"
    assert [row[1:] for row in pivot(found, ["method"], ["scene"], ["energy"]).rows][1] == (None, None)
    assert "not given: energy, which no result has" in group(whole, ["method"], ["energy"]).notes


def test_reports_are_written_all_the_same(made):
    _, folder = made
    for verb in (["results", folder, "--plots"], ["report", folder], ["rank", folder, "--columns", "bad_pixels_all"]):
        call(*verb)
    rows = list(csv.reader((folder / "tables/energies.csv").read_text().splitlines()))
    assert rows[2] == ["whole", "", ""]
    assert (folder / "plots/energies.svg").is_file()
    done = call("results", folder, "--json")
    assert [one["energy"] is None for one in json.loads(done.stdout)] == [False, True] * 2
