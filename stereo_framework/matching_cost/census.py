"""Census: how many pixels of two windows compare differently."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.grey import GreyConversion
from stereo_framework.core.search import Geometry, arrange_samples, geometry
from stereo_framework.kernels.decorator import kernel
from stereo_framework.matching_cost._bit_strings import (
    Form,
    Odd,
    Strings,
    bit_strings,
    count_differences,
)
from stereo_framework.matching_cost._sampling import Interpolation, close_view, over_bands
from stereo_framework.stages import CostVolume, Image, SearchRange, Unit, stage


@stage(
    "matching_cost",
    source="Zabih & Woodfill 1994, section 3.2; Spangenberg, Langner & Rojas 2013, section 3",
    halo=lambda height: height // 2,
    integer=True,
)
def census(
    reference: Image,
    match: Image,
    search: SearchRange,
    *,
    width: Annotated[Odd, Unit("pixels")] = 9,
    height: Annotated[Odd, Unit("pixels")] = 7,
    form: Form = "plain",
    grey_conversion: GreyConversion = "luma",
    interpolation: Interpolation = "cubic",
) -> CostVolume:
    """How many bits differ between the census strings of the windows around a pixel and its candidates in the match image.

    A string says of each pixel of a window whether it is darker than another one. It does not change with brightness, contrast or any other
    change of exposure that keeps the order of intensities.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Colour is turned into grey.
    search : SearchRange
        Disparities to try, in pixels. Calls in Python also take the ends, and the step
        if it is not 1: ``(0, 63)`` or ``(0, 63, 0.5)``.
    width, height : int
        Of the windows in pixels.
    form : {"plain", "centre_symmetric"}
        What a pixel is compared with: the window's centre, or its own mirror image about the centre, which halves the string.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours to the grey values that the bits compare. "luma" is
        0.299 R + 0.587 G + 0.114 B, not rounded; "rounded_luma" rounds it to whole grey
        levels if the images are uint8, as most programs do; "mean" is the mean of R, G and
        B, not rounded. Blue, the channel with the most noise in photographs, has the
        smallest weight in the luma.
    interpolation : {"linear", "cubic"}
        How the match image is sampled between pixels when `search.step` is a fraction of a pixel.

    Returns
    -------
    CostVolume
        Bits, uint8 (rows, columns, levels), 0 = alike to ``width * height - 1`` (plain) or half of that (centre-symmetric); lower is better.
        Cells out of view cost half of the most, rounded down.

    Raises
    ------
    DataError
        The images differ in shape or type, or are neither uint8 nor float32.
    ParameterError
        A window that is not of 3, 5, ... 15 pixels, another form or grey conversion.

    Notes
    -----
    Zabih & Woodfill 1994, section 3.2, who define it for grey images; Spangenberg, Langner & Rojas 2013 for the centre-symmetric form. Bits are
    set where the pixel, or the first of two in reading order, is strictly darker. Beyond the borders of an image its outermost pixels
    repeat, for each image by itself.

    Between pixels the match image is sampled as by `absolute_difference`. For
    `grey_conversion` "mean", each channel is sampled and the samples are averaged;
    otherwise the grey values are sampled. The window around a position between pixels
    consists of the samples whose distance from it is a whole number of pixels.

    Examples
    --------
    >>> import numpy as np
    >>> left = np.array([[10, 20, 30, 10, 50, 40]], np.uint8)
    >>> brighter = 2 * left + 40
    >>> census(left, brighter, SearchRange(0, 1), width=3, height=3).costs[0].tolist()
    [[0, 4], [0, 3], [0, 3], [0, 6], [0, 6], [0, 6]]
    """
    rows, columns = reference.shape[:2]
    outside_cost = (width * height - 1) // (2 if form == "plain" else 4)
    left, right = bit_strings(
        reference, match, search, width, height, form, grey_conversion, interpolation
    )
    view = geometry(columns, search)
    costs: NDArray[Any] = np.empty((rows, columns, search.levels), np.uint8)

    def run(start: int, stop: int) -> None:
        lines = arrange_samples(right[:, start:stop].swapaxes(0, 1), view)
        _kernel(left, lines, start, view, np.uint8(outside_cost), costs[start:stop])

    over_bands(run, rows, costs.size)
    return CostVolume(costs, search, float(outside_cost))


@kernel
def _kernel(
    left: Strings,
    lines: Strings,
    start: int,
    view: Geometry,
    outside_cost: int,
    costs: NDArray[np.uint8],
) -> None:
    """Costs of some rows, from `start` on, from all strings ``(words, rows, columns)`` of the reference image, and lines ``(rows, words, room)`` of the match image."""
    for y in range(costs.shape[0]):
        count_differences(left[:, start + y], lines[y], view.origins, costs[y])
        close_view(view, outside_cost, costs[y])
