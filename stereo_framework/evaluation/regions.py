"""Where errors are counted: all, nonocc, occ, textured, textureless and discont.

Scharstein & Szeliski 2002, section 5.1; the rules that the paper leaves open are those of the authors' program.
"""

from __future__ import annotations

import threading
import types
import weakref
from collections.abc import Mapping

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.evaluation.rendering import render
from stereo_framework.scene import Disparity, Image, Mask, Scene

_KEPT = 8
"""Sets of masks kept per scene: a run is seldom measured with more protocols that differ in their regions."""

_CACHE: weakref.WeakKeyDictionary[Scene, dict[tuple[float, ...], Mapping[str, Mask]]] = weakref.WeakKeyDictionary()
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
        Every mask is restricted to evaluated pixels: those within the border whose truth is known. ``textured``,
        ``textureless`` and ``discont`` hold non-occluded pixels only. Without truth: ``all`` alone, all pixels within the border.
    """
    border = scene.border if protocol.border is None else protocol.border
    key = (
        border,
        protocol.disparity_gap,
        protocol.textureless_width,
        protocol.textureless_threshold,
        protocol.discontinuity_width,
    )
    kept = _CACHE.setdefault(scene, {})
    masks = kept.get(key)
    if masks is None:
        masks = _masks(scene, *key)
        with _LOCK:
            if len(kept) >= _KEPT:
                del kept[next(iter(kept))]
            kept[key] = masks
    return masks


def _masks(scene: Scene, border: int, gap: float, flat_width: int, flat_threshold: float, jump_width: int) -> Mapping[str, Mask]:
    truth = scene.truth
    rows, columns = scene.reference.shape[:2]
    evaluated = np.zeros((rows, columns), bool)
    evaluated[border : max(rows - border, 0), border : max(columns - border, 0)] = True
    masks = {"all": evaluated}
    if truth is not None:
        evaluated &= np.isfinite(truth)
        hidden = occluded(truth, scene.direction, gap=gap)
        flat = textureless(scene.reference, width=flat_width, threshold=flat_threshold)
        visible = evaluated & ~hidden
        masks |= {
            "nonocc": visible,
            "occ": evaluated & hidden,
            "textured": visible & ~flat,
            "textureless": visible & flat,
            "discont": visible & discontinuities(truth, gap=gap, width=jump_width, border=border),
        }
    for mask in masks.values():
        mask.flags.writeable = False
    return types.MappingProxyType(masks)


def occluded(truth: Disparity, direction: int = 1, *, gap: float = 2.0) -> Mask:
    """Pixels of the reference frame that the match frame does not show, found by warping there and back.

    The truth is rendered into the match view; what arrived there is rendered back with the disparity it arrived with.
    Reference pixels that nothing lands on are occluded.

    Parameters
    ----------
    truth : ndarray, float32, (rows, columns)
        Pixels, NaN = unknown; unknown pixels are skipped in both warps and come out as occluded unless another covers them.
    direction : int
        1 when the match frame lies to the right of the reference frame, -1 otherwise.
    gap : float
        Neighbours whose disparities differ by less (pixels) belong to one surface.

    Returns
    -------
    ndarray, bool, (rows, columns)

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1. The exchanged line ends of `render` strike in the warp with a negative shift: on the
    way back for direction 1, on the way there for direction -1.
    """
    there = render(truth, truth, direction, gap=gap)
    return np.isnan(render(there, there, -direction, gap=gap))


def textureless(image: Image, *, width: int = 3, threshold: float = 4.0) -> Mask:
    """Pixels around which the horizontal intensity differences are small.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The unblurred reference image, intensities 0..255.
    width : int
        Side of the square window in pixels over which the squared differences are averaged, borders replicated; an even window
        reaches one pixel further to the right and down. 0 = no averaging.
    threshold : float
        Grey levels; pixels whose RMS difference in the window is below it are textureless, those exactly at it are not.

    Returns
    -------
    ndarray, bool, (rows, columns)

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1. Of a pixel's squared differences to its left and right neighbour, each averaged over
    the colour channels, the larger one counts. Sums of 8-bit images are exact; the authors' program rounds a running
    sum and so decides some pixels exactly at the threshold otherwise.
    """
    channels = 1 if image.ndim == 2 else image.shape[2]
    # Differences of 8 bits and their squares are exact in float32, those of float images need float64.
    planes: NDArray[np.floating] = image.astype(np.float32 if image.dtype == np.uint8 else np.float64)
    squares = np.square(planes[:, 1:] - planes[:, :-1])
    if channels > 1:
        squares = squares[..., 0] + squares[..., 1] + squares[..., 2]
    contrast = np.zeros(image.shape[:2])
    contrast[:, :-1] = squares
    np.maximum(contrast[:, 1:], squares, out=contrast[:, 1:])
    side = max(width, 1)
    anchor = (side - 1) // 2
    sums = cv2.boxFilter(
        contrast, cv2.CV_64F, (side, side), anchor=(anchor, anchor), normalize=False, borderType=cv2.BORDER_REPLICATE
    )
    return sums < threshold**2 * channels * side**2


def discontinuities(truth: Disparity, *, gap: float = 2.0, width: int = 9, border: int = 0) -> Mask:
    """Pixels near a depth discontinuity.

    Parameters
    ----------
    truth : ndarray, float32, (rows, columns)
        Pixels, NaN = unknown; there is no discontinuity between known and unknown.
    gap : float
        Neighbours (horizontal, vertical) whose disparities differ by at least this (pixels) are both at a discontinuity.
    width : int
        Side in pixels of the square window around every pixel in which a discontinuity is looked for; an even window reaches
        one pixel further to the right and down.
    border : int
        Discontinuities in this many pixels at the image borders (and in a further one or two, as in the authors' program) are
        not looked at.

    Returns
    -------
    ndarray, bool, (rows, columns)
        Occluded pixels and the border are included where the window reaches them.

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1; the paper says "more than", its numbers need "at least".
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
