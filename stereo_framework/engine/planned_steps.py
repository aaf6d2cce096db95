"""Planned steps, which the engine runs to execute a stereo method.

Most planned steps are steps of the stereo method itself. The engine adds or replaces
steps of the method in four cases:

- Several matching costs become one step, which adds up their cost volumes.
- After the last aggregation, a step resets the costs of matches outside the image.
- If a method has auxiliary methods, the first step runs the auxiliary methods.
- A scheme, such as tiling, becomes one step that runs all other steps of the method.
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
    """A step that the engine adds to the steps of a stereo method.

    The class `Step` describes the properties of all steps. Subclasses replace the
    default values of the properties.
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
        """Name that the progress display shows while the step runs."""
        return self.name

    @property
    def reads(self) -> frozenset[str]:
        """Names of the data that the step reads, such as ``volume``."""
        return frozenset()

    @property
    def without_iterations(self) -> Self:
        """The unchanged step, because steps of the engine have no iterations."""
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

    name = "matching_cost"
    makes = frozenset({"volume", "raw"})
    touches_volume = True

    @property
    def reads(self) -> frozenset[str]:
        """The name ``auxiliary`` if a matching cost reads auxiliary disparity maps."""
        return frozenset().union(*(cost.reads for cost in self.costs))

    @property
    def data_names(self) -> frozenset[str]:
        """Names of the data arguments of all matching costs, such as ``search``."""
        return frozenset().union(*(cost.stage.data for cost in self.costs))

    @functools.cached_property
    def halo(self) -> int | None:
        """Largest number of neighbouring image rows that a matching cost reads.

        The number is None if a matching cost needs all rows of the image.
        """
        halos = [cost.halo for cost in self.costs]
        known_halos = [halo for halo in halos if halo is not None]
        return max(known_halos) if len(known_halos) == len(halos) else None

    def __call__(self, data: Mapping[str, Any]) -> CostVolume:
        """Return the weighted sum of the matching costs as a float32 cost volume.

        The computation keeps at most two cost volumes in memory.

        Raises
        ------
        StereoFrameworkError
            If a matching cost returns a wrong result.
        """
        volumes = (_weighted_cost(cost, data) for cost in self.costs)
        return functools.reduce(_sum_in_first, volumes)


def _weighted_cost(cost: Step, data: Mapping[str, Any]) -> CostVolume:
    """Compute the cost volume of a matching cost, with its saturation and weight."""
    volume = cost(data)
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

    name = "restore_outside_cost"
    touches_volume = True

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

    name = "auxiliary"
    makes = frozenset({"auxiliary"})
    is_for_both_images = True


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

    makes = frozenset({"estimate"})

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the scheme, such as ``scheme.tiles``."""
        return self.step.name

    @property
    def short_name(self) -> str:
        """Short name of the scheme, such as ``tiles``."""
        return self.step.short_name


PlannedStep = Step | CostSum | OutsideCostReset | AuxiliaryMatching | SchemeCall
"""Step that the engine runs for a stereo method.

Planned steps are hashable, so dictionaries can use the steps as keys.
"""


class AddressedStep(NamedTuple):
    """A step that the engine runs, with the address of the step in the script.

    Parameters
    ----------
    address : str
        Address of the step in the script, such as ``aggregation.box``. In an estimate,
        the address is also the key of the run time of the step.
    step : PlannedStep
    """

    address: str
    step: PlannedStep


def plan_with_addresses(pipeline: Pipeline) -> list[AddressedStep]:
    """Return the steps that run for a pipeline, with addresses, in execution order."""
    schemes = pipeline.in_slot("scheme")
    if schemes:
        outer_scheme, *inner_schemes = schemes
        method = pipeline.having(scheme=tuple(inner_schemes))
        return [AddressedStep(outer_scheme.name, SchemeCall(outer_scheme, method))]

    plan = []
    if pipeline.auxiliary:
        matching = AuxiliaryMatching(pipeline.auxiliary)
        plan.append(AddressedStep(AuxiliaryMatching.name, matching))

    # `groupby` needs sorted steps, and a pipeline sorts its steps by slot.
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
