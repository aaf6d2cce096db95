"""Where errors are counted: all, nonocc, occ, textured, textureless and discont, or the masks of a data set.

Scharstein & Szeliski 2002, section 5.1; the rules that the paper leaves open are those of the authors' program.
"""

import threading
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, ParameterError, nearest
from stereo_framework.core.input_checks import check_sizes
from stereo_framework.core.scene import Disparity, Image, Mask, Scene, inside_border
from stereo_framework.evaluation._protocol import MASKS, Protocol
from stereo_framework.evaluation.hci import Parameters, Subsets, extract_subsets
from stereo_framework.evaluation.prediction import render
from stereo_framework.kernels.left_right import compute_left_right_difference

_KEPT = 8
"""How many sets of masks, HCI subsets and matching tables are kept for a scene. A run is seldom measured with more protocols that differ in them."""

_CHOICES = {
    "computed": (
        "disparity_gap",
        "textureless_width",
        "textureless_threshold",
        "discontinuity_width",
    ),
    "scene": ("disparity_gap", "regions"),
}
"""The fields of a protocol on which its masks depend, besides the border."""

_CACHE: weakref.WeakKeyDictionary[Scene, dict[tuple[Any, ...], Any]] = weakref.WeakKeyDictionary()


def forget(scene: Scene) -> None:
    """Release what is kept of a scene; it is computed again when it is asked for."""
    with _LOCK:
        _CACHE.pop(scene, None)


_LOCK = threading.Lock()


def region_masks(scene: Scene, protocol: Protocol) -> Mapping[str, Mask]:
    """The regions of a scene under a protocol. They are kept as long as the scene lives, so a sweep computes them once.

    Parameters
    ----------
    scene : Scene
    protocol : Protocol

    Returns
    -------
    mapping of str to ndarray, bool, (rows, columns), read-only
        Every mask is restricted to evaluated pixels: those within the border whose truth is known and, where the scene has a mask ``evaluated``,
        inside that. Without truth there is only ``all``, which holds
        all pixels within the border. Of the computed regions, ``textured``, ``textureless`` and ``discont`` hold non-occluded pixels only. Of the
        scene's own masks there are those that it has; ``nonocc`` is always there, computed by `nonocc_mask` where no file gives it.

    Raises
    ------
    DataError
        The scene lacks a mask that the protocol names and that is not one of the benchmarks' masks.
    """
    border = scene.border if protocol.border is None else protocol.border
    choices = tuple(getattr(protocol, name) for name in _CHOICES[protocol.masks])
    key = ("masks", protocol.masks, border, protocol.truth_limit, *choices)
    return kept(scene, key, lambda: _masks(scene, border, protocol))


def within_truth_limit(scene: Scene, protocol: Protocol) -> Scene | None:
    """Return the scene with only the pixels evaluated whose truth is below the limit.

    Returns
    -------
    Scene or None
        The scene itself if the protocol has no limit. None if no pixel is left.
    """
    if protocol.truth_limit is None or scene.truth is None:
        return scene
    if not region_masks(scene, protocol)["all"].any():
        return None
    limit, truth = protocol.truth_limit, scene.truth
    return kept(scene, ("limited", limit), lambda: scene.within(_below(truth, limit)))


def _below(truth: Disparity, limit: float) -> Mask:
    """Return the pixels whose truth is known and below a limit in size."""
    below: Mask = np.abs(truth) < limit  # False for NaN
    return below


_T = TypeVar("_T")


def kept(scene: Scene, key: tuple[Any, ...], make: Callable[[], _T]) -> _T:
    """What is kept of a scene under a key; if nothing is, it is made now. The oldest entry is dropped when there are too many."""
    values = _CACHE.setdefault(scene, {})
    found = values.get(key)
    if found is None:
        found = make()
        with _LOCK:
            if len(values) >= _KEPT:
                del values[next(iter(values))]
            values[key] = found
    return found


def _masks(scene: Scene, border: int, protocol: Protocol) -> Mapping[str, Mask]:
    evaluated = inside_border(scene.reference.shape, border)
    if scene.evaluated is not None:
        evaluated &= scene.evaluated
        if not evaluated.any():
            raise DataError(
                f"scene {scene.name}: the mask leaves no pixel to evaluate; white (255, True) counts"
            )
    masks = {"all": evaluated}
    if scene.truth is not None:
        evaluated &= np.isfinite(scene.truth)
        if protocol.truth_limit is not None:
            evaluated &= _below(scene.truth, protocol.truth_limit)
        computed = protocol.masks == "computed"
        masks |= (
            _computed(scene, evaluated, border, protocol)
            if computed
            else _stored(scene, evaluated, protocol)
        )
    for mask in masks.values():
        mask.flags.writeable = False
    return types.MappingProxyType(masks)


