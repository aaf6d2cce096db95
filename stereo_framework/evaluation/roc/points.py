"""Points in the plane of sparsity rate and error rate, each of which is what one setting of a method reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
                raise DataError(f"{whose}: {name} {getattr(self, name)!r} is not a number from 0 to 1")

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
