"""Simulated annealing: pixels change their labels at random, ever more reluctantly uphill."""

from __future__ import annotations

import functools
import time
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from stereo_framework._bits import ordered
from stereo_framework._parallel import over_rows
from stereo_framework.errors import ParameterError
from stereo_framework.optimization._smoothness import check_choice, check_seed, edge_weights, required_smoothness
from stereo_framework.optimization.winner_take_all import winner_take_all
from stereo_framework.stage import NonNegativeInt, Positive, PositiveInt, stage
from stereo_framework.volume import Energy, Labeling

RULES = ("metropolis", "flip_gibbs", "full_gibbs")
SCHEDULES = ("linear", "logarithmic")
VISITING = ("random", "raster", "checkerboard")
BATCH = 64
"""Most pixels whose labels are drawn together."""


@stage("optimization", source="Scharstein & Szeliski 2002, section 4.3; Geman & Geman 1984")
def simulated_annealing(
    energy: Energy,
    *,
    rule: Literal["metropolis", "flip_gibbs", "full_gibbs"] = "full_gibbs",
    start_temperature: Positive = 10.0,
    end_temperature: Positive = 0.01,
    schedule: Literal["linear", "logarithmic"] = "linear",
    sweeps: PositiveInt = 100,
    visiting: Literal["random", "raster", "checkerboard"] = "random",
    seed: NonNegativeInt = 0,
) -> Labeling:
    """Labels drawn at random in proportion to exp(-energy / temperature), from the winners on, while the temperature falls.

    Parameters
    ----------
    energy : Energy
        Costs float32 (rows, columns, levels) and a smoothness term.
    rule : {"metropolis", "flip_gibbs", "full_gibbs"}
        How a visited pixel gets its label, its neighbours held fixed. full_gibbs: drawn from all levels. The others compare the present
        level with one other, all equally likely; flip_gibbs draws one of the two, metropolis takes the other if it is not
        worse and else with probability exp(-difference / temperature).
    start_temperature, end_temperature : float
        Temperature of the first and of the last sweep, in units of the cost; a single sweep uses the first.
    schedule : {"linear", "logarithmic"}
        How the temperature goes from one to the other: linear in the sweep k = 1, 2, ...; or start / (1 + c ln k), c such that
        the last sweep has `end_temperature`.
    sweeps : int
        In each every pixel is visited once.
    visiting : {"random", "raster", "checkerboard"}
        Order of the visits: drawn anew for each sweep; row by row; or first all pixels whose row and column sum to an even number, then
        the others. Pixels of one colour of the checkerboard do not depend on each other and run in threads: the fastest.
    seed : int
        Of all random numbers; the same seed gives the same labels on any number of threads and any platform.

    Returns
    -------
    Labeling
        Labels int16 (rows, columns), all assigned, those of the last sweep; `trace` has the seconds and the energy after each sweep.

    Raises
    ------
    ParameterError
        `energy` has no smoothness term, or one with negative weights or penalties.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.3, with the original test bed's start and linear schedule; it draws from C's rand(), so only
    distributions compare. Its logarithmic schedule is announced but missing; the one here is Geman & Geman's (1984) 1 / ln k law
    fitted to both ends.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, Search, Smoothness
    >>> volume = CostVolume(np.array([[[0, 9], [5, 4], [0, 9]]], np.float32), Search(0, 1), 255.0)
    >>> flat = np.zeros((1, 3), np.float32)
    >>> changes = Smoothness(np.array([[2, 2, 0]], np.float32), flat, np.array([0, 1], np.float32))
    >>> simulated_annealing(Energy(volume, changes)).labels.tolist()
    [[0, 0, 0]]
    """
    check_choice("simulated_annealing.rule", rule, RULES)
    check_choice("simulated_annealing.schedule", schedule, SCHEDULES)
    check_choice("simulated_annealing.visiting", visiting, VISITING)
    check_seed("simulated_annealing", seed)
    for name, value in (("start_temperature", start_temperature), ("end_temperature", end_temperature)):
        if not value > 0:
            raise ParameterError(f"simulated_annealing.{name}: {value!r} is not a number > 0")
    temperatures = _temperatures(start_temperature, end_temperature, schedule, sweeps)
    smoothness = required_smoothness(energy, "simulated_annealing")
    start = time.perf_counter()
    rows, columns, levels = energy.volume.costs.shape
    pixels = rows * columns
    costs = np.ascontiguousarray(energy.volume.costs).reshape(pixels, levels)
    weights = edge_weights(smoothness).reshape(pixels, 4)
    # rho(k - l) for all levels k stands at levels - 1 - l and after.
    differences = np.concatenate([smoothness.rho[:0:-1], smoothness.rho])
    # One more row above and below gives every pixel four neighbours; those that it does not have weigh 0.
    padded = np.zeros((rows + 2, columns), np.int16)
    padded[1:-1] = winner_take_all(energy).labels
    order, even = np.arange(pixels, dtype=np.int32), pixels
    if visiting == "checkerboard":
        odd = np.add.outer(np.arange(rows), np.arange(columns)).reshape(-1) % 2
        order, even = np.argsort(odd, kind="stable").astype(np.int32), int(np.count_nonzero(odd == 0))
    gains, batch = np.zeros(pixels), np.full(padded.size, -1, np.int32)
    arrays = padded.reshape(-1), costs, weights, differences
    # Raw numbers are the only ones that numpy promises never to change; a sweep takes four of 32 bits.
    keys = (np.random.PCG64(seed).random_raw((sweeps, 4)) >> 32).astype(np.int64)

    def visit(first: int, inverse: np.float32, key: NDArray[np.int64], a: int, b: int) -> None:
        if rule == "full_gibbs":
            _draw_labels(
                order[first + a : first + b], first + a, columns, *arrays, inverse, key, batch, gains[first + a : first + b]
            )
        else:
            _try_labels(
                order[first + a : first + b], columns, *arrays, inverse, key, rule == "flip_gibbs", gains[first + a : first + b]
            )

    now = energy.of(padded[1:-1])
    trace = []
    for temperature, key in zip(temperatures, keys, strict=True):
        # Finite, so that a difference of 0 stays 0.
        inverse = np.float32(min(1 / temperature, 1e30))
        if visiting == "random":
            _shuffle(order, key)
        for first, stop in ((0, even), (even, pixels)):
            part = functools.partial(visit, first, inverse, key)
            if visiting == "checkerboard":
                over_rows(part, stop - first, costs.size // 2)
            else:
                part(0, stop - first)
        now += float(gains.sum())
        trace.append((time.perf_counter() - start, now))
    labels = padded[1:-1].copy()
    chosen = np.take_along_axis(energy.volume.costs, labels[..., None].astype(np.intp), axis=2)[..., 0]
    return Labeling(labels, chosen, trace=tuple(trace))


def _temperatures(start: float, end: float, schedule: str, sweeps: int) -> NDArray[np.float64]:
    """Temperature of each sweep."""
    if sweeps == 1:
        return np.array([start])
    if schedule == "linear":
        return np.linspace(start, end, sweeps)
    return start / (1 + (start / end - 1) * np.log(np.arange(1, sweeps + 1)) / np.log(sweeps))


# --- kernels. Pixels are numbered row by row; in `labels` and `batch` they stand one row further down, `columns` places on. A random
# number depends on nothing but the sweep and the pixel.


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_labels(
    order: NDArray[np.int32],
    start: int,
    columns: int,
    labels: NDArray[np.int16],
    costs: NDArray[np.float32],
    weights: NDArray[np.float32],
    differences: NDArray[np.float32],
    inverse: float,
    key: NDArray[np.int64],
    batch: NDArray[np.int32],
    gains: NDArray[np.float64],
) -> None:
    """Visit the pixels of `order`, the part of the sweep from `start` on, and draw a label out of all for each.

    Successive pixels that are no neighbours of each other are visited together, which changes nothing but the speed: their memory is
    fetched at once and the exponentials form long loops.
    """
    levels = costs.shape[1]
    local, chance = np.empty((BATCH, levels), np.float32), np.empty((BATCH, levels), np.float32)
    flat = chance.reshape(-1)
    done = 0
    while done < order.shape[0]:
        count = _independent(order, done, start, columns, batch)
        _local_energies(order, done, count, columns, labels, costs, weights, differences, local)
        for n in range(count):
            m = np.uint64(n)
            least = np.int32(0x7FFFFFFF)
            for k in range(levels):
                bits = ordered(np.float32(local[m, k]).view(np.int32))
                least = bits if bits < least else least
            lowest = np.int32(ordered(least)).view(np.float32)
            for k in range(levels):
                chance[m, k] = (lowest - local[m, k]) * inverse
        for k in range(count * levels):
            flat[k] = _exponential(flat[k])
        for n in range(count):
            m, p = np.uint64(n), int(order[done + n])
            total = np.float32(0)
            for k in range(levels):
                total += chance[m, k]
                chance[m, k] = total
            # Of 24 bits, so that the product stays below the total.
            wanted = np.float32((_random(p, key[0], key[1]) >> 8) * (1 / 16777216)) * total
            level = np.int32(0)
            for k in range(levels):
                level += np.int32(chance[m, k] <= wanted)
            gains[done + n] = np.float64(local[m, level]) - np.float64(local[m, labels[p + columns]])
            labels[p + columns] = level
        done += count


@njit(cache=True, nogil=True, error_model="numpy")
def _independent(order: NDArray[np.int32], done: int, start: int, columns: int, batch: NDArray[np.int32]) -> int:
    """How many pixels of `order` from `done` on are no neighbours of each other; they are marked with the batch's number."""
    number = start + done
    most = min(BATCH, order.shape[0] - done)
    for n in range(most):
        i = order[done + n] + columns
        for j in (i - 1, i + 1, i - columns, i + columns):
            # The first always counts: an earlier sweep may have left the same number.
            if n > 0 and batch[np.uint64(j)] == number:
                return n
        batch[i] = number
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def _local_energies(
    order: NDArray[np.int32],
    done: int,
    count: int,
    columns: int,
    labels: NDArray[np.int16],
    costs: NDArray[np.float32],
    weights: NDArray[np.float32],
    differences: NDArray[np.float32],
    local: NDArray[np.float32],
) -> None:
    """What each level costs at each of `count` pixels: its data cost and four edges."""
    levels = costs.shape[1]
    for n in range(count):
        m, p, i = np.uint64(n), np.uint64(order[done + n]), order[done + n] + columns
        w0, w1, w2, w3 = weights[p, 0], weights[p, 1], weights[p, 2], weights[p, 3]
        right, left = np.uint64(levels - 1 - labels[i + 1]), np.uint64(levels - 1 - labels[i - 1])
        down, up = np.uint64(levels - 1 - labels[i + columns]), np.uint64(levels - 1 - labels[i - columns])
        for level in range(levels):
            k = np.uint64(level)
            beside = w0 * differences[right + k] + w1 * differences[left + k]
            local[m, k] = costs[p, k] + beside + w2 * differences[down + k] + w3 * differences[up + k]


@njit(cache=True, nogil=True, error_model="numpy")
def _try_labels(
    order: NDArray[np.int32],
    columns: int,
    labels: NDArray[np.int16],
    costs: NDArray[np.float32],
    weights: NDArray[np.float32],
    differences: NDArray[np.float32],
    inverse: float,
    key: NDArray[np.int64],
    gibbs: bool,
    gains: NDArray[np.float64],
) -> None:
    """Visit the pixels of `order` and offer each one other label."""
    levels = costs.shape[1]
    for n in range(order.shape[0]):
        p = int(order[n])
        i = p + columns
        old = int(labels[i])
        random = _random(p, key[0], key[1])
        new = (random * (levels - 1)) >> 32
        new += new >= old
        gain = np.float64(costs[p, new]) - np.float64(costs[p, old])
        for d in range(4):
            other = levels - 1 - labels[i + (1, -1, columns, -columns)[d]]
            gain += np.float64(weights[p, d]) * (np.float64(differences[other + new]) - np.float64(differences[other + old]))
        odds = _exponential(-np.float32(abs(gain)) * inverse)
        if gibbs:
            # Of the two the worse has probability odds / (1 + odds).
            odds = odds / (np.float32(1) + odds) if gain >= 0 else np.float32(1) / (np.float32(1) + odds)
        elif gain <= 0:
            odds = np.float32(1)
        if np.float64(_random(random, key[2], key[3])) < np.float64(odds) * 4294967296.0:
            labels[i] = new
            gains[n] = gain
        else:
            gains[n] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def _shuffle(order: NDArray[np.int32], key: NDArray[np.int64]) -> None:
    """Put the pixels into a random order, by Fisher and Yates."""
    for last in range(order.shape[0] - 1, 0, -1):
        drawn = (_random(last, key[3], key[2]) * (last + 1)) >> 32
        pixel = order[drawn]
        order[drawn] = order[last]
        order[last] = pixel


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _exponential(x: np.float32) -> np.float32:
    """exp(x) for x <= 0 in float32, by operations that every platform rounds alike; 0 below -86."""
    power = x * np.float32(1.4426950408889634)
    bounded = power if power > np.float32(-125) else np.float32(-125)
    whole = np.int32(bounded)
    part = bounded - np.float32(whole)
    # 2**part for -1 < part <= 0: exactly 1 at 0, relative error below 1e-7.
    value = np.float32(0.0009439057776660792)
    value = value * part + np.float32(0.009203203279139385)
    value = value * part + np.float32(0.05529498191028487)
    value = value * part + np.float32(0.240179254793139)
    value = value * part + np.float32(0.6931436111378816)
    value = value * part + np.float32(1)
    scale = np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
    return value * scale if power > np.float32(-125) else np.float32(0)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _random(counter: int, key: int, other: int) -> int:
    """A random number 0 <= r < 2**32 for each counter below 2**32: two rounds of a multiply-and-shift hash."""
    for word in (key, other):
        counter = (counter ^ int(word)) & 0xFFFFFFFF
        counter ^= counter >> 17
        counter = (counter * 0xED5AD4BB) & 0xFFFFFFFF
        counter ^= counter >> 11
        counter = (counter * 0xAC4C1B51) & 0xFFFFFFFF
        counter ^= counter >> 15
        counter = (counter * 0x31848BAB) & 0xFFFFFFFF
        counter ^= counter >> 14
    return counter
