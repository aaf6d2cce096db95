"""Accuracy against density: the error rate and sparsity rate of a map, the ROC curves of methods and their feasibility boundary.

Kostliva, Cech & Sara 2007. Both rates are fractions, 0..1, and lower is better. Each setting of a method gives a point, the points of a method give its
curve, and the curve that all methods reach together on a scene is the feasibility boundary of this scene.
"""

from stereo_framework.evaluation.roc.curve import (
    Curve,
    efficiency,
    improvement,
    outer_curve,
    roc_curve,
)
from stereo_framework.evaluation.roc.matching_table import (
    MapErrors,
    MatchingTable,
    map_errors,
    matching_table,
    scene_table,
)
from stereo_framework.evaluation.roc.points import (
    Point,
    best_case,
    feasibility_boundary,
    mean_points,
    minimal_points,
    worst_case,
)

__all__ = [
    "Curve",
    "MapErrors",
    "MatchingTable",
    "Point",
    "best_case",
    "efficiency",
    "feasibility_boundary",
    "improvement",
    "map_errors",
    "matching_table",
    "mean_points",
    "minimal_points",
    "outer_curve",
    "roc_curve",
    "scene_table",
    "worst_case",
]
