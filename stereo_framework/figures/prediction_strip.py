"""Predicted frames of a sequence below the real ones: Figures 5 and 6 of Scharstein & Szeliski (2002)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Image
from stereo_framework.evaluation.prediction import EMPTY, Prediction, prediction_error
from stereo_framework.figures.colours import rgb
from stereo_framework.figures.grid import WIDEST, Panel, grid_figure

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
    real, predicted = [], []
    for name, (prediction, image) in predictions.items():
        told = f"RMS error {errors[name]:.2f} grey levels\n{100 * (1 - np.mean(prediction.visible)):.1f} % holes"
        real.append(Panel(name, image))
        # In colour, so that holes can be distinguished from white.
        shown = np.where(prediction.visible[..., None], rgb(prediction.image), np.array(EMPTY, np.uint8))
        predicted.append(Panel("predicted", shown, below=told))
    whole = all(prediction.visible.all() for prediction, _ in predictions.values())
    holes = [] if whole else [(EMPTY, "hole: nothing was predicted here")]
    # One or two frames are not enlarged to fill the whole width.
    return grid_figure([real, predicted], title, room=WIDEST // max(len(predictions), 3), legend=holes)
