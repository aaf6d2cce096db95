"""Tables of results."""

import csv
import io
import math
from dataclasses import replace

import pytest

from stereo_framework.core.errors import ParameterError
from stereo_framework.sweep import Result, ResultSet
from stereo_framework.sweep.value_text import cell_text
from stereo_framework.tables.formats import csv_text
from stereo_framework.tables.tables import listing

RESULTS = ResultSet(
    Result(
        id=str(i),
        scene="s",
        method="m",
        parameters={"box.size": i, "truncation": None},
        axes={"box.size": i},
        protocol="p",
        statistics={"bad_pixels_all": 10.0 * i, "rms_error_occ": math.nan},
        seconds={"a": 1.0, "b": 0.5, "evaluation": 8.0},
        energy=1.5,
    )
    for i in (1, 2)
)


def results_table(results, *arguments):
    table = listing(ResultSet(results), *arguments)
    return list(table.header), table.texts()


def test_what_distinguishes_results_and_the_usual_statistics():
    header, rows = results_table(RESULTS)
    assert header == ["scene", "method", "box.size", "bad_pixels_all", "seconds"]
    assert rows == [["s", "m", "1", "10.00", "1.50"], ["s", "m", "2", "20.00", "1.50"]]


def test_some_rows_of_a_table_are_judged_among_all():
    whole = listing(RESULTS)
    assert (whole.rows_of([1]).rows, whole.rows_of([1]).best) == (whole.rows[1:], frozenset())
    assert whole.rows_of([1, 0]).best == {(1, whole.header.index("bad_pixels_all"))}


@pytest.mark.parametrize(("name", "whole"), [("fraction_matched", 1.0), ("density_all", 100.0)])
def test_densities_are_shown_beside_errors(name, whole):
    dense = [replace(r, statistics={**r.statistics, name: whole}) for r in RESULTS]
    assert name in results_table(dense)[0]
    holes = [dense[0], replace(dense[1], statistics={**dense[1].statistics, name: 0.75 * whole})]
    header, rows = results_table(holes)
    assert [row[header.index(name)] for row in rows] == [cell_text(whole), cell_text(0.75 * whole)]


def test_seconds_are_those_of_matching():
    evaluated = replace(RESULTS[0], seconds={"evaluation": 8.0})
    assert (RESULTS[0].matching_seconds, evaluated.matching_seconds) == (1.5, None)
    assert results_table([evaluated])[0][-1] == "bad_pixels_all"
    header, [row] = results_table(RESULTS[:1], ["seconds", "seconds.evaluation"])
    assert (header[3:], row[3:]) == (["seconds", "seconds.evaluation"], ["1.50", "8.00"])


def test_chosen_columns():
    header, rows = results_table(RESULTS, ["energy", "truncation", "rms_error_occ", "seconds.b"])
    assert header[3:] == ["energy", "truncation", "rms_error_occ", "seconds.b", "seconds"]
    assert rows[0][3:] == ["1.50", "none", "-", "0.50", "1.50"]
    with pytest.raises(ParameterError, match="did you mean 'bad_pixels_all'"):
        results_table(RESULTS, ["bad_pixel_all"])


def test_a_failed_run():
    failed = Result(
        id="3", scene="s", method="m", parameters={}, axes={}, protocol="p", error="no luck"
    )
    _, rows = results_table([*RESULTS, failed])
    assert rows[2] == ["s", "m", "-", "failed", "failed"]


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (None, "-"),
        (True, "true"),
        (3, "3"),
        (12.345, "12.35"),
        (0.0, "0.00"),
        (0.01234, "0.012"),
        (1234567.8, "1234568"),
        (math.inf, "-"),
    ],
)
def test_texts_of_cells(item, text):
    assert cell_text(item) == text


def test_csv_has_every_digit():
    rows = list(csv.DictReader(io.StringIO(csv_text(*RESULTS.tidy()))))
    assert [r["box.size"] for r in rows] == ["1", "2"]
    assert rows[1]["bad_pixels_all"] == "20.0"
    assert rows[1]["rms_error_occ"] == ""


def test_the_best_of_each_scene_is_marked():
    def one(scene, bad, matched):
        return Result(
            id="",
            scene=scene,
            method="m",
            parameters={},
            axes={"a": 1.0, "b": None},
            protocol="p",
            statistics={"bad_pixels_all": bad, "fraction_matched": matched, "pixels_all": bad},
            seconds={"a": bad},
        )

    found = [one("s", 3.0, 0.5), one("s", 2.0, 0.25), one("t", 9.0, 0.5), one("s", 2.001, 0.25)]
    table = listing(ResultSet(found), ["bad_pixels_all", "fraction_matched", "pixels_all"])
    # Percentages are better low, fractions matched high; a scene with one result and a count have no best, nor has the time.
    assert table.best == {(1, 4), (3, 4), (0, 5)}
    assert table.texts()[0][:4] == ["s", "m", "1", "none"]
