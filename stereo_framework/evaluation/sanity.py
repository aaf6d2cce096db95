"""Semantic traps: maps that are read in the wrong scale or with the wrong sign, and empty ones."""

from __future__ import annotations

import numpy as np

from stereo_framework.scene import Disparity, Scene

_FACTORS = (2, 4, 8, 16, 256)
"""Scales of disparity files: grey levels per pixel of the Middlebury sets and of 16-bit PNG."""


def doubts(disparity: Disparity, scene: Scene) -> list[str]:
    """What looks like a mistake in how a map or the truth was read; empty when nothing does.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    scene : Scene

    Returns
    -------
    list of str
        One line each. A map is doubted when most of its estimates would lie within a pixel of the truth after a change of sign or
        of scale by 2, 4, 8, 16, 256 (up or down), and far fewer do as it is.
    """
    estimated = np.isfinite(disparity)
    if not estimated.any():
        return [f"{scene.name}: the map holds no estimate at all"]
    if scene.truth is None:
        return []
    # Small disparities prove nothing: estimates scaled down far enough would match them all.
    both = estimated & (np.abs(scene.truth) > 2)
    if not both.any():
        return []
    estimate, truth = disparity[both].astype(np.float64), scene.truth[both].astype(np.float64)

    def share(scale: float) -> float:
        return float(np.mean(np.abs(estimate / scale - truth) <= 1))

    as_it_is = share(1)
    if as_it_is > 0.5:
        return []
    scales = [sign * scale for sign in (1, -1) for f in (1, *_FACTORS) for scale in (f, 1 / f)]
    best = max(scales, key=share)
    if share(best) <= 0.5 or as_it_is > share(best) / 2:
        return []
    size = abs(best)
    change = f"divided by {size:g}" if size > 1 else f"multiplied by {1 / size:g}" if size < 1 else ""
    wrong = " and ".join(filter(None, ("sign" if best < 0 else "", "scale" if change else "")))
    right = " and ".join(filter(None, ("negated" if best < 0 else "", change)))
    return [
        f"{scene.name}: the map or the truth seems to have the wrong {wrong}: {100 * share(best):.0f} % of the estimates lie within "
        f"1 px of the truth when {right}, {100 * as_it_is:.0f} % as they are"
    ]
