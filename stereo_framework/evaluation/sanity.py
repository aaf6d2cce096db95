"""Warnings about maps that look wrong: empty ones, maps of the other view, and maps that were read in the wrong scale or with the wrong sign."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Scene, Search, scale_doubt

_FACTORS = (2, 4, 8, 16, 256)
"""Scales of disparity files, in grey levels per pixel: those of the Middlebury sets and that of 16-bit PNG files."""

_FEWER = 0.6
"""If a smaller share of the errors than this remains when a map is compared with the other view, it is taken for a map of that view."""

_STUCK = 0.03
"""Share of a map that holds one and the same value outside the search range, from which on that is taken for a mark; no method gives such values."""

_ROWS = 64
"""Number of rows that are examined, spread over the image: enough to notice gross mistakes, and fast even in large sweeps."""


def doubts(disparity: Disparity, scene: Scene, search: Search | None = None) -> list[str]:
    """Signs that a map or the truth was read in a wrong way; empty if there are none.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate. A map of another size than the scene's images is not examined.
    scene : Scene
    search : Search, optional
        The range that was searched; default: the scene's.

    Returns
    -------
    list of str
        One line each. A map is doubted if most of its estimates would lie within a pixel of the truth after a change of sign, of the view, or of scale by
        2, 4, 8, 16 or 256 (up or down), or by their median factor, and far fewer do as it is. So are images with intensities from 0 to 1. A map that passes is doubted too if several percent of it hold one value outside the search range, which is what some
        programs write for "no estimate".
    """
    if not np.isfinite(disparity).any():
        return [f"{scene.name}: the map holds no estimate at all"]
    if disparity.shape != scene.reference.shape[:2]:
        return []
    found = [] if scene.truth is None else _by_truth(disparity, scene, scene.truth)
    dark = scale_doubt(scene.reference)
    return [*(found or _by_range(disparity, scene, search or scene.search)), *([f"{scene.name}: {dark}"] if dark else [])]


def _by_range(disparity: Disparity, scene: Scene, search: Search | None) -> list[str]:
    if search is None:
        return []
    some = disparity[:: max(1, disparity.shape[0] // _ROWS)]
    # Sub-pixel estimates may lie half a level outside.
    half = 0.5 * min(search.step, 1)
    outside = some[np.isfinite(some) & ((some < search.minimum - half) | (some > search.maximum + half))]
    values, counts = np.unique(outside, return_counts=True)
    if not counts.size or counts.max() < _STUCK * some.size:
        return []
    value = f"{values[counts.argmax()]:g}"
    return [
        f"{scene.name}: {100 * counts.max() / some.size:.0f} % of the map hold {value}, outside the search range {search.minimum:g}..{search.maximum:g}; "
        f"if that means no estimate, say so: --unknown {value}"
    ]


def _by_truth(disparity: Disparity, scene: Scene, truth: Disparity) -> list[str]:
    # Small disparities prove nothing: estimates that are scaled down far enough would agree with all of them.
    step = max(1, disparity.shape[0] // _ROWS)
    disparity, truth = disparity[::step], truth[::step]
    both = np.isfinite(disparity) & (np.abs(truth) > 2)
    if not both.any():
        return []
    estimate, true = disparity[both].astype(np.float64), truth[both].astype(np.float64)

    def share(scale: float) -> float:
        return float(np.mean(np.abs(estimate / scale - true) <= 1))

    as_it_is, there = share(1), _of_other_view(disparity, scene, truth, both)
    # On eight scenes the match frame's truth gives 0.28 to 0.53, the reference frame's and real estimates of it always more than 1.
    if there > 0.5 and 1 - there < _FEWER * (1 - as_it_is):
        return [
            f"{scene.name}: the map seems to belong to the other view: {100 * there:.0f} % of the estimates lie within 1 px of the truth "
            f"where the match frame shows it, {100 * as_it_is:.0f} % in the reference frame"
        ]
    if as_it_is > 0.5:
        return []
    best = max((sign * scale for sign in (1, -1) for f in (1, *_FACTORS) for scale in (f, 1 / f)), key=share)
    best = best if share(best) > 0.5 else float(np.median(estimate / true)) or 1.0
    # A map of its middle disparity alone must not agree with as much, unless that is all there is to be found.
    alike = float(np.mean(np.abs(np.median(estimate) / best - true) <= 1)) if np.ptp(true) > 1 else 0.0
    if share(best) <= max(0.5, alike) or as_it_is > share(best) / 2:
        return []
    return [
        f"{scene.name}: the map or the truth seems to have the wrong {_wrong(best)}: {100 * share(best):.0f} % of the estimates lie within "
        f"1 px of the truth when {_right(best)}, {100 * as_it_is:.0f} % as they are"
    ]


def _of_other_view(disparity: Disparity, scene: Scene, truth: Disparity, mask: NDArray[np.bool_]) -> float:
    """The share of the true disparities that the map holds at the places where the match frame shows these pixels."""
    rows, columns = np.nonzero(mask)
    true = truth[mask]
    places = np.rint(columns - scene.direction * true).astype(np.int64)
    inside = (places >= 0) & (places < truth.shape[1])
    with np.errstate(invalid="ignore"):
        found = np.abs(disparity[rows[inside], places[inside]] - true[inside]) <= 1
    return float(found.mean()) if found.size else 0.0


def _wrong(scale: float) -> str:
    return " and ".join(filter(None, ("sign" * (scale < 0), "scale" * (abs(scale) != 1))))


def _right(scale: float) -> str:
    size = abs(scale)
    change = f"divided by {size:.3g}" if size > 1 else f"multiplied by {1 / size:.3g}" if size < 1 else ""
    return " and ".join(filter(None, ("negated" * (scale < 0), change)))
