"""All statistics of a map, by name."""

import math

import numpy as np
import pytest
from evaluation_inputs import make_scene

from stereo_framework import load_scene
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.evaluation import Protocol, evaluate
from stereo_framework.evaluation.hci import HCI_METRICS, Parameters, hci_metrics
from stereo_framework.evaluation.regions import hci_subsets

REGIONS = ["all", "nonocc", "occ", "textured", "textureless", "discont"]
EMPTY = np.full((30, 40), np.nan, np.float32)


@pytest.fixture
def scene():
    truth = np.full((30, 40), 2, np.float32)
    truth[10:20, 15:25] = 8
    image = np.zeros(truth.shape, np.uint8)
    image[:, ::2] = 90
    image[:, :20] = 0
    return make_scene(truth, image, border=2)


@pytest.mark.parametrize(("off", "bad"), [(0, 0), (1.5, 100)])
def test_names_and_units(scene, off, bad):
    statistics = evaluate(scene.truth - np.float32(off), scene)
    names = [f"{name}_{region}" for name in ("rms_error", "bad_pixels") for region in REGIONS]
    assert list(statistics) == [*names, "fraction_matched", "predict_err_match"]
    assert [statistics[name] for name in names] == [off] * 6 + [bad] * 6
    assert statistics["fraction_matched"] == 1
    assert all(type(v) is float for v in statistics.values())


def test_regions_are_told_apart(scene):
    statistics = evaluate(np.full((30, 40), 2, np.float32), scene)
    square, evaluated, hidden = 10 * 10, 26 * 36, 10 * 6
    assert statistics["bad_pixels_all"] == pytest.approx(100 * square / evaluated)
    assert statistics["bad_pixels_nonocc"] == pytest.approx(100 * square / (evaluated - hidden))
    assert statistics["bad_pixels_occ"] == 0


def test_several_thresholds_are_named(scene):
    protocol = {
        "base": "taxonomy2002",
        "thresholds": [0.5, 1, 2],
        "regions": ["all"],
        "measures": ["bad_pixels"],
    }
    found = evaluate(scene.truth + np.float32(0.75), scene, protocol)
    assert found == {
        "bad_pixels_all": 100,
        "bad0.5_all": 100,
        "bad1_all": 0,
        "bad2_all": 0,
        "fraction_matched": 1,
    }
    assert evaluate(scene.truth, scene, thresholds=2) == evaluate(
        scene.truth, scene, thresholds=[2]
    )


def test_nothing_to_measure(scene):
    found = evaluate(EMPTY, scene, {"base": "taxonomy2002", "count_grey_holes": False})
    assert found.pop("fraction_matched") == 0
    assert all(v == 100 if k.startswith("bad") else math.isnan(v) for k, v in found.items())
    no_pixel = evaluate(
        scene.truth, scene, {"base": "taxonomy2002", "border": 15, "prediction": "none"}
    )
    assert all(math.isnan(v) for v in no_pixel.values())


def test_without_truth_density_and_prediction_remain():
    scene = make_scene(image=np.zeros((10, 12), np.uint8), border=1)
    disparity = np.zeros((10, 12), np.float32)
    disparity[1:5] = np.nan
    # Both frames are black. Four of ten rows are holes, which count as 255 in grey images unless told otherwise.
    assert evaluate(disparity, scene) == {
        "fraction_matched": 0.5,
        "predict_err_match": pytest.approx(255 * 0.4**0.5),
    }
    honest = {"base": "taxonomy2002", "count_grey_holes": False}
    assert evaluate(disparity, scene, honest) == {"fraction_matched": 0.5, "predict_err_match": 0}


def test_any_protocol_and_form_of_the_map(scene):
    expected = evaluate(scene.truth, scene)
    # A protocol that nobody knows is the default one.
    assert (
        evaluate(scene.truth, make_scene(scene.truth, protocol="of another world")).keys()
        == expected.keys()
    )
    assert evaluate(scene.truth.astype(float), scene) == expected
    assert evaluate(np.asfortranarray(scene.truth), scene) == expected
    own = evaluate(scene.truth, scene, Protocol("mine", regions=["occ"]))
    assert list(own) == ["rms_error_occ", "bad_pixels_occ", "fraction_matched", "predict_err_match"]


@pytest.mark.parametrize(
    ("disparity", "error", "message"),
    [
        (EMPTY.T, DataError, "scene made: the map is 30x40, the scene's images are 40x30"),
        (
            np.zeros((30, 40, 3), np.float32),
            DataError,
            r".*shape \(30, 40, 3\); expected \(rows, columns\) = \(30, 40\)$",
        ),
        (
            np.zeros((30, 40), np.uint8),
            DataError,
            ".*the map holds uint8; expected float32 in pixels",
        ),
        (np.zeros((30, 40), bool), DataError, ".*the map holds bool; expected float32"),
        (
            "map.pfm",
            ParameterError,
            r"evaluate: disparity is 'map.pfm'; expected an array, float32 \(rows, columns\);",
        ),
    ],
)
def test_what_is_no_map_of_the_scene(scene, disparity, error, message):
    with pytest.raises(error, match=f"^{message}"):
        evaluate(disparity, scene)


