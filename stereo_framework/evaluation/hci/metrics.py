"""The nine HCI metrics: at depth discontinuities, on planes and in fine structures; a table of them, and all of them at once.

Conventions: a map and the truth are float32 ``(rows, columns)`` in pixels; a value that is not finite is missing or unknown. `subsets` are those of the
truth, of the map's size. 0 is perfect, larger is worse. The planes are fitted to the truth, so the truth itself scores a little above 0 where a surface is
not quite flat. A pixel of a structure is found when its error is at most `Parameters.structure_tolerance`.

The table shows how they react to maps that equal the truth except for one fault, in a synthetic scene of an object before a wall, a slanted plane and a
grid of bars. ``0``: the score of a perfect map, 0 up to rounding; ``+``: above 0; ``++``: above 0, and higher than with any other of these faults.

| fault | fattening | thinning | fuzziness | bumpiness | offset | misorientation | porosity | fragmentation | detail fattening |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| fattened | ++ | 0 | + | 0 | 0 | 0 | 0 | 0 | 0 |
| thinned | 0 | ++ | + | 0 | 0 | 0 | 0 | 0 | 0 |
| blurred | 0 | 0 | ++ | 0 | 0 | 0 | 0 | 0 | 0 |
| noise | 0 | 0 | + | ++ | + | + | 0 | 0 | 0 |
| offset | 0 | 0 | 0 | 0 | ++ | 0 | 0 | 0 | 0 |
| tilt | 0 | 0 | 0 | 0 | + | ++ | 0 | 0 | 0 |
| gaps | 0 | + | + | 0 | 0 | 0 | + | ++ | 0 |
| lost | 0 | + | + | 0 | 0 | 0 | ++ | 0 | 0 |
| filled | + | 0 | + | 0 | 0 | 0 | 0 | 0 | ++ |

Fattened and thinned: the object's edges are off by one pixel; blurred: they are smeared over nine. Noise: everywhere. Offset and tilt: of the plane. Gaps:
one bar is broken in two places. Lost: one bar is missing; it counts as missed and so not as fragmented. Filled: the space between two bars.
"""

import math
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.input_checks import check_sizes
from stereo_framework.core.scene import Disparity, Mask
from stereo_framework.evaluation.hci.edges import distance_to, nearest_values
from stereo_framework.evaluation.hci.subsets import Score, Subsets, mean_score

# --- Depth discontinuities --------------------------------------------------------------------------------------------


