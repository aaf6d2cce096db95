"""Measures of confidence in sweeps: statistics, stored maps, pictures and pages."""

import numpy as np
import pytest
from cli_parts import invoke

from stereo_framework.sweep import Store, run

SCRIPT = {
    "name": "sure",
    "matching_cost": "census",
    "optimization": "winner_take_all",
    "confidence": ["peak_ratio", "left_right_consistency"],
    "evaluation": {"protocol": {"base": "kostliva2007", "end_radius": 1}},
}


def test_measured_and_stored(small_scenes, tmp_path):
    [result] = run(SCRIPT, "synthetic/stripes", out=tmp_path / "out")
    [kept] = run(SCRIPT, "synthetic/stripes")
    assert result.error is None
    for one in (result, kept):
        assert sorted(one.confidence) == ["left_right_consistency", "peak_ratio"]
        statistics = one.statistics
        assert 0 < statistics["auc_optimal"] < statistics["auc_peak_ratio"]
        assert statistics["auc_ratio_peak_ratio"] == pytest.approx(
            statistics["auc_peak_ratio"] / statistics["auc_optimal"]
        )
    for name in ("peak_ratio", "left_right_consistency"):
        np.testing.assert_array_equal(result.confidence[name], kept.confidence[name])
    files = sorted(path.name.removeprefix(result.map.stem) for path in result.map.parent.iterdir())
    assert files == [".pfm", "_confidence_left_right_consistency.pfm", "_confidence_peak_ratio.pfm"]
    with Store(tmp_path / "out") as store:
        [stored] = store.results()
    assert sorted(stored.confidence) == ["left_right_consistency", "peak_ratio"]
    assert "sure" in invoke("rank", str(tmp_path / "out"), "--boundary").output
    page = invoke("report", str(tmp_path / "out"), "--out", str(tmp_path / "page.html"))
    assert page.exit_code == 0, page.output
    text = (tmp_path / "page.html").read_text()
    assert "auc_ratio_peak_ratio" in text
