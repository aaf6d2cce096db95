"""Predicted frames of a sequence below the real ones: Figures 5 and 6 of Scharstein & Szeliski (2002)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Image
from stereo_framework.evaluation.prediction import EMPTY, Prediction, prediction_error
from stereo_framework.figures._drawing import FONT, Sheet, draw_image, panel_size
from stereo_framework.figures.colours import rgb

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def prediction_figure(
    predictions: Mapping[str, tuple[Prediction, Image]], errors: Mapping[str, float] | None = None, title: str = ""
) -> Figure:
    """Draw a column for every predicted frame: the real image, the predicted one below it, and the prediction error below that.

    Parameters
    ----------
    predictions : mapping of str to (Prediction, image)
        The predicted image and the real image to compare it with, uint8 or float32 of the same shape, by the name that stands above their column (near,
        middle, match, far).
    errors : mapping of str to float, optional
        RMS errors in grey levels by the same names, as a protocol counts them. Default: plain RMS errors over visible pixels.
    title : str

    Raises
    ------
    ParameterError
        There is no prediction.

    Notes
    -----
    Holes have the colour `EMPTY`, in grey images too. `write_image` writes the image of a prediction alone.
    """
    if not predictions:
        raise ParameterError("predictions: none given; the sequence has no frame that is predicted")
    if errors is None:
        errors = {name: prediction_error(prediction, real) for name, (prediction, real) in predictions.items()}
    shape = next(iter(predictions.values()))[0].visible.shape
    # One or two frames are not enlarged to fill the whole width.
    width, height = panel_size(shape, max(len(predictions), 3))
    left, gap, bottom, top = 40, 12, 92, 72 if title else 36
    sheet = Sheet(left + len(predictions) * (width + gap), bottom + 2 * height + gap + top)
    for i, (name, (prediction, real)) in enumerate(predictions.items()):
        x = left + i * (width + gap)
        draw_image(sheet.panel_at(x, bottom + height + gap, width, height, name), real)
        draw_image(sheet.panel_at(x, bottom, width, height), _with_holes(prediction))
        share = 100 * (1 - np.mean(prediction.visible))
        text = f"RMS error {errors[name]:.2f} grey levels\n{share:.1f} % holes"
        sheet.text_at(x + width / 2, bottom - 8, text, va="top", fontsize=FONT, linespacing=1.4)
    for row, label in enumerate(("predicted", "real")):
        y = bottom + row * (height + gap) + height / 2
        sheet.text_at(left / 2, y, label, va="center", rotation="vertical", fontsize=FONT + 1)
    sheet.title_line(title, 40)
    if not all(prediction.visible.all() for prediction, _ in predictions.values()):
        red, green, blue = (level / 255 for level in EMPTY)
        sheet.legend("hole: nothing was predicted here", "lower left", (0.0, 0.0), (red, green, blue))
    return sheet.figure


def _with_holes(prediction: Prediction) -> Image:
    """The predicted image in colour, so that holes can be distinguished from white."""
    return np.where(prediction.visible[..., None], rgb(prediction.image), np.array(EMPTY, np.uint8))
