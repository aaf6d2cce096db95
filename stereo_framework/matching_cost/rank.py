"""Rank: differences between the ranks of two pixels within their windows."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.grey import GreyConversion
from stereo_framework.core.search import Geometry, arrange_samples, geometry
from stereo_framework.kernels.bits import count_bits
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.matching_cost._bit_strings import Odd, Strings, bit_strings
from stereo_framework.matching_cost._sampling import Interpolation, close_view, over_bands
from stereo_framework.stages import CostVolume, Image, SearchRange, Unit, stage

Ranks = NDArray[np.uint8]


@stage(
    "matching_cost",
    source="Zabih & Woodfill 1994, section 3.1",
    halo=lambda height: height // 2,
    integer=True,
)
def rank(
    reference: Image,
    match: Image,
    search: SearchRange,
    *,
    width: Annotated[Odd, Unit("pixels")] = 9,
    height: Annotated[Odd, Unit("pixels")] = 7,
    grey_conversion: GreyConversion = "luma",
    interpolation: Interpolation = "cubic",
) -> CostVolume:
    """Absolute difference of the ranks of a pixel and its candidates in the match image, each among the pixels of its window.

    A rank is the number of pixels in a window that are darker than its centre. It does not change with brightness, contrast or any other change
    of exposure that keeps the order of intensities.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Colour is turned into grey.
    search : SearchRange
        Disparities to try, in pixels. Calls in Python also take the ends, and the step
        if it is not 1: ``(0, 63)`` or ``(0, 63, 0.5)``.
    width, height : int
        Of the windows in pixels.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours to the grey values that are ranked, as in `census`.
    interpolation : {"linear", "cubic"}
        How the match image is sampled between pixels when `search.step` is a fraction of a pixel.

    Returns
    -------
    CostVolume
        Differences of ranks, that is pixels, uint8 (rows, columns, levels), 0 to ``width * height - 1``; lower is better. Cells out of view cost
        half of the most.

    Raises
    ------
    DataError
        The images differ in shape or type, or are neither uint8 nor float32.
    ParameterError
        A window that is not of 3, 5, ... 15 pixels.

    Notes
    -----
    Zabih & Woodfill 1994, section 3.1. A single rank says little; add the costs over a window. Borders and positions between pixels are
    treated as by `census`.

    Examples
    --------
    >>> import numpy as np
    >>> left, right = np.array([[10, 20, 30, 25]], np.uint8), np.array([[10, 30, 20, 25]], np.uint8)
    >>> rank(left, right, SearchRange(0, 1), width=3, height=3).costs[0].tolist()
    [[0, 4], [3, 3], [6, 0], [3, 0]]
    """
    rows, columns = reference.shape[:2]
    outside_cost = (width * height - 1) // 2
    left, right = map(
        _ranks,
        bit_strings(
            reference, match, search, width, height, "plain", grey_conversion, interpolation
        ),
    )
    view = geometry(columns, search)
    costs: NDArray[Any] = np.empty((rows, columns, search.levels), np.uint8)

    def run(start: int, stop: int) -> None:
        _kernel(
            left[start:stop],
            arrange_samples(right[start:stop], view),
            view,
            np.uint8(outside_cost),
            costs[start:stop],
        )

    over_bands(run, rows, costs.size)
    return CostVolume(costs, search, float(outside_cost))


def _ranks(strings: Strings) -> Ranks:
    """A rank is how many bits of the plain census string are set; ``(rows, positions)``."""
    ranks = np.empty(strings.shape[1:], np.uint8)
    over_rows(
        lambda start, stop: _count(strings[:, start:stop], ranks[start:stop]),
        len(ranks),
        strings.size,
    )
    return ranks


@kernel
def _count(strings: Strings, ranks: Ranks) -> None:
    ranks[:] = 0
    for w in range(strings.shape[0]):
        for y in range(ranks.shape[0]):
            for x in range(ranks.shape[1]):
                ranks[y, x] += np.uint8(count_bits(strings[w, y, x]))


@kernel
def _kernel(
    left: Ranks, lines: Ranks, view: Geometry, outside_cost: int, costs: NDArray[np.uint8]
) -> None:
    """Costs of some rows, from the ranks of the reference image and those of the match image in lines."""
    for y in range(left.shape[0]):
        _row(left[y], lines[y], view.origins, costs[y])
        close_view(view, outside_cost, costs[y])


@kernel
def _row(ranks: Ranks, line: Ranks, origins: NDArray[np.int64], costs: NDArray[np.uint8]) -> None:
    columns, levels = costs.shape
    for x in range(columns):
        # Unsigned indices need no wraparound check.
        at, origin = np.uint64(x), np.uint64(origins[x])
        own = ranks[at]
        for k in range(levels):
            other = line[origin + np.uint64(k)]
            costs[at, np.uint64(k)] = max(own, other) - min(own, other)
