"""The result of a stereo method for an image pair: a disparity map with statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.core.scene import Disparity, SearchRange
from stereo_framework.core.volume import ConfidenceMap, CostVolume, Levels, StatusMap


@dataclass(frozen=True, eq=False)
class Estimate:
    """The disparity map of a pair, with statistics of the pipeline that computed it.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels. NaN means that a pixel has no estimate.
    status : ndarray, uint8, (rows, columns)
        Status of each pixel, such as `Status.MATCHED` or `Status.OCCLUDED`.
    levels : ndarray, int16, (rows, columns), or None
        Indices of the disparity levels that the optimizer selected. A pixel without a
        level has the index -1. The field is None if a matcher computed the disparity
        map, or if a scheme joined several disparity maps.
    search : SearchRange
        Search range of the pair.
    energy : float or None
        Sum of the data costs and the smoothness costs of the levels, computed in
        float64. Before the energy is computed, pixels without a level get the level of
        a neighbour in the background. If this level is an excluded cell, the data cost
        of the pixel is `CostVolume.outside_cost`. The energy is None if `levels` is
        None.
    objective : float or None
        Value of the function that the optimizer itself minimizes. It is None if the
        optimizer does not report this value.
    lower_bound : float or None
        Lower bound of the energy. It is None if the optimizer does not report a bound.
    trace : tuple of (float, float) or (float, float, float)
        Elapsed time in seconds and energy after each iteration of the optimizer. If the
        optimizer reports a lower bound, the bound is the third number of each entry.
    seconds : dict of str to float
        Wall-clock time of each stage, in seconds. The time for compiling or loading
        kernels is not included.
    warnings : tuple of str
        Reasons why the disparity map may be wrong. Each reason is one line.
    volume : CostVolume or None
        Cost volume that the optimizer received, or a volume that the optimizer
        returned. It is None unless the pipeline runs with ``keep_volume=True``.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        Confidence maps by the name of the confidence measure. Higher values mean more
        certain disparities. The confidence map of a matcher has the name ``matcher``.
        Pixels that were filled or have no estimate get the lowest value of the map.
    memory : float or None
        Peak memory of the external programs that the stages started, in MiB. It is None
        if no stage started a program, or if the peak memory is unknown.
    messages : str
        Text that these external programs printed.
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
