"""Prediction errors against slow versions, arithmetic and scenes of known geometry."""

import math

import naive_prediction
import numpy as np
import pytest
from evaluation_inputs import disparity_maps
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereo_framework import load_scene
from stereo_framework.core.scene import Frame, Scene
from stereo_framework.evaluation import evaluate
from stereo_framework.evaluation.prediction import (
    Prediction,
    forward_prediction,
    frame_shift,
    inverse_prediction,
    predicted_frames,
    prediction_error,
)

shifts = st.sampled_from([-1.0, -0.5, 0.5, 1.0, 2.0])


def _sequence(positions, reference, match):
    image = np.zeros((3, 4), np.uint8)
    return Scene("s", tuple(Frame(str(p), lambda: image, p) for p in positions), reference, match)


@pytest.mark.parametrize(
    ("positions", "reference", "match", "expected"),
    [
        (range(5), 2, 3, {"near": 1, "match": 3, "far": 4}),  # tsukuba
        (range(9), 2, 6, {"near": 0, "middle": 4, "match": 6, "far": 8}),  # sawtooth, venus
        (range(2), 0, 1, {"match": 1}),  # map
        (range(2), 1, 0, {"match": 0}),
        # Half and whole steps both there: the frame that comes last in the sequence.
        (range(13), 4, 8, {"near": 2, "middle": 6, "match": 8, "far": 12}),
    ],
)
def test_frames_are_chosen_by_their_place(positions, reference, match, expected):
    scene = _sequence(positions, reference, match)
    assert predicted_frames(scene) == expected
    if len(scene.frames) > 4:
        assert frame_shift(scene, match) == scene.direction


@given(data=st.data(), disparity=disparity_maps(), shift=shifts, gap=st.sampled_from([0.5, 2.0]))
def test_inverse_prediction_agrees_with_the_slow_version(data, disparity, shift, gap):
    frame = data.draw(hnp.arrays(np.uint8, disparity.shape))
    prediction = inverse_prediction(frame, disparity, shift, gap=gap)
    expected = naive_prediction.inverse(frame, disparity, shift, gap)
    np.testing.assert_array_equal(prediction.predicted, ~np.isnan(expected))
    drawn = np.clip(expected[prediction.predicted], 0, 255)
    # Rounded to whole grey levels, from float32: half a level and a little.
    np.testing.assert_allclose(prediction.image[prediction.predicted], drawn, atol=0.501)
    assert (prediction.image[~prediction.predicted] == 255).all()


@given(data=st.data(), factor=st.sampled_from([0.2, 0.5, 1.0]))
def test_partial_shuffle_agrees_with_the_slow_version(data, factor):
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    a, b = (data.draw(hnp.arrays(np.uint8, shape)) for _ in range(2))
    predicted = data.draw(hnp.arrays(np.bool_, shape))
    error = prediction_error(Prediction(a, predicted), b, partial_shuffle=factor)
    gaps = naive_prediction.shuffled_gap(b, a, factor)[predicted]
    assert error == pytest.approx(np.sqrt(np.mean(gaps**2)) if gaps.size else math.nan, nan_ok=True)


def test_errors_are_rms_grey_levels_over_predicted_pixels_and_channels():
    drawn = np.zeros((2, 2, 3), np.uint8)
    real = drawn.copy()
    real[0, 0] = (30, 0, 0)
    real[1, 1] = 200
    predicted = np.array([[True, True], [True, False]])
    assert prediction_error(Prediction(drawn, predicted), real) == pytest.approx(math.sqrt(900 / 9))
    counted = prediction_error(Prediction(drawn, predicted), real, count_holes=True)
    assert counted == pytest.approx(math.sqrt((900 + 3 * 200**2) / 12))
    assert math.isnan(prediction_error(Prediction(drawn, predicted & False), real))


@pytest.mark.parametrize("kind", ["forward", "inverse"])
def test_the_truth_predicts_a_generated_sequence_better_than_wrong_maps(kind):
    scene = load_scene("synthetic/slanted")
    maps = (
        scene.truth,
        scene.truth + np.float32(1),
        np.full_like(scene.truth, np.nanmean(scene.truth)),
    )

    def errors(disparity, **choices):
        found = evaluate(disparity, scene, {"base": "taxonomy2002", "prediction": kind, **choices})
        return {name: value for name, value in found.items() if name.startswith("predict")}

    truth, shifted, flat = map(errors, maps)
    # A partial shuffle forgives.
    forgiven = [errors(scene.truth, partial_shuffle=s) for s in (0.5, 0.2)]
    assert list(truth) == [
        "predict_err_near",
        "predict_err_middle",
        "predict_err_match",
        "predict_err_far",
    ]
    for name in truth:
        assert forgiven[0][name] < forgiven[1][name] < truth[name] < shifted[name] < flat[name]


def test_a_plane_is_predicted_exactly():
    world = np.random.default_rng(0).integers(0, 256, (10, 60, 3), dtype=np.uint8)
    reference, frame = world[:, 10:50], world[:, 14:54]  # seen from the right: disparity 4
    disparity, columns = np.full((10, 40), 4, np.float32), np.arange(40) + np.zeros((10, 1))
    for found, real, predicted in (
        (forward_prediction(reference, disparity, 1.0), frame, columns < 36),
        (inverse_prediction(frame, disparity, 1.0), reference, columns >= 4),
    ):
        np.testing.assert_array_equal(found.predicted, predicted)
        assert prediction_error(found, real) == 0
        assert (found.image[~predicted] == (255, 192, 255)).all()


@pytest.mark.parametrize(
    ("frame", "column", "disparity", "expected"),
    [
        # Between 0 and 100, cubics give 62.5. Without a second neighbour lines give 50.
        ([0, 0, 100, 0], 3, 1.5, 63),
        ([0, 0, 100], 2, 0.5, 50),
        ([0, 100, 0], 2, 1.5, 50),
        ([0, 0, 100, 0, 0], 3, 1.5, 63),
    ],
)
def test_intensities_are_interpolated_by_cubics_where_both_neighbours_exist(
    frame, column, disparity, expected
):
    image = np.array([frame], np.uint8)
    estimates = np.full(image.shape, np.nan, np.float32)
    estimates[0, column] = disparity
    prediction = inverse_prediction(image, estimates, 1.0)
    assert prediction.predicted.sum() == 1
    assert prediction.image[0, column] == expected
