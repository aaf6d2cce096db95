"""PatchMatch stereo: a slanted plane for each pixel, found at random and spread to the pixels that it fits."""

from __future__ import annotations

import functools
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.grey import GreyConversion, grey_values
from stereo_framework.core.scene import Image, Mask, SearchRange
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.kernels.left_right import compute_left_right_difference
from stereo_framework.kernels.progress import counted
from stereo_framework.kernels.threads import over_blocks, over_rows
from stereo_framework.matcher import _patches
from stereo_framework.matcher._patches import NOTHING, TILE, Costs, Side
from stereo_framework.stages import (
    BothSides,
    Fraction01,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Unit,
    stage,
)


@stage("matcher", source="Bleyer, Rhemann & Rother 2011")
def patch_match(
    reference: Image,
    match: Image,
    search: SearchRange,
    mask: SearchMask | None = None,
    *,
    size: Annotated[PositiveInt, Unit("pixels")] = 35,
    iterations: PositiveInt = 3,
    gamma: Annotated[Positive, Unit("grey levels")] = 10.0,
    alpha: Fraction01 = 0.9,
    colour_truncation: Annotated[Positive, Unit("grey levels")] = 10.0,
    gradient_truncation: Annotated[Positive, Unit("grey levels")] = 2.0,
    tolerance: Annotated[NonNegative, Unit("pixels")] | None = 1.0,
    grey_conversion: GreyConversion = "luma",
    seed: NonNegativeInt = 0,
) -> BothSides:
    """Match both views with a plane for each pixel, by which the pixel's window is projected into the other view.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255; grey counts as three equal channels.
    search : SearchRange
        Disparities lie between its ends, in pixels; its step is not used.
    mask : SearchMask, optional
        Masked pixels are neither matched nor matched with, and each pixel's disparity stays within its own range.
    size : int
        Side of the windows, in pixels; an even one counts as one more.
    iterations : int
        How often planes spread over both views; every other time from the last pixel to the first.
    gamma : float
        Difference of two colours, in grey levels summed over the channels, at which a pixel of the window weighs 1/e of its centre.
    alpha : float
        Share of the difference of gradients in the cost, 0..1; the rest is the share of
        the difference of colours. The paper's symbol.
    colour_truncation : float
        Largest difference of two colours that counts, in grey levels summed over the
        channels: tau_col of the paper.
    gradient_truncation : float
        Largest difference of two gradients that counts, in grey levels per pixel:
        tau_grad of the paper.
    tolerance : float, optional
        Largest difference between the views' disparities, in pixels, at which both are kept; elsewhere the lower of the two nearest planes kept to the
        left and right is continued. null: no check and no filling.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours to the grey values of the gradient, as in `census`. Here,
        "rounded_luma" is the same as "luma".
    seed : int
        Seed of all random numbers; the same seed gives the same maps on any number of threads.

    Returns
    -------
    BothSides
        For each view a disparity map in pixels, NaN where it is masked or a row holds nothing; its status, filled where the views differed; and the
        confidence, minus the mean cost of the pixel's plane over its window, 0 = sure.

    Raises
    ------
    ParameterError
        A parameter is out of its range.

    Notes
    -----
    Bleyer, Rhemann & Rother 2011: of q in the window of p ``w(p, q) ((1 - alpha) min(|I_q - J_q'|, colour_truncation)
    + alpha min(|gradient difference|, gradient_truncation))`` is summed up, where ``w = exp(-|I_p - I_q| / gamma)`` and q' the place in the other view that the plane leads to, between
    two pixels by linear interpolation. Planes start at random, are tried by the neighbours to the left and above (the right and below in every other
    iteration) and by the pixels of the other view that meet them, and are changed at random by less and less: by half the range and more than a tenth
    of a pixel.

    The paper leaves some choices open. A gradient is half the difference of the grey
    values of the two neighbours in the row. Beyond the other image its outermost pixels
    repeat, but a pixel that is compared with them costs at least half of the maximum. A
    pixel that is compared with a masked pixel costs the maximum.

    Departures: pixels of a window that weigh less than 0.001 are left out; normals start within 45 degrees of the viewing direction, and planes that slope by
    more than 0.9 along the row are not tried. The weighted median at the end is left to the refinement of that name.
    """
    shape = reference.shape[:2]
    mask = mask or SearchMask()
    by = Costs(
        *map(np.float32, (1 - alpha, alpha, colour_truncation, gradient_truncation, 1 / gamma))
    )
    own, other = _pixels(reference, grey_conversion), _pixels(match, grey_conversion)
    sides = []
    for limits, sign in ((mask, search.direction), (mask.exchanged(search), -search.direction)):
        valid, other_valid, *_ = limits.maps(shape)
        low, high = limits.ranges(search, shape)
        known = (
            np.empty((*shape, 3), np.float32),
            np.empty(shape, np.float32),
            np.ones(shape, np.float32),
        )
        sides.append(
            Side(own, valid & (low <= high), _bordered(other, other_valid), low, high, *known, sign)
        )
        own, other = other, own
    _spread(sides, by, size // 2, iterations, search.maximum - search.minimum, seed)
    maps = [np.where(side.valid, side.planes[..., 2], np.float32(np.nan)) for side in sides]
    return BothSides(
        *(
            _map_status_confidence(side, own, theirs, tolerance)
            for side, own, theirs in zip(sides, maps, maps[::-1], strict=True)
        )
    )


def _spread(
    sides: list[Side], by: Costs, radius: int, iterations: int, width: float, seed: int
) -> None:
    rows, columns = sides[0].own.shape[:2]
    # A refinement draws four random numbers for each halving.
    halvings = 4 * (int(np.ceil(np.log2(max(width, 1) / 2 / 0.1))) + 1)
    # Any window is worth a thread.
    work = rows * columns * (2 * radius + 1) ** 2
    keys = [2 * seed, 2 * seed + 1]
    for side, key in zip(sides, keys, strict=True):
        over_rows(functools.partial(_patches.start, side, key), rows, work)
    heads, following = (np.empty((rows, columns), np.int32) for _ in range(2))
    tiles = -(-rows // TILE), -(-columns // TILE)
    for i in counted(iterations, "iteration"):
        step = 1 if i % 2 == 0 else -1
        for side, key, opposite in zip(sides, keys, sides[::-1], strict=True):
            # At first the planes of the other view are random and as good as any others.
            meet = functools.partial(
                _patches.meet, opposite.planes, opposite.valid, side.sign, heads, following
            )
            over_rows(meet, rows, 5 * rows * columns)
            seen = (
                opposite.planes,
                heads,
                following,
                step,
                np.float32(width),
                key,
                3 + i * halvings,
                radius,
                by,
            )
            # A pixel tries dozens of planes, and waits for its neighbours to the left and above.
            over_blocks(functools.partial(_patches.sweep, side, *seen), tiles, 50 * work)


def _map_status_confidence(
    side: Side, own: NDArray, theirs: NDArray, tolerance: float | None
) -> tuple[NDArray, NDArray, NDArray]:
    """A view's map, status and confidence."""
    status = np.where(side.valid, Status.MATCHED, Status.INVALID).astype(np.uint8)
    sure = np.where(side.valid, -side.costs / side.weights, np.float32(-np.inf))
    sure = np.where(side.valid, sure, sure.min(where=side.valid, initial=0)).astype(np.float32)
    if tolerance is None:
        return own, status, sure
    with np.errstate(invalid="ignore"):
        kept = compute_left_right_difference(own, theirs, side.sign) <= tolerance
    filled = np.empty_like(own)
    over_rows(
        functools.partial(_patches.fill, side.planes, kept, side.low, side.high, filled),
        len(own),
        5 * own.size,
    )
    found = np.where(side.valid, filled, np.float32(np.nan))
    status[side.valid & ~kept] = Status.FILLED
    status[side.valid & np.isnan(found)] = Status.OCCLUDED
    return found, status, sure


def _pixels(image: Image, grey_conversion: GreyConversion) -> NDArray[np.float32]:
    """Red, green, blue and the slope of grey along the row, float32 (rows, columns, 4)."""
    colours = np.broadcast_to(image.reshape(*image.shape[:2], -1), (*image.shape[:2], 3)).astype(
        np.float32
    )
    grey = grey_values(colours, grey_conversion)
    padded: NDArray[np.float32] = np.pad(grey, ((0, 0), (1, 1)), mode="edge")
    return np.dstack([colours, (padded[:, 2:] - padded[:, :-2]) / 2])


def _bordered(pixels: NDArray[np.float32], valid: Mask) -> NDArray[np.uint64]:
    """The pixels with one more column on the right, so that each has a neighbour; pixels that do not count hold `NOTHING` in all values.

    Two float32 values stand in each uint64, so that the kernel loads both at once.
    """
    found = np.pad(
        np.where(valid[..., None], pixels, NOTHING), ((0, 0), (0, 1), (0, 0)), mode="edge"
    )
    return np.ascontiguousarray(found).view(np.uint64)
