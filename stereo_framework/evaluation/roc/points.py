"""Points in the plane of sparsity rate and error rate, each of which is what one setting of a method reaches, and what several points make together.

That is the feasibility boundary of several methods on one scene, its best and worst case over all scenes, and the mean points of a method.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stereo_framework.core.errors import DataError


@dataclass(frozen=True, eq=False)
class Point:
    """A measured map, and where it came from.

    Parameters
    ----------
    sparsity_rate, error_rate : float
        0..1, lower is better (`MapErrors`).
    method : str
    parameters : mapping
        The method's setting.
    scene : str
    map : Path, optional
        The disparity map itself.

    Raises
    ------
    DataError
        A rate is not a number from 0 to 1.
    """

    sparsity_rate: float
    error_rate: float
    method: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    scene: str = ""
    map: Path | None = None

    def __post_init__(self) -> None:
        for name in ("sparsity_rate", "error_rate"):
            if not 0 <= getattr(self, name) <= 1:  # false for NaN
                whose = " ".join(filter(None, (self.method, self.scene))) or "point"
                raise DataError(
                    f"{whose}: {name} {getattr(self, name)!r} is not a number from 0 to 1"
                )

    @property
    def rates(self) -> tuple[float, float]:
        """(sparsity rate, error rate)."""
        return self.sparsity_rate, self.error_rate


def minimal_points(points: Iterable[Point]) -> list[Point]:
    """The points that no other point is better than: the ROC set of a method.

    Parameters
    ----------
    points : iterable of Point

    Returns
    -------
    list of Point
        In the order of rising sparsity rates, and so of falling error rates. Settings with the same rates are all kept, in their order.

    Notes
    -----
    A point is better than another one if neither of its rates is worse and the two differ (Kostliva, Cech & Sara 2007, section 2.2).

    Examples
    --------
    >>> [p.rates for p in minimal_points([Point(0.5, 0.1), Point(0, 0.3), Point(0.5, 0.2), Point(0.6, 0.1)])]
    [(0, 0.3), (0.5, 0.1)]
    """
    found: list[Point] = []
    for point in sorted(points, key=lambda p: p.rates):
        if not found or point.error_rate < found[-1].error_rate or point.rates == found[-1].rates:
            found.append(point)
    return found


def maximal_points(points: Sequence[Point]) -> list[Point]:
    """The points that are better than no other point, in the order of rising sparsity rates."""
    found: list[Point] = []
    for point in sorted(points, key=lambda p: p.rates, reverse=True):
        if not found or point.error_rate > found[-1].error_rate or point.rates == found[-1].rates:
            found.append(point)
    # Reversing would turn points of the same rates around.
    return sorted(found, key=lambda p: p.rates)


def feasibility_boundary(points: Iterable[Point]) -> list[Point]:
    """What all methods together reach on a scene (SFB): the points, of any method, that no other point is better than.

    Parameters
    ----------
    points : iterable of Point
        Points of one scene. Every point keeps its method, parameters and map.

    Returns
    -------
    list of Point
        In the order of rising sparsity rates; `roc_curve` gives the curve through them.

    Raises
    ------
    DataError
        Points of several scenes.

    Notes
    -----
    Kostliva, Cech & Sara 2007, equation 12. The empty result, SR = 1 and ER = 0, may belong to it, as the point of CSM does in the paper.
    """
    given = list(points)
    scenes = sorted({p.scene for p in given})
    if len(scenes) > 1:
        raise DataError(
            f"a feasibility boundary is that of one scene; these points are of {', '.join(map(repr, scenes))}"
        )
    return minimal_points(given)


def best_case(boundaries: Iterable[Sequence[Point]]) -> list[Point]:
    """The best case B over the boundaries of all scenes: the points that no other point is better than (equation 14).

    `roc_curve` gives its curve.
    """
    return minimal_points([p for boundary in boundaries for p in boundary])


def worst_case(boundaries: Iterable[Sequence[Point]]) -> list[Point]:
    """The worst case W over the boundaries of all scenes: the points that are better than no other point (equation 13).

    `outer_curve` gives its curve.
    """
    return maximal_points([p for boundary in boundaries for p in boundary])


def mean_points(points: Iterable[Point], *, drop_incomplete: bool = False) -> list[Point]:
    """Average the rates of every setting over the scenes.

    Parameters
    ----------
    points : iterable of Point
        Points of several scenes; those of the same method and parameters belong to one setting.
    drop_incomplete : bool
        Leave settings that were not measured on every scene out, instead of refusing them.

    Returns
    -------
    list of Point
        One point for each setting, in the order of appearance, without scene and map. `roc_curve` of a method's points gives its mean ROC curve.

    Raises
    ------
    DataError
        A setting lacks a scene or has two points on the same scene.

    Notes
    -----
    Kostliva, Cech & Sara 2007, equations 15 and 16, where all scenes weigh the same. Averages over different scenes cannot be compared, so a setting is never averaged over
    fewer scenes than the others.
    """
    settings: dict[tuple[str, str], dict[str, Point]] = {}
    for point in points:
        key = (point.method, json.dumps(dict(point.parameters), sort_keys=True, default=str))
        measured = settings.setdefault(key, {})
        if point.scene in measured:
            raise DataError(
                f"{point.method} {key[1]}: measured twice on {point.scene!r}; a setting has one point a scene"
            )
        measured[point.scene] = point
    scenes = list(dict.fromkeys(scene for measured in settings.values() for scene in measured))
    found = []
    for (method, parameters), measured in settings.items():
        missing = [scene for scene in scenes if scene not in measured]
        if missing and drop_incomplete:
            continue
        if missing:
            raise DataError(
                f"{method} {parameters}: not measured on {', '.join(missing)}; a mean needs every scene for every setting"
            )
        share, rates = (
            1 / len(scenes),
            zip(*(point.rates for point in measured.values()), strict=True),
        )
        # Sums of shares may exceed 1 by rounding.
        sparsity, error = (min(sum(share * rate for rate in own), 1.0) for own in rates)
        first = next(iter(measured.values()))
        found.append(replace(first, sparsity_rate=sparsity, error_rate=error, scene="", map=None))
    return found
