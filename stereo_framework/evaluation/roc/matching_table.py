"""The true part of the matching table of every row, and the errors of a disparity map that it tells.

The true part says which pixels correspond, which are occluded, and where occlusion boundaries are; the errors are the mismatches, false positives and false
negatives, from which the error rate and sparsity rate follow.

The table of an image row has a cell (i, j) for every column i of the reference frame and every column j of the match frame. Kostliva, Cech & Sara
2007, section 2, use the truth to divide it into regions: G0, the thin line of true correspondences; G, the cells within one pixel of it; O, the
surroundings of the end points of its segments; C, the cells whose two pixels are both occluded; and T, all the rest. The tables themselves are not
stored, since the region of a cell follows from what is known about its row and its column.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.core.input_checks import check_sizes
from stereo_framework.core.scene import Disparity, Mask, Scene
from stereo_framework.core.view import kernel_array
from stereo_framework.evaluation.protocols import of_scene
from stereo_framework.evaluation.regions import kept, region_masks
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

UNKNOWN, OCCLUDED, NONOCC = 0, 1, 2
"""What is known about a pixel: nothing, or that it is not evaluated; that it is occluded in the other frame; or that it is non-occluded."""

_OPEN = 1.0
"""Neighbours belong to one segment, and two disparities mean one surface, when they differ by at most this many pixels."""


@dataclass(frozen=True, eq=False)
class MatchingTable:
    """What the truth says about the matching tables of all rows of a scene. Arrays are ``(rows, columns)``, mirrored for direction -1.

    Parameters
    ----------
    truth : ndarray, float32
        Pixels, NaN = unknown.
    target : ndarray, int32
        The column of the match frame to which a non-occluded pixel corresponds (its cell in G0); -1 for other pixels.
    reference_status, match_status : ndarray, uint8
        `UNKNOWN`, `OCCLUDED` or `NONOCC`, of the pixels of both frames.
    ends : ndarray, bool
        Non-occluded pixels whose cell is an end of a segment of G0.
    radius : int
        Chebyshev distance in cells within which O surrounds an end.
    direction : int
        1 when the match frame lies to the right of the reference frame, -1 otherwise.
    """

    truth: Disparity
    target: NDArray[np.int32]
    reference_status: NDArray[np.uint8]
    match_status: NDArray[np.uint8]
    ends: Mask
    radius: int
    direction: int


def scene_table(scene: Scene, *, radius: int = 2) -> MatchingTable:
    """The matching table of a scene over the pixels that its data set evaluates, from the truth of both frames where both are known.

    It is kept as long as the scene lives, so that a sweep computes it once.

    Parameters
    ----------
    scene : Scene
        With truth.
    radius : int
        As in `matching_table`.

    Raises
    ------
    DataError
        The scene has no truth.
    """
    if scene.truth is None:
        raise DataError(
            f"scene {scene.name}: error and sparsity rates need its truth, and it has none"
        )
    # A limit of the scene's own protocol is no rule of this table.
    protocol = of_scene(scene)
    if protocol.truth_limit is not None:
        protocol = replace(protocol, truth_limit=None)
    truth, evaluated = scene.truth, region_masks(scene, protocol)["all"]
    return kept(
        scene,
        ("table", radius),
        lambda: matching_table(
            truth, scene.match_truth, direction=scene.direction, evaluated=evaluated, radius=radius
        ),
    )


def matching_table(
    truth: Disparity,
    match_truth: Disparity | None = None,
    *,
    direction: int = 1,
    evaluated: Mask | None = None,
    radius: int = 2,
) -> MatchingTable:
    """Find correspondences, occlusions and segment ends in the truth.

    Parameters
    ----------
    truth : ndarray, float32, (rows, columns)
        Disparities of the reference frame in pixels, NaN = unknown.
    match_truth : ndarray, float32, (rows, columns), optional
        Disparities of the match frame towards the reference frame.
    direction : int
        1 when the match frame lies to the right of the reference frame, -1 otherwise.
    evaluated : ndarray, bool, (rows, columns), optional
        Pixels of the reference frame that count. The others are treated as unknown, except that they still occlude. Default: all.
    radius : int
        Chebyshev distance in cells from the end of a segment within which nothing counts (region O). Rates depend on it, so state it with them.

    Returns
    -------
    MatchingTable

    Raises
    ------
    DataError
        The arrays differ in size.

    Notes
    -----
    If the truth of the match frame is given, a pixel is non-occluded where both truths agree to within a pixel. Otherwise a pixel is non-occluded unless it
    falls on the same column as a surface that is nearer by more than a pixel. Columns that a slanted surface steps over count as hit. A column on
    which nothing falls is occluded, or unknown if it lies between the columns of the pixels around an unknown stretch. The paper does not define the
    surroundings of occlusion boundaries; two pixels are half of the 5x5 windows with which its authors correlate. A segment also ends at unknown
    pixels and at the borders of the image.

    Examples
    --------
    >>> import numpy as np
    >>> table = matching_table(np.float32([[0, 0, 0, 2, 2, 0, 0, 0]]))
    >>> table.target.tolist()  # the near surface occludes columns 1 and 2 of the reference frame
    [[0, -1, -1, 1, 2, 5, 6, 7]]
    >>> table.match_status.tolist()  # and uncovers columns 3 and 4 of the match frame
    [[2, 2, 2, 1, 1, 2, 2, 2]]
    """
    others = {"match_truth": match_truth, "evaluated": evaluated}
    check_sizes(
        "matching_table",
        truth=truth,
        **{name: other for name, other in others.items() if other is not None},
    )
    # Mirrored, a pair of direction -1 is one of direction 1.
    depth = kernel_array(truth[:, ::direction].astype(np.float32, copy=False))
    target = np.empty(depth.shape, np.int32)
    reference_status, match_status = (
        np.empty(depth.shape, np.uint8),
        np.empty(depth.shape, np.uint8),
    )
    ends = np.empty(depth.shape, np.bool_)

    def on_rows(kernel: Callable[..., None], *arrays: NDArray) -> None:
        over_rows(lambda a, b: kernel(*(array[a:b] for array in arrays)), len(depth), depth.size)

    if match_truth is None:
        on_rows(_from_one, depth, target, reference_status, match_status)
    else:
        other = kernel_array(match_truth[:, ::direction].astype(np.float32, copy=False))
        on_rows(_from_both, depth, other, target, reference_status, match_status)
    on_rows(_find_ends, depth, reference_status, ends)
    if evaluated is not None:
        reference_status[~evaluated[:, ::direction]] = UNKNOWN
    return MatchingTable(depth, target, reference_status, match_status, ends, radius, direction)


@kernel
def column_of(x, disparity):  # type: ignore[no-untyped-def]
    """The column nearest to ``x - disparity``. Halves are rounded to the right, so that equal steps stay equal; values far out of view are clipped."""
    return int(min(max(np.floor(x - np.float64(disparity) + 0.5), -1e9), 1e9))


@kernel
def _from_one(truth, target, reference_status, match_status):  # type: ignore[no-untyped-def]
    rows, columns = truth.shape
    nearest = np.empty(columns, np.float32)
    place = np.empty(columns, np.int64)
    for y in range(rows):
        nearest[:] = -np.inf
        for x in range(columns):
            if not np.isfinite(truth[y, x]):
                continue
            place[x] = column_of(x, truth[y, x])
            if 0 <= place[x] < columns:
                nearest[place[x]] = max(nearest[place[x]], truth[y, x])
            # A comparison with NaN is false.
            if x > 0 and np.abs(truth[y, x] - truth[y, x - 1]) <= _OPEN:
                middle = (truth[y, x] + truth[y, x - 1]) / 2
                for j in range(max(place[x - 1] + 1, 0), min(place[x], columns)):
                    nearest[j] = max(nearest[j], middle)
        for j in range(columns):
            match_status[y, j] = NONOCC if np.isfinite(nearest[j]) else OCCLUDED
        _unknown_columns(truth[y], place, match_status[y])
        for x in range(columns):
            target[y, x] = -1
            reference_status[y, x] = OCCLUDED if np.isfinite(truth[y, x]) else UNKNOWN
            if (
                reference_status[y, x] == OCCLUDED
                and 0 <= place[x] < columns
                and truth[y, x] >= nearest[place[x]] - _OPEN
            ):
                reference_status[y, x] = NONOCC
                target[y, x] = place[x]


@kernel
def _unknown_columns(truth, place, match_status):  # type: ignore[no-untyped-def]
    """Mark as unknown the columns on which nothing known falls, between the columns of the known pixels around an unknown stretch."""
    columns = truth.shape[0]
    first = 0  # column behind that of the last known pixel
    for x in range(columns + 1):
        if x < columns and not np.isfinite(truth[x]):
            continue
        if x > 0 and not np.isfinite(truth[x - 1]):
            for j in range(max(first, 0), min(place[x], columns) if x < columns else columns):
                if match_status[j] == OCCLUDED:
                    match_status[j] = UNKNOWN
        if x < columns:
            first = place[x] + 1


@kernel
def _from_both(truth, match_truth, target, reference_status, match_status):  # type: ignore[no-untyped-def]
    rows, columns = truth.shape
    for y in range(rows):
        for j in range(columns):
            match_status[y, j] = OCCLUDED if np.isfinite(match_truth[y, j]) else UNKNOWN
            if match_status[y, j] == OCCLUDED:
                x = column_of(j, -match_truth[y, j])
                if 0 <= x < columns and np.abs(truth[y, x] - match_truth[y, j]) <= _OPEN:
                    match_status[y, j] = NONOCC
        for x in range(columns):
            target[y, x] = -1
            reference_status[y, x] = OCCLUDED if np.isfinite(truth[y, x]) else UNKNOWN
            if reference_status[y, x] == OCCLUDED:
                j = column_of(x, truth[y, x])
                if 0 <= j < columns and np.abs(match_truth[y, j] - truth[y, x]) <= _OPEN:
                    reference_status[y, x] = NONOCC
                    target[y, x] = j
                    # Rounded there and back, its own column need not find it.
                    match_status[y, j] = NONOCC


@kernel
def _find_ends(truth, reference_status, ends):  # type: ignore[no-untyped-def]
    rows, columns = truth.shape
    for y in range(rows):
        for x in range(columns):
            ends[y, x] = False
            if reference_status[y, x] == NONOCC:
                for other in (x - 1, x + 1):
                    inside = 0 <= other < columns and reference_status[y, other] == NONOCC
                    if not (inside and np.abs(truth[y, other] - truth[y, x]) <= _OPEN):
                        ends[y, x] = True


@dataclass(frozen=True)
class MapErrors:
    """The errors of a disparity map, as numbers of pixels.

    Parameters
    ----------
    mismatches : int
        MI: matches in T, which are wrong because the truth has another correspondence for one of the two pixels.
    false_positives : int
        FP: matches in C, of two occluded pixels, and matches of an occluded pixel with a place out of view.
    false_negatives : int
        FN: true correspondences of which neither pixel is matched.
    correspondences : int
        All true correspondences that count: those of G0 outside of O.
    pixels : int
        All pixels of the reference frame.
    """

    mismatches: int
    false_positives: int
    false_negatives: int
    correspondences: int
    pixels: int

    @property
    def error_rate(self) -> float:
        """ER = (MI + FP) / pixels, 0..1, lower is better; NaN without a pixel."""
        return (self.mismatches + self.false_positives) / self.pixels if self.pixels else math.nan

    @property
    def sparsity_rate(self) -> float:
        """SR = FN / correspondences, 0..1, lower is better; NaN where the truth has none that count."""
        return self.false_negatives / self.correspondences if self.correspondences else math.nan


def map_errors(disparity: Disparity, table: MatchingTable) -> MapErrors:
    """Count the errors of a disparity map, dense or sparse.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels of the reference frame; a value that is not finite is no match. The map need not be one-to-one.
    table : MatchingTable
        Of the scene's truth.

    Returns
    -------
    MapErrors
        The ideal map has ER = SR = 0, and the empty map SR = 1 and ER = 0. A map that equals the truth everywhere, including occluded pixels, has a
        positive ER, because an occluded pixel has no match.

    Raises
    ------
    DataError
        The map has another size than the truth.

    Notes
    -----
    Kostliva, Cech & Sara 2007, section 2. Whether a match is right, within a pixel of the truth, is decided by its real-valued disparity: rounded to cells, a
    quarter-pixel truth plus one would be wrong in places. A cell belongs to O first, then to G, C or T. Cells of unknown pixels do not count. A match
    that points out of the match frame is wrong too, though the table has no cell for it: otherwise the errors of a dense map at the side of the
    image would not count. The denominator of the error rate is the number of all pixels of the image, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.full((1, 10), 2, np.float32)
    >>> from stereo_framework.evaluation.roc import matching_table
    >>> table = matching_table(truth, radius=1)
    >>> map_errors(truth + np.float32(3), table)  # columns 2 to 9 correspond, without the ends' surroundings 4 to 7
    MapErrors(mismatches=8, false_positives=2, false_negatives=0, correspondences=4, pixels=10)
    """
    check_sizes("map_errors", disparity=disparity, truth=table.truth)
    depth = kernel_array(disparity[:, :: table.direction].astype(np.float32, copy=False))
    counts = np.zeros((len(depth), 4), np.int64)
    known = (table.truth, table.target, table.reference_status, table.match_status, table.ends)

    def count(a: int, b: int) -> None:
        _count_kernel(depth[a:b], *(array[a:b] for array in known), table.radius, counts[a:b])

    over_rows(count, len(depth), depth.size)
    mismatches, false_positives, false_negatives, correspondences = map(int, counts.sum(axis=0))
    return MapErrors(mismatches, false_positives, false_negatives, correspondences, depth.size)


@kernel
def _near_end(ends, target, x, j, radius):  # type: ignore[no-untyped-def]
    for k in range(max(x - radius, 0), min(x + radius + 1, ends.shape[0])):
        if ends[k] and np.abs(target[k] - j) <= radius:
            return True
    return False


@kernel
def _count_kernel(disparity, truth, target, reference_status, match_status, ends, radius, counts):  # type: ignore[no-untyped-def]
    rows, columns = disparity.shape
    matched = np.empty(columns, np.bool_)
    for y in range(rows):
        matched[:] = False
        for x in range(columns):
            if not np.isfinite(disparity[y, x]):
                continue
            j = column_of(x, disparity[y, x])
            inside = 0 <= j < columns
            if inside:
                matched[j] = True
            status = reference_status[y, x]
            if (
                status == UNKNOWN
                or (inside and match_status[y, j] == UNKNOWN)
                or _near_end(ends[y], target[y], x, j, radius)
            ):
                continue
            if status == NONOCC and np.abs(disparity[y, x] - truth[y, x]) <= 1:
                continue
            if status == OCCLUDED and (not inside or match_status[y, j] == OCCLUDED):
                counts[y, 1] += 1
            else:
                counts[y, 0] += 1
        for x in range(columns):
            if reference_status[y, x] == NONOCC and not _near_end(
                ends[y], target[y], x, target[y, x], radius
            ):
                counts[y, 3] += 1
                if not np.isfinite(disparity[y, x]) and not matched[target[y, x]]:
                    counts[y, 2] += 1
