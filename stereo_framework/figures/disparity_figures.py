"""Figures and pictures of disparity maps and their errors, predicted frames, and the picture files that are written for maps of a scene.

Disparities are float32 in pixels. A value that is not finite is missing in an estimate, and unknown in a truth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Disparity, Image, Mask, Scene, inside_border
from stereo_framework.evaluation.evaluate import predictions
from stereo_framework.evaluation.metrics import METRICS
from stereo_framework.evaluation.prediction import EMPTY, Prediction, prediction_error
from stereo_framework.evaluation.protocols import Protocol, of_scene
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures.grid import (
    WIDEST,
    Panel,
    check_image,
    check_shapes,
    difference,
    disparities,
    grid_figure,
    rgb,
)
from stereo_framework.figures.saving import save_picture
from stereo_framework.io import PathLike, write_image

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_IN_A_ROW, _MOST = 4, 5
"""So many pictures make a single row; of columns further ones start a new row."""

MISSING_RGB = (255, 0, 255)
"""Colour of missing estimates in an error picture. It is magenta, since every grey level stands for an error."""


def disparity_figure(disparity: Disparity, shown: tuple[float, float], title: str = "") -> Figure:
    """A disparity map in colours with a colour bar in pixels.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate (grey). The map is drawn at its own resolution; if its sides are shorter than 320 pixels, it is enlarged by a whole
        factor without interpolation.
    shown : (float, float)
        Disparities in pixels at the ends of the colour scale. The colour bar ends in an arrow if the map goes beyond it.
    title : str

    Raises
    ------
    DataError
        The map is not two-dimensional.
    ParameterError
        `shown` is not a range.
    """
    check_shapes(("disparity", disparity))
    panel = Panel("", disparity, disparities(shown), "no estimate")
    rows, columns = disparity.shape
    return grid_figure([[panel]], title, room=max(columns, 640 * columns // max(rows, columns)))


def side_by_side_figure(
    image: Image,
    maps: Mapping[str, Disparity],
    shown: tuple[float, float],
    truth: Disparity | None = None,
    title: str = "",
) -> Figure:
    """The reference image and disparity maps side by side, each with its error or its difference from the first.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The reference image, intensities 0..255.
    maps : mapping of str to ndarray, float32, (rows, columns)
        Disparity maps in pixels, NaN = no estimate (grey), by the names that are written above them.
    shown : (float, float)
        Disparities in pixels at the ends of the colours of all maps and the truth.
    truth : ndarray, float32, (rows, columns), optional
        Pixels, NaN = unknown (grey). It is drawn with the image, and the signed error, map minus truth, with each map. Without it, the difference
        from the first map is drawn with each of the other maps. Pairs that do not fit into one row of pictures stand one above the other.
    title : str

    Raises
    ------
    DataError
        Image and maps differ in size.
    ParameterError
        `shown` is not a range.
    """
    check_image(image, *([] if truth is None else [("truth", truth)]), *maps.items())
    scale = disparities(shown)
    first = next(iter(maps))
    columns = [[Panel("reference image", image)]]
    if truth is not None:
        columns[0].append(Panel("truth", truth, scale, "truth unknown"))
    for name, values in maps.items():
        columns.append([Panel(name, values, scale, "no estimate")])
        if truth is not None:
            columns[-1].append(
                difference("error: disparity − truth", values, truth, "disparity error")
            )
        elif name != first:
            columns[-1].append(
                difference(f"difference from {first}", values, maps[first], "difference")
            )
    if sum(map(len, columns)) <= _IN_A_ROW:
        return grid_figure([[panel for column in columns for panel in column]], title)
    lines = math.ceil(len(columns) / _MOST)
    across = math.ceil(len(columns) / lines)
    rows = [
        row
        for i in range(0, len(columns), across)
        for row in itertools.zip_longest(*columns[i : i + across])
    ]
    return grid_figure(rows, title)


def error_picture(
    path: PathLike, disparity: Disparity, truth: Disparity, *, scale: float = 16.0, border: int = 0
) -> None:
    """Write a picture of the signed error, disparity minus truth, in grey levels around 128.

    Parameters
    ----------
    path : path-like
        A ``.png`` file: 8-bit grey, or RGB when an estimate is missing.
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels.
    scale : float
        Grey levels per pixel of error. The default shows errors up to 8 pixels; larger errors are clipped.
    border : int
        Pixels on all four sides that are not evaluated.

    Raises
    ------
    DataError
        The maps differ in size, or the file cannot be written.

    Notes
    -----
    128 + trunc(error * scale + 0.5), clipped to 0..255; 128 in the border and where the truth is unknown. The rule is that of
    Scharstein & Szeliski's program (2002), whose scale is twice the grey levels per pixel of its disparity maps: 32 for Tsukuba, 16
    for its other scenes. In that program no estimates are missing; here missing ones are `MISSING_RGB`.
    """
    evaluated = _evaluated(disparity, truth, border)
    known = evaluated & np.isfinite(disparity)
    error = np.zeros(truth.shape, np.float32)
    error[known] = disparity[known] - truth[known]
    grey = np.clip(128 + np.trunc(error * np.float32(scale) + np.float32(0.5)), 0, 255).astype(
        np.uint8
    )
    missing = evaluated & ~known
    if missing.any():
        grey = rgb(grey)
        grey[missing] = MISSING_RGB
    write_image(path, grey)


def bad_pixel_picture(
    path: PathLike,
    disparity: Disparity,
    truth: Disparity,
    *,
    threshold: float,
    relative: float = 0.0,
    occluded: Mask | None = None,
    border: int = 0,
) -> None:
    """Write a picture of where a disparity map is wrong: bad pixels black, occluded bad pixels light grey, all others white.

    Parameters
    ----------
    path : path-like
        A ``.png`` file, 8-bit grey.
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels. A missing estimate is bad.
    threshold : float
        Pixels; an error of exactly this is not bad.
    relative : float
        Share of the truth; an error up to this is not bad either.
    occluded : ndarray, bool, (rows, columns), optional
        Pixels that are occluded in the match frame.
    border : int
        Pixels on all four sides that are not evaluated.

    Raises
    ------
    DataError
        The maps differ in size, or the file cannot be written.

    Notes
    -----
    0 for bad, 200 for bad and occluded, 255 for good, in the border and where the truth is unknown: the rule of Scharstein &
    Szeliski's program (2002).
    """
    evaluated = _evaluated(disparity, truth, border)
    # Find what is good, as the statistics do: a comparison with a missing estimate is false.
    known = np.where(evaluated, truth, 0)
    error = np.abs(disparity - known)
    good = (error <= np.float32(threshold)) | (error <= relative * np.abs(known).astype(np.float64))
    grey = np.where(good | ~evaluated, 255, 0).astype(np.uint8)
    if occluded is not None:
        check_shapes(("truth", truth), ("mask of occluded pixels", occluded))
        grey[occluded & (grey == 0)] = 200
    write_image(path, grey)


def _evaluated(disparity: Disparity, truth: Disparity, border: int) -> Mask:
    """Pixels within the border whose truth is known."""
    check_shapes(("disparity", disparity), ("truth", truth))
    return inside_border(truth.shape, border) & np.isfinite(truth)


def prediction_figure(
    predictions: Mapping[str, tuple[Prediction, Image]],
    errors: Mapping[str, float] | None = None,
    title: str = "",
) -> Figure:
    """Draw a column for every predicted frame: the real image, the predicted one below it, and the prediction error below that.

    Parameters
    ----------
    predictions : mapping of str to (Prediction, image)
        The predicted image and the real image to compare it with, uint8 or float32 of the same shape, by the name that stands above their column (near,
        middle, match, far).
    errors : mapping of str to float, optional
        RMS errors in grey levels by the same names, as a protocol counts them. Default: plain RMS errors over predicted pixels.
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
        errors = {
            name: prediction_error(prediction, real)
            for name, (prediction, real) in predictions.items()
        }
    real, predicted = [], []
    for name, (prediction, image) in predictions.items():
        told = f"RMS error {errors[name]:.2f} grey levels\n{100 * (1 - np.mean(prediction.predicted)):.1f} % holes"
        real.append(Panel(name, image))
        # In colour, so that holes can be distinguished from white.
        shown = np.where(
            prediction.predicted[..., None], rgb(prediction.image), np.array(EMPTY, np.uint8)
        )
        predicted.append(Panel("predicted", shown, below=told))
    whole = all(prediction.predicted.all() for prediction, _ in predictions.values())
    holes = [] if whole else [(EMPTY, "hole: nothing was predicted here")]
    # One or two frames are not enlarged to fill the whole width.
    return grid_figure(
        [real, predicted], title, room=WIDEST // max(len(predictions), 3), legend=holes
    )


