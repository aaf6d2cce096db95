"""Compute the pseudo ground truth of a pair, which replaces missing ground truth.

The pseudo ground truth is the disparity map of an accurate method. A pixel has a
disparity only if the disparity maps of the left and the right image agree at the pixel.
"""

import functools
import threading

import numpy as np

from stereo_framework.core.scene import Disparity, Scene, SearchRange
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.script import load
from stereo_framework.sweep.identity import scene_digest

SCRIPT = "truth_free/pseudo_truth"
"""Name of the built-in script that computes the pseudo ground truth."""

_SMOOTHING = ("preprocessing={use: binomial_blur, iterations: 2}",)
"""Values of the script that smooth the images, to reduce their noise.

Two iterations of the filter ``binomial_blur`` have nearly the same effect as a Gaussian
filter with a standard deviation of one pixel.
"""

_MIN_GAIN = 0.03
"""Increase of the density above which the map of the smoothed images is used.

The density of a disparity map is the fraction of pixels with a disparity. Smoothing of
real images without noise always increases the density by less than this value.
"""

_MAX_STORED_MAPS = 4
"""Maximum number of disparity maps that this module keeps in memory.

Consecutive results usually have the same scene, so a small number of disparity maps is
sufficient.
"""

_stored_maps: dict[tuple[str, str], Disparity] = {}
"""Pseudo ground truth for each pair of the digest of a scene and a search range."""

_lock = threading.Lock()
"""Lock for `_stored_maps`, so that several threads do not compute the same map."""


def pseudo_truth_of(scene: Scene, search: SearchRange | None = None) -> Disparity:
    """Return the pseudo ground truth of the two images of a scene.

    The latest disparity maps stay in memory, so that a process usually computes each
    disparity map only once.

    Parameters
    ----------
    scene : Scene
        Scene with the two images.
    search : SearchRange, optional
        Search range that is used if the scene has no search range.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Disparities in pixels. The value is NaN at pixels where the disparity maps of
        the left and the right image disagree.

    Raises
    ------
    DataError
        The scene has no search range, and the argument `search` is None.
    StereoFrameworkError
        The cost volume of the pair does not fit into memory.

    Notes
    -----
    The script ``truth_free/pseudo_truth`` contains all parameters of the method. The
    matching cost is AD-census, in which the absolute differences have half the weight.
    The optimizer is semi-global matching along eight paths, with smaller penalties at
    intensity edges. A parabola fit and a median filter refine the disparity map. The
    left-right consistency check removes each pixel whose disparities in the two
    disparity maps differ by more than one pixel.

    The function also computes a disparity map of smoothed images. If this disparity map
    has more disparities, by at least 3 % of all pixels, the function returns it.
    """
    pair_search = scene.search or search
    key = (scene_digest(scene), str(pair_search))
    with _lock:
        if key not in _stored_maps:
            _stored_maps[key] = _compute(scene, pair_search)
            for old_key in list(_stored_maps)[:-_MAX_STORED_MAPS]:
                del _stored_maps[old_key]
        return _stored_maps[key]


@functools.cache
def pipeline_of_script(overrides: tuple[str, ...] = ()) -> Pipeline:
    """Return the method of the built-in script.

    Parameters
    ----------
    overrides : tuple of str
        Changed values of the script, such as ``optimizer.p1=10``.
    """
    return load(SCRIPT, overrides=list(overrides)).only.pipeline


def _compute(scene: Scene, search: SearchRange | None) -> Disparity:
    """Return the map of the original or of the smoothed images, whichever is denser."""
    original = pipeline_of_script().estimate(scene, search).disparity
    smoothed = pipeline_of_script(_SMOOTHING).estimate(scene, search).disparity
    original_density = np.isfinite(original).mean()
    smoothed_density = np.isfinite(smoothed).mean()
    return smoothed if smoothed_density > original_density + _MIN_GAIN else original
