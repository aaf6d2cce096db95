"""Writing what a script's ``report`` asks for."""

import csv

import pytest
from made_results import SCENES, sweep

from stereo_framework.core.errors import ParameterError, ScriptError
from stereo_framework.page.report_files import reports_of, write_reports

TRUNCATION, BAD = "matching_cost.truncation", "bad_pixels_nonocc"
PLOT = {"x": TRUNCATION, "y": BAD}
TABLES = {"t": {"rows": "scene", "columns": TRUNCATION, "value": BAD}}


def _found(**changes):
    return sweep(
        {TRUNCATION: [1, 5]}, lambda scene, t: {BAD: t + 2.0 * (scene == SCENES[1])}, **changes
    )


def test_plots_and_tables(tmp_path):
    written = write_reports(
        [(_found(), {"plots": {"a": PLOT, "b": PLOT | {"panels": "scene"}}, "tables": TABLES})],
        tmp_path,
    )
    names = [
        "plots/a.svg",
        "plots/a.png",
        "plots/b.svg",
        "plots/b.png",
        "tables/t.csv",
        "tables/t.md",
    ]
    assert [path.relative_to(tmp_path).as_posix() for path in written] == names
    assert all(path.stat().st_size > 0 for path in written)
    rows = list(csv.reader((tmp_path / "tables/t.csv").read_text().splitlines()))
    assert rows == [["scene", "1", "5"], [SCENES[0], "1.0", "5.0"], [SCENES[1], "3.0", "7.0"]]
    assert "| middlebury2001/venus | **3.00** | 7.00 |" in (tmp_path / "tables/t.md").read_text()


def test_where_chooses(tmp_path):
    table = {
        "rows": "scene",
        "columns": TRUNCATION,
        "value": BAD,
        "where": {"scene": ["venus", "map"], TRUNCATION: 5},
    }
    write_reports([(_found(), {"tables": {"t": table}})], tmp_path)
    assert (tmp_path / "tables/t.csv").read_text() == f"scene,5\n{SCENES[1]},7.0\n"


def test_every_protocol_gets_its_own(tmp_path):
    strict = _found(protocol="p[threshold=0.5; border=3]", protocol_text="p[...]: half")
    other = sweep(
        {TRUNCATION: [1]},
        lambda scene, t: {"rms_error_all": 1.0},
        protocol="r",
        protocol_text="r: another",
    )
    written = write_reports([(_found() + strict + other, {"plots": {"a": PLOT}})], tmp_path)
    assert [path.name for path in written[::2]] == ["a_p.svg", "a_p_threshold_0.5_border_3.svg"]
    versions = _found() + _found(protocol_text="p: as one liked")
    assert [
        path.name for path in write_reports([(versions, {"plots": {"b": PLOT}})], tmp_path)[::2]
    ] == ["b_p.svg", "b_p_1.svg"]


def test_what_can_be_drawn_is_drawn_and_the_rest_is_told(tmp_path):
    plots = {
        "none": PLOT | {"y": "rms_error_all"},
        "nowhere": PLOT | {"where": {"scene": "map"}},
        "good": PLOT,
    }
    with pytest.raises(ParameterError) as caught:
        write_reports([(_found(), {"plots": plots})], tmp_path)
    first, second = str(caught.value).splitlines()
    assert first == "report.plots.none: no result has rms_error_all"
    assert second.startswith(
        "report.plots.nowhere: scene: no result has 'map'; there are: middlebury2001/tsukuba"
    )
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == ["good.png", "good.svg"]


def test_a_faulty_report(tmp_path):
    with pytest.raises(ScriptError, match=r"report\.plots\.a: x is missing"):
        write_reports([(_found(), {"plots": {"a": {"y": BAD}}})], tmp_path)


def test_scripts_get_the_results_of_their_methods(tmp_path):
    found = _found(method="one") + _found(method="two") + _found(method="script")
    tables = {"tables": {"t": {"rows": "method", "columns": "scene", "value": BAD}}}
    scripts = [
        {"name": "several", "methods": {"one": {}, "two": {}}, "report": tables},
        {"name": "silent", "methods": {"one": {}}},
        {"name": "absent", "report": tables},
    ]
    assert len(write_reports(reports_of(found, scripts), tmp_path)) == 2
    assert (tmp_path / "tables/t.csv").read_text().splitlines()[1:] == [
        "one,3.0,5.0",
        "two,3.0,5.0",
    ]
    write_reports(reports_of(found, [{"name": "script", "report": tables}]), tmp_path)
    assert (tmp_path / "tables/t.csv").read_text().splitlines()[1:] == ["script,3.0,5.0"]


def test_scripts_of_a_divided_sweep_have_one_report(tmp_path):
    tables = {"tables": {"t": {"rows": "method", "columns": "scene", "value": BAD}}}
    scripts = [{"name": "script", "seed": seed, "report": tables} for seed in (1, 2)]
    assert len(write_reports(reports_of(_found(method="script"), scripts), tmp_path)) == 2


def test_a_report_hides_no_other_one(tmp_path):
    reports = [
        {
            "tables": {
                name: {"rows": "method", "columns": "scene", "value": value}
                for name, value in own.items()
            }
        }
        for own in ({"lost": "mape_all", "t": BAD}, {"t": BAD, "u": BAD})
    ]
    pairs = [
        (_found(method=name), report) for name, report in zip(("one", "two"), reports, strict=True)
    ]
    with pytest.raises(ParameterError) as caught:
        write_reports(pairs, tmp_path)
    lost, taken = str(caught.value).splitlines()
    assert (lost, taken.partition(": ")[0]) == (
        "report.tables.lost: no result has mape_all",
        "report.tables.t",
    )
    first = {
        name: (tmp_path / f"tables/{name}.csv").read_text().splitlines()[1].partition(",")[0]
        for name in "tu"
    }
    assert first == {"t": "one", "u": "two"}
