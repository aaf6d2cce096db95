"""The picture files that are written for disparity maps of a scene."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.evaluation.evaluate import predictions
from stereo_framework.evaluation.metrics import METRICS
from stereo_framework.evaluation.protocols import Protocol, of_scene
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures.disparity_figures import (
    bad_pixel_picture,
    disparity_figure,
    error_picture,
    prediction_figure,
    side_by_side_figure,
)
from stereo_framework.figures.saving import save_picture
from stereo_framework.io import write_image


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
    save_picture(name("overview"), side_by_side_figure(scene.reference, {"disparity": disparity}, shown, scene.truth, scene.name))
    if views := predictions(scene, disparity, protocol):
        errors = {place: METRICS["predict_err"].measure(view, protocol) for place, view in views.items()}
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
    bad_pixel_picture(name("bad"), disparity, scene.truth, threshold=protocol.thresholds[0], occluded=occluded, border=border)


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
    from scipy.stats import rankdata

    shares = ((rankdata(confidence) - 0.5) / max(confidence.size, 1)).astype(np.float32)
    found: NDArray[np.uint8] = np.rint(255 * shares).astype(np.uint8)
    return found.reshape(confidence.shape)


def shown_range(disparity: Disparity, scene: Scene) -> tuple[float, float]:
    """The disparities at the ends of the colour scale, in pixels."""
    if scene.search is not None:
        return scene.search.minimum, scene.search.maximum
    for values in (scene.truth, disparity):
        if values is not None and (known := values[np.isfinite(values)]).size:
            return float(known.min()), float(known.max())
    return 0.0, 1.0
