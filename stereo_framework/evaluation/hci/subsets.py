"""The parts of a scene on which the HCI stereo metrics are measured, how they are found in the truth, and what a metric returns."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.core.frames import read_only
from stereo_framework.core.parameters import brief
from stereo_framework.core.scene import Disparity, Mask, inside_border
from stereo_framework.evaluation.hci.edges import find_edges
from stereo_framework.evaluation.hci.parameters import Parameters
from stereo_framework.evaluation.hci.planes import find_planes
from stereo_framework.evaluation.hci.structures import find_structures


@brief
@dataclass(frozen=True, eq=False)
class Subsets:
    """The pixels on which each metric is measured. All arrays are read-only; all but the planes' coefficients are ``(rows, columns)``.

    The sets describe geometry: every metric counts only those of their pixels that are also in `evaluated`. To measure on other sets, exchange
    them with ``dataclasses.replace``.

    Parameters
    ----------
    parameters : Parameters
        The choices with which the sets were found; the metrics use them too.
    evaluated : ndarray, bool
        Pixels within the border whose truth is known and that are non-occluded.
    edges : ndarray, bool
        M_d: pixels on both sides of a depth discontinuity.
    foreground, background : ndarray, bool
        M_f, M_b: bands on the near and on the far side of the discontinuities.
    foreground_disparity, background_disparity : ndarray, float32
        D_f, D_b: the disparity, in pixels, of the nearest edge pixel on the near and on the far side; NaN outside the two bands.
    planes : ndarray, int32
        M_p: the number of the planar region, 0 = on no plane.
    plane_coefficients : ndarray, float64, (planes, 3)
        Row i - 1 holds a, b and c of plane i, ``disparity = a * x + b * y + c``.
    structures : ndarray, int32
        M_s: the number of the fine structure, 0 = none.
    neighbourhood : ndarray, bool
        M_n: background to the left and right of the structures.
    neighbourhood_disparity : ndarray, float32
        D_n: the structure's disparity in its neighbourhood, in pixels, NaN elsewhere.
    """

    parameters: Parameters
    evaluated: Mask
    edges: Mask
    foreground: Mask
    background: Mask
    foreground_disparity: Disparity
    background_disparity: Disparity
    planes: NDArray[np.int32]
    plane_coefficients: NDArray[np.float64]
    structures: NDArray[np.int32]
    neighbourhood: Mask
    neighbourhood_disparity: Disparity

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, read_only(value))

    @property
    def structure_count(self) -> int:
        """Number of fine structures that have evaluated pixels."""
        return int(np.count_nonzero(np.bincount(self.structures[self.evaluated], minlength=1)[1:]))


def extract_subsets(
    truth: Disparity, nonocc: Mask | None = None, parameters: Parameters | None = None
) -> Subsets:
    """Find discontinuities, planes and fine structures in a scene's truth.

    Parameters
    ----------
    truth : ndarray, float32, (rows, columns)
        Pixels; a value that is not finite is unknown.
    nonocc : ndarray, bool, (rows, columns), optional
        Non-occluded pixels; default: all.
    parameters : Parameters, optional
        Default: ``Parameters()``.

    Returns
    -------
    Subsets
        Where the scene lacks a kind of part, its sets are empty and its metrics NaN.

    Raises
    ------
    DataError
        Truth and mask are not maps of the same size.

    Notes
    -----
    Honauer, Maier-Hein & Kondermann 2015, section 3. Discontinuities are found in all known pixels, including occluded ones, because most
    discontinuities have an occluded side. Planes and structures are found in the evaluated pixels.
    """
    parameters = parameters or Parameters()
    if truth.ndim != 2:
        raise DataError(f"truth has shape {truth.shape}; expected (rows, columns)")
    if nonocc is not None and nonocc.shape != truth.shape:
        raise DataError(
            f"truth has shape {truth.shape}, the mask of non-occluded pixels {nonocc.shape}; both must be of one size"
        )
    known = np.isfinite(truth)
    truth = np.where(known, truth, np.nan).astype(np.float32)
    known_nonocc = known if nonocc is None else known & nonocc
    evaluated = inside_border(truth.shape, int(parameters.border.of(truth.shape[1]))) & known_nonocc
    edges = find_edges(truth, parameters)
    planes, coefficients = find_planes(truth, evaluated, edges.edges | ~known_nonocc, parameters)
    structures = find_structures(truth, evaluated, parameters)
    return Subsets(parameters, evaluated, *edges, planes, coefficients, *structures)


@brief
@dataclass(frozen=True, eq=False)
class Score:
    """The result of one metric.

    Parameters
    ----------
    value : float
        0 is perfect, larger is worse; NaN where the subset is empty or nothing in it was measured.
    picture : ndarray, float32, (rows, columns)
        The contribution of every measured pixel, in the metric's unit; NaN elsewhere.
    coverage : float
        Share of the subset's evaluated pixels that were measured, 0..1; NaN where there are none. A pixel without an estimate is not measured.
    """

    value: float
    picture: NDArray[np.float32]
    coverage: float


def mean_score(contributions: NDArray[np.floating], subset: Mask, subsets: Subsets) -> Score:
    """The mean of the contributions over the evaluated pixels of a subset. Pixels with NaN are not measured."""
    counted = subset & subsets.evaluated
    picture = np.where(counted, contributions, np.nan).astype(np.float32)
    values = picture[counted]
    measured = values[~np.isnan(values)]
    value = float(measured.mean(dtype=np.float64)) if measured.size else math.nan
    return Score(value, picture, measured.size / values.size if values.size else math.nan)
