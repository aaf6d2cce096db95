"""Multiple-baseline stereo: costs of several images of a scene are averaged."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.matching_cost.absolute_difference import absolute_difference
from stereo_framework.stages import (
    Image,
    InSlot,
    OtherFrame,
    ParameterError,
    Positive,
    SearchRange,
    Step,
    Unit,
    stage,
    step,
)

_LARGEST_DENOMINATOR = 16
"""Largest denominator of the fractions of a pixel at which costs are computed."""


@stage(
    "matching_cost",
    source="Okutomi & Kanade 1993; Kang et al. 2001, for the better half of the images",
    halo=lambda: 0,
)
def multi_baseline(
    reference: Image,
    match: Image,
    search: SearchRange,
    frames: tuple[OtherFrame, ...] = (),
    *,
    inner: Annotated[Step, InSlot("matching_cost")] = step(absolute_difference),
    truncation: Annotated[Positive, Unit("units of the cost")] | None = None,
    selection: Literal["all", "best_half"] = "all",
) -> CostVolume:
    """Average the costs of the reference image with all other images of the scene.

    A wrong disparity may have a low cost in one image, for example at a repeated
    pattern. It seldom has low costs in several images at once.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Disparities between the reference image and the match image.
    frames : tuple of OtherFrame
        Further images. An image at the baseline b has b times the disparities of the
        match image. A negative baseline means a camera on the other side of the
        reference camera.
    inner : Step
        Matching cost that compares the reference image with each image.
    truncation : float or None
        Largest cost of an image, in units of the cost. With null, costs are not
        truncated.
    selection : {"all", "best_half"}
        Images that count at a pixel and a disparity. ``all``: all images that show the
        pixel. ``best_half``: the half of these images with the lowest costs, rounded
        up. A pixel that is occluded in some images is often visible in the others.

    Returns
    -------
    CostVolume
        Float32, in units of the inner cost. Cells outside the match image have the
        outside cost of the inner cost.

    Raises
    ------
    DataError
        A frame has another size or type than the reference image.
    ParameterError
        `truncation` is not above 0. A baseline is 0.

    Notes
    -----
    Okutomi & Kanade 1993 (PAMI 15), section III, add the squared differences of all
    images as functions of the inverse distance. A disparity is proportional to the
    inverse distance. The mean replaces the sum, so that the cost does not depend on the
    number of images that show a pixel. Kang, Szeliski & Chai 2001 (CVPR) select the
    better half of the images.

    If b times the step of the search range is a fraction with a denominator up to 16,
    the costs are computed exactly at the disparities of the image. Otherwise, they are
    interpolated linearly between two neighbouring disparities.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).integers(0, 256, (4, 40)).astype(np.uint8)
    >>> half_way = OtherFrame(lambda: np.roll(image, -2, axis=1), baseline=0.5)
    >>> match = np.roll(image, -4, axis=1)
    >>> volume = multi_baseline(image, match, SearchRange(0, 6), (half_way,))
    >>> int(volume.costs[0, 20].argmin())
    4
    """
    first = inner(reference=reference, match=match, search=search, mask=None).floats()
    volumes = [first.costs]
    for frame in frames:
        frame_costs = _costs_of_frame(reference, frame, search, inner)
        volumes.append(frame_costs)
    if truncation is not None:
        volumes = [np.minimum(costs, np.float32(truncation)) for costs in volumes]

    in_view = [_is_in_view(search, 1.0, reference.shape[1])]
    in_view += [_is_in_view(search, frame.baseline, reference.shape[1]) for frame in frames]
    if selection == "best_half":
        costs = _mean_of_best_half(volumes, in_view)
    else:
        costs = _mean_in_view(volumes, in_view)
    # Cells outside the match image have the same cost in all methods.
    is_outside = ~in_view[0]
    costs[:, is_outside] = np.float32(first.outside_cost)
    return replace(first, costs=costs)


def _costs_of_frame(reference: Image, frame: OtherFrame, search: SearchRange, inner: Step) -> Costs:
    """Compute the costs of a frame at the levels of the search range of the pair.

    Returns
    -------
    ndarray, float32, (rows, columns, levels)
    """
    if frame.baseline == 0:
        raise ParameterError(
            "multi_baseline: a frame has the baseline 0, so it has no disparity; "
            "expected another position than that of the reference camera"
        )
    share = abs(frame.baseline)
    direction = search.direction if frame.baseline > 0 else -search.direction
    step_of_frame = Fraction(share * search.step).limit_denominator(_LARGEST_DENOMINATOR)
    fine_step = 1 / step_of_frame.denominator
    frame_search = SearchRange.covering(
        share * search.minimum, share * search.maximum, fine_step, direction
    )
    volume = inner(reference=reference, match=frame.image, search=frame_search, mask=None).floats()
    disparities = share * (search.minimum + search.step * np.arange(search.levels))
    positions = (disparities - frame_search.minimum) / frame_search.step
    return _at_positions(volume.costs, positions)


def _at_positions(costs: Costs, positions: NDArray) -> Costs:
    """Return costs at fractional levels, by linear interpolation."""
    positions = np.clip(positions, 0, costs.shape[2] - 1)
    lower_levels = np.floor(positions + 1e-6).astype(np.int64)
    fractions = positions - lower_levels
    if (fractions < 1e-5).all():
        return np.ascontiguousarray(costs[..., lower_levels])
    upper_levels = np.minimum(lower_levels + 1, costs.shape[2] - 1)
    upper_weights = np.maximum(fractions, 0).astype(np.float32)
    interpolated: Costs = (1 - upper_weights) * costs[..., lower_levels]
    interpolated += upper_weights * costs[..., upper_levels]
    return interpolated


def _is_in_view(search: SearchRange, baseline: float, columns: int) -> NDArray[np.bool_]:
    """Return which cells of a row have their candidate inside an image.

    Returns
    -------
    ndarray, bool, (columns, levels)
    """
    disparities = search.minimum + search.step * np.arange(search.levels)
    offsets = search.direction * baseline * disparities
    candidates = np.arange(columns)[:, None] - offsets
    is_in_view: NDArray[np.bool_] = (candidates >= 0) & (candidates <= columns - 1)
    return is_in_view


def _mean_in_view(volumes: list[Costs], in_view: list[NDArray[np.bool_]]) -> Costs:
    """Return the mean of the costs of all images that show a cell."""
    total = np.zeros_like(volumes[0])
    for costs, is_visible in zip(volumes, in_view, strict=True):
        total += np.where(is_visible, costs, np.float32(0))
    counts = np.sum(in_view, axis=0)
    total /= np.maximum(counts, 1).astype(np.float32)
    return total


def _mean_of_best_half(volumes: list[Costs], in_view: list[NDArray[np.bool_]]) -> Costs:
    """Return the mean of the lower half of the costs of all images that show a cell."""
    visible_costs = []
    for costs, is_visible in zip(volumes, in_view, strict=True):
        visible_costs.append(np.where(is_visible, costs, np.float32(np.inf)))
    stacked = np.sort(visible_costs, axis=0)
    counts = np.sum(in_view, axis=0)
    total = np.zeros_like(volumes[0])
    kept_counts = (counts + 1) // 2
    for rank in range(math.ceil(len(volumes) / 2)):
        total += np.where(rank < kept_counts, stacked[rank], np.float32(0))
    total /= np.maximum(kept_counts, 1).astype(np.float32)
    return total
