"""Simulated annealing: pixels change their labels at random, ever more reluctantly uphill."""

from __future__ import annotations

import functools
import itertools
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import CostVolume, Energy, Labeling, Smoothness
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.exponential import exponential
from stereo_framework.kernels.progress import counted
from stereo_framework.kernels.random_numbers import random_number
from stereo_framework.kernels.threads import over_rows
from stereo_framework.optimization._smoothness import (
    differences_of,
    edge_weights,
    no_smoothness,
    required_smoothness,
)
from stereo_framework.optimization._visiting import fixed_rounds, random_rounds
from stereo_framework.optimization.winner_take_all import winner_take_all
from stereo_framework.stages import NonNegativeInt, Positive, PositiveInt, Unit, stage

Floats = NDArray[np.float32]
Words = NDArray[np.int64]

BATCH = 128
"""Most pixels whose labels are drawn together."""


@stage(
    "optimization",
    source="Scharstein & Szeliski 2002, section 4.3; Geman & Geman 1984",
    check_parameters=no_smoothness,
)
def simulated_annealing(
    volume: CostVolume,
    smoothness: Smoothness | None = None,
    *,
    sampler: Literal["metropolis", "flip_gibbs", "full_gibbs"] = "full_gibbs",
    start_temperature: Annotated[Positive, Unit("units of the cost")] = 10.0,
    end_temperature: Annotated[Positive, Unit("units of the cost")] = 0.01,
    schedule: Literal["linear", "logarithmic"] = "linear",
    iterations: PositiveInt = 100,
    order: Literal["random", "raster", "checkerboard"] = "random",
    seed: NonNegativeInt = 0,
) -> Labeling:
    """Levels drawn at random in proportion to exp(-energy / temperature), from the winners on, while the temperature falls.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    smoothness : Smoothness
        What it costs that neighbours differ.
    sampler : {"metropolis", "flip_gibbs", "full_gibbs"}
        Algorithm by which a visited pixel gets its label while its neighbours are fixed.
        full_gibbs draws from all levels. The other two compare the present level with
        another level, which is drawn at random: flip_gibbs draws one of the two levels, and
        metropolis takes the new level if it is not worse, and else with the probability
        exp(-difference / temperature).
    start_temperature, end_temperature : float
        Temperature of the first and of the last sweep, in units of the cost. A single
        sweep uses the first.
    schedule : {"linear", "logarithmic"}
        How the temperature goes from one to the other: linear in the sweep k = 1, 2, ...; or start / (1 + c ln k), c such that
        the last sweep has `end_temperature`.
    iterations : int
        In each every pixel is visited once.
    order : {"random", "raster", "checkerboard"}
        Order in which pixels are visited. random draws a new order for each sweep. raster
        goes row by row. checkerboard, which is the fastest, first visits all pixels whose
        row and column add up to an even number, and then all other pixels.
    seed : int
        Of all random numbers; the same seed gives the same labels on any number of threads and any platform.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), all assigned, those of the last sweep; `trace` has the seconds and the energy after each sweep.

    Raises
    ------
    ParameterError
        There is no smoothness term, or one with negative weights or penalties.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.3, with the original test bed's start and linear schedule; it draws from C's rand(), so only
    distributions compare. Its logarithmic schedule is announced but missing; the one here is Geman & Geman's (1984) 1 / ln k law
    fitted to both ends.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange, Smoothness
    >>> volume = CostVolume(np.array([[[0, 9], [5, 4], [0, 9]]], np.float32), SearchRange(0, 1), 255.0)
    >>> flat = np.zeros((1, 3), np.float32)
    >>> changes = Smoothness(np.array([[2, 2, 0]], np.float32), flat, np.array([0, 1], np.float32))
    >>> simulated_annealing(volume, changes).levels.tolist()
    [[0, 0, 0]]
    """
    energy = Energy(volume, smoothness)
    temperatures = _temperatures(start_temperature, end_temperature, schedule, iterations)
    smoothness = required_smoothness(smoothness, "simulated_annealing")
    start = working_time()
    rows, columns, levels = volume.costs.shape
    pixels = rows * columns
    costs = np.ascontiguousarray(volume.costs).reshape(pixels, levels)
    weights = edge_weights(smoothness).reshape(pixels, 4)
    differences = differences_of(smoothness.rho)
    # One more row above and below gives every pixel four neighbours; those that it does not have weigh 0.
    padded = np.zeros((rows + 2, columns), np.int16)
    padded[1:-1] = winner_take_all(volume).levels
    gains = np.zeros(pixels)
    field = _Field(columns, padded.reshape(-1), costs, weights, differences)
    # Raw numbers are the only ones that numpy promises never to change; a sweep takes four of 32 bits.
    keys = (np.random.PCG64(seed).random_raw((iterations, 4)) >> 32).astype(np.int64)

    visit = (
        _draw_labels
        if sampler == "full_gibbs"
        else functools.partial(_try_labels, sampler == "flip_gibbs")
    )

    def visit_part(
        sequence: NDArray[np.int32], first: int, inverse: np.float32, key: Words, a: int, b: int
    ) -> None:
        visit(sequence, np.array([first + a, first + b]), field, inverse, key, gains)

    if order != "random":
        sequence, bounds = fixed_rounds(order, rows, columns)
    now = energy.of(padded[1:-1])
    trace = []
    for temperature, key, _ in zip(temperatures, keys, counted(iterations, "sweep"), strict=True):
        # Finite, so that a difference of 0 stays 0.
        inverse = np.float32(min(1 / temperature, 1e30))
        if order == "random":
            sequence, bounds = random_rounds(rows, columns, key[3], key[2])
        if order == "raster":
            # Rounds too small for threads.
            visit(sequence, bounds, field, inverse, key, gains)
        else:
            for first, stop in itertools.pairwise(bounds.tolist()):
                part = functools.partial(visit_part, sequence, first, inverse, key)
                over_rows(part, stop - first, 4 * (stop - first) * levels)
        now += float(gains.sum())
        trace.append((working_time() - start, now))
    labels = padded[1:-1].copy()
    return Labeling(labels, volume.chosen(labels), trace=tuple(trace))


