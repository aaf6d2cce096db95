"""Looking at a pair: sparse matches, an estimate of its search range, and whether pair and range can be right.

Sparse matches are a few hundred points that are found anywhere in both images. They show whether what dense matching assumes is true.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import Disparity, Scene, SearchRange
from stereo_framework.core.volume import SearchMask
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.kernels.internals import start_numba
from stereo_framework.kernels.progress import announce_step
from stereo_framework.kernels.threads import ThreadPool, thread_count
from stereo_framework.matching_cost import census
from stereo_framework.optimization import semi_global
from stereo_framework.refinement import left_right_check

_COARSE = 240
"""Approximate number of columns of the images that the coarse pass matches."""

_WIDEST = (-0.1, 0.4)
"""Disparities that the coarse pass tries if sparse matches do not say more, as shares of the images' width."""

_TAIL = 0.175
"""Percent of the consistent pixels, at either end, that are taken for mistakes. With values from 0.14 to 0.21 the range covers 99.5 % of the truth, and is at most
1.3 times as wide as needed, on 25 of 27 scenes; with larger and with smaller values on fewer."""

_ENDS = 0.25
"""Percent of the pixels of a map, at either end, that are ignored when measuring how much of the range the map uses."""

_WIDENED, _CELLS = 0.3, 3e7
"""A closer look is taken if the margin is more than this share of the range, and if it takes at most so many pixels times levels."""

_OFF = 0.5
"""Pixels below 0 at which a matched point shows a negative disparity, and not 0."""

_NOT_RECTIFIED = 1.0
"""A pair does not count as rectified if the rows of matched points differ by more than so many pixels in the median."""

_EXCHANGED = 0.9
"""Images count as exchanged if more than this share of the matched points have a disparity below zero."""

_OUTSIDE, _UNUSED = 0.1, 0.4
"""A range is called too narrow if more than the first share of the matched points lie outside it, and wide if the map uses less than the second share of it."""

_FEATURES = 2000
_LARGEST = 1000
"""Length in pixels of the longer side of the images in which features are looked for; larger images are reduced."""

_RATIO = 0.75
"""Largest distance of a descriptor to its match, as a share of the distance to the second best one (0.8 in Lowe 2004, section 7.1)."""

ENOUGH = 20
"""Smallest number of sparse matches from which conclusions are drawn."""

_SAME_ROW = 1.5
"""Largest difference, in pixels, between the rows of matched points of a rectified pair, in the images in which they were found."""


@dataclass(frozen=True, eq=False)
class SparseMatches:
    """Points that were found in both images.

    Parameters
    ----------
    here, there : ndarray, float32, (n, 2)
        Column and row of each point in the reference and in the match image, pixels.
    size : float
        By how much the images are larger than those in which the points were found.
    """

    here: NDArray[np.float32]
    there: NDArray[np.float32]
    size: float

    @property
    def vertical(self) -> NDArray[np.float32]:
        """Row in the match image minus row in the reference image, pixels."""
        return self.there[:, 1] - self.here[:, 1]

    @property
    def vertical_offset(self) -> float | None:
        """Median vertical distance of the points in both images, in pixels; None if there are too few of them."""
        return float(np.median(np.abs(self.vertical))) if self.vertical.size >= ENOUGH else None

    @cached_property
    def along_rows(self) -> NDArray[np.float32]:
        """Disparities, in pixels and ascending, of the points that lie in the same row of both images and have others with similar disparities.

        Chance matches have no such company.
        """
        found = np.sort((self.here - self.there)[np.abs(self.vertical) <= _SAME_ROW * self.size, 0])
        if found.size < 4:
            return found[:0]
        # A point has company if at least two others lie within a hundredth of the whole spread.
        near = max(2 * self.size, 0.01 * float(found[-1] - found[0]))
        company = np.searchsorted(found, found + near, "right") - np.searchsorted(
            found, found - near, "left"
        )
        return found[company > 2]


