"""Kernels of belief propagation: messages between neighbouring pixels.

Arrays of costs and messages are float32 (pixels, levels), pixels row by row. A message to a pixel says per level what it costs its neighbour
and all behind it at least; its lowest value is 0. Messages are told apart by the neighbour that they come from.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import read_only
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.optimization._smoothness import reach_of
from stereo_framework.optimization._winners import lowest_of

Values = NDArray[np.float32]
Two = tuple[Values, Values]
Loops = tuple[tuple[int, int], tuple[int, int]]
Messages = tuple[Values, Values, Values, Values]
"""Those that come from the left, right, upper and lower neighbour."""


class Prior(NamedTuple):
    """Penalties of level differences, and what shortens the search for the best one.

    Parameters
    ----------
    rho : ndarray, float32, (levels,)
    highest : float
        Largest penalty, float32.
    reach : int
        Differences from here on have the largest penalty.
    linear : bool
        Below that penalties are in proportion to the difference.
    """

    rho: Values
    highest: float
    reach: int
    linear: bool


def prior_of(rho: Values) -> Prior:
    """Find out about a table of penalties; penalties are in proportion up to rounding, as steps of 1/3 pixel need it."""
    highest, reach = rho.max(), reach_of(rho)
    in_proportion = np.allclose(rho[:reach], rho[1] * np.arange(reach), rtol=1e-6, atol=0)
    return Prior(
        read_only(rho),
        highest,
        reach,
        bool(in_proportion and highest <= reach * rho[1] * (1 + 1e-6)),
    )


class Passing(NamedTuple):
    """An image whose pixels send each other messages.

    Parameters
    ----------
    rows, columns : int
    costs : ndarray, float32, (pixels, levels)
    messages : tuple of ndarray, float32, (pixels, levels)
    weights : pair of ndarray, float32, (pixels,)
        Of the edges to the right and to the lower neighbour.
    prior : Prior
    damping : float
        float32.
    """

    rows: int
    columns: int
    costs: Values
    messages: Messages
    weights: Two
    prior: Prior
    damping: np.float32


def accelerated(passing: Passing) -> None:
    """Messages across the image: to the right, to the left, down and up."""
    for source in range(4):
        _send_all(
            passing,
            source,
            passing.messages[2:] if source < 2 else passing.messages[:2],
            across=True,
        )


def synchronous(passing: Passing) -> None:
    """All messages at once."""
    before = passing.messages[0].copy(), passing.messages[1].copy()
    for source in range(4):
        _send_all(passing, source, passing.messages[2:] if source < 2 else before, across=False)


def _send_all(passing: Passing, source: int, beside: Two, across: bool) -> None:
    """All messages that come from the neighbours of one side, the left, right, upper or lower one, on the grounds of those `beside`.

    `across`: whoever receives a message sends afterwards; otherwise whoever sends one has not received any yet. Rows do not depend on each other, nor
    do columns.
    """
    rows, columns, costs, messages, weights, prior, damping = passing
    along_rows, forwards = source < 2, source % 2 == 0
    lines, length, apart, step = (
        (rows, columns, columns, 1) if along_rows else (columns, rows, 1, columns)
    )
    onwards = step if forwards == across else -step
    # At one end of each line there is a pixel that does not send.
    begin = (0 if forwards else step) + (0 if onwards > 0 else step * (length - 2))

    def run(start: int, stop: int) -> None:
        loops = (stop - start, apart), (length - 1, onwards)
        nested = loops if along_rows else loops[::-1]
        target = step if forwards else -step
        edges = weights[0 if along_rows else 1]
        _sweep(
            start * apart + begin,
            nested,
            target,
            costs,
            messages[source],
            beside,
            edges,
            prior,
            damping,
        )

    over_rows(run, lines, costs.size * (1 if prior.linear else prior.reach))


@kernel
def send(
    of_level: Values, spare: Values, weight: float, prior: Prior, damping: float, message: Values
) -> np.float32:
    """Replace a message by the one from a pixel that has to bear `of_level`; `damping` of the old one stays.

    `of_level` and `spare`, of its size, are used up. Returns the lowest value of a message, which is taken off.
    """
    levels = of_level.shape[0]
    lowest, cap = lowest_of(of_level), weight * prior.highest
    for k in range(levels):
        of_level[k] -= lowest
    if prior.reach > 1 and prior.linear:
        # The lower envelope of cones (Felzenszwalb & Huttenlocher 2006, section 3.3).
        step = weight * prior.rho[1]
        best = of_level[0]
        for k in range(1, levels):
            best = min(best + step, of_level[k])
            of_level[k] = best
        for k in range(levels - 2, -1, -1):
            best = min(best + step, of_level[k])
            of_level[k] = best
    elif prior.reach > 1:
        for k in range(levels):
            spare[k] = of_level[k]
        for n in range(1, prior.reach):
            penalty = weight * prior.rho[n]
            for k in range(levels - n):
                there, here = spare[k + n] + penalty, spare[k] + penalty
                of_level[k] = there if there < of_level[k] else of_level[k]
                of_level[k + n] = here if here < of_level[k + n] else of_level[k + n]
    if damping > 0:
        for k in range(levels):
            new = of_level[k] if of_level[k] < cap else cap
            message[k] = new + damping * (message[k] - new)
    else:
        for k in range(levels):
            message[k] = of_level[k] if of_level[k] < cap else cap
    return lowest


@kernel
def _sweep(
    first: int,
    loops: Loops,
    step: int,
    costs: Values,
    behind: Values,
    beside: Two,
    weights: Values,
    prior: Prior,
    damping: float,
) -> None:
    """Pass messages on in one direction, from pixel to pixel.

    Parameters
    ----------
    first : int
        The pixel that sends first.
    loops : pair of (int, int)
        How many pixels send, and how far apart they are, in an outer and an inner loop; whoever receives sends later.
    step : int
        From a pixel to the one that it sends to.
    costs : ndarray, float32, (pixels, levels)
    behind : ndarray, float32, (pixels, levels)
        The messages that are passed on.
    beside : pair of ndarray, float32, (pixels, levels)
        Those across the direction.
    weights : ndarray, float32, (pixels,)
        Of the edges to the right or to the lower neighbour.
    prior : Prior
    damping : float
        float32.
    """
    levels, (outer, inner) = costs.shape[1], loops
    one, other = beside
    total, spare = np.empty(levels, np.float32), np.empty(levels, np.float32)
    for i in range(outer[0]):
        for j in range(inner[0]):
            pixel = first + i * outer[1] + j * inner[1]
            p = np.uint64(pixel)
            for k in range(levels):
                total[k] = costs[p, k] + behind[p, k] + (one[p, k] + other[p, k])
            send(
                total,
                spare,
                weights[np.uint64(min(pixel, pixel + step))],
                prior,
                damping,
                behind[np.uint64(pixel + step)],
            )


@kernel
def decide(
    start: int, stop: int, costs: Values, messages: Messages, labels: NDArray[np.int16]
) -> None:
    """The level that every pixel believes in, the lowest of equals, from the costs and all its messages."""
    levels = costs.shape[1]
    left, right, above, below = messages
    for pixel in range(start, stop):
        p = np.uint64(pixel)
        best, level = np.float32(np.inf), 0
        for k in range(levels):
            belief = costs[p, k] + (left[p, k] + right[p, k]) + (above[p, k] + below[p, k])
            if belief < best:
                best, level = belief, k
        labels[p] = level
