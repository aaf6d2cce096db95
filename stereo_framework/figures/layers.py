"""Pictures of a scene and a disparity map pixel by pixel, to lay on top of each other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures._drawing import LARGEST_ERROR, grey_levels
from stereo_framework.figures.result_pictures import confidence_greys, shown_range
from stereo_framework.io.images import encode_png
from stereo_framework.scene import Disparity, Scene

_NO_VALUE = 178
"""Grey of pixels without a value, that of the figures."""


def scene_layers(
    scene: Scene, disparity: Disparity, protocol: Protocol, confidence: Mapping[str, NDArray] | None = None
) -> list[tuple[str, bytes]]:
    """Result, truth, error, bad pixels, image and confidence of a map, each a PNG of the scene's size, by what they show.

    Parameters
    ----------
    scene : Scene
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    protocol : Protocol
        Gives the threshold of bad pixels.
    confidence : mapping of str to ndarray, float32, (rows, columns), optional
        By measure, higher = surer; drawn as in `confidence_greys`.
    """
    shown = shown_range(disparity, scene)
    result = ("result", encode_png(disparity_colours(disparity, shown)))
    image = ("image", encode_png(grey_levels(scene.reference)))
    sure = [(f"confidence: {name}", encode_png(confidence_greys(values))) for name, values in (confidence or {}).items()]
    if scene.truth is None:
        return [result, image, *sure]
    with np.errstate(invalid="ignore"):
        error = disparity - scene.truth
    good = np.abs(error) <= np.float32(protocol.thresholds[0])
    evaluated = region_masks(scene, protocol)["all"]
    bad = np.where(good | ~evaluated, 255, 0).astype(np.uint8)
    return [
        result,
        ("truth", encode_png(disparity_colours(scene.truth, shown))),
        ("error", encode_png(_colours(error, "RdBu_r", -LARGEST_ERROR, LARGEST_ERROR))),
        ("bad pixels", encode_png(bad)),
        image,
        *sure,
    ]


def disparity_colours(disparity: Disparity, shown: tuple[float, float]) -> NDArray[np.uint8]:
    """A map in the colours of the figures, uint8 (rows, columns, 3); `shown` are the disparities in pixels at their ends."""
    return _colours(disparity, "viridis", *shown)


def _colours(values: NDArray, name: str, low: float, high: float) -> NDArray[np.uint8]:
    from matplotlib import colormaps

    with np.errstate(invalid="ignore"):
        part = np.clip((values - low) / (max(high - low, 1e-6)), 0, 1)
    picture = (255 * colormaps[name](np.nan_to_num(part))[..., :3] + 0.5).astype(np.uint8)
    picture[~np.isfinite(values)] = _NO_VALUE
    return picture
