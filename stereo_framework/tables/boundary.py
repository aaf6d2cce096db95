"""ROC curves, efficiencies, improvements and feasibility boundary of stored results.

Kostliva, Cech & Sara 2007.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation import roc
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.tables.grouping import group_items


@dataclass(frozen=True)
class Boundary:
    """The error rates and sparsity rates that methods reach on scenes.

    Parameters
    ----------
    points : mapping of str to mapping of str to list of Point
        All measured settings, by scene and method.
    mean : mapping of str to list of Point
        By method, the rates of each setting averaged over all scenes.
    """

    points: Mapping[str, Mapping[str, list[roc.Point]]]
    mean: Mapping[str, list[roc.Point]]

    def efficiencies(self) -> dict[str, dict[str, float]]:
        """Efficiency E by method and scene (the paper's Table 1). ``Expected`` is that of the mean curve, which is not the mean of the efficiencies."""
        columns = {**self.points, "Expected": self.mean}
        methods = list(self.mean)
        return {
            m: {
                name: roc.efficiency(roc.roc_curve(by[m]))
                for name, by in columns.items()
                if m in by
            }
            for m in methods
        }

    def improvements(self) -> dict[str, dict[str, float]]:
        """Improvement I(row | column) of the mean curves (the paper's Table 2)."""
        curves = {method: roc.roc_curve(points) for method, points in self.mean.items()}
        return {
            a: {b: roc.improvement(curves[a], curves[b]) for b in curves if b != a} for a in curves
        }

    def feasible(self, scene: str) -> list[roc.Point]:
        """The scene's feasibility boundary; every point keeps its method, parameters and map."""
        return roc.feasibility_boundary(p for points in self.points[scene].values() for p in points)

    def cases(self) -> dict[str, roc.Curve]:
        """The best and the worst case over all scenes, and the boundary of the mean points."""
        boundaries = [self.feasible(scene) for scene in self.points]
        everything = [p for points in self.mean.values() for p in points]
        return {
            "best case": roc.roc_curve(roc.best_case(boundaries)),
            "worst case": roc.outer_curve(roc.worst_case(boundaries)),
            "mean": roc.roc_curve(roc.feasibility_boundary(everything)),
        }


def boundary(results: ResultSet, *, drop_incomplete: bool = False) -> Boundary:
    """Collect the ROC rates of results.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol that computes ``error_rate`` and ``sparsity_rate``, such
        as ``kostliva2007``. Failed runs are left out.
    drop_incomplete : bool
        If True, settings without a result on some scene are left out of the mean. If
        False, they are refused.

    Raises
    ------
    DataError
        No result has these rates, or a setting lacks a scene.
    ParameterError
        The results have several protocols.
    """
    rates = {"error_rate", "sparsity_rate"}
    measured = ResultSet(result for result in results if rates <= result.statistics.keys())
    if not measured:
        message = (
            "no result has error_rate and sparsity_rate; run with the protocol kostliva2007, or "
            "metrics: roc"
        )
        raise DataError(message)
    _ = measured.protocol  # The property refuses results of several protocols.

    all_points = [_roc_point(result) for result in measured]
    points = {
        scene: group_items(points_of_scene, lambda point: point.method)
        for scene, points_of_scene in group_items(all_points, lambda point: point.scene).items()
    }
    points_in_order: list[roc.Point] = []
    for points_of_method in points.values():
        points_in_order += itertools.chain.from_iterable(points_of_method.values())
    mean_points = roc.mean_points(points_in_order, drop_incomplete=drop_incomplete)
    return Boundary(points, group_items(mean_points, lambda point: point.method))


def _roc_point(result: Result) -> roc.Point:
    """Return the error rate and the sparsity rate of a result."""
    return roc.Point(
        result.statistics["sparsity_rate"],
        result.statistics["error_rate"],
        result.method,
        dict(result.parameters),
        result.scene,
        result.map,
    )
