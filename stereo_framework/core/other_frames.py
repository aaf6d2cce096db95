"""Further images of a scene, in addition to the two images of a pair."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from stereo_framework.core.errors import ArgumentError, DataError
from stereo_framework.core.frames import Image, intensities, load_into_memory, read_only

LARGEST_BASELINE = 1000
"""Largest distance of a camera to the pair, in units of the baseline of the pair.

At this distance, a disparity of 1 pixel in the pair is a disparity of 1000 pixels. Only
points that are very far away are then visible in both images.
"""


def baseline_fault(baseline: float) -> str:
    """Describe a baseline that is too far from the pair; empty if it is allowed."""
    # If the two images of a pair are exchanged, the baseline b becomes 1 - b.
    # Therefore, the allowed distances to the two cameras of the pair are equal.
    if -LARGEST_BASELINE <= baseline <= LARGEST_BASELINE + 1:
        return ""
    return (
        f"the baseline is {baseline:g}; expected {-LARGEST_BASELINE} to {LARGEST_BASELINE + 1}, "
        "because the image of a camera that is farther away shows no common part of the scene; "
        "correct the position of the camera, or remove the image"
    )


class OtherFrame:
    """An image of the same scene from another camera, or from another time.

    The image is loaded when a method reads the image for the first time. A method that
    does not read the other frames of a scene does not load their images.

    Parameters
    ----------
    load : callable
        Function without arguments that returns the image. The image must have the same
        shape and the same type as the two images of the pair.
    baseline : float
        Position of the camera as a share of the baseline of the pair. The camera of the
        reference image has the position 0, and the camera of the match image has the
        position 1. If a pixel of the reference image has the column x and the disparity
        d, the corresponding pixel of this image has the column
        ``x - search.direction * baseline * d``.
    time : float
        Time of this image minus the time of the reference image, in frames. The value
        is 0 if the two images were taken at the same time.
    match_time : float
        Time of the match image of the pair minus the time of the reference image, in
        frames.
    name : str
        Name of the image in error messages, such as its file name.

    Raises
    ------
    ArgumentError
        `load` is no function, a number is not finite, or the baseline is below -1000 or
        above 1001.

    Examples
    --------
    >>> import numpy as np
    >>> frame = OtherFrame(lambda: np.zeros((4, 6), np.uint8), baseline=0.25)
    >>> frame.image.shape, frame.exchanged().baseline
    ((4, 6), 0.75)
    """

    def __init__(
        self,
        load: Callable[[], Image],
        baseline: float,
        time: float = 0.0,
        match_time: float = 0.0,
        name: str = "",
    ):
        if not callable(load):
            raise ArgumentError(
                "load is no function; expected a function without arguments that returns the image"
            )
        if not all(map(math.isfinite, (baseline, time, match_time))):
            raise ArgumentError(
                f"baseline {baseline}, time {time}, match_time {match_time}: "
                "expected finite numbers"
            )
        if fault := baseline_fault(baseline):
            raise ArgumentError(f"{name}: {fault}" if name else fault)
        self._load = load
        self.baseline = float(baseline)
        self.time = float(time)
        self.match_time = float(match_time)
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        # The image is loaded before the frame is pickled, because a lambda function
        # that loads the image cannot be pickled.
        image = load_into_memory(lambda: self.image)
        return OtherFrame, (image, self.baseline, self.time, self.match_time, self.name)

    def __repr__(self) -> str:
        return f"OtherFrame(baseline={self.baseline:g}, time={self.time:g})"

    @functools.cached_property
    def image(self) -> Image:
        """Return the image, a read-only array of uint8 or float32."""
        return read_only(intensities(self._load()))

    def with_image(self, change: Callable[[Image], Image]) -> OtherFrame:
        """Return the frame with a changed image.

        The changed image is computed when a method reads the image.

        Parameters
        ----------
        change : callable
            Function that takes the image of this frame and returns the new image.
        """
        return OtherFrame(
            lambda: change(self.image),
            self.baseline,
            self.time,
            self.match_time,
            self.name,
        )

    def exchanged(self) -> OtherFrame:
        """Return the frame for the pair with exchanged images.

        In this pair, the former match image is the reference image.
        """
        # Times of the exchanged pair are relative to the former match image.
        return OtherFrame(
            lambda: self.image,
            1 - self.baseline,
            self.time - self.match_time,
            -self.match_time,
            self.name,
        )

    def checked_for(self, reference: Image) -> OtherFrame:
        """Return a frame that checks the shape and the type of its image.

        The check runs when a method reads the image.

        Parameters
        ----------
        reference : ndarray
            Reference image. The image of the frame must have the same shape and type.

        Raises
        ------
        DataError
            The image of the frame and the reference image differ in their shapes or
            types. The error is raised when a method reads the image of the frame.
        """

        def check(image: Image) -> Image:
            if image.shape == reference.shape and image.dtype == reference.dtype:
                return image
            message = (
                f"the image at the baseline {self.baseline:g} is {image.dtype} "
                f"{image.shape}; expected {reference.dtype} {reference.shape}, as the "
                "reference image"
            )
            raise DataError(f"{self.name}: {message}" if self.name else message)

        return self.with_image(check)


def exchanged_frames(frames: tuple[OtherFrame, ...]) -> tuple[OtherFrame, ...]:
    """Return the frames for the pair with exchanged images.

    In this pair, the former match image is the reference image.
    """
    return tuple(frame.exchanged() for frame in frames)


def changed_frames(
    frames: tuple[OtherFrame, ...], change: Callable[[Image], Image]
) -> tuple[OtherFrame, ...]:
    """Return frames whose images are changed by a function.

    The changed images are computed when a method reads them.
    """
    return tuple(frame.with_image(change) for frame in frames)
