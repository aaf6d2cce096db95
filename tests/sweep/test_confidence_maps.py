"""Confidence measures in sweeps: statistics, stored maps, tables and reports."""

import numpy as np
import pytest
from cli_parts import invoke

from stereo_framework.sweep import Store, run

MEASURES = ["left_right_consistency", "peak_ratio"]
SCRIPT = {
    "name": "sure",
    "matching_cost": "census",
    "optimization": "winner_take_all",
    "confidence": ["peak_ratio", "left_right_consistency"],
    "evaluation": {"protocol": {"base": "kostliva2007", "end_radius": 1}},
}


@pytest.fixture
def stored_result(small_scenes, tmp_path):
    """Return a result whose maps are stored in the folder ``out``."""
    [result] = run(SCRIPT, "synthetic/stripes", out=tmp_path / "out")
    assert result.error is None
    return result


def assert_has_statistics(result):
    """Check the areas under the curves of a confidence measure."""
    assert sorted(result.confidence) == MEASURES
    optimum = result.statistics["auc_optimal"]
    area = result.statistics["auc_peak_ratio"]
    assert 0 < optimum < area
    assert result.statistics["auc_ratio_peak_ratio"] == pytest.approx(area / optimum)


def test_stored_confidence_maps_and_their_statistics_equal_those_in_memory(stored_result):
    [result_in_memory] = run(SCRIPT, "synthetic/stripes")
    assert_has_statistics(stored_result)
    assert_has_statistics(result_in_memory)
    for name in MEASURES:
        np.testing.assert_array_equal(
            stored_result.confidence[name], result_in_memory.confidence[name]
        )


def test_the_store_has_a_file_for_each_confidence_map(stored_result, tmp_path):
    stem = stored_result.map.stem
    files = [path.name.removeprefix(stem) for path in stored_result.map.parent.iterdir()]
    assert sorted(files) == [".pfm", *(f"_confidence_{name}.pfm" for name in MEASURES)]
    with Store(tmp_path / "out") as store:
        [result] = store.results()
    assert sorted(result.confidence) == MEASURES


def test_tables_and_reports_show_results_with_confidence_maps(stored_result, tmp_path):
    assert "sure" in invoke("rank", str(tmp_path / "out"), "--boundary").output
    page = tmp_path / "page.html"
    report = invoke("report", str(tmp_path / "out"), "--out", str(page))
    assert report.exit_code == 0, report.output
    assert "auc_ratio_peak_ratio" in page.read_text()