def foreground_fattening(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """Share of the background beside discontinuities whose disparity is closer to the foreground's than to its own.

    Returns
    -------
    Score
        Fraction, 0..1. Picture: 1 where fattened, 0 elsewhere in M_b.

    Notes
    -----
    Honauer et al. 2015, equations 1 and 2: ``|D_gt - D_a| > |D_f - D_a|``.
    """
    return nearer_to(disparity, truth, subsets.foreground_disparity, subsets.background, subsets)


def foreground_thinning(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """Share of the foreground beside discontinuities whose disparity is closer to the background's than to its own.

    Returns
    -------
    Score
        Fraction, 0..1. Picture: 1 where thinned, 0 elsewhere in M_f.

    Notes
    -----
    Honauer et al. 2015, equations 3 and 4: ``|D_gt - D_a| > |D_b - D_a|``.
    """
    return nearer_to(disparity, truth, subsets.background_disparity, subsets.foreground, subsets)


def nearer_to(
    disparity: Disparity, truth: Disparity, other: Disparity, subset: Mask, subsets: Subsets
) -> Score:
    """Share of a subset whose disparities are closer to those of another surface than to the truth."""
    with np.errstate(invalid="ignore"):  # an infinite estimate is a missing one, as is NaN
        wrong = np.abs(truth - disparity) > np.abs(other - disparity)
    return mean_score(np.where(np.isfinite(disparity), wrong, np.nan), subset, subsets)


def fuzziness(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """How far the gradients of a map lie from the discontinuities at which they belong.

    Returns
    -------
    Score
        Pixels of distance times pixels per pixel of gradient (in image widths instead: `Parameters.fuzziness_distance`); not bounded.
        Over M_e, the discontinuities and both bands.

    Notes
    -----
    Honauer et al. 2015, equations 5 and 6: where the estimate's gradient is too strong, the difference counts with the distance to
    the discontinuity; where it is too weak, with the distance to the outside of M_e. Gradients are the lengths of central differences.
    Pixels with unknown truth or without an estimate are not counted. In the gradients of their neighbours, in both maps, they take the disparity of the
    nearest pixel that has both, so that an estimate at an unknown pixel has no influence. Unknown pixels do not count as outside either.
    """
    near = subsets.edges | subsets.foreground | subsets.background
    known, estimated = np.isfinite(truth), np.isfinite(disparity)
    too_weak = _gradient(truth, known & estimated) - _gradient(disparity, known & estimated)
    weight = np.where(too_weak < 0, distance_to(subsets.edges), distance_to(known & ~near))
    if subsets.parameters.fuzziness_distance == "width":
        weight /= truth.shape[1]
    return mean_score(np.where(estimated, np.abs(too_weak) * weight, np.nan), near, subsets)


def _gradient(disparity: Disparity, known: Mask) -> NDArray[np.float32]:
    """Length of the gradient by central differences, in pixels per pixel."""
    filled = np.pad(nearest_values(disparity, known), 1, mode="edge")
    across, down = filled[1:-1, 2:] - filled[1:-1, :-2], filled[2:, 1:-1] - filled[:-2, 1:-1]
    return np.hypot(across, down) / 2


# --- Planes -----------------------------------------------------------------------------------------------------------


def bumpiness(disparity: Disparity, subsets: Subsets) -> Score:
    """Mean curvature of the estimate where the truth is a plane.

    Returns
    -------
    Score
        1/px: pixels of disparity per square pixel of the image. Measured where the four neighbours have estimates too.

    Notes
    -----
    Honauer et al. 2015, equation 7: the absolute Laplacian. The paper does not give its kernel; we use that of the 4-neighbours. Nothing is clipped.
    """
    laplacian = np.full(disparity.shape, np.nan, np.float32)
    with np.errstate(invalid="ignore"):  # infinite estimates are missing ones
        centre = disparity[1:-1, 1:-1]
        laplacian[1:-1, 1:-1] = (disparity[1:-1, :-2] - centre) + (disparity[1:-1, 2:] - centre)
        laplacian[1:-1, 1:-1] += (disparity[:-2, 1:-1] - centre) + (disparity[2:, 1:-1] - centre)
    return mean_score(
        np.where(np.isfinite(laplacian), np.abs(laplacian), np.nan), subsets.planes > 0, subsets
    )


def offset(disparity: Disparity, subsets: Subsets) -> Score:
    """Mean distance of the estimate from the true plane.

    Returns
    -------
    Score
        Pixels, perpendicular to the plane in the space of column, row and disparity.

    Notes
    -----
    Honauer et al. 2015, equation 8; figure 11 calls it P_dist.
    """
    a, b, c = _coefficients(subsets)
    y, x = np.ogrid[: disparity.shape[0], : disparity.shape[1]]
    estimate = np.where(np.isfinite(disparity), disparity, np.nan)
    distance = np.abs(a * x + b * y + c - estimate) / np.sqrt(a * a + b * b + 1)
    return mean_score(distance, subsets.planes > 0, subsets)


def misorientation(disparity: Disparity, subsets: Subsets) -> Score:
    """Mean angle between the estimated surface and the true plane.

    Returns
    -------
    Score
        Degrees, 0..90, in the space of column, row and disparity. Measured where the whole window (`Parameters.normal_window`) has estimates.

    Notes
    -----
    Honauer et al. 2015, equation 9, called P_mis in figure 11. The surface normal is that of a plane fitted by least squares in a window.
    """
    side = subsets.parameters.normal_window
    estimated = np.isfinite(disparity)
    # On a full window the normal equations fall apart into one sum for each slope.
    line, ones = np.arange(side, dtype=np.float64) - side // 2, np.ones(side)
    line /= side * (line @ line)
    values = np.where(estimated, disparity, 0).astype(np.float64)
    p, q = (
        cv2.sepFilter2D(values, cv2.CV_64F, line, ones),
        cv2.sepFilter2D(values, cv2.CV_64F, ones, line),
    )
    a, b, _ = _coefficients(subsets)
    # Lengths of the cross product and the dot product of the normals (-a, -b, 1) and (-p, -q, 1); an arccosine would lose small angles.
    across = np.sqrt((a - p) ** 2 + (b - q) ** 2 + (a * q - b * p) ** 2)
    angle = np.degrees(np.arctan2(across, np.abs(a * p + b * q + 1)))
    whole = cv2.erode(
        estimated.view(np.uint8),
        np.ones((side, side), np.uint8),
        borderType=cv2.BORDER_CONSTANT,
        borderValue=0,
    )
    return mean_score(np.where(whole, angle, np.nan), subsets.planes > 0, subsets)


def _coefficients(subsets: Subsets) -> tuple[NDArray[np.float64], ...]:
    """a, b and c of every pixel's plane; NaN off the planes."""
    table = np.vstack([np.full(3, np.nan), subsets.plane_coefficients])
    return tuple(table[:, i][subsets.planes] for i in range(3))


# --- Fine structures --------------------------------------------------------------------------------------------------


def porosity(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """How many holes the structures have, and how large they are.

    Returns
    -------
    Score
        Natural logarithm of 1 + distance in pixels; not bounded.

    Notes
    -----
    Honauer et al. 2015, equation 10: a pixel that is not found counts with ``log(1 + distance)``, where the distance is to the nearest pixel that is found;
    a found pixel counts with 0. We depart from the equation in one point: it takes the nearest found pixel of any structure, while we take that of the
    pixel's own structure, because a neighbouring structure that was found does not fill the hole. If nothing of a structure is found, the distance is
    the diagonal of its bounding box, which is finite and larger than any distance within the structure.
    """
    contributions = np.full(truth.shape, np.nan, np.float32)
    for window, structure, found in _structures(disparity, truth, subsets):
        # In a window that is the bounding box, this distance is its diagonal when nothing is found.
        contributions[window][structure] = np.log1p(distance_to(found)[structure])
    return mean_score(
        np.where(np.isfinite(disparity), contributions, np.nan), subsets.structures > 0, subsets
    )


def fragmentation(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """Into how many pieces the structures fall.

    Returns
    -------
    Score
        0..1, the mean over the structures of 1 - 1 / pieces: 0 in one piece, 0.5 in two, 0.67 in three. NaN where all are missed. Picture: this
        number in the pixels of every structure that is not missed.

    Notes
    -----
    Honauer et al. 2015, equation 11, with 8-connected pieces of found pixels. We depart from the equation in one point: it divides by the number of all
    structures, while we divide by the number of structures of which something is found. A structure of which nothing is found has no pieces, and the
    equation gives no value for it; `missed_structures` counts it instead. A pixel without an estimate is not found.
    """
    contributions = np.full(truth.shape, np.nan, np.float32)
    values = []
    for window, structure, found in _structures(disparity, truth, subsets):
        pieces = cv2.connectedComponents(found.view(np.uint8), connectivity=8)[0] - 1
        if pieces:
            values.append(1 - 1 / pieces)
            contributions[window][structure] = values[-1]
    score = mean_score(
        np.where(np.isfinite(disparity), contributions, np.nan), subsets.structures > 0, subsets
    )
    return Score(float(np.mean(values)) if values else math.nan, score.picture, score.coverage)


def missed_structures(disparity: Disparity, truth: Disparity, subsets: Subsets) -> int:
    """Number of structures of which no pixel is found.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels.
    subsets : Subsets
        Of the truth; `Subsets.structure_count` is the number of its structures.
    """
    return sum(not found.any() for _, _, found in _structures(disparity, truth, subsets))


def detail_fattening(disparity: Disparity, truth: Disparity, subsets: Subsets) -> Score:
    """Share of the background beside structures whose disparity is closer to the structure's than to its own.

    Returns
    -------
    Score
        Fraction, 0..1. Picture: 1 where fattened, 0 elsewhere in M_n.

    Notes
    -----
    Honauer et al. 2015, equations 12 and 13: ``|D_gt - D_a| > |D_n - D_a|``.
    """
    return nearer_to(
        disparity, truth, subsets.neighbourhood_disparity, subsets.neighbourhood, subsets
    )


def _structures(
    disparity: Disparity, truth: Disparity, subsets: Subsets
) -> Iterator[tuple[tuple[slice, slice], Mask, Mask]]:
    """For every structure its bounding box and, within the box, masks of its evaluated pixels and of those that are found."""
    from scipy.ndimage import find_objects

    labels = np.where(subsets.evaluated, subsets.structures, 0)
    tolerance = subsets.parameters.structure_tolerance.of(truth.shape[1])
    for label, window in enumerate(find_objects(labels), start=1):
        if window is not None:
            structure = labels[window] == label
            # A comparison with a missing estimate is false.
            with np.errstate(invalid="ignore"):
                yield (
                    window,
                    structure,
                    structure & (np.abs(disparity[window] - truth[window]) <= tolerance),
                )


# --- All of them ------------------------------------------------------------------------------------------------------

MetricFunction = Callable[[Disparity, Disparity, Subsets], Score]


@dataclass(frozen=True, eq=False)
class HciMetric:
    """A row of the table. For every metric 0 is perfect and larger is worse.

    Parameters
    ----------
    name : str
        Name of its statistic.
    title : str
        The name in words.
    symbol : str
        The paper's symbol.
    unit : str
    subset : str
        The paper's symbol for the pixels on which it is measured.
    source : str
    compute : callable
        Of disparity, truth and `Subsets`; returns a `Score`.
    """

    name: str
    title: str
    symbol: str
    unit: str
    subset: str
    source: str
    compute: MetricFunction


def _metric(
    function: Callable[..., Score], symbol: str, unit: str, subset: str, equations: str
) -> HciMetric:
    # Metrics of planes need no truth, only the planes that were found in it.
    compute: MetricFunction = (
        (lambda disparity, truth, subsets: function(disparity, subsets))
        if subset == "M_p"
        else function
    )
    title = function.__name__.replace("_", " ")
    return HciMetric(
        f"hci_{function.__name__}", title, symbol, unit, subset, f"{_PAPER}, {equations}", compute
    )


_PAPER = "Honauer, Maier-Hein & Kondermann 2015"
_TABLE = (
    _metric(foreground_fattening, "D_fat", "fraction", "M_b", "equations 1, 2"),
    _metric(foreground_thinning, "D_thin", "fraction", "M_f", "equations 3, 4"),
    _metric(fuzziness, "D_fuz", "px*px/px", "M_e", "equations 5, 6"),
    _metric(bumpiness, "P_bump", "1/px", "M_p", "equation 7"),
    _metric(offset, "P_off", "px", "M_p", "equation 8"),
    _metric(misorientation, "P_orient", "degrees", "M_p", "equation 9"),
    _metric(porosity, "F_por", "log(1 + px)", "M_s", "equation 10"),
    _metric(fragmentation, "F_frag", "fraction", "M_s", "equation 11"),
    _metric(detail_fattening, "F_fat", "fraction", "M_n", "equations 12, 13"),
)

HCI_METRICS: Mapping[str, HciMetric] = types.MappingProxyType(
    {metric.name: metric for metric in _TABLE}
)
"""The nine metrics by name."""


def hci_metrics(disparity: Disparity, truth: Disparity, subsets: Subsets) -> dict[str, float]:
    """All nine metrics of a disparity map.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels; a value that is not finite is missing or unknown.
    subsets : Subsets
        Of the truth, from `extract_subsets`, possibly edited.

    Returns
    -------
    dict of str to float
        The metrics by their names in `HCI_METRICS`; for each of them ``hci_coverage_...``, the share of its subset that was measured (0..1, higher
        is better); and ``hci_missed_structures``, a count (lower is better). NaN for a subset that the scene lacks.

    Raises
    ------
    DataError
        The maps and the subsets differ in size.
    """
    check_sizes("hci_metrics", subsets=subsets.evaluated, disparity=disparity, truth=truth)
    scores = {
        name: metric.compute(disparity, truth, subsets) for name, metric in HCI_METRICS.items()
    }
    values = {name: score.value for name, score in scores.items()}
    values |= {
        name.replace("hci_", "hci_coverage_"): score.coverage for name, score in scores.items()
    }
    missed = missed_structures(disparity, truth, subsets) if subsets.structure_count else math.nan
    return values | {"hci_missed_structures": float(missed)}
