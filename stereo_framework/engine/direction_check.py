"""Check whether the matching cost of a plug-in obeys the search direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import SearchRange
from stereo_framework.core.step import Step
from stereo_framework.engine.return_checks import wrong_return


def check_direction(step: Step, image: NDArray) -> None:
    """Raise an error if a plug-in's matching cost ignores the search direction.

    Such a matching cost computes a wrong disparity map for the right image. The check
    matches a random texture and a copy that is shifted by two pixels. The lowest cost
    must be at disparity 2, whichever of the two images is the reference image. If
    already the left image has other disparities, there is no error, because the
    matching cost may need larger images.

    Parameters
    ----------
    step : Step
        The matching cost with its parameters.
    image : ndarray
        Image that defines the type and the number of channels of the random texture.

    Raises
    ------
    StereoFrameworkError
        The lowest costs are at disparity 2 in the left image, but not in the right
        image.
    """
    if step.stage.is_built_in:
        return
    shape = (24, 48, 3)[: image.ndim]
    texture = np.random.default_rng(1).integers(0, 256, shape).astype(image.dtype)
    left = np.ascontiguousarray(texture[:, :40])
    right = np.ascontiguousarray(texture[:, 2:42])
    left_share = _share_of_correct_pixels(step, left, right, direction=1)
    right_share = _share_of_correct_pixels(step, right, left, direction=-1)
    if left_share is None or right_share is None:
        return
    # The search range has six levels, so a sixth of the pixels has the lowest cost at
    # disparity 2 by chance.
    if left_share > 0.8 and right_share < 0.5:
        message = (
            "costs that do not obey search.direction: for a texture moved by 2 pixels, "
            f"{left_share:.0%} of the pixels of the left image have the lowest cost at "
            f"disparity 2, but only {right_share:.0%} of the pixels of the right image; "
            "the pixel x matches the pixel x - search.direction * disparity"
        )
        raise wrong_return(step.stage, message)


def _share_of_correct_pixels(
    step: Step, reference: NDArray, match: NDArray, *, direction: int
) -> float | None:
    """Return the share of pixels with the lowest cost at disparity 2, or None."""
    search = SearchRange(0, 5, direction=direction)
    data = dict.fromkeys(step.stage.data) | {
        "reference": reference,
        "match": match,
        "search": search,
    }
    try:
        levels = step(data).costs[6:-6, 12:-12].argmin(axis=2)
    except Exception:
        # The call may fail because the images are too small for the matching cost, or
        # because it needs data that are None in this test.
        return None
    return float(np.mean(levels == 2))
