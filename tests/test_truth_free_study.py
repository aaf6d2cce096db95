"""The study of choosing without ground truth: its two figures, and matching again where maps disagree."""

import failing_truth_free
import numpy as np
import pytest
from truth_free import STUDY, measured
from truth_free.rematching import lost_pixels
from truth_free.tuning import TUNING

from stereo_framework.core.scene import Scene


def test_every_check_can_be_proved_wrong():
    claims = STUDY.claims
    assert set(claims) == set(failing_truth_free.FAILING)
    for name, claim in claims.items():
        assert claim.asked(*failing_truth_free.FAILING[name]).holds is False, name


def test_correlation_and_regret():
    right, swapped = failing_truth_free._RIGHT, failing_truth_free._KEPT
    assert measured.correlation(right, "reference", "abcd") == pytest.approx(1)
    # 1 - 6 (1 + 1) / (4 (16 - 1)), Spearman's formula without ties.
    assert measured.correlation(swapped, "reference", "abcd") == pytest.approx(0.8)
    assert measured.regret(right, "reference", "abcd") == 0
    assert measured.regret(swapped, "reference", "abcd") == 5
    assert measured.regret(swapped, "reference", "bcd") == 0


def test_tuning_asks_for_the_mean_too():
    assert TUNING.asked({"sgm": [-0.2] * 16 + [0.3]}).holds
    assert not TUNING.asked({"sgm": [0.05] * 17}).holds


def test_the_wrong_map_loses_where_maps_disagree():
    # A wall 3 pixels nearer than infinity, seen without noise: its true map costs nothing, and a wrong patch loses all of its pixels, whoever is first.
    image = np.random.default_rng(0).integers(0, 256, (24, 40)).astype(np.uint8)
    scene = Scene.from_images(image, np.roll(image, -3, axis=1), (0, 7))
    truth = np.full(image.shape, 3, np.float32)
    wrong, hole = truth.copy(), truth.copy()
    wrong[8:14, 20:30] = 6
    hole[8:14, 20:30] = np.nan
    share = 100 * 6 * 10 / image.size
    assert lost_pixels([wrong, truth], scene) == pytest.approx([share, 0])
    assert lost_pixels([truth, wrong], scene) == pytest.approx([0, share])
    # Maps without estimate are not asked, and three are compared in pairs.
    assert lost_pixels([hole, truth], scene) == [0, 0]
    assert lost_pixels([wrong, truth, truth], scene) == pytest.approx([share, 0, 0])
