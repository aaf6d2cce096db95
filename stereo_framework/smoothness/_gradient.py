"""Edge weights that may depend on the image, shared by all smoothness terms."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.stages import Image, Smoothness


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
    pixels = reference.reshape(*reference.shape[:2], -1).astype(np.float64)
    # Sums of squares below this limit: exact for integer images, where the root of their mean is not.
    limit = (gradient_threshold or 0.0) ** 2 * pixels.shape[2]
    right, down = np.zeros((2, *reference.shape[:2]), np.float32)
    for edges, axis in ((right[:, :-1], 1), (down[:-1], 0)):
        steep = (np.diff(pixels, axis=axis) ** 2).sum(axis=2) >= limit
        edges[:] = np.where(steep, weight, weight * gradient_penalty)
    return Smoothness(right, down, rho.astype(np.float32))