def sparse_matches(scene: Scene) -> SparseMatches:
    """Match SIFT features of the two images of a scene's pair, without any if they have nothing in common.

    Both features of a match must be each other's best one, and clearly better than the second best (Lowe 2004).
    """
    import cv2

    size = max(1.0, max(scene.reference.shape[:2]) / _LARGEST)
    sift = cv2.SIFT.create(nfeatures=_FEATURES)
    points, descriptors = [], []
    for index in (scene.reference_index, scene.match_index):
        image, valid = scene.image(index), scene.valid(index)
        grey = np.rint(np.clip(image if image.ndim == 2 else image.mean(axis=2), 0, 255)).astype(
            np.uint8
        )
        small = (
            grey
            if size == 1
            else cv2.resize(grey, None, fx=1 / size, fy=1 / size, interpolation=cv2.INTER_AREA)
        )
        mask = (
            None
            if valid is None
            else cv2.resize(
                valid.astype(np.uint8), small.shape[::-1], interpolation=cv2.INTER_NEAREST
            )
        )
        found, described = sift.detectAndCompute(small, mask)
        # A pixel of the reduced image has its middle in that of the pixels that it was made of.
        half = np.float32(0.5)
        points.append(
            np.float32(size) * (np.array([p.pt for p in found], np.float32).reshape(-1, 2) + half)
            - half
        )
        descriptors.append(described)
    mutual = np.empty((0, 2), int)
    if min(map(len, points)) >= 2:
        forth, back = _best(*descriptors), _best(*reversed(descriptors))
        mutual = np.array([(i, j) for i, j in forth.items() if back.get(j) == i], int).reshape(
            -1, 2
        )
    return SparseMatches(points[0][mutual[:, 0]], points[1][mutual[:, 1]], size)


def _best(these: NDArray[np.float32], those: NDArray[np.float32]) -> dict[int, int]:
    import cv2

    two = cv2.BFMatcher(cv2.NORM_L2).knnMatch(these, those, k=2)
    return {
        first.queryIdx: first.trainIdx
        for first, second in two
        if first.distance < _RATIO * second.distance
    }


def looked_at(scene: Scene) -> tuple[SearchRange, SparseMatches, bool]:
    """Look at the pair of a scene: returns its search range, its own or an estimate; its sparse matches; and whether the range is estimated."""
    announce_step("sparse matches")
    sparse = _sparse_matches_while_numba_starts(scene)
    if scene.search is not None:
        return scene.search, sparse, False
    announce_step("estimating the range of disparities")
    return SearchRange(*estimate_range(scene, sparse)), sparse, True


def _sparse_matches_while_numba_starts(scene: Scene) -> SparseMatches:
    """Find sparse matches, and load numba in a second thread if two may be used."""
    if thread_count() == 1:
        return sparse_matches(scene)
    # OpenCV works without holding Python's lock, so that numba can start meanwhile.
    try:
        pool = ThreadPool(1, "sparse matches")
    except RuntimeError:
        # The system starts no thread.
        return sparse_matches(scene)
    with pool:
        matches = pool.submit(sparse_matches, scene)
        start_numba()
        return matches.result()


