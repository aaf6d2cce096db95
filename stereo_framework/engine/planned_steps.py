"""Planned steps, which the engine runs to execute a stereo method.

Most planned steps are steps of the stereo method itself. The engine adds or replaces
steps of the method in four cases:

- Several matching costs become one step, which adds up their cost volumes.
- After the last aggregation, a step resets the costs of matches outside the image.
- If a method has auxiliary methods, the first step runs the auxiliary methods.
- The first scheme, such as tiling, becomes the only step. The rest of the method, with
  its auxiliary methods and further schemes, runs inside this step.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.step import FACTORS, Step, weighted
from stereo_framework.core.view import VOLUMES
from stereo_framework.core.volume import CostVolume
from stereo_framework.engine.return_checks import check_returned, outside_cost_fault
from stereo_framework.engine.returned_numbers import call_stage

if TYPE_CHECKING:
    from stereo_framework.engine.pipeline import Pipeline


class EngineStep:
    """A planned step that is not a step of the stereo method.

    The class `PipelineRunner` does the work of the step. The class `Step` describes the
    properties of all steps. Subclasses replace the default values of the properties.
    """

    iterations = 0
    reads_other = False
    other_reads: frozenset[str] = frozenset()
    is_for_both_images = False

    @property
    def name(self) -> str:
        """Name of the step in error messages."""
        raise NotImplementedError

    @property
    def short_name(self) -> str:
        """Name that the progress display shows while the step runs."""
        return self.name

    @property
    def reads(self) -> frozenset[str]:
        """Names of the data that the step reads, without the images."""
        return frozenset()

    @property
    def makes(self) -> frozenset[str]:
        """Names of the data that the step creates for later steps."""
        return frozenset()

    @property
    def touches_volume(self) -> bool:
        """True if the step creates or reads a cost volume."""
        return bool(VOLUMES & (self.makes | self.reads))

    @property
    def without_iterations(self) -> Self:
        """The unchanged step, because the step has no number of iterations."""
        return self

    @property
    def halo(self) -> int | None:
        """Number of neighbouring image rows that affect the result of an image row.

        The number is None if all rows of the image affect each row.
        """
        return None


@dataclass(frozen=True)
class CostSum(EngineStep):
    """A step that computes the weighted sum of several matching costs.

    Parameters
    ----------
    costs : tuple of Step
        Matching costs with the parameters ``weight`` and ``saturation``.
    """

    costs: tuple[Step, ...]

    @property
    def name(self) -> str:
        """Name of the slot of the matching costs."""
        return self.costs[0].stage.slot

    @property
    def reads(self) -> frozenset[str]:
        """The name ``auxiliary`` if a matching cost reads auxiliary disparity maps."""
        return frozenset().union(*(cost.reads for cost in self.costs))

    @property
    def makes(self) -> frozenset[str]:
        """Names of the cost volumes that a matching cost creates."""
        return self.costs[0].makes

    @functools.cached_property
    def halo(self) -> int | None:
        """Largest number of neighbouring image rows that a matching cost reads.

        The number is None if a matching cost needs all rows of the image.
        """
        largest_halo = 0
        for cost in self.costs:
            if cost.halo is None:
                return None
            largest_halo = max(largest_halo, cost.halo)
        return largest_halo

    def __call__(self, data: Mapping[str, Any]) -> CostVolume:
        """Return the weighted sum of the matching costs as a float32 cost volume.

        The memory contains the sum and the cost volumes of a single matching cost.

        Raises
        ------
        StereoFrameworkError
            If a matching cost returns a wrong result, or if the outside cost of the sum
            is too large for float32.
        """
        volumes = (_weighted_cost(cost, data) for cost in self.costs)
        total = functools.reduce(_sum_in_first, volumes)
        if fault := outside_cost_fault(total):
            event = f"the sum of the matching costs is a {fault}"
            raise StereoFrameworkError(f"{self.name}: {event}; use smaller weights")
        return total


def _weighted_cost(cost: Step, data: Mapping[str, Any]) -> CostVolume:
    """Compute the cost volume of a matching cost, with its saturation and weight."""
    volume = call_stage(cost, data)
    check_returned(cost.stage, volume, data["reference"].shape, data["search"])
    factors = {name: cost.parameters[name] for name in FACTORS if name in cost.parameters}
    return weighted(volume, **factors)


def _sum_in_first(first: CostVolume, second: CostVolume) -> CostVolume:
    """Add the second cost volume to the first cost volume in place."""
    costs = np.add(first.costs, second.costs, out=first.costs)
    return CostVolume(costs, first.search, first.outside_cost + second.outside_cost)


@dataclass(frozen=True)
class OutsideCostReset(EngineStep):
    """A step that resets the costs of matches outside the image.

    Aggregation filters mix the costs of matches inside and outside the image. The costs
    outside the image are reset after the last aggregation.
    """

    @property
    def name(self) -> str:
        """Name under which the run time of the step is listed."""
        return "restore_outside_cost"

    @property
    def reads(self) -> frozenset[str]:
        """Name of the cost volume in which outside costs are reset."""
        return frozenset({"volume"})

    @property
    def halo(self) -> int:
        """0 rows, because the reset of a cost does not read neighbouring rows."""
        return 0


@dataclass(frozen=True)
class AuxiliaryMatching(EngineStep):
    """A step that computes the disparity maps of all auxiliary methods.

    Parameters
    ----------
    methods : tuple of (str, Pipeline)
        Name and pipeline of each auxiliary method.
    """

    methods: tuple[tuple[str, Pipeline], ...]

    is_for_both_images = True

    @property
    def name(self) -> str:
        """Name under which the run time of all auxiliary methods is listed."""
        return "auxiliary"

    @property
    def makes(self) -> frozenset[str]:
        """Name of the disparity maps of the auxiliary methods."""
        return frozenset({"auxiliary"})


@dataclass(frozen=True)
class SchemeCall(EngineStep):
    """A step that calls a scheme, such as tiling or an image pyramid.

    A scheme creates new image pairs and matches each new pair with the other steps.

    Parameters
    ----------
    step : Step
        Scheme with its parameters, such as the tile size.
    method : Pipeline
        Pipeline that contains all steps except the scheme.
    """

    step: Step
    method: Pipeline

    @property
    def name(self) -> str:
        """Name of the scheme, such as ``scheme.tiles``."""
        return self.step.name

    @property
    def makes(self) -> frozenset[str]:
        """Name of the complete result of a scheme."""
        return self.step.makes

    @property
    def short_name(self) -> str:
        """Short name of the scheme, such as ``tiles``."""
        return self.step.short_name


PlannedStep = Step | CostSum | OutsideCostReset | AuxiliaryMatching | SchemeCall
"""Step that the engine runs for a stereo method.

