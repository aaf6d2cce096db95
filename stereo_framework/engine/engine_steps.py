"""Steps of the engine that are no registered stages, and the order of steps."""

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
    """Return a key by which pipelines with the same first steps follow each other.

    Of two pipelines that differ only in the number of iterations of a step, the one
    with fewer iterations comes first.

    Parameters
    ----------
    steps : iterable of Step
        The steps of a pipeline.
    numbers : dict of Step to int
        Numbers of the steps without their iterations. New steps are added to it, so
        that all pipelines of a comparison must get the same dictionary.

    Returns
    -------
    list of (int, int)
        Number and iterations of each step.
    """
    key = []
    for one_step in steps:
        step_without_count, count = one_step.line
        key.append((numbers.setdefault(step_without_count, len(numbers)), count))
    return key


def cost_sum(costs: Iterable[Step | Callable[..., Any]]) -> Step:
    """Return a step whose float32 costs are the weighted sum of several costs.

    Each cost is saturated and weighted by `weighted`. The step names all data that any
    of the costs names.
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

        # No more than two volumes are in memory at a time, because map is lazy.
        return functools.reduce(_sum_in_first, map(weighted_cost, cost_steps))

    halos = [cost_step.halo for cost_step in cost_steps]
    # One cost that sees the whole image makes the sum such a cost.
    halo = None if None in halos else lambda: max(filter(None, halos), default=0)
    names = (name for cost_step in cost_steps for name in cost_step.stage.data)
    data_names = tuple(dict.fromkeys(names))
    stage = _engine_stage("matching_cost", total, halo=halo, data=data_names)
    return Step(stage, inner=cost_steps)


def _sum_in_first(first: CostVolume, second: CostVolume) -> CostVolume:
    """Return the sum of two volumes, whose costs overwrite those of the first."""
    costs = np.add(first.costs, second.costs, out=first.costs)
    return CostVolume(costs, first.search, first.outside_cost + second.outside_cost)


def _engine_stage(name: str, function: Callable[..., Any] | None = None, **declared: Any) -> Stage:
    """Return a stage of the engine, whose slot has the name of the stage.

    Without a function, the engine itself does the work of the step.
    """
    bare = function or _engine_stage
    options = {"halo": None, "data": (), **declared}
    return Stage(name=name, slot=name, function=bare, public=bare, source="", **options)


RESTORE = Step(
    _engine_stage("restore_outside_cost", data=("volume",), halo=lambda: 0, integer=True)
)
"""Step that resets cells whose match lies outside the image, after aggregation."""

AUXILIARY = _engine_stage("auxiliary")
"""Stage that matches the pair by the auxiliary methods."""
