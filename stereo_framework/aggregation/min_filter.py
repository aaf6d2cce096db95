"""Spatial minimum filter: turns fixed windows into shiftable ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import PositiveInt, Unit, stage

_PART = 24576
"""Samples of a row in which minima are taken at a time: two such lines fit the second cache."""


@stage("aggregation", source="Scharstein & Szeliski 2002, section 4.2", halo=lambda size: size // 2)
def min_filter(
    volume: CostVolume, *, size: Annotated[PositiveInt, Unit("pixels")] = 9
) -> CostVolume:
    """Smallest cost in a square window around each pixel, level by level.

    After a box filter of the same size every pixel gets the best of all windows that contain it: a shiftable window.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    size : int
        Width and height of the window in pixels. An even window reaches one pixel further right and down: the upper left of the four pixels in its middle is the centre.

    Returns
    -------
    CostVolume
        Same unit and shape; lower is better. The window is clipped at the image borders.

    Raises
    ------
    ParameterError
        `size` below 1.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.2: the minimum filter is separable, as in Bobick & Intille 1999 and Tao et al. 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> costs = np.array([[5, 7, 9, 2]], np.float32)[..., None].repeat(2, axis=2)
    >>> min_filter(CostVolume(costs, SearchRange(0, 1), 255.0), size=3).costs[0, :, 0].tolist()
    [5.0, 5.0, 2.0, 2.0]
    """
    costs, minimum = volume.costs, np.empty_like(volume.costs)
    over_rows(
        lambda start, stop: _kernel(costs, start, size, minimum[start:stop]),
        costs.shape[0],
        costs.size,
    )
    return replace(volume, costs=minimum)


@kernel
def _kernel(costs: Costs, start: int, size: int, out: Costs) -> None:
    """Minima of the rows from `start` on of a whole volume, at whose ends windows are cut off."""
    rows, columns, levels = costs.shape
    before, after = (size - 1) // 2, size // 2
    # Rows by van Herk's scheme, in blocks of `size` rows. A row of `out` holds first the minimum from its row to the last of the present
    # block; prefix: minimum of the rows entered since.
    prefix = np.empty(columns * levels, np.float32)
    beyond = np.empty_like(prefix)
    # The row's minima stand in a line with room for a window at its ends. Its columns are taken some at a time, which then stay in the
    # processor's second cache.
    line = np.full((columns + size - 1) * levels, np.float32(np.inf))
    middle = line[before * levels : before * levels + prefix.shape[0]]
    part = min(columns, max(size, _PART // levels))
    one = np.empty((part + size - 1) * levels, np.float32)
    other = np.empty_like(one)
    for y in range(out.shape[0]):
        target = out[y].reshape(-1)
        if y % size == 0:
            following = prefix
            following[:] = np.inf
            for i in range(y + size - 1, y - 1, -1):
                # Clamped rows are repeated, which does not change a minimum.
                row = costs[min(max(start + i - before, 0), rows - 1)].reshape(-1)
                suffix = out[i].reshape(-1) if i < out.shape[0] else beyond
                _lower(row, following, suffix)
                following = suffix
            for i in range(middle.shape[0]):
                middle[i] = following[i]
        else:
            _enter(costs[min(start + y + after, rows - 1)].reshape(-1), target, prefix, middle)
        for first in range(0, columns, part):
            stop = min(first + part, columns)
            window = line[first * levels : (stop + size - 1) * levels]
            _minimum_along_row(
                window, one, other, size, levels, target[first * levels : stop * levels]
            )


@kernel
def _enter(row: Costs, suffix: Costs, prefix: Costs, minimum: Costs) -> None:
    for i in range(row.shape[0]):
        prefix[i] = row[i] if row[i] < prefix[i] else prefix[i]
        minimum[i] = suffix[i] if suffix[i] < prefix[i] else prefix[i]


@kernel
def _minimum_along_row(
    line: Costs, one: Costs, other: Costs, size: int, levels: int, out: Costs
) -> None:
    """Minima over `size` columns of a line that is `size` - 1 columns longer than `out`; what they cover doubles with each pass."""
    width, covered = out.shape[0], 1
    while 2 * covered < size:
        n, step = width + (size - 2 * covered) * levels, covered * levels
        _lower(line[:n], line[step : step + n], one[:n])
        line, one, other = one, other, one
        covered *= 2
    last = (size - covered) * levels
    _lower(line[:width], line[last : last + width], out)


@kernel
def _lower(a: Costs, b: Costs, out: Costs) -> None:
    for i in range(out.shape[0]):
        out[i] = a[i] if a[i] < b[i] else b[i]
