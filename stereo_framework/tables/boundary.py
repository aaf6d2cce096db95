"""From stored results to ROC curves, efficiencies, improvements and the feasibility boundary.

Kostliva, Cech & Sara 2007.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation import roc
from stereo_framework.sweep import Result
from stereo_framework.tables.values import grouped, one_protocol


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


def boundary(results: Sequence[Result], *, drop_incomplete: bool = False) -> Boundary:
    """Collect the ROC rates of results.

    Parameters
    ----------
    results : sequence of Result
        Results of one protocol that measures ``error_rate`` and ``sparsity_rate``, such as ``kostliva2007``. Failed runs are passed over.
    drop_incomplete : bool
        Leave settings that were not measured on every scene out of the mean, instead of refusing them.

    Raises
    ------
    DataError
        No result has these rates, or a setting lacks a scene.
    ParameterError
        Results of different protocols.
    """
    measured = [
        r for r in results if "error_rate" in r.statistics and "sparsity_rate" in r.statistics
    ]
    if not measured:
        raise DataError(
            "no result has error_rate and sparsity_rate; run with the protocol kostliva2007, or metrics: roc"
        )
    one_protocol(measured)
    every = [
        roc.Point(
            r.statistics["sparsity_rate"],
            r.statistics["error_rate"],
            r.method,
            dict(r.parameters),
            r.scene,
            r.map,
        )
        for r in measured
    ]
    points = {
        scene: grouped(own, lambda p: p.method)
        for scene, own in grouped(every, lambda p: p.scene).items()
    }
    in_order = [p for by in points.values() for own in by.values() for p in own]
    return Boundary(
        points,
        grouped(roc.mean_points(in_order, drop_incomplete=drop_incomplete), lambda p: p.method),
    )
