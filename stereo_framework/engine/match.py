"""Match: what a pipeline makes of a pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.calls import CallReport
from stereo_framework.core.scene import Disparity, Search
from stereo_framework.core.view import View
from stereo_framework.core.volume import CostVolume, Levels, Status, fill_levels

_PILE = 0.1
"""Share of the pixels at one end of the search range, beyond that of a uniform spread, from which the range is doubted.

On thirteen real and synthetic pairs a 9x9 window puts at most 4 % there (8 % without a window), with the wrong sign 14 % to 57 %.
"""

_PASSED_ON = "rows are off"
"""How a warning begins that hold of a whole pair if they hold of the parts that a scheme has made of it."""


@dataclass(frozen=True, eq=False)
class Match:
    """What a pipeline made of a pair.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`.
    levels : ndarray, int16, (rows, columns), or None
        The optimizer's levels, -1 = unassigned; None of a matcher, and where a scheme puts maps together.
    search : Search
    energy : float or None
        Data costs plus smoothness of the levels, unassigned pixels filled from the background; None where there are no levels.
    objective, lower_bound : float or None
        The optimizer's own objective and a bound of the energy, where it reports them.
    trace : tuple of (float, float) or (float, float, float)
        Seconds and energy per iteration of the optimizer, and its bound where it has one.
    seconds : dict of str to float
        Wall-clock time per stage, without that in which kernels were compiled or loaded.
    warnings : tuple of str
    volume : CostVolume or None
        The volume the optimizer decided on; only with ``keep_volume=True``.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        By measure, higher = surer; a matcher's own is called ``matcher``. Pixels that were filled or have no estimate hold the map's lowest value.
    memory : float or None
        Most memory that a program from outside needed at a time, in MiB; None where there was none, or nobody knows.
    messages : str
        What programs from outside wrote for people.
    """

    disparity: Disparity
    status: NDArray[np.uint8]
    levels: Levels | None
    search: Search
    energy: float | None
    objective: float | None
    lower_bound: float | None
    trace: tuple[tuple[float, ...], ...]
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    volume: CostVolume | None = None
    confidence: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    memory: float | None = None
    messages: str = ""

    def __repr__(self) -> str:
        rows, columns = self.disparity.shape
        estimated = f"{np.isfinite(self.disparity).mean():.0%} of {columns}x{rows} pixels estimated"
        return f"Match({estimated}, search {self.search}, {sum(self.seconds.values()):.2g} s)"


def match_of(view: View, seconds: dict[str, float], reports: Sequence[CallReport], scale: str) -> Match:
    """The match that the last view of a pipeline is, with what its stages took and reported, and the `scale_doubt` of its images."""
    warned = [report.warning for report in reports if report.warning]
    if (match := view.matched) is not None:
        warned = [*(line for line in match.warnings if line.startswith(_PASSED_ON)), *warned]
        doubts = warnings(match.levels, match.disparity, match.search, scale)
        return replace(match, seconds=seconds, warnings=(*doubts, *warned))
    energy = None
    if view.levels is not None:
        energy = float(view.data_costs.sum(dtype=np.float64))
        energy += view.smoothness.of(fill_levels(view.levels)) if view.smoothness is not None else 0.0
    whole = view.labelings[0] if len(view.labelings) == 1 else None
    objectives = [one.objective for one in view.labelings if one.objective is not None]
    disparity = np.ascontiguousarray(view.disparity, np.float32)
    # Nobody is sure of what is filled or unknown.
    unsure = np.isnan(disparity) | (view.status == Status.FILLED)
    return Match(
        disparity=disparity,
        status=view.status,
        levels=view.levels,
        search=view.search,
        energy=energy,
        objective=math.fsum(objectives) if 0 < len(objectives) == len(view.labelings) else None,
        lower_bound=whole.lower_bound if whole else None,
        trace=whole.trace if whole else (),
        seconds=seconds,
        warnings=(*warnings(view.levels, disparity, view.search, scale), *warned),
        volume=view.volumes.get("volume"),  # kept where it is asked for
        confidence={name: np.where(unsure, value.min(), value) for name, value in view.confidence.items()},
        memory=max((one.memory for one in reports if one.memory is not None), default=None),
        messages="\n".join(filter(None, (one.messages for one in reports))),
    )


def warnings(levels: Levels | None, disparity: Disparity, search: Search, scale: str = "") -> tuple[str, ...]:
    """What makes a result doubtful without any truth: no estimates, winners that pile up at an end of the range, and the `scale_doubt` of its images."""
    known = disparity[~np.isnan(disparity)]
    if not known.size:
        return ("the result holds no estimate at all",)
    chosen = np.rint((known - search.minimum) / search.step) if levels is None else levels[levels >= 0]
    found = [scale] if scale else []
    for level, end in ((0, "lower"), (search.levels - 1, "upper")):
        share = np.count_nonzero(chosen == level) / max(1, chosen.size)
        if share > _PILE + 1 / search.levels:
            value = search.minimum + level * search.step
            found.append(
                f"{100 * share:.0f} % of the pixels chose the {end} end of the search range, {value:g}: is the range or its sign "
                "wrong, are the images exchanged, or are the costs too coarse to tell disparities apart?"
            )
    return tuple(found)