def _temperatures(start: float, end: float, schedule: str, sweeps: int) -> NDArray[np.float64]:
    """Temperature of each sweep."""
    if sweeps == 1:
        return np.array([start])
    if schedule == "linear":
        return np.linspace(start, end, sweeps)
    return start / (1 + (start / end - 1) * np.log(np.arange(1, sweeps + 1)) / np.log(sweeps))


# --- kernels. Pixels are numbered row by row; in `labels` they stand one row further down, `columns` places on. A random number depends
# on nothing but the sweep and the pixel.


class _Field(NamedTuple):
    """Pixels with their labels, costs (pixels, levels), weights of edges (pixels, 4), and rho as `differences_of` puts it."""

    columns: int
    labels: NDArray[np.int16]
    costs: Floats
    weights: Floats
    differences: Floats


@kernel
def _draw_labels(
    order: NDArray[np.int32],
    bounds: Words,
    field: _Field,
    inverse: float,
    key: Words,
    gains: NDArray[np.float64],
) -> float:
    """Visit the pixels of the rounds and draw a label out of all for each; the result means nothing."""
    columns, labels, costs, weights, _ = field
    levels, read = costs.shape[1], 0.0
    local, chances = np.empty((BATCH, levels), np.float32), np.empty((levels, BATCH), np.float32)
    least, total, wanted = (
        np.empty(BATCH, np.float32),
        np.empty(BATCH, np.float32),
        np.empty(BATCH, np.float32),
    )
    chosen = np.empty(BATCH, np.int32)
    for j in range(bounds.shape[0] - 1):
        for done in range(bounds[j], bounds[j + 1], BATCH):
            pixels = order[done : min(done + BATCH, bounds[j + 1])]
            # Returned, lest the compiler leave it out.
            read += _read_ahead(pixels, costs, weights)
            _local_energies(pixels, field, local)
            count = pixels.shape[0]
            for n in range(count):
                # Of 24 bits, so that the product stays below the total.
                wanted[n] = (random_number(int(pixels[n]), key[0], key[1]) >> 8) * (1 / 16777216)
            _choose(local, chances, least, total, wanted, count, inverse, chosen)
            for n in range(count):
                i = pixels[n] + columns
                gains[done + n] = np.float64(local[n, chosen[n]]) - np.float64(local[n, labels[i]])
                labels[i] = chosen[n]
    return read


