"""Areas under error rate over density, and what the evaluator makes of measures of confidence."""

import math

import numpy as np
import pytest
from evaluation_inputs import make_scene
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation import evaluate
from stereo_framework.evaluation.sparsification import Sparsification, optimal_area


def optimum(bad):
    e = bad.mean()
    return e + (1 - e) * math.log(1 - e) if e < 1 else 1.0


def twin(confidence, bad):
    """The mean error rate of the surest pixels over many densities, parts of a group of equals having their mean error."""
    share = [bad[confidence == value].mean() for value in sorted(confidence, reverse=True)]
    taken = (np.arange(20000) + 0.5) / 20000 * len(bad)
    wrong = np.interp(taken, np.arange(len(bad) + 1), np.append(0, np.cumsum(share)))
    return np.mean(wrong / taken)


maps = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.booleans(), min_size=n, max_size=n),
    )
)


@given(given=maps)
def test_agrees_with_its_twin(given):
    confidence, bad = np.array(given[0], float), np.array(given[1])
    # The twin's steps of density are a twentieth of a thousandth; the curve is steepest where it begins, at 1 / density.
    assert Sparsification(confidence, bad).area == pytest.approx(twin(confidence, bad), abs=2e-3)


@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.3, 0.01, 0, 1]))
def test_bounds_are_exact(seed, share):
    rng = np.random.default_rng(seed)
    error = rng.random(500) * 2 * (rng.random(500) < 0.8)
    bad = error > 2 * (1 - share) if 0 < share < 1 else np.full(500, bool(share))
    known = Sparsification(-error, bad)
    # A constant says nothing, the true error everything; float64 sums of 500 terms.
    assert Sparsification(np.full(500, 0.7), bad).area == pytest.approx(bad.mean(), abs=1e-12)
    assert known.area == pytest.approx(optimum(bad), abs=1e-12)
    assert optimal_area(known.error_rate) == pytest.approx(optimum(bad), abs=1e-12)
    worst = Sparsification(error, bad).area
    assert worst >= Sparsification(rng.random(500), bad).area - 1e-12 >= known.area - 2e-12


def test_the_curve_and_ties():
    pixels, bad = Sparsification(
        np.array([3.0, 1, 3, np.nan]), np.array([False, True, True, True])
    ).counts
    assert pixels.tolist() == [2, 3, 4]
    assert bad.tolist() == [1, 2, 3]


@pytest.fixture
def scene():
    truth = np.full((20, 30), 3, np.float32)
    truth[5] = np.nan
    return make_scene(truth, border=2)


def test_measured_whatever_the_protocol_measures(scene):
    rng = np.random.default_rng(3)
    disparity = np.nan_to_num(scene.truth, nan=3) + rng.choice(
        [0, 0.8, 1.2, 3], scene.truth.shape
    ).astype(np.float32)
    disparity[8:10] = np.nan
    error = np.nan_to_num(np.abs(disparity - scene.truth), nan=9)
    counted = np.isfinite(scene.truth + disparity)[2:-2, 2:-2]
    given = {
        "nothing": np.ones_like(error),
        "all": -error,
        "random": rng.random(error.shape).astype(np.float32),
    }
    names = [*(f"{m}_{n}" for m in ("auc", "auc_ratio") for n in given), "auc_optimal"]
    # What depends on the threshold follows the protocol's.
    for threshold in (1, 2):
        protocol = {
            "base": "taxonomy2002",
            "metrics": "rms_error",
            "regions": "all",
            "threshold": threshold,
        }
        found = evaluate(disparity, scene, protocol, confidence=given)
        assert list(found) == ["rms_error_all", *names, "fraction_matched"]
        bad = error[2:-2, 2:-2][counted] > threshold
        best = 100 * optimum(bad)
        assert found["auc_optimal"] == pytest.approx(best)
        assert found["auc_nothing"] == pytest.approx(100 * bad.mean())
        assert found["auc_all"] == pytest.approx(best)
        assert found["auc_ratio_all"] == pytest.approx(1)
        assert best < found["auc_random"] < 100
        assert found["auc_ratio_random"] == pytest.approx(found["auc_random"] / best)


