"""Probable markers: numbers that many pixels hold exactly and that are no disparities.

Programs write 0, -1, -9999 or the largest float for pixels without an estimate. Few
formats define such a number, so it is read as a disparity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ROWS = 64
"""Number of rows that are examined, spread over the map."""

_SHARE = 0.003
"""Smallest share of the pixels that a marker is reported from."""

_PIXELS = 20
"""Smallest number of examined pixels that a marker is reported from."""

_NEAR = 0.02
"""Number of stray pixels near a marker, as a share of the marker's pixels."""

_GAP = 0.02
"""Smallest distance of a marker from all other values, as a share of their range."""

_LAYERS = 6
"""Smallest number of distinct other values of a map that is no scene of a few layers."""

_USUAL = (255, 32767, 65535, -32768, 999, 9999, -999, -9999)
"""Stored numbers that programs use as markers, in addition to 0, -1 and large numbers."""

_MOST = 3
"""Largest number of markers that are looked for in a map."""


@dataclass(frozen=True)
class Marker:
    """A number that many pixels hold and that is apart from all other values.

    Parameters
    ----------
    value : float
        In pixels of disparity.
    count : int
        Number of pixels that hold it.
    lowest, highest : float
        Range of the other values.
    """

    value: float
    count: int
    lowest: float
    highest: float


def probable_markers(disparity: NDArray[np.float32], *, scale: float = 1.0) -> list[Marker]:
    """Find the values of a map that probably mean "no disparity".

    A marker is the smallest or the largest value of the map, exactly equal in some
    thousandths of the pixels, and apart from all other values. Besides, it lies on the
    other side of zero than they do, or beyond the width of the image, or it is a number
    that programs use as a marker. A disparity of the scene satisfies none of the three:
    planes that are parallel to the images, maps of whole numbers and maps that are cut
    off at an end of their search range are not reported.

    Parameters
    ----------
    disparity : ndarray of floats, (rows, columns)
        Pixels; values that are not finite are left out.
    scale : float
        Stored units per pixel of the file that the map comes from.
    """
    rows, columns = disparity.shape
    sample = disparity[:: max(1, rows // _ROWS)]
    values = sample[np.isfinite(sample)]
    if _are_usual_disparities(values, columns, scale):
        return []
    stored_levels, counts = np.unique(values, return_counts=True)
    levels: NDArray[np.float64] = stored_levels.astype(np.float64)
    least = max(_PIXELS, _SHARE * sample.size)

    markers: list[Marker] = []
    while len(markers) < _MOST:
        for end in (0, -1):
            other_values = _other_values_apart(levels, counts, end, least)
            if other_values.size and _is_no_disparity(levels[end], other_values, columns, scale):
                count = int(np.count_nonzero(disparity == np.float32(levels[end])))
                markers.append(
                    Marker(
                        float(levels[end]),
                        count,
                        float(other_values.min()),
                        float(other_values.max()),
                    )
                )
                levels = np.delete(levels, end)
                counts = np.delete(counts, end)
                break
        else:
            break
    return markers


def _are_usual_disparities(values: NDArray[np.floating], columns: int, scale: float) -> bool:
    """Return whether neither end of the values can be a marker.

    The values are then positive and smaller than the width of the image, and programs
    use neither end as a marker. This check takes less time than counting all values.
    """
    if not values.size:
        return True
    ends = float(values.min()), float(values.max())
    if not 0 < ends[0] <= ends[1] < columns:
        return False
    stored_ends = [end * scale for end in ends]
    for marker in _USUAL:
        if any(math.isclose(end, marker, rel_tol=1e-5) for end in stored_ends):
            return False
    return True


def _other_values_apart(
    levels: NDArray[np.float64], counts: NDArray[np.int64], end: int, least: float
) -> NDArray[np.float64]:
    """Return all values but that at an end of the sorted levels and a few stray ones.

    Empty if too few pixels hold the value at the end, or if there are too few other
    values.
    """
    if levels.size < 2 or counts[end] < least:
        return levels[:0]
    step = 1 if end == 0 else -1
    other_levels = levels[::step][1:]
    pixels_up_to = np.cumsum(counts[::step][1:])
    first = int(np.searchsorted(pixels_up_to, _NEAR * counts[end], side="right"))
    return other_levels[first:]


def _is_no_disparity(
    value: float, other_values: NDArray[np.float64], columns: int, scale: float
) -> bool:
    """Return whether a value is unlikely to be a disparity next to the other values."""
    has_layers = other_values.size < _LAYERS
    size = abs(value)
    largest = float(np.abs(other_values).max())

    if size >= columns and size >= (10 if has_layers else 2) * largest:
        return True
    if has_layers:
        return False
    is_usual = bool(np.isclose(value * scale, _USUAL, rtol=1e-6, atol=0).any())
    if is_usual and size >= 2 * largest:
        return True

    is_across_zero = value <= 0 < other_values.min() or value >= 0 > other_values.max()
    gap = float(np.abs(other_values - value).min())
    spacing = float(np.median(np.abs(np.diff(other_values))))
    # Where a map is cut off at 0, its other values come near to 0.
    least_gap = max(1.0, 3 * spacing, _GAP * float(np.ptp(other_values)))
    return is_across_zero and gap >= least_gap