def write_pictures(
    stem: Path,
    disparity: Disparity,
    scene: Scene,
    protocol: Protocol | None = None,
    confidence: Mapping[str, NDArray] | None = None,
) -> None:
    """Write ``STEM_overview.png``, ``STEM_disparity.png``, with truth ``STEM_error.png`` and ``STEM_bad.png``, predicted views and confidence.

    The views that the protocol predicts are written below the real ones to ``STEM_prediction.png``, and alone to ``STEM_predicted_PLACE.png``.

    Parameters
    ----------
    stem : Path
        The folder, which is made if it is missing, and the beginning of the file names.
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    scene : Scene
        It gives the truth, the border, and the colour scale: its search range or, without one, the range of the truth or of the map.
    protocol : Protocol, optional
        It gives the threshold of the bad-pixel picture and says how views are predicted. Default: the protocol of the scene.
    confidence : mapping of str to ndarray, float32, (rows, columns), optional
        Confidence by measure, higher = surer. It is written to ``STEM_confidence_NAME.png`` as `confidence_greys` makes it.
    """
    protocol = protocol or of_scene(scene)
    border = scene.border if protocol.border is None else protocol.border
    shown = shown_range(disparity, scene)

    def name(what: str) -> Path:
        return stem.with_name(f"{stem.name}_{what}.png")

    save_picture(name("disparity"), disparity_figure(disparity, shown, scene.name))
    save_picture(
        name("overview"),
        side_by_side_figure(
            scene.reference, {"disparity": disparity}, shown, scene.truth, scene.name
        ),
    )
    if views := predictions(scene, disparity, protocol):
        errors = {
            place: METRICS["predict_err"].value(view, protocol) for place, view in views.items()
        }
        title = f"{scene.name}: {protocol.prediction} prediction"
        save_picture(name("prediction"), prediction_figure(views, errors, title))
        for place, (view, _) in views.items():
            write_image(name(f"predicted_{place}"), view.image)
    for measure, values in (confidence or {}).items():
        write_image(name(f"confidence_{measure}"), confidence_greys(values))
    if scene.truth is None:
        return
    error_picture(name("error"), disparity, scene.truth, border=border)
    occluded = region_masks(scene, protocol)["occ"] if "occ" in protocol.regions else None
    bad = {"threshold": main_threshold(scene, protocol), "relative": protocol.relative_threshold}
    bad_pixel_picture(name("bad"), disparity, scene.truth, **bad, occluded=occluded, border=border)


