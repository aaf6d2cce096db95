"""Where the levels of a pixel lie in the match image, and the samples of a match row in the order in which levels meet them."""

import functools
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Image, Search, read_only
from stereo_framework.kernels.decorator import kernel

Interpolation = Literal["linear", "cubic"]


def floats_of(image: Image) -> NDArray[np.float32]:
    """An image as kernels take it that compute in float32, ``(rows, columns, channels)``: they are then compiled once for all images."""
    return read_only(np.ascontiguousarray(image, np.float32).reshape(*image.shape[:2], -1))


class Sampling(NamedTuple):
    """How a row of an image is sampled between its pixels.

    Parameters
    ----------
    denominator : int
        Samples are 1/denominator pixels apart; 1 = the pixels themselves.
    cubic : bool
        Between pixels a cubic spline, else straight lines.
    whole : bool
        The image holds integers: what lies between them is cut off toward zero.
    up : bool
        Except for the halves of `bounds`, which are rounded up.
    """

    denominator: int
    cubic: bool
    whole: bool
    up: bool = True


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
    # Samples that one pixel's levels can meet leave the same residue. `arrange` puts residue after residue; each of those before this one fills
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


@kernel
def sample_row(row: NDArray, geometry: Geometry, sampling: Sampling, sample: NDArray[np.float32], lines: NDArray) -> None:
    """Write the samples of one match row ``(columns, channels)`` to `lines`, one for each channel; `sample` has room for those of one."""
    channels = row.shape[1]
    reverse, stride = geometry.reverse, geometry.stride
    margin, stop = geometry.levels, geometry.levels + geometry.samples
    if sampling.denominator > 1 or stride > 1:
        for c in range(channels):
            upsample(row[:, c], sampling, sample)
            arrange(sample, reverse, stride, lines[c, margin:stop])
    # The usual case in one pass.
    elif channels == 3:
        _split(row.reshape(-1), reverse, lines[0, margin:stop], lines[1, margin:stop], lines[2, margin:stop])
    else:
        arrange(row.reshape(-1), reverse, 1, lines[0, margin:stop])


@kernel
def sample_intervals(
    row: NDArray, geometry: Geometry, sampling: Sampling, scratch: NDArray[np.float32], low: NDArray, high: NDArray
) -> None:
    """As `sample_row`, but the bounds of what the row takes on within half a step of each sample; `scratch` has room for the samples three times."""
    margin, stop = geometry.levels, geometry.levels + geometry.samples
    line = scratch[0]
    for c in range(row.shape[1]):
        upsample(row[:, c], sampling, line)
        for upper in (False, True):
            bounds(line, sampling, upper, scratch[1], scratch[2])
            arrange(scratch[2], geometry.reverse, geometry.stride, high[c, margin:stop] if upper else low[c, margin:stop])


@kernel
def bounds(line: NDArray, sampling: Sampling, upper: bool, between: NDArray, bound: NDArray) -> None:
    """The lowest or highest value of a line within half a sample of each; `between` has room for the values between them."""
    last, up = line.shape[0] - 1, np.float32(sampling.whole and sampling.up)
    for i in range(last):
        # Integer images: (a + b + 1) div 2, or (a + b) div 2.
        middle = (line[i] + line[i + 1] + up) * np.float32(0.5)
        between[i] = np.trunc(middle) if sampling.whole else middle
    bound[0], bound[last] = line[0], line[last]
    for i in range(1, last):
        bound[i] = max(between[i - 1], line[i], between[i]) if upper else min(between[i - 1], line[i], between[i])
    if last > 0:
        bound[0] = max(line[0], between[0]) if upper else min(line[0], between[0])
        bound[last] = max(line[last], between[last - 1]) if upper else min(line[last], between[last - 1])


@kernel
def _split(row: NDArray, reverse: bool, red: NDArray, green: NDArray, blue: NDArray) -> None:
    """Copy the channels of a flat row apart, reversed or not."""
    columns = red.shape[0]
    for x in range(columns):
        at = np.uint64(columns - 1 - x if reverse else x)
        red[at], green[at], blue[at] = row[3 * x], row[3 * x + 1], row[3 * x + 2]


@kernel
def upsample(row: NDArray, sampling: Sampling, line: NDArray[np.float32]) -> None:
    """Sample a row between its pixels; integer images are truncated toward zero and not clipped, as in the original.

    Cubic is the Hermite spline with the outer neighbours' full difference as end slopes (the Keys family's a = -1), linearly
    extrapolated at the ends of the row.
    """
    columns = row.shape[0]
    denominator, cubic, whole = sampling.denominator, sampling.cubic, sampling.whole
    if denominator == 1:
        for x in range(columns):
            line[x] = row[x]
        return
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


@kernel
def arrange(line: NDArray[np.float32], reverse: bool, stride: int, out: NDArray) -> None:
    """Copy a fine row so that samples `stride` apart stand side by side, reversed where levels meet them from right to left."""
    last = line.shape[0] - 1
    if stride == 1:
        for i in range(last + 1):
            out[i] = line[last - i] if reverse else line[i]
        return
    at = 0
    for residue in range(stride):
        for i in range(residue, last + 1, stride):
            out[at] = line[last - i] if reverse else line[i]
            at += 1
