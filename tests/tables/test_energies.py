"""Energies, lower bounds and how far above them maps lie, in tables and reports; methods without an optimizer have none: missing everywhere, never 0."""

import csv
from dataclasses import replace

import pytest
from cli_parts import call
from made_results import SCENES, result

from stereo_framework import run
from stereo_framework.evaluation import resolve
from stereo_framework.sweep import MISSING, ResultSet
from stereo_framework.tables.averages import average_rows
from stereo_framework.tables.directions import better_direction
from stereo_framework.tables.formats import csv_text
from stereo_framework.tables.results import ordered, stored, where
from stereo_framework.tables.summaries import group, pivot
from stereo_framework.tables.tables import listing, shown_statistics

SCRIPT = {
    "name": "mixed",
    "scenes": ["synthetic/planes", "synthetic/slanted"],
    "search": {"minimum": 0, "maximum": 6},
    "matching_cost": "absolute_difference",
    "smoothness": "potts",
    "methods": {
        "first": {"optimization": {"use": "trw_s", "iterations": 1}},
        "second": {"optimization": {"use": "trw_s", "iterations": 4}},
        "rows": {"optimization": "scanline_optimization"},
        "whole": {"matcher": {"use": "opencv_bm", "block_size": 9}},
    },
    "report": {
        "plots": {
            "energies": {"x": "scene", "y": "energy", "series": "method", "x_scale": "category"}
        },
        "tables": {"energies": {"rows": "method", "columns": "scene", "value": "energy"}},
    },
}


@pytest.fixture(scope="module")
def folder(small_scenes_only, tmp_path_factory):
    place = tmp_path_factory.mktemp("energies")
    run(SCRIPT, out=place)
    return place


def test_results_have_the_bound_and_the_gap(folder):
    first, second, rows, whole = where(stored(folder), ["scene=planes"])
    for one in (first, second):
        bound = one.statistics["lower_bound"]
        assert bound <= min(r.energy for r in (first, second, rows))
        assert one.statistics["gap"] == pytest.approx(100 * (one.energy - bound) / bound)
    assert second.statistics["gap"] < first.statistics["gap"]
    assert not {"lower_bound", "gap"} & {*rows.statistics, *whole.statistics}
    assert (whole.error, whole.energy, whole.record()["energy"]) == (None, None, None)


def test_tables_show_them_where_there_are_some(folder):
    found = stored(folder)
    table = listing(found)
    assert table.header[-4:] == ("energy", "lower_bound", "gap", "seconds")
    energy, bound, gap = (
        [row[table.header.index(name)] for row in table.rows] for name in table.header[-4:-1]
    )
    assert energy == [MISSING if r.energy is None else r.energy for r in found]
    assert (
        [cell is MISSING for cell in bound]
        == [cell is MISSING for cell in gap]
        == [r.method in ("rows", "whole") for r in found]
    )
    assert not {"energy", "lower_bound", "gap"} & set(listing(where(found, ["method=rows"])).header)
    assert [better_direction(name) for name in ("energy", "lower_bound", "gap")] == [
        "lower",
        "higher",
        "lower",
    ]


def test_an_energy_that_is_missing_is_empty_and_last(folder):
    found, without = stored(folder), [r.method == "whole" for r in stored(folder)]
    rows = list(csv.DictReader(csv_text(*found.tidy()).splitlines()))
    assert [row["energy"] == "" for row in rows] == found.frame["energy"].isna().tolist() == without
    for key in ("energy", "-energy"):
        assert [r.method for r in ordered(found, [key])][-2:] == ["whole"] * 2
    assert "whole" not in {r.method for r in where(found, ["energy < 1e12"])}
    grouped = group(found, ["method"], ["energy", "bad_pixels_all"])
    assert [row[2] is None for row in grouped.rows] == [False] * 3 + [True]
    assert grouped.notes[0] == "not given: energy of whole, which has none"
    assert pivot(found, ["method"], ["scene"], ["energy"]).rows[-1][1:] == (None, None)
    assert (
        "not given: energy, which no result has"
        in group(where(found, ["method=whole"]), ["method"], ["energy"]).notes
    )


def test_reports_are_written_all_the_same(folder):
    for command in (
        ["results", folder, "--plots"],
        ["report", folder],
        ["rank", folder, "--columns", "bad_pixels_all"],
    ):
        call(*command)
    assert list(csv.reader((folder / "tables/energies.csv").read_text().splitlines()))[-1] == [
        "whole",
        "",
        "",
    ]
    assert (folder / "plots/energies.svg").is_file()


def test_tables_and_averages_of_several_optimizers_have_energies():
    protocol = {"protocol": "taxonomy2002", "protocol_text": str(resolve("taxonomy2002"))}
    runs_of_scenes = []
    for name, energies in (("graph_cut", (10.0, 30.0)), ("semi_global", (20.0, None))):
        for scene, energy in zip(SCENES, energies, strict=True):
            run_of_scene = result(
                scene, {"optimization": name}, {"bad_pixels_nonocc": 1.0}, **protocol
            )
            runs_of_scenes.append(
                replace(run_of_scene, energy=energy, parameters={"optimization.use": name})
            )
    runs = ResultSet(runs_of_scenes)
    assert "energy" in shown_statistics(runs)
    assert "energy" not in shown_statistics(runs[:2])
    energies = {mean.parameters["optimization.use"]: mean.energy for mean in average_rows(runs)}
    # Without the energy of a scene, a mean would be of another scene than the other one.
    assert energies == {"graph_cut": 20.0, "semi_global": None}
