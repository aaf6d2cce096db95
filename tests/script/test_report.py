"""The key ``report``: what is right, and every fault with its place."""

import re

import pytest
from jsonschema import Draft202012Validator

from stereo_framework.core.errors import ScriptError
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import METRICS
from stereo_framework.evaluation.protocols import PRESETS
from stereo_framework.script import load, schema
from stereo_framework.script.report import PivotTable, Plot, read_report
from stereo_framework.script.result_names import statistic_fault

PLOT = "{x: scene, y: energy}"


@pytest.fixture(scope="module")
def validator():
    return Draft202012Validator(schema())


def test_single_names_are_lists_of_one():
    plot = {
        "x": "matching_cost.truncation",
        "y": "bad_pixels_nonocc",
        "series": "method",
        "panels": "scene",
        "where": {"scene": "a"},
    }
    assert read_report({"plots": {"p": plot}}).plots == (
        Plot("p", ("matching_cost.truncation",), ("bad_pixels_nonocc",), ("method",), ("scene",), {"scene": ("a",)}),
    )


def test_several_statistics_are_told_apart():
    def statistics(**more):
        [plot] = read_report({"plots": {"p": {"x": "scene", "y": ["bad_pixels_all", "bad_pixels_occ"], **more}}}).plots
        return plot.series, plot.panels

    assert statistics() == (("statistic",), ())
    assert statistics(series="method") == (("method", "statistic"), ())
    assert statistics(panels="statistic") == ((), ("statistic",))
    table = {"rows": "method", "columns": "scene", "value": ["energy", "seconds"]}
    assert read_report({"tables": {"t": table}}).tables == (
        PivotTable("t", ("method",), ("scene", "statistic"), ("energy", "seconds")),
    )


@pytest.mark.parametrize(
    "plot",
    [
        {"x": ["aggregation.box.size", "aggregation.0.size", "aggregation"], "y": ["seconds", "seconds.matching_cost"]},
        {"x": "search.step", "y": ["bad0.5_all", "total_bad_pixels_all"], "where": {"protocol": ["a b"], "seed": [1, None]}},
        {"x": "seed", "y": ["view_psnr_near", "rms_error_all"], "panels": ["statistic", "scene"], "x_scale": "category"},
        {
            "x": "matching_cost.use",
            "y": "r_ssim",
            "title": 2002,
            "labels": {"a=1": "", "x": "y"},
            "spread": "range",
            "y_scale": "log",
        },
        {"x": "statistic", "y": ["bad_pixels_all", "bad_pixels_my_own_mask"], "series": ["method", "optimization.seed"]},
    ],
)
def test_right_plots(validator, plot):
    script = {"include": "window", "report": {"plots": {"p": plot}}}
    validator.validate(script)
    assert load(script).report == script["report"]
    assert load(load(script).resolved).report == script["report"]


