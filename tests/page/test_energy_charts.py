"""Charts of energies on the page of a run."""

import numpy as np
import pytest
from made_results import result

from stereo_framework import Scene, run
from stereo_framework.core.errors import ResultWarning
from stereo_framework.page import ranking_sections
from stereo_framework.page.ranking_sections import energy_blocks
from stereo_framework.page.run_page import run_page
from stereo_framework.sweep import ResultSet

SCRIPT = {
    "matching_cost": "absolute_difference",
    "smoothness": {"use": "potts", "weight": 20},
    "methods": {
        "messages": {"optimization": {"use": "trw_s", "iterations": 3}},
        "cuts": {"optimization": {"use": "graph_cut", "iterations": 1}},
        "rows": {"optimization": "scanline_optimization"},
    },
}


def _charts(folder):
    return [
        block
        for section in run_page(folder).sections
        if section.title == "Energies"
        for block in section.blocks
    ]


def test_optimizers_of_one_energy_share_a_chart(tmp_path, small_scenes):
    run(
        {**SCRIPT, "sweep": {"grid": {"smoothness.weight": [10, 20]}}},
        "synthetic/planes",
        out=tmp_path,
    )
    charts = _charts(tmp_path)
    assert [chart.description for chart in charts] == [
        "energy over time and errors over energy, planes"
    ] * 2
    for chart, weight in zip(charts, (10, 20), strict=True):
        shown = [
            name
            for name in SCRIPT["methods"]
            for other in (10, 20)
            if f"{name}, weight={other} " in chart.content
        ]
        assert shown == list(SCRIPT["methods"]), weight


@pytest.mark.parametrize(
    "parameter",
    [
        "search.minimum",
        "search.maximum",
        "search.step",
        "preprocessing.use",
        "matching_cost.use",
        "aggregation.box.size",
        "smoothness.potts.weight",
    ],
)
def test_settings_of_different_energies_have_charts_of_their_own(parameter):
    results = [
        result(
            "scene",
            {},
            {"bad_pixels_nonocc": 2.0},
            method=method,
            energy=4.0,
            parameters={parameter: value, "optimization.use": method},
            environment={"trace": "[[0.1, 5.0], [0.2, 4.0]]"},
        )
        for value in (1, 2)
        for method in ("first", "second")
    ]
    names = ["first 1", "second 1", "first 2", "second 2"]
    charts = energy_blocks(ResultSet(results), names)
    contents = [[name for name in names if name in chart.content] for chart in charts]
    assert contents == [["first 1", "second 1"], ["first 2", "second 2"]]


@pytest.mark.parametrize("count", [20, 21])
def test_the_first_twenty_charts_are_drawn(monkeypatch, count):
    monkeypatch.setattr(ranking_sections, "_energy_chart", lambda scene, results: list(results))
    results = [
        result(
            "scene",
            {},
            {},
            method=f"m{i}",
            energy=4.0,
            parameters={"smoothness.potts.weight": i},
            environment={"trace": "[[0.1, 5.0]]"},
        )
        for i in range(count)
    ]
    names = [one.method for one in results]
    assert energy_blocks(ResultSet(results), names) == [[name] for name in names[:20]]


def test_without_a_trace_there_is_none(tmp_path, small_scenes):
    run(
        {**SCRIPT, "methods": {"rows": SCRIPT["methods"]["rows"]}}, "synthetic/planes", out=tmp_path
    )
    assert _charts(tmp_path) == []


def test_an_energy_of_zero_has_no_gap_in_percent(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (24, 32), dtype=np.uint8)
    same = Scene.from_images(image, image, (0, 4), truth=np.zeros(image.shape, np.float32))
    results = run(SCRIPT, same, out=tmp_path)
    assert [r.energy for r in results] == [0, 0, 0]
    assert len(_charts(tmp_path)) == 1


def test_damaged_traces_are_counted_and_the_others_drawn(tmp_path):
    traces = ["[[0.1, 5.0], [0.2, 4.0]]", '{"a": 1}', "[[1]]", "[[0.1, 4.5]]"]
    results = [
        result("s", {}, {}, method=f"m{i}", energy=4.0, parameters={}, environment={"trace": trace})
        for i, trace in enumerate(traces)
    ]
    with pytest.warns(
        ResultWarning,
        match=r"2 of 4 traces cannot be drawn. The first: s m1: the stored trace is damaged",
    ):
        chart, remark = energy_blocks(ResultSet(results), [r.method for r in results])
    assert chart.content.count("m0") > 0
    assert remark.text.startswith("2 of 4 traces cannot be drawn")
