"""Fine structures and the background beside them (M_s, M_n, D_n of Honauer et al. 2015, section 3.3)."""

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Mask
from stereo_framework.evaluation.hci.parameters import Parameters
from stereo_framework.kernels.decorator import kernel


class Structures(NamedTuple):
    """Labels int32, masks bool, disparities float32 in pixels, all ``(rows, columns)``; see `Subsets`."""

    structures: NDArray[np.int32]
    neighbourhood: Mask
    neighbourhood_disparity: Disparity


def find_structures(truth: Disparity, evaluated: Mask, parameters: Parameters) -> Structures:
    """Find thin upright objects and give each a label of its own.

    Parameters
    ----------
    truth : ndarray, float32, (rows, columns)
        Pixels, NaN = unknown.
    evaluated : ndarray, bool, (rows, columns)
        Pixels that structures may consist of.
    parameters : Parameters

    Returns
    -------
    Structures

    Notes
    -----
    Honauer et al. 2015, section 3.3, shift the positive and the negative horizontal gradients towards each other and keep the pixels where
    they overlap. Here the same is done by a scan along every row, which looks for a step up of more than `edge_jump` and the next step down, with no
    other step between them and at most `structure_width` pixels from one to the other; both shifted edges would cover all of these pixels. Steps are
    looked for between successive known pixels, since a thin object stands beside the unknown strip that it occludes. Runs of pixels that touch, also
    across corners, form one structure.

    In every row of a structure its neighbourhood is as wide on each side as the structure itself. It ends where the other surface is not further away
    than the structure by more than `edge_jump`, so that the bars of a grid do not merge. Between two bars that are closer together than that, a pixel
    belongs to the nearer bar, and in the middle to the left one.
    """
    jump = parameters.edge_jump.of(truth.shape[1])
    runs = np.zeros(truth.shape, np.bool_)
    _mark_runs(truth, jump, parameters.structure_width.of(truth.shape[1]), runs)
    runs &= evaluated
    _, labels, boxes, _ = cv2.connectedComponentsWithStats(
        runs.view(np.uint8), connectivity=8, ltype=cv2.CV_32S
    )
    high = boxes[:, cv2.CC_STAT_HEIGHT] >= parameters.structure_height.of(truth.shape[0])
    high[0] = False  # the background
    structures = np.where(high, np.cumsum(high), 0).astype(np.int32)[labels]
    neighbourhood = np.zeros(truth.shape, np.bool_)
    disparity = np.full(truth.shape, np.nan, np.float32)
    _mark_neighbourhood(
        truth, structures, jump, parameters.neighbourhood_width, neighbourhood, disparity
    )
    return Structures(structures, neighbourhood, disparity)


@kernel
def _mark_runs(truth: Disparity, jump: float, widest: float, runs: Mask) -> None:
    rows, columns = truth.shape
    for y in range(rows):
        start, last = -1, -1
        for x in range(columns):
            if np.isnan(truth[y, x]):
                continue
            if last >= 0:
                step = truth[y, x] - truth[y, last]
                if step > jump:
                    start = x
                elif step < -jump:
                    if start >= 0 and last - start + 1 <= widest:
                        runs[y, start : last + 1] = True
                    start = -1
            last = x


@kernel
def _mark_neighbourhood(
    truth: Disparity,
    structures: NDArray,
    jump: float,
    least: float,
    neighbourhood: Mask,
    disparity: Disparity,
) -> None:
    rows, columns = truth.shape
    distance = np.empty(columns, np.int64)
    for y in range(rows):
        distance[:] = columns
        x = 0
        while x < columns:
            label = structures[y, x]
            if label == 0:
                x += 1
                continue
            start = x
            while x < columns and structures[y, x] == label:
                x += 1
            width = int(np.ceil(max(least, x - start)))
            for end, direction in ((start, -1), (x - 1, 1)):
                for step in range(1, width + 1):
                    p = end + direction * step
                    if p < 0 or p >= columns or structures[y, p] != 0:
                        break
                    # Unknown pixels are passed over: they say nothing about a surface.
                    if np.isnan(truth[y, p]):
                        continue
                    if not truth[y, end] - truth[y, p] > jump:
                        break
                    if step < distance[p]:
                        distance[p] = step
                        neighbourhood[y, p] = True
                        disparity[y, p] = truth[y, end]
