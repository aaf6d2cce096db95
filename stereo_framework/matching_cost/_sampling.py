"""Where the levels of a pixel lie in the match image, and the samples of a match row in the order in which levels meet them."""

import functools
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Image, Search, read_only
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

Interpolation = Literal["linear", "cubic"]

_BAND = 32
"""Rows whose samples are made at a time."""


def floats_of(image: Image) -> NDArray[np.float32]:
    """An image as kernels take it that compute in float32, ``(rows, columns, channels)``: they are then compiled once for all images."""
    return read_only(np.ascontiguousarray(image, np.float32).reshape(*image.shape[:2], -1))


class Geometry(NamedTuple):
    """Which levels each column of the reference image has in view, and where in a line of match samples its levels lie.

    A line holds the samples of a match row in an order in which the levels 0, 1, 2 ... of a pixel lie side by side, so that a loop over levels
    reads consecutive memory. Before and after them there is room for as many samples as there are levels: a loop over all levels of a pixel never leaves the
    line, whether they are in view or not. What it finds in that room does not matter; `close_view` overwrites those costs.

    Parameters
    ----------
    starts, stops : ndarray, int64, (columns,)
        In view are the levels from `starts` to `stops` - 1.
    origins : ndarray, int64, (columns,)
        Where in the line level 0 lies; level k lies k places after it.
    clipped : ndarray, int64
        The columns that have levels out of view.
    levels : int
        Levels of a pixel, and free places at either end of the line.
    samples : int
        Samples of a match row.
    stride : int
        Samples from one level to the next.
    reverse : bool
        Levels meet the samples from right to left.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    origins: NDArray[np.int64]
    clipped: NDArray[np.int64]
    levels: int
    samples: int
    stride: int
    reverse: bool


@functools.lru_cache(maxsize=64)
def geometry(columns: int, search: Search) -> Geometry:
    """The geometry of rows of `columns` pixels.

    Examples
    --------
    >>> found = geometry(3, Search(0, 1))
    >>> found.starts.tolist(), found.stops.tolist(), found.clipped.tolist()
    ([0, 0, 0], [1, 2, 2], [0])

    From right to left the line is ``- - 2 1 0 - -``: pixel 2 meets match column 2 at disparity 0 and then 1; pixel 0 meets column 0 alone.

    >>> found.origins.tolist()
    [4, 3, 2]
    """
    samples = (columns - 1) * search.denominator + 1
    seen = search.in_view(columns)
    start = seen.argmax(axis=1)
    stop = start + seen.sum(axis=1)
    # The sample that the first level in view meets, counted in the direction in which levels go.
    position = np.arange(columns) * search.denominator - search.direction * (search.first + search.stride * start)
    if search.direction > 0:
        position = samples - 1 - position
    # Samples that one pixel's levels can meet leave the same residue. `arranged` puts residue after residue; each of those before this one fills
    # the quotient of places, the first few of them one more.
    residue = position % search.stride
    place = residue * (samples // search.stride) + np.minimum(residue, samples % search.stride) + position // search.stride
    origins = np.where(start < stop, search.levels + place - start, 0)
    clipped = np.flatnonzero((start > 0) | (stop < search.levels))
    return Geometry(start, stop, origins, clipped, search.levels, samples, search.stride, search.direction > 0)


@kernel(inline="always")
def close_view(geometry: Geometry, outside: float, costs: NDArray) -> None:
    """Give the levels out of view of a row of costs ``(columns, levels)`` the cost `outside`."""
    for x in geometry.clipped:
        costs[x, : geometry.starts[x]] = outside
        costs[x, geometry.stops[x] :] = outside


def over_bands(run: Callable[[int, int], object], rows: int, work: int) -> None:
    """Call ``run(start, stop)`` on bands of a few rows, as `over_rows` does on ranges: what is made of a band's samples then stays in the caches."""

    def bands(start: int, stop: int) -> None:
        for first in range(start, stop, _BAND):
            run(first, min(first + _BAND, stop))

    over_rows(bands, rows, work)


def samples_of(image: NDArray, denominator: int, cubic: bool) -> NDArray[np.float32]:
    """The rows of an image at their pixels and at the positions between them: float32 (rows, channels, (columns - 1) * denominator + 1).

    Parameters
    ----------
    image : ndarray, (rows, columns) or (rows, columns, channels)
        Where it is uint8, what lies between pixels is cut off toward zero and not clipped, as in the original.
    denominator : int
        Positions are 1/denominator pixels apart.
    cubic : bool
        The Hermite spline with the outer neighbours' full difference as end slopes (the Keys family's a = -1), linearly extrapolated at the ends of the row;
        else straight lines.
    """
    rows, columns = image.shape[:2]
    pixels = np.ascontiguousarray(np.moveaxis(image.reshape(rows, columns, -1), 2, 1), np.float32)
    if denominator == 1:
        return pixels
    samples = np.empty((*pixels.shape[:2], (columns - 1) * denominator + 1), np.float32)
    _upsample(pixels, denominator, cubic, image.dtype == np.uint8, samples)
    return samples


@kernel
def _upsample(pixels: NDArray[np.float32], denominator: int, cubic: bool, whole: bool, samples: NDArray[np.float32]) -> None:
    rows, channels, columns = pixels.shape
    for y in range(rows):
        for c in range(channels):
            row, line = pixels[y, c], samples[y, c]
            for x in range(columns - 1):
                v1, v2 = np.float64(row[x]), np.float64(row[x + 1])
                v0 = np.float64(row[x - 1]) if x > 0 else 2 * v1 - v2
                v3 = np.float64(row[x + 2]) if x + 2 < columns else 2 * v2 - v1
                s1, s2 = (v2 - v0, v3 - v1) if cubic else (v2 - v1, v2 - v1)
                line[x * denominator] = v1
                for i in range(1, denominator):
                    t = i / denominator
                    value = v1 + t * (s1 + t * (3 * (v2 - v1) - 2 * s1 - s2 + t * (s1 + s2 - 2 * (v2 - v1))))
                    # i / denominator may be rounded down: a whole value just missed must not lose one.
                    line[x * denominator + i] = np.trunc(value + (1e-9 if value > 0 else -1e-9)) if whole else value
            line[(columns - 1) * denominator] = row[columns - 1]


def bounds_of(samples: NDArray[np.float32], whole: bool, up: bool = True) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The lowest and the highest value that rows (the last axis) take on within half a sample of each.

    Where values are `whole`, the one in the middle between two is rounded to a whole number, half up or else toward zero.
    """
    middle = (samples[..., :-1] + samples[..., 1:] + np.float32(whole and up)) * np.float32(0.5)
    if whole:
        middle = np.trunc(middle)
    found = []
    for outermost in (np.minimum, np.maximum):
        bound = samples.copy()
        for part in (bound[..., :-1], bound[..., 1:]):
            outermost(part, middle, out=part)
        found.append(bound)
    return found[0], found[1]


def arranged(samples: NDArray, view: Geometry) -> NDArray:
    """Samples of rows (the last axis) in lines: those a level apart side by side, reversed where levels meet them from right to left; 0 in the room around them."""
    lines = np.zeros((*samples.shape[:-1], view.samples + 2 * view.levels), samples.dtype)
    at, ordered = view.levels, samples[..., ::-1] if view.reverse else samples
    for residue in range(view.stride):
        part = ordered[..., residue :: view.stride]
        lines[..., at : at + part.shape[-1]] = part
        at += part.shape[-1]
    return lines