def _stored(scene: Scene, evaluated: Mask, protocol: Protocol) -> dict[str, Mask]:
    masks = {name: evaluated & scene.mask(name) for name in protocol.regions if name in scene.masks}
    if "nonocc" in protocol.regions and "nonocc" not in masks:
        masks["nonocc"] = evaluated & nonocc_mask(scene, gap=protocol.disparity_gap)
    absent = [name for name in protocol.regions if name not in (*MASKS, *masks)]
    if absent:
        raise DataError(
            f"scene {scene.name}: no mask {absent[0]!r} for {protocol.name}; {nearest(absent[0], scene.masks, kind='masks')}"
        )
    return masks


def _computed(scene: Scene, evaluated: Mask, border: int, protocol: Protocol) -> dict[str, Mask]:
    truth, gap = scene.truth, protocol.disparity_gap
    assert truth is not None, "regions are computed from the truth"
    occ = occluded(truth, scene.direction, gap=gap)
    flat = textureless(
        scene.reference, width=protocol.textureless_width, threshold=protocol.textureless_threshold
    )
    nonocc = evaluated & ~occ
    return {
        "nonocc": nonocc,
        "occ": evaluated & occ,
        "textured": nonocc & ~flat,
        "textureless": nonocc & flat,
        "discont": nonocc
        & discontinuities(truth, gap=gap, width=protocol.discontinuity_width, border=border),
    }


def hci_subsets(scene: Scene, parameters: Parameters | None = None) -> Subsets:
    """The parts of a scene's truth on which the HCI metrics are measured, without occluded pixels.

    They are kept as long as the scene lives, as `region_masks` are.

    Raises
    ------
    DataError
        The scene has no truth.
    """
    chosen = parameters or Parameters()
    return kept(scene, ("subsets", chosen), lambda: _subsets(scene, chosen))


def _subsets(scene: Scene, parameters: Parameters) -> Subsets:
    if scene.truth is None:
        raise DataError(f"scene {scene.name}: has no truth for HCI metrics")
    nonocc = scene.mask("nonocc") if "nonocc" in scene.masks else nonocc_mask(scene)
    found = extract_subsets(scene.truth, nonocc, parameters=parameters)
    return (
        replace(found, evaluated=found.evaluated & scene.evaluated)
        if scene.evaluated is not None
        else found
    )


def nonocc_mask(scene: Scene, *, gap: float = 2.0) -> Mask:
    """Return the non-occluded pixels of the reference frame, as far as the truth shows.

    Parameters
    ----------
    scene : Scene
        With truth.
    gap : float
        As in `occluded`; used only where the truth of the match frame is not known.

    Returns
    -------
    ndarray, bool, (rows, columns)
        If the truth of both frames is known, the pixels where the two agree to within a pixel; otherwise those that are not `occluded`.

    Notes
    -----
    The masks of Middlebury v2 for teddy and cones were made by the agreement of both truths: these masks have an intersection over union of
    0.99 and 0.985 with the published ones.
    """
    truth = scene.truth
    if truth is None:
        raise DataError(f"scene {scene.name}: has no truth to find its non-occluded pixels with")
    if scene.match_truth is None:
        return ~occluded(truth, scene.direction, gap=gap)
    with np.errstate(invalid="ignore"):
        return left_right_difference(truth, scene.match_truth, scene.direction) <= 1


def left_right_difference(
    disparity: Disparity, match_disparity: Disparity, direction: int
) -> Disparity:
    """Absolute difference between every disparity and that of the pixel that it points to in the match frame's map.

    Parameters
    ----------
    disparity, match_disparity : ndarray, float32, (rows, columns)
        Pixels, of the reference frame and of the match frame, larger = nearer; a value that is not finite is missing. The map of the match frame holds
        disparities towards the reference frame, so that corresponding pixels of perfect maps have the same value.
    direction : int
        1 when the match frame lies to the right of the reference frame, -1 otherwise (`Scene.direction`).

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels; 0 where both maps agree. NaN where there is no estimate, or where it points out of the image or to a pixel without an estimate.

    Raises
    ------
    DataError
        The maps differ in size.
    ParameterError
        `direction` is neither 1 nor -1.

    Notes
    -----
    The cross-check of Fua 1993, section 2.1, before its threshold. A disparity `d` points to the pixel nearest to ``x - direction * d``, where `d` is
    rounded with halves away from zero, as in `render`.

    Examples
    --------
    >>> import numpy as np
    >>> left_right_difference(np.float32([[0, 1, 1, 2.5]]), np.float32([[1, 3, 0, 0]]), 1)
    array([[1. , 0. , 2. , 1.5]], dtype=float32)
    """
    check_sizes("left_right_difference", disparity=disparity, match_disparity=match_disparity)
    if direction not in (1, -1):
        raise ParameterError(f"direction: {direction!r} is neither 1 nor -1")
    return compute_left_right_difference(disparity, match_disparity, direction)


