"""Measure a disparity map: the statistics that a protocol asks for, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError, warn
from stereo_framework.core.frames import pixels_as_float
from stereo_framework.core.input_checks import check_sizes
from stereo_framework.core.parameters import in_short
from stereo_framework.core.scene import Disparity, Mask, Scene, unmasked
from stereo_framework.evaluation.disparity_error import fraction_matched
from stereo_framework.evaluation.hci import hci_metrics
from stereo_framework.evaluation.metrics import GROUPS, METRICS, Region, View, sparsified
from stereo_framework.evaluation.prediction import (
    forward_prediction,
    frame_shift,
    inverse_prediction,
    predicted_frames,
)
from stereo_framework.evaluation.preparation import WHOLE_NUMBERS, prepare
from stereo_framework.evaluation.protocols import Protocol, derive, of_scene, resolve
from stereo_framework.evaluation.regions import hci_subsets, region_masks, within_truth_limit
from stereo_framework.evaluation.roc import map_errors, scene_table
from stereo_framework.evaluation.sanity import find_reading_errors
from stereo_framework.evaluation.sparsification import Sparsification


@checked(
    disparity="an array, float32 (rows, columns); io.read_disparity reads files",
    scene="a Scene, such as load_scene(NAME) gives, or the truth as an array",
    mask="an array of bool, (rows, columns), True where pixels are evaluated",
)
def evaluate(
    disparity: Disparity,
    scene: Scene | Disparity,
    protocol: str | Mapping[str, Any] | Protocol | None = None,
    *,
    thresholds: float | Sequence[float] | None = None,
    confidence: Mapping[str, NDArray[np.float32]] | None = None,
    pseudo_truth: Disparity | None = None,
    mask: Mask | None = None,
) -> dict[str, float]:
    """Measure a disparity map, wherever it comes from.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels between the scene's reference and match frame, larger = nearer; NaN or infinite = no estimate.
        Signed whole numbers are disparities in pixels too. A scale other than 1 gives a warning
        (16 in the maps of OpenCV's StereoSGBM, which must be divided by it).
    scene : Scene, or ndarray, float32, (rows, columns)
        Supplies truth, reference image, masks and border; or the truth alone, pixels, NaN = unknown: then the whole map, or what `mask` leaves of it,
        is the only region, which no name tells (``rms_error``), and what needs images is left out.
    protocol : str, mapping or Protocol, optional
        As `resolve` takes it. Default: the scene's own; of a truth alone ``taxonomy2002``.
    thresholds : float or sequence of float, optional
        Pixels; errors above them count as bad. Default: the protocol's.
    confidence : mapping of str to ndarray, float32, (rows, columns), optional
        How sure each pixel of the map is, by measure of confidence; higher = surer. Every measure given here is evaluated, whatever the protocol's own
        metrics are, by the order in which it puts the pixels that have truth and an estimate: ``auc_NAME`` in percent, ``auc_ratio_NAME``, and
        ``auc_optimal`` for comparison, all at the main threshold.
    pseudo_truth : ndarray, float32, (rows, columns), optional
        A map that stands in for the truth in metrics that do without it (`sweep.pseudo_truth` makes one): pixels, NaN = not reliable.
    mask : ndarray or nested list, bool, (rows, columns), optional
        Only pixels where it is True are evaluated: under every protocol each region, subset and matching table is what it would be without the mask, less
        the other pixels. Prediction errors, which are measured in other frames, are those of the whole map.

    Returns
    -------
    dict of str to float
        One statistic for each metric of the protocol and each region (``rms_error_nonocc``), each predicted frame (``predict_err_near``) or the
        whole map (``fraction_matched``); `metrics.METRICS` lists the units. ``bad_pixels_REGION`` is a percentage at the main threshold; with
        several thresholds there are also ``bad0.5_REGION``, ``bad2_REGION`` and so on. ``fraction_matched`` is there under every protocol: no error says
        anything without the share of pixels that have an estimate. An empty region gives NaN. A statistic is absent if the
        scene lacks the truth, mask or frame that it needs.

    Raises
    ------
    DataError
        The map or the mask has another size than the scene, or the map does not hold floats; the mask leaves no pixel; a measure of confidence has
        another size than the map.
    ParameterError
        What is given is no array or no scene, there is no such protocol, or a derived protocol has faults.

    Warns
    -----
    ResultWarning
        What `find_reading_errors` says of the map: wrong scale, sign or view, a mark for missing estimates that is taken for a disparity.

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework.core.scene import Frame, Scene
    >>> image, truth = np.zeros((20, 30), np.uint8), np.full((20, 30), 4, np.float32)
    >>> frames = (Frame("left", lambda: image, 0), Frame("right", lambda: image, 1))
    >>> scene = Scene("wall", frames, truths={(0, 1): lambda: truth})
    >>> evaluate(truth + 0.5, scene)["rms_error_all"]
    0.5
    >>> evaluate(truth + 0.5, truth, thresholds=[0.25, 2])
    {'rms_error': 0.5, 'bad_pixels': 100.0, 'bad0.25': 100.0, 'bad2': 0.0, 'fraction_matched': 1.0}
    """
    alone = isinstance(scene, np.ndarray)
    if isinstance(scene, np.ndarray):
        scene, protocol = of_truth(scene, protocol)
    if thresholds is not None:
        protocol = derive(
            of_scene(scene) if protocol is None else resolve(protocol),
            {"thresholds": tuple(map(float, np.atleast_1d(thresholds)))},
        )
    scene = scene if mask is None else scene.within(mask)
    disparity = pixels_as_float("evaluate: the map", unmasked("the map", disparity))
    found = statistics_of(disparity, scene, protocol, confidence, pseudo_truth)
    warn(find_reading_errors(disparity, scene))
    return {name.removesuffix("_all"): value for name, value in found.items()} if alone else found


def of_truth(
    truth: Disparity, protocol: str | Mapping[str, Any] | Protocol | None = None
) -> tuple[Scene, Protocol]:
    """Return a scene of a truth without pictures, and the part of a protocol that it allows.

    The whole map is the only region, ``all``.

    Raises
    ------
    DataError
        The truth is no map of disparities in pixels.
    """
    truth = pixels_as_float("evaluate: the truth", unmasked("the truth", truth))
    if truth.ndim != 2 or truth.dtype.kind != "f":
        message = f"evaluate: the truth is {in_short(truth)}; expected float32 (rows, columns) in pixels, NaN = unknown{WHOLE_NUMBERS}"
        raise DataError(message)
    black, own = np.zeros(truth.shape, np.uint8), resolve(protocol or "taxonomy2002")
    metrics = tuple(name for name in own.metrics if METRICS[name].about in ("region", "map"))
    return Scene.from_images(black, black, truth=truth), derive(
        own, {"regions": ("all",), "metrics": metrics}
    )


def statistics_of(
    disparity: Disparity,
    scene: Scene,
    protocol: str | Mapping[str, Any] | Protocol | None,
    confidence: Mapping[str, NDArray[np.float32]] | None = None,
    pseudo_truth: Disparity | None = None,
) -> dict[str, float]:
    """What `evaluate` returns, without its warnings: for callers that tell of `find_reading_errors` themselves."""
    protocol = of_scene(scene) if protocol is None else resolve(protocol)
    prepared, given = prepare(disparity, scene, protocol)
    masks = region_masks(scene, protocol)
    names = (*protocol.metrics, *(GROUPS["confidence"] if confidence else ()))
    metrics = [METRICS[name] for name in dict.fromkeys(names)]
    kinds = {metric.about for metric in metrics}
    whole = _whole(scene, prepared, given, masks["all"], protocol)
    seen: dict[str, Mapping[str, Any]] = {
        "frame": predictions(scene, given, protocol) if "frame" in kinds else {}
    }
    if whole and scene.truth is not None:
        seen["map"] = {"": whole}
        regions = [name for name in protocol.regions if name in masks]
        seen["region"] = {name: _within(whole, masks[name]) for name in regions}
        limited = within_truth_limit(scene, protocol)
        if "matches" in kinds and limited is not None:
            seen["matches"] = {
                "": map_errors(given, scene_table(limited, radius=protocol.end_radius))
            }
        if "subsets" in kinds and limited is not None:
            seen["subsets"] = hci_metrics(given, scene.truth, hci_subsets(limited, protocol.hci))
        if confidence:
            orders = _orders(confidence, disparity, whole, protocol)
            seen["confidence"], seen["sparsification"] = orders, {"": next(iter(orders.values()))}
    if pseudo_truth is not None:
        seen["pseudo_truth"] = {"": Region(prepared, pseudo_truth, masks["all"], given, None)}
    statistics: dict[str, float] = {}
    for metric in metrics:
        statistics |= metric.statistics(seen.get(metric.about, {}), protocol)
    return statistics | {"fraction_matched": fraction_matched(given, masks["all"])}


def _within(whole: Region, mask: Mask) -> Region:
    """Return the part of a disparity map that lies in a region."""
    return Region(whole.disparity, whole.truth, mask, whole.given, whole.calibration)


def predictions(
    scene: Scene, disparity: Disparity, protocol: str | Mapping[str, Any] | Protocol | None = None
) -> dict[str, View]:
    """The views that a disparity map predicts, each with the real image to compare it with.

    Parameters
    ----------
    scene : Scene
    disparity : ndarray, float32, (rows, columns)
        Pixels, not finite = no estimate.
    protocol : str, mapping or Protocol, optional
        As `resolve` takes it. Default: the scene's own.

    Returns
    -------
    dict of str to (Prediction, ndarray)
        By place in the sequence: ``near``, ``middle``, ``match`` and ``far``, as far as the scene has them. With forward prediction it is the frame at
        that place, with inverse prediction the reference frame as drawn from there. Empty when the protocol predicts nothing.
    """
    protocol = of_scene(scene) if protocol is None else resolve(protocol)
    if protocol.prediction == "none":
        return {}
    views: dict[str, View] = {}
    for name, index in predicted_frames(scene).items():
        frame, shift = scene.image(index), frame_shift(scene, index)
        if protocol.prediction == "forward":
            lines = protocol.disparity_gap if protocol.prediction_lines else 0.0
            views[name] = forward_prediction(scene.reference, disparity, shift, gap=lines), frame
        else:
            views[name] = (
                inverse_prediction(frame, disparity, shift, gap=protocol.disparity_gap),
                scene.reference,
            )
    return views


def _orders(
    confidence: Mapping[str, NDArray], disparity: Disparity, whole: Region, protocol: Protocol
) -> dict[str, Sparsification]:
    """The orders in which measures of confidence put the pixels of the map."""
    factor = whole.given.shape[1] // disparity.shape[1]
    found = {}
    for name, values in confidence.items():
        check_sizes("evaluate", disparity=disparity, **{f"confidence_{name}": values})
        # The pixels of an enlarged map are repeated, so those of its confidence are too.
        large = values.repeat(factor, axis=0).repeat(factor, axis=1) if factor > 1 else values
        found[name] = sparsified(whole, large, protocol.thresholds[0], protocol.relative_threshold)
    return found


def _whole(
    scene: Scene, prepared: Disparity, given: Disparity, mask: Mask, protocol: Protocol
) -> Region | None:
    """All evaluated pixels, in the pixel unit that the protocol counts errors in; None without truth."""
    if scene.truth is None:
        return None
    factor, calibration = protocol.enlargement(scene), scene.calibration
    if factor == 1:
        return Region(prepared, scene.truth, mask, given, calibration)
    if calibration is not None:
        focal_length, doffs = factor * calibration.focal_length, factor * calibration.doffs
        calibration = replace(calibration, focal_length=focal_length, doffs=doffs, center=None)
    size = np.float32(factor)
    return Region(size * prepared, size * scene.truth, mask, size * given, calibration)
