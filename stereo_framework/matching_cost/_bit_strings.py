"""Bit strings of the windows of an image, and how many bits of two of them differ: what `census` and `ad_census` share."""

import functools
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.grey import GreyConversion, grey_values
from stereo_framework.kernels.bits import count_bits
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.matching_cost._sampling import Interpolation, samples_of
from stereo_framework.stages import Image, SearchRange, per_image

Strings = NDArray[np.uint64]

_WORD = 64
"""Bits of a word of a string."""
Odd = Literal[3, 5, 7, 9, 11, 13, 15]
"""Width or height of a window in pixels. What is counted in the largest, 224 pixels around its centre, fits into a byte."""


Form = Literal["plain", "centre_symmetric"]
"""What the pixels of a window are compared with: its centre, or their own mirror image about that."""

_PIECE = 16
"""Pixels of a window are compared so many at a time: the bits of a lane of grey values."""


def bit_strings(
    reference: Image,
    match: Image,
    search: SearchRange,
    width: int,
    height: int,
    form: Form,
    grey_conversion: GreyConversion,
    interpolation: Interpolation,
) -> tuple[Strings, Strings]:
    """The bit strings of the windows around each pixel of the reference image, and around each position of the match image that levels meet.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Beyond its borders the outermost pixels of an image repeat.
    search : SearchRange
        Positions are 1/denominator pixels apart along rows; the pixels of a window remain one pixel apart.
    width, height : int
        Of the windows in pixels, odd.
    form : {"plain", "centre_symmetric"}
        Whether a pixel of the window is compared with its centre or with its mirror image about that.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours to grey values, see `GreyConversion`. The luma is computed
        before the match image is sampled between its pixels, the mean afterwards.
    interpolation : {"linear", "cubic"}
        How the match image is sampled between its pixels.

    Returns
    -------
    ndarray, uint64, (words, rows, columns) and (words, rows, (columns - 1) * denominator + 1)
        Read-only to whoever gets them: they may be kept for others.
    """
    # At whole pixels nothing is interpolated: both views of a pair share their strings.
    cubic = interpolation == "cubic" or search.denominator == 1
    own = _strings(reference, width, height, form, grey_conversion, 1, True)
    return own, _strings(match, width, height, form, grey_conversion, search.denominator, cubic)


@functools.cache
def _compared(width: int, height: int, form: Form) -> NDArray[np.int64]:
    """Row and column of each pixel in a window that is compared, in reading order, and of what it is compared with; int64 (pairs, 4).

    Padded to a multiple of `_PIECE` by the centre and itself, of which none is darker.
    """
    middle = (height // 2, width // 2)
    pixels = [
        divmod(i, width) for i in range(width * height if form == "plain" else width * height // 2)
    ]
    pairs = [
        (y, x, *(middle if form == "plain" else (height - 1 - y, width - 1 - x)))
        for y, x in pixels
        if (y, x) != middle
    ]
    return np.array(pairs + [2 * middle] * (-len(pairs) % _PIECE), np.int64)


@per_image
def _strings(
    image: Image,
    width: int,
    height: int,
    form: Form,
    grey_conversion: GreyConversion,
    denominator: int,
    cubic: bool,
) -> Strings:
    if grey_conversion != "mean":
        image = grey_values(image, grey_conversion)
    # Sums of the channels have the same order as their means, and fit into this type.
    grey_type = np.int16 if image.dtype == np.uint8 else np.float32
    sums = samples_of(image, denominator, cubic).sum(axis=1).astype(grey_type)
    above, aside = height // 2, width // 2 * denominator
    pairs, wide = (
        _compared(width, height, form),
        np.pad(sums, ((above, above), (aside, aside)), mode="edge"),
    )
    strings = np.empty((-(-len(pairs) // _WORD), *sums.shape), np.uint64)
    over_rows(
        lambda start, stop: _kernel(wide, start, stop, pairs, denominator, strings),
        len(sums),
        sums.size * len(pairs) // 4,
    )
    return strings


@kernel
def _kernel(
    wide: NDArray,
    start: int,
    stop: int,
    pairs: NDArray[np.int64],
    denominator: int,
    strings: Strings,
) -> None:
    """Bit strings of the rows `start` to before `stop`, from grey values with as many rows and positions more on each side as windows need."""
    bits = np.empty(strings.shape[2], np.uint16)
    for y in range(start, stop):
        for p in range(0, pairs.shape[0], _PIECE):
            bits[:] = 0
            for q in range(p, p + _PIECE, 4):
                # Sixteen lines at once would be more than there are registers for.
                _append_four(wide[y:], pairs[q:], denominator, bits)
            _put(bits, p % _WORD, strings[p // _WORD, y])


@kernel
def _append_four(
    wide: NDArray, pairs: NDArray[np.int64], denominator: int, bits: NDArray[np.uint16]
) -> None:
    """Shift the bits to the left and set the lowest by the first four pairs of pixels of windows whose first row comes first."""
    a0, b0 = (
        wide[pairs[0, 0], pairs[0, 1] * denominator :],
        wide[pairs[0, 2], pairs[0, 3] * denominator :],
    )
    a1, b1 = (
        wide[pairs[1, 0], pairs[1, 1] * denominator :],
        wide[pairs[1, 2], pairs[1, 3] * denominator :],
    )
    a2, b2 = (
        wide[pairs[2, 0], pairs[2, 1] * denominator :],
        wide[pairs[2, 2], pairs[2, 3] * denominator :],
    )
    a3, b3 = (
        wide[pairs[3, 0], pairs[3, 1] * denominator :],
        wide[pairs[3, 2], pairs[3, 3] * denominator :],
    )
    for x in range(bits.shape[0]):
        high = (np.uint16(a0[x] < b0[x]) << 3) | (np.uint16(a1[x] < b1[x]) << 2)
        low = (np.uint16(a2[x] < b2[x]) << 1) | np.uint16(a3[x] < b3[x])
        bits[x] = np.uint16(((bits[x] & np.uint16(0x0FFF)) << 4) | high | low)


@kernel
def _put(bits: NDArray[np.uint16], shift: int, out: Strings) -> None:
    """Put a piece into the words of a row; the first clears them."""
    places = np.uint64(shift)
    if shift == 0:
        for x in range(out.shape[0]):
            out[x] = bits[x]
    else:
        for x in range(out.shape[0]):
            out[x] |= np.uint64(bits[x]) << places


@kernel
def count_differences(
    left: Strings, lines: Strings, origins: NDArray[np.int64], differences: NDArray[np.uint8]
) -> None:
    """How many bits differ, for a row; (columns, levels).

    `left`: the row's strings ``(words, columns)``; `lines`: those of the match image, from `arrange_samples`, with room for `levels` strings at
    either end; `origins`: where the string of level 0 stands.
    """
    words = lines.shape[0]
    for w in range(words):
        _count(left[w], lines[w], origins, w > 0, differences)


@kernel
def _count(
    left: Strings,
    line: Strings,
    origins: NDArray[np.int64],
    add: bool,
    differences: NDArray[np.uint8],
) -> None:
    columns, levels = differences.shape
    for x in range(columns):
        # Unsigned indices need no wraparound check.
        at, origin = np.uint64(x), np.uint64(origins[x])
        string = left[at]
        if add:
            for k in range(levels):
                level = np.uint64(k)
                differences[at, level] += np.uint8(count_bits(string ^ line[origin + level]))
        else:
            for k in range(levels):
                level = np.uint64(k)
                differences[at, level] = np.uint8(count_bits(string ^ line[origin + level]))