def occluded(truth: Disparity, direction: int = 1, *, gap: float = 2.0) -> Mask:
    """Find the occluded pixels of the reference frame by warping the truth to the match frame and back.

    The truth is rendered into the match view, and the result is rendered back with the disparities that arrived there. A pixel of the reference
    frame on which nothing lands is occluded.

    Parameters
    ----------
    truth : ndarray, float32, (rows, columns)
        Pixels, NaN = unknown. Unknown pixels are skipped in both warps, and so count as occluded unless another pixel covers them.
    direction : int
        1 when the match frame lies to the right of the reference frame, -1 otherwise.
    gap : float
        Neighbours whose disparities differ by less (pixels) belong to one surface.

    Returns
    -------
    ndarray, bool, (rows, columns)

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1. The exchange of line ends in `render` takes effect in the warp with a negative shift:
    on the way back for direction 1, and on the way there for direction -1.
    """
    there = render(truth, truth, direction, gap=gap)
    return np.isnan(render(there, there, -direction, gap=gap))


def textureless(image: Image, *, width: int = 3, threshold: float = 4.0) -> Mask:
    """Pixels around which the horizontal differences of intensity are small.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The unblurred reference image, intensities 0..255.
    width : int
        Side of the square window in pixels over which the squared differences are averaged, borders replicated; an even window
        reaches one pixel further to the right and down. 0 = no averaging.
    threshold : float
        Grey levels. Pixels whose RMS difference in the window is below this are textureless; those exactly at it are not.

    Returns
    -------
    ndarray, bool, (rows, columns)

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1. Of a pixel's two squared differences, to its left and to its right neighbour, each averaged over the
    colour channels, the larger one counts. Sums of 8-bit images are exact here; the authors' program rounds a running sum, and so decides
    differently about some pixels that lie exactly at the threshold.
    """
    channels = 1 if image.ndim == 2 else image.shape[2]
    # Differences of 8 bits and their squares are exact in float32, those of float images need float64.
    planes: NDArray[np.floating] = image.astype(
        np.float32 if image.dtype == np.uint8 else np.float64
    )
    squares = np.square(planes[:, 1:] - planes[:, :-1])
    if channels > 1:
        squares = squares[..., 0] + squares[..., 1] + squares[..., 2]
    contrast = np.zeros(image.shape[:2])
    contrast[:, :-1] = squares
    np.maximum(contrast[:, 1:], squares, out=contrast[:, 1:])
    side = max(width, 1)
    anchor = (side - 1) // 2
    sums = cv2.boxFilter(
        contrast,
        cv2.CV_64F,
        (side, side),
        anchor=(anchor, anchor),
        normalize=False,
        borderType=cv2.BORDER_REPLICATE,
    )
    return sums < threshold**2 * channels * side**2


def discontinuities(truth: Disparity, *, gap: float = 2.0, width: int = 9, border: int = 0) -> Mask:
    """Pixels near a depth discontinuity.

    Parameters
    ----------
    truth : ndarray, float32, (rows, columns)
        Pixels, NaN = unknown; there is no discontinuity between known and unknown.
    gap : float
        Horizontal and vertical neighbours whose disparities differ by at least this (pixels) are both at a discontinuity.
    width : int
        Side in pixels of the square window around every pixel in which a discontinuity is looked for; an even window reaches
        one pixel further to the right and down.
    border : int
        Discontinuities within so many pixels of the image borders (and one or two pixels more, as in the authors' program) are ignored.

    Returns
    -------
    ndarray, bool, (rows, columns)
        Occluded pixels and the border are included where the window reaches them.

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1. The paper says "more than", but its numbers come out with "at least".
    """
    rows, columns = truth.shape
    top, left = border + 1, border + 1
    bottom, right = max(rows - border - 1, 0), max(columns - border - 2, 0)
    here = truth[top:bottom, left:right]
    found = np.zeros(truth.shape, np.uint8)
    for down, across in ((0, 1), (1, 0)):
        neighbour = np.s_[top + down : bottom + down, left + across : right + across]
        jump = np.abs(here - truth[neighbour]) >= np.float32(gap)
        found[top:bottom, left:right] |= jump
        found[neighbour] |= jump
    anchor = (width - 1) // 2
    return cv2.dilate(found, np.ones((width, width), np.uint8), anchor=(anchor, anchor)).view(bool)
