"""The result of a method for a pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.core.scene import Disparity, SearchRange
from stereo_framework.core.volume import ConfidenceMap, CostVolume, Levels, StatusMap


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result of a pipeline for a pair.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels. NaN means that a pixel has no estimate.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`.
    levels : ndarray, int16, (rows, columns), or None
        Levels that the optimizer chose; -1 means that no level is assigned. None if a
        matcher computed the disparity map, or if a scheme joined several maps.
    search : SearchRange
        Search range of the pair.
    energy : float or None
        Sum of the data costs and the smoothness costs of the levels, computed in
        float64. Pixels without a level are filled from the background first. A pixel
        that is filled with an excluded cell has the `CostVolume.outside_cost`. None if
        there are no levels.
    objective : float or None
        Value of the optimizer's own objective, if it reports one.
    lower_bound : float or None
        Lower bound of the energy, if the optimizer reports one.
    trace : tuple of (float, float) or (float, float, float)
        Seconds and energy after each iteration of the optimizer, followed by the lower
        bound if the optimizer reports one.
    seconds : dict of str to float
        Wall-clock time of each stage. The time in which kernels are compiled or loaded
        is not counted.
    warnings : tuple of str
        Remarks on why the result may be wrong, one line each.
    volume : CostVolume or None
        Cost volume that the optimizer received or returned; only with
        ``keep_volume=True``.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        Confidence maps by the name of the measure; higher values are more certain. The
        map of a matcher is called ``matcher``. Pixels that are filled or have no
        estimate have the lowest value of the map.
    memory : float or None
        Peak memory of third-party programs, in MiB. None if there was no such program
        or if it is unknown.
    messages : str
        Text that third-party programs printed.
    """

    disparity: Disparity
    status: StatusMap
    levels: Levels | None
    search: SearchRange
    energy: float | None
    objective: float | None
    lower_bound: float | None
    trace: tuple[tuple[float, ...], ...]
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    volume: CostVolume | None = None
    confidence: Mapping[str, ConfidenceMap] = field(default_factory=dict)
    memory: float | None = None
    messages: str = ""

    def __repr__(self) -> str:
        rows, columns = self.disparity.shape
        share = np.isfinite(self.disparity).mean()
        seconds = sum(self.seconds.values())
        return (
            f"Estimate({share:.0%} of {columns}x{rows} pixels estimated, "
            f"search {self.search}, {seconds:.2g} s)"
        )


report_attributes_of_module(__name__)
