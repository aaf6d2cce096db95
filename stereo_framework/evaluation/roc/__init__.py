"""Accuracy against density: error rate and sparsity rate of a map, ROC curves of methods and the feasibility boundary of many.

Kostliva, Cech & Sara 2007. Both rates are fractions, 0..1, lower is better. A method's settings give points; what they reach together is
a curve, and what all methods together reach on a scene is that scene's feasibility boundary.
"""

from stereo_framework.evaluation.roc.boundary import best_case, feasibility_boundary, mean_points, worst_case
from stereo_framework.evaluation.roc.curve import (
    Curve,
    dominant_intervals,
    efficiency,
    highest,
    improvement,
    lowest,
    outer_curve,
    roc_curve,
)
from stereo_framework.evaluation.roc.map_errors import MapErrors, errors_of_the_sure, map_errors
from stereo_framework.evaluation.roc.matching_table import MatchingTable, kept_table, matching_table, scene_table
from stereo_framework.evaluation.roc.points import Point, minimal_points

__all__ = [
    "Curve",
    "MapErrors",
    "MatchingTable",
    "Point",
    "best_case",
    "dominant_intervals",
    "efficiency",
    "errors_of_the_sure",
    "feasibility_boundary",
    "highest",
    "improvement",
    "kept_table",
    "lowest",
    "map_errors",
    "matching_table",
    "mean_points",
    "minimal_points",
    "outer_curve",
    "roc_curve",
    "scene_table",
    "worst_case",
]
