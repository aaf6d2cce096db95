"""The map that distances are measured to where there is no truth: one strong method's, where both views agree about it."""

import threading

import numpy as np

from stereo_framework.core.scene import Disparity, Scene, SearchRange
from stereo_framework.script import load
from stereo_framework.sweep.identity import scene_digest

_NOISE = ["preprocessing={use: binomial_blur, iterations: 2}"]
"""Against noise: two passes are a Gaussian of one pixel's standard deviation."""

_GAIN = 0.03
"""Share of the pixels by which both views must agree more about smoothed images, so that these are taken: real pairs without noise never do."""

_MADE: dict[tuple[str, str], Disparity] = {}
_KEPT = 4
"""So many of them are kept: results come scene by scene."""

_LOCK = threading.Lock()


def pseudo_truth_of(scene: Scene, search: SearchRange | None = None) -> Disparity:
    """The pseudo ground truth of a scene's pair, made once a process and kept for a while.

    Parameters
    ----------
    scene : Scene
    search : SearchRange, optional
        Where the scene has none.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN where both views do not agree.

    Raises
    ------
    DataError
        There is no search range.
    StereoFrameworkError
        The volume of the pair does not fit into memory.

    Notes
    -----
    AD-census, the differences at half the weight, eight paths of semi-global matching, whose penalties fall at edges of either image; parabola, median;
    pixels about which both views differ by more than a pixel are left out. The script ``truth_free/pseudo_truth`` says it all. Where smoothing the
    images lets the views agree about 3 % more of the pixels, the smoothed images' map is taken.
    """
    pair_search = scene.search or search
    key = (scene_digest(scene), str(pair_search))
    with _LOCK:
        if key not in _MADE:
            plain, smooth = (
                load("truth_free/pseudo_truth", overrides=noise)
                .only.pipeline.matched(scene, pair_search)
                .disparity
                for noise in ([], _NOISE)
            )
            _MADE[key] = (
                smooth if np.isfinite(smooth).mean() > np.isfinite(plain).mean() + _GAIN else plain
            )
            for old in list(_MADE)[:-_KEPT]:
                del _MADE[old]
        return _MADE[key]
