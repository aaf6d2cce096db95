"""Steps that a pipeline inserts into methods, and a sort key for pipelines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from stereo_framework.core.stage import Stage
from stereo_framework.core.step import FACTORS, Step, step, weighted
from stereo_framework.core.volume import CostVolume
from stereo_framework.engine.returns import check_returned


def sort_key(steps: Iterable[Step], numbers: dict[Step, int]) -> list[tuple[int, int]]:
    """Return a key that sorts pipelines with the same first steps next to each other.

    If two pipelines differ only in the number of iterations of a step, the pipeline
    with fewer iterations comes first.

    Parameters
    ----------
    steps : iterable of Step
        Steps of a pipeline, in the order in which they run.
    numbers : dict of Step to int
        Number of each step of all pipelines so far. Steps that differ only in the
        number of iterations have the same number. This function adds new steps to the
        dictionary, so calls for pipelines that are sorted together must share one
        dictionary.

    Returns
    -------
    list of (int, int)
        For each step of the pipeline, its number in `numbers` and its number of
        iterations.
    """
    key = []
    for one_step in steps:
        step_without_count, count = one_step.line
        key.append((numbers.setdefault(step_without_count, len(numbers)), count))
    return key


def cost_sum(costs: Iterable[Step | Callable[..., Any]]) -> Step:
    """Create a step that computes the weighted sum of several matching costs.

    The function `weighted` saturates and weights each matching cost before it is added.
    The step has the data arguments of all its matching costs. The sum is float32.
    """
    cost_steps = tuple(map(step, costs))

    def total(**data: Any) -> CostVolume:
        image_shape, search = data["reference"].shape, data["search"]

        def weighted_cost(cost_step: Step) -> CostVolume:
            volume = cost_step(data)
            check_returned(cost_step.stage, volume, image_shape, search)
            factors = {
                name: cost_step.parameters[name] for name in FACTORS if name in cost_step.parameters
            }
            return weighted(volume, **factors)

        # At most two cost volumes are in memory at the same time, because `map`
        # computes each volume only when it is added to the sum.
        return functools.reduce(_sum_in_first, map(weighted_cost, cost_steps))

    halos = [cost_step.halo for cost_step in cost_steps]
    # If one matching cost needs all rows of the image (halo None), the sum needs them
    # too.
    halo = None if None in halos else lambda: max(filter(None, halos), default=0)
    data_names: dict[str, None] = {}
    for cost_step in cost_steps:
        data_names |= dict.fromkeys(cost_step.stage.data)
    stage = _engine_stage("matching_cost", total, halo=halo, data=tuple(data_names))
    return Step(stage, inner=cost_steps)


def _sum_in_first(first: CostVolume, second: CostVolume) -> CostVolume:
    """Add the costs of the second cost volume to the array of the first cost volume."""
    costs = np.add(first.costs, second.costs, out=first.costs)
    return CostVolume(costs, first.search, first.outside_cost + second.outside_cost)


def _engine_stage(name: str, function: Callable[..., Any] | None = None, **declared: Any) -> Stage:
    """Create a stage that is not registered; its slot gets the name of the stage.

    If `function` is None, the pipeline does the work of the step itself, and never
    calls the function of the stage.
    """
    bare = function or _engine_stage
    options = {"halo": None, "data": (), **declared}
    return Stage(name=name, slot=name, function=bare, public=bare, source="", **options)


RESTORE = Step(
    _engine_stage("restore_outside_cost", data=("volume",), halo=lambda: 0, integer=True)
)
"""Step after aggregation that resets cells whose match lies outside the image."""

AUXILIARY = _engine_stage("auxiliary")
"""Stage that computes the disparity maps of all auxiliary methods of a method."""
