"""The map that stands in for ground truth where there is none: one strong method's, where both views agree about it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, Scene, Search
from stereo_framework.evaluation.truth_free import distance
from stereo_framework.script import load
from stereo_framework.sweep.identity import scene_digest

_SCRIPT, _SECOND = "truth_free/reference", "truth_free/second"
_NOISE = ["preprocessing={use: binomial_blur, iterations: 2}"]
"""Against noise: two passes are a Gaussian of one pixel's standard deviation."""

_GAIN = 0.03
"""Share of the pixels by which both views must agree more about smoothed images, so that these are taken: real pairs without noise never do."""


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference map of a pair.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN where the views do not agree.
    smoothed : bool
        Whether the images were smoothed first, since they are noisy.
    scene : Scene
    search : Search
    own : bool
        Whether it is the user's: nothing is known of its errors, and no method is called its kin.
    """

    disparity: Disparity
    smoothed: bool
    scene: Scene
    search: Search
    own: bool = False

    @property
    def consistent(self) -> float:
        """Percent of the pixels that it knows."""
        return 100 * float(np.isfinite(self.disparity).mean())

    @cached_property
    def floor(self) -> float:
        """Percent: how far a second reference, of the census alone, lies from this one. Distances below twice as much tell nothing. One's own has none, 0."""
        return 0.0 if self.own else distance(_map(_SECOND, self.scene, self.search, self.smoothed), self.disparity)


_MADE: dict[tuple[str, str], Reference] = {}
_KEPT = 4
"""So many of them are kept, with their scenes: results come scene by scene."""

_LOCK = threading.Lock()


def reference(scene: Scene, search: Search | None = None) -> Reference:
    """The reference map of a scene's pair: the scene's own stand-in, or ours, which is made once a process and kept for a while.

    Parameters
    ----------
    scene : Scene
    search : Search, optional
        Where the scene has none.

    Returns
    -------
    Reference

    Raises
    ------
    DataError
        There is no search range; the stand-in has another size than the images, or knows no disparity.
    StereoFrameworkError
        The volume of the pair does not fit into memory.

    Notes
    -----
    AD-census, the differences at half the weight, eight paths of semi-global matching, whose penalties fall at edges of either image; parabola, median;
    pixels about which both views differ by more than a pixel are left out. The script ``truth_free/reference`` says it all. Where smoothing the
    images lets the views agree about 3 % more of the pixels, the smoothed images' map is taken.
    """
    pair_search = scene.search or search
    if scene.stand_in is not None:
        return _own(scene, pair_search)
    key = (scene_digest(scene), str(pair_search))
    with _LOCK:
        if key not in _MADE:
            plain, smooth = (_map(_SCRIPT, scene, pair_search, smoothed) for smoothed in (False, True))
            smoothed = np.isfinite(smooth).mean() > np.isfinite(plain).mean() + _GAIN
            assert pair_search is not None, "matching refuses a scene without a range"
            _MADE[key] = Reference(smooth if smoothed else plain, bool(smoothed), scene, pair_search)
            for old in list(_MADE)[:-_KEPT]:
                del _MADE[old]
        return _MADE[key]


def _own(scene: Scene, search: Search | None) -> Reference:
    assert scene.stand_in is not None
    given = scene.stand_in()
    if given.shape != scene.reference.shape[:2]:
        (rows, columns), (height, width) = given.shape, scene.reference.shape[:2]
        raise DataError(f"scene {scene.name}: the reference map is {columns}x{rows}, its images are {width}x{height}")
    if not np.isfinite(given).any():
        raise DataError(f"scene {scene.name}: the reference map holds no known disparity")
    if search is None:
        raise DataError(f"scene {scene.name}: no search range; give one with --disparities")
    return Reference(given, False, scene, search, own=True)


def _map(script: str, scene: Scene, search: Search | None, smoothed: bool) -> Disparity:
    [run] = load(script, overrides=_NOISE if smoothed else []).settings
    return run.pipeline.matched(scene, search).disparity
