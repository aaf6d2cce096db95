"""Intensities of a pair that do not fill 0..255: of 11 bits in files of 16, of reflectances, of radiances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from stereo_framework.scene import Image, Scene

_CUT = 0.5
"""Percent of the pixels at either end that a stretch may clip."""

_DARK = 32
"""Intensity that a pair should reach: 13 bits in files of 16 do not."""


def intensity_doubt(scene: Scene) -> str | None:
    """What speaks against the intensities of a pair, with the cure; None where nothing does."""
    images = scene.reference, scene.match
    low, high = min(float(image.min()) for image in images), max(float(image.max()) for image in images)
    if low < -1 or high > 256:
        return f"the intensities go from {low:g} to {high:g}, where 0 to 255 are expected; --stretch brings them there"
    if high < _DARK and low < high:
        return f"the images are dark: of intensities up to 255 they reach {high:.3g}, as where files of 16 bits hold fewer; --stretch spreads them"
    return None


def stretched(scene: Scene) -> tuple[Scene, tuple[float, float]]:
    """A scene whose intensities are spread over 0..255, all frames and channels alike.

    Parameters
    ----------
    scene : Scene

    Returns
    -------
    scene : Scene
        float32 images, clipped to 0..255.
    ends : (float, float)
        Intensities that became 0 and 255: those of the pixels with data in both images, but for half a percent at either end.
    """
    pair = scene.reference_index, scene.match_index
    known = [
        image[scene.valid(i)] if scene.valid(i) is not None else image
        for i, image in zip(pair, (scene.reference, scene.match), strict=True)
    ]
    low, high = np.percentile(np.concatenate([values.ravel() for values in known]), [_CUT, 100 - _CUT])
    if not high > low:
        return scene, (0.0, 255.0)
    # Frames of the pair are loaded already; the others stay unread until they are asked for.
    frames = tuple(
        replace(frame, load=partial(_spread, partial(scene.image, i), low, high), valid=partial(scene.valid, i))
        for i, frame in enumerate(scene.frames)
    )
    return replace(scene, frames=frames), (float(low), float(high))


def stretch_told(ends: tuple[float, float]) -> str:
    """What is said of images that were stretched."""
    return "stretched: the intensities {:.4g} to {:.4g} became 0 to 255".format(*ends)


def _spread(load: Callable[[], Image], low: float, high: float) -> Image:
    spread = (load() - np.float32(low)) * np.float32(255 / (high - low))
    return np.clip(spread, 0, 255, out=spread)
