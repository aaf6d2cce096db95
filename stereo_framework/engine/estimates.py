"""Estimates, which are the results of pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.call_context import CallReport
from stereo_framework.core.errors import NOTE
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.scene import Disparity, SearchRange
from stereo_framework.core.view import View
from stereo_framework.core.volume import Labeling, Levels, Smoothness, Status, fill_levels

_LARGEST_SHARE_AT_END = 0.1
"""Share of pixels with the minimum or maximum disparity that causes a warning.

In a random disparity map, each level has the share 1/levels. Therefore, 1/levels is
added to this value. The value was tested on thirteen real and synthetic pairs. With a
correct search range, at most 8 % of the pixels had an end of the search range as
disparity. With the wrong sign, these were 14 % to 57 % of the pixels.
"""

_PASSED_ON = f"{NOTE}rows are off"
"""Beginning of warnings that a scheme passes on from its pairs to the whole pair."""


def estimate_of(
    view: View,
    seconds: dict[str, float],
    reports: Sequence[CallReport],
    intensity_warning: str,
) -> Estimate:
    """Compute the estimate, which is the result of a pipeline, from its last view.

    Parameters
    ----------
    view : View
    seconds : dict of str to float
        Run time of each stage, by the name of the stage.
    reports : sequence of CallReport
        Reports of the stages, with warnings, messages and memory.
    intensity_warning : str
        Result of the function `intensity_scale_warning` for the images, which may be
        empty.
    """
    reported_warnings = [report.warning for report in reports if report.warning]
    if view.estimate is not None:
        return _estimate_of_scheme(view.estimate, seconds, reported_warnings, intensity_warning)

    labeling = view.labeling
    levels = None if labeling is None else labeling.levels
    disparity = np.ascontiguousarray(view.disparity, np.float32)
    doubts = warnings(levels, disparity, view.search, intensity_warning)
    memories = [report.memory for report in reports if report.memory is not None]
    messages = [report.messages for report in reports if report.messages]
    return Estimate(
        disparity=disparity,
        status=view.status,
        levels=levels,
        search=view.search,
        energy=None if labeling is None else _energy(labeling, view.smoothness),
        objective=None if labeling is None else labeling.objective,
        lower_bound=None if labeling is None else labeling.lower_bound,
        trace=() if labeling is None else labeling.trace,
        seconds=seconds,
        warnings=(*doubts, *reported_warnings),
        # The pipeline has removed the cost volume by now, unless the option
        # `keep_volume` is on.
        volume=view.volumes.current,
        confidence=_of_estimates(view.confidence, disparity, view.status),
        memory=max(memories, default=None),
        messages="\n".join(messages),
    )


def _estimate_of_scheme(
    estimate: Estimate,
    seconds: dict[str, float],
    reported_warnings: Sequence[str],
    intensity_warning: str,
) -> Estimate:
    """Return the estimate of a scheme with the run times and warnings of the pair."""
    doubts = warnings(estimate.levels, estimate.disparity, estimate.search, intensity_warning)
    passed_on = [line for line in estimate.warnings if line.startswith(_PASSED_ON)]
    confidence = _of_estimates(estimate.confidence, estimate.disparity, estimate.status)
    return replace(
        estimate,
        seconds=seconds,
        warnings=(*doubts, *passed_on, *reported_warnings),
        confidence=confidence,
    )


def _energy(labeling: Labeling, smoothness: Smoothness | None) -> float:
    """Return the energy of a labeling: its data costs plus its smoothness costs."""
    energy = float(labeling.costs.sum(dtype=np.float64))
    smoothness_costs = 0.0
    if smoothness is not None:
        smoothness_costs = smoothness.of(fill_levels(labeling.levels))
    return energy + smoothness_costs


def _of_estimates(
    confidence: Mapping[str, NDArray[np.float32]], disparity: Disparity, status: NDArray[np.uint8]
) -> dict[str, NDArray[np.float32]]:
    """Set the confidence of filled and missing pixels to the lowest confidence."""
    is_uncertain = np.isnan(disparity) | (status == Status.FILLED)
    return {name: np.where(is_uncertain, map_.min(), map_) for name, map_ in confidence.items()}


def warnings(
    levels: Levels | None, disparity: Disparity, search: SearchRange, intensity_warning: str = ""
) -> tuple[str, ...]:
    """Return warnings that a disparity map may be wrong.

    There is a warning if no pixel has a disparity. There is another warning if many
    pixels have the minimum or the maximum of the search range as disparity. No ground
    truth is used.

    Parameters
    ----------
    levels : ndarray, int16, (rows, columns), or None
        Levels that the optimizer chose. If None, the levels are computed from the
        disparities.
    disparity : ndarray, float32, (rows, columns)
    search : SearchRange
    intensity_warning : str
        Warning of the function `intensity_scale_warning` about the images. If it is not
        empty, it becomes the first warning.
    """
    estimates = disparity[~np.isnan(disparity)]
    if not estimates.size:
        return ("the result holds no estimate at all",)
    if levels is None:
        chosen_levels = np.rint((estimates - search.minimum) / search.step)
    else:
        chosen_levels = levels[levels >= 0]

    remarks = [intensity_warning] if intensity_warning else []
    for level, end in ((0, "lower"), (search.levels - 1, "upper")):
        share = np.count_nonzero(chosen_levels == level) / max(1, chosen_levels.size)
        if share > _LARGEST_SHARE_AT_END + 1 / search.levels:
            value = search.minimum + level * search.step
            remarks.append(
                f"{100 * share:.0f} % of the pixels chose the {end} end of the search range, "
                f"{value:g}: the range may be too narrow or have the wrong sign, the images may "
                "be exchanged, or the costs may be too coarse to tell disparities apart; "
                "widen the range, or exchange the two images"
            )
    return tuple(remarks)
