"""The key ``report``: what is right, and every fault with its place."""

import pytest
from jsonschema import Draft202012Validator

from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import METRICS
from stereo_framework.evaluation.protocols import PRESETS
from stereo_framework.script import load, schema
from stereo_framework.script.report import (
    PivotTable,
    Plot,
    key_fault,
    read_report,
    statistic_fault,
)

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
        Plot(
            "p",
            ("matching_cost.truncation",),
            ("bad_pixels_nonocc",),
            ("method",),
            ("scene",),
            {"scene": ("a",)},
        ),
    )


def test_several_statistics_are_told_apart():
    def statistics(**more):
        [plot] = read_report(
            {"plots": {"p": {"x": "scene", "y": ["bad_pixels_all", "bad_pixels_occ"], **more}}}
        ).plots
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
        {
            "x": ["aggregation.box.size", "aggregation.0.size", "aggregation"],
            "y": ["seconds", "seconds.matching_cost"],
        },
        {
            "x": "search.step",
            "y": ["bad0.5_all", "total_bad_pixels_all"],
            "where": {"protocol": ["a b"], "seed": [1, None]},
        },
        {
            "x": "seed",
            "y": ["view_psnr_near", "rms_error_all"],
            "panels": ["statistic", "scene"],
            "x_scale": "category",
        },
        {
            "x": "matching_cost.use",
            "y": "r_ssim",
            "title": 2002,
            "labels": {"a=1": "", "x": "y"},
            "spread": "range",
            "y_scale": "log",
        },
        {
            "x": "statistic",
            "y": ["bad_pixels_all", "bad_pixels_my_own_mask"],
            "series": ["method", "optimization.seed"],
        },
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


def test_statistics_of_all_protocols_are_known(small_scenes):
    from stereo_framework import evaluate, load_scene

    scene = load_scene("synthetic/planes")
    for protocol in (
        *PRESETS,
        {"base": "taxonomy2002", "metrics": list(METRICS), "thresholds": [1, 0.5]},
    ):
        for name in evaluate(
            scene.truth,
            scene,
            protocol,
            confidence={"peak_ratio": scene.truth, "matcher": scene.truth},
        ):
            assert statistic_fault(name) is None, name
    assert statistic_fault("auc_peak_ratoi").endswith("did you mean 'auc_peak_ratio'?")


def test_the_search_range_as_a_whole_is_no_key():
    message = "there is no key 'search'; allowed keys: search.maximum, search.minimum"
    assert key_fault("search").startswith(message)
