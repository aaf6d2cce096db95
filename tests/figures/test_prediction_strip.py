"""Predicted frames below the real ones: figures by their parts, errors against the evaluation."""

import numpy as np
import pytest
from figure_parts import check_layout, legends, titles

from stereo_framework import load_scene
from stereo_framework.evaluation import evaluate
from stereo_framework.evaluation.prediction import (
    EMPTY,
    Prediction,
    forward_prediction,
    frame_shift,
    predicted_frames,
)
from stereo_framework.figures.disparity_figures import prediction_figure
from stereo_framework.figures.saving import save_picture
from stereo_framework.io import read_image


def _predictions(scene, disparity):
    return {
        name: (
            forward_prediction(scene.reference, disparity, frame_shift(scene, index)),
            scene.image(index),
        )
        for name, index in predicted_frames(scene).items()
    }


def _texts(figure):
    return [text.get_text() for text in figure.texts]


def test_a_column_for_every_frame():
    scene = load_scene("synthetic/planes")
    predictions = _predictions(scene, scene.truth)
    figure = prediction_figure(predictions, None, "a scene")
    assert titles(figure) == ["near", "middle", "match", "far", *["predicted"] * 4]
    pictures = [axes.images[0].get_array() for axes in figure.axes]
    for (prediction, real), above, below in zip(
        predictions.values(), pictures[:4], pictures[4:], strict=True
    ):
        np.testing.assert_array_equal(above, real)
        seen = prediction.predicted
        np.testing.assert_array_equal(
            below[seen], np.broadcast_to(prediction.image[seen].T, (3, seen.sum())).T
        )
        assert (below[~seen] == EMPTY).all()
    # The real image stands above its prediction, in one column.
    boxes = [axes.get_window_extent() for axes in figure.axes]
    assert all(a.x0 == b.x0 and a.y0 > b.y1 for a, b in zip(boxes[:4], boxes[4:], strict=True))
    assert legends(figure) == ["hole: nothing was predicted here"]
    assert _texts(figure)[-1] == "a scene"


def test_the_errors_are_those_of_the_evaluation():
    scene = load_scene("synthetic/planes")
    predictions = _predictions(scene, scene.truth)
    statistics = evaluate(scene.truth, scene, {"base": "taxonomy2002", "count_grey_holes": False})
    shares = [100 * np.mean(~prediction.predicted) for prediction, _ in predictions.values()]
    expected = [
        f"RMS error {statistics[f'predict_err_{name}']:.2f} grey levels\n{share:.1f} % holes"
        for name, share in zip(predictions, shares, strict=True)
    ]
    assert _texts(prediction_figure(predictions, None, ""))[:4] == expected
    told = prediction_figure(predictions, dict.fromkeys(predictions, 12.345678), "")
    assert all(text.startswith("RMS error 12.35 grey levels\n") for text in _texts(told)[:4])


def test_holes_in_grey_images_differ_from_white(tmp_path):
    image = np.full((20, 30), 255, np.uint8)
    predicted = np.ones(image.shape, bool)
    predicted[5:15, 10:20] = False
    save_picture(
        tmp_path / "p.png", prediction_figure({"match": (Prediction(image, predicted), image)})
    )
    picture = read_image(tmp_path / "p.png")
    holes = (picture == EMPTY).all(2).sum()
    panel = (
        prediction_figure({"match": (Prediction(image, predicted), image)}, None, "")
        .axes[1]
        .get_window_extent()
    )
    # A sixth of the panel, and the patch that explains it.
    assert holes == pytest.approx(panel.width * panel.height / 6, rel=0.02)
    whole = prediction_figure({"match": (Prediction(image, image > 0), image)}, None, "")
    assert legends(whole) == []


@pytest.mark.parametrize("shape", [(30, 40), (288, 384), (375, 1242), (500, 250)])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_nothing_overlaps(shape, count):
    image = np.zeros(shape, np.uint8)
    predictions = {
        name: (Prediction(image, image > 0), image)
        for name in ("near", "middle", "match", "far")[:count]
    }
    check_layout(
        prediction_figure(
            predictions, dict.fromkeys(predictions, 255.0), "a scene with a long name " * 9
        )
    )
