"""Feasibility boundaries and means over scenes."""

from pathlib import Path

import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.roc import (
    Point,
    best_case,
    feasibility_boundary,
    mean_points,
    outer_curve,
    worst_case,
)


def test_a_boundary_keeps_where_its_points_come_from():
    points = [
        Point(0, 0.5, "gc", {"lambda": 30}, "cones", Path("gc.pfm")),
        Point(0.5, 0.25, "gc", {"lambda": 60}, "cones"),
        Point(0.25, 0.125, "csm", {"alpha": 5}, "cones"),
        Point(1, 0, "csm", {"alpha": 150}, "cones"),
    ]
    found = feasibility_boundary(points)
    assert found == [points[0], points[2], points[3]]
    assert (found[0].parameters, found[0].map) == ({"lambda": 30}, Path("gc.pfm"))
    with pytest.raises(DataError, match="that of one scene; these points are of 'cones', 'teddy'"):
        feasibility_boundary([*points, Point(0, 0, scene="teddy")])


def test_worst_and_best_case():
    cones = [Point(0, 0.5), Point(0.5, 0.125)]
    teddy = [Point(0.125, 0.25), Point(0.5, 0.0625)]
    assert [p.rates for p in best_case([cones, teddy])] == [(0, 0.5), (0.125, 0.25), (0.5, 0.0625)]
    # Better than no other: (0.125, 0.25) is better than none of the first, but (0.5, 0.0625) than (0.5, 0.125).
    assert [p.rates for p in worst_case([cones, teddy])] == [(0, 0.5), (0.125, 0.25), (0.5, 0.125)]
    assert outer_curve(worst_case([cones, teddy]))(0.25) == 0.125


def test_means():
    points = [
        Point(0.5, 0.25, "gc", {"lambda": 30, "k": 1}, "cones", Path("a.pfm")),
        Point(0.25, 0.75, "gc", {"k": 1, "lambda": 30}, "teddy"),
        Point(1, 0, "gc", {"lambda": 60}, "cones"),
        Point(0, 1, "gc", {"lambda": 60}, "teddy"),
    ]
    found = mean_points(points)
    assert [p.rates for p in found] == [(0.375, 0.5), (0.5, 0.5)]
    assert (found[0].scene, found[0].map, found[0].parameters["lambda"]) == ("", None, 30)
    assert mean_points([]) == []
    # Three shares of a third sum to more than one.
    everywhere = [Point(1, 1, scene=str(i)) for i in range(7)]
    assert mean_points(everywhere)[0].rates == pytest.approx((1, 1))


def test_incomplete_means_are_refused():
    points = [
        Point(0.5, 0.25, "gc", {"k": 1}, "cones"),
        Point(0, 1, "gc", {"k": 1}, "teddy"),
        Point(0, 0, "gc", {"k": 2}, "teddy"),
    ]
    with pytest.raises(
        DataError, match=r'^gc \{"k": 2\}: not measured on cones; a mean needs every scene'
    ):
        mean_points(points)
    [kept] = mean_points(points, drop_incomplete=True)
    assert kept.parameters == {"k": 1}
    with pytest.raises(DataError, match="measured twice on 'cones'"):
        mean_points([*points, points[0]])