def test_what_is_no_scene():
    with pytest.raises(
        ParameterError, match=r"^evaluate: scene is 'synthetic/slanted'; expected a Scene, such as"
    ):
        evaluate(EMPTY, "synthetic/slanted")


def test_hci_metrics_are_measures_like_others(data):
    scene = load_scene("middlebury-v3/trainingQ/Pipes", data=data)
    estimate = scene.truth + np.float32(1)

    def measured(**choices):
        return evaluate(estimate, scene, {"base": "middlebury-v3", "measures": ["hci"]} | choices)

    found = [measured(), measured(hci={"border": 100})]
    for one, parameters in zip(found, (Parameters(), Parameters(border=100)), strict=True):
        expected = hci_metrics(estimate, scene.truth, hci_subsets(scene, parameters)) | {
            "fraction_matched": 1.0
        }
        assert one == pytest.approx(expected, nan_ok=True)
    assert set(HCI_METRICS) < set(found[0])
    assert found[0]["hci_offset"] != found[1]["hci_offset"]
    assert hci_subsets(scene) is hci_subsets(scene)
    one = measured(measures=["hci_offset", "rms_error"], regions=["all"])
    assert list(one) == ["hci_offset", "rms_error_all", "fraction_matched"]
    # A whole pixel too near: the distance of the planes, which are seen at an angle.
    assert 0.5 < one["hci_offset"] <= 1.1


def test_hci_metrics_need_truth():
    scene = make_scene(image=np.zeros((30, 40), np.uint8))
    estimate = np.ones((30, 40), np.float32)
    assert evaluate(estimate, scene, {"base": "middlebury-v3", "measures": ["hci"]}) == {
        "fraction_matched": 1.0
    }


def _slope():
    """Return the ground truth of one slanted plane, 20 to 45 pixels."""
    return np.tile(20 + np.arange(100, dtype=np.float32) / 4, (100, 1))


def _with_errors(where):
    return _slope() + np.where(where, np.float32(3), 0)


@pytest.mark.parametrize("measure", ["hci_offset", "error_rate", "rms_error"])
def test_only_pixels_inside_a_mask_and_below_the_truth_limit_are_evaluated(measure):
    truth = _slope()
    scene = make_scene(truth)
    rows = np.broadcast_to(np.arange(100)[:, None] >= 50, truth.shape)

    def value(disparity, mask=None, **choices):
        protocol = {"base": "middlebury-v3", "measures": [measure], "regions": ["all"], **choices}
        # Dense maps have errors in the occluded columns.
        disparity = np.where(np.arange(100) < truth, np.nan, disparity).astype(np.float32)
        statistics = evaluate(disparity, scene, protocol, mask=mask)
        return next(iter(statistics.values()))

    wrong_below, wrong_right = _with_errors(rows), _with_errors(truth >= 35)
    assert value(truth) == pytest.approx(0, abs=1e-5)
    assert value(wrong_below) > 0.05
    assert value(wrong_below, mask=~rows) == pytest.approx(0, abs=1e-5)
    assert value(wrong_right) > 0.05
    assert value(wrong_right, truth_limit=35.0) == pytest.approx(0, abs=1e-5)
    assert value(wrong_right, truth_limit=35.25) > 0


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        ("pseudo_truth_distance", 50.0),
        ("pseudo_truth_distance_0.5", 50.0),
        ("pseudo_truth_distance_mean", 0),
    ],
)
def test_filled_pixels_are_no_estimates_beside_a_reference_map(statistic, expected):
    truth = np.full((4, 8), 5, np.float32)
    disparity = truth.copy()
    disparity[:, 4:] = np.nan
    protocol = {"base": "kitti2012", "measures": [statistic]}
    statistics = evaluate(disparity, make_scene(truth), protocol, pseudo_truth=truth)
    assert statistics[statistic] == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        # The percentages of pixels off by more than a pixel and by more than half a
        # pixel.
        (0.5, (0, 0)),
        (0.5625, (0, 100)),
        (1, (0, 100)),
        (1.0625, (100, 100)),
    ],
)
def test_distances_from_a_reference_map_have_thresholds_of_one_and_of_half_a_pixel(error, expected):
    truth = np.full((4, 8), 5, np.float32)
    names = ("pseudo_truth_distance", "pseudo_truth_distance_0.5")
    protocol = {"base": "truthfree-1", "measures": names}
    scene = make_scene(image=np.zeros((4, 8), np.uint8))
    statistics = evaluate(truth + np.float32(error), scene, protocol, pseudo_truth=truth)
    assert tuple(statistics[name] for name in names) == expected
