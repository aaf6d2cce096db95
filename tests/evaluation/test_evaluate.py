"""All statistics of a map; published scores of two published maps."""

import math

import numpy as np
import pytest
from evaluation_inputs import make_scene

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.evaluation import Protocol, evaluate

REGIONS = ["all", "nonocc", "occ", "textured", "textureless", "discont"]


@pytest.fixture
def scene():
    truth = np.full((30, 40), 2, np.float32)
    truth[10:20, 15:25] = 8
    image = np.zeros(truth.shape, np.uint8)
    image[:, ::2] = 90
    image[:, :20] = 0
    return make_scene(truth, image, border=2)


def test_the_truth_has_no_error(scene):
    statistics = evaluate(scene.truth, scene)
    assert list(statistics) == [
        *(f"rms_error_{r}" for r in REGIONS),
        *(f"bad_pixels_{r}" for r in REGIONS),
        "fraction_matched",
        "predict_err_match",
    ]
    # The images of this scene are made up: they say nothing about its truth.
    del statistics["predict_err_match"]
    assert statistics.pop("fraction_matched") == 1
    assert set(statistics.values()) == {0}


def test_units_are_pixels_and_percent(scene):
    statistics = evaluate(scene.truth - np.float32(1.5), scene)
    assert {v for k, v in statistics.items() if k.startswith("rms")} == {1.5}
    assert {v for k, v in statistics.items() if k.startswith("bad")} == {100}
    assert all(type(v) is float for v in statistics.values())


def test_regions_are_told_apart(scene):
    statistics = evaluate(np.full((30, 40), 2, np.float32), scene)
    square, evaluated, hidden = 10 * 10, 26 * 36, 10 * 6
    assert statistics["bad_pixels_all"] == pytest.approx(100 * square / evaluated)
    assert statistics["bad_pixels_nonocc"] == pytest.approx(100 * square / (evaluated - hidden))
    assert statistics["bad_pixels_occ"] == 0
    assert statistics["rms_error_all"] == pytest.approx(6 * math.sqrt(square / evaluated))


def test_several_thresholds_are_named(scene):
    disparity = scene.truth + np.float32(0.75)
    statistics = evaluate(disparity, scene, {"base": "taxonomy2002", "thresholds": [0.5, 1, 2], "regions": ["all", "occ"]})
    bad = {k: v for k, v in statistics.items() if k.startswith("bad")}
    assert bad == {
        "bad_pixels_all": 100,
        "bad_pixels_occ": 100,
        "bad0.5_all": 100,
        "bad0.5_occ": 100,
        "bad1_all": 0,
        "bad1_occ": 0,
        "bad2_all": 0,
        "bad2_occ": 0,
    }


def test_missing_estimates(scene):
    disparity = scene.truth.copy()
    disparity[2:15, 2:-2] = np.nan
    disparity[15, 2:-2] = np.inf
    statistics = evaluate(disparity, scene)
    assert statistics["fraction_matched"] == pytest.approx(12 / 26)
    assert statistics["bad_pixels_all"] == pytest.approx(100 * 14 / 26)
    assert statistics["rms_error_all"] == 0


def test_an_empty_map(scene):
    statistics = evaluate(
        np.full(scene.truth.shape, np.nan, np.float32), scene, {"base": "taxonomy2002", "count_grey_holes": False}
    )
    assert statistics.pop("fraction_matched") == 0
    assert all(v == 100 if k.startswith("bad") else math.isnan(v) for k, v in statistics.items())


def test_an_empty_region_gives_nan(scene):
    statistics = evaluate(scene.truth, scene, {"base": "taxonomy2002", "border": 15, "prediction": "none"})
    assert all(math.isnan(v) for v in statistics.values())


def test_without_truth_density_and_prediction_remain():
    scene = make_scene(image=np.zeros((10, 12), np.uint8), border=1)
    disparity = np.zeros((10, 12), np.float32)
    disparity[1:5] = np.nan
    # Both frames are black. Four of ten rows are holes, which count as 255 in grey images unless told otherwise.
    assert evaluate(disparity, scene) == {"fraction_matched": 0.5, "predict_err_match": pytest.approx(255 * 0.4**0.5)}
    honest = {"base": "taxonomy2002", "count_grey_holes": False}
    assert evaluate(disparity, scene, honest) == {"fraction_matched": 0.5, "predict_err_match": 0}


def test_the_protocol_defaults_to_the_scenes_own(scene):
    other = make_scene(scene.truth, protocol="middlebury-of-another-world")
    assert evaluate(other.truth, other).keys() == evaluate(scene.truth, scene).keys()
    assert list(evaluate(scene.truth, scene, Protocol("mine", regions=["occ"]))) == [
        "rms_error_occ",
        "bad_pixels_occ",
        "fraction_matched",
        "predict_err_match",
    ]


def test_float64_maps_and_views_are_measured(scene):
    expected = evaluate(scene.truth, scene)
    assert evaluate(scene.truth.astype(float), scene) == expected
    assert evaluate(np.asfortranarray(scene.truth), scene) == expected


