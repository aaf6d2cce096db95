"""Slow, obvious twins of graph-cut moves and simulated annealing: all changes are tried, all pixels visited one by one."""

import itertools
import math

import numpy as np
from naive import energy_of


def best_change(costs, smoothness, labels, pixels, alternatives):
    """The lowest energy over all ways to give some of `pixels` their alternative, and the way that changes fewest of them.

    Where cuts solve the problem, the changes made in every best way form a best way themselves.
    """
    found = {}
    for chosen in itertools.product((False, True), repeat=len(pixels)):
        changed = labels.copy()
        for pixel, alternative, take in zip(pixels, alternatives, chosen, strict=True):
            if take:
                changed[pixel] = alternative
        found[chosen] = changed, energy_of(costs, smoothness, changed)
    lowest = min(energy for _, energy in found.values())
    best = [chosen for chosen, (_, energy) in found.items() if energy == lowest]
    return found[tuple(map(all, zip(*best, strict=True)))]


def swap(costs, smoothness, labels, a, b):
    """The best labelling of the pixels of a and b with these two, and its energy; of equals the one with fewest a."""
    pixels = [tuple(p) for p in np.argwhere((labels == a) | (labels == b))]
    low = np.where(labels == a, b, labels).astype(labels.dtype)
    return (
        best_change(costs, smoothness, low, pixels, [a] * len(pixels))
        if pixels
        else (low, energy_of(costs, smoothness, low))
    )


def expansion(costs, smoothness, labels, a):
    """The best labelling in which any pixel may change to a, and its energy; of equals the one with fewest changes."""
    pixels = [tuple(p) for p in np.argwhere(labels != a)]
    return (
        best_change(costs, smoothness, labels, pixels, [a] * len(pixels))
        if pixels
        else (labels, energy_of(costs, smoothness, labels))
    )


def lowest_energy(costs, smoothness):
    """Over all labellings."""
    rows, columns, levels = costs.shape
    return min(
        energy_of(costs, smoothness, np.array(labels).reshape(rows, columns))
        for labels in itertools.product(range(levels), repeat=rows * columns)
    )


def random32(counter, *words):
    """The counter-based generator: the hash of Wellons ("triple32"), once for each key."""
    for word in words:
        counter ^= int(word)
        for shift, factor in ((17, 0xED5AD4BB), (11, 0xAC4C1B51), (15, 0x31848BAB), (14, 1)):
            counter = (counter ^ counter >> shift) * factor % 2**32
    return counter


def local_energies(costs, smoothness, labels, y, x):
    """What each level would cost at a pixel."""
    rows, columns, levels = costs.shape
    edges = []
    for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        if 0 <= y + dy < rows and 0 <= x + dx < columns:
            weights = smoothness.right if dx else smoothness.down
            edges.append(
                (float(weights[y + min(dy, 0), x + min(dx, 0)]), int(labels[y + dy, x + dx]))
            )
    return [
        float(costs[y, x, k])
        + sum(weight * float(smoothness.rho[abs(k - other)]) for weight, other in edges)
        for k in range(levels)
    ]


def anneal(costs, smoothness, labels, sampler, order, temperatures, seed):
    """Levels after the last sweep, and the energy after each."""
    rows, columns, levels = costs.shape
    labels = labels.copy()
    sequence = list(range(rows * columns))
    if order == "checkerboard":
        sequence.sort(key=lambda p: (p // columns + p % columns) % 2)
    words = np.random.PCG64(seed).random_raw(4 * len(temperatures)) >> 32
    energies = []
    for sweep, temperature in enumerate(temperatures):
        k0, k1, k2, k3 = (int(word) for word in words[4 * sweep : 4 * sweep + 4])
        if order == "random":
            priorities = [random32(pixel, k3, k2) // 4 for pixel in range(rows * columns)]
            sequence = sorted(range(rows * columns), key=priorities.__getitem__)
        for pixel in sequence:
            y, x = divmod(pixel, columns)
            energy = local_energies(costs, smoothness, labels, y, x)
            drawn = random32(pixel, k0, k1)
            old = labels[y, x]
            if sampler == "full_gibbs":
                chances = [math.exp((min(energy) - e) / temperature) for e in energy]
                wanted = (drawn // 256) / 2**24 * sum(chances)
                labels[y, x] = next(k for k in range(levels) if sum(chances[: k + 1]) > wanted)
            else:
                new = [k for k in range(levels) if k != old][drawn * (levels - 1) // 2**32]
                gain = energy[new] - energy[old]
                if sampler == "flip_gibbs":
                    chance = 1 / (1 + math.exp(min(gain / temperature, 700)))
                else:
                    chance = math.exp(-max(gain, 0) / temperature)
                if random32(drawn, k2, k3) / 2**32 < chance:
                    labels[y, x] = new
        energies.append(energy_of(costs, smoothness, labels))
    return labels, energies
