"""Rank: differences between the ranks of two pixels within their windows."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.per_image import per_image
from stereo_framework.core.scene import Image, Search
from stereo_framework.core.stage import Unit, stage
from stereo_framework.core.volume import CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.matching_cost._grey import Odd, compared, grey_line, pixels_of
from stereo_framework.matching_cost._sampling import (
    Geometry,
    Interpolation,
    Sampling,
    arrange,
    close_view,
    geometry,
)

Ranks = NDArray[np.uint8]


@stage("matching_cost", source="Zabih & Woodfill 1994, section 3.1", halo=lambda height: height // 2, integer=True)
def rank(
    reference: Image,
    match: Image,
    search: Search,
    *,
    width: Annotated[Odd, Unit("pixels")] = 9,
    height: Annotated[Odd, Unit("pixels")] = 7,
    interpolation: Interpolation = "cubic",
) -> CostVolume:
    """Absolute difference of the ranks of a pixel and its candidates in the match image, each among the pixels of its window.

    A rank is the number of pixels in a window that are darker than its centre. It does not change with brightness, contrast or any other change
    of exposure that keeps the order of intensities.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Colour is turned into grey, the mean of R, G and B, without rounding.
    search : Search
        Disparities to try, in pixels.
    width, height : int
        Of the windows in pixels.
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
    >>> rank(left, right, Search(0, 1), width=3, height=3).costs[0].tolist()
    [[0, 4], [3, 3], [6, 0], [3, 0]]
    """
    rows, columns = reference.shape[:2]
    outside = (width * height - 1) // 2
    left = _ranks(reference, width, height, 1, True)
    # At whole pixels nothing is interpolated: both views of a pair share their ranks.
    right = _ranks(match, width, height, search.denominator, interpolation == "cubic" or search.denominator == 1)
    view = geometry(columns, search)
    costs: NDArray[Any] = np.empty((rows, columns, search.levels), np.uint8)

    def run(start: int, stop: int) -> None:
        _kernel(left[start:stop], right[start:stop], view, np.uint8(outside), costs[start:stop])

    over_rows(run, rows, costs.size)
    return CostVolume(costs, search, float(outside))


@per_image
def _ranks(image: Image, width: int, height: int, denominator: int, cubic: bool) -> Ranks:
    """Ranks of the pixels of an image and of the positions, 1/denominator apart, between them; ``(rows, positions)``."""
    rows, columns = image.shape[:2]
    window = compared(width, height, "plain")
    pixels, prototype = pixels_of(image)
    sampling = Sampling(denominator, cubic, image.dtype == np.uint8)
    ranks = np.empty((rows, (columns - 1) * denominator + 1), np.uint8)

    def run(start: int, stop: int) -> None:
        _rank_kernel(pixels, start, width, height, window, sampling, prototype, ranks[start:stop])

    over_rows(run, rows, ranks.size * width * height // 4)
    return ranks


@kernel
def _rank_kernel(
    image: NDArray,
    start: int,
    width: int,
    height: int,
    window: NDArray[np.int64],
    sampling: Sampling,
    prototype: NDArray,
    ranks: Ranks,
) -> None:
    """Ranks of the rows from `start` on of a whole image ``(rows, columns, channels)``."""
    rows, fine = ranks.shape
    denominator = sampling.denominator
    margin, above = width // 2 * denominator, height // 2
    # Counts are as wide as the grey values of integer images, so that vectors hold as many of one as of the other.
    sample, counts = np.empty(fine, np.float32), np.empty(fine, np.uint16)
    # Of the rows of a window; the row y of the image stands in line y % height.
    lines = np.empty((height, fine + 2 * margin), prototype.dtype)
    for y in range(start - above, start + rows + above):
        clamped = min(max(y, 0), image.shape[0] - 1)
        grey_line(image[clamped], sampling, sample, margin, lines[y % height])
        if y < start + above:
            continue
        top, centre = y - height + 1, lines[(y - above) % height, margin:]
        counts[:] = 0
        for p in range(0, window.shape[0], 4):
            _count_darker(
                lines[(top + window[p, 0]) % height, window[p, 1] * denominator :],
                lines[(top + window[p + 1, 0]) % height, window[p + 1, 1] * denominator :],
                lines[(top + window[p + 2, 0]) % height, window[p + 2, 1] * denominator :],
                lines[(top + window[p + 3, 0]) % height, window[p + 3, 1] * denominator :],
                centre,
                counts,
            )
        ranks[y - start - above] = counts


@kernel
def _count_darker(a: NDArray, b: NDArray, c: NDArray, d: NDArray, centre: NDArray, counts: NDArray[np.uint16]) -> None:
    for x in range(counts.shape[0]):
        value = centre[x]
        counts[x] += np.uint16(a[x] < value) + np.uint16(b[x] < value) + np.uint16(c[x] < value) + np.uint16(d[x] < value)


@kernel
def _kernel(left: Ranks, right: Ranks, view: Geometry, outside: int, costs: NDArray[np.uint8]) -> None:
    """Costs of some rows, from the ranks of both images."""
    line = np.zeros(view.samples + 2 * view.levels, np.uint8)
    for y in range(right.shape[0]):
        arrange(right[y], view.reverse, view.stride, line[view.levels : view.levels + view.samples])
        _row(left[y], line, view.origins, costs[y])
        close_view(view, outside, costs[y])


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
