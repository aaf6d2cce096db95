"""Creation of an `Estimate`, the result of a stereo method for a pair of images."""

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
"""Part of the threshold for warnings about disparities at an end of the search range.

A random disparity map with n levels has a share of 1/n of the pixels at each level. For
a search range with n levels, the number 1/n is added to the threshold. The threshold
was tested on thirteen real and synthetic image pairs. With a correct search range, at
most 8 % of the disparities were at one end of the range. With a search range of the
wrong sign, 14 % to 57 % of the disparities were at one end.
"""

_PASSED_ON = f"{NOTE}rows are off"
"""Text with which the note about misaligned image rows begins.

The estimate of a scheme repeats only this note of the pairs that the scheme makes.
"""


def estimate_of(
    view: View,
    seconds: dict[str, float],
    reports: Sequence[CallReport],
    intensity_warning: str,
    *,
    processor_seconds: float | None = None,
) -> Estimate:
    """Create the estimate of a stereo method from the data after its last step.

    Parameters
    ----------
    view : View
    seconds : dict of str to float
        Run times of the stages in seconds, such as ``{"optimization": 0.2}``.
    reports : sequence of CallReport
        Warnings, messages and memory that the stages have reported.
    intensity_warning : str
        Warning about the intensities of the images, or an empty text.
    processor_seconds : float or None
        Processor time of all stages together in seconds, or None if it is unknown.
    """
    reported_warnings = [report.warning for report in reports if report.warning]
    if view.estimate is not None:
        return _estimate_of_scheme(
            replace(view.estimate, seconds=seconds, processor_seconds=processor_seconds),
            reported_warnings,
            intensity_warning,
        )

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
        # Pipelines remove cost volumes unless the option `keep_volume` is on.
        volume=view.volumes.current,
        confidence=_of_estimates(view.confidence, disparity, view.status),
        memory=max(memories, default=None),
        messages="\n".join(messages),
        processor_seconds=processor_seconds,
    )


def _estimate_of_scheme(
    estimate: Estimate, reported_warnings: Sequence[str], intensity_warning: str
) -> Estimate:
    """Replace the warnings in the estimate of a scheme, such as tiling."""
    doubts = warnings(estimate.levels, estimate.disparity, estimate.search, intensity_warning)
    passed_on = [line for line in estimate.warnings if line.startswith(_PASSED_ON)]
    confidence = _of_estimates(estimate.confidence, estimate.disparity, estimate.status)
    return replace(
        estimate,
        warnings=(*doubts, *passed_on, *reported_warnings),
        confidence=confidence,
    )


def _energy(labeling: Labeling, smoothness: Smoothness | None) -> float:
    """Return the energy of a labeling, the sum of data costs and smoothness costs."""
    energy = float(labeling.costs.sum(dtype=np.float64))
    smoothness_costs = 0.0
    if smoothness is not None:
        smoothness_costs = smoothness.of(fill_levels(labeling.levels))
    return energy + smoothness_costs


def _of_estimates(
    confidence: Mapping[str, NDArray[np.float32]], disparity: Disparity, status: NDArray[np.uint8]
) -> dict[str, NDArray[np.float32]]:
    """Give filled pixels and pixels without a disparity the lowest confidence."""
    is_uncertain = np.isnan(disparity) | (status == Status.FILLED)
    return {name: np.where(is_uncertain, map_.min(), map_) for name, map_ in confidence.items()}


def warnings(
    levels: Levels | None, disparity: Disparity, search: SearchRange, intensity_warning: str = ""
) -> tuple[str, ...]:
    """Return warnings if a disparity map is probably wrong.

    A warning is returned if no pixel has a disparity. Another warning is returned if
    many disparities lie at one end of the search range. The function needs no ground
    truth.

    Parameters
    ----------
    levels : ndarray, int16, (rows, columns), or None
        Index of the chosen disparity in the search range at each pixel. If None, the
        indices are computed from the disparity map.
    disparity : ndarray, float32, (rows, columns)
    search : SearchRange
    intensity_warning : str
        Warning about the intensities of the images, or an empty text. The warning about
        intensities comes first in the result.
    """
    estimates = disparity[~np.isnan(disparity)]
    if not estimates.size:
        return ("the disparity map contains no disparities",)
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