@pytest.mark.parametrize(
    ("disparity", "message"),
    [
        (np.zeros((40, 30), np.float32), "scene made: the map is 30x40, the scene's images are 40x30$"),
        (np.zeros((30, 40, 3), np.float32), r"shape \(30, 40, 3\); expected \(rows, columns\) = \(30, 40\)$"),
        (np.zeros((30, 40), np.uint8), "the map holds uint8; expected float32 in pixels"),
        (np.zeros((30, 40), bool), "the map holds bool; expected float32"),
    ],
)
def test_maps_that_do_not_fit(scene, disparity, message):
    with pytest.raises(DataError, match=message):
        evaluate(disparity, scene)


def test_what_is_no_map_or_scene_is_told(scene):
    with pytest.raises(ParameterError, match=r"^evaluate: disparity is 'map.pfm'; expected an array, float32 \(rows, columns\);"):
        evaluate("map.pfm", scene)
    with pytest.raises(ParameterError, match=r"^evaluate: scene is 'synthetic/slanted'; expected a Scene, such as"):
        evaluate(np.zeros((2, 3), np.float32), "synthetic/slanted")


def test_an_unknown_protocol(scene):
    with pytest.raises(ParameterError, match=r"no protocol 'taxonomy2020'; .*did you mean 'taxonomy2002'"):
        evaluate(scene.truth, scene, "taxonomy2020")


PUBLISHED = {
    # Middlebury v2 evaluation page: percent bad nonocc, all at 0.5, 0.75, 1, 1.5, 2 px, three digits.
    ("patchmatch", "tsukuba"): ((15.0, 15.0, 2.09, 2.09, 1.77), (15.4, 15.4, 2.33, 2.33, 1.92)),
    ("patchmatch", "venus"): ((1.00, 0.41, 0.21, 0.13, 0.12), (1.34, 0.64, 0.39, 0.24, 0.20)),
    ("adcensus", "tsukuba"): ((1.07,), (1.48,)),
    ("adcensus", "venus"): ((0.09,), (0.25,)),
}


@pytest.mark.parametrize(("method", "name"), PUBLISHED)
def test_published_maps_have_their_published_scores(real, submission, method, name):
    # The v2 page counts whole images and non-occluded pixels of these two scenes as the 2002 evaluation does.
    disparity = submission(method, name) / np.float32({"tsukuba": 16, "venus": 8}[name])
    nonocc, everywhere = PUBLISHED[method, name]
    thresholds = [0.5, 0.75, 1, 1.5, 2] if len(nonocc) == 5 else [1]
    for threshold, visible, full in zip(thresholds, nonocc, everywhere, strict=True):
        statistics = evaluate(disparity, real(name), {"base": "taxonomy2002", "threshold": threshold})
        digit = 0.05 if full >= 10 else 0.005
        assert statistics["bad_pixels_nonocc"] == pytest.approx(visible, abs=digit)
        assert statistics["bad_pixels_all"] == pytest.approx(full, abs=digit + 1e-9)


def test_hci_metrics_are_measures_like_others(data):
    from stereo_framework.datasets import load_scene
    from stereo_framework.evaluation.hci import HCI_METRICS, Parameters, hci_metrics
    from stereo_framework.evaluation.regions import hci_subsets

    scene = load_scene("middlebury-v3/trainingQ/Pipes", data=data)
    estimate = scene.truth + np.float32(1)
    found = evaluate(estimate, scene, {"base": "middlebury-v3", "measures": ["hci"]})
    expected = hci_metrics(estimate, scene.truth, hci_subsets(scene)) | {"fraction_matched": 1.0}
    assert found == pytest.approx(expected, nan_ok=True)
    assert set(HCI_METRICS) < set(found)
    assert hci_subsets(scene) is hci_subsets(scene)
    one = evaluate(estimate, scene, {"base": "middlebury-v3", "measures": ["hci_offset", "rms_error"], "regions": ["all"]})
    assert list(one) == ["hci_offset", "rms_error_all", "fraction_matched"]
    wide = {"base": "middlebury-v3", "measures": ["hci"], "hci": {"border": 100}}
    other = evaluate(estimate, scene, wide)
    expected = hci_metrics(estimate, scene.truth, hci_subsets(scene, Parameters(border=100))) | {"fraction_matched": 1.0}
    assert other == pytest.approx(expected, nan_ok=True)
    assert other["hci_offset"] != found["hci_offset"]
    # A whole pixel too near: the distance of the planes, which are seen at an angle.
    assert 0.5 < one["hci_offset"] <= 1.1


def test_hci_metrics_need_truth():
    scene = make_scene(image=np.zeros((30, 40), np.uint8))
    estimate = np.ones((30, 40), np.float32)
    assert evaluate(estimate, scene, {"base": "middlebury-v3", "measures": ["hci"]}) == {"fraction_matched": 1.0}