Planned steps are hashable, so dictionaries can use the steps as keys.
"""


def plan_with_addresses(pipeline: Pipeline) -> list[tuple[str, PlannedStep]]:
    """Return the address and the step of each planned step, in execution order.

    The address is the key of the run time of the step in an estimate. For a step of the
    method, the address is that of the script, such as ``aggregation.box``. For other
    planned steps, the address is the name of the step.
    """
    schemes = pipeline.in_slot("scheme")
    if schemes:
        outer_scheme, *inner_schemes = schemes
        scheme_call = SchemeCall(outer_scheme, pipeline.having(scheme=tuple(inner_schemes)))
        return [(scheme_call.name, scheme_call)]

    plan: list[tuple[str, PlannedStep]] = []
    if pipeline.auxiliary:
        matching = AuxiliaryMatching(pipeline.auxiliary)
        plan.append((matching.name, matching))

    # The steps of a pipeline are sorted by slot, so each slot is one group.
    for slot, group in itertools.groupby(pipeline.addressed_steps(), key=_slot_of):
        steps_of_slot = list(group)
        steps = tuple(step for _, step in steps_of_slot)
        if steps[0].is_summand:
            cost_sum = CostSum(steps)
            plan.append((cost_sum.name, cost_sum))
        else:
            plan += steps_of_slot
        if slot == "aggregation":
            reset = OutsideCostReset()
            plan.append((reset.name, reset))
    return plan


def _slot_of(addressed_step: tuple[str, Step]) -> str:
    _, step = addressed_step
    return step.stage.slot
