"""Matching costs that are added: each with a weight of its own and, if wanted, saturated by 1 - exp(-c / scale)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stereo_framework.errors import ParameterError
from stereo_framework.parameters import Positive, parameter_faults
from stereo_framework.stage import Bound, Stage
from stereo_framework.volume import CostVolume


@dataclass(frozen=True)
class Factors:
    """Words of the entries of a list of costs, which are no parameters of their stages.

    Parameters
    ----------
    weight : float
        Factor of this cost in the sum.
    scale : float or None
        With it costs c become 1 - exp(-c / scale) before they are weighted; in units of the matching cost.
    """

    weight: Positive = 1
    scale: Positive | None = None


@dataclass(frozen=True)
class Weighted:
    """A matching cost as one of several that are added.

    Parameters
    ----------
    bound : Bound
    weight : float
        Factor of its costs, > 0.
    scale : float or None
        With it the costs c become 1 - exp(-c / scale), between 0 and 1, before they are weighted; units of the matching cost, > 0.

    Raises
    ------
    ParameterError
        A weight or scale that is not above 0.
    """

    bound: Bound
    weight: float = 1.0
    scale: float | None = None

    def __post_init__(self) -> None:
        for name, wrong in parameter_faults(Factors, {"weight": self.weight, "scale": self.scale}).items():
            raise ParameterError(f"matching_cost.{self.bound.stage.name}.{name}: {wrong}")

    @property
    def stage(self) -> Stage:
        """The stage of the matching cost."""
        return self.bound.stage

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the matching cost, and the weight and scale of its entry."""
        return self.bound.parameters | {"weight": self.weight, "scale": self.scale}

    def __str__(self) -> str:
        costs = str(self.bound) if self.scale is None else f"(1 - exp(-{self.bound} / {self.scale:g}))"
        return f"{self.weight:g} * {costs}"


@dataclass(frozen=True)
class CostSum:
    """The sum of some matching costs, float32.

    Parameters
    ----------
    parts : tuple of Weighted
    """

    parts: tuple[Weighted, ...]

    @property
    def halo(self) -> int | None:
        """Rows above and below a row that the costs need; None when one of them must see the whole image."""
        halos = [part.bound.halo for part in self.parts]
        return None if None in halos else max(halo for halo in halos if halo is not None)

    @property
    def data(self) -> frozenset[str]:
        """What the costs name."""
        return frozenset().union(*(part.stage.data for part in self.parts))

    def __call__(self, data: Mapping[str, Any]) -> CostVolume:
        """Compute the costs one after the other and add each to the sum."""
        total: CostVolume | None = None
        for part in self.parts:
            volume: CostVolume = part.bound(data)
            costs = volume.costs.astype(np.float32, copy=not volume.costs.flags.writeable)
            outside = volume.outside
            if part.scale is not None:
                # 1 - exp(-c / scale), in place.
                np.divide(costs, np.float32(-part.scale), out=costs)
                np.expm1(costs, out=costs)
                np.negative(costs, out=costs)
                outside = -float(np.expm1(-outside / part.scale))
            costs *= np.float32(part.weight)
            if total is None:
                total = CostVolume(costs, volume.search, part.weight * outside)
            else:
                np.add(total.costs, costs, out=total.costs)
                total = CostVolume(total.costs, volume.search, total.outside + part.weight * outside)
        assert total is not None, "a list of costs is never empty"
        return total

    def __str__(self) -> str:
        return " + ".join(map(str, self.parts))


def cost_sum(parts: Sequence[Any]) -> CostSum:
    """The sum of matching costs, each a stage, a `Bound` or a `Weighted`."""
    return CostSum(tuple(p if isinstance(p, Weighted) else Weighted(p if isinstance(p, Bound) else Bound(p)) for p in parts))