def test_no_measure_no_area(scene):
    assert not any(name.startswith("auc") for name in evaluate(scene.truth, scene))
    perfect = evaluate(
        np.nan_to_num(scene.truth, nan=3), scene, confidence={"any": np.zeros_like(scene.truth)}
    )
    assert perfect["auc_any"] == perfect["auc_optimal"] == 0
    assert math.isnan(perfect["auc_ratio_any"])


def test_refuses_a_measure_of_another_size(scene):
    with pytest.raises(
        DataError,
        match=r"^evaluate: confidence_small has shape \(3, 4\); expected \(20, 30\)",
    ):
        evaluate(scene.truth, scene, confidence={"small": np.zeros((3, 4), np.float32)})


@pytest.mark.parametrize(
    ("protocol", "errors"),
    [
        # Errors of exactly the threshold, in pixels.
        ({"threshold": 1}, [1, -1]),
        ({"threshold": 0.5}, [0.5, -0.5]),
        # Of the ground truth 32, an error of 2 is exactly the relative threshold.
        ({"threshold": 1, "relative_threshold": 1 / 16}, [2, -2]),
        ({"threshold": 3, "relative_threshold": 1 / 16}, [3, -3]),
    ],
)
def test_an_error_of_exactly_the_threshold_is_no_error_in_the_areas(protocol, errors):
    truth = np.full((2, 8), 32, np.float32)
    scene = make_scene(truth)
    disparity = truth.copy()
    disparity[0, :2] += errors
    settings = {"base": "taxonomy2002", "prediction": "none", **protocol}
    confidence = {"same": np.ones_like(truth)}
    exact = evaluate(disparity, scene, settings, confidence=confidence)
    assert exact["bad_pixels_all"] == exact["auc_same"] == exact["auc_optimal"] == 0
    disparity[0, 0] += np.sign(errors[0]) / 8
    larger = evaluate(disparity, scene, settings, confidence=confidence)
    assert larger["bad_pixels_all"] == larger["auc_same"] == 100 / 16


def test_each_pixel_of_an_enlarged_disparity_map_has_the_confidence_of_its_block():
    truth = np.full((4, 6), 4, np.float32)
    scene = make_scene(truth)
    # In the pixels of the scene, the errors are 0 and 6. Each block has its confidence.
    disparity = np.float32([[2, 5, 2], [2, 2, 5]])
    confidence = {"correct": np.float32([[1, 0, 1], [1, 1, 0]])}
    statistics = evaluate(disparity, scene, "middlebury-v3", confidence=confidence)
    assert statistics["bad_pixels_all"] == pytest.approx(100 / 3)
    assert statistics["auc_ratio_correct"] == pytest.approx(1)


def test_filled_pixels_have_no_place_in_the_order_of_confidence():
    truth = np.full((2, 8), 9, np.float32)
    truth[:, 4:] = 20
    disparity = np.where(truth == 9, truth, np.float32(np.nan))
    # KITTI's program fills the right half with 9, which is wrong.
    confidence = {"any": np.tile(np.arange(8, dtype=np.float32), (2, 1))}
    statistics = evaluate(disparity, make_scene(truth), "kitti2012", confidence=confidence)
    assert statistics["bad_pixels_all"] == 50
    assert statistics["auc_any"] == statistics["auc_optimal"] == 0


def test_areas_count_errors_above_the_first_of_several_thresholds():
    truth = np.full((2, 8), 9, np.float32)
    confidence = {"any": np.ones_like(truth)}
    for thresholds, expected in (([1, 4], 100), ([4, 1], 0)):
        statistics = evaluate(
            truth + 2, make_scene(truth), thresholds=thresholds, confidence=confidence
        )
        assert statistics["auc_any"] == expected