def estimate_range(scene: Scene, sparse: SparseMatches) -> tuple[float, float]:
    """Smallest and largest disparity of the pair of a scene, in whole pixels with a margin, from its sparse matches and a coarse pass over small images.

    Notes
    -----
    Both images are reduced to about 240 columns and matched with census and semi-global matching. The range covers the disparities that the other
    view confirms, except 0.175 percent at either end, and the sparse matches. It is then widened by two coarse pixels at either end, or by one pixel
    at full size. It begins below 0 only if sparse matches do. If that is much of a narrow range, larger images are matched within the range that was found.
    """
    rows, columns = scene.reference.shape[:2]
    reduction = max(1, round(columns / _COARSE))
    points = sparse.along_rows if sparse.along_rows.size >= ENOUGH else sparse.along_rows[:0]
    low, high = (share * columns for share in _WIDEST)
    if points.size:
        # Matched points lie on textured surfaces, and the nearest and farthest ones may have no texture.
        nearest, farthest = float(points[-1]), float(points[0])
        around = 0.5 * (nearest - farthest) + 0.05 * columns
        low, high = farthest - around, nearest + around
    low, high = _found(scene, reduction, low, high, points)
    while reduction > 1:
        finer = max(1, reduction // 2)
        cells = rows // finer * columns // finer * (high - low + 4 * reduction) / finer
        if cells > _CELLS or 4 * reduction < _WIDENED * (high - low):
            break
        low, high = _found(scene, finer, low - 2 * reduction, high + 2 * reduction, points)
        reduction = finer
    margin = 2 * reduction if reduction > 1 else 1
    # What lies in front of both cameras has no disparity below 0, unless the images were shifted; then matched points tell.
    shifted = points.size and points[0] < -_OFF
    first = math.floor(low - margin)
    return float(first if shifted else max(first, 0)), float(math.ceil(high + margin))


def _found(
    scene: Scene, reduction: int, low: float, high: float, points: NDArray[np.float32]
) -> tuple[float, float]:
    """The range of the disparities about which both views agree at a fraction of the size, between `low` and `high`, and of the sparse matches."""
    valid = scene.valid(scene.reference_index), scene.valid(scene.match_index)
    mask = SearchMask(*valid) if any(known is not None for known in valid) else None
    coarse = Pair(
        scene.reference, scene.match, SearchRange(math.floor(low), math.ceil(high)), mask
    ).reduced(reduction)
    found = Pipeline([census, semi_global, left_right_check]).estimate(coarse).disparity
    found = reduction * found[np.isfinite(found)]
    low, high = np.percentile(found if found.size else (low, high), [_TAIL, 100 - _TAIL])
    return float(min([low, *points[:1]])), float(max([high, *points[-1:]]))


def find_pair_problems(
    sparse: SparseMatches,
    search: SearchRange,
    disparity: Disparity | None = None,
    *,
    estimated: bool = False,
    rectified: bool = False,
) -> list[str]:
    """What sparse matches, and the map that was found, say against a pair or its search range: nothing, or one sentence with a figure and the cure.

    Parameters
    ----------
    sparse : SparseMatches
    search : SearchRange
        The search range.
    disparity : ndarray, float32, (rows, columns), optional
        The map that was found; pixels, NaN = no estimate.
    estimated : bool
        Whether the range was estimated rather than given; then disparities below zero are not intended.
    rectified : bool
        Whether the pair was rectified with a calibration.
    """
    points, offset = sparse.along_rows, sparse.vertical_offset or 0.0
    if offset > _NOT_RECTIFIED:
        event = f"{sparse.vertical.size} matched points lie {offset:.1f} rows apart in the median"
        if rectified:
            return [
                f"the pair may still not be rectified: {event}; the calibration given with --rectify may be that of other images, "
                "of another image size or of another lens model, or the images may be exchanged; give the calibration of these images, "
                "or exchange the two images"
            ]
        return [
            f"the pair may not be rectified: {event}; 'match --rectify auto' corrects that, better with the stereo calibration of the "
            "cameras, --rectify CALIBRATION; if the images do not show one scene at one moment, choose a pair that does"
        ]
    if points.size >= ENOUGH:
        outside, negative = (
            np.mean((points < search.minimum) | (points > search.maximum)),
            np.mean(points < 0),
        )
        ends = f"{math.floor(points[0])}:{math.ceil(points[-1])}"
        if negative > _EXCHANGED and (estimated or search.minimum >= 0):
            return [
                f"the images may be exchanged: {100 * negative:.0f} % of {points.size} matched points have a disparity below 0; "
                f"exchange the two images, or, if disparities below 0 are meant, give their range: --disparities={ends}, a little wider"
            ]
        if outside > _OUTSIDE:
            return [
                f"the range may be too narrow: {100 * outside:.0f} % of {points.size} matched points lie outside "
                f"{search.minimum:g}:{search.maximum:g}; try --disparities {ends}, a little wider, or keep the range if repeated "
                "texture makes these matches wrong"
            ]
    elif sparse.vertical.size < ENOUGH:
        return [
            f"the images may show different scenes, or too little texture: {sparse.vertical.size} points are found in both; "
            "choose two images of one scene, or judge the disparity map by picture.png"
        ]
    known = disparity[np.isfinite(disparity)] if disparity is not None else np.empty(0)
    if known.size and not estimated:
        low, high = np.percentile(known, [_ENDS, 100 - _ENDS])
        if high - low < _UNUSED * (search.maximum - search.minimum):
            return [
                f"the range may be wider than needed: {100 - 2 * _ENDS:g} % of the map lie within {low:.0f}:{high:.0f} of "
                f"{search.minimum:g}:{search.maximum:g}; a narrower range is faster and gives fewer wrong matches; keep the range if "
                "small objects have the other disparities"
            ]
    return []
