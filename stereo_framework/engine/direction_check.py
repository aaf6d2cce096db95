"""Check that the matching cost of a plug-in searches in the given direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import SearchRange
from stereo_framework.core.step import Step
from stereo_framework.engine.return_checks import wrong_return


def check_direction(step: Step, image: NDArray) -> None:
    """Raise an error if a plug-in's matching cost ignores the search direction.

    A matching cost that ignores the direction computes a wrong disparity map for the
    right image. The check compares a random texture with a copy that is shifted by two
    pixels. The lowest costs must be at disparity 2 for the left and for the right
    image. If the costs of the left image are already wrong, the check raises no error.
    Some matching costs need larger images than the small test images.

    Parameters
    ----------
    step : Step
        Matching cost of the plug-in, with its parameters.
    image : ndarray
        The random texture gets the data type and the number of channels of this image.

    Raises
    ------
    StereoFrameworkError
        If the costs are correct for the left image, but wrong for the right image.
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
    # Random costs for six disparities would be correct at only one sixth of the pixels.
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
    """Return the share of pixels whose lowest cost is at disparity 2.

    The result is None if the matching cost raises an exception.
    """
    search = SearchRange(0, 5, direction=direction)
    data = dict.fromkeys(step.data) | {
        "reference": reference,
        "match": match,
        "search": search,
    }
    try:
        levels = step(data).costs[6:-6, 12:-12].argmin(axis=2)
    except Exception:
        # The test images may be too small for the matching cost. A matching cost may
        # also need data that are missing in this test.
        return None
    return float(np.mean(levels == 2))
