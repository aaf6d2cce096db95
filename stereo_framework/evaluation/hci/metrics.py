"""The nine HCI metrics in one table, and all of them at once.

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

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stereo_framework.core.scene import Disparity
from stereo_framework.evaluation._sizes import check_sizes
from stereo_framework.evaluation.hci.discontinuity_metrics import foreground_fattening, foreground_thinning, fuzziness
from stereo_framework.evaluation.hci.plane_metrics import bumpiness, misorientation, offset
from stereo_framework.evaluation.hci.score import Score
from stereo_framework.evaluation.hci.structure_metrics import detail_fattening, fragmentation, missed_structures, porosity
from stereo_framework.evaluation.hci.subsets import Subsets

Measure = Callable[[Disparity, Disparity, Subsets], Score]


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
    measure : callable
        Of disparity, truth and `Subsets`; returns a `Score`.
    """

    name: str
    title: str
    symbol: str
    unit: str
    subset: str
    source: str
    measure: Measure


def _metric(function: Callable[..., Score], symbol: str, unit: str, subset: str, equations: str) -> HciMetric:
    # Metrics of planes need no truth, only the planes that were found in it.
    measure: Measure = (lambda disparity, truth, subsets: function(disparity, subsets)) if subset == "M_p" else function
    title = function.__name__.replace("_", " ")
    return HciMetric(f"hci_{function.__name__}", title, symbol, unit, subset, f"{_PAPER}, {equations}", measure)


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

HCI_METRICS: Mapping[str, HciMetric] = types.MappingProxyType({metric.name: metric for metric in _TABLE})
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
    scores = {name: metric.measure(disparity, truth, subsets) for name, metric in HCI_METRICS.items()}
    values = {name: score.value for name, score in scores.items()}
    values |= {name.replace("hci_", "hci_coverage_"): score.coverage for name, score in scores.items()}
    missed = missed_structures(disparity, truth, subsets) if subsets.structure_count else math.nan
    return values | {"hci_missed_structures": float(missed)}