def test_groups_of_statistics_are_spelled_out():
    report = {"plots": {"p": {"x": "scene", "y": ["hci", "hci_offset"], "panels": "statistic"}}}
    found = read_report(report)
    assert found.plots[0].y == tuple(HCI_METRICS)


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        ("3", r"2:9: report: 3 is not a mapping; legal keys: plots, tables"),
        ("{plot: {}}", r"2:10: report: .*'plot'.*did you mean 'plots'\?"),
        ("{plots: [1]}", r"2:17: report\.plots: \[1\] is not a mapping of names"),
        (f"{{plots: {{a/b: {PLOT}}}}}", r"2:18: report\.plots: 'a/b' cannot be the name of a file"),
        ("{plots: {a: 3}}", r"2:21: report\.plots\.a: 3 is not a mapping; legal keys: labels, panels, .*"),
        ("{plots: {a: {x: scene}}}", r"2:21: report\.plots\.a: y missing; it needs x, y"),
        ("{plots: {a: {x: scene, y: energy, serie: x}}}", r"2:43: .*'serie'.*did you mean 'series'\?"),
        ("{plots: {a: {x: scen, y: energy}}}", r"2:25: report\.plots\.a\.x: .*'scen'.*did you mean 'scene'\?"),
        (
            "{plots: {a: {x: matching_cost.trunc, y: energy}}}",
            r"2:25: .*; legal keys: matching_cost, .*matching_cost\.truncation.*; did you mean 'matching_cost\.truncation'\?",
        ),
        ("{plots: {a: {x: aggregation.3.sise, y: energy}}}", r"2:25: .*no such key 'aggregation\.3\.sise'; .*"),
        ("{plots: {a: {x: search.stop, y: energy}}}", r"2:25: .*; did you mean 'search\.step'\?"),
        ("{plots: {a: {x: [], y: energy}}}", r"2:25: .*an empty list; write a name, such as matching_cost\.truncation"),
        ("{plots: {a: {x: 3, y: energy}}}", r"2:25: .*3 is not a name, such as matching_cost\.truncation"),
        (
            "{plots: {a: {x: scene, y: bad_pixel_all}}}",
            r"2:35: .*'bad_pixel_all'.*did you mean 'bad_pixels'\?",
        ),
        ("{plots: {a: {x: scene, y: bad0.5_nonoc}}}", r"2:35: .*did you mean 'bad0\.5_nonocc'\?"),
        ("{plots: {a: {x: scene, y: predict_err_nere}}}", r"2:35: .*did you mean 'predict_err_near'\?"),
        ("{plots: {a: {x: scene, y: rms_error}}}", r"2:35: .*no such statistic 'rms_error'; legal statistics: rms_error_all, .*"),
        (
            "{plots: {a: {x: scene, y: [rms_error_all, bad_pixels_all]}}}",
            r"2:35: .*\.y: statistics in different units \(px, %\) cannot share an axis; write panels: statistic",
        ),
        ("{plots: {a: {x: scene, y: energy, panels: scene}}}", r"2:21: .*'scene' stands twice in x, series, panels"),
        ("{plots: {a: {x: scene, y: energy, panels: [seed, method, search.step]}}}", r"2:51: .*3 keys; panels have one key.*"),
        ("{plots: {a: {x: scene, y: energy, x_scale: lag}}}", r"2:52: .*'lag' is not legal; .*did you mean 'log'\?"),
        ("{plots: {a: {x: scene, y: energy, y_scale: category}}}", r"2:52: .*'category' is not legal; legal: linear, log"),
        ("{plots: {a: {x: scene, y: energy, spread: all}}}", r"2:51: .*'all' is not legal; .*"),
        ("{plots: {a: {x: scene, y: energy, title: [a]}}}", r"2:50: .*\['a'\] is not a text"),
        ("{plots: {a: {x: scene, y: energy, labels: [a]}}}", r"2:51: .*is not a mapping, as in {absolute_difference: AD}"),
        ("{plots: {a: {x: scene, y: energy, labels: {a: null}}}}", r"2:55: .*null is not a text"),
        ("{plots: {a: {x: scene, y: energy, where: scene}}}", r"2:50: .*'scene' is not a mapping, as in {scene: .*"),
        ("{plots: {a: {x: scene, y: energy, where: {scen: a}}}}", r"2:51: .*'scen'.*did you mean 'scene'\?"),
        ("{plots: {a: {x: scene, y: energy, where: {scene: {a: 1}}}}}", r"2:58: .*{'a': 1} is not a value or a list of values"),
        (
            "{tables: {a: {rows: scene, value: energy}}}",
            r"2:22: report\.tables\.a: columns missing; it needs rows, columns, value",
        ),
        ("{tables: {a: {rows: scene, columns: scene, value: energy}}}", r"2:22: .*'scene' stands twice in rows, columns"),
    ],
)
def test_faults(tmp_path, monkeypatch, validator, report, fault):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.yaml").write_text(f"include: window\nreport: {report}\n")
    with pytest.raises(ScriptError) as caught:
        load("my.yaml")
    assert len(caught.value.faults) == 1
    assert re.fullmatch(rf"my\.yaml:{fault}.*", caught.value.faults[0])


@pytest.mark.parametrize(
    "report",
    [
        3,
        {"plot": {}},
        {"plots": {"a/b": {"x": "scene", "y": "energy"}}},
        {"plots": {"a": {"x": "scene"}}},
        {"plots": {"a": {"x": "scen", "y": "energy"}}},
        {"plots": {"a": {"x": [], "y": "energy"}}},
        {"plots": {"a": {"x": "scene", "y": "bad_pixel_all"}}},
        {"plots": {"a": {"x": "scene", "y": "energy", "x_scale": "lag"}}},
        {"plots": {"a": {"x": "scene", "y": "energy", "panels": ["seed", "method", "search.step"]}}},
        {"tables": {"a": {"rows": "scene", "value": "energy"}}},
    ],
)
def test_the_schema_refuses_what_load_refuses(validator, report):
    script = {"include": "window", "report": report}
    assert not validator.is_valid(script)
    with pytest.raises(ScriptError):
        load(script)


def test_statistics_of_all_protocols_are_known():
    from stereo_framework import evaluate, load_scene

    scene = load_scene("synthetic/planes")
    for protocol in (*PRESETS, {"base": "taxonomy2002", "measures": list(METRICS), "thresholds": [1, 0.5]}):
        for name in evaluate(scene.truth, scene, protocol, confidence={"peak_ratio": scene.truth, "matcher": scene.truth}):
            assert statistic_fault(name) is None, name
    assert statistic_fault("auc_peak_ratoi").endswith("did you mean 'auc_peak_ratio'?")


def test_an_included_report_is_replaced_plot_by_plot_or_as_a_whole():
    base = {"include": "window", "report": {"plots": {"a": {"x": "scene", "y": "energy"}}}}
    assert list(load(base).report["plots"]) == ["a"]
    assert list(load(base, overrides=["report.tables={}"]).report) == ["plots", "tables"]
