"""What changes of level cost along the paths of semi-global matching.

A path that walks through pixels p by steps of r = (rows, columns) pays a penalty for each change of level between p - r and p. Each step has a class, by
what the reference image shows between both pixels; a class has four prices: of a change by one level and by more, and both again where the match image
has an edge between the pixels that p and p - r are matched with.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.grey import GreyConversion, grey_values
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import (
    Image,
    ParameterError,
    SearchRange,
    kernel_array,
    per_image,
)

STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Rows and columns that paths walk by; their opposites are walked too. The first two are those of four paths."""

START = 0
"""Class of a path's first pixel, where nothing is paid."""
FLAT = 1
EDGE = 2


@dataclass(frozen=True, eq=False)
class Penalties:
    """Prices of all steps.

    Parameters
    ----------
    prices : ndarray, float64, (classes, 4)
        Units of the matching cost.
    classes : ndarray, uint8, (steps, rows + 1, columns + 2)
        At ``[i, y, x + 1]`` the class of ``STEPS[i]`` to the pixel (y, x), `START` where it comes from outside the image.
    match_edges : ndarray, bool, (steps, rows + 1, columns + 2), or None
        In the same way where the match image has an edge.
    """

    prices: NDArray[np.float64]
    classes: NDArray[np.uint8]
    match_edges: NDArray[np.bool_] | None = None


PenaltyRule = Literal["constant", "gradient", "edges"]
"""Rules that reduce the penalties at image edges, or leave them constant."""


@dataclass(frozen=True)
class PenaltyRules:
    """Parameters of `semi_global` that determine the penalties.

    Parameters
    ----------
    p1, p2 : float
        Penalties of a change by one level and by more, in units of the matching cost.
    penalties : {"constant", "gradient", "edges"}
        Rule that reduces the penalties.
    edge_threshold : float
        Smallest difference of intensities at an edge, in grey levels.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours for the rule "gradient".
    """

    p1: float
    p2: float
    penalties: PenaltyRule
    edge_threshold: float
    grey_conversion: GreyConversion


def penalties_of_steps(
    function: str,
    shape: tuple[int, int],
    images: tuple[Image | None, Image | None],
    steps: int,
    rules: PenaltyRules,
) -> Penalties:
    """Compute the prices of the first steps in `STEPS`.

    Parameters
    ----------
    function : str
        Name of the calling function, for the error message.
    shape : tuple of int
        Numbers of rows and columns.
    images : tuple of ndarray or None
        Reference image and match image.
    steps : int
        Number of steps.
    rules : PenaltyRules

    Raises
    ------
    ParameterError
        The penalties depend on images, and an image is missing.
    """
    if rules.penalties == "constant":
        return constant(shape, steps, rules.p1, rules.p2)
    reference, match = images
    if reference is None or match is None:
        message = f"{function}.penalties: {rules.penalties!r} needs both images"
        raise ParameterError(message)
    if rules.penalties == "gradient":
        return by_gradient(reference, steps, rules.p1, rules.p2, rules.grey_conversion)
    return by_edges(reference, match, steps, rules.p1, rules.p2, rules.edge_threshold)


def constant(shape: tuple[int, ...], steps: int, p1: float, p2: float) -> Penalties:
    """The same prices everywhere; `shape` is that of the images, `steps` the number of steps."""
    return Penalties(np.array([[0, 0, 0, 0], [p1, p2, p1, p2]], float), _reached(shape, steps))


def _reached(shape: tuple[int, ...], steps: int) -> NDArray[np.uint8]:
    """The classes of steps that are all `FLAT`, of which those from outside the image are `START`."""
    return _between(np.full(shape[:2], FLAT, np.uint8), steps, lambda here, there: here)


def by_gradient(
    reference: Image, steps: int, p1: float, p2: float, grey_conversion: GreyConversion
) -> Penalties:
    """Hirschmueller 2008: changes by more than a level cost p2 over the difference of the grey values, in whole grey levels, but not less than p1.

    Where both penalties are whole numbers, so are the prices.
    """
    grey = grey_values(reference, grey_conversion).astype(np.float32)
    classes = _between(grey, steps, lambda a, b: np.clip(np.rint(np.abs(a - b)), 1, 255))
    large = p2 / np.arange(1, 256)
    if p1 == round(p1) and p2 == round(p2):
        large = np.rint(large)
    prices = np.zeros((256, 4))
    prices[1:, ::2], prices[1:, 1::2] = p1, np.maximum(large, p1)[:, None]
    return Penalties(prices, classes)


