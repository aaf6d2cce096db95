"""Measure a disparity map: all statistics of a protocol by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.errors import DataError
from stereo_framework.evaluation.disparity_error import bad_pixels, fraction_matched, rms_error
from stereo_framework.evaluation.prediction import (
    forward_prediction,
    frame_shift,
    inverse_prediction,
    predicted_frames,
    prediction_error,
)
from stereo_framework.evaluation.protocols import Protocol, of_scene, resolve, shortest
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.scene import Disparity, Scene


def evaluate(disparity: Disparity, scene: Scene, protocol: str | Mapping[str, Any] | Protocol | None = None) -> dict[str, float]:
    """Statistics of a disparity map, whatever made it.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels between the scene's reference and match frame, larger = nearer; NaN or infinite = no estimate.
    scene : Scene
        Supplies truth, reference image and border.
    protocol : str, mapping or Protocol, optional
        As `resolve` takes it. Default: the scene's own.

    Returns
    -------
    dict of str to float
        ``rms_error_REGION`` in pixels, ``bad_pixels_REGION`` in percent at the main threshold; with several thresholds
        ``bad0.5_REGION``, ``bad2_REGION``, ... besides; ``fraction_matched``, the fraction of evaluated pixels with an estimate.
        An empty region gives NaN. ``predict_err_near``, ``_middle``, ``_match`` and ``_far`` in grey levels, for those frames that the
        sequence has. Without truth only ``fraction_matched`` and the prediction errors.

    Raises
    ------
    DataError
        The map has another size than the scene or does not hold floats.
    ParameterError
        No such protocol, or a derived one with faults.

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework.scene import Frame, Scene
    >>> image, truth = np.zeros((20, 30), np.uint8), np.full((20, 30), 4, np.float32)
    >>> frames = (Frame("left", lambda: image, 0), Frame("right", lambda: image, 1))
    >>> scene = Scene("wall", frames, truths={(0, 1): lambda: truth})
    >>> evaluate(truth + 0.5, scene)["rms_error_all"]
    0.5
    """
    protocol = of_scene(scene) if protocol is None else resolve(protocol)
    disparity = _checked(disparity, scene)
    masks = region_masks(scene, protocol)
    statistics: dict[str, float] = {}
    if (truth := scene.truth) is not None:
        for region in protocol.regions:
            statistics[f"rms_error_{region}"] = rms_error(disparity, truth, masks[region])
        thresholds = {"bad_pixels": protocol.thresholds[0]}
        if len(protocol.thresholds) > 1:
            thresholds |= {f"bad{shortest(t)}": t for t in protocol.thresholds}
        for name, threshold in thresholds.items():
            for region in protocol.regions:
                statistics[f"{name}_{region}"] = bad_pixels(disparity, truth, masks[region], threshold)
    statistics["fraction_matched"] = fraction_matched(disparity, masks["all"])
    if protocol.prediction != "none":
        for name, index in predicted_frames(scene).items():
            statistics[f"predict_err_{name}"] = _prediction_error(disparity, scene, index, protocol)
    return statistics


def _prediction_error(disparity: Disparity, scene: Scene, index: int, protocol: Protocol) -> float:
    frame, shift, gap = scene.image(index), frame_shift(scene, index), protocol.disparity_gap
    if protocol.prediction == "forward":
        lines = gap if protocol.prediction_lines else 0.0
        prediction, real = forward_prediction(scene.reference, disparity, shift, gap=lines), frame
    else:
        prediction, real = inverse_prediction(frame, disparity, shift, gap=gap), scene.reference
    holes = protocol.count_grey_holes and real.ndim == 2
    return prediction_error(prediction, real, partial_shuffle=protocol.partial_shuffle, count_holes=holes)


def _checked(disparity: NDArray, scene: Scene) -> Disparity:
    disparity = np.asarray(disparity)
    rows, columns = scene.reference.shape[:2]
    if disparity.ndim != 2:
        raise DataError(
            f"scene {scene.name}: the map has shape {disparity.shape}; expected (rows, columns) = ({rows}, {columns})"
        )
    if disparity.shape != (rows, columns):
        raise DataError(
            f"scene {scene.name}: the map is {disparity.shape[1]}x{disparity.shape[0]}, the scene's images are {columns}x{rows}"
        )
    if not np.issubdtype(disparity.dtype, np.floating):
        raise DataError(
            f"scene {scene.name}: the map holds {disparity.dtype}; expected float32 in pixels, NaN = no estimate (divide grey levels by their scale)"
        )
    return disparity.astype(np.float32, copy=False)
