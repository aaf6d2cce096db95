"""Bit strings of the windows of an image, and how many bits of two of them differ: what `census` and `ad_census` share."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.per_image import per_image
from stereo_framework.core.scene import Image
from stereo_framework.kernels.bits import count_bits
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.matching_cost._grey import PIECE, Form, Grey, compared, grey_line, luma, pixels_of
from stereo_framework.matching_cost._sampling import Sampling

Strings = NDArray[np.uint64]

_WORD = 64
"""Bits of a word of a string."""


def bit_count(width: int, height: int, form: Form) -> int:
    """Bits of a string: the pixels of a window around its centre or, centre-symmetric, the pairs of them."""
    return (width * height - 1) // (1 if form == "plain" else 2)


def bit_strings(
    image: Image, *, width: int, height: int, form: Form, grey: Grey, denominator: int = 1, cubic: bool = True
) -> Strings:
    """The bit string of the window around each pixel or, with a `denominator`, around each position between pixels too.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Beyond its borders its outermost pixels repeat.
    width, height : int
        Of the windows in pixels, odd.
    form : {"plain", "centre_symmetric"}
        Whether a pixel of the window is compared with its centre or with its mirror image about that.
    grey : {"mean", "luma"}
        Whether the channels of a colour are added, or weighted as in `luma`.
    denominator : int
        Positions are 1/denominator pixels apart along rows; the pixels of a window remain one pixel apart.
    cubic : bool
        How the image is sampled between its pixels.

    Returns
    -------
    ndarray, uint64, (words, rows, (columns - 1) * denominator + 1)
        Read-only to whoever gets it: it may be kept for others.
    """
    # At whole pixels nothing is interpolated: both views of a pair share their strings.
    return _strings(image, width, height, form, grey, denominator, cubic or denominator == 1)


@per_image
def _strings(image: Image, width: int, height: int, form: Form, grey: Grey, denominator: int, cubic: bool) -> Strings:
    if grey == "luma" and image.ndim == 3:
        image = luma(image)
    rows, columns = image.shape[:2]
    pairs = compared(width, height, form)
    pixels, prototype = pixels_of(image)
    sampling = Sampling(denominator, cubic, image.dtype == np.uint8)
    strings = np.empty((-(-len(pairs) // _WORD), rows, (columns - 1) * denominator + 1), np.uint64)

    def run(start: int, stop: int) -> None:
        _kernel(pixels, start, stop, width, height, pairs, sampling, prototype, strings)

    over_rows(run, rows, rows * columns * denominator * len(pairs) // 4)
    return strings


@kernel
def _kernel(
    image: NDArray,
    start: int,
    stop: int,
    width: int,
    height: int,
    pairs: NDArray[np.int64],
    sampling: Sampling,
    prototype: NDArray,
    strings: Strings,
) -> None:
    """Bit strings of the rows `start` to before `stop` of an image ``(rows, columns, channels)``; both arrays are whole."""
    fine = strings.shape[2]
    denominator = sampling.denominator
    margin, above = width // 2 * denominator, height // 2
    sample, bits = np.empty(fine, np.float32), np.empty(fine, np.uint16)
    # Of the rows of a window; the row y of the image stands in line y % height.
    lines = np.empty((height, fine + 2 * margin), prototype.dtype)
    for y in range(start - above, stop + above):
        clamped = min(max(y, 0), image.shape[0] - 1)
        grey_line(image[clamped], sampling, sample, margin, lines[y % height])
        if y < start + above:
            continue
        top, out = y - height + 1, y - above
        for p in range(0, pairs.shape[0], PIECE):
            bits[:] = 0
            for q in range(p, p + PIECE, 4):
                # Sixteen lines at once would be more than there are registers for.
                _append_four(
                    lines[(top + pairs[q, 0]) % height, pairs[q, 1] * denominator :],
                    lines[(top + pairs[q, 2]) % height, pairs[q, 3] * denominator :],
                    lines[(top + pairs[q + 1, 0]) % height, pairs[q + 1, 1] * denominator :],
                    lines[(top + pairs[q + 1, 2]) % height, pairs[q + 1, 3] * denominator :],
                    lines[(top + pairs[q + 2, 0]) % height, pairs[q + 2, 1] * denominator :],
                    lines[(top + pairs[q + 2, 2]) % height, pairs[q + 2, 3] * denominator :],
                    lines[(top + pairs[q + 3, 0]) % height, pairs[q + 3, 1] * denominator :],
                    lines[(top + pairs[q + 3, 2]) % height, pairs[q + 3, 3] * denominator :],
                    bits,
                )
            _put(bits, p % _WORD, strings[p // _WORD, out])


@kernel
def _append_four(
    a0: NDArray,
    b0: NDArray,
    a1: NDArray,
    b1: NDArray,
    a2: NDArray,
    b2: NDArray,
    a3: NDArray,
    b3: NDArray,
    bits: NDArray[np.uint16],
) -> None:
    """Shift the bits to the left and set the lowest where a0 < b0, a1 < b1 ..."""
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
def count_differences(left: Strings, lines: Strings, origins: NDArray[np.int64], differences: NDArray[np.uint8]) -> None:
    """How many bits differ, for a row; (columns, levels).

    `left`: the row's strings ``(words, columns)``; `lines`: those of the match image as `arrange` puts them, with room for `levels` strings at
    either end; `origins`: where the string of level 0 stands.
    """
    words = lines.shape[0]
    for w in range(words):
        _count(left[w], lines[w], origins, w > 0, differences)


@kernel
def _count(left: Strings, line: Strings, origins: NDArray[np.int64], add: bool, differences: NDArray[np.uint8]) -> None:
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
