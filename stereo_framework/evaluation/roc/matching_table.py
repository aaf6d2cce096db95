"""The true part of the matching table of every row: which pixels correspond, which are occluded, where occlusion boundaries are.

The table of an image row has a cell (i, j) for every column i of the reference frame and every column j of the match frame. Kostliva, Cech & Sara
2007, section 2, use the truth to divide it into regions: G0, the thin line of true correspondences; G, the cells within one pixel of it; O, the
surroundings of the end points of its segments; C, the cells whose two pixels are both occluded; and T, all the rest. The tables themselves are not
stored, since the region of a cell follows from what is known about its row and its column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, Mask, Scene
from stereo_framework.evaluation._sizes import check_sizes
from stereo_framework.evaluation.protocols import of_scene
from stereo_framework.evaluation.regions import kept, region_masks
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

UNKNOWN, OCCLUDED, VISIBLE = 0, 1, 2
"""What is known about a pixel: nothing, or that it is not evaluated; that it is hidden in the other frame; or that it is visible there."""

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
        The column of the match frame to which a visible pixel corresponds (its cell in G0); -1 for other pixels.
    reference_status, match_status : ndarray, uint8
        `UNKNOWN`, `OCCLUDED` or `VISIBLE`, of the pixels of both frames.
    ends : ndarray, bool
        Visible pixels whose cell is an end of a segment of G0.
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
        raise DataError(f"scene {scene.name}: error and sparsity rates need its truth, and it has none")
    truth, evaluated = scene.truth, region_masks(scene, of_scene(scene))["all"]
    return kept(
        scene,
        ("table", radius),
        lambda: matching_table(truth, scene.match_truth, direction=scene.direction, evaluated=evaluated, radius=radius),
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
    If the truth of the match frame is given, a pixel is visible where both truths agree to within a pixel. Otherwise a pixel is visible unless it
    falls on the same column as a surface that is nearer by more than a pixel. Columns that a slanted surface steps over count as hit. A column on
    which nothing falls is occluded, or unknown if it lies between the columns of the pixels around an unknown stretch. The paper does not define the
    surroundings of occlusion boundaries; two pixels are half of the 5x5 windows with which its authors correlate. A segment also ends at unknown
    pixels and at the borders of the image.

    Examples
    --------
    >>> import numpy as np
    >>> table = matching_table(np.float32([[0, 0, 0, 2, 2, 0, 0, 0]]))
    >>> table.target.tolist()  # the near surface hides columns 1 and 2 of the reference frame
    [[0, -1, -1, 1, 2, 5, 6, 7]]
    >>> table.match_status.tolist()  # and uncovers columns 3 and 4 of the match frame
    [[2, 2, 2, 1, 1, 2, 2, 2]]
    """
    others = {"match_truth": match_truth, "evaluated": evaluated}
    check_sizes("matching_table", truth=truth, **{name: other for name, other in others.items() if other is not None})
    # Mirrored, a pair of direction -1 is one of direction 1.
    depth = np.ascontiguousarray(truth[:, ::direction], np.float32)
    target = np.empty(depth.shape, np.int32)
    reference_status, match_status = np.empty(depth.shape, np.uint8), np.empty(depth.shape, np.uint8)
    ends = np.empty(depth.shape, np.bool_)

    def on_rows(kernel: Callable[..., None], *arrays: NDArray) -> None:
        over_rows(lambda a, b: kernel(*(array[a:b] for array in arrays)), len(depth), depth.size)

    if match_truth is None:
        on_rows(_from_one, depth, target, reference_status, match_status)
    else:
        other = np.ascontiguousarray(match_truth[:, ::direction], np.float32)
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
            match_status[y, j] = VISIBLE if np.isfinite(nearest[j]) else OCCLUDED
        _unknown_columns(truth[y], place, match_status[y])
        for x in range(columns):
            target[y, x] = -1
            reference_status[y, x] = OCCLUDED if np.isfinite(truth[y, x]) else UNKNOWN
            if reference_status[y, x] == OCCLUDED and 0 <= place[x] < columns and truth[y, x] >= nearest[place[x]] - _OPEN:
                reference_status[y, x] = VISIBLE
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
                    match_status[y, j] = VISIBLE
        for x in range(columns):
            target[y, x] = -1
            reference_status[y, x] = OCCLUDED if np.isfinite(truth[y, x]) else UNKNOWN
            if reference_status[y, x] == OCCLUDED:
                j = column_of(x, truth[y, x])
                if 0 <= j < columns and np.abs(match_truth[y, j] - truth[y, x]) <= _OPEN:
                    reference_status[y, x] = VISIBLE
                    target[y, x] = j
                    # Rounded there and back, its own column need not find it.
                    match_status[y, j] = VISIBLE


@kernel
def _find_ends(truth, reference_status, ends):  # type: ignore[no-untyped-def]
    rows, columns = truth.shape
    for y in range(rows):
        for x in range(columns):
            ends[y, x] = False
            if reference_status[y, x] == VISIBLE:
                for other in (x - 1, x + 1):
                    inside = 0 <= other < columns and reference_status[y, other] == VISIBLE
                    if not (inside and np.abs(truth[y, other] - truth[y, x]) <= _OPEN):
                        ends[y, x] = True