@kernel
def _read_ahead(pixels: NDArray[np.int32], costs: Floats, weights: Floats) -> float:
    """Read a little at each pixel, so that memory delivers what all of them need at once and not when each is visited."""
    read, last = 0.0, np.uint64(costs.shape[1] - 1)
    for n in range(pixels.shape[0]):
        p = np.uint64(pixels[n])
        read += costs[p, np.uint64(0)] + costs[p, last] + weights[p, np.uint64(0)]
    return read


@kernel
def _choose(
    local: Floats,
    chances: Floats,
    least: Floats,
    total: Floats,
    wanted: Floats,
    count: int,
    inverse: float,
    chosen: NDArray[np.int32],
) -> None:
    """Levels drawn by random numbers `wanted` in 0..1; here the pixels stand fastest, so that each step is one for many of them."""
    levels = chances.shape[0]
    for n in range(count):
        for k in range(levels):
            chances[np.uint64(k), np.uint64(n)] = local[np.uint64(n), np.uint64(k)]
    least[:count], total[:count], chosen[:count] = np.inf, 0, 0
    for k in range(levels):
        chance = chances[k]
        for n in range(count):
            least[n] = chance[n] if chance[n] < least[n] else least[n]
    for k in range(levels):
        chance = chances[k]
        for n in range(count):
            total[n] += exponential((least[n] - chance[n]) * inverse)
            chance[n] = total[n]
    for n in range(count):
        wanted[n] *= total[n]
    for k in range(levels):
        chance = chances[k]
        for n in range(count):
            chosen[n] += chance[n] <= wanted[n]


@kernel
def _local_energies(pixels: NDArray[np.int32], field: _Field, local: Floats) -> None:
    """What each level costs at each of the pixels: its data cost and four edges."""
    columns, labels, costs, weights, differences = field
    levels = costs.shape[1]
    for n in range(pixels.shape[0]):
        m, p, i = np.uint64(n), np.uint64(pixels[n]), pixels[n] + columns
        w0, w1, w2, w3 = weights[p, 0], weights[p, 1], weights[p, 2], weights[p, 3]
        right, left = np.uint64(levels - 1 - labels[i + 1]), np.uint64(levels - 1 - labels[i - 1])
        down, up = (
            np.uint64(levels - 1 - labels[i + columns]),
            np.uint64(levels - 1 - labels[i - columns]),
        )
        for level in range(levels):
            k = np.uint64(level)
            beside = w0 * differences[right + k] + w1 * differences[left + k]
            local[m, k] = (
                costs[p, k] + beside + w2 * differences[down + k] + w3 * differences[up + k]
            )


@kernel
def _try_labels(
    gibbs: bool,
    order: NDArray[np.int32],
    bounds: Words,
    field: _Field,
    inverse: float,
    key: Words,
    gains: NDArray[np.float64],
) -> None:
    """Visit the pixels of the rounds and offer each one other label."""
    columns, labels, costs, weights, differences = field
    levels = costs.shape[1]
    for n in range(bounds[0], bounds[-1]):
        p = int(order[n])
        i = p + columns
        old = int(labels[i])
        random = random_number(p, key[0], key[1])
        new = (random * (levels - 1)) >> 32
        new += new >= old
        gain = np.float64(costs[p, new]) - np.float64(costs[p, old])
        for d in range(4):
            other = levels - 1 - labels[i + (1, -1, columns, -columns)[d]]
            gain += np.float64(weights[p, d]) * (
                np.float64(differences[other + new]) - np.float64(differences[other + old])
            )
        odds = exponential(-np.float32(abs(gain)) * inverse)
        if gibbs:
            # Of the two the worse has probability odds / (1 + odds).
            odds = (
                odds / (np.float32(1) + odds)
                if gain >= 0
                else np.float32(1) / (np.float32(1) + odds)
            )
        elif gain <= 0:
            odds = np.float32(1)
        if np.float64(random_number(random, key[2], key[3])) < np.float64(odds) * 4294967296.0:
            labels[i] = new
            gains[n] = gain
        else:
            gains[n] = 0
