"""Pairs whose intensities do not fill 0..255: 11 bits in files of 16 bits, reflectances or radiances."""

from dataclasses import replace
from functools import partial

import numpy as np

from stereo_framework.core.scene import Image, Scene, intensity_scale_warning

_CUT = 0.5
"""Percent of the pixels that a stretch may clip at either end."""

_DARK = 32
"""Intensity that a pair should reach. Files of 16 bits that hold only 13 do not reach it."""


def find_intensity_problems(scene: Scene) -> list[str]:
    """What is wrong with the images of a pair, with the cure: nothing, or one sentence."""
    images = scene.reference, scene.match
    low, high = (
        min(float(image.min()) for image in images),
        max(float(image.max()) for image in images),
    )
    if low < high and np.array_equal(*images):
        names = " and ".join(
            scene.frames[i].name for i in (scene.reference_index, scene.match_index)
        )
        return [f"both images are the same, {names}; a pair shows a scene from two places"]
    if low < -1 or high > 256:
        return [
            f"the intensities go from {low:g} to {high:g}, where 0 to 255 are expected; --stretch brings them there"
        ]
    if doubt := intensity_scale_warning(scene.reference):
        return [doubt]
    if low < high < _DARK:
        return [
            f"the images are dark: of intensities up to 255 they reach {high:.3g}, as where files of 16 bits hold fewer; --stretch spreads them"
        ]
    return []


def stretched(scene: Scene) -> tuple[Scene, str]:
    """A scene whose intensities are spread over 0..255, in the same way in all frames and channels.

    Parameters
    ----------
    scene : Scene

    Returns
    -------
    scene : Scene
        float32 images, clipped to 0..255. 0 and 255 are the extremes of all pixels with data in both images, except half a percent at either end.
    told : str
        A line that says so; empty if all pixels are alike.
    """
    known = []
    for index in (scene.reference_index, scene.match_index):
        image, valid = scene.image(index), scene.valid(index)
        known.append((image if valid is None else image[valid]).ravel())
    low, high = np.percentile(np.concatenate(known), [_CUT, 100 - _CUT])
    if not high > low:
        return scene, ""

    def spread(index: int) -> Image:
        return np.clip(
            (scene.image(index) - np.float32(low)) * np.float32(255 / (high - low)), 0, 255
        )

    frames = tuple(
        replace(frame, load=partial(spread, index), valid=partial(scene.valid, index))
        for index, frame in enumerate(scene.frames)
    )
    return replace(
        scene, frames=frames
    ), f"stretched: the intensities {low:.4g} to {high:.4g} became 0 to 255"
