"""The mismatches, false positives and false negatives of a disparity map, and the error rate and sparsity rate that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stereo_framework.core.scene import Disparity
from stereo_framework.evaluation._sizes import check_sizes
from stereo_framework.evaluation.roc.matching_table import OCCLUDED, UNKNOWN, VISIBLE, MatchingTable, column_of
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows


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
    depth = np.ascontiguousarray(disparity[:, :: table.direction], np.float32)
    counts = np.zeros((len(depth), 4), np.int64)
    known = (table.truth, table.target, table.reference_status, table.match_status, table.ends)

    def count(a: int, b: int) -> None:
        _count_kernel(depth[a:b], *(array[a:b] for array in known), table.radius, counts[a:b])

    over_rows(count, len(depth), depth.size)
    mismatches, false_positives, false_negatives, correspondences = map(int, counts.sum(axis=0))
    return MapErrors(mismatches, false_positives, false_negatives, correspondences, depth.size)


@kernel
def _near_end(ends, target, x, j, radius):  # type: ignore[no-untyped-def]
    for k in range(max(x - radius, 0), min(x + radius + 1, ends.shape[0])):  # noqa: SIM110  generators do not compile
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
            if status == UNKNOWN or (inside and match_status[y, j] == UNKNOWN) or _near_end(ends[y], target[y], x, j, radius):
                continue
            if status == VISIBLE and np.abs(disparity[y, x] - truth[y, x]) <= 1:
                continue
            if status == OCCLUDED and (not inside or match_status[y, j] == OCCLUDED):
                counts[y, 1] += 1
            else:
                counts[y, 0] += 1
        for x in range(columns):
            if reference_status[y, x] == VISIBLE and not _near_end(ends[y], target[y], x, target[y, x], radius):
                counts[y, 3] += 1
                if not np.isfinite(disparity[y, x]) and not matched[target[y, x]]:
                    counts[y, 2] += 1