def by_edges(
    reference: Image, match: Image, steps: int, p1: float, p2: float, threshold: float
) -> Penalties:
    """Mei et al. 2011: a quarter of the penalties where one image has an edge, a tenth where both have one."""
    left, right = (image_edges(image, steps, float(threshold)) for image in (reference, match))
    classes = _reached(reference.shape, steps) * np.where(left, np.uint8(EDGE), np.uint8(FLAT))
    pair = np.array([p1, p2], float)
    prices = np.zeros((3, 4))
    prices[FLAT], prices[EDGE] = np.append(pair, pair / 4), np.append(pair / 4, pair / 10)
    return Penalties(prices, classes, right)


@per_image
def image_edges(image: Image, steps: int, threshold: float) -> NDArray[np.bool_]:
    """Where an image has edges, as in `Penalties.match_edges`; read-only to whoever gets it: both views of a pair use it."""
    rows, columns = image.shape[:2]
    found = np.zeros((steps, rows + 1, columns + 2), np.bool_)
    channels = kernel_array(
        np.moveaxis(image.reshape(rows, columns, -1), 2, 0).astype(np.float32, copy=False)
    )

    def run(start: int, stop: int) -> None:
        _edge_rows(channels, np.float32(threshold), start, stop, found)

    over_rows(run, rows, steps * image.size)
    return found


@kernel
def _edge_rows(
    image: NDArray[np.float32], threshold: float, start: int, stop: int, edges: NDArray[np.bool_]
) -> None:
    """Edges of some rows of an image ``(channels, rows, columns)``."""
    channels, _, columns = image.shape
    for step in range(edges.shape[0]):
        down, right = STEPS[step]
        first, last = max(right, 0), columns + min(right, 0)
        for y in range(max(start, down), stop):
            for c in range(channels):
                here, there = (
                    image[c, y, first:last],
                    image[c, y - down, first - right : last - right],
                )
                _mark(here, there, threshold, edges[step, y, first + 1 : last + 1])


@kernel
def _mark(
    here: NDArray[np.float32],
    there: NDArray[np.float32],
    threshold: float,
    edges: NDArray[np.bool_],
) -> None:
    for x in range(here.shape[0]):
        edges[x] |= abs(here[x] - there[x]) >= threshold


def _between(
    image: NDArray, steps: int, measure: Callable[[NDArray, NDArray], NDArray]
) -> NDArray[np.uint8]:
    """What a measure of two pixels says of all pixels and those they are reached from, as in `Penalties.classes`; `START` where there is none."""
    rows, columns = image.shape[:2]
    found = np.full((steps, rows + 1, columns + 2), START, np.uint8)
    for i, (down, right) in enumerate(STEPS[:steps]):
        here = image[down:, max(right, 0) : columns + min(right, 0)]
        there = image[: rows - down, max(-right, 0) : columns - max(right, 0)]
        found[i, down:rows, 1 + max(right, 0) : 1 + columns + min(right, 0)] = measure(here, there)
    return found


def edge_lines(
    edges: NDArray[np.bool_], search: SearchRange, levels: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The edges of the match image in the order in which a pixel's levels meet them.

    Parameters
    ----------
    edges : ndarray, bool, (steps, rows + 1, columns + 2)
        As in `Penalties.match_edges`.
    search : SearchRange
    levels : int
        How many levels a pixel has, those added to fill registers included.

    Returns
    -------
    lines : ndarray, uint8, (2, steps, rows, length)
        For the steps themselves and for their opposites.
    starts : ndarray, int64, (columns,)
        What the levels of the pixel (y, x) meet stands in ``lines[..., y, starts[x]:]``. A level out of view meets no edge; one
        between two pixels meets the edge at the nearer, the right one of two.
    """
    steps, rows, columns = edges.shape[0], edges.shape[1] - 1, edges.shape[2] - 2
    denominator, stride = search.denominator, search.stride
    fine = (columns - 1) * denominator
    length = fine + stride * (levels - 1) + 1
    length += -length % stride
    # Consecutive levels are `stride` samples apart: the samples that the levels of a pixel meet are put side by side.
    offsets = np.arange(length).reshape(-1, stride).T.ravel()
    position = fine - search.first - offsets if search.direction > 0 else search.first + offsets
    in_view = (position >= 0) & (position <= fine)
    nearest = np.where(in_view, (2 * position + denominator) // (2 * denominator), 0)
    lines = np.empty((2, steps, rows, length), np.uint8)
    for i, (down, right) in enumerate(STEPS[:steps]):
        for lines_of, own in (
            (lines[0, i], edges[i, :rows, 1:]),
            (lines[1, i], edges[i, down : down + rows, 1 + right :]),
        ):
            lines_of[:] = own[:, nearest] & in_view
    first = np.arange(columns) * denominator
    first = first[::-1] if search.direction > 0 else first
    return lines, first % stride * (length // stride) + first // stride
