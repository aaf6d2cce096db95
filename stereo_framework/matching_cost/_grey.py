"""Grey values of an image, at its pixels and between them, and the windows around them that census and rank compare."""

import functools
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.border import in_one_form
from stereo_framework.core.scene import Image
from stereo_framework.kernels.decorator import kernel
from stereo_framework.matching_cost._sampling import Sampling, upsample

Odd = Literal[3, 5, 7, 9, 11, 13, 15]
"""Width or height of a window in pixels. What is counted in the largest, 224 pixels around its centre, fits into a byte."""


Form = Literal["plain", "centre_symmetric"]
"""What the pixels of a window are compared with: its centre, or their own mirror image about that."""

Grey = Literal["mean", "luma"]
"""What the grey value of a colour is."""

PIECE = 16
"""Pixels of a window are compared so many at a time: the bits of a lane of grey values."""


@functools.cache
def compared(width: int, height: int, form: Form) -> NDArray[np.int64]:
    """Row and column of each pixel in a window that is compared, in reading order, and of what it is compared with; int64 (pairs, 4).

    Padded to a multiple of `PIECE` by the centre and itself, of which none is darker.
    """
    middle = (height // 2, width // 2)
    pixels = [divmod(i, width) for i in range(width * height if form == "plain" else width * height // 2)]
    pairs = [(y, x, *(middle if form == "plain" else (height - 1 - y, width - 1 - x))) for y, x in pixels if (y, x) != middle]
    return np.array(pairs + [2 * middle] * (-len(pairs) % PIECE), np.int64)


def luma(image: Image) -> Image:
    """0.299 R + 0.587 G + 0.114 B, rounded to a whole number where the image is uint8, halves upwards."""
    if image.dtype == np.uint8:
        red, green, blue = (image[..., c].astype(np.int32) for c in range(3))
        whole: Image = ((299 * red + 587 * green + 114 * blue + 500) // 1000).astype(np.uint8)
        return whole
    parts = (np.float32(factor) * image[..., c] for c, factor in enumerate((0.299, 0.587, 0.114)))
    return next(parts) + next(parts) + next(parts)


def pixels_of(image: Image) -> tuple[Any, Any]:
    """An image as the kernels take it, ``(rows, columns, channels)`` in C order and read-only, and an empty array of the type of its grey values.

    Grey is the sum of the channels: int16 or float32.
    """
    pixels = in_one_form(image).reshape(*image.shape[:2], -1)
    return pixels, np.empty(0, np.int16 if image.dtype == np.uint8 else np.float32)


@kernel
def grey_line(row: NDArray, sampling: Sampling, sample: NDArray[np.float32], margin: int, line: NDArray) -> None:
    """Sum of the channels of a row ``(columns, channels)`` at its samples, the outermost repeated `margin` times at either end.

    Channels are sampled one by one, as by the differences, and then added. `sample` has room for the samples, `line` for these and both margins.
    """
    fine, channels = sample.shape[0], row.shape[1]
    middle = line[margin : margin + fine]
    if sampling.denominator == 1:
        add_channels(row, middle)
    else:
        middle[:] = 0
        for c in range(channels):
            upsample(row[:, c], sampling, sample)
            for i in range(fine):
                middle[i] += sample[i]
    line[:margin] = middle[0]
    line[margin + fine :] = middle[fine - 1]


@kernel
def add_channels(row: NDArray, line: NDArray) -> None:
    """Sum of the channels of a row ``(columns, channels)`` at its pixels."""
    columns, channels = row.shape
    if channels == 1:
        for x in range(columns):
            line[x] = row[x, 0]
        return
    flat = row.reshape(-1)
    # A type that holds the sum and is no wider than it must be.
    zero = line.dtype.type(0)
    for x in range(columns):
        at = np.uint64(3 * x)
        line[x] = zero + flat[at] + flat[at + np.uint64(1)] + flat[at + np.uint64(2)]
