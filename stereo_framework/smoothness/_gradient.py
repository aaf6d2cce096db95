"""Edge weights that may depend on the image, shared by all smoothness terms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Image
from stereo_framework.core.volume import Smoothness
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows


def weighted(
    reference: Image,
    rho: NDArray[np.floating],
    weight: float,
    gradient_threshold: float | None,
    gradient_penalty: float,
) -> Smoothness:
    """The smoothness term with penalties `rho` per level difference and the weight of every edge taken from `reference`.

    An edge weighs ``weight * gradient_penalty`` where the intensities across it, root mean square over the colour channels, differ
    by less than `gradient_threshold` grey levels, else `weight`.
    """
    rows, columns = reference.shape[:2]
    image = reference.reshape(rows, columns, -1)
    # Sums of squares below this limit: exact for integer images, where the root of their mean is not.
    limit = (gradient_threshold or 0.0) ** 2 * image.shape[2]
    right, down = np.zeros((2, rows, columns), np.float32)
    flat, steep = np.float32(weight * gradient_penalty), np.float32(weight)

    def run(start: int, stop: int) -> None:
        _kernel(image[start : stop + 1], limit, flat, steep, right[start:stop], down[start:stop])

    over_rows(run, rows, image.size)
    return Smoothness(right, down, rho.astype(np.float32))


@kernel
def _kernel(
    image: NDArray, limit: float, flat: float, steep: float, right: NDArray[np.float32], down: NDArray[np.float32]
) -> None:
    """Weights of the edges of `right`'s rows; `image` has one row more, except at the bottom."""
    rows, columns = right.shape
    for y in range(rows):
        for x in range(columns - 1):
            right[y, x] = flat if _squared_distance(image, y, x, y, x + 1) < limit else steep
        if y + 1 < image.shape[0]:
            for x in range(columns):
                down[y, x] = flat if _squared_distance(image, y, x, y + 1, x) < limit else steep


@kernel(inline="always")
def _squared_distance(image: NDArray, y: int, x: int, other_y: int, other_x: int) -> float:
    total = 0.0
    for c in range(image.shape[2]):
        # Unsigned indices need no wraparound check.
        difference = np.float64(image[np.uint64(y), np.uint64(x), c]) - np.float64(
            image[np.uint64(other_y), np.uint64(other_x), c]
        )
        total += difference * difference
    return total
