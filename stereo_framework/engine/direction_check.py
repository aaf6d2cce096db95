"""Check that the matching cost of a plug-in searches in the given direction."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.call_context import collecting_reports
from stereo_framework.core.errors import StereoFrameworkError
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

    The step may be a matching cost of this package that calls a matching cost of a
    plug-in as its inner stage. The error message then names both stages.

    Parameters
    ----------
    step : Step
        Matching cost with its parameters.
    image : ndarray
        The random texture gets the data type and the number of channels of this image.

    Raises
    ------
    StereoFrameworkError
        If the costs are correct for the left image, but wrong for the right image.
    """
    steps = [each_step for _, each_step in step.walk("")]
    if all(each_step.stage.is_built_in for each_step in steps):
        return
    functions = tuple(each_step.stage.function for each_step in steps)
    # An inner step contains the data of a call, and the cache must not keep these data.
    plain_step = Step(step.stage, step.parameters)
    if fault := _direction_fault(functions, plain_step, image.dtype, image.shape[2:]):
        raise StereoFrameworkError(fault)


# The cache distinguishes the functions, because a notebook may register another
# function under the name of a stage.
@functools.lru_cache(maxsize=4096)
def _direction_fault(
    functions: tuple[Callable[..., Any], ...],
    step: Step,
    dtype: np.dtype[Any],
    channels: tuple[int, ...],
) -> str:
    """Describe the costs of the right image; empty if the costs are correct.

    Parameters
    ----------
    functions : tuple of callable
        Functions of the stage and of its inner stages.
    step : Step
    dtype : dtype
        Data type of the test images.
    channels : tuple of int
        Number of channels of colour images. The tuple is empty for grey images.
    """
    shape = (24, 48, *channels)
    texture = np.random.default_rng(1).integers(0, 256, shape).astype(dtype)
    left = np.ascontiguousarray(texture[:, :40])
    right = np.ascontiguousarray(texture[:, 2:42])
    left_share = _share_of_correct_pixels(step, left, right, direction=1)
    right_share = _share_of_correct_pixels(step, right, left, direction=-1)
    if left_share is None or right_share is None:
        return ""
    # Random costs for six disparities would be correct at only one sixth of the pixels.
    is_wrong = left_share > 0.8 and right_share < 0.5
    if not is_wrong:
        return ""

    for inner_step in step.inner_steps.values():
        if inner_step.stage.rules.makes_raw_volume:
            fault = _direction_fault(functions, inner_step, dtype, channels)
            if fault:
                return f"{fault} (inside {step.stage.name})"
    message = (
        "costs that do not obey search.direction: for a texture moved by 2 pixels, "
        f"{left_share:.0%} of the pixels of the left image have the lowest cost at "
        f"disparity 2, but only {right_share:.0%} of the pixels of the right image; "
        "the pixel x matches the pixel x - search.direction * disparity"
    )
    return str(wrong_return(step.stage, message))


def _share_of_correct_pixels(
    step: Step, reference: NDArray, match: NDArray, *, direction: int
) -> float | None:
    """Return the share of pixels whose lowest cost is at disparity 2.

    The result is None if the matching cost raises an exception.
    """
    search = SearchRange(0, 5, direction=direction)
    images = {"reference": reference, "match": match, "search": search}
    # Data with a default value, such as the frames, are left out.
    data = {name: None for name in step.data if step.requires(name)} | images
    try:
        # The reports of these calls do not belong to the images of the pipeline.
        with collecting_reports():
            levels = step(data).costs[6:-6, 12:-12].argmin(axis=2)
    except Exception:
        # The test images may be too small for the matching cost. A matching cost may
        # also need data that are missing in this test.
        return None
    return float(np.mean(levels == 2))
