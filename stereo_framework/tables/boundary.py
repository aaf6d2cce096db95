"""From stored results to ROC curves, efficiencies, improvements and the feasibility boundary.

Kostliva, Cech & Sara 2007.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereo_framework.errors import DataError
from stereo_framework.evaluation.roc import (
    Curve,
    Point,
    best_case,
    efficiency,
    feasibility_boundary,
    improvement,
    mean_points,
    outer_curve,
    roc_curve,
    worst_case,
)
from stereo_framework.sweep import Result
from stereo_framework.tables.values import one_protocol

_ROUNDING = 1e-12
"""Of means of rates, which may miss a wish of just their size."""


@dataclass(frozen=True)
class Boundary:
    """What methods reach on scenes.

    Parameters
    ----------
    points : mapping of str to mapping of str to list of Point
        All measured settings, by scene and method.
    mean : mapping of str to list of Point
        By method: each setting's rates averaged over all scenes.
    """

    points: Mapping[str, Mapping[str, list[Point]]]
    mean: Mapping[str, list[Point]]

    def efficiencies(self) -> dict[str, dict[str, float]]:
        """E by method and scene, and ``Expected``: that of the mean curve, which is not the mean of efficiencies (the paper's Table 1)."""
        columns = {**self.points, "Expected": self.mean}
        methods = list(self.mean)
        return {m: {name: efficiency(roc_curve(by[m])) for name, by in columns.items() if m in by} for m in methods}

    def improvements(self) -> dict[str, dict[str, float]]:
        """I(row | column) of the mean curves (the paper's Table 2)."""
        curves = {method: roc_curve(points) for method, points in self.mean.items()}
        return {a: {b: improvement(curves[a], curves[b]) for b in curves if b != a} for a in curves}

    def feasible(self, scene: str) -> list[Point]:
        """The scene's feasibility boundary; every point keeps its method, parameters and map."""
        return feasibility_boundary(p for points in self.points[scene].values() for p in points)

    def cases(self) -> dict[str, Curve]:
        """The best and the worst case over all scenes, and the boundary of the mean points."""
        boundaries = [self.feasible(scene) for scene in self.points]
        everything = [p for points in self.mean.values() for p in points]
        return {
            "best case": roc_curve(best_case(boundaries)),
            "worst case": outer_curve(worst_case(boundaries)),
            "mean": roc_curve(feasibility_boundary(everything)),
        }

    def choose(self, *, error_rate: float | None = None, density: float | None = None) -> Point | None:
        """The best known setting for a wish, by its mean over the scenes.

        Parameters
        ----------
        error_rate : float, optional
            At most this error rate: the densest setting.
        density : float, optional
            A sparsity rate of at most 1 - this: the setting with the lowest error rate.

        Returns
        -------
        Point or None
            None where no setting meets the wish.
        """
        everything = [p for points in self.mean.values() for p in points]
        if error_rate is not None:
            fits = [p for p in everything if p.error_rate <= error_rate + _ROUNDING]
            return min(fits, key=lambda p: (p.sparsity_rate, p.error_rate), default=None)
        fits = [p for p in everything if density is None or p.sparsity_rate <= 1 - density + _ROUNDING]
        return min(fits, key=lambda p: (p.error_rate, p.sparsity_rate), default=None)


def boundary(results: Sequence[Result], weights: Mapping[str, float] | None = None, *, drop_incomplete: bool = False) -> Boundary:
    """Collect the ROC rates of results.

    Parameters
    ----------
    results : sequence of Result
        Measured with ``error_rate`` and ``sparsity_rate`` (protocol ``kostliva2007``), of one protocol. Failed runs are passed over.
    weights : mapping of str to float, optional
        Of the scenes in the mean. Default: all the same.
    drop_incomplete : bool
        Leave settings out of the mean that are not measured on every scene, instead of refusing them.

    Raises
    ------
    DataError
        No result has these rates, or settings without some scene.
    ParameterError
        Results of different protocols.
    """
    measured = [r for r in results if "error_rate" in r.statistics and "sparsity_rate" in r.statistics]
    if not measured:
        raise DataError("no result has error_rate and sparsity_rate; run with the protocol kostliva2007, or measures: roc")
    one_protocol(measured, "--protocol {}")
    points: dict[str, dict[str, list[Point]]] = {}
    for r in measured:
        point = Point(r.statistics["sparsity_rate"], r.statistics["error_rate"], r.method, dict(r.parameters), r.scene, r.map)
        points.setdefault(r.scene, {}).setdefault(r.method, []).append(point)
    everything = [p for by in points.values() for some in by.values() for p in some]
    mean: dict[str, list[Point]] = {}
    for point in mean_points(everything, weights, incomplete="drop" if drop_incomplete else "refuse"):
        mean.setdefault(point.method, []).append(point)
    return Boundary(points, mean)


def script_of(point: Point, results: Sequence[Result]) -> dict[str, Any]:
    """A script that runs a point's setting on the scenes that it was measured on."""
    same = [r for r in results if r.method == point.method and dict(r.parameters) == dict(point.parameters)]
    return dict(same[0].script) | {"name": point.method, "scenes": list(dict.fromkeys(r.scene for r in same))}
