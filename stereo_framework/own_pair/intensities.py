"""Pairs whose intensities do not fill 0..255: 11 bits in files of 16 bits, reflectances or radiances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from stereo_framework.core.scene import Image, Scene, scale_doubt

_CUT = 0.5
"""Percent of the pixels that a stretch may clip at either end."""

_DARK = 32
"""Intensity that a pair should reach. Files of 16 bits that hold only 13 do not reach it."""


def intensity_doubt(scene: Scene) -> str | None:
    """What is wrong with the images of a pair, with the cure; None if nothing is."""
    images = scene.reference, scene.match
    low, high = min(float(image.min()) for image in images), max(float(image.max()) for image in images)
    if low < high and np.array_equal(*images):
        names = " and ".join(scene.frames[i].name for i in (scene.reference_index, scene.match_index))
        return f"both images are the same, {names}; a pair shows a scene from two places"
    if low < -1 or high > 256:
        return f"the intensities go from {low:g} to {high:g}, where 0 to 255 are expected; --stretch brings them there"
    if doubt := scale_doubt(scene.reference):
        return doubt
    if high < _DARK and low < high:
        return f"the images are dark: of intensities up to 255 they reach {high:.3g}, as where files of 16 bits hold fewer; --stretch spreads them"
    return None


def stretched(scene: Scene) -> tuple[Scene, tuple[float, float]]:
    """A scene whose intensities are spread over 0..255, in the same way in all frames and channels.

    Parameters
    ----------
    scene : Scene

    Returns
    -------
    scene : Scene
        float32 images, clipped to 0..255.
    ends : (float, float)
        The intensities that became 0 and 255: the extremes of all pixels with data in both images, except half a percent at either end.
    """
    pair = scene.reference_index, scene.match_index
    known = [
        image[scene.valid(i)] if scene.valid(i) is not None else image
        for i, image in zip(pair, (scene.reference, scene.match), strict=True)
    ]
    low, high = np.percentile(np.concatenate([values.ravel() for values in known]), [_CUT, 100 - _CUT])
    if not high > low:
        return scene, (0.0, 255.0)
    # The frames of the pair are loaded already; the others are read when they are asked for.
    frames = tuple(
        replace(frame, load=partial(_spread, partial(scene.image, i), low, high), valid=partial(scene.valid, i))
        for i, frame in enumerate(scene.frames)
    )
    return replace(scene, frames=frames), (float(low), float(high))


def stretch_told(ends: tuple[float, float]) -> str:
    """A line about images that were stretched."""
    return "stretched: the intensities {:.4g} to {:.4g} became 0 to 255".format(*ends)


def _spread(load: Callable[[], Image], low: float, high: float) -> Image:
    spread = (load() - np.float32(low)) * np.float32(255 / (high - low))
    return np.clip(spread, 0, 255, out=spread)
