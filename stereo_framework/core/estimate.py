"""Result of a stereo method: a disparity map and statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.core.scene import Disparity, SearchRange
from stereo_framework.core.volume import ConfidenceMap, CostVolume, Levels, StatusMap


@dataclass(frozen=True, eq=False)
class Estimate:
    """Disparity map of an image pair, with statistics of the computation.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels. NaN marks pixels without an estimate.
    status : ndarray, uint8, (rows, columns)
        Status of each pixel, such as `Status.MATCHED` or `Status.OCCLUDED`.
    levels : ndarray, int16, (rows, columns), or None
        Indices of the disparity levels selected by the optimizer. Pixels without a
        level have the index -1. None if no optimizer was used, or if several maps were
        joined.
    search : SearchRange
        Search range of the pair.
    energy : float or None
        Sum of the data costs and smoothness costs of the levels. A pixel without a
        level counts with the level of a background neighbour. An excluded cell counts
        as `CostVolume.outside_cost`. None if `levels` is None.
    objective : float or None
        Objective value reported by the optimizer, or None.
    lower_bound : float or None
        Lower bound of the energy reported by the optimizer, or None.
    trace : tuple of (float, float) or (float, float, float)
        Elapsed time in seconds and energy after each iteration of the optimizer. A
        third number is the lower bound of the energy.
    seconds : dict of str to float
        Wall-clock time of each stage, in seconds. Compiling and loading kernels is not
        included.
    warnings : tuple of str
        Reasons why the disparity map may be wrong.
    volume : CostVolume or None
        Cost volume of the optimizer. None unless the pipeline runs with
        ``keep_volume=True``.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        Confidence maps, by confidence measure. Higher values mean more certain
        disparities. A confidence map of a matcher is named ``matcher``. Filled and
        empty pixels have the lowest value of the map.
    memory : float or None
        Peak memory of external programs, in MiB, or None if unknown.
    messages : str
        Output of external programs.
    processor_seconds : float or None
        Processor time of all stages in `seconds` together, in seconds. The time of
        kernels is the sum over their threads. Compiling and loading kernels is not
        included. The time of other threads and processes that a stage starts, such as
        the threads of OpenCV, is not included either. None if the processor time of a
        stage is unknown.
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
    processor_seconds: float | None = None

    def __repr__(self) -> str:
        rows, columns = self.disparity.shape
        share = np.isfinite(self.disparity).mean()
        seconds = sum(self.seconds.values())
        return (
            f"Estimate({share:.0%} of {columns}x{rows} pixels estimated, "
            f"search {self.search}, {seconds:.2g} s)"
        )


report_attributes_of_module(__name__)
