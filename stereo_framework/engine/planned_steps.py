"""Planned steps: the steps that run for a pipeline.

Most planned steps are steps of the pipeline. There are four exceptions:

- Several matching costs become one step, which adds them up.
- After the last aggregation, a step resets the costs of cells outside the image.
- The first step of a method with auxiliary methods matches these methods.
- A scheme becomes a single step, which contains all other steps of the method.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from stereo_framework.core.step import FACTORS, Step, weighted
from stereo_framework.core.volume import CostVolume
from stereo_framework.engine.return_checks import check_returned

if TYPE_CHECKING:
    from stereo_framework.engine.pipeline import Pipeline


class EngineStep:
    """A planned step that is no step of the pipeline.

    It has the same properties as `Step`, where they are described. Subclasses replace
    the default values below.
    """

    name = ""
    iterations = 0
    reads_other = False
    other_reads: frozenset[str] = frozenset()
    makes: frozenset[str] = frozenset()
    touches_volume = False
    is_for_both_images = False

    @property
    def short_name(self) -> str:
        """Name of the step that is shown while the step runs."""
        return self.name

    @property
    def reads(self) -> frozenset[str]:
        """Names of the data that the step reads."""
        return frozenset()

    @property
    def without_iterations(self) -> Self:
        """The step itself, because it has no number of iterations."""
        return self

    @property
    def halo(self) -> int | None:
        """Number of neighbouring rows that affect a row; None for all rows."""
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

    name = "matching_cost"
    makes = frozenset({"volume", "raw"})
    touches_volume = True

    @property
    def reads(self) -> frozenset[str]:
        """Names of the data that at least one matching cost reads."""
        return frozenset().union(*(cost.reads for cost in self.costs))

    @property
    def data_names(self) -> frozenset[str]:
        """Names of the data arguments of all matching costs."""
        return frozenset().union(*(cost.stage.data for cost in self.costs))

    @functools.cached_property
    def halo(self) -> int | None:
        """The largest halo; None if a matching cost needs all rows of the image."""
        halos = [cost.halo for cost in self.costs]
        known_halos = [halo for halo in halos if halo is not None]
        return max(known_halos) if len(known_halos) == len(halos) else None

    def __call__(self, data: Mapping[str, Any]) -> CostVolume:
        """Return the sum of the costs, float32.

        At most two cost volumes are in memory at the same time.

        Raises
        ------
        StereoFrameworkError
            A matching cost returned a wrong result.
        """
        volumes = (_weighted_cost(cost, data) for cost in self.costs)
        return functools.reduce(_sum_in_first, volumes)


def _weighted_cost(cost: Step, data: Mapping[str, Any]) -> CostVolume:
    """Compute one matching cost, and saturate and weight it."""
    volume = cost(data)
    check_returned(cost.stage, volume, data["reference"].shape, data["search"])
    factors = {name: cost.parameters[name] for name in FACTORS if name in cost.parameters}
    return weighted(volume, **factors)


def _sum_in_first(first: CostVolume, second: CostVolume) -> CostVolume:
    """Add the costs of the second cost volume to the array of the first cost volume."""
    costs = np.add(first.costs, second.costs, out=first.costs)
    return CostVolume(costs, first.search, first.outside_cost + second.outside_cost)


@dataclass(frozen=True)
class OutsideCostReset(EngineStep):
    """A step that resets the costs of cells whose match lies outside the image.

    An aggregation averages these costs with others. The step follows the last
    aggregation.
    """

    name = "restore_outside_cost"
    touches_volume = True

    @property
    def reads(self) -> frozenset[str]:
        """The cost volume whose cells are reset."""
        return frozenset({"volume"})

    @property
    def halo(self) -> int:
        """0 rows, because the other cells do not affect the reset of a cell."""
        return 0


@dataclass(frozen=True)
class AuxiliaryMatching(EngineStep):
    """A step that computes the disparity maps of all auxiliary methods.

    Parameters
    ----------
    methods : tuple of (str, Pipeline)
        Auxiliary methods with their names.
    """

    methods: tuple[tuple[str, Pipeline], ...]

    name = "auxiliary"
    makes = frozenset({"auxiliary"})
    is_for_both_images = True


@dataclass(frozen=True)
class SchemeCall(EngineStep):
    """A call of a scheme, which makes pairs and matches them with its method.

    Parameters
    ----------
    step : Step
        The scheme with its parameters.
    method : Pipeline
        All other steps of the pipeline.
    """

    step: Step
    method: Pipeline

    makes = frozenset({"estimate"})

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the scheme, such as ``scheme.tiles``."""
        return self.step.name

    @property
    def short_name(self) -> str:
        """Name of the stage, such as ``tiles``."""
        return self.step.short_name


PlannedStep = Step | CostSum | OutsideCostReset | AuxiliaryMatching | SchemeCall
"""A step of a plan. Planned steps can be keys of dictionaries."""


class AddressedStep(NamedTuple):
    """A planned step with its address.

    Parameters
    ----------
    address : str
        Address in the script, such as ``aggregation.box``. The run time of the step has
        this name in an estimate.
    step : PlannedStep
    """

    address: str
    step: PlannedStep


def plan_with_addresses(pipeline: Pipeline) -> list[AddressedStep]:
    """Return the steps that run for a pipeline, with addresses, in running order."""
    schemes = pipeline.in_slot("scheme")
    if schemes:
        outer_scheme, *inner_schemes = schemes
        method = pipeline.having(scheme=tuple(inner_schemes))
        return [AddressedStep(outer_scheme.name, SchemeCall(outer_scheme, method))]

    plan = []
    if pipeline.auxiliary:
        matching = AuxiliaryMatching(pipeline.auxiliary)
        plan.append(AddressedStep(AuxiliaryMatching.name, matching))

    # The steps of a pipeline are sorted by slot.
    for slot, group in itertools.groupby(pipeline.addressed_steps(), key=_slot_of):
        steps_of_slot = list(group)
        steps = tuple(step for _, step in steps_of_slot)
        if steps[0].is_summand:
            plan.append(AddressedStep(CostSum.name, CostSum(steps)))
        else:
            plan += [AddressedStep(address, step) for address, step in steps_of_slot]
        if slot == "aggregation":
            plan.append(AddressedStep(OutsideCostReset.name, OutsideCostReset()))
    return plan


def _slot_of(addressed_step: tuple[str, Step]) -> str:
    _, step = addressed_step
    return step.stage.slot