def main_threshold(scene: Scene, protocol: Protocol) -> float:
    """The first threshold of a protocol in pixels of the scene: it may count those of the original images, of which the scene's are reduced ones."""
    return protocol.thresholds[0] / protocol.enlargement(scene)


def write_comparison(path: Path, maps: Mapping[str, Disparity], scene: Scene) -> None:
    """Write two or more maps of a scene side by side, with their errors or, without truth, their differences from the first.

    Parameters
    ----------
    path : Path
        A ``.png`` file; its folder is made.
    maps : mapping of str to ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate, by the names that are written above the maps.
    scene : Scene
    """
    shown = shown_range(next(iter(maps.values())), scene)
    save_picture(path, side_by_side_figure(scene.reference, maps, shown, scene.truth, scene.name))


def confidence_greys(confidence: NDArray) -> NDArray[np.uint8]:
    """A measure of confidence as grey levels, uint8 of the same shape. A level is the share of less sure pixels, so that measures of any unit look alike."""
    _, place, count = np.unique(confidence, return_inverse=True, return_counts=True)
    shares = ((np.cumsum(count) - count / 2) / max(confidence.size, 1)).astype(np.float32)
    found: NDArray[np.uint8] = np.rint(255 * shares).astype(np.uint8)
    return found[place].reshape(confidence.shape)


def shown_range(disparity: Disparity, scene: Scene) -> tuple[float, float]:
    """The disparities at the ends of the colour scale, in pixels."""
    if scene.search is not None:
        return scene.search.minimum, scene.search.maximum
    for values in (scene.truth, disparity):
        if values is not None and (known := values[np.isfinite(values)]).size:
            return float(known.min()), float(known.max())
    return 0.0, 1.0
