"""Samples of the match image at and between its pixels, and the costs of levels out of view."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Image, read_only
from stereo_framework.core.search import Geometry
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

Interpolation = Literal["linear", "cubic"]

_BAND = 32
"""Rows whose samples are made at a time."""


def floats_of(image: Image) -> NDArray[np.float32]:
    """An image as kernels take it that compute in float32, ``(rows, columns, channels)``: they are then compiled once for all images."""
    return read_only(np.ascontiguousarray(image, np.float32).reshape(*image.shape[:2], -1))


@kernel(inline="always")
def close_view(geometry: Geometry, outside_cost: float, costs: NDArray) -> None:
    """Set levels out of view of a row of costs ``(columns, levels)`` to `outside_cost`."""
    for x in geometry.clipped:
        costs[x, : geometry.starts[x]] = outside_cost
        costs[x, geometry.stops[x] :] = outside_cost


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
def _upsample(
    pixels: NDArray[np.float32],
    denominator: int,
    cubic: bool,
    whole: bool,
    samples: NDArray[np.float32],
) -> None:
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
                    value = v1 + t * (
                        s1 + t * (3 * (v2 - v1) - 2 * s1 - s2 + t * (s1 + s2 - 2 * (v2 - v1)))
                    )
                    # i / denominator may be rounded down: a whole value just missed must not lose one.
                    line[x * denominator + i] = (
                        np.trunc(value + (1e-9 if value > 0 else -1e-9)) if whole else value
                    )
            line[(columns - 1) * denominator] = row[columns - 1]


def bounds_of(
    samples: NDArray[np.float32], whole: bool, up: bool = True
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
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
