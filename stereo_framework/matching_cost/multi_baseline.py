"""Multiple-baseline stereo: costs of several images of a scene are averaged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple

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
"""Maximum denominator of the exact disparities of a further image.

Costs are computed at fractions of a pixel, such as 1/2 or 3/16.
"""

_SMALLEST_BASELINE = 1e-9
"""Baseline below which an image is ignored, as a share of the baseline of the pair.

A smaller baseline is a rounding error of two equal camera positions.
"""

_ROWS_AT_ONCE = 32
"""Number of rows in a block.

To save memory, the costs of all images are held for only one block at a time.
"""


def _rows_per_frame(inner: Step, selection: str) -> int | None:
    """Return the number of rows of the cost volumes of an image in memory.

    The costs of each image are held once, and the selection of the lowest costs needs a
    copy.
    """
    halo = _halo_of_blocks(inner)
    if halo is None:
        return None
    rows = _ROWS_AT_ONCE + 2 * halo
    return rows + _ROWS_AT_ONCE if selection == "best_half" else rows


class _OtherImage(NamedTuple):
    """An image that is compared with the reference image, and the image's baseline."""

    image: Image
    baseline: float


@stage(
    "matching_cost",
    source="Okutomi & Kanade 1993; Kang et al. 2001, for the better half of the images",
    halo=lambda: 0,
    rows_per_frame=_rows_per_frame,
)
def multi_baseline(
    reference: Image,
    match: Image,
    search: SearchRange,
    frames: tuple[OtherFrame, ...] = (),
    *,
    inner: Annotated[Step, InSlot("matching_cost")] = step(absolute_difference),
    max_cost: Annotated[Positive, Unit("units of the matching cost")] | None = None,
    selection: Literal["all", "best_half"] = "all",
) -> CostVolume:
    """Compare the reference image with each other image, and average the costs.

    A wrong disparity may have a low cost in one image, for example at a repeated
    pattern. A wrong disparity seldom has low costs in several images at once.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Disparities between the reference image and the match image.
    frames : tuple of OtherFrame
        Further images of the scene. The disparities of an image at the baseline b are b
        times the disparities of the match image. A negative baseline means that the
        reference camera is between this camera and the match camera. Images at the
        baseline 0 are not used, because they show the same view as the reference image.
    inner : Step
        Matching cost that compares the reference image with each image.
    max_cost : float or None
        Maximum cost of each image, in units of the matching cost. Higher costs are
        replaced by this value. With null, costs are not truncated.
    selection : {"all", "best_half"}
        Images whose costs are averaged at a pixel and a disparity. ``all`` selects all
        images that show the pixel. ``best_half`` selects only the half of these images
        with the lowest costs, because the costs of images in which the pixel is
        occluded are often higher. The number of selected images is rounded up.

    Returns
    -------
    CostVolume
        Averaged costs, float32, in units of the inner matching cost. Cells outside the
        match image have the outside cost of the inner matching cost. The outside cost
        is truncated like all other costs.

    Raises
    ------
    DataError
        A further image has another size or type than the reference image.
    ParameterError
        `max_cost` is not above 0. The error is also raised if the pair has further
        images and the inner matching cost reads disparity maps or further images. For
        example, `mutual_information` reads a disparity map. An inner matching cost that
        supports only whole disparities is refused if an image needs fractions of a
        pixel.

    Notes
    -----
    Okutomi & Kanade 1993 (PAMI 15) add the squared differences of all images as
    functions of the inverse distance. A disparity is proportional to the inverse
    distance. This stage computes a mean and not a sum, because a sum would depend on
    the number of images that show a pixel. Kang, Szeliski & Chai 2001 (CVPR) average
    only the half of the images with the lowest costs.

    The disparities in an image at the baseline b are b times the disparities of the
    search range. If these disparities are multiples of 1/n pixel and n is at most 16,
    the stage computes the costs exactly at these disparities. For other baselines, the
    stage interpolates the costs linearly between neighbouring disparities. Images that
    were taken at other times than the reference image are used, too.

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
    images = [_OtherImage(match, 1.0), *_images_of_frames(frames, reference)]
    columns = match.shape[1]
    _check_inner_cost(inner, images, search, columns)
    in_view = [_cells_in_view(search, image.baseline, columns) for image in images]
    combine = _mean_of_best_half if selection == "best_half" else _mean_in_view

    costs = np.empty((*reference.shape[:2], search.levels), np.float32)
    outside_cost = 0.0
    for rows, rows_with_halo in _row_blocks(reference.shape[0], inner):
        within_block = slice(rows.start - rows_with_halo.start, rows.stop - rows_with_halo.start)
        images_of_block = [
            _OtherImage(image.image[rows_with_halo], image.baseline) for image in images
        ]
        volumes, outside_cost = _costs_of_images(
            reference[rows_with_halo], images_of_block, search, inner, max_cost
        )
        costs[rows] = combine([volume[within_block] for volume in volumes], in_view)
        # Without this statement, the costs of two blocks would be in memory.
        del volumes

    if max_cost is not None:
        outside_cost = min(outside_cost, max_cost)
    # As in all other matching costs, cells outside the match image have the outside
    # cost.
    costs[:, ~in_view[0]] = np.float32(outside_cost)
    return CostVolume(costs, search, outside_cost)


def _images_of_frames(frames: tuple[OtherFrame, ...], reference: Image) -> list[_OtherImage]:
    """Return the checked images of all frames with another view than the reference."""
    images = []
    for frame in frames:
        if abs(frame.baseline) > _SMALLEST_BASELINE:
            image_of_frame = frame.checked_for(reference).image
            images.append(_OtherImage(image_of_frame, frame.baseline))
    return images


def _check_inner_cost(
    inner: Step, images: list[_OtherImage], search: SearchRange, columns: int
) -> None:
    """Refuse an inner matching cost that cannot compare the images of other frames.

    The first image is the match image, which each inner cost can compare.
    """
    if len(images) > 1:
        _check_inner_data(inner)
    for image in images[1:]:
        _check_whole_steps(_search_of_image(image.baseline, search, columns), image.baseline, inner)


def _check_inner_data(inner: Step) -> None:
    """Refuse an inner matching cost that reads disparity maps or further images.

    These data belong to the pair and cannot be used for images at other baselines.
    """
    unsuitable = sorted({*inner.data} & {"auxiliary", "frames"})
    if unsuitable:
        raise ParameterError(
            f"inner {inner.name} reads the data {unsuitable[0]}, which belong to the two images "
            "of the pair and not to images at other baselines; expected a matching cost that "
            "reads only the two images, such as absolute_difference or census"
        )


def _check_whole_steps(search: SearchRange | None, baseline: float, inner: Step) -> None:
    """Refuse an inner matching cost of whole disparities at fractions of a pixel.

    Parameters
    ----------
    search : SearchRange or None
        Disparities of an image. None if the image shows no candidate pixel.
    baseline : float
        Baseline of the image.
    inner : Step
    """
    if search is None or search.denominator == 1 or not inner.whole_steps:
        return
    raise ParameterError(
        f"inner {inner.name} {inner.whole_steps}, but the disparities of the image at the baseline "
        f"{baseline:g} are multiples of 1/{search.denominator} pixel; choose an inner matching "
        "cost that supports fractions of a pixel, such as absolute_difference, or remove the image"
    )


def _search_of_image(baseline: float, search: SearchRange, columns: int) -> SearchRange | None:
    """Return the disparities of an image that lead to pixels inside the image.

    The result is None if no disparity of the search range leads to such a pixel.
    """
    if not _cells_in_view(search, baseline, columns).any():
        return None
    share = abs(baseline)
    samples_per_pixel = _samples_per_pixel(share * search.minimum, share * search.step)
    direction = search.direction if baseline > 0 else -search.direction
    # A shift by the width of the image leads to no pixel of the image.
    return SearchRange.covering(
        max(share * search.minimum, -columns),
        min(share * search.maximum, columns),
        1 / samples_per_pixel,
        direction,
    )


def _samples_per_pixel(first: float, step: float) -> int:
    """Return n, so that the costs of an image are computed at multiples of 1/n pixel.

    If n can be at most 16, the disparities ``first + k * step`` are such multiples.
    Otherwise, 1/n is not larger than `step`.
    """
    fractions = [Fraction(value).limit_denominator(_LARGEST_DENOMINATOR) for value in (first, step)]
    denominator = math.lcm(*(fraction.denominator for fraction in fractions))
    errors = [
        abs(float(value) - exact) for value, exact in zip(fractions, (first, step), strict=True)
    ]
    if denominator <= _LARGEST_DENOMINATOR and max(errors) < 1e-9:
        return denominator
    return max(_LARGEST_DENOMINATOR, math.ceil(1 / step))


def _halo_of_blocks(inner: Step) -> int | None:
    """Return the halo of the inner cost; None if it must get the whole images."""
    reads_only_images = {*inner.data} <= {"reference", "match", "search", "mask"}
    return inner.halo if reads_only_images else None


def _row_blocks(rows: int, inner: Step) -> Iterator[tuple[slice, slice]]:
    """Yield each block of rows, and the rows that the inner cost reads for this block.

    The function yields only one block with all rows if the inner cost reads all rows of
    an image, or data other than the images, the search range and the mask.
    """
    halo = _halo_of_blocks(inner)
    if halo is None:
        yield slice(0, rows), slice(0, rows)
        return
    for start in range(0, rows, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, rows)
        yield slice(start, stop), slice(max(0, start - halo), min(rows, stop + halo))


def _costs_of_images(
    reference: Image,
    images: list[_OtherImage],
    search: SearchRange,
    inner: Step,
    max_cost: float | None,
) -> tuple[list[Costs], float]:
    """Compute the truncated costs of all images, and the outside cost.

    The outside cost is the outside cost of the first image, which is the match image.
    """
    volumes = []
    outside_costs = []
    for image in images:
        volume = _costs_at_baseline(reference, image.image, image.baseline, search, inner)
        volumes.append(_truncated(volume.costs, max_cost))
        outside_costs.append(volume.outside_cost)
    return volumes, outside_costs[0]


def _costs_at_baseline(
    reference: Image, image: Image, baseline: float, search: SearchRange, inner: Step
) -> CostVolume:
    """Compute the costs of an image at all levels of the search range of the pair."""
    if baseline == 1:
        # The match image has the search range of the pair.
        return inner(reference=reference, match=image, search=search, mask=None).floats()
    search_of_image = _search_of_image(baseline, search, image.shape[1])
    if search_of_image is None:
        # No cell of this image is averaged, so the costs have no effect.
        shape = (*reference.shape[:2], search.levels)
        return CostVolume(np.zeros(shape, np.float32), search, 0.0)
    volume = inner(reference=reference, match=image, search=search_of_image, mask=None).floats()
    disparities = abs(baseline) * (search.minimum + search.step * np.arange(search.levels))
    positions = (disparities - search_of_image.minimum) / search_of_image.step
    return CostVolume(_at_positions(volume.costs, positions), search, volume.outside_cost)


def _at_positions(costs: Costs, positions: NDArray) -> Costs:
    """Interpolate costs linearly at fractional levels."""
    positions = np.clip(positions, 0, costs.shape[2] - 1)
    # A position that rounding has moved slightly below a level counts as this level.
    lower_levels = np.floor(positions + 1e-6).astype(np.int64)
    fractions = positions - lower_levels
    if (fractions < 1e-5).all():
        return np.ascontiguousarray(costs[..., lower_levels])
    upper_levels = np.minimum(lower_levels + 1, costs.shape[2] - 1)
    upper_weights = np.maximum(fractions, 0).astype(np.float32)
    interpolated: Costs = (1 - upper_weights) * costs[..., lower_levels]
    interpolated += upper_weights * costs[..., upper_levels]
    return interpolated


def _truncated(costs: Costs, max_cost: float | None) -> Costs:
    """Replace costs above `max_cost` by `max_cost`, unless `max_cost` is None."""
    if max_cost is None:
        return costs
    return np.minimum(costs, np.float32(max_cost))


def _cells_in_view(search: SearchRange, baseline: float, columns: int) -> NDArray[np.bool_]:
    """Find the cells of a row whose candidate pixel is inside an image.

    Returns
    -------
    ndarray, bool, (columns, levels)
        True if the candidate pixel of the cell is inside the image.
    """
    disparities = search.minimum + search.step * np.arange(search.levels)
    offsets = search.direction * baseline * disparities
    candidates = np.arange(columns)[:, None] - offsets
    is_in_view: NDArray[np.bool_] = (candidates >= 0) & (candidates <= columns - 1)
    return is_in_view


def _mean_in_view(volumes: list[Costs], in_view: list[NDArray[np.bool_]]) -> Costs:
    """Average the costs of all images that contain the candidate pixel of a cell."""
    total = np.zeros_like(volumes[0])
    for costs, is_in_view in zip(volumes, in_view, strict=True):
        total += np.where(is_in_view, costs, np.float32(0))
    counts = np.sum(in_view, axis=0)
    total /= np.maximum(counts, 1).astype(np.float32)
    return total


def _mean_of_best_half(volumes: list[Costs], in_view: list[NDArray[np.bool_]]) -> Costs:
    """Average the lower half of the costs at each cell.

    Costs of images that do not contain the candidate pixel of the cell are left out.
    """
    sorted_costs = np.full((len(volumes), *volumes[0].shape), np.inf, np.float32)
    for costs, is_in_view, costs_in_view in zip(volumes, in_view, sorted_costs, strict=True):
        np.copyto(costs_in_view, costs, where=is_in_view)
    # Sorting in place needs no further copy of the costs of all images.
    sorted_costs.sort(axis=0)
    counts = np.sum(in_view, axis=0)
    counts_of_half = (counts + 1) // 2
    total = np.zeros_like(volumes[0])
    for rank, costs in enumerate(sorted_costs):
        total += np.where(rank < counts_of_half, costs, np.float32(0))
    total /= np.maximum(counts_of_half, 1).astype(np.float32)
    return total
