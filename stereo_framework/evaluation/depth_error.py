"""Errors in depth: an error of one pixel far away is worse than one close by.

Disparities are float32 pixels. An estimate is missing when it is not finite, or when it is not above ``-mu`` and so has no depth: the maps
of benchmarks hold 0 where there is no estimate. Lower is better. An empty region gives NaN.

Cabezas, Padilla & Trujillo 2011, A measure for accuracy disparity maps evaluation.
"""

from __future__ import annotations

import math

import numpy as np

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.input_checks import check_sizes
from stereo_framework.core.scene import Disparity, Mask
from stereo_framework.core.view import kernel_array
from stereo_framework.kernels.decorator import kernel

MISSING = ("zero_depth", "literal", "skip")
"""How `sigma_z_error` counts a missing estimate."""


def sigma_z_error(
    disparity: Disparity,
    truth: Disparity,
    mask: Mask,
    *,
    scale: float = 1.0,
    mu: float = 0.0,
    missing: str = "zero_depth",
    mean: bool = False,
) -> float:
    """Sigma-Z-error (SZE): the absolute differences of true and estimated depth, summed over a region.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels. Pixels whose truth is unknown, or not above ``-mu`` (infinitely far away), are left out.
    mask : ndarray, bool, (rows, columns)
        The region.
    scale : float
        Focal length (pixels) times baseline. 1, as in the papers' numbers, makes the unit 1/pixel.
    mu : float
        Pixels added to every disparity: a small number against division by zero, or the difference of the principal points'
        columns (`Calibration.doffs`), with which depths are metric.
    missing : str
        ``"zero_depth"``: the depth of a missing estimate is 0, so that it costs the true depth, as in the papers' numbers;
        ``"literal"``: its disparity is 0, so that its depth is ``scale / mu``; ``"skip"``: it is left out.
    mean : bool
        Divide by the number of pixels that count.

    Returns
    -------
    float
        In the unit of the baseline. NaN when no pixel counts.

    Raises
    ------
    ParameterError
        `missing` is not one of the three, or is ``"literal"`` without a `mu` above 0; or `scale` is not above 0.

    Notes
    -----
    Cabezas et al. 2011, equation 4: the sum of ``|scale / (truth + mu) - scale / (disparity + mu)|``. What the papers do with
    missing estimates follows from the published numbers of the PatchMatch maps (Cabezas, Trujillo & Florian 2012, Table 4). Terms are
    float64.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[5, 10, 2]], np.float32)
    >>> round(sigma_z_error(np.array([[4, 10, 0]], np.float32), truth, truth > 0), 3)
    0.55
    """
    check_sizes("sigma_z_error", disparity=disparity, truth=truth, mask=mask)
    if missing not in MISSING:
        raise ParameterError(
            f"missing: {missing!r} is not a way to count missing estimates; {nearest(missing, MISSING)}"
        )
    if not (math.isfinite(scale) and scale > 0):
        raise ParameterError(
            f"scale: {scale!r} is not above 0; expected focal length times baseline"
        )
    if missing == "literal" and not mu > 0:
        raise ParameterError(
            f"mu: {mu!r} is not above 0, which missing='literal' needs: disparity 0 would be infinitely far away"
        )
    absent = {"zero_depth": 0.0, "literal": scale / mu if mu else math.inf, "skip": math.nan}[
        missing
    ]
    total, count = _sum_kernel(
        *map(kernel_array, (disparity, truth, mask)), float(scale), float(mu), absent
    )
    if not count:
        return math.nan
    return total / count if mean else total


@kernel
def _sum_kernel(disparity, truth, mask, scale, mu, absent):  # type: ignore[no-untyped-def]
    total, count = 0.0, 0
    for y in range(disparity.shape[0]):
        for x in range(disparity.shape[1]):
            known = np.float64(truth[y, x]) + mu
            estimate = np.float64(disparity[y, x]) + mu
            # Comparisons with NaN are false.
            depth = scale / estimate if 0 < estimate < np.inf else absent
            if mask[y, x] and 0 < known < np.inf and not np.isnan(depth):
                total += np.abs(scale / known - depth)
                count += 1
    return total, count
