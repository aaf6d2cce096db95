"""Compute the pseudo ground truth of a pair, which replaces missing ground truth.

The pseudo ground truth is the disparity map of a strong method. It contains only the
pixels for which the maps of both images agree.
"""

import threading

import numpy as np

from stereo_framework.core.scene import Disparity, Scene, SearchRange
from stereo_framework.script import load
from stereo_framework.sweep.identity import scene_digest

SCRIPT = "truth_free/pseudo_truth"
"""The built-in script of the method."""

_SMOOTHING = ["preprocessing={use: binomial_blur, iterations: 2}"]
"""Setting that reduces noise in the images.

Two iterations are a Gaussian filter with a standard deviation of one pixel.
"""

_MIN_GAIN = 0.03
"""Minimum gain of density for which the images are smoothed, as a share of all pixels.

On real pairs without noise, smoothing never increases the density by this value.
"""

_MAX_STORED_MAPS = 4
"""Maximum number of maps that stay in memory.

Consecutive results usually have the same scene, so a few maps are enough.
"""

_stored_maps: dict[tuple[str, str], Disparity] = {}
"""Pseudo ground truth by the digest of the scene and the search range."""

_lock = threading.Lock()
"""Lock for `_stored_maps`. Threads that need the same map compute it only once."""


def pseudo_truth_of(scene: Scene, search: SearchRange | None = None) -> Disparity:
    """Return the pseudo ground truth of a scene's pair.

    The latest maps stay in memory, so that a process computes each map only once.

    Parameters
    ----------
    scene : Scene
        The scene with the pair.
    search : SearchRange, optional
        Search range. It is used only if the scene has no search range.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Disparities in pixels. NaN marks pixels for which the maps of both images
        disagree.

    Raises
    ------
    DataError
        There is no search range.
    StereoFrameworkError
        The cost volume of the pair does not fit into memory.

    Notes
    -----
    The script ``truth_free/pseudo_truth`` contains all parameters of the method. The
    matching cost is AD-census, in which the absolute differences have half the weight.
    The optimizer is semi-global matching along eight paths, with smaller penalties at
    edges of either image. A parabola and a median filter refine the map. Pixels whose
    disparities differ by more than one pixel between the two maps are removed.

    If smoothing of the images increases the density of the map by more than 3 % of all
    pixels, the images are smoothed.
    """
    pair_search = scene.search or search
    key = (scene_digest(scene), str(pair_search))
    with _lock:
        if key not in _stored_maps:
            _stored_maps[key] = _compute(scene, pair_search)
            for old_key in list(_stored_maps)[:-_MAX_STORED_MAPS]:
                del _stored_maps[old_key]
        return _stored_maps[key]


def _compute(scene: Scene, search: SearchRange | None) -> Disparity:
    """Return the map of the original images, or of smoothed images if it is denser."""
    original = _match(scene, search, [])
    smoothed = _match(scene, search, _SMOOTHING)
    original_density = np.isfinite(original).mean()
    smoothed_density = np.isfinite(smoothed).mean()
    return smoothed if smoothed_density > original_density + _MIN_GAIN else original


def _match(scene: Scene, search: SearchRange | None, overrides: list[str]) -> Disparity:
    """Return the disparity map of the built-in script with some settings changed."""
    pipeline = load(SCRIPT, overrides=overrides).only.pipeline
    return pipeline.estimate(scene, search).disparity
