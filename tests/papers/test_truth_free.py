"""The study of choosing without ground truth: its two figures, and its page on one scene."""

import failing_truth_free
import pytest

from stereo_framework.papers.truth_free import study


def test_correlation_and_regret():
    right, swapped = failing_truth_free._RIGHT, failing_truth_free._KEPT
    assert study.correlation(right, "reference", "abcd") == pytest.approx(1)
    # 1 - 6 (1 + 1) / (4 (16 - 1)), Spearman's formula without ties.
    assert study.correlation(swapped, "reference", "abcd") == pytest.approx(0.8)
    assert study.regret(right, "reference", "abcd") == 0
    assert study.regret(swapped, "reference", "abcd") == 5
    assert study.regret(swapped, "reference", "bcd") == 0


def test_tuning_asks_for_the_mean_too():
    fine = {("sgm", "reference"): [("a", -0.2)] * 16 + [("b", 0.3)]}
    assert study.TUNING.asked(fine).holds
    assert not study.TUNING.asked({("sgm", "reference"): [("a", 0.05)] * 17}).holds
