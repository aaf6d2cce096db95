"""Curves over the sparsity rate: the error rates that a method reaches, its efficiency, and how two methods compare.

A curve gives the error rate for every sparsity rate from 0 to 1. It consists of constant pieces and pieces of slope -1, so everything is
computed from its breakpoints, without sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.roc.points import Point, maximal_points, minimal_points

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Error rate as a piecewise linear function of the sparsity rate, with jumps.

    Parameters
    ----------
    x : ndarray, float64, (pieces + 1,)
        Breakpoints, ascending from 0 to 1.
    start, end : ndarray, float64, (pieces,)
        Error rates at the beginning and at the end of every piece.
    at : ndarray, float64, (pieces + 1,)
        Error rates at the breakpoints themselves.
    """

    x: Floats
    start: Floats
    end: Floats
    at: Floats

    def __call__(self, sparsity_rate: ArrayLike) -> Floats:
        """The error rate at sparsity rates from 0 to 1, float64 of their shape."""
        where = np.asarray(sparsity_rate, np.float64)
        if not np.all((where >= 0) & (where <= 1)):
            raise DataError(f"sparsity rate {sparsity_rate!r}: expected numbers from 0 to 1")
        k = np.clip(np.searchsorted(self.x, where, side="right") - 1, 0, len(self.start) - 1)
        part = (where - self.x[k]) / (self.x[k + 1] - self.x[k])
        inner = self.start[k] + part * (self.end[k] - self.start[k])
        return np.where(
            where == self.x[k], self.at[k], np.where(where == self.x[k + 1], self.at[k + 1], inner)
        )

    def _refined(self, x: Floats) -> Curve:
        """The same curve with more breakpoints."""
        k = np.clip(np.searchsorted(self.x, x[:-1], side="right") - 1, 0, len(self.start) - 1)
        left, width, slope = self.x[k], self.x[k + 1] - self.x[k], self.end[k] - self.start[k]
        start, end = (self.start[k] + (at - left) / width * slope for at in (x[:-1], x[1:]))
        return Curve(x, start, end, self(x))


def roc_curve(points: Sequence[Point]) -> Curve:
    """The ROC curve A of a method: the lowest error rate that it reaches at a given sparsity rate or below.

    Parameters
    ----------
    points : sequence of Point
        Any settings of the method; a point that another one is better than changes nothing. Without points it is the curve of the empty result.

    Returns
    -------
    Curve
        ``A(x) = min(1 - x, min{ER(u): SR(u) <= x})``

    Notes
    -----
    Kostliva, Cech & Sara 2007, section 2.2, footnote 2: the points are united with those of the zero-algorithm, all of whose matches
    are wrong, however many it returns.

    Examples
    --------
    >>> roc_curve([Point(0.25, 0.125)])([0, 0.25, 0.5, 0.9375]).tolist()
    [1.0, 0.125, 0.125, 0.0625]
    """
    rates = np.array([p.rates for p in minimal_points(points)]).reshape(-1, 2)
    sparsity, error = rates.T
    x = _breakpoints(sparsity, 1 - error)
    reached = np.append(np.inf, error)[np.searchsorted(sparsity, x, side="right")]
    return Curve(
        x,
        np.minimum(1 - x[:-1], reached[:-1]),
        np.minimum(1 - x[1:], reached[:-1]),
        np.minimum(1 - x, reached),
    )


def outer_curve(points: Sequence[Point]) -> Curve:
    """The staircase on the outer side of points: the highest error rate among the points with at least a given sparsity rate.

    Parameters
    ----------
    points : sequence of Point

    Returns
    -------
    Curve
        ``W(x) = max{ER(u): SR(u) >= x}``, 0 beyond the last point.

    Notes
    -----
    This is our reading of the curve of the worst case (Kostliva, Cech & Sara 2007, equation 13), which the paper does not spell out.

    Examples
    --------
    >>> outer_curve([Point(0.25, 0.5), Point(0.5, 0.125)])([0, 0.25, 0.5, 0.75]).tolist()
    [0.5, 0.5, 0.125, 0.0]
    """
    rates = np.array([p.rates for p in maximal_points(points)]).reshape(-1, 2)
    sparsity, error = rates.T
    x = _breakpoints(sparsity, 1 - error)
    reached = np.append(error, 0.0)[np.searchsorted(sparsity, x, side="left")]
    return Curve(x, reached[1:], reached[1:], reached)


def _breakpoints(*places: Floats) -> Floats:
    return np.unique(np.clip(np.concatenate([[0.0, 1.0], *places]), 0, 1))


def efficiency(curve: Curve) -> float:
    """The share that a curve gains of all that can be gained over the zero-algorithm: E(A), 0..1, higher is better.

    Returns
    -------
    float
        ``2 * integral of (1 - x - A(x))``: 1 for the ideal result, 0 for the zero-algorithm. Only curves of `roc_curve` stay within 0..1.

    Notes
    -----
    Kostliva, Cech & Sara 2007, section 2.3. What they call the expected efficiency is that of the mean ROC curve, not the mean of efficiencies.

    Examples
    --------
    >>> efficiency(roc_curve([Point(0.25, 0.25)]))  # (1 - SR - ER)^2 for one point
    0.25
    """
    width, middle = np.diff(curve.x), (curve.x[:-1] + curve.x[1:]) / 2
    return 2 * float(np.sum(width * (1 - middle - (curve.start + curve.end) / 2)))


def improvement(curve: Curve, other: Curve) -> float:
    """How much better a curve is than another one, where it is better: I(A|B), 0..1, higher is better for `curve`.

    Parameters
    ----------
    curve, other : Curve
        A and B.

    Returns
    -------
    float
        ``2 * integral of B - A`` over the sparsity rates at which A is lower. ``E(A) - E(B) = I(A|B) - I(B|A)``.

    Notes
    -----
    Kostliva, Cech & Sara 2007, section 2.3.
    """
    x = np.unique(np.concatenate([curve.x, other.x]))
    a, b = curve._refined(x), other._refined(x)
    gain = ((b.start - a.start) + (b.end - a.end)) / 2
    return 2 * float(np.sum(np.diff(x) * np.maximum(gain, 0)))
